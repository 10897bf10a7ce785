//! A table of schemas with what the API server answers, one case per line: why, the schema, the one
//! it replaces if any, and the errors, in which `S` stands for the schema's path. Where upstream's
//! order is random the order here is that of the names.

use pleach_json::Value;

use super::*;
use crate::options::Expressions;

fn schema(value: &Value) -> JSONSchemaProps {
    JSONSchemaProps::from_value(value).expect("the schema decodes")
}

#[test]
fn schema_errors_are_those_of_the_api_server() {
    let mut failures = Vec::new();
    for line in include_str!("cases.jsonl").lines() {
        let case = pleach_json::parse(line.as_bytes()).expect("a case is JSON");
        let why = case.get("why").and_then(Value::as_str).expect("a case says why");
        let new = schema(case.get("schema").expect("a case has a schema"));
        let old = case.get("old").map(schema);
        let expressions = Expressions::of(old.as_ref());
        let mut options = Options::CREATE;
        if let Some(old) = &old {
            options = Options::update(&[old], &[&new], false, &expressions);
            options.suppress_per_expression_cost = *old == new;
        }
        let status_enabled = case.get("status") == Some(&Value::Bool(true));
        let context = SchemaContext { path: Path::new("spec.validation"), status_enabled, options };
        let got: Vec<Value> = validate_schema(&new, &context)
            .iter()
            .map(|error| error.to_string().replace("spec.validation.openAPIV3Schema", "S").into())
            .collect();
        let want = case.get("errors").and_then(Value::as_array).expect("a case has errors");
        if got != **want {
            failures.push(format!("{why}\n  want {want:#?}\n  got {got:#?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn expensive_rules_are_reported_with_a_hint_on_request() {
    let rule = |rule: &str| pleach_json::json!([{ "rule": rule }]);
    let hosts = pleach_json::json!({"type": "array", "items": {"type": "string"}});
    let of_spec = |spec: Value| pleach_json::json!({"type": "object", "properties": {"spec": spec}});
    let pattern = "self.hosts.all(h, h.matches('^[a-z]+$'))";
    let on_spec = of_spec(pleach_json::json!({
        "type": "object",
        "properties": {"hosts": hosts.clone()},
        "x-kubernetes-validations": rule(pattern),
    }));
    let on_items = of_spec(pleach_json::json!({
        "type": "object",
        "properties": {"rules": {"type": "array", "items": {
            "type": "object",
            "properties": {"hosts": hosts, "name": {"type": "string", "maxLength": 10}},
            "x-kubernetes-validations": rule("self.name == 'x'"),
        }}},
    }));
    let many: Vec<Value> = vec![pleach_json::json!({"rule": pattern}); 11];
    let together = of_spec(pleach_json::json!({
        "type": "object",
        "properties": {"hosts": {"type": "array", "maxItems": 45_000, "items": {"type": "string", "maxLength": 253}}},
        "x-kubernetes-validations": many,
    }));
    for (why, value, want) in [
        (
            "a rule",
            on_spec,
            &["set maxItems <= 48076 at spec.hosts and maxLength <= 253 at spec.hosts[*] and the rule fits"]
                [..],
        ),
        ("nothing is too dear", on_items, &[]),
        ("all rules together", together, &["set maxItems <= 30769 at spec.hosts and the schema fits"]),
    ] {
        let schema = schema(&value);
        let judge = |cost_hints: bool| {
            let options = Options { cost_hints, ..Options::CREATE };
            let context =
                SchemaContext { path: Path::new("spec.validation"), status_enabled: false, options };
            validate_schema(&schema, &context)
        };
        let (plain, hinted) = (judge(false), judge(true));
        assert_eq!(plain.len(), hinted.len(), "{why}: a hint is no error");
        let mut hints = Vec::new();
        for (plain, hinted) in plain.iter().zip(&hinted) {
            let rest = hinted.detail.strip_prefix(&plain.detail).expect("upstream's words come first");
            if let Some(hint) = rest.strip_prefix(" (hint: ").and_then(|rest| rest.strip_suffix(')')) {
                hints.push(hint.to_owned());
            } else {
                assert_eq!(rest, "", "{why}");
            }
        }
        assert_eq!(hints, want, "{why}");
    }
}
