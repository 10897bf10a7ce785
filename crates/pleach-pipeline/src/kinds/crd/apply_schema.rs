//! The schema for field ownership of CRDs: that of the Go types.

use pleach_json::Value;
use pleach_schema::{Schema, SchemaOptions};
use pleach_work::Constant;

use crate::types;

/// The schema of a version.
pub(super) fn of(version: &str) -> &'static Schema {
    static V1: Constant<Schema> = Constant::new(|| compile("apiextensions/v1.CustomResourceDefinition"));
    static V1BETA1: Constant<Schema> =
        Constant::new(|| compile("apiextensions/v1beta1.CustomResourceDefinition"));
    if version == "v1" { &V1 } else { &V1BETA1 }
}

fn compile(name: &str) -> Schema {
    let mut schema = types::schema_value(name);
    // A condition without a type has the empty one: the key of the list.
    let conditions = ["properties", "status", "properties", "conditions", "items", "properties", "type"];
    let key = conditions.iter().try_fold(&mut schema, |schema, key| schema.get_mut(key));
    if let Some(key) = key.and_then(Value::as_object_mut) {
        key.insert("default", "");
    }
    Schema::from_value(&schema, SchemaOptions::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_a_map_by_type() {
        for name in ["v1", "v1beta1"] {
            let schema = types::schema_value(&format!("apiextensions/{name}.CustomResourceDefinition"));
            let conditions = schema.at(&["properties", "status", "properties", "conditions"]).unwrap();
            assert_eq!(
                conditions.get("x-kubernetes-list-map-keys").unwrap().to_string(),
                "[\"type\"]",
                "{name}"
            );
            let _ = of(name);
        }
    }
}
