//! Objects and the schemas that they are pruned, defaulted and validated by.

use pleach_json::{Map, Value, json};
use pleach_meta::Status;
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions};

use crate::{BODY, Make, SCALE, attack, fitting};

fn compiled(of_spec: Value) -> Schema {
    let schema = json!({"type": "object", "properties": {"spec": of_spec}});
    Schema::from_value(&schema, SchemaOptions::default())
}

/// An object that is settled, validated as new and as a change, and refused. The two of them are what is sent.
fn object(name: &'static str, make: impl FnOnce() -> (Value, Value) + 'static) -> Make {
    Box::new(move || {
        let (of_spec, spec) = make();
        let schema = compiled(of_spec);
        let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec});
        attack(name, BODY, move || {
            let mut settled = object.clone();
            let told = schema.settle(&mut settled, SettleOptions::request(Record::Unknown));
            let mut errors = schema.validate_value(&settled);
            errors.extend(schema.validate_lists(&settled));
            let mut old = settled.clone();
            if let Some(members) = old.as_object_mut() {
                members.insert("other", 1);
            }
            errors.extend(schema.validate_value_update(&settled, &old));
            let status = Status::invalid("g", "K", "x", &errors).to_value();
            (told, settled, status)
        })
    })
}

fn list(n: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..n).map(make).collect::<Vec<_>>().into()
}

fn branches(keyword: &str, n: usize, branch: impl Fn(usize) -> Value) -> Value {
    let mut schema = Map::new();
    schema.insert("type", "integer");
    schema.insert(keyword, list(n, branch));
    schema.into()
}

pub(crate) fn all() -> Vec<Make> {
    let mut all: Vec<Make> = Vec::new();
    for (name, keyword) in [
        ("schema: anyOf of a thousand over a list", "anyOf"),
        ("schema: oneOf of a thousand over a list", "oneOf"),
        ("schema: allOf of a thousand over a list", "allOf"),
    ] {
        all.push(object(name, move || {
            let items = branches(keyword, 1_000, |n| json!({"minimum": (n as i64 + 1)}));
            (json!({"type": "array", "items": items}), list(40_000 / SCALE, |_| json!(0)))
        }));
    }
    all.push(object("schema: junctors that all hold", || {
        let items = branches("allOf", 1_000, |n| json!({"maximum": (n as i64 + 1)}));
        (json!({"type": "array", "items": items}), list(fitting(2), |_| json!(0)))
    }));
    all.push(object("schema: junctors at every level", || {
        // As many as fit: each level doubles the text.
        let nested =
            (0..13).fold(json!({"maximum": -1}), |below, _| json!({"allOf": [(below.clone()), below]}));
        (json!({"type": "integer", "allOf": [nested]}), json!(5))
    }));
    all.push(object("schema: junctors over a deep object", || {
        let leaf = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let wide: Value = (0..fitting(24)).map(|n| (format!("k{n}").into(), json!(1))).collect::<Map>().into();
        // As many as fit: each level doubles the text.
        let schema = (0..11).fold(leaf, |below, _| {
            json!({"type": "object", "properties": {"a": (below.clone())}, "anyOf": [{"properties": {"a": below}}]})
        });
        (schema, (0..11).fold(wide, |below, _| json!({"a": below})))
    }));
    all.push(object("schema: not of not", || {
        let not = (0..1_000).fold(json!({"maximum": 1}), |below, _| json!({"not": below}));
        (json!({"type": "array", "items": {"type": "integer", "not": not}}), list(fitting(2), |_| json!(0)))
    }));
    all.push(object("schema: wrong values", || {
        (json!({"type": "array", "items": {"type": "string"}}), list(fitting(2), |_| json!(0)))
    }));
    all.push(object("schema: wrong values in deep objects", || {
        let key = "k".repeat(BODY / 20_000);
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let of = |below: Value| {
            let mut members = Map::new();
            members.insert(key.as_str(), below);
            json!({"type": "object", "properties": members, "required": ["r"]})
        };
        let object = |below: Value| {
            let mut members = Map::new();
            members.insert(key.as_str(), below);
            Value::from(members)
        };
        ((0..2_000).fold(schema, |below, _| of(below)), (0..2_000).fold(json!({}), |below, _| object(below)))
    }));
    all.push(object("schema: unknown fields in deep objects", || {
        let key = "k".repeat(BODY / 20_000);
        let schema = (0..2_000).fold(json!({"type": "object"}), |below, _| {
            let mut members = Map::new();
            members.insert(key.as_str(), below);
            json!({"type": "object", "properties": members})
        });
        let object = (0..2_000).fold(json!({}), |below, _| {
            let mut members = Map::new();
            members.insert(key.as_str(), below);
            members.insert("z", 1);
            members.into()
        });
        (schema, object)
    }));
    all.push(object("schema: unknown fields", || {
        let members: Map = (0..fitting(12)).map(|n| (format!("k{n}").into(), 1.into())).collect();
        (json!({"type": "object"}), members.into())
    }));
    all.push(object("schema: nulls", || {
        let properties: Map =
            (0..fitting(60)).map(|n| (format!("k{n}").into(), json!({"type": "string"}))).collect();
        let members: Map = (0..fitting(60)).map(|n| (format!("k{n}").into(), Value::Null)).collect();
        (json!({"type": "object", "properties": properties}), members.into())
    }));
    all.push(object("schema: a long enum, wrong values", || {
        let values = list(fitting(12), |n| format!("v{n}").into());
        (
            json!({"type": "array", "items": {"type": "string", "enum": values}}),
            list(fitting(4), |_| json!("x")),
        )
    }));
    all.push(object("schema: an enum of objects", || {
        let values = list(20_000 / SCALE, |n| json!({"a": n as i64}));
        let items = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "enum": values});
        (json!({"type": "array", "items": items}), list(fitting(10), |n| json!({"a": n as i64 % 1_000})))
    }));
    all.push(object("schema: patterns on a long text", || {
        let all_of = list(1_000, |n| json!({"pattern": (format!("^[ab]*{n}?$"))}));
        (json!({"type": "string", "allOf": all_of}), "ab".repeat(BODY / 2).into())
    }));
    all.push(object("schema: a pattern on many texts", || {
        let items = json!({"type": "string", "pattern": "^([a-z]+[0-9]*)+$"});
        (json!({"type": "array", "items": items}), list(fitting(8), |n| format!("a{}", n % 999).into()))
    }));
    all.push(object("schema: wrong long texts", || {
        let all_of = list(1_000, |n| json!({"maxLength": (n as i64)}));
        (json!({"type": "string", "allOf": all_of, "pattern": "^b"}), "a".repeat(BODY).into())
    }));
    for (name, format) in [
        ("schema: format email", "email"),
        ("schema: format uri", "uri"),
        ("schema: format byte", "byte"),
        ("schema: format date-time", "date-time"),
        ("schema: format hostname", "hostname"),
        ("schema: format ipv6", "ipv6"),
        ("schema: format isbn", "isbn"),
        ("schema: format duration", "duration"),
        ("schema: format creditcard", "creditcard"),
        ("schema: format rgbcolor", "rgbcolor"),
    ] {
        all.push(object(name, move || {
            let text = match format {
                "email" => "a@b (".repeat(BODY / 5),
                "uri" => format!("http://{}", "%41".repeat(BODY / 3)),
                "byte" => "AAAA".repeat(BODY / 4),
                "hostname" => "a.".repeat(BODY / 2),
                "ipv6" => "0:".repeat(BODY / 2),
                "duration" => "1h".repeat(BODY / 2),
                _ => "1 ".repeat(BODY / 2),
            };
            (json!({"type": "string", "format": format}), text.into())
        }));
    }
    all.push(object("schema: unique items", || {
        let schema = json!({"type": "array", "uniqueItems": true, "items": {"type": "integer"}});
        (schema, list(fitting(8), |n| json!(n as i64)))
    }));
    all.push(object("schema: a set of objects", || {
        let items = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "array", "x-kubernetes-list-type": "set", "items": items});
        (schema, list(fitting(12), |n| json!({"a": n as i64 / 2})))
    }));
    all.push(object("schema: sets in sets", || {
        let schema = (0..300).fold(
            json!({"type": "integer"}),
            |below, _| json!({"type": "array", "x-kubernetes-list-type": "set", "items": below}),
        );
        let deep = (0..300).fold(json!(1), |below, _| json!([below]));
        let half = (0..299).fold(json!("x".repeat(BODY / 2)), |below, _| json!([below]));
        (schema, json!([deep, half]))
    }));
    all.push(object("schema: a map by a thousand keys", || {
        let keys: Vec<Value> = (0..1_000).map(|n| format!("k{n}").into()).collect();
        let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        (schema, list(fitting(9), |_| json!({"k1": 1})))
    }));
    all.push(object("schema: few items with very many keys", || {
        let keys: Vec<Value> = (0..fitting(20)).map(|n| format!("k{n}").into()).collect();
        let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        (schema, list(16, |_| json!({"k1": 1})))
    }));
    all.push(object("schema: very many required members", || {
        let names: Vec<Value> = (0..fitting(16)).map(|n| format!("k{n}").into()).collect();
        (
            json!({"type": "array", "items": {"type": "object", "required": names}}),
            list(fitting(3), |_| json!({})),
        )
    }));
    all.push(object("schema: defaults in every item", || {
        let properties: Map =
            (0..100).map(|n| (format!("p{n}").into(), json!({"type": "integer", "default": 1}))).collect();
        let items = json!({"type": "object", "properties": properties});
        (json!({"type": "array", "items": items}), list(fitting(3), |_| json!({})))
    }));
    all.push(object("schema: long defaults in every item", || {
        let long = "x".repeat(BODY / 3);
        let items = json!({"type": "object", "properties": {"p": {"type": "string", "default": long}}});
        (json!({"type": "array", "items": items}), list(3_000, |_| json!({})))
    }));
    all.push(object("schema: defaults in defaults", || {
        let mut schema = json!({"type": "object", "properties": {"p": {"type": "integer", "default": 1}}});
        for _ in 0..4 {
            let default = list(30, |_| json!({}));
            schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": schema, "default": default}}});
        }
        (json!({"type": "array", "items": schema}), list(fitting(3), |_| json!({})))
    }));
    all.push(object("schema: defaults before many members", || {
        let properties: Map = (0..fitting(60))
            .map(|n| (format!("a{n}").into(), json!({"type": "integer", "default": 1})))
            .collect();
        let schema =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties});
        (schema, (0..fitting(12)).map(|n| (format!("b{n}").into(), json!(1))).collect::<Map>().into())
    }));
    all.push(object("schema: embedded resources", || {
        let items = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
        let resource = json!({"apiVersion": "", "kind": "-", "metadata": {"labels": {"-": "-"}, "zz": 1}});
        (json!({"type": "array", "items": items}), list(fitting(70), |_| resource.clone()))
    }));
    all.push(object("schema: a list that is compared with itself", || {
        let items = json!({"type": "object", "properties": {"k": {"type": "integer"}, "v": {"type": "string"}}});
        let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": items});
        (schema, list(fitting(18), |n| json!({"k": n as i64, "v": 1})))
    }));
    all.push(object("schema: a deep object of any kind", || {
        let deep = (0..9_980)
            .fold(json!(null), |below, n| if n % 2 == 0 { json!([below]) } else { json!({"a": below}) });
        (json!({"x-kubernetes-preserve-unknown-fields": true}), deep)
    }));
    all
}
