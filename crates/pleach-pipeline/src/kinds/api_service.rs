//! APIServices, as objects: nothing is aggregated.

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{default_to, items, member, object_mut, text, text_at};

/// The rules of APIServices.
#[derive(Debug)]
pub struct ApiService;

fn is_local(object: &Value) -> bool {
    object.at(&["spec", "service"]).is_none()
}

impl Rules for ApiService {
    fn default(&self, object: &mut Value) {
        if let Some(service) = object_mut(member(object, "spec"), "service") {
            default_to(service, "port", 443);
        }
    }

    fn prepare_for_create(&self, object: &mut Value) {
        if is_local(object) {
            let created = ObjectMeta::of(object).creation_timestamp().map(str::to_owned);
            member(object, "status").insert(
                "conditions",
                json!([{"type": "Available", "status": "True", "reason": "Local",
                    "message": "Local APIServices are always available",
                    "lastTransitionTime": (created.map(Value::from).unwrap_or_default())}]),
            );
        }
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let (version, group) = (text_at(object, &["spec", "version"]), text_at(object, &["spec", "group"]));
        let wanted = format!("{version}.{group}");
        let name = ObjectMeta::of(object).name();
        if name != wanted {
            errors.push(FieldError::invalid(
                "metadata.name",
                name,
                format!("must be `spec.version+\".\"+spec.group`: \"{wanted}\""),
            ));
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Service", "string", |o, _| match o.at(&["spec", "service"]) {
                Some(service) => format!("{}/{}", text(service, "namespace"), text(service, "name")).into(),
                None => "Local".into(),
            }),
            computed("Available", "string", |o, _| {
                let conditions =
                    o.get("status").map(|status| items(status, "conditions")).unwrap_or_default();
                match conditions.iter().find(|c| text(c, "type") == "Available") {
                    None => "Unknown".into(),
                    Some(condition) if text(condition, "status") == "True" => "True".into(),
                    Some(c) => format!("{} ({})", text(c, "status"), text(c, "reason")).into(),
                }
            }),
            age_text(),
        ]
    }
}
