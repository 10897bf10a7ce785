//! Whether an object may be stored: metadata first, then the schema, then what needs both.
//!
//! The order is the one clients see in a list of causes: type, metadata, schema, scale, embedded
//! resources, list types, rules. An update judges metadata more than once, as upstream does; causes
//! show that, the message does not.

use pleach_json::Value;
use pleach_meta::field_error::ErrorType;
use pleach_meta::object_meta::{
    NameRule, ObjectMeta, finalizer_warnings, validate_object_meta, validate_object_meta_beside,
    validate_object_meta_update,
};
use pleach_meta::{FieldError, Path};
use pleach_schema::Write;

use crate::builtin;
use crate::keyed_data;
use crate::kind::{Kind, Strategy};
use crate::live::Live;
use crate::options::Context;
use crate::target::{Subresource, Target};
use crate::webhooks;

const METADATA: Path<'static> = Path::new("metadata");

/// What is wrong with a new object. What it shares with one that is sound is not looked at by its schema.
pub(crate) fn create(
    target: &Target,
    object: &Value,
    sound: Option<&Value>,
    context: &mut Context,
) -> Vec<FieldError> {
    let kind = &target.kind;
    let namespaced = kind.is_namespaced();
    if kind.strategy == Strategy::CustomResourceDefinition {
        return crate::crd::validate_create(object, kind.gates, context);
    }
    let type_errors = type_meta(target, object);
    if !type_errors.is_empty() {
        return type_errors;
    }
    let rule = name_rule(target);
    let meta = ObjectMeta::of(object);
    let mut before = validate_object_meta(meta, namespaced, rule, &METADATA);
    if kind.strategy == Strategy::WebhookConfiguration {
        before.extend(webhooks::validate(object, None));
        return before;
    }
    let write = sound.map_or(Write::Create, Write::CreateBeside);
    let schema = target.version().schema.get();
    let verdict = schema.validate(object, write, before, |errors| {
        errors.extend(scale_errors(target, object, false));
        errors.extend(keyed_data::validate(kind, object, None));
        errors.extend(builtin::lease::validate(kind, object));
        errors.extend(builtin::events::validate(kind, object, None));
    });
    verdict.warnings.into_iter().for_each(|warning| context.warn(warning));
    let errors = of_interest(kind, verdict.errors);
    // Upstream now asks for a name that fits in a path, which every name that came this far does.
    if errors.is_empty() && kind.strategy == Strategy::Custom {
        finalizer_warnings(meta, None).into_iter().for_each(|w| context.warn(w));
    }
    errors
}

/// What is wrong with an object that shall replace another, and whether it is sound.
pub(crate) fn update(
    target: &Target,
    object: &Value,
    old: &Live,
    context: &mut Context,
) -> (Vec<FieldError>, bool) {
    let kind = &target.kind;
    let (meta, old_meta) = (ObjectMeta::of(object), ObjectMeta::of(old));
    let namespaced = kind.is_namespaced();
    // Nothing is wrong with what is stored.
    let mut errors =
        validate_object_meta_beside(meta, old_meta, namespaced, NameRule::PathSegment, &METADATA);
    let changes = validate_object_meta_update(meta, old_meta, &METADATA);
    errors.extend(changes.iter().cloned());
    if kind.strategy == Strategy::CustomResourceDefinition {
        errors.extend(crate::crd::validate_update(object, old, kind.gates, target.subresource, context));
        return (errors, false);
    }
    let type_errors = type_meta(target, object);
    if !type_errors.is_empty() {
        errors.extend(type_errors);
        return (errors, false);
    }
    errors.extend(changes);
    // Most typed kinds look at all of their metadata once more.
    if matches!(kind.strategy, Strategy::BuiltIn | Strategy::Namespace) && kind.plural != "leases" {
        errors.extend(validate_object_meta_beside(meta, old_meta, namespaced, name_rule(target), &METADATA));
    }
    if kind.strategy == Strategy::WebhookConfiguration {
        errors.extend(webhooks::validate(object, Some(old)));
        return (errors, false);
    }
    let only_status = target.subresource == Subresource::Status;
    let write = if only_status && kind.is_custom() { Write::Status(old) } else { Write::Update(old) };
    let schema = target.version().schema.get();
    let verdict = schema.validate_after(object, write, old.verified.valid, errors, |errors| {
        errors.extend(scale_errors(target, object, only_status));
        errors.extend(keyed_data::validate(kind, object, Some(old)));
        errors.extend(builtin::lease::validate(kind, object));
        errors.extend(builtin::events::validate(kind, object, Some(old)));
    });
    verdict.warnings.into_iter().for_each(|warning| context.warn(warning));
    let errors = of_interest(kind, verdict.errors);
    if errors.is_empty() && kind.strategy == Strategy::Custom && !only_status {
        finalizer_warnings(meta, Some(old_meta)).into_iter().for_each(|w| context.warn(w));
    }
    (errors, verdict.sound)
}

/// Lists of built-in kinds have keys for those who apply; upstream does not insist that they are unique.
fn of_interest(kind: &Kind, mut errors: Vec<FieldError>) -> Vec<FieldError> {
    if !kind.is_custom() {
        errors.retain(|error| error.error_type != ErrorType::Duplicate);
    }
    errors
}

fn scale_errors(target: &Target, object: &Value, only_status: bool) -> impl Iterator<Item = FieldError> {
    target.version().scale.iter().flat_map(move |scale| scale.check(object, only_status))
}

fn name_rule(target: &Target) -> NameRule {
    match target.kind.strategy {
        Strategy::Namespace => NameRule::Dns1123Label,
        _ => NameRule::Dns1123Subdomain,
    }
}

/// The object is of the kind and version of its URL.
fn type_meta(target: &Target, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = text("kind");
    if kind != target.kind.kind {
        errors.push(FieldError::invalid("kind", kind, format!("must be {}", target.kind.kind)));
    }
    let api_version = text("apiVersion");
    if api_version != target.version().api_version {
        errors.push(FieldError::invalid(
            "apiVersion",
            api_version,
            format!("must be {}", target.version().api_version),
        ));
    }
    errors
}
