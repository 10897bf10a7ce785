//! Recorded compilations: expressions with schemas and versions, and their type and estimated cost, or
//! all errors, to the letter.
//!
//! `data/compile.jsonl` was recorded with cel-go 0.26 and the environments of Kubernetes 1.36; the
//! schemas it refers to by number are in `data/compile_schemas.json`. Many of the expressions are
//! random, many are valid ones with tokens changed.

use pleach_cel::{DeclType, Declarations, Environment, ListKind, ObjectType};
use pleach_json::Value;
use std::collections::HashMap;

/// The type of `schema`, as far as the table needs it; `name` is that of its object.
fn declare(schema: &Value, name: &str) -> Option<DeclType> {
    let limit = |key: &str| schema.get(key).and_then(Value::as_int);
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if schema.get("x-kubernetes-int-or-string").is_some() {
        return Some(DeclType::int_or_string(limit("maxLength")));
    }
    Some(match (text("type")?, text("format")) {
        ("string", Some("byte")) => DeclType::bytes(limit("maxLength")),
        ("string", Some("date")) => DeclType::date(),
        ("string", Some("date-time")) => DeclType::date_time(),
        ("string", Some("duration")) => DeclType::duration(),
        ("string", _) => {
            let values = schema.get("enum").and_then(Value::as_array);
            let longest = values.and_then(|v| v.iter().filter_map(Value::as_str).map(str::len).max());
            DeclType::string(limit("maxLength"), longest.map(|n| n as u64))
        }
        ("boolean", _) => DeclType::boolean(),
        ("integer", _) => DeclType::integer(),
        ("number", _) => DeclType::number(),
        ("array", _) => {
            let element = declare(schema.get("items")?, &format!("{name}.@idx"))?;
            DeclType::list(element, ListKind::Atomic, limit("maxItems"))
        }
        ("object", _) => match schema.get("additionalProperties") {
            Some(values) => DeclType::map(declare(values, &format!("{name}.@elem"))?, limit("maxProperties")),
            None => {
                let mut object = ObjectType::new(name);
                let properties = schema.get("properties").and_then(Value::as_object);
                for (key, property) in properties.into_iter().flat_map(pleach_json::Map::iter) {
                    if let Some(decl) = declare(property, &format!("{name}.{key}")) {
                        object = object.with_field(key.clone(), decl);
                    }
                }
                DeclType::object(object, [])
            }
        },
        _ => return None,
    })
}

#[test]
fn expressions_compile_as_recorded() {
    let schemas = pleach_json::parse(include_bytes!("data/compile_schemas.json")).expect("schemas");
    let schemas: Vec<Option<DeclType>> =
        schemas.as_array().expect("a list").iter().map(|schema| declare(schema, "selfType")).collect();
    let mut environments: HashMap<i64, Environment> = HashMap::new();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in include_str!("data/compile.jsonl").lines() {
        count += 1;
        let fact = pleach_json::parse(line.as_bytes()).expect("a fact");
        let text = |key: &str| fact.get(key).and_then(Value::as_str);
        let number = |key: &str| fact.get(key).and_then(Value::as_int);
        let version = number("version").unwrap_or(0);
        let environment = environments.entry(version).or_insert_with(|| match version {
            0 => Environment::stored(),
            minor => Environment::for_version(minor as u32),
        });
        let mut declarations = Declarations::new();
        if let Some(decl) = &schemas[number("schema").expect("a schema") as usize] {
            let optional = fact.get("optionalOldSelf").is_some();
            let old = if optional { DeclType::optional(decl.clone()) } else { decl.clone() };
            declarations = declarations.with("self", decl.clone()).with("oldSelf", old);
        }
        let source = text("expression").expect("an expression");
        let (got, want) = match environment.compile(source, &declarations) {
            Err(issues) => (issues.to_string(), text("issues").unwrap_or("no issues").to_owned()),
            Ok(checked) => {
                let cost = checked.cost_estimate();
                let want = text("issues").map_or_else(
                    || format!("{} {}", text("type").unwrap_or_default(), text("cost").unwrap_or_default()),
                    str::to_owned,
                );
                (format!("{} {}..{}", checked.output_type(), cost.min, cost.max), want)
            }
        };
        if got != want {
            wrong.push(format!("{source} (1.{version})\n  got  {got}\n  want {want}"));
        }
    }
    assert!(count > 1_500, "the table is there");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Hostile expressions: compiling ends soon.
#[test]
fn hostile_expressions_end_soon() {
    let environment = Environment::stored();
    let declarations = Declarations::new().with("self", DeclType::string(None, None));
    let chain = |start: &str, link: &str, count: usize| format!("{start}{}", link.repeat(count));
    let nested =
        |open: &str, close: &str, count: usize| format!("{}1{}", open.repeat(count), close.repeat(count));
    for (why, source) in [
        ("every link has its target twice", chain("optional.of(self)", ".optMap(x, x)", 120)),
        ("types that double", chain("[{1: 1}]", ".map(x, {x: x})", 120)),
        ("errors that double", chain("nope", ".optMap(x, x)", 120)),
        ("loops in loops", nested("[1, 2].all(x, ", ")", 120)),
        ("parentheses beyond the limit", nested("(", ")", 40_000)),
        ("open parentheses", "(".repeat(90_000)),
        ("nothing but errors", "@".repeat(90_000)),
        ("a sum beyond the limit", chain("1", " + 1", 24_000)),
        ("a long list", format!("[{}1", "1, ".repeat(30_000))),
        ("a long name", chain("a", ".a", 45_000)),
        ("a long name that may be a message", format!("{}{{", chain("a", ".a", 45_000))),
        ("minus signs", "-".repeat(90_000)),
        ("conditions", "true ? 1 : ".repeat(9_000)),
        ("quotes", "'".repeat(90_001)),
        ("a sharp pattern", format!("self.matches('{}')", "(a{1,900}".repeat(100))),
        ("beyond the size", "x".repeat(200_000)),
    ] {
        if let Ok(checked) = environment.compile(&source, &declarations) {
            // Every accepted expression can be estimated and explained.
            let explanation = checked.cost_estimate();
            assert!(explanation.max >= explanation.min, "{why}");
        }
    }
}

/// Texts cut off anywhere are refused or accepted, never a panic.
#[test]
fn no_prefix_panics() {
    let environment = Environment::stored();
    let declarations = Declarations::new().with("self", DeclType::string(None, None));
    for line in include_str!("data/compile.jsonl").lines().step_by(40) {
        let fact = pleach_json::parse(line.as_bytes()).expect("a fact");
        let source = fact.get("expression").and_then(Value::as_str).expect("an expression");
        for (at, _) in source.char_indices() {
            for part in [&source[..at], &source[at..]] {
                if let Err(issues) = environment.compile(part, &declarations) {
                    assert!(!issues.list().is_empty(), "{part}: an error says what is wrong");
                }
            }
        }
    }
}
