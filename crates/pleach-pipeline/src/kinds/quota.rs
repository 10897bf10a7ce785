//! ResourceQuotas.

pub mod usage;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::pod::validate::resources::resource_name;
use crate::strategy::Effect;

/// The group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "resourcequotas";

/// The rules of ResourceQuotas.
#[derive(Debug)]
pub struct ResourceQuota;

fn shown(object: &Value, limits: bool) -> Value {
    let hard = object.at(&["status", "hard"]).and_then(Value::as_object);
    let used = object.at(&["status", "used"]).and_then(Value::as_object);
    let parts: Vec<String> = hard
        .into_iter()
        .flat_map(Map::iter)
        .filter(|(name, _)| name.starts_with("limits.") == limits)
        .map(|(name, hard)| {
            let used = used.and_then(|used| used.get_str(name)).unwrap_or("0");
            format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
        })
        .collect();
    parts.join(", ").into()
}

/// The name of a resource that a quota may limit.
fn quota_resource_name(name: &str, path: &str, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    resource_name(name.strip_prefix("count/").map_or(name, |_| "pods"), path, errors);
    let is_known = name.contains('/')
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
        || STANDARD.contains(&name);
    if errors.len() == before && !is_known || errors.len() != before && !name.contains('/') {
        errors.push(FieldError::invalid(path, name, "must be a standard resource for quota"));
    }
}

/// Resources without a prefix that quotas know.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
    "resourceclaims",
];

impl Rules for ResourceQuota {
    fn after_commit(&self) -> Effect {
        Effect::LimitsChanged
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let hard = object.at(&["spec", "hard"]).and_then(Value::as_object);
        for (name, value) in hard.into_iter().flat_map(Map::iter) {
            let path = format!("spec.hard[{name}]");
            quota_resource_name(name, &path, &mut errors);
            checks::non_negative_quantity(value, &path, &mut errors);
            let counted = matches!(
                name.as_str(),
                "pods"
                    | "services"
                    | "secrets"
                    | "configmaps"
                    | "persistentvolumeclaims"
                    | "resourcequotas"
                    | "replicationcontrollers"
                    | "services.nodeports"
                    | "services.loadbalancers"
            ) || name.starts_with("count/");
            if counted && checks::quantity(value).is_some_and(|quantity| !quantity.is_whole()) {
                errors.push(FieldError::invalid(path.as_str(), value.clone(), "must be an integer"));
            }
        }
        if let Some(old) = old {
            let path = ["spec", "scopes"];
            checks::immutable(object.at(&path), old.at(&path), "spec.scopes", &mut errors);
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Request", "string", |o, _| shown(o, false)),
            computed("Limit", "string", |o, _| shown(o, true)),
            age_text(),
        ]
    }
}
