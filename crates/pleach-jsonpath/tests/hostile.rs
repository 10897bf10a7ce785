//! Hostile templates and objects.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pleach_json::Value;
use pleach_jsonpath::JsonPath;

fn nested(depth: usize) -> Value {
    let text = format!("{}1{}", "{\"a\":[".repeat(depth), "]}".repeat(depth));
    pleach_json::parse(text.as_bytes()).unwrap()
}

#[test]
fn deep_objects() {
    let object = nested(4_900);
    let found = JsonPath::parse("{..a}").unwrap();
    assert_eq!(found.find_results(&object, false).unwrap()[0].len(), 4_900);
    let filter = JsonPath::parse("{[?(@.a)]}").unwrap();
    assert!(filter.find_results(&object, false).is_err(), "the message holds the whole object");
}

#[test]
fn deep_templates() {
    let object = nested(2);
    for (why, part, want) in [
        ("ranges in ranges", "{range .a[*]}", true),
        ("unclosed filters", "{.a[?(@", false),
        ("actions", "{.a}", true),
    ] {
        let template = part.repeat(20_000);
        assert_eq!(JsonPath::parse(&template).is_ok(), want, "{why}");
    }
    let ranges = "{range @}".repeat(20_000);
    let closed = JsonPath::parse(&(ranges.clone() + &"{end}".repeat(20_000))).unwrap();
    assert!(closed.find_results(&object, true).is_ok());
    let open = JsonPath::parse(&ranges).unwrap();
    assert!(open.find_results(&object, true).is_err(), "each level runs the rest of them again");
}

#[test]
fn templates_that_multiply_stop() {
    let object = nested(200);
    let path = JsonPath::parse(&format!("{{{}}}", "..[:]".repeat(8))).unwrap();
    assert!(path.find_results(&object, true).is_err());
    let twice = pleach_json::json!({"a": [1, 2]});
    let ranges =
        JsonPath::parse(&format!("{}x", "{range $.a[*]}{range @}{end}{end}{['a','a','a']}".repeat(10)))
            .unwrap();
    assert!(ranges.print(&twice, true).is_ok());
}
