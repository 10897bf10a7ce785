//! StorageClasses and CSIDrivers.

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::fields::{bool_at, default_to, member, text};

/// The annotation of the class that claims without one get.
pub const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";

/// The API group.
pub const GROUP: &str = "storage.k8s.io";
/// The resource.
pub const PLURAL: &str = "storageclasses";

/// The rules of StorageClasses.
#[derive(Debug)]
pub struct StorageClass;

impl Rules for StorageClass {
    fn default(&self, object: &mut Value) {
        if let Some(members) = object.as_object_mut() {
            default_to(members, "reclaimPolicy", "Delete");
            default_to(members, "volumeBindingMode", "Immediate");
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(old) = old {
            for (field, forbidden) in [("parameters", true), ("provisioner", true), ("reclaimPolicy", true)] {
                if forbidden && object.get(field) != old.get(field) {
                    errors.push(FieldError::forbidden(field, format!("updates to {field} are forbidden.")));
                }
            }
            checks::immutable(
                object.get("volumeBindingMode"),
                old.get("volumeBindingMode"),
                "volumeBindingMode",
                &mut errors,
            );
            return errors;
        }
        if text(object, "provisioner").is_empty() {
            errors.push(FieldError::required("provisioner", ""));
        }
        checks::one_of(text(object, "reclaimPolicy"), "reclaimPolicy", &["Delete", "Retain"], &mut errors);
        checks::one_of(
            text(object, "volumeBindingMode"),
            "volumeBindingMode",
            &["Immediate", "WaitForFirstConsumer"],
            &mut errors,
        );
        errors
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![
            computed("Provisioner", "string", |o, _| text(o, "provisioner").into()),
            computed("ReclaimPolicy", "string", |o, _| text(o, "reclaimPolicy").into()),
            computed("VolumeBindingMode", "string", |o, _| text(o, "volumeBindingMode").into()),
            computed("AllowVolumeExpansion", "string", |o, _| bool_at(o, &["allowVolumeExpansion"]).into()),
        ];
        columns.push(age_text());
        columns
    }
}

/// Whether claims without a class get this one.
pub fn is_default(object: &Value) -> bool {
    ObjectMeta::of(object).annotation(DEFAULT) == Some("true")
}

/// The rules of CSIDrivers.
#[derive(Debug)]
pub struct CsiDriver;

impl Rules for CsiDriver {
    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        for (key, value) in [
            ("attachRequired", json!(true)),
            ("podInfoOnMount", json!(false)),
            ("storageCapacity", json!(false)),
            ("fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
            ("requiresRepublish", json!(false)),
            ("seLinuxMount", json!(false)),
            ("volumeLifecycleModes", json!(["Persistent"])),
        ] {
            default_to(spec, key, value);
        }
    }

    fn columns(&self) -> Vec<Column> {
        super::csi::driver_columns()
    }
}
