use pleach_json::json;

use super::*;
use crate::structural::Structural;

fn schema(value: &Value) -> JSONSchemaProps {
    JSONSchemaProps::from_value(value).expect("the schema decodes")
}

fn volume() -> Value {
    json!({
        "type": "object",
        "x-kubernetes-unions": [
            {"discriminator": "type", "fields": {"emptyDir": "EmptyDir", "hostPath": "HostPath"}},
        ],
        "properties": {
            "type": {"type": "string"},
            "emptyDir": {"type": "object"},
            "hostPath": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    })
}

#[test]
fn unions_keep_structural_rules() {
    let with = |unions: Value, properties: Value| json!({"type": "object", "x-kubernetes-unions": unions, "properties": properties});
    let text = || json!({"type": "string"});
    for (why, schema, want) in [
        ("the litmus test is fine", volume(), vec![]),
        (
            "without a discriminator members have no values",
            with(json!([{"fields": {"a": "", "b": ""}}]), json!({"a": text(), "b": text()})),
            vec![],
        ),
        (
            "members and discriminator are properties",
            with(json!([{"discriminator": "d", "fields": {"a": "A"}}]), json!({})),
            vec![
                "s.properties[a]: Required value: because it is defined in s.x-kubernetes-unions[0].fields[a]",
                "s.properties[d]: Required value: because it is defined in s.x-kubernetes-unions[0].discriminator",
            ],
        ),
        (
            "the discriminator is a string",
            with(
                json!([{"discriminator": "d", "fields": {"a": "A"}}]),
                json!({"a": text(), "d": {"type": "integer"}}),
            ),
            vec![
                "s.properties[d].type: Invalid value: \"integer\": must be string for the discriminator of a union",
            ],
        ),
        (
            "values go with a discriminator, and are unique",
            with(
                json!([
                    {"discriminator": "d", "fields": {"a": "", "b": "B", "c": "B"}},
                    {"fields": {"e": "E"}},
                    {"discriminator": "f"},
                ]),
                json!({"a": text(), "b": text(), "c": text(), "d": text(), "e": text(), "f": text()}),
            ),
            vec![
                "s.x-kubernetes-unions[0].fields[a]: Required value: must be the value of the discriminator for this field",
                "s.x-kubernetes-unions[0].fields[c]: Duplicate value: \"B\"",
                "s.x-kubernetes-unions[1].fields[e]: Forbidden: must be empty without a discriminator",
                "s.x-kubernetes-unions[2].fields: Required value: must not be empty",
            ],
        ),
        (
            "a field has one part in one union",
            with(json!([{"fields": {"a": ""}}, {"fields": {"a": ""}}]), json!({"a": text()})),
            vec!["s.x-kubernetes-unions[1]: Duplicate value: \"a\""],
        ),
        (
            "the values are among the discriminator's",
            with(
                json!([{"discriminator": "d", "fields": {"a": "A"}}]),
                json!({"a": text(), "d": {"type": "string", "enum": ["B"]}}),
            ),
            vec!["s.x-kubernetes-unions[0].fields[a]: Unsupported value: \"A\": supported values: \"B\""],
        ),
        (
            "a member is set or absent, never null",
            with(json!([{"fields": {"a": ""}}]), json!({"a": {"type": "string", "nullable": true}})),
            vec!["s.properties[a].nullable: Forbidden: must be false for the member of a union"],
        ),
        (
            "only in the structural part",
            json!({"type": "object", "allOf": [{"x-kubernetes-unions": [{"fields": {"a": ""}}]}]}),
            vec!["s.allOf[0].x-kubernetes-unions: Forbidden: must be empty to be structural"],
        ),
        (
            "only on objects",
            json!({"type": "object", "properties": {"x": {
                "type": "string", "x-kubernetes-unions": [{"fields": {"a": ""}}], "properties": {"a": text()},
            }}}),
            vec![
                "s.properties[x].type: Invalid value: \"string\": must be object if x-kubernetes-unions is specified",
            ],
        ),
    ] {
        let schema = self::schema(&schema);
        let errors = Structural::of(&schema).expect("convertible").violations(&Path::new("s"));
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, want, "{why}");
    }
}

#[test]
fn objects_set_one_member() {
    let undiscriminated =
        [Union { discriminator: "".into(), fields: vec![("a".into(), "".into()), ("b".into(), "".into())] }];
    let volume = schema(&volume());
    for (why, unions, object, want) in [
        ("the discriminator agrees", volume.unions(), json!({"type": "HostPath", "hostPath": {}}), vec![]),
        ("the discriminator may be left out", volume.unions(), json!({"emptyDir": {}}), vec![]),
        (
            "one member must be set",
            volume.unions(),
            json!({}),
            vec!["v: Required value: exactly one of \"emptyDir\", \"hostPath\" must be set"],
        ),
        (
            "the one that is named",
            volume.unions(),
            json!({"type": "HostPath"}),
            vec!["v.hostPath: Required value: must be set because \"type\" is \"HostPath\""],
        ),
        (
            "not another one",
            volume.unions(),
            json!({"type": "HostPath", "emptyDir": {}}),
            vec!["v.type: Invalid value: \"HostPath\": must be \"EmptyDir\" because \"emptyDir\" is set"],
        ),
        (
            "not both",
            volume.unions(),
            json!({"type": "HostPath", "emptyDir": {}, "hostPath": {}}),
            vec![
                "v.emptyDir: Forbidden: may not be set together with \"hostPath\": only one of \"emptyDir\", \"hostPath\" may be set",
            ],
        ),
        (
            "the name must be known",
            volume.unions(),
            json!({"type": "NFS", "hostPath": {}}),
            vec!["v.type: Unsupported value: \"NFS\": supported values: \"EmptyDir\", \"HostPath\""],
        ),
        ("without a discriminator none may be set", &undiscriminated, json!({}), vec![]),
        (
            "but not two",
            &undiscriminated,
            json!({"a": 1, "b": 2}),
            vec!["v.b: Forbidden: may not be set together with \"a\": only one of \"a\", \"b\" may be set"],
        ),
    ] {
        let errors = validate_unions(object.as_object().expect("an object"), unions, &Path::new("v"));
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, want, "{why}");
    }
}

#[test]
fn unfolding_adds_plain_keywords() {
    let mut unfolded = schema(&volume());
    unfolded.unfold();
    let value = unfolded.to_value();
    assert_eq!(value.get("oneOf"), Some(&json!([{"required": ["emptyDir"]}, {"required": ["hostPath"]}])));
    assert_eq!(value.at(&["properties", "type", "enum"]), Some(&json!(["EmptyDir", "HostPath"])));
    assert!(value.get("x-kubernetes-unions").is_some(), "the extension stays");
    let mut again = unfolded.clone();
    again.unfold();
    assert_eq!(again, unfolded, "unfolding twice is unfolding once");
}

#[test]
fn unfolding_keeps_a_one_of_that_was_there() {
    let mut value = volume();
    value.as_object_mut().expect("an object").insert("oneOf", json!([{"required": ["type"]}]));
    let mut unfolded = schema(&value);
    unfolded.unfold();
    let value = unfolded.to_value();
    assert_eq!(value.get("oneOf"), Some(&json!([{"required": ["type"]}])));
    assert_eq!(
        value.get("allOf"),
        Some(&json!([{"oneOf": [{"required": ["emptyDir"]}, {"required": ["hostPath"]}]}]))
    );
}

#[test]
fn expanding_leaves_only_upstream_keywords() {
    let mut expanded = schema(&volume());
    expanded.expand();
    assert_eq!(
        expanded.to_value(),
        json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["EmptyDir", "HostPath"]},
                "emptyDir": {"type": "object"},
                "hostPath": {"type": "object", "properties": {"path": {"type": "string"}}},
            },
            "oneOf": [{"required": ["emptyDir"]}, {"required": ["hostPath"]}],
            "x-kubernetes-validations": [
                {
                    "rule": "!has(self.type) || self.type != 'EmptyDir' || has(self.emptyDir)",
                    "message": "emptyDir must be set if type is EmptyDir",
                },
                {
                    "rule": "!has(self.type) || self.type != 'HostPath' || has(self.hostPath)",
                    "message": "hostPath must be set if type is HostPath",
                },
            ],
        })
    );
    let structural = Structural::of(&expanded).expect("convertible");
    assert!(structural.violations(&Path::ROOT).is_empty());
}

#[test]
fn expanding_uses_branches_for_names_that_cel_cannot_have() {
    let mut expanded = schema(&json!({
        "type": "object",
        "x-kubernetes-unions": [{"discriminator": "kind of", "fields": {"a": "A"}}],
        "properties": {"kind of": {"type": "string"}, "a": {"type": "string"}},
    }));
    expanded.expand();
    let value = expanded.to_value();
    assert_eq!(
        value.get("oneOf"),
        Some(&json!([{"required": ["a"], "properties": {"kind of": {"enum": ["A"]}}}]))
    );
    assert_eq!(value.get("x-kubernetes-validations"), None);
}

#[test]
fn without_a_discriminator_no_member_need_be_set() {
    let mut unfolded = schema(&json!({
        "type": "object",
        "x-kubernetes-unions": [{"fields": {"a": "", "b": ""}}],
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    }));
    unfolded.expand();
    assert_eq!(
        unfolded.to_value().get("oneOf"),
        Some(&json!([
            {"required": ["a"]},
            {"required": ["b"]},
            {"not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
        ]))
    );
}
