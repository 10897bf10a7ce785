//! APIServices, as objects: nothing is aggregated.

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::names::check_dns1035_label;
use pleach_meta::object_meta::{NameRule, ObjectMeta};

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::fields::{bool_at, default_to, int_at, items, member, object_mut, text, text_at};

/// The group.
pub const GROUP: &str = "apiregistration.k8s.io";
/// The resource.
pub const PLURAL: &str = "apiservices";

/// The APIService of a version that the server itself serves.
pub fn local(group: &str, version: &str) -> Value {
    let group_priority = match group {
        "" => 18_000,
        "apps" => 17_800,
        "events.k8s.io" => 17_750,
        "authentication.k8s.io" => 17_700,
        "authorization.k8s.io" => 17_600,
        "autoscaling" => 17_500,
        "batch" => 17_400,
        "certificates.k8s.io" => 17_300,
        "networking.k8s.io" => 17_200,
        "policy" => 17_100,
        "storage.k8s.io" => 16_800,
        "admissionregistration.k8s.io" | "apiextensions.k8s.io" => 16_700,
        "scheduling.k8s.io" => 16_600,
        "coordination.k8s.io" => 16_500,
        "node.k8s.io" => 16_300,
        "discovery.k8s.io" | "resource.k8s.io" => 16_200,
        "flowcontrol.apiserver.k8s.io" => 16_100,
        _ => 17_000,
    };
    let version_priority = match (group, version) {
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", _) => 21,
        _ => 15,
    };
    let mut object = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {
            "name": (format!("{version}.{group}")),
            "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"},
        },
        "spec": {
            "version": (version), "groupPriorityMinimum": (group_priority), "versionPriority": (version_priority),
        },
    });
    if !group.is_empty() {
        member(&mut object, "spec").insert("group", group);
    }
    object
}

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
        if !name.is_empty() && name != wanted {
            errors.push(FieldError::invalid(
                "metadata.name",
                name,
                format!("must be `spec.version+\".\"+spec.group`: \"{wanted}\""),
            ));
        }
        let at = |field: &str| format!("spec.{field}");
        if group.is_empty() && version != "v1" {
            let why = "only v1 may have an empty group and it better be legacy kube";
            errors.push(FieldError::required(at("group"), why));
        }
        if !group.is_empty() {
            checks::dns_subdomain(group, &at("group"), &mut errors);
        }
        let wrong = check_dns1035_label(version).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(at("version"), version, why)));
        for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
            let number = int_at(object, &["spec", field]);
            if !(1..=most).contains(&number) {
                let why = format!("must be positive and less than {most}");
                errors.push(FieldError::invalid(at(field), number, why));
            }
        }
        let bundle = text_at(object, &["spec", "caBundle"]);
        let insecure = bool_at(object, &["spec", "insecureSkipTLSVerify"]);
        let Some(service) = object.at(&["spec", "service"]) else {
            if !bundle.is_empty() {
                let bytes = pleach_go::base64::decode(bundle).map_or(0, |bytes| bytes.len());
                let why = "local APIServices may not have a caBundle";
                errors.push(FieldError::invalid(at("caBundle"), format!("{bytes} bytes"), why));
            }
            if insecure {
                let why = "local APIServices may not have insecureSkipTLSVerify";
                errors.push(FieldError::invalid(at("insecureSkipTLSVerify"), true, why));
            }
            return errors;
        };
        for field in ["namespace", "name"] {
            if text(service, field).is_empty() {
                errors.push(FieldError::required(format!("spec.service.{field}"), ""));
            }
        }
        let port = int_at(service, &["port"]);
        if !(1..=65535).contains(&port) {
            let why = "port is not valid: must be between 1 and 65535, inclusive";
            errors.push(FieldError::invalid("spec.service.port", port, why));
        }
        if insecure && !bundle.is_empty() {
            let why = "may not be true if caBundle is present";
            errors.push(FieldError::invalid(at("insecureSkipTLSVerify"), true, why));
        }
        errors
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
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
