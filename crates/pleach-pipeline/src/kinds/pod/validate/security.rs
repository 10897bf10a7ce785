//! Validation of security contexts.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;

use super::windows;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, items, text};

/// The context of a Pod.
pub(super) fn of_pod(context: &Value, spec: &Value, path: &str, errors: &mut Errors) {
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(context, field, path, errors);
    }
    for (i, group) in items(context, "supplementalGroups").iter().enumerate() {
        number(group, &format!("{path}.supplementalGroups[{i}]"), errors);
    }
    if bool_at(spec, &["shareProcessNamespace"]) && bool_at(spec, &["hostPID"]) {
        errors.push(FieldError::invalid(
            format!("{path}.shareProcessNamespace"),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        ));
    }
    sysctls(context, spec, &format!("{path}.sysctls"), errors);
    checks::one_of_if_set(
        context.get("fsGroupChangePolicy"),
        &format!("{path}.fsGroupChangePolicy"),
        &["Always", "OnRootMismatch"],
        errors,
    );
    seccomp(context, path, errors);
    if let Some(options) = context.get("windowsOptions") {
        windows::options(options, &format!("{path}.windowsOptions"), errors);
    }
    app_armor(context, path, errors);
    checks::one_of_if_set(
        context.get("supplementalGroupsPolicy"),
        &format!("{path}.supplementalGroupsPolicy"),
        &["Merge", "Strict"],
        errors,
    );
    checks::one_of_if_set(
        context.get("seLinuxChangePolicy"),
        &format!("{path}.seLinuxChangePolicy"),
        &["Recursive"],
        errors,
    );
}

/// The context of a container.
pub(super) fn of_container(context: &Value, host_users: bool, path: &str, errors: &mut Errors) {
    for field in ["runAsUser", "runAsGroup"] {
        id(context, field, path, errors);
    }
    let mount = context.get("procMount");
    checks::one_of_if_set(mount, &format!("{path}.procMount"), &["Default", "Unmasked"], errors);
    if host_users && text(context, "procMount") == "Unmasked" {
        let why = "`hostUsers` must be false to use `Unmasked`";
        errors.push(FieldError::invalid(format!("{path}.procMount"), "Unmasked", why));
    }
    seccomp(context, path, errors);
    if context.get("allowPrivilegeEscalation").and_then(Value::as_bool) == Some(false) {
        let dump = || BadValue::Raw(dump(context));
        let refuse = |what: &str| format!("cannot set `allowPrivilegeEscalation` to false and {what}");
        if bool_at(context, &["privileged"]) {
            errors.push(FieldError::invalid(path, dump(), refuse("`privileged` to true")));
        }
        let added = context.get("capabilities").map(|all| items(all, "add")).unwrap_or_default();
        for _ in added.iter().filter(|one| one.as_str() == Some("CAP_SYS_ADMIN")) {
            errors.push(FieldError::invalid(path, dump(), refuse("`capabilities.Add` CAP_SYS_ADMIN")));
        }
    }
    if let Some(options) = context.get("windowsOptions") {
        windows::options(options, &format!("{path}.windowsOptions"), errors);
    }
    app_armor(context, path, errors);
}

/// A context as Go writes the internal type as JSON.
fn dump(context: &Value) -> String {
    let show = |key: &str| pleach_json::to_string(context.get(key).unwrap_or(&Value::Null));
    let capabilities = context.get("capabilities").map_or_else(
        || "null".to_owned(),
        |all| {
            let show = |key: &str| pleach_json::to_string(all.get(key).unwrap_or(&Value::Null));
            format!("{{\"Add\":{},\"Drop\":{}}}", show("add"), show("drop"))
        },
    );
    format!(
        "{{\"Capabilities\":{capabilities},\"Privileged\":{},\"SELinuxOptions\":{},\"WindowsOptions\":{},\"RunAsUser\":{},\"RunAsGroup\":{},\"RunAsNonRoot\":{},\"ReadOnlyRootFilesystem\":{},\"AllowPrivilegeEscalation\":{},\"ProcMount\":{},\"SeccompProfile\":{},\"AppArmorProfile\":{}}}",
        show("privileged"),
        show("seLinuxOptions"),
        show("windowsOptions"),
        show("runAsUser"),
        show("runAsGroup"),
        show("runAsNonRoot"),
        show("readOnlyRootFilesystem"),
        show("allowPrivilegeEscalation"),
        show("procMount"),
        show("seccompProfile"),
        show("appArmorProfile"),
    )
}

fn id(context: &Value, field: &str, path: &str, errors: &mut Errors) {
    if let Some(value) = context.get(field) {
        number(value, &format!("{path}.{field}"), errors);
    }
}

fn number(value: &Value, path: &str, errors: &mut Errors) {
    if let Some(number) = value.as_int().filter(|number| !(0..=2_147_483_647).contains(number)) {
        errors.push(FieldError::invalid(path, number, "must be between 0 and 2147483647, inclusive"));
    }
}

fn sysctls(context: &Value, spec: &Value, path: &str, errors: &mut Errors) {
    let mut seen: HashSet<&str> = HashSet::new();
    for (i, sysctl) in items(context, "sysctls").iter().enumerate() {
        let (path, name) = (format!("{path}[{i}].name"), text(sysctl, "name"));
        if name.is_empty() {
            errors.push(FieldError::required(path.as_str(), ""));
        } else if !is_sysctl(name) {
            errors.push(FieldError::invalid(
                path.as_str(),
                name,
                "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            ));
        } else if seen.contains(name) {
            errors.push(FieldError::duplicate(path.as_str(), name));
        }
        for (shared, of_host) in [("hostNetwork", is_of_network(name)), ("hostIPC", is_of_ipc(name))] {
            if of_host && bool_at(spec, &[shared]) {
                let why = format!("may not be specified when '{shared}' is true");
                errors.push(FieldError::invalid(path.as_str(), name, why));
            }
        }
        seen.insert(name);
    }
}

/// A kernel parameter with dots between its parts: slashes are separators too if one comes first.
fn with_dots(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name.as_bytes()[at] == b'/' => {
            let swap = |c| match c {
                '/' => '.',
                '.' => '/',
                other => other,
            };
            name.chars().map(swap).collect()
        }
        _ => name.to_owned(),
    }
}

/// Whether a kernel parameter belongs to the network namespace.
fn is_of_network(name: &str) -> bool {
    with_dots(name).starts_with("net.")
}

/// Whether a kernel parameter belongs to the IPC namespace.
fn is_of_ipc(name: &str) -> bool {
    let name = with_dots(name);
    name == "kernel.sem"
        || ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|start| name.starts_with(start))
}

/// Whether a text may be the name of a kernel parameter.
fn is_sysctl(name: &str) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|part| {
            let bytes = part.as_bytes();
            bytes.first().is_some_and(is_edge)
                && bytes.last().is_some_and(is_edge)
                && bytes.iter().all(|byte| is_edge(byte) || matches!(byte, b'-' | b'_'))
        })
}

/// The seccomp profile of a security context.
fn seccomp(context: &Value, path: &str, errors: &mut Errors) {
    let Some(profile) = context.get("seccompProfile") else { return };
    let path = format!("{path}.seccompProfile");
    let local = profile.get("localhostProfile").and_then(Value::as_str);
    match text(profile, "type") {
        "Localhost" => match local {
            None => errors.push(FieldError::required(
                format!("{path}.localhostProfile"),
                "must be set when seccomp type is Localhost",
            )),
            Some(local) => super::volume::descending(local, &format!("{path}.localhostProfile"), errors),
        },
        "RuntimeDefault" | "Unconfined" => {
            if let Some(local) = local {
                let show = |text: &str| pleach_json::to_string(&text.into());
                let kind = show(text(profile, "type"));
                let profile = format!("{{\"Type\":{kind},\"LocalhostProfile\":{}}}", show(local));
                errors.push(FieldError::invalid(
                    format!("{path}.localhostProfile"),
                    BadValue::Raw(profile),
                    "can only be set when seccomp type is Localhost",
                ));
            }
        }
        "" => errors.push(FieldError::required(
            format!("{path}.type"),
            "type is required when seccompProfile is set",
        )),
        other => errors.push(FieldError::not_supported(
            format!("{path}.type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
}

/// The AppArmor profile of a security context.
fn app_armor(context: &Value, path: &str, errors: &mut Errors) {
    let Some(profile) = context.get("appArmorProfile") else { return };
    let path = format!("{path}.appArmorProfile");
    let at = format!("{path}.localhostProfile");
    let local = profile.get("localhostProfile").and_then(Value::as_str);
    match (text(profile, "type"), local) {
        ("Localhost", None | Some("")) => {
            errors.push(FieldError::required(at, "must be set when AppArmor type is Localhost"));
        }
        ("Localhost", Some(local)) => {
            if local.trim() != local {
                errors.push(FieldError::invalid(&at, local, "must not be padded with whitespace"));
            }
            if local.len() > 4095 {
                errors.push(FieldError::too_long(at, 4095));
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(local)) => {
            errors.push(FieldError::invalid(at, local, "can only be set when AppArmor type is Localhost"));
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => errors.push(FieldError::required(
            format!("{path}.type"),
            "type is required when appArmorProfile is set",
        )),
        (other, _) => errors.push(FieldError::not_supported(
            format!("{path}.type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
}
