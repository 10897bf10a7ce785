//! The built-in kinds: a table with a line for each, and a folder for each.
//!
//! A kind's folder has its manifest, which is written like a user's CRD and read by the same loader, and what a
//! manifest cannot say: its strategy. A kind that is only stored has [`StoredAsData`] and needs no code.
//! `docs/adding-a-built-in-kind.md` walks through it.

pub mod admission_policy;
pub mod api_kind;
pub mod api_service;
pub mod authentication;
pub mod authorization;
pub mod autoscaler;
pub mod certificate_request;
mod checks;
pub mod config_map;
pub mod controllers;
pub mod crd;
pub mod credentials;
pub mod csi;
pub mod device;
pub mod disruption_budget;
pub mod endpoints;
pub mod event;
mod fields;
pub mod flow_control;
pub mod ingress;
pub mod jobs;
mod keyed_data;
pub mod lease;
pub mod limit_range;
mod manifest;
pub mod namespace;
pub mod network_policy;
pub mod node;
pub mod persistent_volume;
pub mod pod;
pub mod priority_class;
pub mod quota;
pub mod rbac;
pub mod runtime_class;
pub mod secret;
pub mod served;
pub mod service;
pub mod service_account;
pub mod storage_class;
mod table;
mod unstored;
pub mod webhook_configuration;

use std::sync::Arc;

use pleach_json::Value;

use self::manifest::Manifest;
use crate::gates::Gates;
use crate::kind::Kind;
#[cfg(doc)]
use crate::strategy::StoredAsData;
use crate::strategy::Strategy;
use crate::types;

/// A line of the table.
struct BuiltIn {
    manifest: Manifest,
    strategy: &'static dyn Strategy,
}

const fn built_in(manifest: &'static str, strategy: &'static dyn Strategy) -> BuiltIn {
    BuiltIn { manifest: Manifest::new(manifest), strategy }
}

/// Every built-in kind.
static BUILT_IN: [BuiltIn; 14] = [
    built_in(include_str!("kinds/namespace/manifest.yaml"), &namespace::Namespace),
    built_in(include_str!("kinds/config_map/manifest.yaml"), &config_map::ConfigMap),
    built_in(include_str!("kinds/secret/manifest.yaml"), &secret::Secret),
    built_in(include_str!("kinds/service_account/manifest.yaml"), &service_account::ServiceAccount),
    built_in(include_str!("kinds/lease/manifest.yaml"), &lease::Lease),
    built_in(include_str!("kinds/event/core.yaml"), &event::Event),
    built_in(include_str!("kinds/event/events.yaml"), &event::Event),
    built_in(
        include_str!("kinds/webhook_configuration/mutating.yaml"),
        &webhook_configuration::WebhookConfiguration,
    ),
    built_in(
        include_str!("kinds/webhook_configuration/validating.yaml"),
        &webhook_configuration::WebhookConfiguration,
    ),
    built_in(include_str!("kinds/rbac/role.yaml"), &rbac::ROLE),
    built_in(include_str!("kinds/rbac/cluster_role.yaml"), &rbac::CLUSTER_ROLE),
    built_in(include_str!("kinds/rbac/role_binding.yaml"), &rbac::ROLE_BINDING),
    built_in(include_str!("kinds/rbac/cluster_role_binding.yaml"), &rbac::CLUSTER_ROLE_BINDING),
    built_in(include_str!("kinds/crd/manifest.yaml"), &crd::CustomResourceDefinition),
];

/// The groups of built-in kinds in the order of their priority in discovery; all other groups follow.
pub const GROUPS: [&str; 20] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// The built-in kinds.
pub fn all(gates: Gates) -> impl Iterator<Item = Kind> {
    minimal(gates).chain(table::KINDS.iter().map(move |kind| kind.to_kind(gates)))
}

/// The built-in kinds that control planes made of CRDs need.
pub fn minimal(gates: Gates) -> impl Iterator<Item = Kind> {
    BUILT_IN.iter().map(move |built_in| Kind { gates, ..kind(built_in) })
}

/// The Go type of a kind in a version, if the table of types has it; also those of subresources' bodies.
pub fn type_name(api_version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    match (api_version, kind) {
        ("v1", "Binding") => return Some("core/v1.Binding"),
        ("autoscaling/v1", "Scale") => return Some("autoscaling/v1.Scale"),
        ("policy/v1", "Eviction") => return Some("policy/v1.Eviction"),
        _ => {}
    }
    let entry = table::KINDS.iter().find(|entry| entry.group == group && entry.kind == kind)?;
    entry.versions.iter().find(|(name, _)| *name == version).map(|(_, name)| *name)
}

/// The schema of a kind, and those of the types that it refers to, by name.
type Published = (Value, Vec<(String, Value)>);

/// The published schemas of a kind whose Go type is in the table of types.
pub fn published(api_version: &str, kind: &str) -> Option<Published> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let package = match group.split('.').next() {
        Some("") | None => "core",
        // Documents describe CRDs in words of their own.
        Some("apiextensions") => return None,
        Some(package) => package,
    };
    let mut published = types::published(types::get(&format!("{package}/{version}.{kind}"))?.name)?;
    let of_kind = |built_in: &&BuiltIn| {
        let spec = &built_in.manifest.crd().spec;
        spec.group == group && spec.names.kind == kind
    };
    if let Some(schema) = BUILT_IN.iter().find(of_kind).and_then(|built_in| built_in.manifest.schema()) {
        let (own, others) = &mut published;
        describe(own, others, &schema);
    }
    Some(published)
}

/// Adds the descriptions of a schema to a published one and to the types that it refers to.
fn describe(published: &mut Value, others: &mut [(String, Value)], schema: &Value) {
    if let (Some(members), Some(text)) = (published.as_object_mut(), schema.get("description")) {
        members.insert("description", text.clone());
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.into_iter().flat_map(pleach_json::Map::iter) {
        let Some(target) = published.get_mut("properties").and_then(|all| all.get_mut(key)) else { continue };
        let inner = property.get("items").unwrap_or(property);
        let reference = target.get("items").unwrap_or(target).get("$ref").and_then(Value::as_str);
        if let Some(at) = reference.and_then(|name| others.iter().position(|(known, _)| known == name)) {
            let mut referred = std::mem::take(&mut others[at].1);
            describe(&mut referred, others, inner);
            others[at].1 = referred;
        }
        if let (Some(members), Some(text)) = (target.as_object_mut(), property.get("description")) {
            members.insert("description", text.clone());
        }
    }
}

fn kind(built_in: &'static BuiltIn) -> Kind {
    let strategy = built_in.strategy;
    let mut kind = built_in.manifest.kind();
    (kind.strategy, kind.crd, kind.established) = (strategy, None, true);
    strategy.adjust(&mut kind);
    if let Some(versions) = Arc::get_mut(&mut kind.versions) {
        for version in versions {
            if let Some(columns) = strategy.columns() {
                version.columns = columns;
            }
        }
    }
    kind
}

#[cfg(test)]
pub(crate) mod tests {
    use pleach_crd::ApiVersion;
    use pleach_crd::decode::Options;
    use pleach_json::json;

    use super::*;
    use crate::compile;

    /// The built-in kind of a plural; of two groups the first.
    pub(crate) fn built_in(plural: &str) -> Kind {
        all(Gates::default()).find(|kind| kind.plural == plural).expect("a built-in kind of that plural")
    }

    /// A custom kind with `/status` and two versions of the same schema.
    pub(crate) fn custom(schema: Value) -> Kind {
        let version = |name: &str, storage: bool| {
            json!({
                "name": (name), "served": true, "storage": (storage), "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": (schema.clone())},
            })
        };
        let crd = json!({
            "metadata": {"name": "foos.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
                "versions": [(version("v1", true)), (version("v2", false))],
            },
        });
        let crd = pleach_crd::decode(&crd, ApiVersion::V1, Options::default()).expect("a CRD").crd;
        compile::kind_named(&crd, &crd.spec.names)
    }

    #[test]
    fn configurations_of_admission_are_exempt_from_webhooks() {
        for kind in all(Gates::default()) {
            let is_configuration = kind.group == "admissionregistration.k8s.io";
            assert_eq!(kind.strategy.is_exempt_from_webhooks(), is_configuration, "{}", kind.plural);
        }
        assert!(!custom(json!({"type": "object"})).strategy.is_exempt_from_webhooks());
    }

    #[test]
    fn every_group_has_a_priority() {
        for kind in all(Gates::default()) {
            assert!(kind.group.is_empty() || GROUPS.contains(&kind.group.as_str()), "{}", kind.group);
        }
    }

    #[test]
    fn published_types_have_the_descriptions_of_the_manifest() {
        let (own, others) = published("rbac.authorization.k8s.io/v1", "Role").unwrap();
        assert!(
            own.get("description").is_some() && own.at(&["properties", "rules", "description"]).is_some()
        );
        let rule = others.iter().find(|(name, _)| name == "io.k8s.api.rbac.v1.PolicyRule").unwrap();
        assert!(rule.1.at(&["properties", "verbs", "description"]).is_some(), "{}", rule.1);
        assert!(published("example.com/v1", "Foo").is_none());
    }

    #[test]
    fn manifests_are_whole() {
        let mut seen = std::collections::HashSet::new();
        for kind in all(Gates::default()) {
            assert!(seen.insert((kind.group.clone(), kind.plural.clone())), "{} is there twice", kind.plural);
            assert!(kind.storage_version().served || kind.group != kind.storage_group, "{}", kind.plural);
            assert!(!kind.is_custom() && kind.established && kind.crd.is_none(), "{}", kind.plural);
            for version in kind.versions.iter() {
                let unknown = version.schema.get();
                let _ = unknown.fingerprint();
            }
        }
    }
}
