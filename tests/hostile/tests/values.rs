//! Every field of every built-in kind gets values at the edge of something: none panics.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "hostile/places.rs"]
mod places;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pleach_json::{Value, json};
use pleach_pipeline::types::TypeExpr;

use places::{places, written};

/// Values that are at the edge of something.
fn values(ty: &TypeExpr) -> Vec<Value> {
    let long = "9".repeat(400);
    let texts = [
        "",
        " ",
        "-",
        "/",
        ".",
        ":",
        "a/",
        "/a",
        "a/b/c",
        "..",
        "*",
        "*.",
        "0",
        "-1",
        "99999999999999999999",
        &long,
        "1e9999999",
        "1e-9999999",
        "9223372036854775807Ei",
        "0.0000000000000000000001",
        "1Ki1",
        "+",
        "1.",
        ".1",
        "\u{0}",
        "ü",
        "\u{1f600}a",
        "a\nb",
        "{",
        "$(A)",
        "%",
        "%d",
        "::",
        "::ffff:1.2.3.4",
        "1.2.3.4/33",
        "1.2.3",
        "fe80::1%eth0",
        "2020-01-01T00:00:00Z",
        "9999-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "-0001-01-01T00:00:00Z",
        "1h",
        "-9223372036854775808ns",
        "* * * * *",
        "*/0 * * * *",
        "0-99999999999 * * * *",
        "TZ=a * * * * *",
        "@every 0s",
        "a,b",
        "a=b",
        "a in (b)",
        "====",
        "sha256:",
        "a@b:c",
        "example.com/x:y@sha256:0",
    ];
    match ty {
        TypeExpr::String(_) | TypeExpr::Bytes | TypeExpr::Quantity | TypeExpr::Time | TypeExpr::MicroTime => {
            texts.into_iter().map(Value::from).collect()
        }
        TypeExpr::IntOrString => {
            let numbers = [i64::MIN, -1, i64::from(i32::MIN), i64::from(i32::MAX), i64::MAX].map(Value::from);
            texts.into_iter().map(Value::from).chain(numbers).collect()
        }
        TypeExpr::Int32 => [i32::MIN, -1, 0, 1, 65_536, i32::MAX].map(|n| Value::from(i64::from(n))).to_vec(),
        TypeExpr::Int64 => [i64::MIN, -1, 0, 1 << 32, i64::MAX].map(Value::from).to_vec(),
        TypeExpr::Float64 => [f64::MIN, -0.0, f64::MIN_POSITIVE, f64::MAX].map(Value::from).to_vec(),
        TypeExpr::Bool => [true, false].map(Value::from).to_vec(),
        TypeExpr::Raw | TypeExpr::SchemaOrBool | TypeExpr::SchemaOrList | TypeExpr::SchemaOrTexts => {
            vec![json!([]), json!("x"), json!(1), json!({"a": {}})]
        }
        TypeExpr::Texts => vec![json!(["", "a"])],
        TypeExpr::Map(of) | TypeExpr::List(of) | TypeExpr::Pointer(of) => values(of),
        TypeExpr::Struct(_) => vec![json!({})],
    }
}

#[test]
fn no_value_of_a_field_panics() {
    let mut tried = 0;
    for (kind, version, place) in
        places(|ty| !matches!(ty, TypeExpr::List(_) | TypeExpr::Map(_) | TypeExpr::Pointer(_)))
    {
        for value in values(place.ty) {
            let body = pleach_json::to_vec(&place.with(&kind, version, value.clone()));
            let done = catch_unwind(AssertUnwindSafe(|| written(&kind, version, &body)));
            assert!(done.is_ok(), "{}{} = {value:?} panics", kind.kind, place.name());
            tried += 1;
        }
    }
    assert!(tried > 10_000, "{tried} values were tried");
}
