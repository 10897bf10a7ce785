//! What may stand in `metadata`, on create and on update.
//!
//! The metadata has been decoded before, so types are right here. Errors come in the order in which
//! the API server reports them; maps are walked by key.

use pleach_json::{Map, Value};

use super::{OWNER_REFERENCE, OWNER_REFERENCES, ObjectMeta};
use crate::field_error::{BadValue, FieldError};
use crate::go_format::{is_print, quote};
use crate::go_struct::GoType;
use crate::group_version::GroupVersion;
use crate::names::{
    Messages, check_annotation_key, check_dns1123_label, check_dns1123_subdomain, check_label_value,
    check_path_segment_name, check_path_segment_prefix, check_qualified_name, mask_trailing_dash,
};
use crate::path::Path;

/// Most bytes that all keys and values of the annotations may have together.
pub const TOTAL_ANNOTATION_SIZE_LIMIT: usize = 256 * 1024;
const FIELD_MANAGER_MAX_LENGTH: usize = 128;
const SUBRESOURCE_MAX_LENGTH: usize = 256;

/// Which names an object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Whatever may stand in a URL path.
    PathSegment,
    /// A DNS-1123 subdomain.
    Dns1123Subdomain,
    /// A DNS-1123 label.
    Dns1123Label,
}

impl NameRule {
    /// What is wrong with a name.
    pub fn check(self, name: &str) -> Messages {
        match self {
            Self::PathSegment => check_path_segment_name(name),
            Self::Dns1123Subdomain => check_dns1123_subdomain(name),
            Self::Dns1123Label => check_dns1123_label(name),
        }
    }

    /// What is wrong with the start of a name, as `generateName` has it.
    pub fn check_prefix(self, prefix: &str) -> Messages {
        match self {
            Self::PathSegment => check_path_segment_prefix(prefix),
            _ => self.check(&mask_trailing_dash(prefix)),
        }
    }
}

fn push_all(errors: &mut Vec<FieldError>, path: &Path<'_>, value: &str, messages: Messages) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, value, message)));
}

/// The checks of a new object's metadata; an update runs them too.
pub fn validate_object_meta(
    meta: ObjectMeta<'_>,
    namespaced: bool,
    name_rule: NameRule,
    path: &Path<'_>,
) -> Vec<FieldError> {
    let check = |name: &str, prefix: bool| {
        if prefix { name_rule.check_prefix(name) } else { name_rule.check(name) }
    };
    validate_object_meta_with(meta, namespaced, &check, path)
}

/// The same with a rule of one's own for names; it is told whether it sees only the start of one, as
/// `generateName` has it.
pub fn validate_object_meta_with(
    meta: ObjectMeta<'_>,
    namespaced: bool,
    check_name: &dyn Fn(&str, bool) -> Messages,
    path: &Path<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !meta.generate_name().is_empty() {
        let messages = check_name(meta.generate_name(), true);
        push_all(&mut errors, &path.child("generateName"), meta.generate_name(), messages);
    }
    if meta.name().is_empty() {
        errors.push(FieldError::required(path.child("name"), "name or generateName is required"));
    } else {
        push_all(&mut errors, &path.child("name"), meta.name(), check_name(meta.name(), false));
    }
    let namespace = path.child("namespace");
    if namespaced {
        if meta.namespace().is_empty() {
            errors.push(FieldError::required(namespace, ""));
        } else {
            push_all(&mut errors, &namespace, meta.namespace(), check_dns1123_label(meta.namespace()));
        }
    } else if !meta.namespace().is_empty() {
        errors.push(FieldError::forbidden(namespace, "not allowed on this type"));
    }
    if meta.generation() < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.child("generation"), meta.generation(), detail));
    }
    validate_labels(meta.labels(), &path.child("labels"), &mut errors);
    validate_annotations(meta.annotations(), &path.child("annotations"), &mut errors);
    validate_owner_references(meta, &path.child("ownerReferences"), &mut errors);
    validate_finalizers(meta, &path.child("finalizers"), &mut errors);
    validate_managed_fields(meta, &path.child("managedFields"), &mut errors);
    errors
}

/// The checks of a changed object's metadata against what it was.
pub fn validate_object_meta_update(
    new: ObjectMeta<'_>,
    old: ObjectMeta<'_>,
    path: &Path<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_terminating() {
        let mut added: Vec<&str> =
            new.finalizers().filter(|f| !old.finalizers().any(|known| known == *f)).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let list: Vec<String> = added.into_iter().map(quote).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            errors.push(FieldError::forbidden(path.child("finalizers"), detail));
        }
    }
    if new.resource_version().is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(path.child("resourceVersion"), "", detail));
    }
    if new.generation() < old.generation() {
        let detail = "must not be decremented";
        errors.push(FieldError::invalid(path.child("generation"), new.generation(), detail));
    }
    for key in ["name", "namespace", "uid"] {
        if new.text(key) != old.text(key) {
            errors.push(immutable(&path.child(key), Value::from(new.text(key))));
        }
    }
    for key in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new.get(key) != old.get(key) {
            errors.push(immutable(&path.child(key), new.get(key).cloned().unwrap_or_default()));
        }
    }
    validate_labels(new.labels(), &path.child("labels"), &mut errors);
    validate_annotations(new.annotations(), &path.child("annotations"), &mut errors);
    validate_owner_references(new, &path.child("ownerReferences"), &mut errors);
    validate_managed_fields(new, &path.child("managedFields"), &mut errors);
    errors
}

/// A value that may not change. Times are printed as JSON prints them.
pub(crate) fn immutable(path: &Path<'_>, value: impl Into<BadValue>) -> FieldError {
    FieldError::invalid(path, value, "field is immutable")
}

fn validate_labels(labels: Option<&Map>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.into_iter().flat_map(Map::iter) {
        let value = value.as_str().unwrap_or_default();
        push_all(errors, path, key, check_qualified_name(key));
        push_all(errors, path, value, check_label_value(value));
    }
}

fn validate_annotations(annotations: Option<&Map>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in annotations.into_iter().flat_map(Map::iter) {
        push_all(errors, path, key, check_annotation_key(key));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > TOTAL_ANNOTATION_SIZE_LIMIT {
        errors.push(FieldError::too_long(path, TOTAL_ANNOTATION_SIZE_LIMIT as i64));
    }
}

fn validate_owner_references(meta: ObjectMeta<'_>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut controller: Option<(&str, &str)> = None;
    for reference in meta.owner_references() {
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
        let group_version = GroupVersion::parse(api_version).unwrap_or_default();
        if group_version.version.is_empty() {
            errors.push(FieldError::invalid(
                path.child("apiVersion"),
                api_version,
                "version must not be empty",
            ));
        }
        for key in ["kind", "name", "uid"] {
            if text(key).is_empty() {
                errors.push(FieldError::invalid(path.child(key), "", "must not be empty"));
            }
        }
        if api_version == "v1" && kind == "Event" {
            let shown = BadValue::Raw(GoType::Struct(&OWNER_REFERENCE).to_json(reference));
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path, shown, detail));
        }
        if reference.get("controller").and_then(Value::as_bool) == Some(true) {
            if let Some((first_kind, first_name)) = controller {
                let all = meta.get("ownerReferences").expect("it has the references that were walked");
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for \
                     {first_kind}/{first_name} and {kind}/{name}"
                );
                errors.push(FieldError::invalid(path, BadValue::Raw(OWNER_REFERENCES.to_json(all)), detail));
            } else {
                controller = Some((kind, name));
            }
        }
    }
}

fn validate_finalizers(meta: ObjectMeta<'_>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let (mut orphan, mut foreground) = (false, false);
    for finalizer in meta.finalizers() {
        push_all(errors, path, finalizer, check_qualified_name(finalizer));
        orphan |= finalizer == "orphan";
        foreground |= finalizer == "foregroundDeletion";
    }
    if orphan && foreground {
        let all = meta.get("finalizers").cloned().unwrap_or_default();
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, all, detail));
    }
}

fn validate_managed_fields(meta: ObjectMeta<'_>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (i, entry) in meta.managed_fields().enumerate() {
        let path = path.index(i);
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(path.child("operation"), text("operation"), detail));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            let detail = "must be `FieldsV1`";
            errors.push(FieldError::invalid(path.child("fieldsType"), text("fieldsType"), detail));
        }
        errors.extend(validate_field_manager(text("manager"), &path.child("manager")));
        if text("subresource").len() > SUBRESOURCE_MAX_LENGTH {
            errors.push(FieldError::too_long(path.child("subresource"), SUBRESOURCE_MAX_LENGTH as i64));
        }
    }
}

/// The rule for a field manager's name, in `managedFields` and in a request.
pub fn validate_field_manager(manager: &str, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > FIELD_MANAGER_MAX_LENGTH {
        errors.push(FieldError::too_long(path, FIELD_MANAGER_MAX_LENGTH as i64));
    }
    for (at, c) in manager.char_indices().filter(|(_, c)| !is_print(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", c as u32);
        errors.push(FieldError::invalid(path, manager, detail));
    }
    errors
}

/// Removes owner references that are there twice; the warning names their uids.
pub fn dedup_owner_references(metadata: &mut Map) -> Option<String> {
    let references = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut)?;
    let mut uids: Vec<String> = Vec::new();
    let mut i = 0;
    while i < references.len() {
        let (before, rest) = references.split_at(i);
        if before.contains(&rest[0]) {
            let uid = rest[0].get("uid").and_then(Value::as_str).unwrap_or_default();
            if !uids.iter().any(|u| u == uid) {
                uids.push(uid.to_owned());
            }
            references.remove(i);
        } else {
            i += 1;
        }
    }
    (!uids.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and \
             may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            uids.join(", ")
        )
    })
}

/// Warnings for finalizers that an object did not have before.
pub fn finalizer_warnings(new: ObjectMeta<'_>, old: Option<ObjectMeta<'_>>) -> Vec<String> {
    let mut warnings = Vec::new();
    for finalizer in new.finalizers() {
        let known = old.is_some_and(|old| old.finalizers().any(|f| f == finalizer));
        if known
            || finalizer.contains('/')
            || matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes")
        {
            continue;
        }
        let path = if finalizer.contains('.') { "including a path (/) " } else { "" };
        warnings.push(format!(
            "metadata.finalizers: {}: prefer a domain-qualified finalizer name {path}to avoid accidental \
             conflicts with other finalizer writers",
            quote(finalizer)
        ));
    }
    warnings
}
