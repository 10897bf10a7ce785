//! Fields by their path, and type names, as `kubectl explain` shows them.

use pleach_json::grow_stack;

use super::{JSONSchemaProps, SchemaOrBool};

/// A field that was found by its path.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Its schema.
    pub schema: &'a JSONSchemaProps,
    /// Whether the field is required.
    pub required: bool,
}

impl JSONSchemaProps {
    /// The field at a path of names such as `spec.ports.name`: lists and maps are entered implicitly.
    pub fn field(&self, path: &str) -> Option<Field<'_>> {
        let mut found = Field { schema: self, required: false };
        for name in path.split('.').filter(|name| !name.is_empty()) {
            let holder = found.schema.element();
            let required = holder.required().iter().any(|required| required == name);
            found = Field { schema: holder.property(name)?, required };
        }
        Some(found)
    }

    /// The schema of the innermost list items or map values.
    pub fn element(&self) -> &Self {
        let mut at = self;
        while let Some(below) = at.items().or_else(|| at.additional_properties()) {
            at = below;
        }
        at
    }

    /// The type as kubectl writes it: `string`, `[]Object`, `map[string]integer`.
    pub fn type_name(&self) -> String {
        if let Some(items) = self.items() {
            return grow_stack(|| format!("[]{}", items.type_name()));
        }
        match &self.additional_properties {
            Some(SchemaOrBool::Schema(value)) => {
                return grow_stack(|| format!("map[string]{}", value.type_name()));
            }
            Some(SchemaOrBool::Bool(true)) => return "map[string]any".to_owned(),
            _ => {}
        }
        match self.type_.as_str() {
            _ if self.x_int_or_string => "IntOrString".to_owned(),
            "object" => "Object".to_owned(),
            "" => "any".to_owned(),
            other => other.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn lists_and_maps_are_entered_implicitly() {
        let schema = JSONSchemaProps::from_value(&json!({"type": "object", "properties": {
            "ports": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
            }}},
        }}))
        .unwrap();
        for (path, want) in [
            ("", Some(("Object", false))),
            ("ports", Some(("[]Object", false))),
            ("ports.name", Some(("string", true))),
            ("ports.labels", Some(("map[string]integer", false))),
            ("ports.other", None),
        ] {
            let found = schema.field(path).map(|field| (field.schema.type_name(), field.required));
            assert_eq!(found, want.map(|(name, required)| (name.to_owned(), required)), "{path}");
        }
    }
}
