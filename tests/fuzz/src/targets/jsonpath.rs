//! JSONPath: a template, a separator and a document.

use pleach_json::{Value, json, parse};
use pleach_jsonpath::{JsonPath, KeyPath};

use crate::bytes::{long, seeds, split};

/// Finding twice finds the same, the first result is the first, and a key that was set is found.
pub(super) fn jsonpath(data: &[u8]) {
    let (template, document) = split(data);
    let template = String::from_utf8_lossy(template);
    let mut document = parse(document).unwrap_or_else(
        |_| json!({"a": [{"b": 1, "c": "x"}, {"b": 2}], "d": {"e.f": [1, [2, 3]]}, "g": null}),
    );
    for path in [JsonPath::parse(&template), JsonPath::parse_relaxed(&template)].into_iter().flatten() {
        let found = path.find_results(&document, true);
        assert_eq!(found.as_ref().ok(), path.find_results(&document, true).as_ref().ok());
        if let Ok(found) = &found {
            let first = found.first().and_then(|part| part.first().copied());
            assert!(path.keys().is_some() || path.first(&document) == first);
        }
        let _ = path.find_results(&document, false);
        assert_eq!(path.print(&document, true).ok(), path.print(&document, true).ok());
        let _ = path.print(&document, false);
    }
    let keys = KeyPath::new(&template);
    if keys.set(&mut document, Value::from("new")) {
        assert_eq!(keys.get(&document), Some(&Value::from("new")));
    }
    assert_eq!(keys.get(&document.clone()), keys.get_mut(&mut document).as_deref());
}

pub(super) fn jsonpath_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        r#"{.a[*].b}{"\t"}{.d.e\.f[1][-1:]}"#,
        r"{range .a[?(@.b>1)]}{.c}, {end}{..b}",
        r"{.a[0,1]['b','c']}{$.g}{@}{.a[::2]}{.d['e.f']}",
        r".a.b.c",
        r#"{.x..y[?(@.z=="a" || @.z!='b')]}¦{"x":{"k":{"y":[{"z":"a"},{"z":"c"}]}}}"#,
        r#"{range .items[*]}[{.metadata.name},{.spec.a[?(@.n<=5)].m}]{"\n"}{end}¦{"items":[{"metadata":{"name":"a"},"spec":{"a":[{"n":5,"m":true}]}},{}]}"#,
        r#"{.a[-3:5:-1]}{.*}{..*}¦{"a":[1,2,3,4],"b":{"c":[{}]}}"#,
        "{",
        "text {'quoted'} {1.5}",
    ]);
    all.push(long("{.a[*]}", "{.a[#]}", 300, "¦{\"a\":[1,2,3]}"));
    all.push(long("{..b}{.a[?(@.b==1)]}{range .a[*]}{.b}{end}¦{\"a\":[{}", ",{\"b\":#}", 500, "]}"));
    all
}
