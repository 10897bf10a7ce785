//! Validation of where volumes come from.

use std::collections::HashSet;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;

use super::env;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, int_at, items, text};
use crate::kinds::persistent_volume;

/// The sources of volumes, in the order of their validation.
pub(crate) const SOURCES: [&str; 30] = [
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
    "image",
];

/// The holder of a volume: a Pod with its name, or a template, which has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'a> {
    /// The name of the Pod, empty for a template.
    pub(super) pod: &'a str,
    pub(super) is_pod: bool,
}

/// The source of a volume.
pub(super) fn source(volume: &Value, path: &str, holder: Holder<'_>, errors: &mut Errors) {
    let mut found = 0;
    for kind in SOURCES {
        let Some(source) = volume.get(kind) else { continue };
        found += 1;
        if found > 1 {
            // Two names are spelt so upstream.
            let kind = match kind {
                "cephfs" => "cephFS",
                "downwardAPI" => "downwarAPI",
                kind => kind,
            };
            let why = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(format!("{path}.{kind}"), why));
        } else {
            one(source, kind, &field(path, kind), holder, errors);
        }
        match kind {
            "iscsi" => initiator_and_portal(source, &format!("{path}.name"), text(volume, "name"), errors),
            "ephemeral" if found == 1 => claim_name(volume, path, holder, errors),
            _ => {}
        }
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

/// The path of a source; that of a disk of GCE has another name upstream.
pub(crate) fn field(path: &str, kind: &str) -> String {
    let kind = if kind == "gcePersistentDisk" { "persistentDisk" } else { kind };
    format!("{path}.{kind}")
}

/// The name of the claim that is made for an ephemeral volume.
fn claim_name(volume: &Value, path: &str, holder: Holder<'_>, errors: &mut Errors) {
    let name = text(volume, "name");
    if holder.pod.is_empty() || name.is_empty() {
        return;
    }
    let claim = format!("{}-{name}", holder.pod);
    let wrong = pleach_meta::names::check_dns1123_subdomain(&claim).into_iter();
    let why = wrong.map(|why| format!("PVC name {}: {why}", pleach_go::strconv::quote(&claim)));
    errors.extend(why.map(|why| FieldError::invalid(format!("{path}.name"), name, why)));
}

fn one(source: &Value, kind: &str, path: &str, holder: Holder<'_>, errors: &mut Errors) {
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
            items(source, "items").iter().for_each(|item| downward_file(item, path, errors));
        }
        "projected" => projected(source, path, errors),
        "persistentVolumeClaim" => required(source, "claimName", path, errors),
        "ephemeral" => match source.get("volumeClaimTemplate") {
            None => errors.push(FieldError::required(format!("{path}.volumeClaimTemplate"), "")),
            Some(template) => claim_template(template, &format!("{path}.volumeClaimTemplate"), errors),
        },
        "image" => {
            if holder.is_pod {
                required(source, "reference", path, errors);
            }
            let policies = ["Always", "IfNotPresent", "Never"];
            let at = format!("{path}.pullPolicy");
            checks::required_one_of(text(source, "pullPolicy"), &at, &policies, errors);
        }
        "csi" => {
            csi_driver_name(text(source, "driver"), &format!("{path}.driver"), errors);
            if let Some(secret) = source.get("nodePublishSecretRef") {
                match text(secret, "name") {
                    "" => errors.push(FieldError::required(format!("{path}.nodePublishSecretRef.name"), "")),
                    name => checks::dns_subdomain(name, &format!("{path}.name"), errors),
                }
            }
        }
        _ => external(source, kind, path, false, errors),
    }
}

/// The template of a claim: of the metadata only labels and annotations count.
fn claim_template(template: &Value, path: &str, errors: &mut Errors) {
    let metadata = template.get("metadata").unwrap_or(&Value::Null);
    let at = format!("{path}.metadata");
    let mut found = pleach_meta::FieldErrors::default();
    let root = pleach_meta::Path::new(&at);
    pleach_meta::object_meta::validate_annotations(
        metadata.get("annotations"),
        &root.child("annotations"),
        &mut found,
    );
    errors.extend(Vec::from(found));
    checks::labels(metadata.get("labels"), &format!("{at}.labels"), errors);
    for field in [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ] {
        let is_set = |value: &Value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Int(number) => *number != 0 || field == "deletionGracePeriodSeconds",
            _ => true,
        };
        if metadata.get(field).is_some_and(is_set) {
            // Upstream lowers only the first letter of the name in Go.
            let field = if field == "uid" { "uID" } else { field };
            errors.push(FieldError::forbidden(format!("{at}.{field}"), "cannot be set"));
        }
    }
    let spec = template.get("spec").unwrap_or(&Value::Null);
    persistent_volume::claim_spec(spec, &format!("{path}.spec"), errors);
}

/// The name of a CSI driver.
pub(crate) fn csi_driver_name(name: &str, path: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    let wrong = pleach_meta::names::check_dns1123_subdomain(&name.to_lowercase()).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid(path, name, why)));
}

/// Sources that PersistentVolumes have too; there, references to Secrets have a namespace.
pub(crate) fn external(source: &Value, kind: &str, path: &str, of_persistent: bool, errors: &mut Errors) {
    let all = |fields: &[&str], errors: &mut Errors| {
        fields.iter().for_each(|field| required(source, field, path, errors));
    };
    match kind {
        "hostPath" => host_path(source, path, errors),
        "nfs" => {
            all(&["server", "path"], errors);
            if !text(source, "path").starts_with('/') {
                let why = "must be an absolute path";
                errors.push(FieldError::invalid(format!("{path}.path"), text(source, "path"), why));
            }
        }
        "gitRepo" => {
            all(&["repository"], errors);
            descending(text(source, "directory"), &format!("{path}.directory"), errors);
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            all(&[if kind == "gcePersistentDisk" { "pdName" } else { "volumeID" }], errors);
            byte(source, "partition", path, errors);
        }
        "cinder" => {
            all(&["volumeID"], errors);
            secret_names(source, path, of_persistent, errors);
        }
        "portworxVolume" => all(&["volumeID"], errors),
        "iscsi" => iscsi(source, path, of_persistent, errors),
        "glusterfs" => {
            all(&["endpoints", "path"], errors);
            if let Some(namespace) = source.get("endpointsNamespace").and_then(Value::as_str) {
                let at = format!("{path}.endpointsNamespace");
                if namespace.is_empty() {
                    let why = "if the endpointnamespace is set, it must be a valid namespace name";
                    errors.push(FieldError::invalid(at, namespace, why));
                } else {
                    checks::dns_label(namespace, &at, errors);
                }
            }
        }
        "flocker" => flocker(source, path, errors),
        "rbd" | "cephfs" => {
            if items(source, "monitors").is_empty() {
                errors.push(FieldError::required(format!("{path}.monitors"), ""));
            }
            if kind == "rbd" {
                all(&["image"], errors);
            }
        }
        "quobyte" => quobyte(source, path, errors),
        "fc" => fibre_channel(source, path, errors),
        "flexVolume" => {
            all(&["driver"], errors);
            for key in source.get("options").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
                let namespace = key.split_once('/').map_or(key.as_str(), |(namespace, _)| namespace);
                let namespace = format!(".{}", namespace.to_lowercase());
                if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
                    let why = "kubernetes.io and k8s.io namespaces are reserved";
                    errors.push(FieldError::invalid(format!("{path}.options[{key}]"), key.as_str(), why));
                }
            }
        }
        "azureFile" => {
            all(&["secretName", "shareName"], errors);
            if source.get("secretNamespace").and_then(Value::as_str) == Some("") {
                errors.push(FieldError::required(format!("{path}.secretNamespace"), ""));
            }
        }
        "azureDisk" => azure_disk(source, path, errors),
        "vsphereVolume" => all(&["volumePath"], errors),
        "photonPersistentDisk" => all(&["pdID"], errors),
        "scaleIO" => all(&["gateway", "system", "volumeName"], errors),
        "storageos" => {
            match text(source, "volumeName") {
                "" => all(&["volumeName"], errors),
                name => checks::dns_label(name, &format!("{path}.volumeName"), errors),
            }
            let namespace = text(source, "volumeNamespace");
            if !namespace.is_empty() {
                checks::dns_label(namespace, &format!("{path}.volumeNamespace"), errors);
            }
            secret_names(source, path, of_persistent, errors);
        }
        _ => {}
    }
}

/// The name and, in a PersistentVolume, the namespace of a Secret.
fn secret_names(source: &Value, path: &str, of_persistent: bool, errors: &mut Errors) {
    let Some(secret) = source.get("secretRef") else { return };
    let path = format!("{path}.secretRef");
    required(secret, "name", &path, errors);
    if of_persistent {
        required(secret, "namespace", &path, errors);
    }
}

fn byte(source: &Value, field: &str, path: &str, errors: &mut Errors) {
    let number = int_at(source, &[field]);
    if !(0..=255).contains(&number) {
        let least = i64::from(field == "partition");
        let why = format!("must be between {least} and 255, inclusive");
        errors.push(FieldError::invalid(format!("{path}.{field}"), number, why));
    }
}

/// Whether a text names an iSCSI node: `iqn.2001-04.com.example:x`, `eui.` or `naa.` with hexadecimal digits.
fn is_iscsi_name(name: &str) -> bool {
    let hexadecimal = |digits: &str, lengths: &[usize]| {
        lengths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if let Some(rest) = name.strip_prefix("iqn.") {
        let bytes = rest.as_bytes();
        let digits = |range: std::ops::Range<usize>| {
            bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
        };
        let (domain, label) = rest.get(8..).and_then(|rest| rest.split_once(':')).unwrap_or_default();
        let is_domain_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        return digits(0..4)
            && bytes.get(4) == Some(&b'-')
            && digits(5..7)
            && bytes.get(7) == Some(&b'.')
            && !domain.is_empty()
            && domain.bytes().all(is_domain_byte)
            && !label.is_empty();
    }
    name.strip_prefix("eui.").is_some_and(|digits| hexadecimal(digits, &[16]))
        || name.strip_prefix("naa.").is_some_and(|digits| hexadecimal(digits, &[16, 32]))
}

/// The name of an iSCSI target or initiator.
fn iscsi_name(name: &str, path: &str, of_persistent: bool, errors: &mut Errors) {
    let is_known = ["iqn", "eui", "naa"].iter().any(|prefix| name.starts_with(prefix));
    if is_known && is_iscsi_name(name) {
        return;
    }
    let why = if is_known || of_persistent {
        "must be valid format"
    } else {
        "must be valid format starting with iqn, eui, or naa"
    };
    errors.push(FieldError::invalid(path, name, why));
}

/// The length of the name of a volume with the address of its iSCSI portal.
pub(crate) fn initiator_and_portal(source: &Value, path: &str, volume: &str, errors: &mut Errors) {
    let portal = text(source, "targetPortal");
    if source.get("initiatorName").is_some() && volume.len() + 1 + portal.len() > 64 {
        let why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        let shown = if path.ends_with(".name") { volume } else { portal };
        errors.push(FieldError::invalid(path, shown, why));
    }
}

fn iscsi(source: &Value, path: &str, of_persistent: bool, errors: &mut Errors) {
    required(source, "targetPortal", path, errors);
    match text(source, "iqn") {
        "" => errors.push(FieldError::required(format!("{path}.iqn"), "")),
        name => iscsi_name(name, &format!("{path}.iqn"), of_persistent, errors),
    }
    byte(source, "lun", path, errors);
    let authenticates = bool_at(source, &["chapAuthDiscovery"]) || bool_at(source, &["chapAuthSession"]);
    match source.get("secretRef") {
        None if authenticates => errors.push(FieldError::required(format!("{path}.secretRef"), "")),
        Some(secret) if of_persistent => required(secret, "name", &format!("{path}.secretRef"), errors),
        _ => {}
    }
    if let Some(name) = source.get("initiatorName").and_then(Value::as_str) {
        iscsi_name(name, &format!("{path}.initiatorname"), of_persistent, errors);
    }
}

fn flocker(source: &Value, path: &str, errors: &mut Errors) {
    let (name, uuid) = (text(source, "datasetName"), text(source, "datasetUUID"));
    if name.is_empty() && uuid.is_empty() {
        errors.push(FieldError::required(path, "one of datasetName and datasetUUID is required"));
    }
    if !name.is_empty() && !uuid.is_empty() {
        let why = "datasetName and datasetUUID can not be specified simultaneously";
        errors.push(FieldError::invalid(path, "resource", why));
    }
    if name.contains('/') {
        errors.push(FieldError::invalid(format!("{path}.datasetName"), name, "must not contain '/'"));
    }
}

fn quobyte(source: &Value, path: &str, errors: &mut Errors) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = text(source, "registry");
    let at = format!("{path}.registry");
    if registry.is_empty() {
        errors.push(FieldError::required(at, PAIRS));
    } else if text(source, "tenant").len() >= 65 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(FieldError::required(format!("{path}.tenant"), why));
    } else {
        let is_pair = |pair: &str| match pair.rsplit_once(':') {
            Some((host, _)) => !host.contains(':') || host.starts_with('[') && host.ends_with(']'),
            None => false,
        };
        for _ in registry.split(',').filter(|pair| !is_pair(pair)) {
            errors.push(FieldError::invalid(at.as_str(), registry, PAIRS));
        }
    }
    required(source, "volume", path, errors);
}

fn fibre_channel(source: &Value, path: &str, errors: &mut Errors) {
    let (targets, wide) = (items(source, "targetWWNs"), items(source, "wwids"));
    let at = format!("{path}.targetWWNs");
    if targets.is_empty() && wide.is_empty() {
        let why = "must specify either targetWWNs or wwids, but not both";
        errors.push(FieldError::required(at.as_str(), why));
    }
    if !targets.is_empty() && !wide.is_empty() {
        let why = "targetWWNs and wwids can not be specified simultaneously";
        errors.push(FieldError::invalid(at, targets.to_vec(), why));
    }
    if targets.is_empty() {
        return;
    }
    if source.get("lun").is_none() {
        let why = "lun is required if targetWWNs is specified";
        errors.push(FieldError::required(format!("{path}.lun"), why));
    } else {
        byte(source, "lun", path, errors);
    }
}

fn azure_disk(source: &Value, path: &str, errors: &mut Errors) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    ["diskName", "diskURI"].iter().for_each(|field| required(source, field, path, errors));
    let caching = ["None", "ReadOnly", "ReadWrite"];
    checks::one_of_if_set(source.get("cachingMode"), &format!("{path}.cachingMode"), &caching, errors);
    let kinds = ["Dedicated", "Managed", "Shared"];
    checks::one_of_if_set(source.get("kind"), &format!("{path}.kind"), &kinds, errors);
    let uri = text(source, "diskURI");
    let at = format!("{path}.diskURI");
    match source.get("kind").and_then(Value::as_str) {
        Some("Managed") if !uri.starts_with("/subscriptions/") => {
            errors.push(FieldError::not_supported(at, uri, &[MANAGED]));
        }
        Some(kind) if kind != "Managed" && !uri.starts_with("https://") => {
            errors.push(FieldError::not_supported(at, uri, &[BLOB]));
        }
        _ => {}
    }
}

fn required(source: &Value, field: &str, path: &str, errors: &mut Errors) {
    if text(source, field).is_empty() {
        errors.push(FieldError::required(format!("{path}.{field}"), ""));
    }
}

/// A path of the Node.
fn host_path(source: &Value, path: &str, errors: &mut Errors) {
    let target = text(source, "path");
    if target.is_empty() {
        errors.push(FieldError::required(format!("{path}.path"), ""));
        return;
    }
    no_backsteps(target, &format!("{path}.path"), errors);
    let types =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    checks::one_of(text(source, "type"), &format!("{path}.type"), &types, errors);
}

/// Whether a path has files of several sources is reported at the volume, without the source.
fn taken_once<'a>(
    target: &'a str,
    shown: &str,
    path: &str,
    taken: &mut HashSet<&'a str>,
    errors: &mut Errors,
) {
    if !target.is_empty() && !taken.insert(target) {
        errors.push(FieldError::invalid(path, shown, "conflicting duplicate paths"));
    }
}

fn projected(source: &Value, path: &str, errors: &mut Errors) {
    mode(source.get("defaultMode"), &format!("{path}.defaultMode"), errors);
    let mut taken: HashSet<&str> = HashSet::new();
    for (i, one) in items(source, "sources").iter().enumerate() {
        let at = format!("{path}.sources[{i}]");
        for kind in ["secret", "configMap"] {
            let Some(one) = one.get(kind) else { continue };
            let at = format!("{at}.{kind}");
            required(one, "name", &at, errors);
            for (i, item) in items(one, "items").iter().enumerate() {
                key_to_path(item, &format!("{at}.items[{i}]"), errors);
                taken_once(text(item, "path"), text(one, "name"), path, &mut taken, errors);
            }
        }
        if let Some(one) = one.get("downwardAPI") {
            for item in items(one, "items") {
                downward_file(item, &format!("{at}.downwardAPI"), errors);
                taken_once(text(item, "path"), text(item, "path"), path, &mut taken, errors);
            }
        }
        if let Some(token) = one.get("serviceAccountToken") {
            let seconds = int_at(token, &["expirationSeconds"]);
            let why = match seconds {
                ..600 => "may not specify a duration less than 10 minutes",
                4_294_967_297.. => "may not specify a duration larger than 2^32 seconds",
                _ => "",
            };
            if !why.is_empty() {
                let at = format!("{at}.serviceAccountToken.expirationSeconds");
                errors.push(FieldError::invalid(at, seconds, why));
            }
            // The path of this error is that of the volume.
            match text(token, "path") {
                "" => required(token, "path", path, errors),
                target => not_reserved(target, &format!("{path}.path"), errors),
            }
        }
        if one.as_object().map_or(0, Map::len) > 1 {
            let why = "may not specify more than 1 volume type per source";
            errors.push(FieldError::forbidden(at, why));
        }
    }
}

/// Tokens of an account in volumes of a Pod that has none.
pub(super) fn tokens_without_account(spec: &Value, errors: &mut Errors) {
    if !text(spec, "serviceAccountName").is_empty() {
        return;
    }
    for (i, volume) in items(spec, "volumes").iter().enumerate() {
        let sources = volume.get("projected").map(|projected| items(projected, "sources"));
        for (j, source) in sources.unwrap_or_default().iter().enumerate() {
            if source.get("serviceAccountToken").is_some() {
                errors.push(FieldError::forbidden(
                    format!("spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"),
                    "must not be specified when serviceAccountName is not set",
                ));
            }
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

/// A path without `..` as one of its parts.
pub(crate) fn no_backsteps(target: &str, path: &str, errors: &mut Errors) {
    if target.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(path, target, "must not contain '..'"));
    }
}

/// A path that stays below the place it starts from.
pub(super) fn descending(target: &str, path: &str, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    no_backsteps(target, path, errors);
}

/// The same, which does not start with `..` either.
fn not_reserved(target: &str, path: &str, errors: &mut Errors) {
    descending(target, path, errors);
    if target.starts_with("..") && !target.starts_with("../") {
        errors.push(FieldError::invalid(path, target, "must not start with '..'"));
    }
}

/// Keys that become files.
fn items_of(source: &Value, path: &str, errors: &mut Errors) {
    for (i, item) in items(source, "items").iter().enumerate() {
        key_to_path(item, &format!("{path}.items[{i}]"), errors);
    }
}

fn key_to_path(item: &Value, path: &str, errors: &mut Errors) {
    required(item, "key", path, errors);
    required(item, "path", path, errors);
    not_reserved(text(item, "path"), &format!("{path}.path"), errors);
    mode(item.get("mode"), &format!("{path}.mode"), errors);
}

/// A field of the Pod that becomes a file; upstream's paths have no index.
fn downward_file(item: &Value, path: &str, errors: &mut Errors) {
    required(item, "path", path, errors);
    not_reserved(text(item, "path"), &format!("{path}.path"), errors);
    match (item.get("fieldRef"), item.get("resourceFieldRef")) {
        (Some(field), resource) => {
            env::field_ref(field, &format!("{path}.fieldRef"), &env::FILE_FIELDS, errors);
            if resource.is_some() {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path, "resource", why));
            }
        }
        (None, Some(resource)) => {
            env::resource_ref(resource, &format!("{path}.resourceFieldRef"), true, errors);
        }
        (None, None) => {
            let why = "one of fieldRef and resourceFieldRef is required";
            errors.push(FieldError::required(path, why));
        }
    }
    mode(item.get("mode"), &format!("{path}.mode"), errors);
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn texts(volume: &Value) -> Vec<String> {
        let mut errors = Errors::new();
        source(volume, "v", Holder { pod: "p", is_pod: true }, &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sources_have_rules_of_their_own() {
        for (volume, want) in [
            (
                json!({"gcePersistentDisk": {"partition": 256}}),
                &[
                    "v.persistentDisk.pdName: Required value",
                    "v.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
                ][..],
            ),
            (
                json!({"iscsi": {"targetPortal": "t", "iqn": "iqn.2015-02.example.com:test", "lun": 0}}),
                &[][..],
            ),
            (
                json!({"iscsi": {"targetPortal": "t", "iqn": "iqn.x", "chapAuthSession": true}}),
                &[
                    "v.iscsi.iqn: Invalid value: \"iqn.x\": must be valid format",
                    "v.iscsi.secretRef: Required value",
                ],
            ),
            (
                json!({"fc": {"targetWWNs": ["a"]}}),
                &["v.fc.lun: Required value: lun is required if targetWWNs is specified"],
            ),
            (
                json!({"emptyDir": {}, "downwardAPI": {}, "cephfs": {}}),
                &[
                    "v.cephFS: Forbidden: may not specify more than 1 volume type",
                    "v.downwarAPI: Forbidden: may not specify more than 1 volume type",
                ],
            ),
            (
                json!({"quobyte": {"registry": "a:1,b", "volume": "v"}}),
                &[
                    "v.quobyte.registry: Invalid value: \"a:1,b\": must be a host:port pair or multiple pairs separated by commas",
                ],
            ),
            (
                json!({"csi": {"driver": "Bad_", "nodePublishSecretRef": {}}}),
                &[
                    "v.csi.driver: Invalid value: \"Bad_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                    "v.csi.nodePublishSecretRef.name: Required value",
                ],
            ),
            (
                json!({"ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"]}}}}),
                &[
                    "v.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
                    "v.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
                ],
            ),
            (
                json!({"downwardAPI": {"items": [{"path": "..x"}, {"path": "a", "fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}]}}),
                &[
                    "v.downwardAPI.path: Invalid value: \"..x\": must not start with '..'",
                    "v.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
                    "v.downwardAPI.fieldRef.fieldPath: Unsupported value: \"spec.nodeName\": supported values: \"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \"metadata.uid\"",
                ],
            ),
            (
                json!({"projected": {"sources": [
                    {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}, "configMap": {"name": "c"}},
                    {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
                ]}}),
                &[
                    "v.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
                    "v.projected: Invalid value: \"c\": conflicting duplicate paths",
                ],
            ),
        ] {
            assert_eq!(texts(&volume), want, "{volume:?}");
        }
    }
}
