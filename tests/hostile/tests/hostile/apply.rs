//! Owners of fields: updates and applies.

use pleach_apply::{Request, Tracker, Type, Versions};
use pleach_json::{Map, Value, json};
use pleach_schema::{Schema, SchemaOptions};

use crate::{BODY, Make, attack, fitting};

struct Kind(Schema);

impl Versions for Kind {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        api_version.starts_with("g/v").then(|| Type::of(&self.0))
    }
}

fn request(manager: &str) -> Request<'_> {
    Request { manager, api_version: "g/v1", kind: "K", subresource: "", time: "2024-01-01T00:00:00Z" }
}

fn any() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn object(spec: Value, managed: Value) -> Value {
    let mut object =
        json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x", "uid": "u"}, "spec": spec});
    if !managed.is_null() {
        object.get_mut("metadata").and_then(Value::as_object_mut).unwrap().insert("managedFields", managed);
    }
    object
}

/// A live object and a new one, which replaces it and is then applied to it by another manager.
fn write(
    name: &'static str,
    of_spec: impl FnOnce() -> Value + 'static,
    make: impl FnOnce() -> (Value, Value) + 'static,
) -> Make {
    Box::new(move || {
        let schema = json!({"type": "object", "properties": {"spec": (of_spec())}});
        let kind = Kind(Schema::from_value(&schema, SchemaOptions::default()));
        let (live, new) = make();
        attack(name, BODY, move || {
            let mut replaced = new.clone();
            Tracker::new(&kind, request("me")).update(Some(&live), &mut replaced);
            let mut created = new.clone();
            let written = Tracker::new(&kind, request("me")).validate_and_track_new(&created).is_some();
            Tracker::new(&kind, request("me")).update(None, &mut created);
            let mut config = new;
            if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
                metadata.remove("uid");
            }
            let tracker = Tracker::new(&kind, request("other"));
            let told: Vec<_> = [false, true]
                .map(|force| tracker.apply(Some(&live), &config, force, &|_| {}))
                .into_iter()
                .map(|done| match done {
                    Err(pleach_apply::ApplyError::Conflicts(conflicts)) => {
                        (conflicts.message(), conflicts.causes().len())
                    }
                    Err(other) => (format!("{other:?}"), 0),
                    Ok(applied) => {
                        // What is not said any more goes.
                        let less = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}});
                        let again = tracker.apply(Some(&applied.object), &less, true, &|_| {});
                        (String::new(), usize::from(again.is_ok()))
                    }
                })
                .collect();
            (replaced, created, written, told)
        })
    })
}

fn entries(n: usize, entry: impl Fn(usize) -> (String, Value, &'static str, &'static str)) -> Value {
    let entry = |n: usize| {
        let (manager, fields, version, operation) = entry(n);
        json!({"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
               "fieldsV1": {"f:spec": fields}, "time": "2020-01-01T00:00:00Z"})
    };
    (0..n).map(entry).collect::<Vec<_>>().into()
}

fn wide(n: usize, value: i64) -> Value {
    (0..n).map(|n| (format!("k{n}").into(), json!(value))).collect::<Map>().into()
}

fn field(n: usize) -> Value {
    let mut fields = Map::new();
    fields.insert(format!("f:k{n}"), Value::object());
    fields.into()
}

pub(crate) fn all() -> Vec<Make> {
    let (managers, fields) = (fitting(300), fitting(150));
    let mut all: Vec<Make> = Vec::new();
    for (name, operation) in [
        ("managers: many updaters, each of one field", "Update"),
        ("managers: many appliers, each of one field", "Apply"),
    ] {
        all.push(write(name, any, move || {
            let managed = entries(managers, |n| (format!("m{n}"), field(n), "g/v1", operation));
            (object(wide(fields, 1), managed.clone()), object(wide(fields, 2), managed))
        }));
    }
    all.push(write("managers: many of the same field", any, move || {
        let managed = entries(managers, |n| (format!("m{n}"), field(7), "g/v1", "Apply"));
        (object(wide(fields, 1), managed.clone()), object(wide(fields, 2), managed))
    }));
    all.push(write("managers: few of all fields", any, move || {
        let all: Value =
            (0..fields / 8).map(|n| (format!("f:k{n}").into(), json!({}))).collect::<Map>().into();
        let managed = entries(8, |n| (format!("m{n}"), all.clone(), "g/v1", "Apply"));
        (object(wide(fields / 8, 1), managed.clone()), object(wide(fields / 8, 2), managed))
    }));
    all.push(write("managers: in versions by turns", any, move || {
        let managed = entries(managers, |n| {
            (format!("m{n}"), field(n), if n % 2 == 0 { "g/v2" } else { "g/v3" }, "Update")
        });
        (object(wide(fields, 1), managed.clone()), object(wide(fields, 2), managed))
    }));
    all.push(Box::new(move || {
        let schema = json!({"type": "object", "properties": {"spec": (any())}});
        let kind = Kind(Schema::from_value(&schema, SchemaOptions::default()));
        let mut managed = entries(managers, |n| (format!("m{n}"), field(n), "", "Update"));
        for (n, entry) in managed.as_array_mut().unwrap().iter_mut().enumerate() {
            entry.as_object_mut().unwrap().insert("apiVersion", format!("x/v{n}"));
        }
        let (live, mut new) = (object(wide(fields, 1), managed.clone()), object(wide(fields, 2), managed));
        attack("managers: each in a version of its own", BODY, move || {
            Tracker::new(&kind, request("me")).update(Some(&live), &mut new)
        })
    }));
    all.push(write("managers: of deep fields", any, || {
        let deep =
            |value: i64| (0..4_000).fold(json!({"z": value}), |below, _| json!({"a": below, "b": value}));
        let owned = (0..4_000).fold(json!({"f:z": {}}), |below, _| json!({".": {}, "f:a": below, "f:b": {}}));
        let managed = entries(4, |n| (format!("m{n}"), owned.clone(), "g/v1", "Apply"));
        (object(deep(1), managed.clone()), object(deep(2), managed))
    }));
    all.push(write("managers: of items with deep keys", any, || {
        let key = format!("k:{{\"a\":{}{}}}", "[".repeat(9_000), "]".repeat(9_000));
        let mut items = Map::new();
        items.insert(key, json!({}));
        let managed = entries(10, |n| (format!("m{n}"), json!({"f:l": (items.clone())}), "g/v1", "Apply"));
        (object(json!({"l": 1}), managed.clone()), object(json!({"l": 2}), managed))
    }));
    let keyed = || {
        json!({"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "integer"}, "v": {"type": "integer"}}}}}})
    };
    all.push(write("managers: a long list of items", keyed, || {
        let list = |value: i64| -> Value {
            (0..fitting(16)).map(|n| json!({"k": n as i64, "v": value})).collect::<Vec<_>>().into()
        };
        let backwards: Value = list(2).as_array().unwrap().iter().rev().cloned().collect::<Vec<_>>().into();
        (object(json!({"l": (list(1))}), Value::Null), object(json!({"l": backwards}), Value::Null))
    }));
    all.push(write("managers: items that are there twice", keyed, || {
        let list = |value: i64| -> Value {
            (0..fitting(16)).map(|n| json!({"k": n as i64 / 2, "v": value})).collect::<Vec<_>>().into()
        };
        (object(json!({"l": (list(1))}), Value::Null), object(json!({"l": (list(2))}), Value::Null))
    }));
    all.push(write(
        "managers: items of a thousand keys",
        || {
            let keys: Vec<Value> = (0..1_000).map(|n| format!("k{n}").into()).collect();
            json!({"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": keys, "items": (any())}}})
        },
        || {
            let list = |value: i64| -> Value {
                (0..fitting(16)).map(|n| json!({"k7": n as i64, "v": value})).collect::<Vec<_>>().into()
            };
            (object(json!({"l": (list(1))}), Value::Null), object(json!({"l": (list(2))}), Value::Null))
        },
    ));
    all.push(write(
        "managers: what does not fit its type",
        || json!({"type": "object", "additionalProperties": {"type": "string"}}),
        move || {
            let wrong: Value =
                (0..fitting(14)).map(|n| (format!("k{n}").into(), json!([null]))).collect::<Map>().into();
            (object(json!({}), Value::Null), object(wrong, Value::Null))
        },
    ));
    all.push(write(
        "managers: a deep value that does not fit",
        || json!({"type": "object", "additionalProperties": {"type": "string"}}),
        || {
            let deep = (0..9_900).fold(json!("x".repeat(BODY / 2)), |below, _| json!([below]));
            (object(json!({}), Value::Null), object(json!({"k": deep}), Value::Null))
        },
    ));
    all
}
