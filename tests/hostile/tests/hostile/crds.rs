//! CRDs: decoded, checked, compiled.

use pleach_crd::decode::Options;
use pleach_crd::{ApiVersion, decode, strategy, validate_create, validate_update, warnings};
use pleach_json::{Map, Value, json};
use pleach_meta::Status;
use pleach_schema::formats::Compat;
use pleach_schema::{Schema, SchemaOptions};

use crate::{BODY, Make, SCALE, attack, fitting};

fn crd_of(versions: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ks.g.io"},
        "spec": {"group": "g.io", "scope": "Namespaced", "names": {"plural": "ks", "singular": "k", "kind": "K", "listKind": "KList"},
            "versions": versions}})
}

fn version(n: usize, schema: Value) -> Value {
    json!({"name": (format!("v{}", n + 1)), "served": true, "storage": (n == 0), "schema": {"openAPIV3Schema": schema}})
}

/// A CRD that is read, checked as new and as a change of itself, and compiled.
fn crd(name: &'static str, make: impl FnOnce() -> Value + 'static) -> Make {
    Box::new(move || {
        let document = make();
        attack(name, BODY, move || {
            let Ok(decoded) = decode(&document, ApiVersion::V1, Options::default()) else { return None };
            let mut crd = decoded.crd;
            strategy::prepare_for_create(&mut crd);
            let mut errors = validate_create(&crd, ApiVersion::V1);
            errors.extend(validate_update(&crd, &crd, ApiVersion::V1));
            let told = warnings(&crd, None, Compat::DEFAULT);
            let status = Status::invalid("g", "K", "x", &errors).to_value();
            let schema = document
                .at(&["spec", "versions"])
                .and_then(Value::as_array)
                .and_then(|versions| versions.first()?.at(&["schema", "openAPIV3Schema"]));
            let compiled =
                schema.map(|schema| Schema::from_value(schema, SchemaOptions::default()).fingerprint());
            Some((told, status, compiled, crd.encode(ApiVersion::V1)))
        })
    })
}

/// One version with a schema for `spec`.
fn schema(name: &'static str, make: impl FnOnce() -> Value + 'static) -> Make {
    crd(name, move || {
        crd_of(json!([(version(0, json!({"type": "object", "properties": {"spec": (make())}})))]))
    })
}

fn named(n: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..n).map(|n| (format!("p{n}").into(), make(n))).collect::<Map>().into()
}

fn list(n: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..n).map(make).collect::<Vec<_>>().into()
}

pub(crate) fn all() -> Vec<Make> {
    let text = || json!({"type": "string"});
    vec![
        schema(
            "CRD: many properties",
            move || json!({"type": "object", "properties": (named(fitting(28), move |_| text()))}),
        ),
        schema(
            "CRD: many properties without a type",
            || json!({"type": "object", "properties": (named(fitting(12), |_| json!({})))}),
        ),
        schema("CRD: deep properties", || {
            (0..fitting(48).min(4_900)).fold(
                json!({"type": "string"}),
                |below, _| json!({"type": "object", "properties": {"a": below}}),
            )
        }),
        schema("CRD: deep properties without a type", || {
            (0..fitting(32).min(4_900)).fold(json!({}), |below, _| json!({"properties": {"a": below}}))
        }),
        schema("CRD: deep junctors", || {
            let deep = (0..4_900).fold(json!({"minimum": 1}), |below, _| json!({"allOf": [below]}));
            json!({"type": "integer", "allOf": [deep]})
        }),
        schema("CRD: deep junctors with properties", || {
            let deep = (0..2_000)
                .fold(json!({"properties": {"a": {"minimum": 1}}}), |below, _| json!({"anyOf": [below]}));
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [deep]})
        }),
        schema("CRD: wide junctors", || {
            json!({"type": "object", "properties": {"a": {"type": "integer"}},
                "anyOf": (list(fitting(40), |n| json!({"properties": {"a": {"minimum": n as i64}}})))})
        }),
        schema("CRD: wide junctors about properties that are not there", || {
            json!({"type": "object", "properties": {"a": {"type": "integer"}},
                "anyOf": (list(fitting(40), |n| json!({"required": ["x"], "properties": (named(1, move |_| json!({"minimum": n as i64})))})))})
        }),
        schema("CRD: everything that is forbidden", || {
            let bad = json!({"id": "x", "$ref": "y", "definitions": {}, "dependencies": {}, "patternProperties": {"a": {}}, "uniqueItems": true});
            json!({"type": "object", "properties": (named(fitting(110), |_| bad.clone()))})
        }),
        schema(
            "CRD: long enums",
            || json!({"type": "string", "enum": (list(fitting(12), |n| format!("v{n}").into()))}),
        ),
        schema(
            "CRD: many required names",
            || json!({"type": "object", "required": (list(fitting(12), |n| format!("v{n}").into()))}),
        ),
        schema("CRD: many keys of a list", || {
            json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"},
                "x-kubernetes-list-map-keys": (list(fitting(12), |n| format!("v{n}").into()))})
        }),
        schema("CRD: nodes that are made to have one hash", || {
            let wipe = 0x8bb8_4b93_962e_acc9_u64 as i64;
            json!({"type": "object", "properties": (named(fitting(80), move |n| json!({"type": "integer", "minimum": n as i64, "enum": [wipe]})))})
        }),
        schema(
            "CRD: many patterns",
            || json!({"type": "object", "properties": (named(fitting(60), |n| json!({"type": "string", "pattern": (format!("^[a-z]{{{}}}$", n % 900))})))}),
        ),
        schema(
            "CRD: a pattern of repetitions",
            || json!({"type": "string", "pattern": (format!("^({})$", vec!["[a-z]{0,900}"; 1_000 / SCALE].join("|")))}),
        ),
        schema(
            "CRD: many defaults",
            || json!({"type": "object", "properties": (named(fitting(45), |n| json!({"type": "integer", "default": n as i64})))}),
        ),
        schema(
            "CRD: wrong defaults",
            || json!({"type": "object", "properties": (named(fitting(45), |_| json!({"type": "integer", "default": "x"})))}),
        ),
        schema("CRD: a long default", || {
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}},
                "default": (list(fitting(9), |_| json!({"b": 1})))})
        }),
        schema("CRD: defaults with junctors", || {
            json!({"type": "array", "items": {"type": "integer", "anyOf": (list(2_000, |n| json!({"minimum": n as i64 + 1})))},
                "default": (list(fitting(4), |_| json!(0)))})
        }),
        schema("CRD: defaults in the metadata of deep resources", || {
            let deep = (0..2_000).fold(json!({"type": "object"}), |below, _| {
                json!({"type": "object", "properties": {"a": below, "b": {"type": "string", "default": "x"}}})
            });
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"metadata": deep}})
        }),
        crd("CRD: many versions", || {
            let n = fitting(120);
            crd_of(list(n, |n| version(n, json!({"type": "object"}))))
        }),
        crd("CRD: one version again and again", || {
            crd_of(list(fitting(120), |_| version(3, json!({"type": "object"}))))
        }),
        crd("CRD: many columns", || {
            let mut version = version(0, json!({"type": "object"}));
            let columns = list(
                fitting(60),
                |n| json!({"name": (format!("c{n}")), "type": "string", "jsonPath": ".spec.a[?(@.b==1)]"}),
            );
            version.as_object_mut().unwrap().insert("additionalPrinterColumns", columns);
            crd_of(json!([version]))
        }),
        crd("CRD: columns with long paths", || {
            let mut version = version(0, json!({"type": "object"}));
            let path = ".a".repeat(BODY / 4);
            let columns = json!([{"name": "c", "type": "string", "jsonPath": path}, {"name": "d", "type": "x", "jsonPath": ("[".repeat(BODY / 4))}]);
            version.as_object_mut().unwrap().insert("additionalPrinterColumns", columns);
            crd_of(json!([version]))
        }),
        crd("CRD: many selectable fields", || {
            let mut version = version(
                0,
                json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}),
            );
            version
                .as_object_mut()
                .unwrap()
                .insert("selectableFields", list(fitting(24), |_| json!({"jsonPath": ".spec.a"})));
            crd_of(json!([version]))
        }),
        crd("CRD: many names", || {
            let mut crd = crd_of(json!([(version(0, json!({"type": "object"})))]));
            let names = crd.get_mut("spec").unwrap().get_mut("names").unwrap().as_object_mut().unwrap();
            names.insert("shortNames", list(fitting(8), |n| format!("-{n}").into()));
            names.insert("categories", list(10, |n| format!("-{n}").into()));
            crd
        }),
    ]
}
