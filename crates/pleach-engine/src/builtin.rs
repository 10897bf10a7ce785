//! The kinds there are without any CRD.
//!
//! They are manifests, written like users' CRDs and read by the same loader; what a manifest cannot
//! say is their [`Strategy`].

pub(crate) mod columns;
pub(crate) mod events;
pub(crate) mod lease;
pub(crate) mod omitted;

use std::sync::Arc;

use pleach_crd::decode::Options;
use pleach_crd::{ApiVersion, Crd};
use pleach_json::{Map, Str, Value, json};
use pleach_patch::StrategicSchema;
use pleach_schema::{Schema, SchemaOptions};

use crate::compile;
use crate::crd;
use crate::engine::Engine;
use crate::gates::Gates;
use crate::keys;
use crate::kind::{Conversion, Kind, KindVersion, LazySchema, Scope, Strategy};
use crate::namespace;
use crate::options::{Context, WriteOptions};
use crate::rejection::Rejection;
use crate::retire::Retired;
use crate::target::{Subresource, Target};

const MANIFESTS: [(&str, Strategy); 9] = [
    (include_str!("../builtin/namespace.yaml"), Strategy::Namespace),
    (include_str!("../builtin/configmap.yaml"), Strategy::BuiltIn),
    (include_str!("../builtin/secret.yaml"), Strategy::BuiltIn),
    (include_str!("../builtin/serviceaccount.yaml"), Strategy::BuiltIn),
    (include_str!("../builtin/lease.yaml"), Strategy::BuiltIn),
    (CORE_EVENT, Strategy::BuiltIn),
    (OTHER_EVENT, Strategy::BuiltIn),
    (include_str!("../builtin/mutatingwebhookconfiguration.yaml"), Strategy::WebhookConfiguration),
    (include_str!("../builtin/validatingwebhookconfiguration.yaml"), Strategy::WebhookConfiguration),
];
const CORE_EVENT: &str = include_str!("../builtin/event-core.yaml");
const OTHER_EVENT: &str = include_str!("../builtin/event-events.yaml");

/// The CRDs of the built-in kinds, for those who publish documents about them.
pub fn manifests() -> Vec<(Crd, Strategy)> {
    MANIFESTS.iter().map(|(text, strategy)| (manifest(text), *strategy)).collect()
}

fn manifest(text: &str) -> Crd {
    decoded(&document(text))
}

fn document(text: &str) -> Value {
    pleach_yaml::parse(text.as_bytes()).expect("a manifest of this crate is YAML")
}

fn decoded(document: &Value) -> Crd {
    let decoded = pleach_crd::decode(document, ApiVersion::V1, Options::default());
    let mut crd = decoded.expect("a manifest of this crate is a CRD").crd;
    crd.status.accepted_names = crd.spec.names.clone();
    crd
}

fn built_in(text: &str, strategy: Strategy) -> Kind {
    let mut document = document(text);
    // Published, and judged by those who read bytes: no bytes at all are fine with them.
    forget_format(&mut document, "byte");
    let own = decoded(&document);
    let mut kind = match own.spec.group.as_str() {
        "events.k8s.io" => events::kind(&own, &manifest(CORE_EVENT)),
        _ if own.spec.names.plural == "events" => events::kind(&own, &manifest(OTHER_EVENT)),
        _ => compile::kind(&own),
    };
    if let Some(versions) = Arc::get_mut(&mut kind.versions) {
        for version in versions {
            if let Some(columns) = columns::of(&kind.plural) {
                version.columns = columns;
            }
        }
    }
    Kind { strategy, crd: None, established: true, ..kind }
}

/// Takes a format out of all schemas in a manifest.
fn forget_format(document: &mut Value, format: &str) {
    match document {
        Value::Object(members) => {
            if members.get_str("format") == Some(format) {
                members.remove("format");
            }
            members.iter_mut().for_each(|(_, member)| forget_format(member, format));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| forget_format(item, format)),
        _ => {}
    }
}

/// The kind of CRDs: its objects are typed, so its schema lets everything through.
fn definitions(gates: Gates) -> Kind {
    let version = |name: &str| {
        KindVersion {
        name: name.into(),
        api_version: format!("{}/{name}", crd::GROUP).into(),
        served: true,
        deprecation: (name == "v1beta1").then(|| {
            "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, unavailable in v1.22+; use apiextensions.k8s.io/v1 CustomResourceDefinition".into()
        }),
        status: true,
        scale: None,
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        schema: LazySchema::new(|| {
            let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            Schema::from_value(&anything, SchemaOptions::default())
        }),
        props: None,
    }
    };
    Kind {
        group: crd::GROUP.into(),
        storage_group: crd::GROUP.into(),
        plural: crd::PLURAL.into(),
        singular: "customresourcedefinition".into(),
        kind: "CustomResourceDefinition".into(),
        list_kind: "CustomResourceDefinitionList".into(),
        short_names: vec!["crd".into(), "crds".into()],
        categories: vec!["api-extensions".into()],
        scope: Scope::Cluster,
        versions: Arc::new([version("v1"), version("v1beta1")]),
        storage: 0,
        conversion: Conversion::CustomResourceDefinition,
        strategy: Strategy::CustomResourceDefinition,
        preserve_unknown_fields: false,
        crd: None,
        established: true,
        terminating: false,
        since: 0,
        gates,
        retired: Retired::default(),
    }
}

/// Which lists of a built-in kind a strategic merge patch merges: those that its schema keys.
pub fn strategic_schema(kind: &Kind) -> StrategicSchema {
    let schema = StrategicSchema::new().with_metadata();
    match kind.strategy {
        Strategy::Namespace => schema.merge_list("status.conditions", "type"),
        Strategy::BuiltIn if kind.plural == "serviceaccounts" => schema.merge_list("secrets", "name"),
        Strategy::WebhookConfiguration => {
            schema.merge_list("webhooks", "name").merge_list("webhooks.matchConditions", "name")
        }
        _ => schema,
    }
}

/// Leaves out what upstream does not let be stored: what belongs to features that are off, and all of a
/// ServiceAccount's references to Secrets but their names.
pub(crate) fn clean(kind: &Kind, object: &mut Value) {
    match kind.plural.as_str() {
        "leases" => lease::clean(object),
        "serviceaccounts" => {
            let is_name = |key: &Str| key == "name";
            let more = |reference: &Map| !reference.keys().all(is_name);
            let references = object.get("secrets").and_then(Value::as_array);
            let changes = references.is_some_and(|list| list.iter().filter_map(Value::as_object).any(more));
            if changes && let Some(Value::Array(references)) = object.get_mut("secrets") {
                let references = references.iter_mut().filter_map(Value::as_object_mut);
                references.for_each(|reference| reference.retain(|key, _| is_name(key)));
            }
        }
        _ => {}
    }
}

impl Engine {
    /// Makes the engine ready: built-in kinds, the namespaces there always are, the stored CRDs.
    pub async fn start(&self) -> Result<(), Rejection> {
        for (text, strategy) in MANIFESTS {
            self.catalog.put(Arc::new(built_in(text, strategy)));
        }
        self.catalog.put(Arc::new(definitions(self.gates)));
        for name in namespace::ALWAYS {
            self.ensure_namespace(name).await?;
        }
        self.load_definitions().await?;
        self.load_hooks().await
    }

    async fn ensure_namespace(&self, name: &str) -> Result<(), Rejection> {
        if self.stored(&keys::object("", "namespaces", None, name)).await?.is_some() {
            return Ok(());
        }
        let Some(kind) = self.catalog.get("", "namespaces") else { return Ok(()) };
        let target = Target { kind, version: 0, namespace: None, name: None, subresource: Subresource::None };
        let value: Value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let (options, mut context) = (WriteOptions::default(), Context::default());
        let settled = crate::settle::typed(value);
        self.create_settled(&target, settled, &options, &mut context, None).await.map(|_| ())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The built-in kind of a manifest.
    pub(crate) fn kind(name: &str, strategy: Strategy) -> Kind {
        let is_named = |text: &str| document(text).at(&["spec", "names", "singular"]) == Some(&name.into());
        let (text, _) = MANIFESTS.iter().find(|(text, _)| is_named(text)).expect("a manifest of that name");
        built_in(text, strategy)
    }
}
