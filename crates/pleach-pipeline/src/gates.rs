//! Feature gates: what stock Kubernetes does not have, or has switched off too.
//!
//! Everything here is off by default, so that nothing works on this server that fails on another by
//! surprise. A gate decides what requests may bring in: when it is closed again, what is stored keeps
//! its meaning until it is written again.

use std::str::FromStr;

/// The gates and whether they are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `AllowUnsafeMalformedObjectDeletion`: objects that cannot be decoded are deleted if a request asks for it.
    pub unsafe_deletion: bool,
    /// `CBORServingAndStorage`: requests and responses may be in CBOR.
    pub cbor: bool,
    /// `Unions`: CRDs may have `x-kubernetes-unions`.
    pub unions: bool,
    /// `CostHints`: the error of a CRD whose rules cost too much names bounds that would help.
    pub cost_hints: bool,
}

impl Gates {
    /// The names of all gates.
    pub const NAMES: [&str; 4] =
        ["AllowUnsafeMalformedObjectDeletion", "CBORServingAndStorage", "CostHints", "Unions"];

    fn gate(&mut self, name: &str) -> Option<&mut bool> {
        match name {
            "AllowUnsafeMalformedObjectDeletion" => Some(&mut self.unsafe_deletion),
            "CBORServingAndStorage" => Some(&mut self.cbor),
            "CostHints" => Some(&mut self.cost_hints),
            "Unions" => Some(&mut self.unions),
            _ => None,
        }
    }
}

impl FromStr for Gates {
    type Err = String;

    /// Reads `Name=true,Other=false`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut gates = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, state) =
                part.split_once('=').ok_or_else(|| format!("{part}: write {part}=true or {part}=false"))?;
            let open = state.parse().map_err(|_| format!("{name}: {state:?} is neither true nor false"))?;
            let gate = gates.gate(name).ok_or_else(|| {
                format!("there is no feature gate {name:?}; there are {}", Self::NAMES.join(", "))
            })?;
            *gate = open;
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_as_kube_apiserver_reads_them() {
        assert_eq!("".parse(), Ok(Gates::default()));
        assert_eq!("Unions=true".parse(), Ok(Gates { unions: true, ..Gates::default() }));
        assert_eq!(
            "Unions=true, CostHints=true,Unions=false".parse(),
            Ok(Gates { cost_hints: true, ..Gates::default() })
        );
        for (text, why) in [
            ("Unions", "Unions: write Unions=true or Unions=false"),
            ("Unions=on", "Unions: \"on\" is neither true nor false"),
            (
                "Onions=true",
                "there is no feature gate \"Onions\"; there are AllowUnsafeMalformedObjectDeletion, CBORServingAndStorage, CostHints, Unions",
            ),
        ] {
            assert_eq!(text.parse::<Gates>(), Err(why.to_owned()));
        }
    }

    #[test]
    fn every_name_is_a_gate() {
        assert!(Gates::NAMES.iter().all(|name| Gates::default().gate(name).is_some()));
    }
}
