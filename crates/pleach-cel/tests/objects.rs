//! Recorded validations: rules on objects with a schema, and their result or error, and cost.
//!
//! `data/objects.jsonl` was recorded with the validator of Kubernetes 1.36; its later part is random
//! rules.

use pleach_cel::{
    Activation, CelValue, DeclType, Declarations, Environment, ListKind, ObjectType, OldSelf, Program,
};
use pleach_json::{Str, Value};

/// The type of a schema; `None` if it has none.
fn declare(schema: &Value, name: &str) -> Option<DeclType> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let is_set = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
    let decl = match (text("type"), text("format")) {
        _ if is_set("x-kubernetes-int-or-string") => DeclType::int_or_string(None),
        (Some("string"), Some("byte")) => DeclType::bytes(None),
        (Some("string"), Some("date")) => DeclType::date(),
        (Some("string"), Some("date-time")) => DeclType::date_time(),
        (Some("string"), Some("duration")) => DeclType::duration(),
        (Some("string"), _) => DeclType::string(None, None),
        (Some("integer"), _) => DeclType::integer(),
        (Some("number"), _) => DeclType::number(),
        (Some("boolean"), _) => DeclType::boolean(),
        (Some("array"), _) => {
            let element = declare(schema.get("items")?, &format!("{name}.@idx"))?;
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let keys = keys.into_iter().flat_map(|keys| keys.iter()).filter_map(Value::as_str).map(Str::from);
            let kind = match text("x-kubernetes-list-type") {
                Some("set") => ListKind::Set,
                Some("map") => ListKind::Map(keys.collect()),
                _ => ListKind::Atomic,
            };
            DeclType::list(element, kind, None)
        }
        (Some("object"), _) if let Some(value) = schema.get("additionalProperties") => {
            DeclType::map(declare(value, &format!("{name}.@elem"))?, None)
        }
        (Some("object"), _) => {
            let mut object = ObjectType::new(name);
            for (key, property) in schema.get("properties").and_then(Value::as_object)?.iter() {
                object = match declare(property, &format!("{name}.{key}")) {
                    Some(decl) => object.with_field(key.clone(), decl),
                    None => object.with_untyped(key.clone()),
                };
            }
            DeclType::object(object, [])
        }
        _ => return None,
    };
    Some(decl.nullable(is_set("nullable")))
}

/// The result of a rule, and its cost.
fn outcome(environment: &Environment, schema: &Value, group: &Value, rule: &Value) -> (String, u64) {
    let decl = declare(schema, "self").expect("a type");
    let optional = rule.get("optionalOldSelf").is_some();
    let old_decl = if optional { DeclType::optional(decl.clone()) } else { decl.clone() };
    let declarations = Declarations::new().with("self", decl).with("oldSelf", old_decl);
    let source = rule.get("rule").and_then(Value::as_str).expect("a rule");
    let checked = match environment.compile(source, &declarations) {
        Ok(checked) => checked,
        Err(issues) => return (format!("compile: {issues}"), 0),
    };
    let old = group.get("old");
    let old_self = match (optional, old) {
        (true, old) => OldSelf::Optional(old),
        (false, Some(old)) => OldSelf::Value(old),
        (false, None) if checked.uses("oldSelf") => return ("skipped".into(), 0),
        (false, None) => OldSelf::Absent,
    };
    let program = match Program::new(&checked) {
        Ok(program) => program,
        Err(error) => return (format!("plan: {error}"), 0),
    };
    let activation = Activation::new(group.get("object").expect("an object")).with_old_self(old_self);
    let evaluation = program.run(&activation, pleach_cel::eval::PER_CALL_LIMIT);
    let text = match evaluation.result {
        Ok(CelValue::Bool(holds)) => holds.to_string(),
        Ok(other) => format!("{other:?}"),
        Err(fault) => format!("error: {fault}"),
    };
    (text, evaluation.cost)
}

#[test]
fn rules_on_objects_evaluate_as_recorded() {
    let environment = Environment::stored();
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut schema = Value::Null;
    for line in include_str!("data/objects.jsonl").lines() {
        let group = pleach_json::parse(line.as_bytes()).expect("a line of JSON");
        // A line without a schema uses that of the line before.
        schema = group.get("schema").cloned().unwrap_or(schema);
        for rule in group.get("rules").and_then(Value::as_array).expect("rules") {
            let got = outcome(&environment, &schema, &group, rule);
            let want = rule.get("outcome").and_then(Value::as_str).expect("an outcome");
            let cost = rule.get("cost").and_then(Value::as_int).expect("a cost") as u64;
            count += 1;
            if got != (want.to_owned(), cost) {
                let source = rule.get("rule").and_then(Value::as_str).unwrap_or_default();
                wrong.push(format!("{source}\n  got  {got:?}\n  want ({want:?}, {cost})"));
            }
        }
    }
    assert!(count > 2_000, "the table is there");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
