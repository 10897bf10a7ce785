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
fn schemas_are_judged_as_by_the_api_server() {
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
