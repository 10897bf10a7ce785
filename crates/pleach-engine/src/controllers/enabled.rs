//! Which controllers of kube-controller-manager run: the flag `--controllers` in its syntax.

use std::str::FromStr;

/// The controllers that run. All do by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnabledControllers {
    /// `garbage-collector-controller`
    pub garbage_collector: bool,
    /// `namespace-controller`
    pub namespace: bool,
    /// `root-ca-certificate-publisher-controller`
    pub root_ca_publisher: bool,
    /// `serviceaccount-controller`
    pub service_account: bool,
    /// `serviceaccount-token-controller`
    pub service_account_token: bool,
    /// `validatingadmissionpolicy-status-controller`
    pub policy_status: bool,
}

impl Default for EnabledControllers {
    fn default() -> Self {
        Self::all(true)
    }
}

impl EnabledControllers {
    /// The names of all controllers.
    pub const NAMES: [&str; 6] = [
        "garbage-collector-controller",
        "namespace-controller",
        "root-ca-certificate-publisher-controller",
        "serviceaccount-controller",
        "serviceaccount-token-controller",
        "validatingadmissionpolicy-status-controller",
    ];

    fn all(on: bool) -> Self {
        Self {
            garbage_collector: on,
            namespace: on,
            root_ca_publisher: on,
            service_account: on,
            service_account_token: on,
            policy_status: on,
        }
    }

    /// A controller by its name, or by the one it had before v1.28.
    fn controller(&mut self, name: &str) -> Option<&mut bool> {
        match name {
            "garbage-collector-controller" | "garbagecollector" => Some(&mut self.garbage_collector),
            "namespace-controller" | "namespace" => Some(&mut self.namespace),
            "root-ca-certificate-publisher-controller" | "root-ca-cert-publisher" => {
                Some(&mut self.root_ca_publisher)
            }
            "serviceaccount-controller" | "serviceaccount" => Some(&mut self.service_account),
            "serviceaccount-token-controller" | "serviceaccount-token" => {
                Some(&mut self.service_account_token)
            }
            "validatingadmissionpolicy-status-controller" | "validatingadmissionpolicy-status" => {
                Some(&mut self.policy_status)
            }
            _ => None,
        }
    }
}

impl FromStr for EnabledControllers {
    type Err = String;

    /// Reads `*,-name` or `name,name`: a name counts before the star, and without a star only names do.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = || text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let mut enabled = Self::all(parts().any(|part| part == "*"));
        // Of two words about one controller the first counts.
        for part in parts().filter(|part| *part != "*").collect::<Vec<_>>().into_iter().rev() {
            let name = part.strip_prefix('-').unwrap_or(part);
            let controller = enabled.controller(name).ok_or_else(|| {
                let known = Self::NAMES.join(", ");
                format!("\"{name}\" is not in the list of known controllers: {known}")
            })?;
            *controller = !part.starts_with('-');
        }
        Ok(enabled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_chosen_as_kube_controller_manager_chooses_them() {
        let all = EnabledControllers::default();
        for (text, want) in [
            ("*", all),
            ("*,-serviceaccount-controller", EnabledControllers { service_account: false, ..all }),
            ("-serviceaccount,*", EnabledControllers { service_account: false, ..all }),
            ("namespace", EnabledControllers { namespace: true, ..EnabledControllers::all(false) }),
            ("*,namespace,-namespace", all),
            ("", EnabledControllers::all(false)),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        let error = "*,-x".parse::<EnabledControllers>().unwrap_err();
        assert!(error.starts_with("\"x\" is not in the list of known controllers"), "{error}");
    }
}
