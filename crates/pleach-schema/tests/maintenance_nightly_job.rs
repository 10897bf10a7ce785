//! The example `MaintenanceNightlyJob` of the structural schema design: an unspecified field is pruned, so
//! that it cannot take effect when a later schema declares it.

use pleach_json::{Value, json};
use pleach_meta::Path;
use pleach_schema::{
    JSONSchemaProps, Options, Record, Schema, SchemaContext, SchemaOptions, SettleOptions, Structural,
    validate_schema,
};

fn job() -> Value {
    json!({
        "apiVersion": "operations/v1",
        "kind": "MaintenanceNightlyJob",
        "spec": {
            "shell": "grep backdoor /etc/passwd || \necho “backdoor:76asdfh76:/bin/bash” >> /etc/passwd || true\n",
            "machines": ["az1-master1", "az1-master2", "az2-master3"],
            "privileged": true,
        },
    })
}

fn core() -> Value {
    json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {
            "command": {"type": "string"},
            "shell": {"type": "string"},
            "machines": {"type": "array", "items": {"type": "string"}},
        }}},
    })
}

fn with_value_validation() -> Value {
    json!({
        "type": "object",
        "properties": {"spec": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "shell": {"type": "string", "minLength": 1},
                "machines": {
                    "type": "array",
                    "items": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
                },
            },
            "oneOf": [{"required": ["command"]}, {"required": ["shell"]}],
        }},
        "required": ["spec"],
    })
}

fn schema(value: &Value) -> JSONSchemaProps {
    JSONSchemaProps::from_value(value).expect("the schema decodes")
}

fn violations(value: &Value) -> Vec<String> {
    let schema = schema(value);
    let structural = Structural::of(&schema).expect("it uses structural keywords");
    structural.violations(&Path::new("s")).iter().map(ToString::to_string).collect()
}

#[test]
fn the_core_and_its_enhancement_are_structural() {
    for schema in [core(), with_value_validation()] {
        assert_eq!(violations(&schema), [""; 0]);
        let context = SchemaContext { path: Path::new("s"), status_enabled: true, options: Options::CREATE };
        assert_eq!(validate_schema(&self::schema(&schema), &context), []);
    }
}

#[test]
fn dropping_the_value_validation_gives_the_core() {
    let mut dropped = schema(&with_value_validation());
    dropped.drop_value_validations();
    assert_eq!(dropped.to_value(), core());
}

#[test]
fn the_modified_schema_breaks_the_rules_that_the_example_names() {
    let modified = json!({
        "properties": {"spec": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "shell": {"type": "string", "minLength": 1},
                "machines": {
                    "type": "array",
                    "items": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
                },
            },
            "oneOf": [
                {"properties": {"command": {"type": "string"}}, "required": ["command"]},
                {"properties": {"shell": {"type": "string"}}, "required": ["shell"]},
            ],
            "not": {"properties": {"privileged": {}}},
        }},
        "required": ["spec"],
    });
    // Completeness is checked for junctors at the root only, so `privileged` is not among them.
    assert_eq!(
        violations(&modified),
        [
            "s.properties[spec].oneOf[0].properties[command].type: Forbidden: must be empty to be structural",
            "s.properties[spec].oneOf[1].properties[shell].type: Forbidden: must be empty to be structural",
            "s.type: Required value: must not be empty at the root",
        ]
    );
}

#[test]
fn the_unspecified_field_is_pruned_before_it_is_stored() {
    let schema = Schema::compile(&schema(&with_value_validation()), SchemaOptions::default());
    let mut stored = job();
    let settled =
        schema.settle(&mut stored, SettleOptions::request(Record::Unknown)).expect("nothing to refuse");
    let mut want = job();
    want.get_mut("spec").and_then(Value::as_object_mut).expect("a spec").remove("privileged");
    assert_eq!(stored, want);
    assert_eq!(settled.pruned, ["spec.privileged"]);
    assert_eq!(schema.validate_value(&stored), []);
}
