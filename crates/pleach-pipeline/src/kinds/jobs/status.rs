//! Validation of the status of Jobs.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};

use super::{has_condition, indexes};
use crate::kinds::checks::Errors;
use crate::kinds::fields::{bool_at, int_at, items, text_at};

/// `validateJobStatus` and `ValidateJobStatusUpdate`: rules are applied where the fields they are about change.
pub(super) fn update(object: &Value, old: &Value, errors: &mut Errors) {
    let has = |kind: &str| has_condition(object, kind);
    let turned = |kind: &str| has_condition(object, kind) != has_condition(old, kind);
    let changed = |field: &str| object.at(&["status", field]) != old.at(&["status", field]);
    let finished = has("Complete") || has("Failed");
    let ended = finished != (has_condition(old, "Complete") || has_condition(old, "Failed"));
    uncounted(object, errors);
    let mut refuse = |applies: bool, why: &str| {
        if applies {
            errors.push(FieldError::new(ErrorType::Invalid, "status.conditions", BadValue::Omitted, why));
        }
    };
    refuse(
        (turned("Complete") || turned("Failed")) && has("Complete") && has("Failed"),
        "cannot set Complete=True and Failed=true conditions",
    );
    refuse(
        (turned("Complete") || turned("FailureTarget")) && has("Complete") && has("FailureTarget"),
        "cannot set Complete=True and FailureTarget=true conditions",
    );
    let completed = text_at(object, &["status", "completionTime"]).to_owned();
    let started = text_at(object, &["status", "startTime"]).to_owned();
    let at = "status.completionTime";
    let time_matters = changed("completionTime") || turned("Complete");
    if time_matters && !completed.is_empty() && !has("Complete") {
        let why = "cannot set completionTime when there is no Complete=True condition";
        errors.push(FieldError::invalid(at, completed.as_str(), why));
    }
    if time_matters && completed.is_empty() && has("Complete") {
        errors.push(FieldError::required(at, "completionTime is required for Complete jobs"));
    }
    if (changed("startTime") || changed("completionTime"))
        && !started.is_empty()
        && !completed.is_empty()
        && completed < started
    {
        errors.push(FieldError::invalid(at, completed.as_str(), "must be equal to or after `startTime`"));
    }
    let mut refuse = |applies: bool, why: &str| {
        if applies {
            errors.push(FieldError::new(ErrorType::Invalid, "status.conditions", BadValue::Omitted, why));
        }
    };
    refuse(
        (turned("Failed") || changed("failedIndexes")) && has("Failed") && !has("FailureTarget"),
        "cannot set Failed=True condition without the FailureTarget=true condition",
    );
    refuse(
        (turned("Complete") || turned("SuccessCriteriaMet")) && has("Complete") && !has("SuccessCriteriaMet"),
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
    let (ready, active) = (int_at(object, &["status", "ready"]), int_at(object, &["status", "active"]));
    if (ended || changed("active")) && finished && active > 0 {
        errors.push(FieldError::invalid("status.active", active, "active>0 is invalid for finished job"));
    }
    let idle = bool_at(object, &["spec", "suspend"]) && int_at(object, &["spec", "completions"]) == 0;
    if (ended || changed("startTime")) && finished && started.is_empty() && !idle {
        errors.push(FieldError::required("status.startTime", "startTime is required for finished job"));
    }
    let waiting = object.at(&["status", "uncountedTerminatedPods"]);
    let lists = waiting.map(|waiting| [items(waiting, "succeeded"), items(waiting, "failed")]);
    let is_waiting = lists.is_some_and(|lists| lists.iter().any(|list| !list.is_empty()));
    if (ended || changed("uncountedTerminatedPods")) && finished && is_waiting {
        let show = |key: &str| {
            let list = waiting.and_then(|waiting| waiting.get(key)).unwrap_or(&Value::Null);
            pleach_json::to_string(list)
        };
        let shown = format!("{{\"Succeeded\":{},\"Failed\":{}}}", show("succeeded"), show("failed"));
        errors.push(FieldError::invalid(
            "status.uncountedTerminatedPods",
            BadValue::Raw(shown),
            "must be empty for finished job",
        ));
    }
    index_lists(object, changed("completedIndexes"), changed("failedIndexes"), errors);
    let terminating = int_at(object, &["status", "terminating"]);
    if (ended || changed("terminating")) && finished && terminating > 0 {
        let why = "terminating>0 is invalid for finished job";
        errors.push(FieldError::invalid("status.terminating", terminating, why));
    }
    if (changed("ready") || changed("active")) && ready > active {
        errors.push(FieldError::invalid("status.ready", ready, "cannot set more ready pods than active"));
    }
    let mut refuse = |applies: bool, why: &str| {
        if applies {
            errors.push(FieldError::new(ErrorType::Invalid, "status.conditions", BadValue::Omitted, why));
        }
    };
    refuse(
        has("SuccessCriteriaMet") && has("Failed"),
        "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    );
    refuse(
        has("SuccessCriteriaMet") && has("FailureTarget"),
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    );
    for kind in ["Failed", "Complete", "FailureTarget"] {
        refuse(
            has_condition(old, kind) && !has(kind),
            &format!("cannot disable the terminal {kind}=True condition"),
        );
    }
    let indexed = text_at(object, &["spec", "completionMode"]) == "Indexed";
    let scales = indexed && object.at(&["spec", "completions"]) == object.at(&["spec", "parallelism"]);
    for (field, fixed) in [("failed", true), ("succeeded", !scales)] {
        let (new, was) = (int_at(object, &["status", field]), int_at(old, &["status", field]));
        if fixed && new < was {
            let why = format!("cannot decrease the {field} counter");
            errors.push(FieldError::invalid(format!("status.{field}"), new, why));
        }
    }
    if changed("completionTime") && !completed.is_empty() && old.at(&["status", "completionTime"]).is_some() {
        errors.push(FieldError::invalid(at, completed.as_str(), "field is immutable"));
    }
    let resumes = has_condition(old, "Suspended") && !has("Suspended");
    if changed("startTime")
        && !resumes
        && old.at(&["status", "startTime"]).is_some()
        && !bool_at(object, &["spec", "suspend"])
    {
        let value = object.at(&["status", "startTime"]).cloned().unwrap_or_default();
        let why = "field is immutable for unsuspended job once set";
        errors.push(FieldError::invalid("status.startTime", value, why));
    }
    let mut refuse = |applies: bool, why: &str| {
        if applies {
            errors.push(FieldError::new(ErrorType::Invalid, "status.conditions", BadValue::Omitted, why));
        }
    };
    refuse(
        has_condition(old, "SuccessCriteriaMet") && !has("SuccessCriteriaMet"),
        "cannot disable the SuccessCriteriaMet=True condition",
    );
    refuse(
        has_condition(old, "Complete") && turned("SuccessCriteriaMet") && has("SuccessCriteriaMet"),
        "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
    );
}

/// Pods that ended and are not counted yet: each once.
fn uncounted(object: &Value, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        let uids = object.at(&["status", "uncountedTerminatedPods"]).map(|all| items(all, list));
        for (i, uid) in uids.unwrap_or_default().iter().enumerate() {
            let path = format!("status.uncountedTerminatedPods.{list}[{i}]");
            match uid.as_str().unwrap_or_default() {
                "" => errors.push(FieldError::invalid(path, "", "must not be empty")),
                uid if !seen.insert(uid.to_owned()) => errors.push(FieldError::duplicate(path, uid)),
                _ => {}
            }
        }
    }
}

/// Indexes that completed and failed.
fn index_lists(object: &Value, completed_changed: bool, failed_changed: bool, errors: &mut Errors) {
    let completed = text_at(object, &["status", "completedIndexes"]);
    let failed = object.at(&["status", "failedIndexes"]).and_then(Value::as_str);
    let completions = object.at(&["spec", "completions"]).and_then(Value::as_int);
    let limited = object.at(&["spec", "backoffLimitPerIndex"]).is_some();
    let (of_completed, of_failed) = ("status.completedIndexes", "status.failedIndexes");
    if let Some(completions) = completions.filter(|_| completed_changed)
        && let Err(why) = indexes::total(completed, completions)
    {
        let why = format!("error parsing completedIndexes: {why}");
        errors.push(FieldError::invalid(of_completed, completed, why));
    }
    if let (Some(completions), Some(failed), true) = (completions, failed, failed_changed && limited)
        && let Err(why) = indexes::total(failed, completions)
    {
        errors.push(FieldError::invalid(of_failed, failed, format!("error parsing failedIndexes: {why}")));
    }
    let indexed = text_at(object, &["spec", "completionMode"]) == "Indexed";
    if completed_changed && !completed.is_empty() && !indexed {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(FieldError::invalid(of_completed, completed, why));
    }
    let Some(failed) = failed else { return };
    if failed_changed && !limited {
        let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(FieldError::invalid(of_failed, failed, why));
    }
    if completed_changed || failed_changed {
        let common = completions.and_then(|completions| indexes::overlap(completed, failed, completions));
        let why = common.map(|index| format!("failedIndexes and completedIndexes overlap at index: {index}"));
        errors.extend(why.map(|why| FieldError::invalid(of_failed, failed, why)));
    }
}
