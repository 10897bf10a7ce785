//! Validation of environment variables and of where their values come from.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::ErrorType;
use pleach_meta::names::check_qualified_name;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, text, text_at};

/// Fields of a Pod that variables can have.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields of a Pod that have a name, but no variable can have.
const OTHER_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"];
/// Fields of a Pod that files of a volume can have.
pub(super) const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const BYTES: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// A name of a variable, or the beginning of names.
fn name(name: &str, path: &str, errors: &mut Errors) {
    if !name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        errors.push(FieldError::invalid(path, name, why));
    }
}

/// `env` of a container.
pub(super) fn env(container: &Value, volumes: &HashSet<&str>, path: &str, errors: &mut Errors) {
    for (i, variable) in items(container, "env").iter().enumerate() {
        let path = format!("{path}.env[{i}]");
        match text(variable, "name") {
            "" => errors.push(FieldError::required(format!("{path}.name"), "")),
            given => name(given, &format!("{path}.name"), errors),
        }
        if let Some(source) = variable.get("valueFrom") {
            let path = format!("{path}.valueFrom");
            value_from(source, !text(variable, "value").is_empty(), &path, errors);
            let volume = text_at(source, &["fileKeyRef", "volumeName"]);
            if !volume.is_empty() && !volumes.contains(volume) {
                let path = format!("{path}.fileKeyRef.volumeName");
                errors.push(FieldError::new(ErrorType::NotFound, path, volume, ""));
            }
        }
    }
}

/// `envFrom` of a container.
pub(super) fn env_from(container: &Value, path: &str, errors: &mut Errors) {
    let list = format!("{path}.envFrom");
    for (i, source) in items(container, "envFrom").iter().enumerate() {
        let path = format!("{list}[{i}]");
        name(text(source, "prefix"), &format!("{path}.prefix"), errors);
        let mut count = 0;
        for kind in ["configMapRef", "secretRef"] {
            let Some(reference) = source.get(kind) else { continue };
            count += 1;
            let path = format!("{path}.{kind}.name");
            match text(reference, "name") {
                "" => errors.push(FieldError::required(path, "")),
                // The beginning of a name would do.
                given => checks::dns_subdomain(given.strip_suffix('-').unwrap_or(given), &path, errors),
            }
        }
        let why = match count {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(FieldError::invalid(list.as_str(), "", why));
    }
}

fn value_from(source: &Value, has_value: bool, path: &str, errors: &mut Errors) {
    let mut count = 0;
    for kind in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let Some(reference) = source.get(kind) else { continue };
        count += 1;
        let path = format!("{path}.{kind}");
        match kind {
            "fieldRef" => field_ref(reference, &path, &FIELDS, errors),
            "resourceFieldRef" => resource_ref(reference, &path, false, errors),
            "fileKeyRef" => file_ref(reference, &path, errors),
            _ => {
                checks::dns_subdomain(text(reference, "name"), &format!("{path}.name"), errors);
                let key = text(reference, "key");
                if key.is_empty() {
                    errors.push(FieldError::required(format!("{path}.key"), ""));
                } else {
                    let wrong = crate::kinds::keyed_data::key_errors(key).into_iter();
                    errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.key"), key, why)));
                }
            }
        }
    }
    let why = match count {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if has_value => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, "", why));
}

/// `metadata.labels['key']` as its field and key.
fn subscripted(path: &str) -> Option<(&str, &str)> {
    let (field, key) = path.strip_suffix("']")?.split_once("['")?;
    (!field.is_empty()).then_some((field, key))
}

/// A reference to a field of the Pod, one of those given.
pub(super) fn field_ref(reference: &Value, path: &str, fields: &[&str], errors: &mut Errors) {
    let (version, field) = (text(reference, "apiVersion"), text(reference, "fieldPath"));
    let at = format!("{path}.fieldPath");
    let unconvertible =
        |why: String| FieldError::invalid(at.as_str(), field, format!("error converting fieldPath: {why}"));
    if version.is_empty() {
        errors.push(FieldError::required(format!("{path}.apiVersion"), ""));
    } else if field.is_empty() {
        errors.push(FieldError::required(at.as_str(), ""));
    } else if version != "v1" {
        errors.push(unconvertible(format!("unsupported pod version: {version}")));
    } else if let Some((of, key)) = subscripted(field) {
        let key = match of {
            "metadata.annotations" => key.to_lowercase(),
            "metadata.labels" => key.to_owned(),
            _ => {
                errors.push(unconvertible(format!("field label does not support subscript: {field}")));
                return;
            }
        };
        let wrong = check_qualified_name(&key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path, key.as_str(), why)));
    } else {
        let known = if field == "spec.host" { "spec.nodeName" } else { field };
        if !FIELDS.contains(&known) && !OTHER_FIELDS.contains(&known) {
            errors.push(unconvertible(format!("field label not supported: {field}")));
        } else {
            checks::one_of(known, &at, fields, errors);
        }
    }
}

/// A reference to a resource of a container; files must say of which one.
pub(super) fn resource_ref(reference: &Value, path: &str, of_file: bool, errors: &mut Errors) {
    let resource = text(reference, "resource");
    let is_huge = resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
    if of_file && text(reference, "containerName").is_empty() {
        errors.push(FieldError::required(format!("{path}.containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(format!("{path}.resource"), ""));
    } else if !is_huge {
        checks::one_of(resource, &format!("{path}.resource"), &RESOURCES, errors);
    }
    let divisor = text(reference, "divisor");
    if divisor.trim_start_matches(['0', '.']).is_empty() {
        return;
    }
    let what = match resource.split_once('.').map(|(_, what)| what) {
        Some("cpu") => {
            if !["1m", "1"].contains(&divisor) {
                let why = "only divisor's values 1m and 1 are supported with the cpu resource";
                errors.push(FieldError::invalid(format!("{path}.divisor"), resource, why));
            }
            return;
        }
        Some("memory") => "memory",
        Some("ephemeral-storage") => "local ephemeral storage",
        _ if is_huge => "hugepages",
        _ => return,
    };
    if !BYTES.contains(&divisor) {
        let why =
            format!("only divisor's values {} are supported with the {what} resource", BYTES.join(", "));
        errors.push(FieldError::invalid(format!("{path}.divisor"), resource, why));
    }
}

fn file_ref(reference: &Value, path: &str, errors: &mut Errors) {
    let key = text(reference, "key");
    if key.is_empty() {
        errors.push(FieldError::required(format!("{path}.key"), ""));
    } else {
        name(key, &format!("{path}.key"), errors);
    }
    match text(reference, "volumeName") {
        "" => errors.push(FieldError::required(format!("{path}.volumeName"), "")),
        volume => checks::dns_label(volume, &format!("{path}.volumeName"), errors),
    }
    match text(reference, "path") {
        "" => errors.push(FieldError::required(format!("{path}.path"), "")),
        file if file.split('/').any(|part| part == "..") => {
            errors.push(FieldError::invalid(format!("{path}.path"), file, "must not contain '..'"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn sources_are_checked_one_by_one() {
        for (source, want) in [
            (json!({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}), &[][..]),
            (json!({"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['a']"}}), &[][..]),
            (
                json!({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1k"}}),
                &[
                    "v.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource",
                ][..],
            ),
            (
                json!({"fieldRef": {"apiVersion": "v1", "fieldPath": "x"}}),
                &[
                    "v.fieldRef.fieldPath: Invalid value: \"x\": error converting fieldPath: field label not supported: x",
                ][..],
            ),
            (
                json!({"secretKeyRef": {"name": "s"}, "configMapKeyRef": {"name": "c", "key": "k"}}),
                &[
                    "v.secretKeyRef.key: Required value",
                    "v: Invalid value: \"\": may not have more than one field specified at a time",
                ][..],
            ),
        ] {
            let mut errors = Errors::new();
            value_from(&source, false, "v", &mut errors);
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, want);
        }
    }
}
