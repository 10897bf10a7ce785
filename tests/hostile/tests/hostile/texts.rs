//! JSON and YAML texts, JSONPath and selectors.

use pleach_json::{MAX_DEPTH, Value, parse, parse_strict};
use pleach_jsonpath::JsonPath;
use pleach_meta::{FieldSelector, LabelSelector};

use crate::{BODY, Make, attack, fitting};

/// A text that is read as JSON.
fn json(name: &'static str, text: impl FnOnce() -> Vec<u8> + 'static) -> Make {
    Box::new(move || {
        let text = text();
        attack(name, text.len(), move || parse_strict(&text))
    })
}

/// A text that is read as YAML.
fn yaml(name: &'static str, text: impl FnOnce() -> String + 'static) -> Make {
    Box::new(move || {
        let text = text();
        attack(name, text.len(), move || pleach_yaml::parse_strict(text.as_bytes()))
    })
}

/// `open`, then as many of `each` as fit, then `close`.
fn filled(open: &str, each: &str, close: &str) -> String {
    let n = (BODY - open.len() - close.len()) / each.len();
    format!("{open}{}{close}", each.repeat(n))
}

fn numbered(open: &str, each: impl Fn(usize) -> String, close: &str) -> String {
    let mut text = String::from(open);
    let mut n = 0;
    loop {
        let next = each(n);
        if text.len() + next.len() + close.len() > BODY {
            break;
        }
        text.push_str(&next);
        n += 1;
    }
    text + close
}

/// An object with a member `key` in an object with a member `key` … as deep as JSON may be.
fn deep(key: &str, inner: &str, levels: usize) -> String {
    let mut text = String::with_capacity(BODY);
    (0..levels).for_each(|_| text.push_str(&format!("{{\"{key}\":")));
    text.push_str(inner);
    (0..levels).for_each(|_| text.push('}'));
    text
}

pub(crate) fn all() -> Vec<Make> {
    let mut all: Vec<Make> = vec![
        json("JSON: a list of numbers", || filled("[1", ",1", "]").into()),
        json("JSON: a list of short lists", || filled("[0", ",[1]", "]").into()),
        json("JSON: a list of small objects", || filled("[0", ",{\"\":1}", "]").into()),
        json("JSON: short keys", || numbered("{\"\":1", |n| format!(",\"{n:x}\":1"), "}").into()),
        json("JSON: keys in descending order", || {
            numbered("{\"\":1", |n| format!(",\"{:07}\":1", 9_999_999 - n), "}").into()
        }),
        json("JSON: one key again and again", || filled("{\"a\":1", ",\"a\":1", "}").into()),
        json("JSON: keys set twice in deep objects", || {
            let key = "k".repeat(BODY / 8 / 1_000);
            deep(&key, &format!("{{{}\"z\":1}}", "\"a\":1,".repeat(2_000)), 5_000)
                .replacen('{', "{\"a\":1,\"a\":1,", 4_000)
                .into()
        }),
        json("JSON: deeper than it may be", || "[".repeat(BODY).into()),
        json("JSON: many deep lists", || {
            let one = format!("{}{},", "[".repeat(MAX_DEPTH - 1), "]".repeat(MAX_DEPTH - 1));
            format!("[{}0]", one.repeat(BODY / one.len())).into()
        }),
        json("JSON: a number of many digits", || filled("[", "7", "]").into()),
        json("JSON: a fraction of many digits", || filled("[0.", "7", "]").into()),
        json("JSON: many long numbers", || filled("[0", ",1.2345678901234567890123456789e-300", "]").into()),
        json("JSON: escapes", || filled("[\"", "\\u00e9", "\"]").into()),
        json("JSON: half pairs", || filled("[\"", "\\ud83d", "\"]").into()),
        json("JSON: bytes that are no UTF-8", || {
            let mut text = vec![0xff; BODY];
            (text[0], text[1], text[BODY - 2], text[BODY - 1]) = (b'[', b'"', b'"', b']');
            text
        }),
        json("JSON: blanks", || filled("[", " ", "]").into()),
        yaml("YAML: aliases of a long text", || {
            let head = format!("a: &a \"{}\"\nb: [", "x".repeat(BODY / 2));
            filled(&head, "*a,", "0]")
        }),
        yaml("YAML: aliases of aliases", || {
            let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
            for n in 1..20 {
                let before = vec![format!("*a{}", n - 1); 9].join(",");
                text.push_str(&format!("a{n}: &a{n} [{before}]\n"));
            }
            filled(&text, "b: [y,y,y,y,y,y,y,y]\n", "")
        }),
        yaml("YAML: as many aliases as are allowed", || {
            let head = "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: [";
            filled(head, "*a,1,1,1,1,1,1,1,1,1,", "0]")
        }),
        yaml("YAML: merge keys", || {
            let mut text = String::from("m0: &m0 {");
            (0..1_000).for_each(|n| text.push_str(&format!("k{n}: {n}, ")));
            text.push_str("}\n");
            numbered(&text, |n| format!("x{n}: {{<<: *m0}}\n"), "")
        }),
        yaml("YAML: long keys by alias, set again and again", || {
            let head = format!("a: &a \"{}\"\nb: {{", "x".repeat(BODY / 8));
            filled(&head, "*a : 1,", "}")
        }),
        yaml("YAML: a flow list", || filled("a: [", "b,", "b]")),
        yaml("YAML: a block list", || filled("", "- b\n", "")),
        yaml("YAML: block lists in block lists", || filled("", "- ", "b")),
        yaml("YAML: deep flow lists", || "[".repeat(BODY)),
        yaml("YAML: deep block mappings", || {
            let mut text = String::new();
            for level in 0.. {
                if text.len() + level + 4 > BODY {
                    break;
                }
                text.push_str(&" ".repeat(level));
                text.push_str("a:\n");
            }
            text
        }),
        yaml("YAML: a plain text of many lines", || filled("a: b\n", "  c\n", "")),
        yaml("YAML: a quoted text of many lines", || filled("a: \"b\n", "\n c", "\"")),
        yaml("YAML: a literal text of many lines", || filled("a: |\n", " c\n", "")),
        yaml("YAML: a folded text of many lines", || filled("a: >\n", " c\n\n", "")),
        yaml("YAML: quoted texts that are not indented", || filled("a:\n  b: \"x\n", "y\n", "\"")),
        yaml("YAML: tabs in a flow mapping", || filled("a: {\n", "\tb: c,\n", "}")),
        yaml("YAML: documents", || filled("", "---\n", "")),
        yaml("YAML: tags", || filled("a: [", "!!str b,", "b]")),
        yaml("YAML: tags of one's own", || filled("%TAG !e! tag:e,2000:\n--- [", "!e!x b,", "b]")),
        yaml("YAML: anchors", || numbered("[", |n| format!("&a{n} b,"), "b]")),
        yaml("YAML: comments", || filled("a: b\n", "# c\n", "d: e")),
        yaml("YAML: blank lines", || filled("a:\n", "\n", "b")),
        yaml("YAML: binary", || filled("a: !!binary \"", "AAAA", "\"")),
        yaml("YAML: integers of many digits", || filled("a: 0x", "7", "")),
        yaml("YAML: underscores", || filled("a: 1", "_", "1")),
        yaml("YAML: keys set twice", || filled("", "a: b\n", "")),
        yaml("YAML: keys that are lists", || format!("? {}\n: b", filled("[", "{},", "0]"))),
        yaml("YAML: null keys", || format!("~: {}\n", filled("[", "~,", "0]"))),
        yaml("YAML: escapes", || filled("a: \"", "\\x41", "\"")),
        yaml("YAML: question marks", || filled("", "? ", "a")),
        yaml("YAML: a line that never ends", || filled("a: b ", "c ", ": d")),
    ];
    all.push(Box::new(|| {
        let value = parse(filled("{\"a\":[0", ",{\"b\":1}", "]}").as_bytes()).unwrap();
        let path = JsonPath::parse("{.a[?(@.b==1)].b}").unwrap();
        attack("JSONPath: a filter over a long list", BODY, move || path.print(&value, true))
    }));
    for (name, path) in [
        ("JSONPath: descents in descents", "{..a..a..a..a}"),
        ("JSONPath: everything below everything", "{..[*]..[*]}"),
        ("JSONPath: unions of everything", "{..['a','a','a','a','a','a']..['a','a','a','a']}"),
    ] {
        all.push(Box::new(move || {
            let text = deep("a", "1", 9_000.min(fitting(8)));
            let value: Value = parse(text.as_bytes()).unwrap();
            let bytes = text.len();
            let path = JsonPath::parse(path).unwrap();
            attack(name, bytes, move || path.find_results(&value, true).map(|found| found.len()).ok())
        }));
    }
    all.push(Box::new(|| {
        let text = numbered("a in (b", |n| format!(",v{n}"), ")");
        attack("selectors: many values", text.len(), move || LabelSelector::parse(&text))
    }));
    all.push(Box::new(|| {
        let text = numbered("a", |n| format!(",k{n}=v"), "");
        attack("selectors: many requirements", text.len(), move || LabelSelector::parse(&text))
    }));
    all.push(Box::new(|| {
        let text = filled("a in (", "-,", ")");
        attack("selectors: many wrong values", text.len(), move || LabelSelector::parse(&text))
    }));
    all.push(Box::new(|| {
        let text = numbered("a=b", |n| format!(",k{n}=v"), "");
        attack("field selectors: many requirements", text.len(), move || FieldSelector::parse(&text))
    }));
    all
}
