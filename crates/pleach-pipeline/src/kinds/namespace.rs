//! Namespaces.
//!
//! A namespace that is deleted is marked and its phase becomes `Terminating`. When nothing is left in it, the
//! namespace controller empties `spec.finalizers`, and it is removed.

use pleach_json::{Map, Value, json};
use pleach_meta::object_meta::NameRule;
use pleach_patch::StrategicSchema;
use pleach_work::Constant;

use crate::columns::{age_text, column};
use crate::kind::{Cell, Column, KindVersion};
use crate::omitempty::remove_if_empty;
use crate::prepare::{copy_member, mark_for_deletion, metadata_mut};
use crate::resource::{Resource, Subresource};
use crate::strategy::{Role, Strategy, SubresourceInfo};
use crate::typed::Typed;
use crate::validate::Old;

/// The API group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "namespaces";
/// Namespaces that the server creates.
pub const SYSTEM: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Namespaces that cannot be deleted.
const UNDELETABLE: [&str; 3] = ["default", "kube-system", "kube-public"];
/// The finalizer of a namespace's content.
const CONTENT: &str = "kubernetes";

/// The label that lets selectors find a namespace by its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

fn member<'a>(object: &'a mut Value, key: &str) -> &'a mut Map {
    // A webhook may have made something else of it.
    if !matches!(object, Value::Object(_)) {
        *object = Value::object();
    }
    let Value::Object(members) = object else { unreachable!("made an object above") };
    let value = members.get_or_insert_with(key, Value::object);
    if !matches!(value, Value::Object(_)) {
        *value = Value::object();
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Sets the label that selectors find a namespace by.
fn label_with_name(object: &mut Value) {
    let name = metadata_mut(object).get("name").cloned().unwrap_or_default();
    if name.as_str().is_none_or(str::is_empty) {
        return;
    }
    let labels = metadata_mut(object).get_or_insert_with("labels", Value::object);
    if let Value::Object(labels) = labels {
        labels.insert(NAME_LABEL, name);
    }
}

/// A namespace whose status does not say otherwise is active.
fn default_phase(object: &mut Value) {
    if object.at(&["status", "phase"]).and_then(Value::as_str).is_none_or(str::is_empty) {
        member(object, "status").insert("phase", "Active");
    }
}

/// A new namespace, as a request would send it.
pub fn new(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": (name)}})
}

fn has_content_finalizers(object: &Value) -> bool {
    let finalizers = object.at(&["spec", "finalizers"]).and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

/// The strategy of namespaces.
#[derive(Debug)]
pub struct Namespace;

impl Strategy for Namespace {
    fn type_name(&self, _: &KindVersion) -> Option<&'static str> {
        Some("core/v1.Namespace")
    }

    fn role(&self) -> Role {
        Role::Namespace
    }

    fn is_its_own_namespace(&self) -> bool {
        true
    }

    fn deletes_collections(&self) -> bool {
        false
    }

    fn has_finalize(&self) -> bool {
        true
    }

    fn subresources(&self) -> &'static [SubresourceInfo] {
        &[SubresourceInfo {
            name: "finalize",
            kind: "Namespace",
            group: "",
            version: "v1",
            verbs: &["update"],
        }]
    }

    fn columns(&self) -> Option<Vec<Column>> {
        let phase = Cell::Text(&["status", "phase"]);
        Some(vec![column("Status", "string", "The status of the namespace", phase), age_text()])
    }

    fn complete(&self, object: &mut Value) {
        label_with_name(object);
        default_phase(object);
        remove_if_empty(object, &["spec"], "finalizers");
        remove_if_empty(object, &["status"], "conditions");
    }

    /// A new namespace is active, and its content's finalizer holds it.
    fn prepare_for_create(&self, _: Resource<'_>, object: &mut Value, _: &mut Typed) {
        label_with_name(object);
        let spec = member(object, "spec");
        let finalizers = spec.get_or_insert_with("finalizers", || Value::from(Vec::new()));
        if let Value::Array(finalizers) = finalizers
            && !finalizers.iter().any(|f| f.as_str() == Some(CONTENT))
        {
            finalizers.push(CONTENT.into());
        }
        if let Some(members) = object.as_object_mut() {
            members.remove("status");
        }
        default_phase(object);
    }

    /// Only `/finalize` changes the spec, only `/status` the status.
    fn prepare_for_update(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        _: &mut Typed,
        Old { value: old, .. }: Old<'_>,
    ) {
        label_with_name(object);
        match resource.subresource {
            Subresource::Status => copy_member(object, old, "spec"),
            Subresource::Finalize => copy_member(object, old, "status"),
            _ => {
                copy_member(object, old, "spec");
                copy_member(object, old, "status");
            }
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Dns1123Label
    }

    fn is_protected(&self, name: &str) -> bool {
        UNDELETABLE.contains(&name)
    }

    fn is_deleted_at_once(&self) -> bool {
        false
    }

    fn mark_for_deletion(&self, object: &mut Value, now: &str) -> bool {
        let held = has_content_finalizers(object);
        mark_for_deletion(object, now);
        if held {
            metadata_mut(object).remove("deletionGracePeriodSeconds");
            member(object, "status").insert("phase", "Terminating");
        }
        true
    }

    fn is_held(&self, object: &Value) -> bool {
        has_content_finalizers(object)
    }

    fn strategic_schema(&self) -> StrategicSchema {
        StrategicSchema::new().with_metadata().merge_list("status.conditions", "type")
    }

    fn always_written(&self, _: &KindVersion) -> Option<&'static Value> {
        static STRUCTS: Constant<Value> = Constant::new(|| json!({"spec": {}, "status": {}}));
        Some(&STRUCTS)
    }

    fn status_changes_metadata(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::built_in;

    #[test]
    fn a_new_namespace_is_active_and_held() {
        let kind = built_in(PLURAL);
        let mut object = json!({"metadata": {"name": "n"}, "status": {"phase": "Terminating"}});
        Namespace.prepare_for_create(Resource::new(&kind, 0), &mut object, &mut Typed::default());
        let labels = json!({"kubernetes.io/metadata.name": "n"});
        assert_eq!(
            object,
            json!({"metadata": {"name": "n", "labels": (labels)}, "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"}})
        );
    }

    #[test]
    fn a_namespace_goes_when_its_finalizers_are_gone() {
        for (finalizers, phase, grace) in
            [(json!(["kubernetes"]), "Terminating", None), (json!([]), "Active", Some(&Value::Int(0)))]
        {
            let mut object = json!({"metadata": {"name": "n"}, "spec": {"finalizers": (finalizers)},
                "status": {"phase": "Active"}});
            assert!(Namespace.mark_for_deletion(&mut object, "now"));
            assert_eq!(object.at(&["status", "phase"]).and_then(Value::as_str), Some(phase));
            assert_eq!(object.at(&["metadata", "deletionGracePeriodSeconds"]), grace);
            assert_eq!(Namespace.is_held(&object), grace.is_none());
        }
    }

    #[test]
    fn each_endpoint_changes_its_own_part() {
        let kind = built_in(PLURAL);
        let old = json!({"metadata": {}, "spec": 1, "status": 1});
        for (subresource, spec, status) in
            [(Subresource::None, 1, 1), (Subresource::Status, 1, 2), (Subresource::Finalize, 2, 1)]
        {
            let mut object = json!({"metadata": {}, "spec": 2, "status": 2});
            Namespace.prepare_for_update(
                Resource { kind: &kind, version: 0, subresource },
                &mut object,
                &mut Typed::default(),
                Old::new(&old),
            );
            assert_eq!(
                object,
                json!({"metadata": {}, "spec": (spec), "status": (status)}),
                "{subresource:?}"
            );
        }
    }

    #[test]
    fn empty_fields_are_left_out() {
        let mut object = json!({"metadata": {}, "spec": {"finalizers": []}, "status": {"phase": "Active"}});
        Namespace.complete(&mut object);
        assert_eq!(object, json!({"metadata": {}, "spec": {}, "status": {"phase": "Active"}}));
    }
}
