//! Test data: a CRD with some sixty fields, and objects of about 2 KB that use them.

use bytes::Bytes;
use http::Method;
use pleach_json::{Value, json};

use crate::client::{Call, Connection, Server};

/// Where the objects are.
pub(crate) const COLLECTION: &str = "/apis/bench.pleach.example/v1/namespaces/default/gadgets";
/// Where CRDs are.
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Installs the CRD and waits until it is served.
pub(crate) async fn install(server: &Server) {
    let mut connection = Connection::open(server).await;
    let definition = definition("gadgets.bench.pleach.example", "bench.pleach.example", schema());
    connection.must(&Call::new(Method::POST, DEFINITIONS).with("application/json", definition)).await;
    for _ in 0..500 {
        if connection.send(&Call::new(Method::GET, COLLECTION)).await.0.is_success() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{} does not serve its CRD", server.name);
}

/// A CRD of kind Gadget.
pub(crate) fn definition(name: &str, group: &str, schema: Value) -> Bytes {
    let plural = name.split('.').next().unwrap_or_default();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": (plural.trim_end_matches('s')),
                "kind": (kind(plural)),
                "listKind": (format!("{}List", kind(plural))),
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": (schema)},
                "subresources": {"status": {}},
            }],
        },
    });
    pleach_json::to_vec(&definition).into()
}

fn kind(plural: &str) -> String {
    let singular = plural.trim_end_matches('s');
    let mut letters = singular.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

/// Patterns, enums, bounds, defaults, maps, and lists of every type.
pub(crate) fn schema() -> Value {
    let name = json!({"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63});
    let quantity = json!({
        "x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": "^[0-9]+(m|Mi|Gi)?$",
    });
    let labels = json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 63}});
    let resources = json!({"type": "object", "properties": {
        "cpu": (quantity.clone()), "memory": (quantity.clone()), "disk": (quantity),
    }});
    let port = json!({"type": "object", "required": ["name", "port"], "properties": {
        "name": (name.clone()),
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "protocol": {"type": "string", "enum": ["TCP", "UDP", "SCTP"], "default": "TCP"},
        "public": {"type": "boolean", "default": false},
    }});
    let part = json!({"type": "object", "required": ["name", "image"], "properties": {
        "name": (name.clone()),
        "image": {"type": "string", "minLength": 1, "maxLength": 255},
        "replicas": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 1},
        "weight": {"type": "number", "minimum": 0, "maximum": 1},
        "args": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        "env": {
            "type": "array",
            "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "pattern": "^[A-Z_]+$"}, "value": {"type": "string"},
            }},
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        },
        "ports": {
            "type": "array", "items": (port),
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        },
        "resources": (resources),
        "labels": (labels.clone()),
        "restart": {"type": "string", "enum": ["Always", "OnFailure", "Never"], "default": "Always"},
    }});
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["parts"], "properties": {
            "tier": {"type": "string", "enum": ["gold", "silver", "bronze"]},
            "paused": {"type": "boolean", "default": false},
            "step": {"type": "integer", "minimum": 0},
            "deadline": {"type": "string", "format": "date-time"},
            "owner": {"type": "string", "maxLength": 128},
            "selector": (labels),
            "zones": {"type": "array", "items": (name), "x-kubernetes-list-type": "set", "maxItems": 16},
            "parts": {
                "type": "array", "items": (part), "maxItems": 64,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            },
        }},
        "status": {"type": "object", "properties": {
            "phase": {"type": "string"}, "observedGeneration": {"type": "integer"},
        }},
    }})
}

/// An object; `step` is what updates change. Objects are made from one template, as real ones are, and
/// each has values of its own in most of its parts.
pub(crate) fn object(name: &str, step: i64) -> Value {
    let own = digest(name);
    let part = |part: &str, port: i64| {
        let image = format!("registry.example/{part}@{:016x}", own.rotate_left(port as u32));
        json!({
            "name": part, "image": (image), "replicas": 3, "weight": 0.25,
            "args": ["--log-level=info", (format!("--listen=:{port}")), (format!("--owner={name}"))],
            "env": [
                {"name": "POD_NAME", "value": (format!("{name}-{part}"))},
                {"name": "REGION", "value": "north-1"},
                {"name": "TRACE_RATE", "value": "0.05"},
            ],
            "ports": [
                {"name": "http", "port": (port), "protocol": "TCP"},
                {"name": "metrics", "port": (port + 1), "public": true},
            ],
            "resources": {"cpu": "250m", "memory": "512Mi", "disk": 10},
            "labels": {"component": part, "stage": "production"},
            "restart": "Always",
        })
    };
    json!({
        "apiVersion": "bench.pleach.example/v1",
        "kind": "Gadget",
        "metadata": {
            "name": name,
            "labels": {"app": "gadget", "shard": (format!("s{}", own % 97))},
            "annotations": {"example.com/note": "made by a benchmark"},
        },
        "spec": {
            "tier": "gold", "step": (step), "owner": (format!("team-{}@example.com", own % 31)), "deadline": "2030-01-01T00:00:00Z",
            "selector": {"app": name, "track": "stable"},
            "zones": ["a1", "b2", "c3"],
            "parts": [(part("web", 8080)), (part("worker", 9090)), (part("cache", 6379))],
        },
    })
}

/// A hash of the name.
fn digest(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
