//! The object that would be stored, and its differences from the one that was sent.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::Error;
use crate::value::from_value;

/// An object as the server would store it.
///
/// ```
/// # use serde_json::json;
/// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
/// let mut widget = pleach_sdk::example_widget(3);
/// widget["spec"]["shape"] = json!("round");
/// let stored = definition.store(&widget)?;
/// assert_eq!(stored.object["spec"], json!({"color": "red", "size": 3}));
/// assert_eq!(stored.pruned, ["spec.shape"]);
/// assert_eq!(stored.defaulted[0].path, "spec.color");
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stored {
    /// The object: pruned, nulls dropped, defaulted, with the metadata and the status that a create gives it.
    /// Fields that depend on time and randomness (`uid`, `creationTimestamp`, `resourceVersion`) are missing.
    pub object: serde_json::Value,
    /// The paths of fields that the schema does not have.
    pub pruned: Vec<String>,
    /// The paths of nulls that were dropped, because their fields are not nullable.
    pub nulls_dropped: Vec<String>,
    /// Defaults that were filled in.
    pub defaulted: Vec<Default>,
    /// Defaults that were not filled in, and why.
    pub withheld: Vec<Withheld>,
}

impl Stored {
    /// The object as a Rust type.
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Widget { spec: Spec }
    /// #[derive(serde::Deserialize)]
    /// struct Spec { color: String }
    ///
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// let widget: Widget = definition.store(&pleach_sdk::example_widget(3))?.to()?;
    /// assert_eq!(widget.spec.color, "red");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_value(self.object.clone()).map_err(Error::Json)
    }
}

/// A default that was filled in.
///
/// ```
/// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
/// let stored = definition.store(&pleach_sdk::example_widget(3))?;
/// assert_eq!(stored.defaulted[0].to_string(), "spec.color: \"red\"");
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Default {
    /// Where.
    pub path: String,
    /// The default value.
    pub value: serde_json::Value,
}

impl fmt::Display for Default {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.value)
    }
}

impl Default {
    pub(crate) fn of(applied: &pleach_schema::settle::record::AppliedDefault) -> Result<Self, Error> {
        Ok(Self { path: applied.path.clone(), value: from_value(&applied.value)? })
    }
}

/// A default that was not filled in, although its field is not set.
///
/// ```
/// # use serde_json::json;
/// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
/// let mut widget = pleach_sdk::example_widget(3);
/// widget.as_object_mut().unwrap().remove("spec");
/// let stored = definition.store(&widget)?;
/// assert_eq!(stored.withheld[0].to_string(), "spec.color: there is no spec to put it in");
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Withheld {
    /// Where it would have gone.
    pub path: String,
    /// Why it did not.
    pub reason: String,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}
