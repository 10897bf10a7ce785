//! Roles, ClusterRoles, RoleBindings and ClusterRoleBindings.

mod decode;
mod read;
mod validate;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::object_meta::{NameRule, ObjectMeta};

pub use self::read::{binding, rules, selectors};

use crate::columns::{AGE_DESCRIPTION, column};
use crate::kind::{Cell, Column};
use crate::resource::Resource;
use crate::strategy::{Effect, Grant, Strategy};
use crate::typed::Typed;

/// The API group.
pub const GROUP: &str = "rbac.authorization.k8s.io";
/// The resource of Roles.
pub const ROLES: &str = "roles";
/// The resource of ClusterRoles.
pub const CLUSTER_ROLES: &str = "clusterroles";
/// The resource of RoleBindings.
pub const ROLE_BINDINGS: &str = "rolebindings";
/// The resource of ClusterRoleBindings.
pub const CLUSTER_ROLE_BINDINGS: &str = "clusterrolebindings";

/// Versions that upstream still reads.
const OLD_VERSIONS: [&str; 2] = ["rbac.authorization.k8s.io/v1alpha1", "rbac.authorization.k8s.io/v1beta1"];

/// The strategy of Roles.
pub static ROLE: Role = Role { namespaced: true };
/// The strategy of ClusterRoles.
pub static CLUSTER_ROLE: Role = Role { namespaced: false };
/// The strategy of RoleBindings.
pub static ROLE_BINDING: Binding = Binding { namespaced: true };
/// The strategy of ClusterRoleBindings.
pub static CLUSTER_ROLE_BINDING: Binding = Binding { namespaced: false };

/// The resource of the roles that a binding may name, by their kind.
pub fn role_resource(kind: &str) -> Option<&'static str> {
    match kind {
        "Role" => Some(ROLES),
        "ClusterRole" => Some(CLUSTER_ROLES),
        _ => None,
    }
}

/// The error of a body of another kind of this group.
fn unknown_conversion(kind: &str, found: &str) -> Option<String> {
    const KINDS: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
    KINDS.contains(&found).then(|| format!("converting (v1.{found}) to (rbac.{kind}): unknown conversion"))
}

/// Whether an update is not checked for escalation: it changes nothing but finalizers, owners and field managers.
fn is_harmless(object: &Value, old: &Value) -> bool {
    let bare = |value: &Value| {
        let mut value = value.clone();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["finalizers", "ownerReferences", "managedFields"] {
                metadata.remove(key);
            }
        }
        value
    };
    bare(object) == bare(old)
}

/// The strategy of Roles and ClusterRoles.
#[derive(Debug)]
pub struct Role {
    namespaced: bool,
}

impl Strategy for Role {
    fn columns(&self) -> Option<Vec<Column>> {
        let created = Cell::Text(&["metadata", "creationTimestamp"]);
        Some(vec![column("Created At", "date", AGE_DESCRIPTION, created)])
    }

    fn decode(&self, _: Resource<'_>, object: &mut Value, _: &mut Typed) -> Result<Vec<String>, String> {
        decode::role(self.namespaced, object)
    }

    fn hides_group_in_keys(&self) -> bool {
        true
    }

    fn other_versions(&self) -> &'static [&'static str] {
        &OLD_VERSIONS
    }

    fn other_kind_error(&self, kind: &str, found: &str) -> Option<String> {
        unknown_conversion(kind, found)
    }

    fn reports_unknown_in_document_order(&self) -> bool {
        true
    }

    fn complete(&self, object: &mut Value) {
        let is_empty = object.get("rules").is_none_or(|rules| rules.as_array().is_none_or(|r| r.is_empty()));
        if is_empty && let Some(members) = object.as_object_mut() {
            members.insert("rules", Value::Null);
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validates_by_schema(&self) -> bool {
        false
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        validate::role(object, self.namespaced)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn after_commit(&self) -> Effect {
        Effect::RbacChanged
    }

    fn grant(&self, object: &Value, old: Option<&Value>) -> Option<Grant> {
        if old.is_some_and(|old| is_harmless(object, old)) {
            return None;
        }
        let aggregates = |object: &Value| {
            let selectors = object.at(&["aggregationRule", "clusterRoleSelectors"]);
            !self.namespaced && selectors.and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        };
        Some(Grant::Rules {
            rules: rules(object),
            aggregates: aggregates(object) || old.is_some_and(aggregates),
        })
    }
}

/// The strategy of RoleBindings and ClusterRoleBindings.
#[derive(Debug)]
pub struct Binding {
    namespaced: bool,
}

impl Strategy for Binding {
    fn columns(&self) -> Option<Vec<Column>> {
        let wide =
            |name, description, cell| Column { priority: 1, ..column(name, "string", description, cell) };
        let role = if self.namespaced {
            "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error."
        } else {
            "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error."
        };
        let role_cell = Cell::Computed(|object, _| {
            let text = |key: &str| object.at(&["roleRef", key]).and_then(Value::as_str).unwrap_or_default();
            format!("{}/{}", text("kind"), text("name")).into()
        });
        let [users, groups, accounts] = if self.namespaced {
            ["Users in the roleBinding", "Groups in the roleBinding", "ServiceAccounts in the roleBinding"]
        } else {
            [
                "Users in the clusterRoleBinding",
                "Groups in the clusterRoleBinding",
                "ServiceAccounts in the clusterRoleBinding",
            ]
        };
        Some(vec![
            column("Role", "string", role, role_cell),
            column("Age", "string", AGE_DESCRIPTION, Cell::Age),
            wide("Users", users, Cell::Computed(|object, _| subjects(object, "User"))),
            wide("Groups", groups, Cell::Computed(|object, _| subjects(object, "Group"))),
            wide("ServiceAccounts", accounts, Cell::Computed(|object, _| subjects(object, "ServiceAccount"))),
        ])
    }

    fn decode(&self, _: Resource<'_>, object: &mut Value, _: &mut Typed) -> Result<Vec<String>, String> {
        decode::binding(self.namespaced, object)
    }

    fn hides_group_in_keys(&self) -> bool {
        true
    }

    fn other_versions(&self) -> &'static [&'static str] {
        &OLD_VERSIONS
    }

    fn other_kind_error(&self, kind: &str, found: &str) -> Option<String> {
        unknown_conversion(kind, found)
    }

    fn reports_unknown_in_document_order(&self) -> bool {
        true
    }

    fn complete(&self, object: &mut Value) {
        decode::default_binding(object);
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validates_by_schema(&self) -> bool {
        false
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::binding(object, old, self.namespaced)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn after_commit(&self) -> Effect {
        Effect::RbacChanged
    }

    fn grant(&self, object: &Value, old: Option<&Value>) -> Option<Grant> {
        if old.is_some_and(|old| is_harmless(object, old)) {
            return None;
        }
        let text = |key: &str| object.at(&["roleRef", key]).and_then(Value::as_str).unwrap_or_default();
        Some(Grant::Role { kind: text("kind").into(), name: text("name").into() })
    }
}

/// The names of a binding's subjects of one kind.
fn subjects(object: &Value, kind: &str) -> Value {
    let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten();
    let text = |subject: &Value, key: &str| -> String {
        subject.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let names = subjects.filter(|subject| text(subject, "kind") == kind).map(|subject| {
        let name = text(subject, "name");
        if kind == "ServiceAccount" { format!("{}/{name}", text(subject, "namespace")) } else { name }
    });
    names.collect::<Vec<_>>().join(", ").into()
}

/// The labels of a ClusterRole, by which others collect its rules.
pub fn labels(object: &Value) -> Option<&pleach_json::Map> {
    ObjectMeta::of(object).labels()
}

#[cfg(test)]
mod tests;
