//! Documentation of a field, as `kubectl explain` shows it.

use pleach_schema::JSONSchemaProps;
use pleach_schema::props::Field;

use crate::value::from_value;

/// A field of a kind.
///
/// ```
/// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
/// let color = definition.explain("spec.color").unwrap();
/// assert_eq!((color.type_name.as_str(), color.required), ("string", false));
/// assert_eq!(color.description, "As the eye sees it.");
/// assert_eq!(definition.explain("spec").unwrap().fields, ["color", "size"]);
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The type as kubectl writes it: `string`, `[]Object`, `map[string]integer`.
    pub type_name: String,
    /// The description in the schema.
    pub description: String,
    /// Whether the field must be there.
    pub required: bool,
    /// The names of the fields below, those of list items and map values included.
    pub fields: Vec<String>,
    /// The schema of the field, as the CRD has it.
    pub schema: serde_json::Value,
}

pub(crate) fn explain(root: &JSONSchemaProps, path: &str) -> Option<Explanation> {
    let Field { schema, required } = root.field(path)?;
    Some(Explanation {
        type_name: schema.type_name(),
        description: schema.description.to_string(),
        required,
        fields: schema.element().properties().iter().map(|(name, _)| name.to_string()).collect(),
        schema: from_value(&schema.to_value()).ok()?,
    })
}
