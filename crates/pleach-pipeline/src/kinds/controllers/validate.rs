//! Validation of kinds with a template and a selector.

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::selector::LabelSelector;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{int_at, items, member, text, text_at};
use crate::kinds::persistent_volume;
use crate::kinds::pod::validate as pods;

/// The parts of a kind's messages about selectors and templates.
struct Words {
    empty_selector: &'static str,
    /// The template is validated although the selector cannot be read.
    checks_template_anyway: bool,
    deadline: &'static str,
}

fn selector_and_template(object: &Value, words: &Words, required: bool, errors: &mut Errors) {
    let selector = object.at(&["spec", "selector"]).filter(|selector| !selector.is_null());
    match selector {
        None => {
            if required {
                errors.push(FieldError::required("spec.selector", ""));
            }
        }
        Some(selector) => {
            checks::selector(selector, "spec.selector", errors);
            let is_empty = |key: &str| match selector.get(key) {
                Some(Value::Object(all)) => all.is_empty(),
                Some(Value::Array(all)) => all.is_empty(),
                _ => true,
            };
            if is_empty("matchLabels") && is_empty("matchExpressions") {
                errors.push(FieldError::invalid(
                    "spec.selector",
                    selector.clone(),
                    format!("empty selector is invalid for {}", words.empty_selector),
                ));
            }
        }
    }
    let Some(template) = object.at(&["spec", "template"]) else { return };
    let labels = template.at(&["metadata", "labels"]);
    let unreadable = selector.filter(|selector| LabelSelector::from_object(Some(selector)).is_err());
    if let Some(selector) = unreadable {
        if words.empty_selector != "daemonset" {
            let why = if words.empty_selector == "statefulset" { "" } else { "invalid label selector" };
            errors.push(FieldError::invalid("spec.selector", selector.clone(), why));
        }
        if !words.checks_template_anyway {
            return;
        }
    }
    let matches = selector.is_some_and(|selector| {
        LabelSelector::from_object(Some(selector)).is_ok_and(|selector| {
            selector.is_everything() || selector.matches(labels.and_then(Value::as_object))
        })
    });
    if !matches && unreadable.is_none() {
        let value = labels.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            value,
            "`selector` does not match template `labels`",
        ));
    }
    match with_claims(object, template) {
        Some(template) => pods::template(&template, "spec.template", errors),
        None => pods::template(template, "spec.template", errors),
    }
    always_restarts(template, words, errors);
}

/// The template of a StatefulSet with its claims as the first volumes, as its Pods have them.
fn with_claims(object: &Value, template: &Value) -> Option<Value> {
    let claims = items(object.get("spec")?, "volumeClaimTemplates");
    if claims.is_empty() {
        return None;
    }
    let mut names = std::collections::BTreeSet::new();
    let names_of_claims = claims.iter().map(|claim| text_at(claim, &["metadata", "name"]));
    let mut volumes: Vec<Value> = names_of_claims
        .filter(|name| names.insert(*name))
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    let own = template.get("spec").map(|spec| items(spec, "volumes")).unwrap_or_default();
    volumes.extend(own.iter().filter(|volume| !names.contains(text(volume, "name"))).cloned());
    let mut template = template.clone();
    member(&mut template, "spec").insert("volumes", volumes);
    Some(template)
}

fn always_restarts(template: &Value, words: &Words, errors: &mut Errors) {
    let policy = text_at(template, &["spec", "restartPolicy"]);
    if policy != "Always" {
        errors.push(FieldError::not_supported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
    if template.at(&["spec", "activeDeadlineSeconds"]).is_some() {
        errors.push(FieldError::forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            format!("activeDeadlineSeconds in {} is not Supported", words.deadline),
        ));
    }
}

fn numbers(object: &Value, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        checks::non_negative(object.at(&["spec", field]), &format!("spec.{field}"), errors);
    }
}

fn same_selector(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        let path = ["spec", "selector"];
        checks::immutable(object.at(&path), old.at(&path), "spec.selector", errors);
    }
}

/// A rolling update's two bounds.
fn bounds(strategy: &Value, path: &str, errors: &mut Errors) -> bool {
    let rolling = strategy.get("rollingUpdate").unwrap_or(&Value::Null);
    for field in ["maxUnavailable", "maxSurge"] {
        checks::int_or_percent(rolling.get(field), &format!("{path}.rollingUpdate.{field}"), errors);
    }
    let unavailable = rolling.get("maxUnavailable");
    let both_zero = checks::is_zero(unavailable) && checks::is_zero(rolling.get("maxSurge"));
    checks::at_most_hundred_percent(unavailable, &format!("{path}.rollingUpdate.maxUnavailable"), errors);
    both_zero
}

/// A strategy as Go writes the internal type as JSON.
fn strategy_dump(kind: &str, strategy: &Value) -> BadValue {
    let kind = pleach_json::to_string(&kind.into());
    let BadValue::Raw(rolling) = rolling_dump(strategy.get("rollingUpdate"), ["maxUnavailable", "maxSurge"])
    else {
        return BadValue::Omitted;
    };
    BadValue::Raw(format!("{{\"Type\":{kind},\"RollingUpdate\":{rolling}}}"))
}

fn rolling_dump(rolling: Option<&Value>, fields: [&str; 2]) -> BadValue {
    let Some(rolling) = rolling else { return BadValue::Raw("null".into()) };
    let shown = fields.map(|field| {
        let name = format!("{}{}", field[..1].to_uppercase(), &field[1..]);
        format!("\"{name}\":{}", pleach_json::to_string(rolling.get(field).unwrap_or(&Value::Null)))
    });
    BadValue::Raw(format!("{{{}}}", shown.join(",")))
}

pub(super) fn deployment(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let words = Words { empty_selector: "deployment", checks_template_anyway: false, deadline: "ReplicaSet" };
    numbers(object, &["replicas"], &mut errors);
    selector_and_template(object, &words, true, &mut errors);
    if let Some(strategy) = object.at(&["spec", "strategy"]) {
        let path = "spec.strategy";
        match text(strategy, "type") {
            "Recreate" => {
                if strategy.get("rollingUpdate").is_some() {
                    errors.push(FieldError::forbidden(
                        format!("{path}.rollingUpdate"),
                        "may not be specified when strategy `type` is 'Recreate'",
                    ));
                }
            }
            "RollingUpdate" => {
                if bounds(strategy, path, &mut errors) {
                    let value =
                        strategy.at(&["rollingUpdate", "maxUnavailable"]).cloned().unwrap_or_default();
                    errors.push(FieldError::invalid(
                        format!("{path}.rollingUpdate.maxUnavailable"),
                        value,
                        "may not be 0 when `maxSurge` is 0",
                    ));
                }
            }
            other => {
                errors.push(FieldError::not_supported(
                    path,
                    strategy_dump(other, strategy),
                    &["Recreate", "RollingUpdate"],
                ));
            }
        }
    }
    numbers(object, &["minReadySeconds", "revisionHistoryLimit"], &mut errors);
    let deadline = int_at(object, &["spec", "progressDeadlineSeconds"]);
    numbers(object, &["progressDeadlineSeconds"], &mut errors);
    if deadline <= int_at(object, &["spec", "minReadySeconds"]) {
        errors.push(FieldError::invalid(
            "spec.progressDeadlineSeconds",
            deadline,
            "must be greater than minReadySeconds",
        ));
    }
    same_selector(object, old, &mut errors);
    errors
}

fn counts(object: &Value, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        checks::non_negative(object.at(&["status", field]), &format!("status.{field}"), errors);
    }
}

fn at_most(object: &Value, field: &str, bound: &str, words: &str, errors: &mut Errors) {
    let number = int_at(object, &["status", field]);
    if number > int_at(object, &["status", bound]) {
        errors.push(FieldError::invalid(
            format!("status.{field}"),
            number,
            format!("cannot be greater than {words}"),
        ));
    }
}

fn collisions(object: &Value, old: &Value, errors: &mut Errors) {
    let path = ["status", "collisionCount"];
    let (new, was) = (int_at(object, &path), int_at(old, &path));
    if new < was {
        errors.push(FieldError::invalid("status.collisionCount", new, "cannot be decremented"));
    }
}

pub(super) fn deployment_status(object: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let all = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "terminatingReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
    ];
    counts(object, &all, &mut errors);
    for field in ["updatedReplicas", "readyReplicas", "availableReplicas"] {
        at_most(object, field, "replicas", "status.replicas", &mut errors);
    }
    at_most(object, "availableReplicas", "readyReplicas", "readyReplicas", &mut errors);
    checks::non_negative(object.at(&["status", "collisionCount"]), "status.collisionCount", &mut errors);
    collisions(object, old, &mut errors);
    errors
}

pub(super) fn replica_set(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let words = Words { empty_selector: "deployment", checks_template_anyway: false, deadline: "ReplicaSet" };
    numbers(object, &["replicas", "minReadySeconds"], &mut errors);
    selector_and_template(object, &words, true, &mut errors);
    same_selector(object, old, &mut errors);
    errors
}

pub(super) fn replica_status(object: &Value) -> Errors {
    let mut errors = Errors::new();
    counts(
        object,
        &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "terminatingReplicas",
            "observedGeneration",
        ],
        &mut errors,
    );
    for field in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
        at_most(object, field, "replicas", "status.replicas", &mut errors);
    }
    at_most(object, "availableReplicas", "readyReplicas", "readyReplicas", &mut errors);
    errors
}

pub(super) fn replication_controller(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    numbers(object, &["minReadySeconds"], &mut errors);
    let selector = object.at(&["spec", "selector"]);
    if selector.and_then(Value::as_object).is_none_or(pleach_json::Map::is_empty) {
        errors.push(FieldError::required("spec.selector", ""));
    }
    numbers(object, &["replicas"], &mut errors);
    match object.at(&["spec", "template"]) {
        None | Some(Value::Null) => errors.push(FieldError::required("spec.template", "")),
        Some(template) => {
            let labels = template.at(&["metadata", "labels"]);
            if !checks::has_labels(labels, selector) {
                errors.push(FieldError::invalid(
                    "spec.template.metadata.labels",
                    labels.cloned().unwrap_or_default(),
                    "`selector` does not match template `labels`",
                ));
            }
            pods::template(template, "spec.template", &mut errors);
            always_restarts(
                template,
                &Words {
                    empty_selector: "",
                    checks_template_anyway: false,
                    deadline: "ReplicationController",
                },
                &mut errors,
            );
        }
    }
    errors
}

const STATEFUL_SET_MAY_CHANGE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

pub(super) fn stateful_set(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let templates = object.get("spec").map(|spec| items(spec, "volumeClaimTemplates")).unwrap_or_default();
    // They cannot be changed, so only a new object has to have valid ones.
    for (i, template) in templates.iter().enumerate().filter(|_| old.is_none()) {
        let spec = template.get("spec").unwrap_or(&Value::Null);
        persistent_volume::claim_spec(spec, &format!("spec.volumeClaimTemplates[{i}].spec"), &mut errors);
    }
    let words =
        Words { empty_selector: "statefulset", checks_template_anyway: true, deadline: "StatefulSet" };
    match text_at(object, &["spec", "podManagementPolicy"]) {
        "OrderedReady" | "Parallel" => {}
        other => errors.push(FieldError::invalid(
            "spec.podManagementPolicy",
            other,
            "must be 'OrderedReady' or 'Parallel'",
        )),
    }
    let strategy = object.at(&["spec", "updateStrategy"]).unwrap_or(&Value::Null);
    match text(strategy, "type") {
        "RollingUpdate" => {
            checks::non_negative(
                strategy.at(&["rollingUpdate", "partition"]),
                "spec.updateStrategy.rollingUpdate.partition",
                &mut errors,
            );
        }
        "OnDelete" => {
            if strategy.get("rollingUpdate").is_some() {
                errors.push(FieldError::invalid(
                    "spec.updateStrategy.rollingUpdate",
                    rolling_dump(strategy.get("rollingUpdate"), ["partition", "maxUnavailable"]),
                    "only allowed for updateStrategy 'RollingUpdate'",
                ));
            }
        }
        other => {
            errors.push(FieldError::invalid(
                "spec.updateStrategy",
                strategy_dump(other, strategy),
                "must be 'RollingUpdate' or 'OnDelete'",
            ));
        }
    }
    let policy = object.at(&["spec", "persistentVolumeClaimRetentionPolicy"]).unwrap_or(&Value::Null);
    for field in ["whenDeleted", "whenScaled"] {
        let path = format!("spec.persistentVolumeClaimRetentionPolicy.{field}");
        checks::one_of_if_set(policy.get(field), &path, &["Retain", "Delete"], &mut errors);
    }
    numbers(object, &["replicas", "minReadySeconds"], &mut errors);
    checks::non_negative(object.at(&["spec", "ordinals", "start"]), "spec.ordinals.start", &mut errors);
    let service = text_at(object, &["spec", "serviceName"]);
    if old.is_none() && !service.is_empty() {
        checks::dns_label(service, "spec.serviceName", &mut errors);
    }
    selector_and_template(object, &words, true, &mut errors);
    if let Some(old) = old {
        let mut comparable = object.get("spec").cloned().unwrap_or_default();
        let was = old.get("spec").cloned().unwrap_or_default();
        for field in [
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
        ] {
            crate::prepare::copy_member(&mut comparable, &was, field);
        }
        if comparable != was {
            errors.push(FieldError::forbidden("spec", STATEFUL_SET_MAY_CHANGE));
        }
    }
    errors
}

pub(super) fn stateful_set_status(object: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    counts(
        object,
        &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
        &mut errors,
    );
    for field in ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] {
        at_most(object, field, "replicas", "status.replicas", &mut errors);
    }
    at_most(object, "availableReplicas", "readyReplicas", "status.readyReplicas", &mut errors);
    collisions(object, old, &mut errors);
    errors
}

pub(super) fn daemon_set(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let words = Words { empty_selector: "daemonset", checks_template_anyway: false, deadline: "DaemonSet" };
    selector_and_template(object, &words, false, &mut errors);
    numbers(object, &["minReadySeconds"], &mut errors);
    let strategy = object.at(&["spec", "updateStrategy"]).unwrap_or(&Value::Null);
    let path = "spec.updateStrategy";
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let both_zero = bounds(strategy, path, &mut errors);
            let rolling = strategy.get("rollingUpdate").unwrap_or(&Value::Null);
            let surge = format!("{path}.rollingUpdate.maxSurge");
            checks::at_most_hundred_percent(rolling.get("maxSurge"), &surge, &mut errors);
            if both_zero {
                let why = "cannot be 0 when maxSurge is 0";
                errors.push(FieldError::required(format!("{path}.rollingUpdate.maxUnavailable"), why));
            } else if !checks::is_zero(rolling.get("maxUnavailable"))
                && !checks::is_zero(rolling.get("maxSurge"))
            {
                errors.push(FieldError::invalid(
                    surge,
                    rolling.get("maxSurge").cloned().unwrap_or_default(),
                    "may not be set when maxUnavailable is non-zero",
                ));
            }
        }
        other => {
            let shown = strategy_dump(other, strategy);
            errors.push(FieldError::not_supported(path, shown, &["RollingUpdate", "OnDelete"]));
        }
    }
    numbers(object, &["revisionHistoryLimit"], &mut errors);
    same_selector(object, old, &mut errors);
    errors
}

pub(super) fn daemon_set_status(object: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    counts(
        object,
        &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
        &mut errors,
    );
    if old.at(&["status", "collisionCount"]).is_some() {
        collisions(object, old, &mut errors);
    }
    errors
}
