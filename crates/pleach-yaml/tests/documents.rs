//! Streams, spans and limits.

use pleach_json::{Value, json};
use pleach_yaml::{Document, Step, YamlError, documents, parse, parse_strict};

fn all(text: &str) -> Vec<Result<Document, YamlError>> {
    documents(text).collect()
}

#[test]
fn a_stream_gives_its_documents_without_the_empty_ones() {
    let cases: [(&str, &[&str], &str); 8] = [
        ("a: 1\n", &["a: 1"], "one document"),
        ("a: 1\n---\nb: 2\n", &["a: 1", "b: 2"], "two"),
        ("---\na: 1\n---\n---\n# only a comment\n---\nb: 2\n", &["a: 1", "b: 2"], "empty ones between"),
        ("", &[], "nothing"),
        ("# c\n", &[], "a comment"),
        ("a: 1\n...\n---\nb: 2\n...\n", &["a: 1", "b: 2"], "end markers"),
        ("a: 1\r\n---\r\nb: 2\r\n", &["a: 1", "b: 2"], "CRLF"),
        ("{\"a\": 1}\n---\n[1]\n", &["{\"a\": 1}", "[1]"], "JSON"),
    ];
    for (text, spans, why) in cases {
        let found: Vec<_> = all(text)
            .into_iter()
            .map(|d| text[d.expect(why).places.tree(text).spans().value.clone()].to_owned())
            .collect();
        assert_eq!(found, spans, "{why}");
    }
}

#[test]
fn documents_after_an_invalid_one_are_read() {
    let text = "a: 1\n---\nb: [\n---\nc: 3\n";
    let found = all(text);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].is_ok());
    assert!(found[1].is_err());
    assert_eq!(found[2].as_ref().expect("the third").value, json!({"c": 3}));
}

#[test]
fn spans_point_at_keys_and_values() {
    let text = "metadata:\n  name: \"x\"\nspec:\n  list:\n  - a: 1\n    b: two words\n  - {c: 3}\n  script: |\n    one\n    two\n  empty:\n";
    let document = all(text).remove(0).expect("a document");
    let spans = document.places.tree(text);
    let at = |path: &[Step<'_>]| {
        let spans = spans.get(path.iter().copied()).expect("it is there");
        let key = spans.key.clone().map_or("", |key| &text[key]);
        (key.to_owned(), text[spans.value.clone()].to_owned())
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(at(&["metadata".into(), "name".into()]), pair("name", "\"x\""));
    assert_eq!(at(&["spec".into(), "list".into(), 0.into(), "b".into()]), pair("b", "two words"));
    assert_eq!(at(&["spec".into(), "list".into(), 1.into()]), pair("", "{c: 3}"));
    assert_eq!(at(&["spec".into(), "list".into(), 1.into(), "c".into()]), pair("c", "3"));
    assert_eq!(at(&["spec".into(), "list".into()]).1, "- a: 1\n    b: two words\n  - {c: 3}");
    assert_eq!(at(&["spec".into(), "script".into()]), pair("script", "one\n    two"));
    assert_eq!(at(&["spec".into(), "empty".into()]), pair("empty", ""));
    assert_eq!(spans.get(["spec".into(), "nope".into()]), None);
    let (nearest, steps) = spans.nearest(["spec".into(), "list".into(), 7.into(), "x".into()]);
    assert_eq!((nearest.key.as_ref().map(|key| &text[key.clone()]), steps), (Some("list"), 2));
}

#[test]
fn spans_of_aliases_and_merges_point_to_the_definition() {
    let text = "base: &b {x: 1}\nother:\n  <<: *b\n  z: 2\nsame: *b\n";
    let document = all(text).remove(0).expect("a document");
    assert_eq!(document.value, json!({"base": {"x": 1}, "other": {"x": 1, "z": 2}, "same": {"x": 1}}));
    let spans = document.places.tree(text);
    let x = spans.get(["other".into(), "x".into()]).expect("merged");
    assert_eq!(&text[x.value.clone()], "1");
    assert_eq!(spans.get(["same".into(), "x".into()]).map(|s| &s.value), Some(&x.value));
    let same = spans.get(["same".into()]).expect("alias");
    assert_eq!(same.key.clone().map(|key| &text[key]), Some("same"));
}

#[test]
fn errors_have_positions() {
    let error = parse(b"a: 1\nb: c: d\n").expect_err("two values");
    assert_eq!((error.line(), error.column(), error.offset()), (Some(2), Some(5), Some(9)));
    assert_eq!(error.to_string(), "yaml: line 2: mapping values are not allowed in this context");
    assert_eq!(error.message(), "mapping values are not allowed in this context");
    let error = parse(b"a: 1\nb: !!int x\n").expect_err("no number");
    assert_eq!((error.line(), error.column()), (Some(2), Some(10)));
}

#[test]
fn nesting_is_limited_and_costs_no_stack() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(9_000).as_bytes()).is_ok());
    let error = parse(nested(10_001).as_bytes()).expect_err("too deep");
    assert!(error.to_string().contains("exceeded max depth of 10000"), "{error}");
    let flow = format!("{}1{}", "{a: ".repeat(5_000), "}".repeat(5_000));
    assert!(documents(&flow).all(|document| document.is_ok()));
}

#[test]
fn aliases_have_a_budget_and_small_documents_may_use_it() {
    let mut bomb = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned()];
    for i in 1..9 {
        let aliases = vec![format!("*a{}", i - 1); 9].join(", ");
        bomb.push(format!("a{i}: &a{i} [{aliases}]\n"));
    }
    let error = parse(bomb.concat().as_bytes()).expect_err("nine to the ninth");
    assert_eq!(error.to_string(), "yaml: document contains excessive aliasing");
    let mut merges = vec!["m0: &m0 {a: 1, b: 2}\n".to_owned()];
    for i in 1..40 {
        merges.push(format!("m{i}: &m{i} {{<<: [*m{0}, *m{0}], k{i}: 1}}\n", i - 1));
    }
    assert!(parse(merges.concat().as_bytes()).is_err(), "merging doubles at each step");
    let modest = format!("a: &a {{x: 1}}\nb: [{}]\n", vec!["*a"; 90].join(", "));
    let value = parse(modest.as_bytes()).expect("ninety aliases");
    assert_eq!(value.get("b").and_then(|list| list.as_array()?.last()?.get("x")), Some(&Value::Int(1)));
}

#[test]
fn byte_order_marks_and_carriage_returns_do_no_harm() {
    let want = json!({"a": 1, "b": "x\ny\n"});
    assert_eq!(parse("\u{feff}a: 1\nb: |\n  x\n  y\n".as_bytes()), Ok(want.clone()));
    let stream = "\u{feff}a: 1\nb: |\n  x\n  y\n---\nc: 1\n";
    let found: Vec<_> = all(stream).into_iter().map(|document| document.expect("YAML").value).collect();
    assert_eq!(found, [want.clone(), json!({"c": 1})]);
    assert_eq!(parse(b"a: 1\r\nb: |\r\n  x\r\n  y\r\n"), Ok(want));
}

#[test]
fn strict_reading_reports_what_plain_reading_lets_pass() {
    let text = b"metadata:\n  name: x\n  name: z\nspec: 1\nspec: 2\n";
    let parsed = parse_strict(text).expect("it is YAML");
    assert_eq!(parsed.value, json!({"metadata": {"name": "z"}, "spec": 2}));
    assert_eq!(
        parsed.duplicates.to_string(),
        "yaml: unmarshal errors:\n  line 3: key \"name\" already set in map\n  line 5: key \"spec\" already set in map"
    );
    assert_eq!(parsed.duplicates.iter().map(|d| d.line).collect::<Vec<_>>(), [3, 5]);
}
