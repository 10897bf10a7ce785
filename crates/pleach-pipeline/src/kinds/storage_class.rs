//! StorageClasses and CSIDrivers.

use std::collections::{BTreeMap, BTreeSet};

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::names::check_qualified_name;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{bool_at, default_absent_to, default_to, items, member, search, text};
use crate::kinds::{checks, csi};

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
            default_absent_to(members, "volumeBindingMode", "Immediate");
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(old) = old {
            for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                checks::immutable(object.get(field), old.get(field), field, &mut errors);
            }
        }
        csi::provisioner(text(object, "provisioner"), "provisioner", &mut errors);
        csi::parameters(object.get("parameters"), true, &mut errors);
        checks::one_of(text(object, "reclaimPolicy"), "reclaimPolicy", &["Delete", "Retain"], &mut errors);
        checks::one_of(
            text(object, "volumeBindingMode"),
            "volumeBindingMode",
            &["Immediate", "WaitForFirstConsumer"],
            &mut errors,
        );
        let topologies = items(object, "allowedTopologies");
        for (i, topology) in topologies.iter().enumerate() {
            let same = |other: &Value| same_topology(other, topology);
            // The list of terms upstream compares with begins with one without expressions.
            let is_empty = items(topology, "matchLabelExpressions").is_empty();
            if is_empty || search(&topologies[..i], same).is_some() {
                let path = format!("allowedTopologies[{i}].matchLabelExpressions");
                errors.push(FieldError::duplicate(path, ""));
            }
            for (j, one) in items(topology, "matchLabelExpressions").iter().enumerate() {
                let path = format!("allowedTopologies[{i}].matchLabelExpressions[{j}]");
                if items(one, "values").is_empty() {
                    errors.push(FieldError::required(format!("{path}.values"), ""));
                }
                for (k, value) in items(one, "values").iter().enumerate() {
                    if search(&items(one, "values")[..k], |other| other == value).is_some() {
                        errors.push(FieldError::duplicate(format!("{path}.values[{k}]"), value.clone()));
                    }
                }
                let key = text(one, "key");
                let wrong = check_qualified_name(key).into_iter();
                errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.key"), key, why)));
                let others = &items(topology, "matchLabelExpressions")[..j];
                if search(others, |other| text(other, "key") == key).is_some() {
                    errors.push(FieldError::duplicate(format!("{path}.key"), key));
                }
            }
        }
        errors
    }

    fn table_name(&self, object: &Value) -> Option<String> {
        is_default(object).then(|| format!("{} (default)", ObjectMeta::of(object).name()))
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

/// Whether two topologies have the same keys with the same values, in any order.
fn same_topology(one: &Value, other: &Value) -> bool {
    let terms = |topology: &Value| -> BTreeMap<String, BTreeSet<String>> {
        let expressions = items(topology, "matchLabelExpressions").iter();
        let owned = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        expressions
            .map(|one| (text(one, "key").to_owned(), items(one, "values").iter().map(owned).collect()))
            .collect()
    };
    terms(one) == terms(other)
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

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        csi::driver_errors(object, old)
    }

    fn columns(&self) -> Vec<Column> {
        csi::driver_columns()
    }
}
