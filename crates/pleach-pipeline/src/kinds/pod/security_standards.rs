//! The Pod Security Standards: the checks of the levels `baseline` and `restricted`, by version.

use std::collections::BTreeSet;

use pleach_json::{Map, Value};

use crate::kinds::fields::{bool_at, items, text, text_at};

/// The prefix of the labels of a namespace that choose levels.
pub const LABEL: &str = "pod-security.kubernetes.io/";

/// A level in a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    level: Level,
    /// None is the latest.
    minor: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Policy {
    /// The policy of a mode (`enforce`, `audit`, `warn`) that the labels of a namespace choose. A level that is none
    /// counts as restricted.
    pub fn of_namespace(namespace: &Value, mode: &str) -> Self {
        let label = |name: String| text_at(namespace, &["metadata", "labels", &name]).to_owned();
        let level = match label(format!("{LABEL}{mode}")).as_str() {
            "" | "privileged" => Level::Privileged,
            "baseline" => Level::Baseline,
            _ => Level::Restricted,
        };
        let version = label(format!("{LABEL}{mode}-version"));
        Self { level, minor: version.strip_prefix("v1.").and_then(|minor| minor.parse().ok()) }
    }

    /// Whether everything is allowed.
    pub fn is_privileged(&self) -> bool {
        self.level == Level::Privileged
    }

    /// Whether the version is this one or later.
    fn since(&self, minor: u32) -> bool {
        self.minor.is_none_or(|own| own >= minor)
    }

    /// The name in messages.
    pub fn name(&self) -> String {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        self.minor.map_or_else(|| format!("{level}:latest"), |minor| format!("{level}:v1.{minor}"))
    }

    /// The violations of the policy by a Pod or template, in upstream's order and words.
    pub fn violations(&self, pod: &Value) -> Option<String> {
        if self.is_privileged() {
            return None;
        }
        let empty = Value::object();
        let view = View { policy: self, pod, spec: pod.get("spec").unwrap_or(&empty) };
        let restricted = self.level == Level::Restricted;
        let mut found = vec![
            view.app_armor(),
            if restricted && self.since(22) { None } else { view.capabilities() },
            view.host_namespaces(),
            if restricted { None } else { view.host_paths() },
            view.host_ports(),
            if self.since(34) { view.probe_hosts() } else { None },
            view.privileged(),
            view.proc_mount(restricted && self.since(35)),
            view.se_linux(),
            if restricted && self.since(19) { None } else { view.seccomp(false) },
            view.sysctls(),
            view.host_process(),
        ];
        if restricted {
            let windows = self.since(25) && text_at(view.spec, &["os", "name"]) == "windows";
            let user_namespace =
                self.since(35) && view.spec.get("hostUsers").and_then(Value::as_bool) == Some(false);
            found.extend([
                if self.since(8) && !windows { view.escalation() } else { None },
                if self.since(22) && !windows { view.dropped_capabilities() } else { None },
                view.volumes(),
                if user_namespace { None } else { view.non_root() },
                if self.since(23) && !user_namespace { view.root_user() } else { None },
                if self.since(19) && !windows { view.seccomp(true) } else { None },
            ]);
        }
        let found: Vec<String> =
            found.into_iter().flatten().map(|(what, detail)| format!("{what} ({detail})")).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }
}

/// A violation, and the containers with it.
type Violation = Option<(&'static str, String)>;

struct View<'a> {
    policy: &'a Policy,
    pod: &'a Value,
    spec: &'a Value,
}

fn plural(one: &'static str, many: &'static str, count: usize) -> &'static str {
    if count == 1 { one } else { many }
}

fn quoted<T: AsRef<str>>(texts: &[T]) -> String {
    texts.iter().map(|text| pleach_go::strconv::quote(text.as_ref())).collect::<Vec<_>>().join(", ")
}

fn containers_named(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names))
}

impl<'a> View<'a> {
    fn containers(&self) -> impl Iterator<Item = &'a Value> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |list| items(spec, list))
    }

    /// The names of containers of which something is true.
    fn named(&self, is: impl Fn(&Value) -> bool) -> Vec<&'a str> {
        self.containers().filter(|container| is(container)).map(|container| text(container, "name")).collect()
    }

    /// The Pod and the containers whose value of a field of the security context is bad, and the bad values.
    fn setters(
        &self,
        path: &[&str],
        is_bad: impl Fn(&Value) -> bool,
    ) -> (Vec<String>, Vec<&'a str>, BTreeSet<String>) {
        let mut path_of = vec!["securityContext"];
        path_of.extend(path);
        let mut values = BTreeSet::new();
        let mut bad = |holder: &Value| {
            let value = holder.at(&path_of).filter(|value| is_bad(value));
            let shown =
                |value: &Value| value.as_str().map_or_else(|| pleach_json::to_string(value), str::to_owned);
            values.extend(value.map(shown));
            value.is_some()
        };
        let mut setters = Vec::new();
        if bad(self.spec) {
            setters.push("pod".to_owned());
        }
        let containers: Vec<&str> = self
            .containers()
            .filter(|container| bad(container))
            .map(|container| text(container, "name"))
            .collect();
        if !containers.is_empty() {
            setters.push(containers_named(&containers));
        }
        (setters, containers, values)
    }

    fn app_armor(&self) -> Violation {
        let (mut setters, _, values) = self.setters(&["appArmorProfile", "type"], |kind| {
            !matches!(kind.as_str(), Some("RuntimeDefault" | "Localhost"))
        });
        let mut values: Vec<String> = values.into_iter().collect();
        let annotations = self.pod.at(&["metadata", "annotations"]).and_then(Value::as_object);
        let mut forbidden: Vec<String> = annotations
            .into_iter()
            .flat_map(Map::iter)
            .filter(|(key, _)| key.starts_with("container.apparmor.security.beta.kubernetes.io/"))
            .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
            .filter(|(_, value)| {
                !value.is_empty() && *value != "runtime/default" && !value.starts_with("localhost/")
            })
            .map(|(key, value)| format!("{key}={}", pleach_go::strconv::quote(value)))
            .collect();
        if !forbidden.is_empty() {
            forbidden.sort();
            setters.push(plural("annotation", "annotations", forbidden.len()).to_owned());
            values.extend(forbidden);
        }
        (!setters.is_empty()).then(|| {
            (
                plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len()),
                format!(
                    "{} must not set AppArmor profile type to {}",
                    setters.join(" and "),
                    quoted(&values)
                ),
            )
        })
    }

    fn capabilities(&self) -> Violation {
        const ALLOWED: [&str; 13] = [
            "AUDIT_WRITE",
            "CHOWN",
            "DAC_OVERRIDE",
            "FOWNER",
            "FSETID",
            "KILL",
            "MKNOD",
            "NET_BIND_SERVICE",
            "SETFCAP",
            "SETGID",
            "SETPCAP",
            "SETUID",
            "SYS_CHROOT",
        ];
        let (bad, added) = self.added_capabilities(|name| ALLOWED.contains(&name));
        (!bad.is_empty()).then(|| {
            let who = containers_named(&bad);
            let what = quoted(&added.into_iter().collect::<Vec<_>>());
            (
                "non-default capabilities",
                format!("{who} must not include {what} in securityContext.capabilities.add"),
            )
        })
    }

    fn added_capabilities(&self, allowed: impl Fn(&str) -> bool) -> (Vec<&'a str>, BTreeSet<&'a str>) {
        let mut all = BTreeSet::new();
        let mut bad = Vec::new();
        for container in self.containers() {
            let added = container.at(&["securityContext", "capabilities"]).map(|all| items(all, "add"));
            let added =
                added.unwrap_or_default().iter().filter_map(Value::as_str).filter(|name| !allowed(name));
            let added: Vec<&str> = added.collect();
            if !added.is_empty() {
                bad.push(text(container, "name"));
                all.extend(added);
            }
        }
        (bad, all)
    }

    fn host_namespaces(&self) -> Violation {
        let set = ["hostNetwork", "hostPID", "hostIPC"].iter().filter(|field| bool_at(self.spec, &[field]));
        let set: Vec<String> = set.map(|field| format!("{field}=true")).collect();
        (!set.is_empty()).then(|| ("host namespaces", set.join(", ")))
    }

    fn host_paths(&self) -> Violation {
        let volumes = items(self.spec, "volumes").iter().filter(|volume| volume.get("hostPath").is_some());
        let names: Vec<&str> = volumes.map(|volume| text(volume, "name")).collect();
        let what = plural("volume", "volumes", names.len());
        (!names.is_empty()).then(|| ("hostPath volumes", format!("{what} {}", quoted(&names))))
    }

    fn host_ports(&self) -> Violation {
        let mut ports = BTreeSet::new();
        let mut bad = Vec::new();
        for container in self.containers() {
            let numbers = items(container, "ports").iter().filter_map(|port| port.get("hostPort")?.as_int());
            let numbers: Vec<String> =
                numbers.filter(|port| *port != 0).map(|port| port.to_string()).collect();
            if !numbers.is_empty() {
                bad.push(text(container, "name"));
                ports.extend(numbers);
            }
        }
        let (who, uses) = (containers_named(&bad), plural("uses", "use", bad.len()));
        let what = plural("hostPort", "hostPorts", ports.len());
        let list = ports.into_iter().collect::<Vec<_>>().join(", ");
        (!bad.is_empty()).then(|| ("hostPort", format!("{who} {uses} {what} {list}")))
    }

    fn probe_hosts(&self) -> Violation {
        let (mut hosts, mut bad) = (BTreeSet::new(), BTreeSet::new());
        for container in self.containers() {
            let lifecycle = container.get("lifecycle");
            let hooks = ["postStart", "preStop"].iter().filter_map(|hook| lifecycle?.get(hook));
            let probes = ["livenessProbe", "readinessProbe", "startupProbe"].iter();
            for handler in probes.filter_map(|probe| container.get(probe)).chain(hooks) {
                for kind in ["httpGet", "tcpSocket"] {
                    let host = text_at(handler, &[kind, "host"]);
                    if !host.is_empty() {
                        hosts.insert(host);
                        bad.insert(text(container, "name"));
                    }
                }
            }
        }
        let (bad, hosts): (Vec<_>, Vec<_>) = (bad.into_iter().collect(), hosts.into_iter().collect());
        let (who, uses) = (containers_named(&bad), plural("uses", "use", bad.len()));
        let what = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
        (!bad.is_empty())
            .then(|| ("probe or lifecycle host", format!("{who} {uses} {what} {}", quoted(&hosts))))
    }

    fn privileged(&self) -> Violation {
        let bad = self.named(|container| bool_at(container, &["securityContext", "privileged"]));
        let who = containers_named(&bad);
        (!bad.is_empty())
            .then(|| ("privileged", format!("{who} must not set securityContext.privileged=true")))
    }

    fn proc_mount(&self, strict: bool) -> Violation {
        let relaxed =
            self.policy.since(35) && self.spec.get("hostUsers").and_then(Value::as_bool) == Some(false);
        if relaxed && !strict {
            return None;
        }
        let of = |container: &Value| text_at(container, &["securityContext", "procMount"]).to_owned();
        let bad = self.named(|container| !matches!(of(container).as_str(), "" | "Default"));
        let values: BTreeSet<String> =
            self.containers().map(of).filter(|kind| !matches!(kind.as_str(), "" | "Default")).collect();
        let (who, what) = (containers_named(&bad), quoted(&values.into_iter().collect::<Vec<_>>()));
        (!bad.is_empty())
            .then(|| ("procMount", format!("{who} must not set securityContext.procMount to {what}")))
    }

    fn se_linux(&self) -> Violation {
        let mut allowed = vec!["", "container_t", "container_init_t", "container_kvm_t"];
        if self.policy.since(31) {
            allowed.push("container_engine_t");
        }
        let (mut types, mut user, mut role) = (BTreeSet::new(), false, false);
        let (setters, ..) = self.setters(&["seLinuxOptions"], |options| {
            !allowed.contains(&text(options, "type"))
                || !text(options, "user").is_empty()
                || !text(options, "role").is_empty()
        });
        for holder in std::iter::once(self.spec).chain(self.containers()) {
            let Some(options) = holder.at(&["securityContext", "seLinuxOptions"]) else { continue };
            if !allowed.contains(&text(options, "type")) {
                types.insert(text(options, "type"));
            }
            user |= !text(options, "user").is_empty();
            role |= !text(options, "role").is_empty();
        }
        let mut data = Vec::new();
        if !types.is_empty() {
            let types: Vec<&str> = types.into_iter().collect();
            data.push(format!("{} {}", plural("type", "types", types.len()), quoted(&types)));
        }
        data.extend(user.then(|| "user may not be set".to_owned()));
        data.extend(role.then(|| "role may not be set".to_owned()));
        let (who, what) = (setters.join(" and "), data.join("; "));
        (!setters.is_empty()).then(|| {
            ("seLinuxOptions", format!("{who} set forbidden securityContext.seLinuxOptions: {what}"))
        })
    }

    fn seccomp(&self, required: bool) -> Violation {
        let path = ["seccompProfile", "type"];
        let is_valid = |kind: &Value| matches!(kind.as_str(), Some("RuntimeDefault" | "Localhost"));
        let (setters, _, values) = self.setters(&path, |kind| !is_valid(kind));
        if !setters.is_empty() {
            let (who, what) = (setters.join(" and "), quoted(&values.into_iter().collect::<Vec<_>>()));
            return Some((
                "seccompProfile",
                format!("{who} must not set securityContext.seccompProfile.type to {what}"),
            ));
        }
        let of_pod = self.spec.at(&["securityContext", "seccompProfile"]).is_some();
        if !required || of_pod {
            return None;
        }
        let bad = self.named(|container| container.at(&["securityContext", "seccompProfile"]).is_none());
        let who = containers_named(&bad);
        (!bad.is_empty()).then(|| {
            let what = "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
            ("seccompProfile", format!("pod or {who} {what}"))
        })
    }

    fn sysctls(&self) -> Violation {
        const ALLOWED: [(&str, u32); 12] = [
            ("kernel.shm_rmid_forced", 0),
            ("net.ipv4.ip_local_port_range", 0),
            ("net.ipv4.tcp_syncookies", 0),
            ("net.ipv4.ping_group_range", 0),
            ("net.ipv4.ip_unprivileged_port_start", 0),
            ("net.ipv4.ip_local_reserved_ports", 27),
            ("net.ipv4.tcp_keepalive_time", 29),
            ("net.ipv4.tcp_fin_timeout", 29),
            ("net.ipv4.tcp_keepalive_intvl", 29),
            ("net.ipv4.tcp_keepalive_probes", 29),
            ("net.ipv4.tcp_rmem", 32),
            ("net.ipv4.tcp_wmem", 32),
        ];
        let set =
            self.spec.get("securityContext").map(|context| items(context, "sysctls")).unwrap_or_default();
        let is_allowed =
            |name: &str| ALLOWED.iter().any(|(known, since)| *known == name && self.policy.since(*since));
        let bad = set.iter().map(|sysctl| text(sysctl, "name")).filter(|name| !is_allowed(name));
        let bad: Vec<&str> = bad.collect();
        (!bad.is_empty()).then(|| ("forbidden sysctls", bad.join(", ")))
    }

    fn host_process(&self) -> Violation {
        let (setters, ..) =
            self.setters(&["windowsOptions", "hostProcess"], |value| value.as_bool() == Some(true));
        let who = setters.join(" and ");
        (!setters.is_empty()).then(|| {
            ("hostProcess", format!("{who} must not set securityContext.windowsOptions.hostProcess=true"))
        })
    }

    fn escalation(&self) -> Violation {
        let path = ["securityContext", "allowPrivilegeEscalation"];
        let bad = self.named(|container| container.at(&path).and_then(Value::as_bool) != Some(false));
        let who = containers_named(&bad);
        (!bad.is_empty()).then(|| {
            let what = "must set securityContext.allowPrivilegeEscalation=false";
            ("allowPrivilegeEscalation != false", format!("{who} {what}"))
        })
    }

    fn dropped_capabilities(&self) -> Violation {
        let keep = self.named(|container| {
            let dropped = container.at(&["securityContext", "capabilities"]).map(|all| items(all, "drop"));
            !dropped.unwrap_or_default().iter().any(|name| name.as_str() == Some("ALL"))
        });
        let (adding, added) = self.added_capabilities(|name| name == "NET_BIND_SERVICE");
        let mut details = Vec::new();
        if !keep.is_empty() {
            details.push(format!(
                "{} must set securityContext.capabilities.drop=[\"ALL\"]",
                containers_named(&keep)
            ));
        }
        if !adding.is_empty() {
            let what = quoted(&added.into_iter().collect::<Vec<_>>());
            let who = containers_named(&adding);
            details.push(format!("{who} must not include {what} in securityContext.capabilities.add"));
        }
        (!details.is_empty()).then(|| ("unrestricted capabilities", details.join("; ")))
    }

    fn volumes(&self) -> Violation {
        const ALLOWED: [&str; 9] = [
            "configMap",
            "csi",
            "downwardAPI",
            "emptyDir",
            "ephemeral",
            "image",
            "persistentVolumeClaim",
            "projected",
            "secret",
        ];
        let bad = items(self.spec, "volumes")
            .iter()
            .filter(|volume| !ALLOWED.iter().any(|kind| volume.get(kind).is_some()));
        let bad: Vec<&Value> = bad.collect();
        let names: Vec<&str> = bad.iter().map(|volume| text(volume, "name")).collect();
        let kinds: BTreeSet<&str> = bad
            .iter()
            .map(|volume| {
                let known = super::validate::volume::SOURCES.iter().find(|kind| volume.get(kind).is_some());
                known.copied().unwrap_or("unknown")
            })
            .collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        (!names.is_empty()).then(|| {
            let detail = format!(
                "{} {} {} {} {}",
                plural("volume", "volumes", names.len()),
                quoted(&names),
                plural("uses", "use", names.len()),
                plural("restricted volume type", "restricted volume types", kinds.len()),
                quoted(&kinds)
            );
            ("restricted volume types", detail)
        })
    }

    fn non_root(&self) -> Violation {
        let what = "runAsNonRoot != true";
        let (setters, ..) = self.setters(&["runAsNonRoot"], |value| value.as_bool() == Some(false));
        if !setters.is_empty() {
            return Some((
                what,
                format!("{} must not set securityContext.runAsNonRoot=false", setters.join(" and ")),
            ));
        }
        if bool_at(self.spec, &["securityContext", "runAsNonRoot"]) {
            return None;
        }
        let bad = self.named(|container| container.at(&["securityContext", "runAsNonRoot"]).is_none());
        let who = containers_named(&bad);
        (!bad.is_empty()).then(|| (what, format!("pod or {who} must set securityContext.runAsNonRoot=true")))
    }

    fn root_user(&self) -> Violation {
        let (setters, ..) = self.setters(&["runAsUser"], |value| value.as_int() == Some(0));
        let who = setters.join(" and ");
        (!setters.is_empty()).then(|| ("runAsUser=0", format!("{who} must not set runAsUser=0")))
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn policy(level: &str) -> Policy {
        let namespace = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": (level)}}});
        Policy::of_namespace(&namespace, "enforce")
    }

    #[test]
    fn levels() {
        let plain = json!({"spec": {"containers": [{"name": "a"}]}});
        let tight = json!({"spec": {"containers": [{"name": "a", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true,
            "seccompProfile": {"type": "RuntimeDefault"}}}]}});
        let privileged = json!({"spec": {"hostPID": true, "containers": [{"name": "a",
            "securityContext": {"privileged": true}, "ports": [{"hostPort": 80}]}]}});
        assert_eq!(policy("privileged").violations(&privileged), None);
        assert_eq!(policy("baseline").violations(&plain), None);
        assert_eq!(
            policy("baseline").violations(&privileged).unwrap(),
            "host namespaces (hostPID=true), hostPort (container \"a\" uses hostPort 80), privileged (container \"a\" must not set securityContext.privileged=true)"
        );
        assert_eq!(policy("restricted").violations(&tight), None);
        assert_eq!(policy("restricted").name(), "restricted:latest");
        assert!(
            policy("restricted")
                .violations(&plain)
                .unwrap()
                .starts_with("allowPrivilegeEscalation != false (container \"a\" must")
        );
    }
}
