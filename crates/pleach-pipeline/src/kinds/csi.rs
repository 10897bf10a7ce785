//! Columns of the storage kinds that have no other rules: CSINode, VolumeAttachment, VolumeAttributesClass.

use pleach_json::{Array, Value};

use super::api_kind::Rules;
use crate::columns::{age_text, column, computed};
use crate::kind::{Cell, Column};

/// The rules of CSINodes.
#[derive(Debug)]
pub struct CsiNode;

impl Rules for CsiNode {
    fn columns(&self) -> Vec<Column> {
        let drivers = |object: &Value, _| {
            let drivers = object.at(&["spec", "drivers"]).and_then(Value::as_array);
            Value::from(drivers.map_or(0, |drivers| drivers.len()) as i64)
        };
        vec![computed("Drivers", "integer", drivers), age_text()]
    }
}

/// The rules of VolumeAttachments.
#[derive(Debug)]
pub struct VolumeAttachment;

impl Rules for VolumeAttachment {
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

/// The rules of VolumeAttributesClasses.
#[derive(Debug)]
pub struct VolumeAttributesClass;

impl Rules for VolumeAttributesClass {
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
