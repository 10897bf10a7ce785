//! FlowSchemas and PriorityLevelConfigurations of API Priority and Fairness: defaults, columns, status.

pub mod bootstrap;
mod go_struct;
mod validate;

use pleach_json::{Value, json};
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{int_at, items, member, object_mut, text, text_at};
use crate::resource::Subresource;
use crate::strategy::Effect;

/// The API group.
pub const GROUP: &str = "flowcontrol.apiserver.k8s.io";
/// The resource of FlowSchemas.
pub const FLOW_SCHEMAS: &str = "flowschemas";
/// The resource of PriorityLevelConfigurations.
pub const PRIORITY_LEVELS: &str = "prioritylevelconfigurations";
/// The annotation of objects whose spec the server keeps as it is in this release.
pub const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// The condition of a FlowSchema that names a priority level which does not exist.
pub fn dangling_condition(schema: &Value, exists: bool, now: &str) -> Value {
    let level = text_at(schema, &["spec", "priorityLevelConfiguration", "name"]);
    let references =
        format!("This FlowSchema references the PriorityLevelConfiguration object named \"{level}\" ");
    let (status, reason, end) = if exists {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    json!({
        "type": "Dangling", "status": (status), "reason": (reason), "message": (references + end),
        "lastTransitionTime": (now),
    })
}

/// Whether the status of a FlowSchema has a condition already, whatever the time of its transition.
pub fn has_condition(schema: &Value, wanted: &Value) -> bool {
    let conditions = schema.get("status").map(|status| items(status, "conditions")).unwrap_or_default();
    conditions.iter().find(|one| text(one, "type") == text(wanted, "type")).is_some_and(|one| {
        ["status", "reason", "message"].iter().all(|key| text(one, key) == text(wanted, key))
    })
}

/// Takes nothing of the metadata of a status update but managed fields.
fn keep_metadata(object: &mut Value, old: &Value) {
    let taken = ["managedFields", "resourceVersion"].map(|key| (key, object.at(&["metadata", key]).cloned()));
    if let (Some(metadata), Some(members)) = (old.get("metadata"), object.as_object_mut()) {
        members.insert("metadata", metadata.clone());
    }
    let metadata = member(object, "metadata");
    for (key, value) in taken {
        match value {
            Some(value) => metadata.insert(key, value),
            None => metadata.remove(key),
        };
    }
}

/// The rules of FlowSchemas.
#[derive(Debug)]
pub struct FlowSchema;

impl Rules for FlowSchema {
    fn default(&self, object: &mut Value) {
        if int_at(object, &["spec", "matchingPrecedence"]) == 0 {
            member(object, "spec").insert("matchingPrecedence", 1000);
        }
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, _: Subresource) {
        keep_metadata(object, old);
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        validate::flow_schema(object)
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        validate::status(object)
    }

    fn columns(&self) -> Vec<Column> {
        let distinguisher = |object: &Value, _: i64| match object.at(&["spec", "distinguisherMethod"]) {
            Some(method @ Value::Object(_)) => text(method, "type").into(),
            _ => "<none>".into(),
        };
        let missing = |object: &Value, _: i64| {
            let conditions =
                object.get("status").map(|status| items(status, "conditions")).unwrap_or_default();
            let dangling = conditions.iter().find(|one| text(one, "type") == "Dangling");
            dangling.map_or("?", |condition| text(condition, "status")).into()
        };
        vec![
            computed("PriorityLevel", "string", |object, _| {
                text_at(object, &["spec", "priorityLevelConfiguration", "name"]).into()
            }),
            computed("MatchingPrecedence", "string", |object, _| {
                int_at(object, &["spec", "matchingPrecedence"]).into()
            }),
            computed("DistinguisherMethod", "string", distinguisher),
            age_text(),
            computed("MissingPL", "string", missing),
        ]
    }

    fn after_commit(&self) -> Effect {
        Effect::FlowControlChanged
    }
}

/// The rules of PriorityLevelConfigurations.
#[derive(Debug)]
pub struct PriorityLevelConfiguration;

impl Rules for PriorityLevelConfiguration {
    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        for (key, shares) in [("exempt", 0), ("limited", 30)] {
            let Some(level) = object_mut(spec, key) else { continue };
            for (key, value) in [("nominalConcurrencyShares", shares), ("lendablePercent", 0)] {
                if level.get(key).is_none_or(Value::is_null) {
                    level.insert(key, value);
                }
            }
            let response = object_mut(level, "limitResponse");
            let Some(queuing) = response.and_then(|response| object_mut(response, "queuing")) else {
                continue;
            };
            for (key, value) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
                if queuing.get(key).and_then(Value::as_int).unwrap_or_default() == 0 {
                    queuing.insert(key, value);
                }
            }
        }
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, _: Subresource) {
        keep_metadata(object, old);
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        validate::priority_level(object)
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        validate::status(object)
    }

    fn columns(&self) -> Vec<Column> {
        fn limited(object: &Value, path: &[&str]) -> Value {
            let found = object.at(&["spec", "limited"]).and_then(|limited| limited.at(path));
            found.filter(|value| !value.is_null()).cloned().unwrap_or_else(|| "<none>".into())
        }
        const QUEUING: [&str; 2] = ["limitResponse", "queuing"];
        vec![
            computed("Type", "string", |object, _| text_at(object, &["spec", "type"]).into()),
            computed("NominalConcurrencyShares", "string", |object, _| {
                limited(object, &["nominalConcurrencyShares"])
            }),
            computed("Queues", "string", |object, _| limited(object, &[QUEUING[0], QUEUING[1], "queues"])),
            computed("HandSize", "string", |object, _| {
                limited(object, &[QUEUING[0], QUEUING[1], "handSize"])
            }),
            computed("QueueLengthLimit", "string", |object, _| {
                limited(object, &[QUEUING[0], QUEUING[1], "queueLengthLimit"])
            }),
            age_text(),
        ]
    }

    fn after_commit(&self) -> Effect {
        Effect::FlowControlChanged
    }
}

#[cfg(test)]
mod tests;
