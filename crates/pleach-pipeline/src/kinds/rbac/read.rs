//! Roles and bindings as the authorizer takes them.

use pleach_auth::rbac::{Binding, PolicyRule, RoleKey, Subject, SubjectKind};
use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::selector::LabelSelector;

/// The rules of a role.
pub fn rules(role: &Value) -> Vec<PolicyRule> {
    items(role, "rules")
        .map(|rule| PolicyRule {
            verbs: texts(rule, "verbs"),
            api_groups: texts(rule, "apiGroups"),
            resources: texts(rule, "resources"),
            resource_names: texts(rule, "resourceNames"),
            non_resource_urls: texts(rule, "nonResourceURLs"),
        })
        .collect()
}

/// A binding; none if it is of no use to the authorizer.
pub fn binding(object: &Value) -> Option<Binding> {
    let meta = ObjectMeta::of(object);
    let role = object.get("roleRef")?;
    let namespace = match text(role, "kind") {
        "Role" if !meta.namespace().is_empty() => Some(meta.namespace().into()),
        "ClusterRole" => None,
        _ => return None,
    };
    let subjects = items(object, "subjects").filter_map(|subject| {
        let kind = match text(subject, "kind") {
            "User" => SubjectKind::User,
            "Group" => SubjectKind::Group,
            "ServiceAccount" => SubjectKind::ServiceAccount,
            _ => return None,
        };
        Some(Subject {
            kind,
            namespace: text(subject, "namespace").into(),
            name: text(subject, "name").into(),
        })
    });
    Some(Binding {
        namespace: meta.namespace().into(),
        name: meta.name().into(),
        role: RoleKey { namespace, name: text(role, "name").into() },
        subjects: subjects.collect(),
    })
}

/// The selectors of the ClusterRoles whose rules a ClusterRole collects; none if it collects none.
pub fn selectors(role: &Value) -> Option<Vec<LabelSelector>> {
    let list = role.at(&["aggregationRule", "clusterRoleSelectors"])?.as_array()?;
    // A selector that cannot be read matches nothing: it is left out.
    let selectors = list.iter().filter_map(|selector| LabelSelector::from_object(Some(selector)).ok());
    Some(selectors.collect())
}

fn items<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn texts(object: &Value, key: &str) -> Vec<Str> {
    items(object, key).filter_map(Value::as_str).map(Str::from).collect()
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}
