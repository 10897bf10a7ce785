//! The storage kinds of CSI: CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment, VolumeAttributesClass.

use std::collections::HashSet;

use pleach_json::{Array, Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::names::check_qualified_name;

use super::api_kind::Rules;
use crate::columns::{age_text, column, computed};
use crate::kind::{Cell, Column};
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, search, text as text_of, text_at};
use crate::kinds::pod::validate::volume::csi_driver_name;

/// The most bytes of the metadata and of an error of an attached volume.
const MOST_BYTES: usize = 256 * 1024;
const MOST_ERROR_BYTES: usize = 1024;
const LONGEST_NODE_ID: usize = 256;

/// `validateProvisioner`: the name of a driver or provisioner.
pub(super) fn provisioner(name: &str, path: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let name = name.to_lowercase();
    let wrong = check_qualified_name(&name).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid(path, name.as_str(), why)));
}

/// `validateParameters`
pub(super) fn parameters(given: Option<&Value>, may_be_empty: bool, errors: &mut Errors) {
    const MOST: usize = 512;
    let (path, given) = ("parameters", given.and_then(Value::as_object));
    let count = given.map_or(0, Map::len);
    if count > MOST {
        errors.push(FieldError::too_long(path, MOST as i64));
        return;
    }
    let mut bytes = 0;
    for (key, value) in given.into_iter().flat_map(Map::iter) {
        if key.is_empty() {
            errors.push(FieldError::invalid(path, "", "field can not be empty."));
        }
        bytes += key.len() + value.as_str().unwrap_or_default().len();
    }
    if bytes > MOST_BYTES {
        errors.push(FieldError::too_long(path, MOST_BYTES as i64));
    }
    if count == 0 && !may_be_empty {
        errors.push(FieldError::required(path, "must contain at least one key/value pair"));
    }
}

/// The errors of a CSIDriver.
pub(super) fn driver_errors(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    checks::one_of_if_set(spec.get("fsGroupPolicy"), "spec.fsGroupPolicy", &policies, &mut errors);
    let mut audiences = HashSet::new();
    for (i, request) in items(spec, "tokenRequests").iter().enumerate() {
        let path = format!("spec.tokenRequests[{i}]");
        let audience = text_of(request, "audience");
        if !audiences.insert(audience) {
            errors.push(FieldError::duplicate(format!("{path}.audience"), audience));
            continue;
        }
        let why = match request.get("expirationSeconds").and_then(Value::as_int) {
            Some(..600) => "may not specify a duration less than 10 minutes",
            Some(4_294_967_297..) => "may not specify a duration larger than 2^32 seconds",
            _ => continue,
        };
        let seconds = request.get("expirationSeconds").cloned().unwrap_or_default();
        errors.push(FieldError::invalid(format!("{path}.expirationSeconds"), seconds, why));
    }
    for mode in items(spec, "volumeLifecycleModes") {
        let mode = mode.as_str().unwrap_or_default();
        checks::one_of(mode, "spec.volumeLifecycleModes", &["Persistent", "Ephemeral"], &mut errors);
    }
    let period = spec.get("nodeAllocatableUpdatePeriodSeconds").and_then(Value::as_int);
    if let Some(seconds) = period.filter(|seconds| *seconds < 10) {
        let why = "must be greater than or equal to 10 seconds";
        errors.push(FieldError::invalid("spec.nodeAllocatableUpdatePeriodSeconds", seconds, why));
    }
    let in_secrets = spec.get("serviceAccountTokenInSecrets").filter(|value| !value.is_null());
    if let Some(value) = in_secrets.filter(|_| items(spec, "tokenRequests").is_empty()) {
        let why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.push(FieldError::invalid("spec.serviceAccountTokenInSecrets", value.clone(), why));
    }
    if let Some(old) = old {
        for (field, shown) in
            [("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")]
        {
            let was = old.at(&["spec", field]);
            checks::immutable(spec.get(field), was, &format!("spec.{shown}"), &mut errors);
        }
    }
    errors
}

/// The rules of CSINodes.
#[derive(Debug)]
pub struct CsiNode;

impl Rules for CsiNode {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let drivers = |object: &Value| object.get("spec").map(|spec| items(spec, "drivers").to_vec());
        let (drivers, before) =
            (drivers(object).unwrap_or_default(), old.and_then(drivers).unwrap_or_default());
        let mut names = HashSet::new();
        for (i, driver) in drivers.iter().enumerate() {
            let (path, name) = (format!("spec.drivers[{i}]"), text_of(driver, "name"));
            csi_driver_name(name, &format!("{path}.name"), &mut errors);
            let (id, at) = (text_of(driver, "nodeID"), format!("{path}.nodeID"));
            if id.is_empty() {
                errors.push(FieldError::required(at, ""));
            } else if id.len() > LONGEST_NODE_ID {
                let why = format!("must be {LONGEST_NODE_ID} characters or less");
                errors.push(FieldError::invalid(at, id, why));
            }
            let count = driver.at(&["allocatable", "count"]);
            checks::non_negative(count, &format!("{path}.allocatable.count"), &mut errors);
            if !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
            let mut keys = HashSet::new();
            for key in items(driver, "topologyKeys").iter().filter_map(Value::as_str) {
                if key.is_empty() {
                    errors.push(FieldError::required(path.as_str(), ""));
                }
                if !keys.insert(key) {
                    errors.push(FieldError::duplicate(path.as_str(), key));
                }
                let wrong = check_qualified_name(key).into_iter();
                errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), key, why)));
            }
        }
        // How much a driver can attach may change, nothing else of it.
        let fixed =
            |driver: &Value| ["name", "nodeID", "topologyKeys"].map(|field| driver.get(field).cloned());
        for was in &before {
            let name = text_of(was, "name");
            if let Some(driver) = search(&drivers, |driver| text_of(driver, "name") == name)
                && fixed(driver) != fixed(was)
            {
                errors.push(FieldError::invalid("spec.drivers", driver.clone(), "field is immutable"));
            }
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        let drivers = |object: &Value, _| {
            let drivers = object.at(&["spec", "drivers"]).and_then(Value::as_array);
            Value::from(drivers.map_or(0, |drivers| drivers.len()) as i64)
        };
        vec![computed("Drivers", "integer", drivers), age_text()]
    }
}

/// The spec of an attachment as Go writes the internal type as JSON.
fn attachment_dump(spec: &Value) -> BadValue {
    let show = |value: Option<&Value>| pleach_json::to_string(value.unwrap_or(&Value::Null));
    BadValue::Raw(format!(
        "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":{}}},\"NodeName\":{}}}",
        show(spec.get("attacher")),
        show(spec.at(&["source", "persistentVolumeName"])),
        show(spec.at(&["source", "inlineVolumeSpec"])),
        show(spec.get("nodeName")),
    ))
}

/// The rules of VolumeAttachments.
#[derive(Debug)]
pub struct VolumeAttachment;

impl Rules for VolumeAttachment {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let attacher = text_of(spec, "attacher");
        if attacher.is_empty() {
            errors.push(FieldError::required("spec.attacher", ""));
        }
        let volume = spec.at(&["source", "persistentVolumeName"]).and_then(Value::as_str);
        let inline = spec.at(&["source", "inlineVolumeSpec"]);
        let why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        match (inline, volume) {
            (None, None) => errors.push(FieldError::required("spec.source", why)),
            (Some(_), Some(_)) => errors.push(FieldError::forbidden("spec.source", why)),
            (None, Some("")) => {
                let why = "must specify non empty persistentVolumeName";
                errors.push(FieldError::required("spec.source.persistentVolumeName", why));
            }
            _ => {}
        }
        checks::dns_subdomain(text_of(spec, "nodeName"), "spec.nodeName", &mut errors);
        attachment_status(object, &mut errors);
        match old {
            None => {
                if !attacher.is_empty() {
                    csi_driver_name(attacher, "spec.attacher", &mut errors);
                }
                if let Some(volume) = volume {
                    checks::dns_subdomain(volume, "spec.source.persistentVolumeName", &mut errors);
                }
            }
            Some(old) => {
                let spec = object.get("spec").unwrap_or(&Value::Null);
                if Some(spec) != old.get("spec") {
                    errors.push(FieldError::invalid("spec", attachment_dump(spec), "field is immutable"));
                }
            }
        }
        errors
    }

    fn validate_subresource(
        &self,
        object: &Value,
        _: &Value,
        _: crate::resource::Subresource,
    ) -> Vec<FieldError> {
        let mut errors = Errors::new();
        attachment_status(object, &mut errors);
        errors
    }

    fn columns(&self) -> Vec<Column> {
        let attached = |object: &Value, _| {
            Value::from(object.at(&["status", "attached"]).and_then(Value::as_bool).unwrap_or_default())
        };
        let mut attacher = text("Attacher", &["spec", "attacher"]);
        attacher.format = "name".into();
        vec![
            attacher,
            text("PV", &["spec", "source", "persistentVolumeName"]),
            text("Node", &["spec", "nodeName"]),
            computed("Attached", "boolean", attached),
            age_text(),
        ]
    }
}

fn attachment_status(object: &Value, errors: &mut Errors) {
    let metadata = object.at(&["status", "attachmentMetadata"]).and_then(Value::as_object);
    let length =
        |(key, value): (&pleach_json::Str, &Value)| key.len() + value.as_str().unwrap_or_default().len();
    if metadata.into_iter().flat_map(Map::iter).map(length).sum::<usize>() > MOST_BYTES {
        errors.push(FieldError::too_long("status.attachmentMetadata", MOST_BYTES as i64));
    }
    for field in ["attachError", "detachError"] {
        let path = format!("status.{field}");
        if text_at(object, &["status", field, "message"]).len() > MOST_ERROR_BYTES {
            errors.push(FieldError::too_long(format!("{path}.message"), MOST_BYTES as i64));
        }
        let code = object.at(&["status", field, "errorCode"]).and_then(Value::as_int);
        if let Some(code) = code.filter(|code| *code < 0) {
            let why = "must be between 0 and 2147483647, inclusive";
            errors.push(FieldError::invalid(format!("{path}.errorCode"), code, why));
        }
    }
}

/// The rules of CSIStorageCapacities.
#[derive(Debug)]
pub struct CsiStorageCapacity;

impl Rules for CsiStorageCapacity {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        if let Some(old) = old {
            for field in ["nodeTopology", "storageClassName"] {
                checks::immutable(object.get(field), old.get(field), field, &mut errors);
            }
            return errors;
        }
        if let Some(topology) = object.get("nodeTopology") {
            checks::selector(topology, "nodeTopology", &mut errors);
        }
        checks::dns_subdomain(text_of(object, "storageClassName"), "storageClassName", &mut errors);
        if let Some(capacity) = object.get("capacity") {
            checks::non_negative_quantity(capacity, "capacity", &mut errors);
        }
        errors
    }
}

/// The rules of VolumeAttributesClasses.
#[derive(Debug)]
pub struct VolumeAttributesClass;

impl Rules for VolumeAttributesClass {
    fn protection_finalizer(&self) -> Option<&'static str> {
        Some("kubernetes.io/vac-protection")
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        if let Some(old) = old {
            for field in ["driverName", "parameters"] {
                if object.get(field) != old.get(field) {
                    let why = format!("updates to {field} are forbidden.");
                    errors.push(FieldError::forbidden(field, why));
                }
            }
        }
        provisioner(text_of(object, "driverName"), "driverName", &mut errors);
        parameters(object.get("parameters"), false, &mut errors);
        errors
    }

    fn revalidates_metadata(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        vec![text("DriverName", &["driverName"]), age_text()]
    }
}

/// The columns of CSIDrivers.
pub(super) fn driver_columns() -> Vec<Column> {
    fn joined<'a>(items: Option<&'a Array>, text: impl Fn(&'a Value) -> Option<&'a str>) -> String {
        items.into_iter().flat_map(|items| items.iter()).filter_map(text).collect::<Vec<_>>().join(",")
    }
    let tokens = |object: &Value, _| {
        let requests = object.at(&["spec", "tokenRequests"]).and_then(Value::as_array);
        match requests {
            Some(requests) if !requests.is_empty() => {
                Value::from(joined(Some(requests), |request| request.get("audience").and_then(Value::as_str)))
            }
            _ => "<unset>".into(),
        }
    };
    let modes = |object: &Value, _| {
        let modes = object.at(&["spec", "volumeLifecycleModes"]).and_then(Value::as_array);
        match joined(modes, Value::as_str) {
            modes if modes.is_empty() => "<none>".into(),
            modes => Value::from(modes),
        }
    };
    vec![
        computed("AttachRequired", "boolean", |object, _| flag(object, "attachRequired", true)),
        computed("PodInfoOnMount", "boolean", |object, _| flag(object, "podInfoOnMount", false)),
        computed("StorageCapacity", "boolean", |object, _| flag(object, "storageCapacity", false)),
        computed("TokenRequests", "string", tokens),
        computed("RequiresRepublish", "boolean", |object, _| flag(object, "requiresRepublish", false)),
        computed("Modes", "string", modes),
        age_text(),
    ]
}

fn flag(object: &Value, field: &str, default: bool) -> Value {
    object.at(&["spec", field]).and_then(Value::as_bool).unwrap_or(default).into()
}

fn text(name: &'static str, path: &'static [&'static str]) -> Column {
    column(name, "string", "", Cell::Text(path))
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn texts(errors: Errors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn drivers_and_their_nodes() {
        let driver = json!({"spec": {
            "fsGroupPolicy": "Some", "volumeLifecycleModes": ["Never"],
            "tokenRequests": [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}],
        }});
        assert_eq!(
            texts(driver_errors(&driver, None)),
            [
                "spec.fsGroupPolicy: Unsupported value: \"Some\": supported values: \"File\", \"None\", \"ReadWriteOnceWithFSType\"",
                "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
                "spec.tokenRequests[1].audience: Duplicate value: \"a\"",
                "spec.volumeLifecycleModes: Unsupported value: \"Never\": supported values: \"Persistent\", \"Ephemeral\"",
            ]
        );
        let node = |id: &str| json!({"spec": {"drivers": [{"name": "a.example.com", "nodeID": (id)}]}});
        assert_eq!(texts(CsiNode.validate(&node(""), None)), ["spec.drivers[0].nodeID: Required value"]);
        let changed = texts(CsiNode.validate(&node("b"), Some(&node("a"))));
        assert_eq!(changed.len(), 1, "{changed:?}");
    }

    #[test]
    fn attachments_have_one_source() {
        let attachment = json!({"spec": {"attacher": "a", "nodeName": "n", "source": {}}});
        assert_eq!(
            texts(VolumeAttachment.validate(&attachment, None)),
            [
                "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"
            ]
        );
    }
}
