//! PersistentVolumes and PersistentVolumeClaims.

mod data_source;
#[cfg(test)]
mod tests;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, items, member, object_mut, text, text_at};
use crate::kinds::pod::defaults;
use crate::kinds::pod::validate::{self as pods, volume};
use crate::prepare::copy_member;
use crate::resource::Subresource;
use crate::strategy::{Role, Stamp};

/// The rules of PersistentVolumeClaims.
#[derive(Debug)]
pub struct Claim;

fn modes(modes: Option<&Value>) -> Value {
    let list = modes.and_then(Value::as_array).map_or(&[][..], |list| &list[..]);
    let has = |mode: &str| list.iter().any(|one| one.as_str() == Some(mode));
    let all = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    all.into_iter().filter(|(mode, _)| has(mode)).map(|(_, short)| short).collect::<Vec<_>>().join(",").into()
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
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            default_to(status, "phase", "Pending");
        }
    }

    fn prepare_for_create(&self, object: &mut Value) {
        member(object, "status").insert("phase", "Pending");
        let spec = member(object, "spec");
        data_source::drop_unknown(spec, &Value::Null);
        data_source::mirror(spec);
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        let spec = member(object, "spec");
        data_source::drop_unknown(spec, old.get("spec").unwrap_or(&Value::Null));
        data_source::mirror(spec);
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        // References of a stored claim that are invalid already stay allowed.
        let refers = |source: &str| {
            old.is_some_and(|old| old.at(&["spec", source, "apiGroup"]).is_some_and(|group| !group.is_null()))
        };
        let checks_groups = !refers("dataSource") && !refers("dataSourceRef");
        any_claim_spec(spec, "spec", checks_groups, &mut errors);
        if let Some(old) = old {
            // An update validates the whole claim twice.
            errors.extend(errors.clone());
            claim_update(object, old, &mut errors);
        }
        errors
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let status = object.get("status").unwrap_or(&Value::Null);
        let list = |key: &str| status.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter);
        for (name, quantity) in list("capacity") {
            valid_quantity(quantity, &format!("status.capacity[{name}]"), &mut errors);
        }
        for (name, state) in list("allocatedResourceStatuses") {
            let path = "status.allocatedResourceStatuses";
            claim_resource(name, path, &mut errors);
            if !state.as_str().is_some_and(|state| RESIZE_STATES.contains(&state)) {
                errors.push(FieldError::not_supported(path, name.as_str(), &RESIZE_STATES));
            }
        }
        for (name, quantity) in list("allocatedResources") {
            let before = errors.len();
            claim_resource(name, "status.allocatedResources", &mut errors);
            if errors.len() == before {
                valid_quantity(quantity, &format!("status.allocatedResources[{name}]"), &mut errors);
            }
        }
        errors
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        class_annotation(object, &mut warnings);
        if let Some(spec) = object.get("spec") {
            claim_warnings(spec, "spec", &mut warnings);
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

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
/// Sources of volumes that may have mount options in an annotation.
const MOUNT_OPTIONS: [&str; 13] = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "gcePersistentDisk",
    "glusterfs",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "quobyte",
    "rbd",
    "vsphereVolume",
];
const MOUNT_ANNOTATION: &str = "volume.beta.kubernetes.io/mount-options";

fn class_annotation(object: &Value, warnings: &mut Vec<String>) {
    if ObjectMeta::of(object).annotation(CLASS_ANNOTATION).is_some() {
        warnings.push(format!(
            "metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
}

/// Warnings about the spec of a claim, at a path.
pub(super) fn claim_warnings(spec: &Value, path: &str, warnings: &mut Vec<String>) {
    for which in ["requests", "limits"] {
        let storage = spec.at(&["resources", which, "storage"]);
        if storage.and_then(checks::quantity).is_some_and(|quantity| !quantity.is_whole()) {
            let written = storage.and_then(Value::as_str).unwrap_or_default();
            warnings.push(format!(
                "{path}.resources.{which}[storage]: fractional byte value \"{written}\" is invalid, must be an integer"
            ));
        }
    }
}

/// States of a claim that grows, sorted.
const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

fn valid_quantity(value: &Value, path: &str, errors: &mut Errors) {
    if let Some(quantity) = checks::quantity(value).filter(|quantity| quantity.sign() < 0) {
        errors.push(FieldError::invalid(path, quantity.value(), "must be a valid resource quantity"));
    }
}

/// The name of a resource of a claim.
fn claim_resource(name: &str, path: &str, errors: &mut Errors) {
    let before = errors.len();
    let wrong = pleach_meta::names::check_qualified_name(name).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid(path, name, why)));
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    if errors.len() == before && is_native && name != "storage" {
        errors.push(FieldError::not_supported(path, name, &["storage"]));
    }
}

/// `ValidatePersistentVolumeClaimUpdate`, after the claim itself was validated.
fn claim_update(object: &Value, old: &Value, errors: &mut Errors) {
    let was = old.get("spec").cloned().unwrap_or_default();
    let mut comparable = object.get("spec").cloned().unwrap_or_default();
    if text(&was, "volumeName").is_empty() {
        copy_member(&mut comparable, &was, "volumeName");
    }
    let annotation = |object: &Value| ObjectMeta::of(object).annotation(CLASS_ANNOTATION).map(str::to_owned);
    let (written, before) = (annotation(object), annotation(old));
    let class = comparable.get("storageClassName").and_then(Value::as_str).map(str::to_owned);
    let had_class = was.get("storageClassName").is_some();
    let moves_to_field =
        before.is_some() && !had_class && class == before && (written.is_none() || written == before);
    if moves_to_field {
        comparable.as_object_mut().map(|spec| spec.remove("storageClassName"));
    } else {
        if written.as_deref().unwrap_or_default() != before.as_deref().unwrap_or_default() {
            errors.push(FieldError::invalid(
                format!("metadata.annotations.{CLASS_ANNOTATION}"),
                written.unwrap_or_default(),
                "field is immutable",
            ));
        }
        // A claim without a class may get one.
        if class.is_some() && !had_class && (before.is_none() || class == before) {
            copy_member(&mut comparable, &was, "storageClassName");
        }
    }
    if text_at(object, &["status", "phase"]) == "Bound" {
        if let Some(Value::Object(requests)) =
            comparable.get_mut("resources").and_then(|all| all.get_mut("requests"))
            && let Some(storage) = was.at(&["resources", "requests", "storage"])
        {
            requests.insert("storage", storage.clone());
        }
        if comparable.get("volumeAttributesClassName").is_some() {
            copy_member(&mut comparable, &was, "volumeAttributesClassName");
        }
    }
    if comparable != was {
        errors.push(FieldError::forbidden("spec", format!("{IMMUTABLE}\n")));
    }
    let path = ["spec", "resources", "requests", "storage"];
    let new = object.at(&path).and_then(checks::quantity);
    let capacity = old.at(&["status", "capacity", "storage"]).and_then(checks::quantity);
    let zero = pleach_go::quantity::Quantity::from_int(0);
    if new.zip(old.at(&path).and_then(checks::quantity)).is_some_and(|(new, old)| new < old)
        && new.is_some_and(|new| new <= capacity.unwrap_or(zero))
    {
        errors.push(FieldError::forbidden(
            "spec.resources.requests.storage",
            "field can not be less than status.capacity",
        ));
    }
    let mode = ["spec", "volumeMode"];
    checks::immutable(object.at(&mode), old.at(&mode), "volumeMode", errors);
    let class = object.at(&["spec", "volumeAttributesClassName"]).and_then(Value::as_str);
    if was.get("volumeAttributesClassName").is_some() && class.is_none_or(str::is_empty) {
        let to = if class.is_none() { "nil" } else { "an empty string" };
        errors.push(FieldError::forbidden(
            "spec.volumeAttributesClassName",
            format!("update from non-nil value to {to} is forbidden"),
        ));
    }
}

fn supported_modes(spec: &Value, path: &str, errors: &mut Errors) {
    let modes = items(spec, "accessModes");
    for mode in modes {
        let supported = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
        checks::one_of(mode.as_str().unwrap_or_default(), &format!("{path}.accessModes"), &supported, errors);
    }
    let is_single = |mode: &Value| mode.as_str() == Some("ReadWriteOncePod");
    let is_other =
        |mode: &Value| ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"].map(Some).contains(&mode.as_str());
    if modes.iter().any(is_single) && modes.iter().any(is_other) {
        let why = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(format!("{path}.accessModes"), why));
    }
}

/// The spec of the template of a claim.
pub(super) fn claim_spec(spec: &Value, path: &str, errors: &mut Errors) {
    any_claim_spec(spec, path, true, errors);
}

fn any_claim_spec(spec: &Value, path: &str, checks_groups: bool, errors: &mut Errors) {
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
    data_source::validate(spec, path, checks_groups, errors);
    let class = text(spec, "volumeAttributesClassName");
    if !class.is_empty() {
        checks::dns_subdomain(class, &format!("{path}.volumeAttributesClassName"), errors);
    }
}

/// The rules of PersistentVolumes.
#[derive(Debug)]
pub struct Volume;

/// The sources of volumes, in the order of their validation.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// The source of a volume.
fn source(spec: &Value, name: &str, errors: &mut Errors) {
    let mut found = false;
    for kind in SOURCES {
        let Some(source) = spec.get(kind) else { continue };
        // This one is allowed beside another, as upstream.
        if found && kind != "flexVolume" {
            let kind = if kind == "cephfs" { "cephFS" } else { kind };
            let why = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(format!("spec.{kind}"), why));
            continue;
        }
        found = true;
        let path = volume::field("spec", kind);
        match kind {
            "csi" => csi(source, &path, errors),
            "local" => {
                match text(source, "path") {
                    "" => errors.push(FieldError::required("spec.local.path", "")),
                    target => volume::no_backsteps(target, "spec.local.path", errors),
                }
                if spec.get("nodeAffinity").is_none() {
                    let why = "Local volume requires node affinity";
                    errors.push(FieldError::required("spec.nodeAffinity", why));
                }
            }
            kind => {
                if kind == "iscsi" {
                    volume::initiator_and_portal(source, &format!("{path}.targetportal"), name, errors);
                }
                volume::external(source, kind, &path, true, errors);
            }
        }
    }
    if !found {
        errors.push(FieldError::required("spec", "must specify a volume type"));
    }
}

fn csi(source: &Value, path: &str, errors: &mut Errors) {
    volume::csi_driver_name(text(source, "driver"), &format!("{path}.driver"), errors);
    if text(source, "volumeHandle").is_empty() {
        errors.push(FieldError::required(format!("{path}.volumeHandle"), ""));
    }
    for field in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let Some(secret) = source.get(field) else { continue };
        let path = format!("{path}.{field}");
        match text(secret, "name") {
            "" => errors.push(FieldError::required(format!("{path}.name"), "")),
            name => checks::dns_subdomain(name, &format!("{path}.name"), errors),
        }
        match text(secret, "namespace") {
            "" => errors.push(FieldError::required(format!("{path}.namespace"), "")),
            namespace => checks::dns_label(namespace, &format!("{path}.namespace"), errors),
        }
    }
}

/// The parts of an absolute path after `path.Clean`.
fn clean(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

/// `ValidatePersistentVolumeUpdate`, after the volume itself was validated.
fn volume_update(spec: &Value, was: &Value, errors: &mut Errors) {
    let sources = |spec: &Value| SOURCES.map(|kind| spec.get(kind).cloned());
    let mut comparable = spec.clone();
    // A Secret for expansion may be added later.
    let secret = "controllerExpandSecretRef";
    if was.get("csi").is_some_and(|csi| csi.get(secret).is_none())
        && let Some(csi) = comparable.get_mut("csi").and_then(Value::as_object_mut)
    {
        csi.remove(secret);
    }
    if sources(&comparable) != sources(was) {
        errors.push(FieldError::forbidden(
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation\n",
        ));
    }
    checks::immutable(spec.get("volumeMode"), was.get("volumeMode"), "volumeMode", errors);
    if was.get("nodeAffinity").is_some() && !same_affinity(spec.get("nodeAffinity"), was.get("nodeAffinity"))
    {
        errors.push(FieldError::invalid(
            "nodeAffinity",
            spec.get("nodeAffinity").map_or(BadValue::Value(Value::Null), affinity_dump),
            "field is immutable, except for updating from beta label to GA",
        ));
    }
    if was.get("volumeAttributesClassName").is_some() && spec.get("volumeAttributesClassName").is_none() {
        let why = "update from non-nil value to nil is forbidden";
        errors.push(FieldError::forbidden("spec.volumeAttributesClassName", why));
    }
}

/// Labels of Nodes with the names that took their place.
const NEW_LABELS: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// Whether two node affinities are the same, but for labels that got their new names.
fn same_affinity(new: Option<&Value>, old: Option<&Value>) -> bool {
    fn renamed(new: Option<&Value>, old: &mut Value) {
        let Some(new) = new else { return };
        match (new, old) {
            (Value::Object(new), Value::Object(old)) => {
                if let (Some(key), Some(was)) = (new.get_str("key"), old.get_str("key"))
                    && NEW_LABELS.contains(&(was, key))
                {
                    let key = key.to_owned();
                    old.insert("key", key);
                }
                let keys: Vec<pleach_json::Str> = old.keys().cloned().collect();
                for key in keys {
                    if let Some(inner) = old.get_mut(&key) {
                        renamed(new.get(&key), inner);
                    }
                }
            }
            (Value::Array(new), Value::Array(old)) => {
                new.iter().zip(old.iter_mut()).for_each(|(new, old)| renamed(Some(new), old));
            }
            _ => {}
        }
    }
    let mut old = old.cloned().unwrap_or_default();
    renamed(new, &mut old);
    new.cloned().unwrap_or_default() == old
}

/// A node affinity as Go writes the internal type as JSON.
fn affinity_dump(affinity: &Value) -> BadValue {
    let required = affinity.get("required").map_or_else(
        || "null".to_owned(),
        |required| {
            let terms = items(required, "nodeSelectorTerms").iter().map(pods::affinity::term_text);
            format!("{{\"NodeSelectorTerms\":[{}]}}", terms.collect::<Vec<_>>().join(","))
        },
    );
    BadValue::Raw(format!("{{\"Required\":{required}}}"))
}

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

    fn stamp(&self, object: &mut Value, old: Option<&Value>, subresource: Subresource, by: &Stamp<'_>) {
        let Some(old) = old.filter(|_| subresource == Subresource::Status) else { return };
        let (phase, time) = (["status", "phase"], ["status", "lastPhaseTransitionTime"]);
        let (written, before) = (object.at(&time).and_then(Value::as_str), old.at(&time).cloned());
        let is_known = before.as_ref().and_then(Value::as_str) == written;
        let renewed = if text_at(object, &phase) == text_at(old, &phase) {
            before.filter(|_| written.is_none())
        } else {
            (written.is_none() || is_known).then(|| by.now.into())
        };
        if let Some(time) = renewed {
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
            let shown = spec.get("capacity").cloned().unwrap_or_default();
            errors.push(FieldError::not_supported("spec.capacity", shown, &["storage"]));
        } else if let Some(capacity) = capacity {
            if !capacity.contains_key("storage") || capacity.len() > 1 {
                let shown = Value::Object(capacity.clone());
                errors.push(FieldError::not_supported("spec.capacity", shown, &["storage"]));
            }
            for (name, value) in capacity {
                valid_quantity(value, &format!("spec.capacity[{name}]"), &mut errors);
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
        if let Some(affinity) = spec.get("nodeAffinity") {
            match affinity.get("required") {
                Some(required) => {
                    pods::affinity::node_selector(required, "spec.nodeAffinity.required", &mut errors);
                }
                None => {
                    let why = "must specify required node constraints";
                    errors.push(FieldError::required("spec.nodeAffinity.required", why));
                }
            }
        }
        source(spec, ObjectMeta::of(object).name(), &mut errors);
        let reclaim = text(spec, "persistentVolumeReclaimPolicy");
        let host_path = text_at(spec, &["hostPath", "path"]);
        if host_path.starts_with('/') && clean(host_path).is_empty() && reclaim == "Recycle" {
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
        let mountable = MOUNT_OPTIONS.iter().any(|kind| spec.get(kind).is_some());
        if !mountable && ObjectMeta::of(object).annotation(MOUNT_ANNOTATION).is_some() {
            let path = format!("metadata.annotations.{MOUNT_ANNOTATION}");
            errors.push(FieldError::forbidden(path, "may not specify mount options for this volume type"));
        }
        if let Some(class) = spec.get("volumeAttributesClassName").and_then(Value::as_str) {
            let at = "spec.volumeAttributesClassName";
            if class.is_empty() {
                errors.push(FieldError::required(at, "an empty string is disallowed"));
            } else {
                checks::dns_subdomain(class, at, &mut errors);
            }
            if spec.get("csi").is_none() {
                let why = "has to be specified when using volumeAttributesClassName";
                errors.push(FieldError::required("spec.csi", why));
            }
        }
        if let Some(old) = old {
            // An update validates the whole volume twice.
            errors.extend(errors.clone());
            volume_update(spec, old.get("spec").unwrap_or(&Value::Null), &mut errors);
        }
        errors
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        const GONE: [(&str, &str); 6] = [
            ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
            ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
            ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
            ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
            ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
            ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
        ];
        let (mut warnings, spec) = (Vec::new(), object.get("spec").unwrap_or(&Value::Null));
        class_annotation(object, &mut warnings);
        if ObjectMeta::of(object).annotation(MOUNT_ANNOTATION).is_some() {
            warnings.push(format!(
                "metadata.annotations[{MOUNT_ANNOTATION}]: deprecated since v1.31; use \"mountOptions\" attribute instead"
            ));
        }
        if text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
            warnings.push("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.".into());
        }
        let required = spec.at(&["nodeAffinity", "required"]).unwrap_or(&Value::Null);
        for (i, term) in items(required, "nodeSelectorTerms").iter().enumerate() {
            let path = format!("spec.nodeAffinity.required.nodeSelectorTerms[{i}]");
            pods::warnings::node_selector_term(term, false, &path, &mut warnings);
        }
        let gone = GONE.iter().filter(|(kind, _)| spec.get(kind).is_some());
        warnings.extend(gone.map(|(kind, why)| {
            let kind = if *kind == "storageos" { "storageOS" } else { kind };
            format!("spec.{kind}: {why}")
        }));
        warnings
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
