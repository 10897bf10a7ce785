//! `--builtin-kinds` and `--runtime-config`: which built-in kinds are served.

use std::str::FromStr;
use std::sync::Arc;

use pleach_go::strconv::parse_bool;

use super::{minimal, table};
use crate::gates::Gates;
use crate::kind::Kind;

/// Which built-in kinds are served. All, by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedKinds {
    /// Only those that control planes made of CRDs need.
    pub minimal: bool,
    /// The value of `--runtime-config`.
    pub config: RuntimeConfig,
}

/// API versions and resources that are switched on or off, as `--runtime-config` of kube-apiserver says it:
/// `apps/v1=false`, `storage.k8s.io/v1/csinodes=false`, `api/all=false`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeConfig {
    all: Option<bool>,
    single: Vec<(String, bool)>,
}

/// Groups that the server itself needs, or that have no stored kinds.
const ALWAYS_SERVED: [&str; 6] = [
    "apiextensions.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "coordination.k8s.io",
    "events.k8s.io",
    "rbac.authorization.k8s.io",
];

/// Groups of kube-apiserver of which there are no kinds here.
const WITHOUT_KINDS: [&str; 2] = ["internal.apiserver.k8s.io", "storagemigration.k8s.io"];

impl FromStr for RuntimeConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut config = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, state) = part.split_once('=').unwrap_or((part, "true"));
            let on = parse_bool(state)
                .ok_or_else(|| format!("invalid value of {name}={state}, should be true or false"))?;
            let group = match name {
                "api/all" | "api/ga" => {
                    config.all = Some(on);
                    continue;
                }
                // There are no such versions here.
                "api/beta" | "api/alpha" => continue,
                "v1" | "api/v1" | "api/legacy" => "",
                _ => name.split('/').next().unwrap_or_default(),
            };
            if group.is_empty() || ALWAYS_SERVED.contains(&group) {
                if !on {
                    let group = if group.is_empty() { "the core group, v1," } else { group };
                    return Err(format!("{group} cannot be switched off"));
                }
            } else if table::KINDS.iter().any(|kind| kind.group == group) {
                config.single.push((name.to_owned(), on));
            } else if !WITHOUT_KINDS.contains(&group) {
                return Err(format!("unknown api groups {group}"));
            }
        }
        Ok(config)
    }
}

impl RuntimeConfig {
    fn serves(&self, group: &str, version: &str, plural: &str) -> bool {
        if group.is_empty() {
            return true;
        }
        let find = |name: &str| self.single.iter().rev().find(|(known, _)| known == name).map(|(_, on)| *on);
        let of_resource = find(&format!("{group}/{version}/{plural}"));
        let of_version = find(&format!("{group}/{version}"));
        of_resource.or(of_version).or(self.all).unwrap_or(true)
    }
}

impl ServedKinds {
    /// The kinds.
    pub fn kinds(&self, gates: Gates) -> impl Iterator<Item = Kind> {
        let typed = if self.minimal { &[][..] } else { table::KINDS };
        let typed = typed.iter().filter_map(move |entry| {
            let mut kind = entry.to_kind(gates);
            let on = |version: &str| {
                gates.version.has(entry.group, version, entry.kind)
                    && self.config.serves(entry.group, version, entry.plural)
            };
            if kind.versions.iter().all(|version| on(&version.name)) {
                return Some(kind);
            }
            for version in Arc::get_mut(&mut kind.versions)? {
                version.served = on(&version.name);
            }
            kind.versions.iter().any(|version| version.served).then_some(kind)
        });
        minimal(gates).chain(typed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_resources_are_switched_off() {
        let names = |served: &ServedKinds| -> Vec<String> {
            served.kinds(Gates::default()).map(|kind| format!("{}/{}", kind.group, kind.plural)).collect()
        };
        let all = names(&ServedKinds::default());
        assert!(all.contains(&"apps/deployments".to_owned()) && all.contains(&"/pods".to_owned()));
        let few = names(&ServedKinds { minimal: true, ..ServedKinds::default() });
        assert!(few.contains(&"/namespaces".to_owned()) && !few.contains(&"/pods".to_owned()));
        let config = "apps/v1=false,batch/v1/cronjobs=false".parse().unwrap();
        let some = names(&ServedKinds { minimal: false, config });
        assert!(!some.contains(&"apps/deployments".to_owned()));
        assert!(some.contains(&"batch/jobs".to_owned()) && !some.contains(&"batch/cronjobs".to_owned()));
        let config = "api/all=false,apps/v1=true".parse().unwrap();
        let some = names(&ServedKinds { minimal: false, config });
        assert!(some.contains(&"apps/deployments".to_owned()) && !some.contains(&"batch/jobs".to_owned()));
        assert!(some.contains(&"/pods".to_owned()), "the core group stays");
    }

    #[test]
    fn kinds_that_came_later_are_not_served_by_an_emulated_version() {
        let gates = Gates::of("1.32".parse().unwrap());
        let names: Vec<_> = ServedKinds::default().kinds(gates).map(|kind| kind.plural.to_string()).collect();
        assert!(names.iter().any(|name| name == "validatingadmissionpolicies"));
        for later in ["mutatingadmissionpolicies", "ipaddresses", "resourceclaims", "volumeattributesclasses"]
        {
            assert!(!names.iter().any(|name| name == later), "{later}");
        }
    }

    #[test]
    fn all_groups_of_kube_apiserver_are_known() {
        for group in super::super::GROUPS.iter().chain(&WITHOUT_KINDS) {
            let config = format!("{group}/v1=1").parse::<RuntimeConfig>();
            assert!(config.is_ok(), "{group}: {config:?}");
        }
        for name in ["api/legacy=true", "storagemigration.k8s.io/v1beta1=false", "api/beta=T"] {
            assert_eq!(name.parse(), Ok(RuntimeConfig::default()), "{name}");
        }
    }

    #[test]
    fn mistakes_are_reported() {
        for (text, want) in [
            ("x/v1=true", "unknown api groups x"),
            ("apps/v1=maybe", "invalid value of apps/v1=maybe, should be true or false"),
            ("v1=false", "the core group, v1, cannot be switched off"),
            ("api/legacy=false", "the core group, v1, cannot be switched off"),
            ("rbac.authorization.k8s.io/v1=false", "rbac.authorization.k8s.io cannot be switched off"),
        ] {
            assert_eq!(text.parse::<RuntimeConfig>(), Err(want.to_owned()));
        }
    }
}
