//! The kinds of the test: a sane one, and some that hostile clients use.

use std::fmt::Write as _;

use http::Method;
use pleach_conformance::{HOOK_CA, HookServer};
use serde_json::{Value, json};

use crate::client::{Call, Server};

/// Where objects of a kind are.
pub(crate) fn path(plural: &str) -> String {
    format!("/apis/soak.example.com/v1/namespaces/default/{plural}")
}

fn crd(plural: &str, kind: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.soak.example.com")},
        "spec": {
            "group": "soak.example.com", "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}],
        },
    })
}

/// An object of a kind.
pub(crate) fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "soak.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// Makes the kinds and the webhook configuration; the webhook misbehaves in turn.
pub(crate) async fn make(server: &Server, hook: &HookServer) -> std::io::Result<()> {
    let alternatives: Vec<Value> = (0..500)
        .map(|n| json!({"properties": {"a": {"enum": [n.to_string()]}}, "required": ["a"]}))
        .collect();
    let mut doubled = String::from("[1]");
    for _ in 0..60 {
        doubled.push_str(".map(a,[a,a])");
    }
    let rule = format!("{doubled} == {doubled}");
    let mut kinds = vec![
        crd(
            "widgets",
            "Widget",
            json!({
                "type": "object", "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 0}, "color": {"type": "string", "default": "red"},
                    "text": {"type": "string", "maxLength": 20_000},
                    "parts": {"type": "array", "maxItems": 100, "items": {"type": "object", "required": ["id"], "properties": {
                        "id": {"type": "string"}, "weight": {"type": "integer", "default": 1}}},
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
                },
                "x-kubernetes-validations": [{"rule": "self.size < 1000000000"}],
            }),
        ),
        crd(
            "mazes",
            "Maze",
            json!({"type": "array", "items": {
            "type": "object", "properties": {"a": {"type": "string"}}, "anyOf": alternatives}}),
        ),
        crd("loops", "Loop", json!({"type": "integer", "x-kubernetes-validations": [{"rule": rule}]})),
        crd("trees", "Tree", json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        crd("victims", "Victim", json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
    ];
    kinds.push(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "faults"},
        "webhooks": [{
            "name": "faults.soak.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "timeoutSeconds": 5, "failurePolicy": "Fail",
            "clientConfig": {"url": hook.url("/fault"), "caBundle": base64(HOOK_CA)},
            "rules": [{"apiGroups": ["soak.example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["victims"]}],
        }],
    }));
    let mut connection = server.http2().await?;
    for kind in kinds {
        let path = if kind["kind"] == "CustomResourceDefinition" {
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        } else {
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        };
        let call = Call::new(Method::POST, path).body("application/json", kind.to_string());
        let (status, body) = connection.send(&call).await?;
        assert!(status == 201, "{}: {status} {}", kind["metadata"]["name"], String::from_utf8_lossy(&body));
    }
    Ok(())
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            let _ = write!(out, "{}", if digit > chunk.len() { '=' } else { DIGITS[index as usize] as char });
        }
    }
    out
}
