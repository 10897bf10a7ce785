//! Estimated costs of rules, by the bounds of the schema they are in.

use pleach_cel::{Declarations, Environment};
use pleach_json::{Value, json};

use super::decl_type;
use crate::props::JSONSchemaProps;

/// The most that one run of `rule` on a node costs.
fn cost(schema: &Value, rule: &str) -> u64 {
    let schema = JSONSchemaProps::from_value(schema).expect("the schema decodes");
    let decl = decl_type(&schema, false).expect("the node has a type");
    let declarations = Declarations::default().with("self", decl.clone()).with("oldSelf", decl);
    let checked = Environment::stored().compile(rule, &declarations).expect("the rule compiles");
    checked.cost_estimate().max
}

#[test]
fn bounds_limit_estimated_costs() {
    let list = |items: Value| json!({"type": "array", "items": items});
    let map = |values: Value| json!({"type": "object", "additionalProperties": values});
    let of = |type_: &str| json!({"type": type_});
    let format = |format: &str| json!({"type": "string", "format": format});
    let all = "self.all(x, true)";
    for (schema, rule, unlimited, limit, limited) in [
        (list(of("number")), all, 4_718_591, json!({"maxItems": 10}), 32),
        (list(of("string")), all, 3_145_727, json!({"maxItems": 20}), 62),
        (list(of("boolean")), all, 1_887_437, json!({"maxItems": 5}), 17),
        (list(list(of("number"))), all, 3_145_727, json!({"maxItems": 100}), 302),
        (list(json!({"x-kubernetes-int-or-string": true})), all, 4_718_591, json!({"maxItems": 10}), 32),
        (list(format("duration")), all, 2_359_295, json!({"maxItems": 5}), 17),
        (list(format("date")), all, 725_936, json!({"maxItems": 15}), 47),
        (list(format("date-time")), all, 428_963, json!({"maxItems": 25}), 77),
        (map(of("number")), all, 1_348_169, json!({"maxProperties": 10}), 32),
        (map(of("string")), all, 1_179_647, json!({"maxProperties": 3}), 11),
        (map(map(of("number"))), all, 1_179_647, json!({"maxProperties": 10}), 32),
        (list(of("number")), "self.all(x, x == 0.0)", 6_291_454, json!({"maxItems": 6_291_456}), 25_165_826),
        (list(of("string")), "self[1] == self[1]", 314_577, json!({"maxItems": 1}), 314_577),
        (of("string"), "self.contains('test')", 314_574, json!({"maxLength": 10}), 5),
        (of("string"), "size(self + \"hello\") > size(\"hello\")", 314_578, json!({"maxLength": 4}), 7),
        (of("string"), "self.matches(\"x\")", 314_574, json!({"maxLength": 50}), 22),
        (of("string"), "self == \"x\"", 2, json!({"maxLength": 0}), 1),
        (
            json!({"type": "string", "enum": ["A", "B", "C", "LongValue"]}),
            "self.contains('A')",
            2,
            json!({"maxLength": 1000}),
            401,
        ),
    ] {
        assert_eq!(cost(&schema, rule), unlimited, "{rule} on {schema:?}");
        let mut bounded = schema.clone();
        let members = bounded.as_object_mut().expect("a schema is an object");
        members.extend(
            limit.as_object().expect("limits are an object").iter().map(|(k, v)| (k.clone(), v.clone())),
        );
        assert_eq!(cost(&bounded, rule), limited, "{rule} on {bounded:?}");
    }
}

#[test]
fn nodes_without_a_type_have_no_cel_type() {
    for (why, schema) in [
        ("nothing said", json!({"x-kubernetes-preserve-unknown-fields": true})),
        ("a list of it", json!({"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}})),
        (
            "a map of it",
            json!({"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}}),
        ),
    ] {
        let schema = JSONSchemaProps::from_value(&schema).expect("the schema decodes");
        assert!(decl_type(&schema, false).is_none(), "{why}");
    }
}
