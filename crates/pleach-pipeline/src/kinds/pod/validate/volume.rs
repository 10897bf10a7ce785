//! Validation of where volumes come from.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, text};

/// The sources of volumes, in the order they are looked at.
pub(crate) const SOURCES: [&str; 29] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
];

/// The source of a volume.
pub(super) fn source(volume: &Value, path: &str, spec: &Value, errors: &mut Errors) {
    let mut found = 0;
    for kind in SOURCES.iter().chain(&["image"]) {
        let Some(source) = volume.get(kind) else { continue };
        found += 1;
        let path = format!("{path}.{kind}");
        if found > 1 {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            continue;
        }
        one(source, kind, &path, spec, errors);
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

fn one(source: &Value, kind: &str, path: &str, spec: &Value, errors: &mut Errors) {
    match kind {
        "emptyDir" => {
            let negative = |size: &Value| checks::quantity(size).is_some_and(|size| size.sign() < 0);
            if source.get("sizeLimit").is_some_and(negative) {
                let why = "SizeLimit field must be a valid resource quantity";
                errors.push(FieldError::forbidden(format!("{path}.sizeLimit"), why));
            }
        }
        "secret" | "configMap" => {
            required(source, if kind == "secret" { "secretName" } else { "name" }, path, errors);
            mode(source.get("defaultMode"), &format!("{path}.defaultMode"), errors);
            items_of(source, path, errors);
        }
        "downwardAPI" => {
            mode(source.get("defaultMode"), &format!("{path}.defaultMode"), errors);
            downward_items(source, path, errors);
        }
        "projected" => projected(source, path, spec, errors),
        "hostPath" => host_path(source, path, errors),
        "persistentVolumeClaim" => required(source, "claimName", path, errors),
        "ephemeral" => {
            if source.get("volumeClaimTemplate").is_none() {
                errors.push(FieldError::required(format!("{path}.volumeClaimTemplate"), ""));
            }
        }
        _ => external(source, kind, path, errors),
    }
}

/// Sources that PersistentVolumes have too.
pub(crate) fn external(source: &Value, kind: &str, path: &str, errors: &mut Errors) {
    match kind {
        "nfs" => {
            required(source, "server", path, errors);
            required(source, "path", path, errors);
            if !text(source, "path").starts_with('/') {
                let why = "must be an absolute path";
                errors.push(FieldError::invalid(format!("{path}.path"), text(source, "path"), why));
            }
        }
        "gitRepo" => {
            required(source, "repository", path, errors);
            descending(text(source, "directory"), &format!("{path}.directory"), errors);
        }
        "gcePersistentDisk" => required(source, "pdName", path, errors),
        "awsElasticBlockStore" | "cinder" | "portworxVolume" => required(source, "volumeID", path, errors),
        "iscsi" => ["targetPortal", "iqn"].iter().for_each(|field| required(source, field, path, errors)),
        "glusterfs" => ["endpoints", "path"].iter().for_each(|field| required(source, field, path, errors)),
        "rbd" => {
            if items(source, "monitors").is_empty() {
                errors.push(FieldError::required(format!("{path}.monitors"), ""));
            }
            required(source, "image", path, errors);
        }
        "cephfs" if items(source, "monitors").is_empty() => {
            errors.push(FieldError::required(format!("{path}.monitors"), ""));
        }
        "csi" | "flexVolume" => required(source, "driver", path, errors),
        "azureFile" => {
            ["secretName", "shareName"].iter().for_each(|field| required(source, field, path, errors));
        }
        "azureDisk" => ["diskName", "diskURI"].iter().for_each(|field| required(source, field, path, errors)),
        "vsphereVolume" => required(source, "volumePath", path, errors),
        "photonPersistentDisk" => required(source, "pdID", path, errors),
        _ => {}
    }
}

fn required(source: &Value, field: &str, path: &str, errors: &mut Errors) {
    if text(source, field).is_empty() {
        errors.push(FieldError::required(format!("{path}.{field}"), ""));
    }
}

/// A path of the Node.
pub(crate) fn host_path(source: &Value, path: &str, errors: &mut Errors) {
    let target = text(source, "path");
    if target.is_empty() {
        errors.push(FieldError::required(format!("{path}.path"), ""));
        return;
    }
    if target.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(format!("{path}.path"), target, "must not contain '..'"));
    }
    let types =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    checks::one_of(text(source, "type"), &format!("{path}.type"), &types, errors);
}

fn projected(source: &Value, path: &str, spec: &Value, errors: &mut Errors) {
    mode(source.get("defaultMode"), &format!("{path}.defaultMode"), errors);
    for (i, one) in items(source, "sources").iter().enumerate() {
        let path = format!("{path}.sources[{i}]");
        let members = one.as_object().map_or(0, pleach_json::Map::len);
        if members > 1 {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            continue;
        }
        if members == 0 {
            errors.push(FieldError::required(path, "may not be empty"));
            continue;
        }
        for kind in ["secret", "configMap"] {
            if let Some(one) = one.get(kind) {
                let path = format!("{path}.{kind}");
                required(one, "name", &path, errors);
                items_of(one, &path, errors);
            }
        }
        if let Some(one) = one.get("downwardAPI") {
            downward_items(one, &format!("{path}.downwardAPI"), errors);
        }
        if let Some(token) = one.get("serviceAccountToken") {
            let path = format!("{path}.serviceAccountToken");
            if text(spec, "serviceAccountName").is_empty() {
                let why = "must not be specified when serviceAccountName is not set";
                errors.push(FieldError::forbidden(path.as_str(), why));
            }
            let seconds = token.get("expirationSeconds").and_then(Value::as_int).unwrap_or_default();
            let at = format!("{path}.expirationSeconds");
            if seconds < 600 {
                errors.push(FieldError::invalid(
                    at,
                    seconds,
                    "may not specify a duration less than 10 minutes",
                ));
            } else if seconds > 1 << 32 {
                let why = "may not specify a duration larger than 2^32 seconds";
                errors.push(FieldError::invalid(at, seconds, why));
            }
            required(token, "path", &path, errors);
            descending(text(token, "path"), &format!("{path}.path"), errors);
        }
    }
}

fn mode(value: Option<&Value>, path: &str, errors: &mut Errors) {
    if let Some(number) = value.and_then(Value::as_int)
        && !(0..=0o777).contains(&number)
    {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(path, number, why));
    }
}

/// A path that stays below the place it starts from.
pub(super) fn descending(target: &str, path: &str, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    if target.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(path, target, "must not contain '..'"));
    }
}

/// Keys that become files.
fn items_of(source: &Value, path: &str, errors: &mut Errors) {
    for (i, item) in items(source, "items").iter().enumerate() {
        let path = format!("{path}.items[{i}]");
        required(item, "key", &path, errors);
        file(item, &path, errors);
        mode(item.get("mode"), &format!("{path}.mode"), errors);
    }
}

fn file(item: &Value, path: &str, errors: &mut Errors) {
    let target = text(item, "path");
    let path = format!("{path}.path");
    if target.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    descending(target, &path, errors);
    if target.starts_with("..") && !target.starts_with("../") && target != ".." {
        errors.push(FieldError::invalid(path, target, "must not start with '..'"));
    }
}

/// Fields of the Pod that become files.
fn downward_items(source: &Value, path: &str, errors: &mut Errors) {
    for (i, item) in items(source, "items").iter().enumerate() {
        let path = format!("{path}[{i}]");
        file(item, &path, errors);
        match (item.get("fieldRef"), item.get("resourceFieldRef")) {
            (Some(_), Some(_)) => {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path.as_str(), "resource", why));
            }
            (None, None) => {
                let why = "one of fieldRef and resourceFieldRef is required";
                errors.push(FieldError::required(format!("{path}.fieldRef"), why));
            }
            _ => {}
        }
        mode(item.get("mode"), &format!("{path}.mode"), errors);
    }
}
