//! Validation of the volumes and devices that containers have.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::ErrorType;

use super::container::Context;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, items, search, text};

/// `volumeMounts` of a container.
pub(super) fn mounts(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    let devices = items(container, "volumeDevices");
    let mut paths = HashSet::new();
    let list = format!("{path}.volumeMounts");
    for (i, mount) in items(container, "volumeMounts").iter().enumerate() {
        let path = format!("{list}[{i}]");
        let (name, at) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        if !context.volumes.contains(name) {
            errors.push(FieldError::new(ErrorType::NotFound, format!("{path}.name"), name, ""));
        }
        if at.is_empty() {
            errors.push(FieldError::required(format!("{path}.mountPath"), ""));
        }
        if !paths.insert(at) {
            errors.push(FieldError::invalid(format!("{path}.mountPath"), at, "must be unique"));
        }
        if search(devices, |device| text(device, "name") == name).is_some() {
            let why = "must not already exist in volumeDevices";
            errors.push(FieldError::invalid(format!("{path}.name"), name, why));
        }
        if search(devices, |device| text(device, "devicePath") == at).is_some() {
            let why = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(format!("{path}.mountPath"), at, why));
        }
        let of_image = |volume: &Value| text(volume, "name") == name && volume.get("image").is_some();
        if search(items(context.spec, "volumes"), of_image).is_some() && context.volumes.contains(name) {
            for field in ["subPath", "subPathExpr"] {
                let target = text(mount, field);
                if !target.is_empty() {
                    let why = "not allowed in image volume sources";
                    errors.push(FieldError::invalid(format!("{path}.{field}"), target, why));
                }
            }
        }
        // The paths of these errors have no index upstream.
        for field in ["subPath", "subPathExpr"] {
            let target = text(mount, field);
            if field == "subPathExpr" && !target.is_empty() && !text(mount, "subPath").is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(format!("{path}.subPathExpr"), target, why));
            }
            super::volume::descending(target, &format!("{list}.{field}"), errors);
        }
        propagation(mount, container, &list, errors);
    }
}

fn propagation(mount: &Value, container: &Value, list: &str, errors: &mut Errors) {
    let mode = mount.get("mountPropagation").and_then(Value::as_str);
    if let Some(mode) = mode {
        let path = format!("{list}.mountPropagation");
        checks::one_of(mode, &path, &["Bidirectional", "HostToContainer", "None"], errors);
        if mode == "Bidirectional" && !bool_at(container, &["securityContext", "privileged"]) {
            let why = "Bidirectional mount propagation is available only to privileged containers";
            errors.push(FieldError::forbidden(path, why));
        }
    }
    let path = format!("{list}.recursiveReadOnly");
    match mount.get("recursiveReadOnly").and_then(Value::as_str) {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !bool_at(mount, &["readOnly"]) {
                let why = "may only be specified when readOnly is true";
                errors.push(FieldError::forbidden(path.as_str(), why));
            }
            if mode.is_some_and(|mode| mode != "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(path, why));
            }
        }
        Some(other) => checks::one_of(other, &path, &["Disabled", "Enabled", "IfPossible"], errors),
    }
}

/// `volumeDevices` of a container.
pub(super) fn devices(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    let mounts = items(container, "volumeMounts");
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for (i, device) in items(container, "volumeDevices").iter().enumerate() {
        let (name_path, at_path) =
            (format!("{path}.volumeDevices[{i}].name"), format!("{path}.volumeDevices[{i}].devicePath"));
        let (name, at) = (text(device, "name"), text(device, "devicePath"));
        if name.is_empty() {
            errors.push(FieldError::required(name_path.as_str(), ""));
        }
        if names.contains(name) {
            errors.push(FieldError::invalid(name_path.as_str(), name, "must be unique"));
        }
        if context.volumes.contains(name) {
            let volume = search(items(context.spec, "volumes"), |volume| text(volume, "name") == name);
            let is_claim = |volume: &Value| {
                volume.get("persistentVolumeClaim").is_some() || volume.get("ephemeral").is_some()
            };
            if !volume.is_some_and(is_claim) {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.push(FieldError::invalid(name_path.as_str(), name, why));
            }
        } else {
            errors.push(FieldError::new(ErrorType::NotFound, name_path.as_str(), name, ""));
        }
        if at.is_empty() {
            errors.push(FieldError::required(at_path.as_str(), ""));
        }
        if paths.contains(at) {
            errors.push(FieldError::invalid(at_path.as_str(), at, "must be unique"));
        }
        if at.split('/').any(|part| part == "..") {
            errors.push(FieldError::invalid(at_path.as_str(), at, "can not contain backsteps ('..')"));
        } else {
            paths.insert(at);
        }
        if search(mounts, |mount| text(mount, "name") == name).is_some() {
            let why = "must not already exist in volumeMounts";
            errors.push(FieldError::invalid(name_path.as_str(), name, why));
        }
        if search(mounts, |mount| text(mount, "mountPath") == at).is_some() {
            let why = "must not already exist as a path in volumeMounts";
            errors.push(FieldError::invalid(at_path, at, why));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}
