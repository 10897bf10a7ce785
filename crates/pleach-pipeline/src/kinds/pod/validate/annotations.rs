//! Validation of the annotations of Pods and templates that have a meaning, and of fields that must agree with them.

use std::collections::HashSet;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;

use crate::kinds::checks::Errors;
use crate::kinds::fields::{items, text, text_at};

/// The annotation of a Pod that a kubelet has from a file.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The beginning of the annotation with the AppArmor profile of a container; its name follows.
pub(crate) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The lists of containers, in the order they are visited.
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

fn all(metadata: &Value) -> impl Iterator<Item = (&str, &str)> {
    let annotations = metadata.get("annotations").and_then(Value::as_object);
    annotations
        .into_iter()
        .flat_map(Map::iter)
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// `ValidatePodSpecificAnnotations`
pub(super) fn specific(metadata: &Value, spec: &Value, path: &str, errors: &mut Errors) {
    for (key, value) in all(metadata) {
        let at = format!("{path}[{key}]");
        if key == MIRROR && text(spec, "nodeName").is_empty() {
            let why = "must set spec.nodeName if mirror pod annotation is set";
            errors.push(FieldError::invalid(at, value, why));
        } else if key == DELETION_COST && !is_cost(value) {
            errors.push(FieldError::invalid(at, value, "must be a 32bit integer"));
        }
    }
    for (key, value) in all(metadata) {
        if key == SECCOMP_OF_POD || key.starts_with(SECCOMP_OF_CONTAINER) {
            seccomp_profile(value, &format!("{path}.{key}"), errors);
        }
    }
    let names: HashSet<&str> =
        LISTS.iter().flat_map(|list| items(spec, list)).map(|container| text(container, "name")).collect();
    for (key, profile) in all(metadata) {
        let Some(name) = key.strip_prefix(APP_ARMOR) else { continue };
        let at = format!("{path}[{key}]");
        if !names.contains(name) {
            errors.push(FieldError::invalid(at.as_str(), name, "container not found"));
        }
        let known = ["", "runtime/default", "unconfined"].contains(&profile);
        if !known && !profile.starts_with("localhost/") {
            let why = format!("invalid AppArmor profile name: {}", pleach_go::strconv::quote(profile));
            errors.push(FieldError::invalid(at, profile, why));
        }
    }
}

/// A number of 32 bits, written without a sign before positive ones and without leading zeros.
fn is_cost(value: &str) -> bool {
    let Some(number) = value.parse::<i32>().ok().filter(|_| !value.starts_with('+')) else { return false };
    value == "0" || value.starts_with('-') || number != 0 && !value.starts_with('0')
}

fn seccomp_profile(profile: &str, path: &str, errors: &mut Errors) {
    if ["runtime/default", "docker/default", "unconfined"].contains(&profile) {
        return;
    }
    match profile.strip_prefix("localhost/") {
        Some(file) => super::volume::descending(file, path, errors),
        None => errors.push(FieldError::invalid(path, profile, "must be a valid seccomp profile")),
    }
}

/// `ValidatePodSpecificAnnotationUpdates`
pub(super) fn changes(object: &Value, old: &Value, errors: &mut Errors) {
    let path = "metadata.annotations";
    let empty = Value::Null;
    let (metadata, before) =
        (object.get("metadata").unwrap_or(&empty), old.get("metadata").unwrap_or(&empty));
    let mut refuse = |key: &str, what: &str| {
        let whose = if key.starts_with(APP_ARMOR) {
            "AppArmor annotations"
        } else if key == MIRROR {
            "mirror pod annotation"
        } else {
            return;
        };
        errors.push(FieldError::forbidden(format!("{path}[{key}]"), format!("may not {what} {whose}")));
    };
    let get = |metadata: &Value, key: &str| metadata.at(&["annotations", key]).cloned();
    for (key, _) in all(before).filter(|(key, _)| get(metadata, key) != get(before, key)) {
        refuse(key, "remove or update");
    }
    for (key, _) in all(metadata).filter(|(key, _)| get(before, key).is_none()) {
        refuse(key, "add");
    }
    specific(metadata, object.get("spec").unwrap_or(&empty), path, errors);
}

/// The fields of profiles must say what the annotations say.
pub(super) fn profiles_match(metadata: &Value, spec: &Value, path: &str, errors: &mut Errors) {
    let annotation = |key: &str| metadata.at(&["annotations", key]).and_then(Value::as_str);
    let own = spec.at(&["securityContext", "seccompProfile"]);
    if let (Some(profile), Some(written)) = (own, annotation(SECCOMP_OF_POD)) {
        profile_matches(
            profile,
            written,
            "seccomp",
            &format!("{path}.securityContext.seccompProfile"),
            errors,
        );
    }
    let containers = || {
        LISTS.iter().flat_map(|list| {
            let numbered = items(spec, list).iter().enumerate();
            numbered.map(move |(i, container)| (container, format!("{path}.{list}[{i}].securityContext")))
        })
    };
    for (container, path) in containers() {
        let profile = container.at(&["securityContext", "seccompProfile"]);
        let key = format!("{SECCOMP_OF_CONTAINER}{}", text(container, "name"));
        if let (Some(profile), Some(written)) = (profile, annotation(&key)) {
            profile_matches(profile, written, "seccomp", &format!("{path}.seccompProfile"), errors);
        }
    }
    if text_at(spec, &["os", "name"]) == "windows" {
        return;
    }
    let of_pod = spec.at(&["securityContext", "appArmorProfile"]);
    for (container, path) in containers() {
        let profile = container.at(&["securityContext", "appArmorProfile"]).or(of_pod);
        let key = format!("{APP_ARMOR}{}", text(container, "name"));
        if let (Some(profile), Some(written)) = (profile, annotation(&key)) {
            profile_matches(profile, written, "apparmor", &format!("{path}.appArmorProfile"), errors);
        }
    }
}

fn profile_matches(profile: &Value, written: &str, what: &str, path: &str, errors: &mut Errors) {
    let differs = match text(profile, "type") {
        "Unconfined" => written != "unconfined",
        "RuntimeDefault" => {
            written != "runtime/default" && !(what == "seccomp" && written == "docker/default")
        }
        "Localhost" => match written.strip_prefix("localhost/") {
            None => true,
            Some(file) => {
                if profile.get("localhostProfile").and_then(Value::as_str) != Some(file) {
                    let why = format!("{what} profile in annotation and field must match");
                    errors.push(FieldError::forbidden(format!("{path}.localhostProfile"), why));
                }
                return;
            }
        },
        _ => return,
    };
    if differs {
        let why = format!("{what} type in annotation and field must match");
        errors.push(FieldError::forbidden(format!("{path}.type"), why));
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn annotations_with_a_meaning_are_checked() {
        let metadata = json!({"annotations": {
            "container.apparmor.security.beta.kubernetes.io/a": "custom",
            "container.apparmor.security.beta.kubernetes.io/none": "unconfined",
            "controller.kubernetes.io/pod-deletion-cost": "+1",
            "kubernetes.io/config.mirror": "",
            "seccomp.security.alpha.kubernetes.io/pod": "localhost/../x",
        }});
        let spec = json!({
            "containers": [{"name": "a", "securityContext": {"appArmorProfile": {"type": "Unconfined"}}}],
            "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "y"}},
        });
        let mut errors = Errors::new();
        specific(&metadata, &spec, "metadata.annotations", &mut errors);
        profiles_match(&metadata, &spec, "spec", &mut errors);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"+1\": must be a 32bit integer",
                "metadata.annotations[kubernetes.io/config.mirror]: Invalid value: \"\": must set spec.nodeName if mirror pod annotation is set",
                "metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"../x\": must not contain '..'",
                "metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: Invalid value: \"custom\": invalid AppArmor profile name: \"custom\"",
                "metadata.annotations[container.apparmor.security.beta.kubernetes.io/none]: Invalid value: \"none\": container not found",
                "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match",
                "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match",
            ]
        );
    }

    #[test]
    fn changes_of_profiles_are_refused() {
        let pod = |annotations: Value| json!({"metadata": {"annotations": (annotations)}, "spec": {"nodeName": "n", "containers": [{"name": "a"}]}});
        let key = format!("{APP_ARMOR}a");
        let mut set = Map::new();
        set.insert(key.as_str(), "unconfined");
        let mut errors = Errors::new();
        changes(&pod(set.clone().into()), &pod(json!({})), &mut errors);
        changes(&pod(json!({})), &pod(set.into()), &mut errors);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                format!("metadata.annotations[{key}]: Forbidden: may not add AppArmor annotations"),
                format!(
                    "metadata.annotations[{key}]: Forbidden: may not remove or update AppArmor annotations"
                ),
            ]
        );
    }
}
