//! The roles and bindings that are there from the beginning, brought up to date at every start.
//!
//! Missing rules, subjects, labels and annotations are added; additions by users stay. An object
//! whose annotation `rbac.authorization.kubernetes.io/autoupdate` is `"false"` is left alone.

use futures_util::future::try_join_all;
use pleach_auth::rbac::missing_rules;
use pleach_json::{Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::Typed;

use super::own_context;
use crate::engine::Engine;
use crate::kinds::rbac::{self, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP};
use crate::options::WriteOptions;
use crate::prepare::metadata_mut;
use crate::rejection::Rejection;
use crate::settle;

/// Roles and bindings in a short form: labels, rules, the groups they are bound to.
const ROLES: &str = include_str!("bootstrap.yaml");

const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

impl Engine {
    /// Creates the default roles and bindings, and adds missing parts to existing ones.
    pub async fn bootstrap_rbac(&self) -> Result<(), Rejection> {
        let document = pleach_yaml::parse(ROLES.as_bytes())
            .map_err(|error| Rejection::internal(format!("the bootstrap roles cannot be read: {error}")))?;
        let entries = || document.as_array().into_iter().flatten();
        let roles = entries().map(|entry| self.ensure(CLUSTER_ROLES, role(entry)));
        try_join_all(roles).await?;
        let bindings = entries().filter_map(binding);
        try_join_all(bindings.map(|binding| self.ensure(CLUSTER_ROLE_BINDINGS, binding))).await?;
        Ok(())
    }

    async fn ensure(&self, plural: &str, wanted: Value) -> Result<(), Rejection> {
        let name = ObjectMeta::of(&wanted).name().to_owned();
        let Some(mut target) = self.rbac_target(plural, None, &name) else { return Ok(()) };
        let key = target.key_of(&name);
        if self.stored(&key).await?.is_none() {
            target.name = None;
            let settled = settle::typed(wanted.clone(), Typed::default());
            let options = WriteOptions::default();
            match self.create_settled(&target, settled, &options, &mut own_context(), None).await {
                Ok(_) => return Ok(()),
                // Another server that starts on the same store was faster.
                Err(Rejection::AlreadyExists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.edit(&key, |stored| reconcile(stored, &wanted)).await?;
        self.rbac_changed(&key).await
    }
}

/// Adds the missing parts to a stored object; returns whether there were any.
fn reconcile(stored: &mut Value, wanted: &Value) -> bool {
    if ObjectMeta::of(stored).annotation(AUTO_UPDATE) == Some("false") {
        return false;
    }
    let before = stored.clone();
    for member in ["labels", "annotations"] {
        let Some(wanted) = wanted.at(&["metadata", member]).and_then(Value::as_object) else { continue };
        if let Value::Object(members) = metadata_mut(stored).get_or_insert_with(member, Value::object) {
            wanted.iter().for_each(|(key, value)| drop(members.insert(key.clone(), value.clone())));
        }
    }
    // The rules of an aggregated role are collected.
    if wanted.get("aggregationRule").is_none() {
        let lacks: Vec<Value> = items(wanted, "rules")
            .filter(|rule| {
                let wanted = rbac::rules(&json!({"rules": [((*rule).clone())]}));
                !missing_rules(rbac::rules(stored).iter(), &wanted).is_empty()
            })
            .cloned()
            .collect();
        append(stored, "rules", lacks);
    } else if stored.get("aggregationRule").is_none_or(Value::is_null)
        && let (Some(members), Some(rule)) = (stored.as_object_mut(), wanted.get("aggregationRule"))
    {
        members.insert("aggregationRule", rule.clone());
    }
    let has = |subject: &Value| items(stored, "subjects").any(|own| own == subject);
    let lacks: Vec<Value> = items(wanted, "subjects").filter(|subject| !has(subject)).cloned().collect();
    append(stored, "subjects", lacks);
    before != *stored
}

fn append(object: &mut Value, key: &str, more: Vec<Value>) {
    if more.is_empty() {
        return;
    }
    let all: Vec<Value> = items(object, key).cloned().chain(more).collect();
    if let Some(members) = object.as_object_mut() {
        members.insert(key, all);
    }
}

fn items<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Metadata that all of them have.
fn metadata(name: &Value) -> Value {
    json!({
        "name": (name.clone()),
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {(AUTO_UPDATE): "true"},
    })
}

/// The ClusterRole of an entry.
fn role(entry: &Value) -> Value {
    let empty = Value::Null;
    let mut role = json!({
        "apiVersion": (format!("{GROUP}/v1")), "kind": "ClusterRole",
        "metadata": (metadata(entry.get("name").unwrap_or(&empty))),
        "rules": (entry.get("rules").cloned().unwrap_or_default()),
    });
    if let (Some(more), Some(Value::Object(labels))) = (
        entry.get("aggregateTo").and_then(Value::as_str),
        role.get_mut("metadata").and_then(|metadata| metadata.get_mut("labels")),
    ) {
        labels.insert(format!("rbac.authorization.k8s.io/aggregate-to-{more}"), "true");
    }
    if let (Some(of), Some(members)) = (entry.get("aggregates").and_then(Value::as_str), role.as_object_mut())
    {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{of}");
        members
            .insert("aggregationRule", json!({"clusterRoleSelectors": [{"matchLabels": {(label): "true"}}]}));
    }
    role
}

/// The ClusterRoleBinding of an entry, if its role is bound.
fn binding(entry: &Value) -> Option<Value> {
    let name = entry.get("name")?;
    let groups = entry.get("groups")?.as_array()?;
    let subject = |group: &Value| json!({"kind": "Group", "apiGroup": (GROUP), "name": (group.clone())});
    Some(json!({
        "apiVersion": (format!("{GROUP}/v1")), "kind": "ClusterRoleBinding",
        "metadata": (metadata(name)),
        "roleRef": {"apiGroup": (GROUP), "kind": "ClusterRole", "name": (name.clone())},
        "subjects": (groups.iter().map(subject).collect::<Vec<_>>()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_added_and_the_rest_stays() {
        let rule = |verb: &str| json!({"verbs": [(verb)], "apiGroups": ["g"], "resources": ["r"]});
        let wanted = json!({"metadata": {"labels": {"a": "1"}}, "rules": [(rule("get")), (rule("list"))]});
        let mut stored = json!({"metadata": {"name": "x"}, "rules": [(rule("list")), (rule("own"))]});
        assert!(reconcile(&mut stored, &wanted));
        assert_eq!(
            stored,
            json!({
                "metadata": {"name": "x", "labels": {"a": "1"}},
                "rules": [(rule("list")), (rule("own")), (rule("get"))],
            })
        );
    }

    #[test]
    fn an_object_that_is_not_kept_up_to_date_is_left_alone() {
        let mut stored = json!({"metadata": {"annotations": {(AUTO_UPDATE): "false"}}, "rules": []});
        let before = stored.clone();
        let wanted = json!({"rules": [{"verbs": ["get"], "apiGroups": ["g"], "resources": ["r"]}]});
        assert!(!reconcile(&mut stored, &wanted));
        assert_eq!(stored, before);
    }

    #[test]
    fn bootstrap_roles_are_valid() {
        let document = pleach_yaml::parse(ROLES.as_bytes()).unwrap();
        let entries: Vec<&Value> = document.as_array().unwrap().iter().collect();
        assert!(entries.len() > 10);
        for entry in entries {
            use pleach_pipeline::strategy::Strategy as _;
            let errors = rbac::CLUSTER_ROLE.validate(&role(entry), None);
            assert!(errors.is_empty(), "{entry:?} {errors:?}");
        }
    }
}
