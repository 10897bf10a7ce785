use pleach_json::json;

use super::*;

fn labels(value: &Value) -> Option<&Map> {
    value.as_object()
}

#[test]
fn texts_select_what_they_say() {
    let sets =
        [json!({}), json!({"a": "b"}), json!({"a": ""}), json!({"a": "5"}), json!({"x/y": "b", "a": "c"})];
    for (text, printed, want) in [
        ("", "", [true, true, true, true, true]),
        ("a", "a", [false, true, true, true, true]),
        ("!a", "!a", [true, false, false, false, false]),
        ("a=b", "a=b", [false, true, false, false, false]),
        (" a == b ", "a==b", [false, true, false, false, false]),
        ("a!=b", "a!=b", [true, false, true, true, true]),
        ("a in (c,b)", "a in (b,c)", [false, true, false, false, true]),
        ("a notin (b,c)", "a notin (b,c)", [true, false, true, true, false]),
        ("a in ()", "a in ()", [false, false, true, false, false]),
        ("a in (b,)", "a in (,b)", [false, true, true, false, false]),
        ("a in (b,,c)", "a in (,b,c)", [false, true, true, false, true]),
        ("a>1", "a>1", [false, false, false, true, false]),
        ("a < 10", "a<10", [false, false, false, true, false]),
        ("a=", "a=", [false, false, true, false, false]),
        ("in in (in,notin)", "in in (in,notin)", [false; 5]),
        ("x/y=b,a=c", "a=c,x/y=b", [false, false, false, false, true]),
    ] {
        let selector = LabelSelector::parse(text).unwrap();
        assert_eq!(selector.to_string(), printed);
        assert_eq!(sets.each_ref().map(|set| selector.matches(labels(set))), want, "{text}");
    }
}

#[test]
fn errors_read_as_upstream() {
    for (text, want) in [
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in ((b)", "unable to parse requirement: found '(', expected: ',', ')' or identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must \
             be an integer",
        ),
    ] {
        assert_eq!(LabelSelector::parse(text).unwrap_err(), want, "{text}");
    }
    let key = LabelSelector::parse("x/y/z=b").unwrap_err();
    assert!(
        key.starts_with("unable to parse requirement: <nil>: Invalid value: \"x/y/z\": a valid label key"),
        "{key}"
    );
    let value = LabelSelector::parse("a=-b").unwrap_err();
    assert!(
        value.starts_with("unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid"),
        "{value}"
    );
}

#[test]
fn objects_select_too() {
    let selector = LabelSelector::from_object(Some(&json!({
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["d"]}, {"key": "e", "operator": "Exists"}],
    })))
    .unwrap();
    assert_eq!(selector.to_string(), "a=b,c notin (d),e");
    assert!(selector.matches(labels(&json!({"a": "b", "e": ""}))));
    assert!(!LabelSelector::from_object(None).unwrap().matches(None), "no selector selects nothing");
    assert!(LabelSelector::from_object(Some(&json!({}))).unwrap().matches(None), "an empty one everything");
    for (expression, want) in [
        (json!({"key": "a", "operator": "Like"}), "\"Like\" is not a valid label selector operator"),
        (
            json!({"key": "a", "operator": "In"}),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            json!({"key": "a", "operator": "Exists", "values": ["x"]}),
            "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist",
        ),
    ] {
        let selector = json!({"matchExpressions": [expression]});
        assert_eq!(LabelSelector::from_object(Some(&selector)).unwrap_err(), want);
    }
}
