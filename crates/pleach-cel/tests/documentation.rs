//! `docs/cel-functions.md` is made from the tables of functions; `UPDATE_EXPECT=1` rewrites it.

use pleach_cel::library::LIBRARIES;
use pleach_cel::{Function, Overload, Type};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# CEL functions

Every operator and function that rules (`x-kubernetes-validations`) can use, with the types it takes
and gives, and the first minor version of Kubernetes 1.x that lets a new rule use it. A letter stands
for any type, the same letter for the same type.

This file is made from the tables in `crates/pleach-cel/src/library/`; do not edit it.

## Macros

| macro | since |
|---|---|
| `has(a.b)` | 1.0 |
| `a.all(x, p)`, `a.exists(x, p)`, `a.exists_one(x, p)`, `a.map(x, e)`, `a.map(x, p, e)`, `a.filter(x, p)` | 1.0 |
| `o.optMap(x, e)`, `o.optFlatMap(x, e)` | 1.28 |
| `a.all(i, x, p)`, `a.exists(i, x, p)`, `a.existsOne(i, x, p)`, `a.exists_one(i, x, p)` | 1.32 |
| `a.transformList(i, x, e)`, `a.transformMap(i, x, e)`, `a.transformMapEntry(i, x, e)`, each with a condition before `e` | 1.32 |
| `a.sortBy(x, e)` | 1.34 |

## Messages

The well-known types of protobuf can be made in every version; none of them stays a message.

| message | is |
|---|---|
| `google.protobuf.BoolValue{value: bool}` and the like for `Bytes`, `Double`, `Float`, `Int32`, `Int64`, `String`, `UInt32`, `UInt64` | the value; null is of its type too |
| `google.protobuf.Duration{seconds: int, nanos: int}` | `duration` |
| `google.protobuf.Timestamp{seconds: int, nanos: int}` | `timestamp` |
| `google.protobuf.Struct{fields: map(string, dyn)}` | `map(string, dyn)`, as JSON |
| `google.protobuf.ListValue{values: list(dyn)}` | `list(dyn)`, as JSON |
| `google.protobuf.Value{null_value, number_value, string_value, bool_value, struct_value or list_value}` | that, as JSON |
| `google.protobuf.Any{type_url: string, value: bytes}` | what is packed in it |
| `google.protobuf.Empty{}` | itself |
";

/// Names that only the expansion of macros writes, or that are old spellings of operators.
fn is_internal(name: &str) -> bool {
    name.contains('@') && name != "@in" || name.starts_with("__") || matches!(name, "in" | "_in_")
}

fn signature(function: &Function, overload: &Overload) -> String {
    let params: Vec<String> = overload.params.iter().map(|ty| Type::from(*ty).to_string()).collect();
    let name = function.name;
    match (name, params.as_slice()) {
        ("_?_:_", [c, a, b]) => format!("{c} ? {a} : {b}"),
        ("_[_]", [a, b]) => format!("{a}[{b}]"),
        ("_[?_]", [a, b]) => format!("{a}[?{b}]"),
        ("_?._", [a, _]) => format!("{a}.?field"),
        ("@in", [a, b]) => format!("{a} in {b}"),
        (_, [a]) if name.ends_with('_') && !name.starts_with('_') => {
            format!("{}{a}", name.trim_end_matches('_'))
        }
        (_, [a, b]) if name.starts_with('_') => format!("{a} {} {b}", name.trim_matches('_')),
        (_, [receiver, rest @ ..]) if overload.member => format!("{receiver}.{name}({})", rest.join(", ")),
        (_, params) => format!("{name}({})", params.join(", ")),
    }
}

fn document() -> String {
    let mut out = String::from(HEAD);
    for library in LIBRARIES {
        let functions: Vec<_> = library.functions.iter().filter(|f| !is_internal(f.name)).collect();
        if functions.is_empty() {
            continue;
        }
        let mut title = library.name.to_owned();
        title[..1].make_ascii_uppercase();
        writeln!(out, "\n## {title}\n\n| function | result | since |\n|---|---|---|").expect("a string");
        for (function, overload) in functions.iter().flat_map(|f| f.overloads.iter().map(move |o| (f, o))) {
            // A bar would end the cell.
            let signature = signature(function, overload).replace('|', "\\|");
            let result = Type::from(overload.result);
            writeln!(out, "| `{signature}` | `{result}` | 1.{} |", overload.since).expect("a string");
        }
    }
    out
}

#[test]
fn the_documentation_lists_every_function() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cel-functions.md");
    let made = document();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("docs can be made");
        std::fs::write(&path, &made).expect("docs can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, made, "docs/cel-functions.md is out of date: run with UPDATE_EXPECT=1");
}
