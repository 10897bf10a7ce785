//! The server's answer to a CRD or an object: errors and warnings.

use std::fmt;

use pleach_meta::Status;
use pleach_pipeline::Subject;

/// Something wrong with a field. `Display` prints it as the server does.
///
/// ```
/// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
/// let verdict = definition.validate(&pleach_sdk::example_widget(0))?;
/// let error = &verdict.errors[0];
/// assert_eq!(error.field, "spec.size");
/// assert_eq!(error.reason, "FieldValueInvalid");
/// assert_eq!(error.message, "Invalid value: 0: spec.size in body should be greater than or equal to 1");
/// assert_eq!(error.to_string(), format!("{}: {}", error.field, error.message));
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldError {
    /// The path: `spec.ports[0].name`.
    pub field: String,
    /// The `reason` of the cause in the server's `Status`: `FieldValueRequired`, `FieldValueInvalid`, …
    pub reason: &'static str,
    /// The rest of the sentence.
    pub message: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for FieldError {}

impl From<&pleach_meta::FieldError> for FieldError {
    fn from(error: &pleach_meta::FieldError) -> Self {
        Self { field: error.field.clone(), reason: error.error_type.reason(), message: error.body() }
    }
}

/// The server's errors and warnings about an object.
///
/// ```
/// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
/// let verdict = definition.validate(&pleach_sdk::example_widget(3))?;
/// assert!(verdict.is_valid() && verdict.warnings.is_empty());
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// Why it is rejected, in the order of the causes in the server's `Status`; empty if it is accepted.
    pub errors: Vec<FieldError>,
    /// Warnings, as `kubectl` shows them.
    pub warnings: Vec<String>,
    message: Option<String>,
}

impl Verdict {
    pub(crate) fn new(subject: &Subject, errors: &[pleach_meta::FieldError], warnings: Vec<String>) -> Self {
        let Subject { group, resource, name } = subject;
        let message = (!errors.is_empty()).then(|| Status::invalid(group, resource, name, errors).message);
        Self { errors: errors.iter().map(FieldError::from).collect(), warnings, message }
    }

    /// Whether it is accepted.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// assert!(!definition.validate(&pleach_sdk::example_widget(0))?.is_valid());
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// The message of the server's `Status`, if it is rejected.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// let verdict = definition.validate(&pleach_sdk::example_widget(0))?;
    /// assert!(verdict.message().unwrap().starts_with("Widget.example.com \"a\" is invalid: spec.size: "));
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

/// The server's errors and warnings about a CRD.
///
/// ```
/// # use serde_json::json;
/// let mut crd = pleach_sdk::example_crd();
/// crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"] =
///     json!({"type": "integer", "format": "int23"});
/// crd["spec"]["colour"] = json!("red");
/// let report = pleach_sdk::Definition::new(&crd)?.check();
/// assert!(report.is_valid() && report.is_structural());
/// assert_eq!(report.verdict.warnings, ["unrecognized format \"int23\""]);
/// assert_eq!(report.unknown_fields, ["spec.colour"]);
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CrdReport {
    /// Errors and warnings.
    pub verdict: Verdict,
    /// The violations of structural schemas: the condition `NonStructuralSchema`.
    pub structural_violations: Vec<FieldError>,
    /// Fields that a CRD does not have: `fieldValidation=Strict` rejects them.
    pub unknown_fields: Vec<String>,
}

impl CrdReport {
    /// Whether the server accepts the CRD.
    ///
    /// ```
    /// # use serde_json::json;
    /// let mut crd = pleach_sdk::example_crd();
    /// crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]
    ///     ["x-kubernetes-validations"] = json!([{"rule": "self > 'a'"}]);
    /// let report = pleach_sdk::Definition::new(&crd)?.check();
    /// assert!(!report.is_valid());
    /// assert!(report.verdict.errors[0].message.contains("found no matching overload for '_>_'"));
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn is_valid(&self) -> bool {
        self.verdict.is_valid()
    }

    /// Whether all schemas are structural.
    ///
    /// ```
    /// # use serde_json::json;
    /// let mut crd = pleach_sdk::example_crd();
    /// crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["type"] = json!("");
    /// assert!(!pleach_sdk::Definition::new(&crd)?.check().is_structural());
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn is_structural(&self) -> bool {
        self.structural_violations.is_empty()
    }
}
