//! The write cache does not change responses: the same writes go to a server that stays up and to one
//! that is restarted before each of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::path::Path;

use pleach_clients::{Answer, Api, Running, definition};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

/// A request: method, path below the collection, body.
struct Step {
    why: &'static str,
    method: &'static str,
    path: String,
    content: &'static str,
    body: Body,
}

type Change = fn(&mut Value);

enum Body {
    /// As it is.
    Fixed(Value),
    /// The current object with these changes.
    Changed(Change),
    /// A new object with only the resource version of the current one.
    Template(Value),
}

fn crd(maximum: i64, color: Option<&str>) -> Value {
    let mut color_schema = json!({"type": "string"});
    if let Some(color) = color {
        color_schema["default"] = json!(color);
    }
    let spec = json!({
        "type": "object",
        "properties": {
            "size": {"type": "integer", "maximum": maximum},
            "weight": {"type": "number"},
            "color": color_schema,
            "note": {"type": "string", "maxLength": 20},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}},
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string"},
                    "count": {"type": "integer", "minimum": 0, "default": 1},
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                }},
            },
            "left": {"type": "object", "properties": {"deep": {"type": "integer", "maximum": 10}}},
            "right": {"type": "object", "properties": {"deep": {"type": "integer", "maximum": 100}}},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(oldSelf.note) || !has(self.note) || self.note.size() >= oldSelf.note.size()",
             "message": "notes do not get shorter"},
        ],
    });
    let status = json!({"type": "object", "properties": {"phase": {"type": "string"}}});
    let mut crd = definition("things", "Thing", json!({"spec": spec, "status": status}));
    crd["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    crd
}

fn thing(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})
}

/// Objects with the same fields, some with a few more or less: they share cached field sets.
fn similar_objects() -> Vec<Step> {
    let base = json!({
        "size": 5, "labels": {"a": "x"},
        "parts": [{"name": "one", "tags": ["s", "t"]}, {"name": "two", "count": 2}],
    });
    let specs: [(&str, Change); 8] = [
        ("as others", |_| {}),
        ("other values", |spec| spec["size"] = json!(6)),
        ("items in another order", |spec| spec["parts"].as_array_mut().unwrap().reverse()),
        ("an item twice", |spec| spec["parts"][1]["name"] = json!("one")),
        ("another key", |spec| spec["parts"][1]["name"] = json!("three")),
        ("a field more", |spec| spec["left"] = json!({})),
        ("a field less", |spec| drop(spec["labels"].take())),
        ("no field at all", |spec| *spec = json!({})),
    ];
    let mut steps = Vec::new();
    for (round, (why, change)) in specs.iter().cycle().take(3 * specs.len()).enumerate() {
        let mut spec = base.clone();
        change(&mut spec);
        let thing = |name: &str, spec: Value| {
            let mut thing = thing(spec);
            thing["metadata"] = json!({"name": name, "labels": {"round": "x"}});
            Body::Fixed(thing)
        };
        let (made, applied) = (format!("made-{round}"), format!("applied-{round}"));
        let step = |why, method, path, content, body| Step { why, method, path, content, body };
        steps.push(step(why, "POST", THINGS.to_owned(), "application/json", thing(&made, spec.clone())));
        let size = Body::Fixed(json!({"spec": {"size": 9}}));
        let own = format!("{THINGS}/{made}");
        steps.push(step("and changed", "PATCH", own, "application/merge-patch+json", size));
        let path = format!("{THINGS}/{applied}?fieldManager=applier&force=true");
        steps.push(step(why, "PATCH", path, "application/apply-patch+yaml", thing(&applied, spec)));
    }
    steps
}

fn steps() -> Vec<Step> {
    const JSON: &str = "application/json";
    const MERGE: &str = "application/merge-patch+json";
    const PATCH: &str = "application/json-patch+json";
    const APPLY: &str = "application/apply-patch+yaml";
    let own = || format!("{THINGS}/a");
    let step =
        |why, method, path, content, body| Step { why, method, path, content, body: Body::Fixed(body) };
    let merge = |why, body| step(why, "PATCH", own(), MERGE, body);
    let put =
        |why, change| Step { why, method: "PUT", path: own(), content: JSON, body: Body::Changed(change) };
    let apply = |why, spec: Value| {
        step(why, "PATCH", format!("{}?fieldManager=applier&force=true", own()), APPLY, thing(spec))
    };
    let redefine = |why, maximum, color| {
        step(
            why,
            "PATCH",
            format!("{CRDS}/things.example.com"),
            MERGE,
            json!({"spec": crd(maximum, color)["spec"]}),
        )
    };
    vec![
        step(
            "new",
            "POST",
            THINGS.to_owned(),
            JSON,
            thing(json!({
                "size": 5, "weight": 1.0, "note": "quote \" and \\ back",
                "labels": {"a": "x", "b": "y"},
                "parts": [{"name": "one", "tags": ["s", "t"]}, {"name": "two", "count": 2}],
                "left": {"deep": 7},
            })),
        ),
        merge("one field", json!({"spec": {"size": 6}})),
        merge("a float that is none", json!({"spec": {"weight": 2.0}})),
        merge("nothing", json!({"spec": {"weight": 2}})),
        put("the whole, one field changed", |thing| thing["spec"]["size"] = json!(7)),
        put("the whole, nothing changed", |_| {}),
        put("the whole, with what is unknown", |thing| thing["spec"]["parts"][0]["lost"] = json!({"a": 1})),
        put("an item goes", |thing| drop(thing["spec"]["parts"].as_array_mut().unwrap().remove(0))),
        step(
            "a copy in another place",
            "PATCH",
            own(),
            PATCH,
            json!([{"op": "copy", "from": "/spec/left", "path": "/spec/right"}]),
        ),
        step(
            "a change of the copy alone",
            "PATCH",
            own(),
            PATCH,
            json!([{"op": "replace", "path": "/spec/right/deep", "value": 50}]),
        ),
        step(
            "what is too much here and not there",
            "PATCH",
            own(),
            PATCH,
            json!([{"op": "copy", "from": "/spec/right", "path": "/spec/left"}]),
        ),
        apply(
            "by another",
            json!({"note": "a longer note of it all", "parts": [{"name": "two", "count": 3}]}),
        ),
        apply("by another", json!({"note": "quote and a bit more", "parts": [{"name": "two", "count": 3}]})),
        apply("again", json!({"note": "quote and a bit more", "parts": [{"name": "two", "count": 3}]})),
        apply("less", json!({"parts": [{"name": "three", "tags": ["x"]}]})),
        merge("twice in a set", json!({"spec": {"parts": [{"name": "three", "tags": ["x", "x"]}]}})),
        merge("too long", json!({"spec": {"labels": {"b": "too long"}}})),
        merge("a note, which the schema cannot judge alone", json!({"spec": {"note": "nine char"}})),
        merge("shorter", json!({"spec": {"note": "short"}})),
        put("shorter, the whole", |thing| thing["spec"]["note"] = json!("x")),
        Step {
            why: "the status",
            method: "PUT",
            path: format!("{}/status", own()),
            content: JSON,
            body: Body::Changed(|thing| {
                thing["status"] = json!({"phase": "Ready", "lost": 1});
                thing["spec"]["size"] = json!(99);
            }),
        },
        step(
            "the status by patch",
            "PATCH",
            format!("{}/status", own()),
            MERGE,
            json!({"status": {"phase": "Done"}, "spec": {"size": 98}}),
        ),
        redefine("now sizes are too large, and there is a default", 3, Some("red")),
        merge("what is too large may stay", json!({"spec": {"labels": {"c": "z"}}})),
        merge("but not change", json!({"spec": {"size": 8}})),
        put("nor with the whole", |thing| thing["spec"]["size"] = json!(9)),
        put("and may stay with the whole", |thing| thing["spec"]["labels"]["d"] = json!("w")),
        redefine("the default is another", 100, Some("blue")),
        merge("a field goes", json!({"spec": {"color": null}})),
        redefine("there is none", 100, None),
        put("a field goes", |thing| drop(thing["spec"].as_object_mut().unwrap().remove("color"))),
        put("owners are forgotten", |thing| thing["metadata"]["managedFields"] = json!([])),
        merge("and stay so", json!({"spec": {"size": 10}})),
        apply("until somebody applies", json!({"size": 11})),
    ]
}

/// Repeated applies of one manager, with others in between: its last applied configuration is cached.
fn repeated_applies() -> Vec<Step> {
    const APPLY: &str = "application/apply-patch+yaml";
    let by = |manager: &str, force: bool| format!("{THINGS}/a?fieldManager={manager}&force={force}");
    let apply = |why, path: String, body: Value| Step {
        why,
        method: "PATCH",
        path,
        content: APPLY,
        body: Body::Fixed(body),
    };
    let base = || {
        json!({
            "size": 5, "weight": 1.5, "labels": {"a": "x", "b": "y"}, "left": {"deep": 1},
            "parts": [{"name": "two", "tags": ["s", "t"]}, {"name": "one", "count": 2, "tags": ["u"]}, {"name": "six"}],
        })
    };
    let with = |change: Change| {
        let mut spec = base();
        change(&mut spec);
        spec
    };
    let says = |why, change: Change| apply(why, by("applier", true), thing(with(change)));
    let merge = |why, body| Step {
        why,
        method: "PATCH",
        path: format!("{THINGS}/a?fieldManager=other"),
        content: "application/merge-patch+json",
        body: Body::Fixed(body),
    };
    let mut steps = vec![
        says("the first word", |_| {}),
        says("the same again", |_| {}),
        says("another value", |spec| spec["size"] = json!(6)),
        says("and again", |spec| spec["size"] = json!(7)),
        says("items in another order", |spec| spec["parts"].as_array_mut().unwrap().reverse()),
        says("items change what is in them", |spec| spec["parts"][0]["name"] = json!("one")),
        says("two items take each other's names", |spec| {
            spec["parts"][0]["name"] = json!("one");
            spec["parts"][1]["name"] = json!("two");
        }),
        says("an item goes", |spec| drop(spec["parts"].as_array_mut().unwrap().remove(1))),
        says("and comes back", |_| {}),
        says("a field goes", |spec| drop(spec.as_object_mut().unwrap().remove("left"))),
        says("a field comes", |spec| spec["right"] = json!({"deep": 3})),
        merge("somebody else changes what was said", json!({"spec": {"labels": {"a": "z"}, "size": 8}})),
        says("it is said again", |_| {}),
        merge("somebody else adds something", json!({"spec": {"labels": {"c": "z"}, "note": "a note"}})),
        says("which stays", |spec| spec["size"] = json!(9)),
        merge(
            "somebody else replaces a list",
            json!({"spec": {"parts": [{"name": "ten"}, {"name": "one", "tags": ["q"]}]}}),
        ),
        says("which is merged with", |_| {}),
        says("and again with", |spec| spec["parts"][1]["count"] = json!(3)),
        says("something invalid", |spec| spec["size"] = json!(5000)),
        says("something of the wrong type", |spec| spec["labels"] = json!("x")),
        says("an item twice", |spec| spec["parts"][1]["name"] = json!("two")),
        says("a null", |spec| spec["labels"]["a"] = json!(null)),
        says("as before", |_| {}),
        apply(
            "by another, without force",
            by("second", false),
            thing(json!({"size": 1, "left": {"deep": 1}})),
        ),
        apply("by another, with the same values", by("second", false), thing(json!({"left": {"deep": 1}}))),
        says("what two own", |spec| spec["left"]["deep"] = json!(2)),
        apply(
            "by another who says something else now",
            by("second", true),
            thing(json!({"right": {"deep": 4}})),
        ),
        says("the first goes on", |spec| spec["size"] = json!(3)),
    ];
    for phase in ["One", "Two"] {
        let mut body = thing(base());
        body["status"] = json!({"phase": phase});
        steps.push(apply("a status that is not asked for", by("applier", true), body.clone()));
        let path = format!("{THINGS}/a/status?fieldManager=applier&force=true");
        steps.push(apply("and one that is", path, body));
    }
    let mut labelled = thing(base());
    labelled["metadata"]["labels"] = json!({"l": "m"});
    steps.push(apply("labels", by("applier", true), labelled.clone()));
    labelled["spec"]["size"] = json!(4);
    steps.push(apply("the same labels", by("applier", true), labelled));
    steps.push(Step {
        why: "there is a default now",
        method: "PATCH",
        path: format!("{CRDS}/things.example.com"),
        content: "application/merge-patch+json",
        body: Body::Fixed(json!({"spec": crd(100, Some("red"))["spec"]})),
    });
    steps.push(says("under another schema", |_| {}));
    steps.push(says("once more", |spec| spec["size"] = json!(2)));
    steps
}

/// Objects from a template: the defaulted form is cached.
fn templates() -> Vec<Step> {
    let base = || {
        json!({
            "size": 5, "weight": 1.5, "labels": {"a": "x", "b": "y"}, "left": {"deep": 1},
            "parts": [{"name": "two", "tags": ["s", "t"]}, {"name": "one", "count": 2}, {"name": "six"}],
        })
    };
    let to = |why, query: &str, change: Change| {
        let mut body = thing(base());
        change(&mut body["spec"]);
        let path = format!("{THINGS}/a{query}");
        Step { why, method: "PUT", path, content: "application/json", body: Body::Template(body) }
    };
    let put = |why, change| to(why, "", change);
    let merge = |why, path, body| Step {
        why,
        method: "PATCH",
        path,
        content: "application/merge-patch+json",
        body: Body::Fixed(body),
    };
    let others = |why, body| merge(why, format!("{THINGS}/a?fieldManager=other"), body);
    let unknown: Change = |spec| spec["left"]["no-such"] = json!({"field": 1});
    let made = Step {
        why: "it is made",
        method: "POST",
        path: THINGS.to_owned(),
        content: "application/json",
        body: Body::Fixed(thing(base())),
    };
    let redefine = |why, color| {
        merge(why, format!("{CRDS}/things.example.com"), json!({"spec": crd(100, color)["spec"]}))
    };
    vec![
        made,
        put("the first time", |spec| spec["size"] = json!(6)),
        put("the second time", |spec| spec["size"] = json!(7)),
        put("once more", |spec| spec["size"] = json!(8)),
        put("as it was", |spec| spec["size"] = json!(8)),
        put("in a list", |spec| spec["parts"][1]["count"] = json!(3)),
        put("items in another order", |spec| spec["parts"].as_array_mut().unwrap().reverse()),
        put("a default made explicit", |spec| spec["parts"][0]["count"] = json!(1)),
        put("and another value", |spec| spec["parts"][0]["count"] = json!(4)),
        put("an item less", |spec| drop(spec["parts"].as_array_mut().unwrap().remove(0))),
        others("somebody else changes it", json!({"spec": {"labels": {"a": "z"}, "left": {"deep": 2}}})),
        put("back to the template", |_| {}),
        put("a null", |spec| spec["parts"][0]["count"] = json!(null)),
        put("something unknown is told", unknown),
        put("and told again", unknown),
        to("or is not", "?fieldValidation=Ignore", unknown),
        to("or is refused", "?fieldValidation=Strict", unknown),
        put("something invalid", |spec| spec["left"]["deep"] = json!(11)),
        put("invalid again", |spec| spec["left"]["deep"] = json!(11)),
        put("an item twice", |spec| spec["parts"][1]["name"] = json!("two")),
        put("no spec to speak of", |spec| *spec = json!({})),
        put("the template", |_| {}),
        redefine("there is a default now", Some("red")),
        put("the same under another schema", |_| {}),
        put("and again", |spec| spec["size"] = json!(9)),
        redefine("another default", Some("blue")),
        put("under that", |spec| spec["size"] = json!(10)),
        put("and that again", |spec| spec["size"] = json!(11)),
        Step {
            why: "the status, from a template too",
            method: "PUT",
            path: format!("{THINGS}/a/status"),
            content: "application/json",
            body: Body::Template({
                let mut body = thing(base());
                body["status"] = json!({"phase": "One"});
                body
            }),
        },
        put("and the rest", |spec| spec["size"] = json!(12)),
    ]
}

fn send(api: &Api, step: &Step) -> Answer {
    let body = match &step.body {
        Body::Fixed(body) => body.clone(),
        Body::Changed(change) => {
            let mut thing = api.send("GET", &format!("{THINGS}/a"), None).ok();
            change(&mut thing);
            thing
        }
        Body::Template(body) => {
            let live = api.send("GET", &format!("{THINGS}/a"), None).ok();
            let mut thing = body.clone();
            thing["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
            thing
        }
    };
    let headers = [("Content-Type", step.content)];
    api.raw_with(step.method, &step.path, &headers, Some(&body.to_string())).unwrap()
}

/// Managers are sorted by time. The sorting is checked here; the order differs when a second ends
/// between two steps on one server only.
fn in_order_of_names(entries: &mut [Value]) {
    const RULE: [&str; 5] = ["operation", "time", "manager", "apiVersion", "subresource"];
    let texts =
        |entry: &Value| RULE.map(|key| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned());
    assert!(entries.is_sorted_by_key(texts), "out of order: {entries:?}");
    entries.sort_by_cached_key(|entry| {
        let [operation, _, rest @ ..] = texts(entry);
        (operation, rest)
    });
}

/// Without fields that differ between servers.
fn comparable(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(members) => {
                if let Some(Value::Array(entries)) = members.get_mut("managedFields") {
                    in_order_of_names(entries);
                }
                for key in ["uid", "resourceVersion", "creationTimestamp", "time", "lastTransitionTime"] {
                    members.remove(key);
                }
                members.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}

fn started(data: &Path) -> (Running, Api) {
    let server = Running::on(data);
    let api = server.api();
    (server, api)
}

/// Sends the same requests to a server that stays up and to one that is restarted before each step.
/// Returns how many steps were refused; `after` sees both servers after each.
fn compare(steps: Vec<Step>, after: impl Fn(&Step, &Api, &Api)) -> usize {
    let (stays, renewed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_kept, api) = started(stays.path());
    api.send("POST", CRDS, Some(&crd(1000, None))).ok();
    {
        let (_server, other) = started(renewed.path());
        other.send("POST", CRDS, Some(&crd(1000, None))).ok();
    }
    let mut refused = 0;
    for step in steps {
        let (_server, other) = started(renewed.path());
        let (with, without) = (send(&api, &step), send(&other, &step));
        assert_eq!(with.status, without.status, "{}", step.why);
        assert_eq!(comparable(with.body), comparable(without.body), "{}", step.why);
        refused += usize::from(with.status >= 400);
        after(&step, &api, &other);
    }
    refused
}

#[test]
fn cached_field_sets_do_not_change_responses() {
    let refused = compare(similar_objects(), |_, _, _| {});
    assert!((3..20).contains(&refused), "{refused} steps were refused");
}

/// Both servers have the same object.
fn same_thing(step: &Step, api: &Api, other: &Api) {
    let get = |api: &Api| comparable(api.send("GET", &format!("{THINGS}/a"), None).ok());
    assert_eq!(get(api), get(other), "after {}", step.why);
}

#[test]
fn cached_objects_do_not_change_responses() {
    let refused = compare(steps(), same_thing);
    assert!((5..15).contains(&refused), "{refused} steps were refused");
}

#[test]
fn cached_defaults_do_not_change_responses() {
    let refused = compare(templates(), same_thing);
    assert!((3..7).contains(&refused), "{refused} steps were refused");
}

#[test]
fn cached_applies_do_not_change_responses() {
    let refused = compare(repeated_applies(), same_thing);
    assert!((3..8).contains(&refused), "{refused} steps were refused");
}
