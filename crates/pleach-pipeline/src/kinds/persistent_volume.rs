//! PersistentVolumes and PersistentVolumeClaims.

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, items, member, object_mut, text, text_at};
use crate::kinds::pod::defaults;
use crate::kinds::pod::validate::volume;
use crate::prepare::copy_member;
use crate::resource::Subresource;
use crate::strategy::Role;

/// The rules of PersistentVolumeClaims.
#[derive(Debug)]
pub struct Claim;

fn modes(modes: Option<&Value>) -> Value {
    let short = |mode: &Value| match mode.as_str() {
        Some("ReadWriteOnce") => "RWO",
        Some("ReadOnlyMany") => "ROX",
        Some("ReadWriteMany") => "RWX",
        Some("ReadWriteOncePod") => "RWOP",
        _ => "",
    };
    let list = modes.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    list.map(short).collect::<Vec<_>>().join(",").into()
}

fn or_unset(text: &str) -> Value {
    if text.is_empty() { "<unset>".into() } else { text.into() }
}

fn phase(object: &Value) -> Value {
    if ObjectMeta::of(object).is_terminating() {
        return "Terminating".into();
    }
    text_at(object, &["status", "phase"]).into()
}

fn class(object: &Value) -> Value {
    match text_at(object, &["metadata", "annotations", "volume.beta.kubernetes.io/storage-class"]) {
        "" => text_at(object, &["spec", "storageClassName"]).into(),
        class => class.into(),
    }
}

const IMMUTABLE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

impl Rules for Claim {
    fn role(&self) -> Role {
        Role::Claim
    }

    fn protection_finalizer(&self) -> Option<&'static str> {
        Some("kubernetes.io/pvc-protection")
    }

    fn has_storage_class(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        default_to(spec, "volumeMode", "Filesystem");
        mirror_data_source(spec);
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            default_to(status, "phase", "Pending");
        }
    }

    fn prepare_for_create(&self, object: &mut Value) {
        member(object, "status").insert("phase", "Pending");
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        claim_spec(object.get("spec").unwrap_or(&Value::Null), "spec", &mut errors);
        if let Some(old) = old {
            let was = old.get("spec").cloned().unwrap_or_default();
            let mut comparable = object.get("spec").cloned().unwrap_or_default();
            if text(&was, "volumeName").is_empty() {
                copy_member(&mut comparable, &was, "volumeName");
            }
            if text_at(old, &["status", "phase"]) == "Bound" {
                copy_member(&mut comparable, &was, "volumeAttributesClassName");
                copy_member(&mut comparable, &was, "resources");
            }
            if comparable != was {
                errors.push(FieldError::forbidden("spec", format!("{IMMUTABLE}\n")));
            }
            let path = ["spec", "resources", "requests", "storage"];
            let new = object.at(&path).and_then(checks::quantity);
            let capacity = old.at(&["status", "capacity", "storage"]).and_then(checks::quantity);
            if new.zip(old.at(&path).and_then(checks::quantity)).is_some_and(|(new, old)| new < old)
                && new.zip(capacity).is_some_and(|(new, capacity)| new < capacity)
            {
                errors.push(FieldError::forbidden(
                    "spec.resources.requests.storage",
                    "field can not be less than status.capacity",
                ));
            }
        }
        errors
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        for which in ["requests", "limits"] {
            let storage = object.at(&["spec", "resources", which, "storage"]);
            if storage.and_then(checks::quantity).is_some_and(|quantity| !quantity.is_whole()) {
                let written = storage.and_then(Value::as_str).unwrap_or_default();
                warnings.push(format!(
                    "spec.resources.{which}[storage]: fractional byte value \"{written}\" is invalid, must be an integer"
                ));
            }
        }
        warnings
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Status", "string", |o, _| phase(o)),
            computed("Volume", "string", |o, _| text_at(o, &["spec", "volumeName"]).into()),
            computed("Capacity", "string", |o, _| {
                if text_at(o, &["spec", "volumeName"]).is_empty() {
                    return "".into();
                }
                text_at(o, &["status", "capacity", "storage"]).into()
            }),
            computed("Access Modes", "string", |o, _| {
                if text_at(o, &["spec", "volumeName"]).is_empty() {
                    return "".into();
                }
                modes(o.at(&["status", "accessModes"]))
            }),
            computed("StorageClass", "string", |o, _| class(o)),
            computed("VolumeAttributesClass", "string", |o, _| {
                or_unset(text_at(o, &["spec", "volumeAttributesClassName"]))
            }),
            age_text(),
            wide(computed("VolumeMode", "string", |o, _| text_at(o, &["spec", "volumeMode"]).into())),
        ]
    }
}

/// Two fields for the source of a claim follow each other.
fn mirror_data_source(spec: &mut Map) {
    let core = |source: &Value| {
        text(source, "apiGroup").is_empty() && text(source, "kind") != "PersistentVolumeClaim"
    };
    if spec.get("dataSource").is_some_and(core) {
        spec.remove("dataSource");
    }
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(source), None) => {
            let mut reference = source;
            if let Some(members) = reference.as_object_mut() {
                members.get_or_insert_with("apiGroup", Value::default);
            }
            spec.insert("dataSourceRef", reference);
        }
        (None, Some(reference)) if reference.get("namespace").is_none() && !core(&reference) => {
            spec.insert("dataSource", reference);
        }
        _ => {}
    }
}

fn supported_modes(spec: &Value, path: &str, errors: &mut Errors) {
    let modes = items(spec, "accessModes");
    for mode in modes {
        let supported = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
        checks::one_of(mode.as_str().unwrap_or_default(), &format!("{path}.accessModes"), &supported, errors);
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode.as_str() == Some("ReadWriteOncePod")) {
        let why = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(format!("{path}.accessModes"), why));
    }
}

/// The spec of a claim, or of the template of one.
pub(super) fn claim_spec(spec: &Value, path: &str, errors: &mut Errors) {
    if items(spec, "accessModes").is_empty() {
        let why = "at least 1 access mode is required";
        errors.push(FieldError::required(format!("{path}.accessModes"), why));
    }
    if let Some(selector) = spec.get("selector") {
        checks::selector(selector, &format!("{path}.selector"), errors);
    }
    supported_modes(spec, path, errors);
    match spec.at(&["resources", "requests", "storage"]) {
        None => errors.push(FieldError::required(format!("{path}.resources[storage]"), "")),
        Some(value) => {
            if !defaults::is_positive(value) {
                errors.push(FieldError::invalid(
                    format!("{path}.resources[storage]"),
                    value.clone(),
                    "must be greater than zero",
                ));
            }
        }
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        checks::dns_subdomain(class, &format!("{path}.storageClassName"), errors);
    }
    checks::one_of_if_set(
        spec.get("volumeMode"),
        &format!("{path}.volumeMode"),
        &["Block", "Filesystem"],
        errors,
    );
    let class = text(spec, "volumeAttributesClassName");
    if !class.is_empty() {
        checks::dns_subdomain(class, &format!("{path}.volumeAttributesClassName"), errors);
    }
}

/// The rules of PersistentVolumes.
#[derive(Debug)]
pub struct Volume;

/// Fields of a volume's spec that do not say where it is.
const NOT_SOURCES: [&str; 9] = [
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

impl Rules for Volume {
    fn protection_finalizer(&self) -> Option<&'static str> {
        Some("kubernetes.io/pv-protection")
    }

    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        default_to(spec, "persistentVolumeReclaimPolicy", "Retain");
        default_to(spec, "volumeMode", "Filesystem");
        if object_mut(spec, "hostPath").is_some() || object_mut(spec, "iscsi").is_some() {
            defaults::volume_source(spec);
        }
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            default_to(status, "phase", "Pending");
        }
    }

    fn prepare_for_create(&self, object: &mut Value) {
        let now = ObjectMeta::of(object).creation_timestamp().unwrap_or_default().to_owned();
        let status = member(object, "status");
        status.insert("phase", "Pending");
        status.insert("lastPhaseTransitionTime", now);
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, _: Subresource) {
        let path = ["status", "lastPhaseTransitionTime"];
        if object.at(&path).is_none()
            && let Some(time) = old.at(&path).cloned()
        {
            member(object, "status").insert("lastPhaseTransitionTime", time);
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        if items(spec, "accessModes").is_empty() {
            errors.push(FieldError::required("spec.accessModes", ""));
        }
        supported_modes(spec, "spec", &mut errors);
        let capacity = spec.get("capacity").and_then(Value::as_object);
        if capacity.is_none_or(Map::is_empty) {
            errors.push(FieldError::required("spec.capacity", ""));
            errors.push(FieldError::not_supported("spec.capacity", Value::Null, &["storage"]));
        } else if let Some(capacity) = capacity {
            if !capacity.contains_key("storage") || capacity.len() > 1 {
                let shown = Value::Object(capacity.clone());
                errors.push(FieldError::not_supported("spec.capacity", shown, &["storage"]));
            }
            for (name, value) in capacity {
                if !defaults::is_positive(value) {
                    errors.push(FieldError::invalid(
                        format!("spec.capacity[{name}]"),
                        value.clone(),
                        "must be greater than zero",
                    ));
                }
            }
        }
        checks::one_of(
            text(spec, "persistentVolumeReclaimPolicy"),
            "spec.persistentVolumeReclaimPolicy",
            &["Delete", "Recycle", "Retain"],
            &mut errors,
        );
        let sources = |spec: &Value| -> Vec<(pleach_json::Str, Value)> {
            let members = spec.as_object().into_iter().flat_map(Map::iter);
            let members = members.filter(|(key, _)| !NOT_SOURCES.contains(&key.as_str()));
            members.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let found = sources(spec);
        if found.is_empty() {
            errors.push(FieldError::required("spec", "must specify a volume type"));
        }
        let reclaim = text(spec, "persistentVolumeReclaimPolicy");
        if let Some((kind, source)) = found.first() {
            let path = format!("spec.{kind}");
            match kind.as_str() {
                "hostPath" => volume::host_path(source, &path, &mut errors),
                "csi" => ["driver", "volumeHandle"]
                    .iter()
                    .filter(|field| text(source, field).is_empty())
                    .for_each(|field| errors.push(FieldError::required(format!("{path}.{field}"), ""))),
                "local" => {
                    if text(source, "path").is_empty() {
                        errors.push(FieldError::required("spec.local.path", ""));
                    }
                    if spec.get("nodeAffinity").is_none() {
                        let why = "Local volume requires node affinity";
                        errors.push(FieldError::required("spec.nodeAffinity", why));
                    }
                }
                kind => volume::external(source, kind, &path, &mut errors),
            }
        }
        if text_at(spec, &["hostPath", "path"]) == "/" && reclaim == "Recycle" {
            errors.push(FieldError::forbidden(
                "spec.persistentVolumeReclaimPolicy",
                "may not be 'recycle' for a hostPath mount of '/'",
            ));
        }
        let class = text(spec, "storageClassName");
        if !class.is_empty() {
            checks::dns_subdomain(class, "spec.storageClassName", &mut errors);
        }
        let modes = ["Block", "Filesystem"];
        checks::one_of_if_set(spec.get("volumeMode"), "spec.volumeMode", &modes, &mut errors);
        for (kind, _) in found.iter().skip(1) {
            errors.push(FieldError::forbidden(
                format!("spec.{kind}"),
                "may not specify more than 1 volume type",
            ));
        }
        if old.is_some() {
            // An update validates the whole volume twice.
            errors.extend(errors.clone());
        }
        if let Some(old) = old
            && sources(old.get("spec").unwrap_or(&Value::Null)) != found
        {
            errors.push(FieldError::forbidden(
                "spec.persistentvolumesource",
                "spec.persistentvolumesource is immutable after creation\n",
            ));
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Capacity", "string", |o, _| text_at(o, &["spec", "capacity", "storage"]).into()),
            computed("Access Modes", "string", |o, _| modes(o.at(&["spec", "accessModes"]))),
            computed("Reclaim Policy", "string", |o, _| {
                text_at(o, &["spec", "persistentVolumeReclaimPolicy"]).into()
            }),
            computed("Status", "string", |o, _| phase(o)),
            computed("Claim", "string", |o, _| match o.at(&["spec", "claimRef"]) {
                Some(claim) => format!("{}/{}", text(claim, "namespace"), text(claim, "name")).into(),
                None => "".into(),
            }),
            computed("StorageClass", "string", |o, _| class(o)),
            computed("VolumeAttributesClass", "string", |o, _| {
                or_unset(text_at(o, &["spec", "volumeAttributesClassName"]))
            }),
            computed("Reason", "string", |o, _| text_at(o, &["status", "reason"]).into()),
            age_text(),
            wide(computed("VolumeMode", "string", |o, _| text_at(o, &["spec", "volumeMode"]).into())),
        ]
    }
}
