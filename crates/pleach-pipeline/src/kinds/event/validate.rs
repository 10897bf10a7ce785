//! Validation of events.
//!
//! Events of the core group without an `eventTime` are legacy events, of which little is required. All others name
//! the reporting controller; those written through `events.k8s.io` change only in their series.

use std::borrow::Cow;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::names::check_qualified_name;
use pleach_meta::object_meta::ObjectMeta;

use super::{CORE, in_core};

/// The longest text of a field, in bytes.
const LONGEST: usize = 128;
/// The longest message.
const LONGEST_MESSAGE: usize = 1024;
/// Fields that `events.k8s.io` no longer has, by their names in the core group.
const DEPRECATED: [&str; 4] = ["firstTimestamp", "lastTimestamp", "count", "source"];
/// Immutable fields, in the order of their validation. One is validated twice.
const IMMUTABLE: [&str; 14] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
];

/// The errors of an event, which replaces `old` if there is one.
pub(super) fn validate(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let is_core = object.get("apiVersion").and_then(Value::as_str) == Some(CORE);
    let event = Event { value: in_core(object), is_core };
    let mut errors = Vec::new();
    event.check_report(&mut errors);
    if is_core {
        return errors;
    }
    match old {
        None => event.check_new(&mut errors),
        Some(old) => event.check_change(&in_core(old), &mut errors),
    }
    errors
}

/// An event with the field names of the core group, and whether it came through that group.
struct Event<'v> {
    value: Cow<'v, Value>,
    is_core: bool,
}

impl Event<'_> {
    fn text(&self, field: &str) -> &str {
        self.value.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// The name of a field in errors.
    fn reported(&self, field: &'static str) -> &'static str {
        if field == "reportingComponent" && !self.is_core { "reportingController" } else { field }
    }

    /// The involved object, the reporting controller, and the lengths of fields.
    fn check_report(&self, errors: &mut Vec<FieldError>) {
        let namespace = ObjectMeta::of(&self.value).namespace();
        let about =
            self.value.at(&["involvedObject", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        let is_old = self.text("eventTime").is_empty();
        let fits = match about {
            "" if is_old => namespace == "default",
            "" => matches!(namespace, "default" | "kube-system"),
            about => !is_old || about == namespace,
        };
        if !fits {
            let why = "does not match event.namespace";
            errors.push(FieldError::invalid("involvedObject.namespace", about, why));
        }
        if is_old {
            return;
        }
        let controller = self.text("reportingComponent");
        let field = self.reported("reportingComponent");
        if controller.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        errors.extend(
            check_qualified_name(controller)
                .iter()
                .map(|why| FieldError::invalid(field, controller, why.clone())),
        );
        for field in ["reportingInstance", "action", "reason"] {
            let text = self.text(field);
            if text.is_empty() {
                errors.push(FieldError::required(field, ""));
            }
            check_length(field, text, LONGEST, errors);
        }
        check_length("message", self.text("message"), LONGEST_MESSAGE, errors);
    }

    fn check_series(&self, errors: &mut Vec<FieldError>) {
        let Some(series) = self.value.get("series").filter(|series| !series.is_null()) else { return };
        if series.get("count").and_then(Value::as_int).unwrap_or_default() < 2 {
            errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        if series.get("lastObservedTime").is_none_or(Value::is_null) {
            errors.push(FieldError::required("series.lastObservedTime", ""));
        }
    }

    fn check_new(&self, errors: &mut Vec<FieldError>) {
        self.check_series(errors);
        if self.text("eventTime").is_empty() {
            errors.push(FieldError::required("eventTime", ""));
        }
        let kind = self.text("type");
        if !matches!(kind, "Normal" | "Warning") {
            errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
        }
        for field in DEPRECATED {
            if in_go(field, self.value.get(field)) != in_go(field, None) {
                errors.push(FieldError::invalid(field, "", "needs to be unset"));
            }
        }
    }

    fn check_change(&self, old: &Value, errors: &mut Vec<FieldError>) {
        if self.value.get("series") != old.get("series") {
            self.check_series(errors);
        }
        for field in IMMUTABLE {
            let (is, was) = (in_go(field, self.value.get(field)), in_go(field, old.get(field)));
            if is != was {
                errors.push(FieldError::invalid(self.reported(field), is, "field is immutable"));
            }
        }
    }
}

fn check_length(field: &str, text: &str, longest: usize, errors: &mut Vec<FieldError>) {
    if text.len() > longest {
        errors.push(FieldError::invalid(field, "", format!("can have at most {longest} characters")));
    }
}

/// A field as upstream's Go type has it, which errors quote.
fn in_go(field: &str, value: Option<&Value>) -> BadValue {
    let text = |key: &str| value.and_then(|value| value.get(key)).and_then(Value::as_str).unwrap_or_default();
    let of = |names: &[(&str, &str)]| {
        let members =
            names.iter().map(|(go, key)| format!("\"{go}\":{}", pleach_json::to_string(&text(key).into())));
        BadValue::Raw(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
    };
    match (field, value.filter(|value| !value.is_null())) {
        ("related" | "eventTime" | "firstTimestamp" | "lastTimestamp", None) => Value::Null.into(),
        ("involvedObject" | "related", _) => of(&[
            ("Kind", "kind"),
            ("Namespace", "namespace"),
            ("Name", "name"),
            ("UID", "uid"),
            ("APIVersion", "apiVersion"),
            ("ResourceVersion", "resourceVersion"),
            ("FieldPath", "fieldPath"),
        ]),
        ("source", _) => of(&[("Component", "component"), ("Host", "host")]),
        ("count", None) => 0.into(),
        (_, None) => "".into(),
        (_, Some(value)) => value.clone().into(),
    }
}
