//! Feature gates, with their states in the Kubernetes versions that can be emulated.
//!
//! A gate decides which fields requests may set. When it is closed again, stored objects keep these fields until they are
//! written again. Gates that stock Kubernetes does not have are off by default, so that nothing works on this server
//! that fails on another by surprise.

use pleach_go::strconv::parse_bool;

use crate::emulated::EmulatedVersion;

/// The gates and whether they are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// The version that is emulated.
    pub version: EmulatedVersion,
    /// `AggregatedDiscoveryRemoveBetaType`: aggregated discovery is not served as `apidiscovery.k8s.io/v2beta1`.
    pub no_beta_discovery: bool,
    /// `AllowUnsafeMalformedObjectDeletion`: objects that cannot be decoded are deleted if a request asks for it.
    pub unsafe_deletion: bool,
    /// `CBORServingAndStorage`: requests and responses may be in CBOR.
    pub cbor: bool,
    /// `Unions`: CRDs may have `x-kubernetes-unions`.
    pub unions: bool,
    /// `CostHints`: the error of a CRD whose rules cost too much names bounds that would help.
    pub cost_hints: bool,
    /// `CRDValidationRatcheting`: errors of what an update does not change are left out.
    pub ratcheting: bool,
    /// `CustomResourceFieldSelectors`: CRDs may have `selectableFields`.
    pub field_selectors: bool,
    /// `RetryGenerateName`: a generated name that is taken is replaced by another one.
    pub retry_generate_name: bool,
    /// `WatchList`: watches may begin with what there is, and say when that was all.
    pub watch_list: bool,
}

/// The state of a gate from a minor version on.
struct Since {
    minor: u32,
    default: bool,
    /// Whether it can no longer be changed.
    locked: bool,
}

const fn since(minor: u32, default: bool) -> Since {
    Since { minor, default, locked: false }
}

const fn locked(minor: u32) -> Since {
    Since { minor, default: true, locked: true }
}

/// A gate: its name, its field, its states.
struct Gate {
    name: &'static str,
    field: fn(&mut Gates) -> &mut bool,
    states: &'static [Since],
}

/// Every gate, by name.
static GATES: [Gate; 9] = [
    Gate {
        name: "AggregatedDiscoveryRemoveBetaType",
        field: |gates| &mut gates.no_beta_discovery,
        states: &[since(0, false), since(33, true), locked(35)],
    },
    Gate {
        name: "AllowUnsafeMalformedObjectDeletion",
        field: |gates| &mut gates.unsafe_deletion,
        states: &[since(32, false)],
    },
    Gate { name: "CBORServingAndStorage", field: |gates| &mut gates.cbor, states: &[since(32, false)] },
    Gate {
        name: "CRDValidationRatcheting",
        field: |gates| &mut gates.ratcheting,
        states: &[since(28, false), since(30, true), locked(33)],
    },
    Gate { name: "CostHints", field: |gates| &mut gates.cost_hints, states: &[since(0, false)] },
    Gate {
        name: "CustomResourceFieldSelectors",
        field: |gates| &mut gates.field_selectors,
        states: &[since(30, false), since(31, true), locked(32)],
    },
    Gate {
        name: "RetryGenerateName",
        field: |gates| &mut gates.retry_generate_name,
        states: &[since(30, false), since(31, true), locked(32)],
    },
    Gate { name: "Unions", field: |gates| &mut gates.unions, states: &[since(0, false)] },
    Gate {
        name: "WatchList",
        field: |gates| &mut gates.watch_list,
        states: &[since(27, false), since(32, true), since(33, false), since(34, true)],
    },
];

impl Gate {
    /// The state in a version; none if the gate came later.
    fn state(&self, version: EmulatedVersion) -> Option<&Since> {
        self.states.iter().rev().find(|state| state.minor <= version.minor())
    }
}

impl Default for Gates {
    fn default() -> Self {
        Self::of(EmulatedVersion::default())
    }
}

impl Gates {
    /// The gates as they are by default in a version.
    pub fn of(version: EmulatedVersion) -> Self {
        let mut gates = Self {
            version,
            no_beta_discovery: false,
            unsafe_deletion: false,
            cbor: false,
            unions: false,
            cost_hints: false,
            ratcheting: false,
            field_selectors: false,
            retry_generate_name: false,
            watch_list: false,
        };
        for gate in &GATES {
            *(gate.field)(&mut gates) = gate.state(version).is_some_and(|state| state.default);
        }
        gates
    }

    /// The names of all gates.
    pub fn names() -> impl Iterator<Item = &'static str> {
        GATES.iter().map(|gate| gate.name)
    }

    /// Reads `Name=true,Other=false`, for a version. The errors of gates that cannot be changed are upstream's.
    pub fn parse(text: &str, version: EmulatedVersion) -> Result<Self, String> {
        let mut gates = Self::of(version);
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, state) =
                part.split_once('=').ok_or_else(|| format!("{part}: write {part}=true or {part}=false"))?;
            let name = name.strip_prefix("kube:").unwrap_or(name);
            let open =
                parse_bool(state).ok_or_else(|| format!("{name}: {state:?} is neither true nor false"))?;
            let gate = GATES.iter().find(|gate| gate.name == name).ok_or_else(|| {
                let names: Vec<_> = Self::names().collect();
                format!("there is no feature gate {name:?}; there are {}", names.join(", "))
            })?;
            match gate.state(version) {
                None => {
                    return Err(format!(
                        "cannot set feature gate {name} to {open}, feature is PreAlpha at emulated version {version}, \
                         min compatibility version {}",
                        version.min_compatibility()
                    ));
                }
                Some(state) if state.locked && state.default != open => {
                    return Err(format!(
                        "cannot set feature gate {name} to {open}, feature is locked to {}",
                        state.default
                    ));
                }
                Some(_) => *(gate.field)(&mut gates) = open,
            }
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> EmulatedVersion {
        text.parse().unwrap()
    }

    #[test]
    fn gates_are_read_as_kube_apiserver_reads_them() {
        let parse = |text: &str| Gates::parse(text, EmulatedVersion::default());
        assert_eq!(parse(""), Ok(Gates::default()));
        for text in ["Unions=true", "kube:Unions=1", "Unions=false,Unions=T"] {
            assert_eq!(parse(text), Ok(Gates { unions: true, ..Gates::default() }), "{text}");
        }
        assert_eq!(
            parse("Unions=true, CostHints=true,Unions=false"),
            Ok(Gates { cost_hints: true, ..Gates::default() })
        );
        for (text, why) in [
            ("Unions", "Unions: write Unions=true or Unions=false"),
            ("Unions=on", "Unions: \"on\" is neither true nor false"),
            (
                "Onions=true",
                "there is no feature gate \"Onions\"; there are AggregatedDiscoveryRemoveBetaType, \
                 AllowUnsafeMalformedObjectDeletion, CBORServingAndStorage, CRDValidationRatcheting, CostHints, \
                 CustomResourceFieldSelectors, RetryGenerateName, Unions, WatchList",
            ),
            (
                "CRDValidationRatcheting=false",
                "cannot set feature gate CRDValidationRatcheting to false, feature is locked to true",
            ),
        ] {
            assert_eq!(parse(text), Err(why.to_owned()));
        }
    }

    #[test]
    fn gates_have_the_defaults_of_the_emulated_version() {
        let gates = |text: &str| {
            let gates = Gates::of(version(text));
            (gates.ratcheting, gates.field_selectors, gates.retry_generate_name, gates.watch_list)
        };
        assert_eq!(gates("1.30"), (true, false, false, false));
        assert_eq!(gates("1.31"), (true, true, true, false));
        assert_eq!(gates("1.32"), (true, true, true, true));
        assert_eq!(gates("1.33"), (true, true, true, false));
        assert_eq!(gates("1.36"), (true, true, true, true));
        let beta = |text| !Gates::of(version(text)).no_beta_discovery;
        assert!(beta("1.32") && !beta("1.33"));
        let off = Gates::parse("CRDValidationRatcheting=false,WatchList=true", version("1.32")).unwrap();
        assert!(!off.ratcheting && off.watch_list);
        assert_eq!(
            Gates::parse("CBORServingAndStorage=true", version("1.31")).unwrap_err(),
            "cannot set feature gate CBORServingAndStorage to true, feature is PreAlpha at emulated version 1.31, \
             min compatibility version 1.30"
        );
    }
}
