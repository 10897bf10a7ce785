//! Recorded evaluations: expressions without variables, and their value or error, and cost.
//!
//! `data/evaluation.jsonl` was recorded with cel-go 0.26 and the environment of Kubernetes 1.36.

use pleach_cel::value::{List, Map, Opaque};
use pleach_cel::{Activation, CelValue, Declarations, Environment, Program};
use pleach_json::Value;

/// A value as the recorder wrote it.
fn render(value: &CelValue<'_>) -> String {
    match value {
        CelValue::Null => "null".into(),
        CelValue::Bool(b) => b.to_string(),
        CelValue::Int(i) => i.to_string(),
        CelValue::Uint(u) => format!("{u}u"),
        CelValue::Double(d) => format!("double({})", pleach_go::fmt::float_v(*d)),
        CelValue::String(text) => pleach_json::to_string(&Value::from(text.as_str())),
        CelValue::Bytes(bytes) => {
            let hex: Vec<_> = bytes.iter().map(|b| format!("{b:02x}")).collect();
            format!("b({})", hex.concat())
        }
        CelValue::Timestamp(t) => format!("timestamp({})", t.to_text()),
        CelValue::Duration(d) => format!("duration({})", d.to_go_text()),
        CelValue::Type(name) => format!("type({name})"),
        CelValue::List(list) => render_list(list),
        CelValue::Map(map) => render_map(map),
        CelValue::Optional(Some(inner)) => format!("optional({})", render(inner)),
        CelValue::Optional(None) => "optional.none".into(),
        CelValue::Opaque(opaque) => match &**opaque {
            Opaque::Url(_) => "kubernetes.URL",
            Opaque::Ip(_) => "net.IP",
            Opaque::Cidr(_) => "net.CIDR",
            Opaque::Quantity(_) => "kubernetes.Quantity",
            Opaque::Semver(_) => "kubernetes.Semver",
            Opaque::Format(_) => "kubernetes.NamedFormat",
            Opaque::Empty => "google.protobuf.Empty",
            Opaque::Authz(_) => "kubernetes.authorization",
        }
        .into(),
        other => format!("{other:?}"),
    }
}

fn render_list(list: &List<'_>) -> String {
    let items: Vec<_> = list.iter().map(|item| render(&item.expect("a computed list"))).collect();
    format!("[{}]", items.join(", "))
}

fn render_map(map: &Map<'_>) -> String {
    let entry = |(key, value): (CelValue<'_>, Result<CelValue<'_>, _>)| {
        format!("{}: {}", render(&key), render(&value.expect("a computed map")))
    };
    let mut entries: Vec<_> = map.iter().map(entry).collect();
    entries.sort();
    format!("{{{}}}", entries.join(", "))
}

/// The result of an expression, in the form of the table.
fn outcome(environment: &Environment, source: &str) -> Vec<(&'static str, String)> {
    let checked = match environment.compile(source, &Declarations::new()) {
        Ok(checked) => checked,
        Err(issues) => return vec![("compile", issues.to_string())],
    };
    let program = match Program::new(&checked) {
        Ok(program) => program,
        Err(error) => return vec![("plan", error.to_string())],
    };
    let evaluation = program.run(&Activation::new(&Value::Null), pleach_cel::eval::PER_CALL_LIMIT);
    let cost = ("cost", evaluation.cost.to_string());
    match evaluation.result {
        Ok(value) => vec![("value", render(&value)), cost],
        Err(fault) => vec![("error", fault.to_string()), cost],
    }
}

#[test]
fn expressions_evaluate_as_recorded() {
    let environment = Environment::stored();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("data/evaluation.jsonl").lines() {
        let fact = pleach_json::parse(line.as_bytes()).expect("a line of JSON");
        let source = fact.get("expr").and_then(Value::as_str).expect("an expression");
        let got = outcome(&environment, source);
        let want: Vec<_> = ["compile", "plan", "value", "error", "cost"]
            .into_iter()
            .filter_map(|key| {
                Some((
                    key,
                    match fact.get(key)? {
                        Value::String(text) => text.to_string(),
                        other => pleach_json::to_string(other),
                    },
                ))
            })
            .collect();
        count += 1;
        if got != want {
            wrong.push(format!("{source}\n  got  {got:?}\n  want {want:?}"));
        }
    }
    assert!(count > 4_000, "the table is there");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
