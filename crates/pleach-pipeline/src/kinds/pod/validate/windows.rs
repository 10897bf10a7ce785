//! Validation of what only Windows or only Linux has: `windowsOptions`, host process containers, `os`.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, items};

const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const GMSA_BYTES: usize = 64 * 1024;
const DOMAIN_BYTES: usize = 256;
const USER_BYTES: usize = 104;

/// The containers of all lists, each with its path.
fn containers<'a>(spec: &'a Value, path: &'a str) -> impl Iterator<Item = (&'a Value, String)> {
    LISTS.into_iter().flat_map(move |list| {
        let numbered = items(spec, list).iter().enumerate();
        numbered.map(move |(i, one)| (one, format!("{path}.{list}[{i}]")))
    })
}

/// `windowsOptions` of a Pod or a container.
pub(super) fn options(options: &Value, path: &str, errors: &mut Errors) {
    let get = |field: &str| options.get(field).and_then(Value::as_str);
    if let Some(name) = get("gmsaCredentialSpecName") {
        checks::dns_subdomain(name, &format!("{path}.gmsaCredentialSpecName"), errors);
    }
    if let Some(spec) = get("gmsaCredentialSpec") {
        let why = match spec.len() {
            0 => "gmsaCredentialSpec cannot be an empty string",
            length if length > GMSA_BYTES => "gmsaCredentialSpec size must be under 64 KiB",
            _ => "",
        };
        if !why.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.gmsaCredentialSpec"), spec, why));
        }
    }
    if let Some(name) = get("runAsUserName") {
        let path = format!("{path}.runAsUserName");
        errors.extend(
            user_name_errors(name).into_iter().map(|why| FieldError::invalid(path.as_str(), name, why)),
        );
    }
}

/// The errors of `DOMAIN\user`, of which the domain may be missing.
fn user_name_errors(name: &str) -> Vec<&'static str> {
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string"];
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters"];
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts.as_slice() {
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => return vec!["runAsUserName cannot contain more than one backslash"],
    };
    let mut errors = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_BYTES {
            errors.push("runAsUserName's Domain length must be under 256 characters");
        }
        if !is_netbios(domain) && !is_domain(domain) {
            errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        errors.push("runAsUserName's User cannot be empty");
    } else if user.len() > USER_BYTES {
        errors.push("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        errors.push("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        errors.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
    errors
}

fn is_netbios(domain: &str) -> bool {
    let count = domain.chars().count();
    (1..=15).contains(&count)
        && !domain.starts_with('.')
        && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_domain(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    })
}

/// Containers that run as processes of the host: all of them or none, and in the network of the host.
pub(super) fn host_process(spec: &Value, path: &str, errors: &mut Errors) {
    const FIELD: [&str; 3] = ["securityContext", "windowsOptions", "hostProcess"];
    let of_pod = spec.at(&FIELD).and_then(Value::as_bool);
    let (mut all, mut on_host) = (0, 0);
    for (container, path) in containers(spec, path) {
        all += 1;
        let own = container.at(&FIELD).and_then(Value::as_bool);
        if let (Some(pod), Some(own)) = (of_pod, own)
            && pod != own
        {
            errors.push(FieldError::invalid(
                format!("{path}.securityContext.windowsOptions.hostProcess"),
                own,
                format!("pod hostProcess value must be identical if both are specified, was {pod}"),
            ));
        }
        if own.or(of_pod) == Some(true) {
            on_host += 1;
        }
    }
    if on_host == 0 {
        return;
    }
    if on_host != all {
        let why =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(path, "", why));
    }
    if !bool_at(spec, &["hostNetwork"]) {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(format!("{path}.hostNetwork"), false, why));
    }
}

/// Fields that Pods of this operating system cannot have.
pub(super) fn of_os(os: &str, spec: &Value, path: &str, errors: &mut Errors) {
    match os {
        "linux" => {
            let mut refuse = |holder: &Value, path: &str| {
                if holder.at(&["securityContext", "windowsOptions"]).is_some() {
                    let why = "windows options cannot be set for a linux pod";
                    errors.push(FieldError::forbidden(format!("{path}.securityContext.windowsOptions"), why));
                }
            };
            refuse(spec, path);
            containers(spec, path).for_each(|(container, path)| refuse(container, &path));
        }
        "windows" => of_windows(spec, path, errors),
        _ => {}
    }
}

fn of_windows(spec: &Value, path: &str, errors: &mut Errors) {
    const OF_POD: [(&str, bool); 15] = [
        ("appArmorProfile", true),
        ("seLinuxOptions", true),
        ("hostUsers", false),
        ("hostPID", false),
        ("hostIPC", false),
        ("seccompProfile", true),
        ("fsGroup", true),
        ("fsGroupChangePolicy", true),
        ("sysctls", true),
        ("shareProcessNamespace", false),
        ("runAsUser", true),
        ("runAsGroup", true),
        ("supplementalGroups", true),
        ("supplementalGroupsPolicy", true),
        ("seLinuxChangePolicy", true),
    ];
    const OF_CONTAINER: [&str; 10] = [
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    let why = "cannot be set for a windows pod";
    for (field, in_context) in OF_POD {
        let holder = if in_context { spec.get("securityContext") } else { Some(spec) };
        // That a Pod is in a namespace of the host is a plain boolean, of which false is as good as nothing.
        let is_plain = matches!(field, "hostPID" | "hostIPC");
        let value = holder.and_then(|holder| holder.get(field));
        if value.is_some_and(|value| !is_plain || value.as_bool() == Some(true)) {
            let within = if in_context { "securityContext." } else { "" };
            errors.push(FieldError::forbidden(format!("{path}.{within}{field}"), why));
        }
    }
    for (container, path) in containers(spec, path) {
        for field in OF_CONTAINER {
            if container.at(&["securityContext", field]).is_some() {
                errors.push(FieldError::forbidden(format!("{path}.securityContext.{field}"), why));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn user_names_have_a_user_and_may_have_a_domain() {
        for (name, want) in [
            ("ContainerUser", &[][..]),
            ("NT AUTHORITY\\SYSTEM", &[][..]),
            ("example.com\\user", &[][..]),
            ("", &["runAsUserName cannot be an empty string"][..]),
            ("a\\b\\c", &["runAsUserName cannot contain more than one backslash"][..]),
            ("a\tb", &["runAsUserName cannot contain control characters"][..]),
            ("a\\", &["runAsUserName's User cannot be empty"][..]),
            ("..", &["runAsUserName's User cannot contain only periods or spaces"][..]),
            ("a*", &["runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"][..]),
            (
                ".much-too-long-for-netbios.\\a",
                &["runAsUserName's Domain doesn't match the NetBios nor the DNS format"][..],
            ),
        ] {
            assert_eq!(user_name_errors(name), want, "{name:?}");
        }
    }

    #[test]
    fn host_processes_need_the_network_of_the_host() {
        let windows = |on: bool| json!({"windowsOptions": {"hostProcess": on}});
        let texts = |spec: &Value| {
            let mut errors = Errors::new();
            host_process(spec, "spec", &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let spec = json!({"securityContext": (windows(true)), "containers": [{}], "hostNetwork": true});
        assert!(texts(&spec).is_empty());
        let spec = json!({"containers": [{"securityContext": (windows(true))}, {}]});
        assert_eq!(
            texts(&spec),
            [
                "spec: Invalid value: \"\": If pod contains any hostProcess containers then all containers must be HostProcess containers",
                "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
            ]
        );
    }

    #[test]
    fn each_system_refuses_what_the_other_has() {
        let texts = |os: &str, spec: &Value| {
            let mut errors = Errors::new();
            of_os(os, spec, "spec", &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let spec = json!({
            "hostPID": false, "hostIPC": true, "securityContext": {"runAsUser": 1, "windowsOptions": {}},
            "containers": [{"securityContext": {"privileged": false}}],
        });
        assert_eq!(
            texts("linux", &spec),
            ["spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"]
        );
        assert_eq!(
            texts("windows", &spec),
            [
                "spec.hostIPC: Forbidden: cannot be set for a windows pod",
                "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
                "spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod",
            ]
        );
    }
}
