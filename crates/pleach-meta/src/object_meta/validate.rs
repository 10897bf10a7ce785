//! Validation of `ObjectMeta`, on create and on update.
//!
//! The metadata has been decoded before, so types are right here. Errors come in the order in which
//! the API server reports them; maps are walked by key.

use std::collections::{HashMap, HashSet};

use pleach_json::{Map, Str, Value};

use super::{OWNER_REFERENCE, OWNER_REFERENCES, ObjectMeta};
use crate::field_error::{BadValue, FieldError, FieldErrors};
use crate::group_version::GroupVersion;
use crate::names::{
    Messages, check_annotation_key, check_dns1123_label, check_dns1123_subdomain, check_label_value,
    check_path_segment_name, check_path_segment_prefix, check_qualified_name, mask_trailing_dash,
};
use crate::path::Path;
use pleach_go::json::GoType;
use pleach_go::strconv::{is_print, quote};

/// Most bytes that all keys and values of the annotations may have together.
pub const TOTAL_ANNOTATION_SIZE_LIMIT: usize = 256 * 1024;
const FIELD_MANAGER_MAX_LENGTH: usize = 128;
const SUBRESOURCE_MAX_LENGTH: usize = 256;

/// Which names an object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A segment of a URL path.
    PathSegment,
    /// A DNS-1123 subdomain.
    Dns1123Subdomain,
    /// A DNS-1123 label.
    Dns1123Label,
}

impl NameRule {
    /// The errors of a name.
    pub fn check(self, name: &str) -> Messages {
        match self {
            Self::PathSegment => check_path_segment_name(name),
            Self::Dns1123Subdomain => check_dns1123_subdomain(name),
            Self::Dns1123Label => check_dns1123_label(name),
        }
    }

    /// The errors of a `generateName`.
    pub fn check_prefix(self, prefix: &str) -> Messages {
        match self {
            Self::PathSegment => check_path_segment_prefix(prefix),
            _ => self.check(&mask_trailing_dash(prefix)),
        }
    }
}

fn push_all(errors: &mut FieldErrors, path: &Path<'_>, value: &str, messages: Messages) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, value, message)));
}

/// The checks of a new object's metadata; an update runs them too.
pub fn validate_object_meta(
    meta: ObjectMeta<'_>,
    namespaced: bool,
    name_rule: NameRule,
    path: &Path<'_>,
) -> Vec<FieldError> {
    validate_object_meta_with(meta, namespaced, &checks(name_rule), path)
}

/// The same beside metadata that is valid: values that the two share are not validated again.
pub fn validate_object_meta_beside(
    meta: ObjectMeta<'_>,
    right: ObjectMeta<'_>,
    namespaced: bool,
    name_rule: NameRule,
    path: &Path<'_>,
) -> Vec<FieldError> {
    validated(meta, right, namespaced, &checks(name_rule), path)
}

fn checks(rule: NameRule) -> impl Fn(&str, bool) -> Messages {
    move |name, prefix| if prefix { rule.check_prefix(name) } else { rule.check(name) }
}

/// The same with another rule for names, whose argument is whether it sees only a prefix, as
/// `generateName` has it.
pub fn validate_object_meta_with(
    meta: ObjectMeta<'_>,
    namespaced: bool,
    check_name: &dyn Fn(&str, bool) -> Messages,
    path: &Path<'_>,
) -> Vec<FieldError> {
    validated(meta, ObjectMeta(None), namespaced, check_name, path)
}

fn validated(
    meta: ObjectMeta<'_>,
    right: ObjectMeta<'_>,
    namespaced: bool,
    check_name: &dyn Fn(&str, bool) -> Messages,
    path: &Path<'_>,
) -> Vec<FieldError> {
    let meta = Checked::beside(meta, right);
    let mut errors = FieldErrors::new();
    let generate_name = text(meta.generate_name);
    if !generate_name.is_empty() {
        push_all(&mut errors, &path.child("generateName"), generate_name, check_name(generate_name, true));
    }
    let name = text(meta.name);
    if name.is_empty() {
        errors.push(FieldError::required(path.child("name"), "name or generateName is required"));
    } else {
        push_all(&mut errors, &path.child("name"), name, check_name(name, false));
    }
    let namespace = text(meta.namespace);
    if namespaced {
        if namespace.is_empty() {
            errors.push(FieldError::required(path.child("namespace"), ""));
        } else {
            push_all(&mut errors, &path.child("namespace"), namespace, check_dns1123_label(namespace));
        }
    } else if !namespace.is_empty() {
        errors.push(FieldError::forbidden(path.child("namespace"), "not allowed on this type"));
    }
    let generation = int(meta.generation);
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.child("generation"), generation, detail));
    }
    validate_labels(meta.labels, &path.child("labels"), &mut errors);
    validate_annotations(meta.annotations, &path.child("annotations"), &mut errors);
    validate_owner_references(meta.owner_references, &path.child("ownerReferences"), &mut errors);
    validate_finalizers(meta.finalizers, &path.child("finalizers"), &mut errors);
    validate_managed_fields(meta.managed_fields, &path.child("managedFields"), &mut errors);
    errors.into()
}

/// The fields that are checked, found in one walk.
#[derive(Default)]
struct Checked<'a> {
    annotations: Option<&'a Value>,
    creation_timestamp: Option<&'a Value>,
    deletion_grace_period_seconds: Option<&'a Value>,
    deletion_timestamp: Option<&'a Value>,
    finalizers: Option<&'a Value>,
    generate_name: Option<&'a Value>,
    generation: Option<&'a Value>,
    labels: Option<&'a Value>,
    managed_fields: Option<&'a Value>,
    name: Option<&'a Value>,
    namespace: Option<&'a Value>,
    owner_references: Option<&'a Value>,
    resource_version: Option<&'a Value>,
    uid: Option<&'a Value>,
}

impl<'a> Checked<'a> {
    fn of(meta: ObjectMeta<'a>) -> Self {
        Self::beside(meta, ObjectMeta(None))
    }

    /// Without the containers that are shared with other metadata.
    fn beside(meta: ObjectMeta<'a>, other: ObjectMeta<'_>) -> Self {
        let mut fields = Self::default();
        let mut others = other.0.map(Map::ascending);
        for (key, value) in meta.0.into_iter().flatten() {
            if value.is_container()
                && let Some(other) = others.as_mut().and_then(|others| others.next(key))
                && other.is_same(value)
            {
                continue;
            }
            let field = match key.as_str() {
                "annotations" => &mut fields.annotations,
                "creationTimestamp" => &mut fields.creation_timestamp,
                "deletionGracePeriodSeconds" => &mut fields.deletion_grace_period_seconds,
                "deletionTimestamp" => &mut fields.deletion_timestamp,
                "finalizers" => &mut fields.finalizers,
                "generateName" => &mut fields.generate_name,
                "generation" => &mut fields.generation,
                "labels" => &mut fields.labels,
                "managedFields" => &mut fields.managed_fields,
                "name" => &mut fields.name,
                "namespace" => &mut fields.namespace,
                "ownerReferences" => &mut fields.owner_references,
                "resourceVersion" => &mut fields.resource_version,
                "uid" => &mut fields.uid,
                _ => continue,
            };
            *field = Some(value);
        }
        fields
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn int(value: Option<&Value>) -> i64 {
    value.and_then(Value::as_int).unwrap_or_default()
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&Str, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> + Clone {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// The checks of a changed object's metadata against what it was.
pub fn validate_object_meta_update(
    new: ObjectMeta<'_>,
    old: ObjectMeta<'_>,
    path: &Path<'_>,
) -> Vec<FieldError> {
    // Stored values were validated when they were written.
    let (new, old) = (Checked::beside(new, old), Checked::of(old));
    let mut errors = FieldErrors::new();
    if old.deletion_timestamp.is_some_and(|time| !time.is_null()) {
        let known: HashSet<&str> = items(old.finalizers).filter_map(Value::as_str).collect();
        let mut added: Vec<&str> = items(new.finalizers)
            .filter_map(Value::as_str)
            .filter(|finalizer| !known.contains(finalizer))
            .collect();
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
    if text(new.resource_version).is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(path.child("resourceVersion"), "", detail));
    }
    if int(new.generation) < int(old.generation) {
        let detail = "must not be decremented";
        errors.push(FieldError::invalid(path.child("generation"), int(new.generation), detail));
    }
    for (key, new, old) in
        [("name", new.name, old.name), ("namespace", new.namespace, old.namespace), ("uid", new.uid, old.uid)]
    {
        if text(new) != text(old) {
            errors.push(immutable(&path.child(key), Value::from(text(new))));
        }
    }
    for (key, new, old) in [
        ("creationTimestamp", new.creation_timestamp, old.creation_timestamp),
        ("deletionTimestamp", new.deletion_timestamp, old.deletion_timestamp),
        ("deletionGracePeriodSeconds", new.deletion_grace_period_seconds, old.deletion_grace_period_seconds),
    ] {
        if new != old {
            errors.push(immutable(&path.child(key), new.cloned().unwrap_or_default()));
        }
    }
    validate_labels(new.labels, &path.child("labels"), &mut errors);
    validate_annotations(new.annotations, &path.child("annotations"), &mut errors);
    validate_owner_references(new.owner_references, &path.child("ownerReferences"), &mut errors);
    validate_managed_fields(new.managed_fields, &path.child("managedFields"), &mut errors);
    errors.into()
}

/// A value that may not change. Times are printed as JSON prints them.
pub(crate) fn immutable(path: &Path<'_>, value: impl Into<BadValue>) -> FieldError {
    FieldError::invalid(path, value, "field is immutable")
}

/// The errors of labels.
pub fn validate_labels(labels: Option<&Value>, path: &Path<'_>, errors: &mut FieldErrors) {
    for (key, value) in members(labels) {
        if errors.is_full() {
            return;
        }
        let value = value.as_str().unwrap_or_default();
        push_all(errors, path, key, check_qualified_name(key));
        push_all(errors, path, value, check_label_value(value));
    }
}

/// The errors of annotations.
pub fn validate_annotations(annotations: Option<&Value>, path: &Path<'_>, errors: &mut FieldErrors) {
    let mut size = 0;
    for (key, value) in members(annotations) {
        push_all(errors, path, key, check_annotation_key(key));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > TOTAL_ANNOTATION_SIZE_LIMIT {
        errors.push(FieldError::too_long(path, TOTAL_ANNOTATION_SIZE_LIMIT as i64));
    }
}

fn validate_owner_references(references: Option<&Value>, path: &Path<'_>, errors: &mut FieldErrors) {
    let mut controller: Option<(&str, &str)> = None;
    for reference in items(references) {
        if errors.is_full() {
            return;
        }
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
                let all = references.unwrap_or(&Value::Null);
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

fn validate_finalizers(finalizers: Option<&Value>, path: &Path<'_>, errors: &mut FieldErrors) {
    let (mut orphan, mut foreground) = (false, false);
    for finalizer in items(finalizers).filter_map(Value::as_str) {
        if errors.is_full() {
            return;
        }
        push_all(errors, path, finalizer, check_qualified_name(finalizer));
        orphan |= finalizer == "orphan";
        foreground |= finalizer == "foregroundDeletion";
    }
    if orphan && foreground {
        let all = finalizers.cloned().unwrap_or_default();
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, all, detail));
    }
}

fn validate_managed_fields(managed_fields: Option<&Value>, path: &Path<'_>, errors: &mut FieldErrors) {
    for (i, entry) in items(managed_fields).enumerate() {
        if errors.is_full() {
            return;
        }
        let path = path.index(i);
        let (mut operation, mut fields_type, mut manager, mut subresource) = ("", "", "", "");
        for (key, value) in members(Some(entry)) {
            let field = match key.as_str() {
                "operation" => &mut operation,
                "fieldsType" => &mut fields_type,
                "manager" => &mut manager,
                "subresource" => &mut subresource,
                _ => continue,
            };
            *field = value.as_str().unwrap_or_default();
        }
        if !matches!(operation, "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(path.child("operation"), operation, detail));
        }
        if !matches!(fields_type, "" | "FieldsV1") {
            let detail = "must be `FieldsV1`";
            errors.push(FieldError::invalid(path.child("fieldsType"), fields_type, detail));
        }
        errors.extend(validate_field_manager(manager, &path.child("manager")));
        if subresource.len() > SUBRESOURCE_MAX_LENGTH {
            errors.push(FieldError::too_long(path.child("subresource"), SUBRESOURCE_MAX_LENGTH as i64));
        }
    }
}

/// The rule for a field manager's name, in `managedFields` and in a request.
pub fn validate_field_manager(manager: &str, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = FieldErrors::new();
    if manager.len() > FIELD_MANAGER_MAX_LENGTH {
        errors.push(FieldError::too_long(path, FIELD_MANAGER_MAX_LENGTH as i64));
    }
    if manager.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return errors.into();
    }
    for (at, c) in manager.char_indices().filter(|(_, c)| !is_print(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", c as u32);
        if errors.is_full() {
            break;
        }
        errors.push(FieldError::invalid(path, manager, detail));
    }
    errors.into()
}

/// Removes owner references that are there twice; the warning names their uids. `when` is put behind the
/// first clause of the warning.
pub fn dedup_owner_references(metadata: &mut Map, when: &str) -> Option<String> {
    let references = metadata.get("ownerReferences").and_then(Value::as_array)?;
    let repeated = repeated_references(references)?;
    let mut uids: Vec<Str> = Vec::new();
    let mut seen: HashSet<Str> = HashSet::new();
    for &i in &repeated {
        let uid: Str = references[i].get("uid").and_then(Value::as_str).unwrap_or_default().into();
        if seen.insert(uid.clone()) {
            uids.push(uid);
        }
    }
    let references = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut)?;
    let mut repeated = repeated.into_iter().peekable();
    let mut i = 0;
    references.retain(|_| {
        let kept = repeated.next_if_eq(&i).is_none();
        i += 1;
        kept
    });
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and \
         may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        uids.join(", ")
    ))
}

/// Up to this many references are compared pair by pair before anything is hashed.
const FEW_REFERENCES: usize = 8;

/// Where references are that equal an earlier one; `None` if there are none.
fn repeated_references(references: &[Value]) -> Option<Vec<usize>> {
    if references.len() <= FEW_REFERENCES {
        let repeats = |&i: &usize| references[..i].contains(&references[i]);
        let repeated: Vec<usize> = (1..references.len()).filter(repeats).collect();
        return (!repeated.is_empty()).then_some(repeated);
    }
    // What is equal has the same text; `1` and `1.0` have it too, and are compared.
    let mut seen: HashMap<Box<[u8]>, Vec<usize>> = HashMap::new();
    let mut repeated = Vec::new();
    for (i, reference) in references.iter().enumerate() {
        let alike = seen.entry(pleach_json::to_vec(reference).into_boxed_slice()).or_default();
        if alike.iter().any(|&before| references[before] == *reference) {
            repeated.push(i);
        } else {
            alike.push(i);
        }
    }
    (!repeated.is_empty()).then_some(repeated)
}

/// The most warnings about finalizers: the header has room for a few dozen.
const MAX_FINALIZER_WARNINGS: usize = 100;

/// Warnings for finalizers that an object did not have before.
pub fn finalizer_warnings(new: ObjectMeta<'_>, old: Option<ObjectMeta<'_>>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut known: HashSet<&str> = old.into_iter().flat_map(ObjectMeta::finalizers).collect();
    for finalizer in new.finalizers() {
        if warnings.len() >= MAX_FINALIZER_WARNINGS {
            break;
        }
        if !known.insert(finalizer)
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
