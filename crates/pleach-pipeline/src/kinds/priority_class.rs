//! PriorityClasses.

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{bool_at, default_absent_to, int_at, text};
use crate::strategy::Role;

/// Classes that the server creates, with their values.
pub const SYSTEM: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// The API group.
pub const GROUP: &str = "scheduling.k8s.io";
/// The resource.
pub const PLURAL: &str = "priorityclasses";

/// Whether Pods that name no class have this one.
pub fn is_default(class: &Value) -> bool {
    bool_at(class, &["globalDefault"])
}

/// A class that the server creates.
pub fn new(name: &str, value: i64) -> Value {
    let what = if value == SYSTEM[0].1 { "cluster" } else { "node" };
    json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": (name)},
        "value": (value), "preemptionPolicy": "PreemptLowerPriority",
        "description": (format!("Pods that a {what} cannot work without.")),
    })
}

/// Why a class is none of those that the server creates.
fn not_of_system(class: &Value) -> Option<String> {
    let name = ObjectMeta::of(class).name();
    match SYSTEM.iter().find(|(known, _)| *known == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, value)) if *value != int_at(class, &["value"]) => {
            Some(format!("value of {name} PriorityClass must be {value}"))
        }
        Some(_) if is_default(class) => Some(format!("globalDefault of {name} PriorityClass must be false")),
        Some(_) => None,
    }
}

/// The rules of PriorityClasses.
#[derive(Debug)]
pub struct PriorityClass;

impl Rules for PriorityClass {
    fn role(&self) -> Role {
        Role::PriorityClass
    }

    fn default(&self, object: &mut Value) {
        if let Some(members) = object.as_object_mut() {
            default_absent_to(members, "preemptionPolicy", "PreemptLowerPriority");
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let (name, value) = (ObjectMeta::of(object).name(), int_at(object, &["value"]));
        if let Some(old) = old {
            if old.get("value") != object.get("value") {
                errors.push(FieldError::forbidden("value", "may not be changed in an update."));
            }
            if old.get("preemptionPolicy") != object.get("preemptionPolicy") {
                let policy = text(object, "preemptionPolicy");
                errors.push(FieldError::invalid("preemptionPolicy", policy, "field is immutable"));
            }
            return errors;
        }
        if name.starts_with("system-") {
            if let Some(why) = not_of_system(object) {
                let why = format!(
                    "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
                );
                errors.push(FieldError::forbidden("metadata.name", why));
            }
        } else if value > 1_000_000_000 {
            errors.push(FieldError::forbidden(
                "value",
                "maximum allowed value of a user defined priority is 1000000000",
            ));
        }
        let policy = text(object, "preemptionPolicy");
        if policy.is_empty() {
            errors.push(FieldError::required("preemptionPolicy", ""));
        } else if !["PreemptLowerPriority", "Never"].contains(&policy) {
            errors.push(FieldError::not_supported(
                "preemptionPolicy",
                policy,
                &["PreemptLowerPriority", "Never"],
            ));
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Value", "integer", |o, _| int_at(o, &["value"]).into()),
            computed("Global-Default", "boolean", |o, _| bool_at(o, &["globalDefault"]).into()),
            age_text(),
            computed("PreemptionPolicy", "string", |o, _| text(o, "preemptionPolicy").into()),
        ]
    }
}
