//! `--emulated-version`: the Kubernetes version whose features and APIs are served.

use std::fmt;
use std::str::FromStr;

/// The version of this server.
const NEWEST: u32 = 36;

/// The oldest version that can be emulated. kube-apiserver v1.36 goes back to 1.33.
const OLDEST: u32 = 30;

/// How far back kube-apiserver v1.36 goes, also with the version it is compatible with.
const FLOOR: u32 = 33;

/// A version 1.`minor` that is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EmulatedVersion(u32);

impl Default for EmulatedVersion {
    fn default() -> Self {
        Self(NEWEST)
    }
}

impl fmt::Display for EmulatedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

impl EmulatedVersion {
    /// The minor version.
    pub fn minor(self) -> u32 {
        self.0
    }

    /// The version with which stored objects stay compatible: new expressions may use what it has. One before the
    /// emulated one; kube-apiserver v1.36 does not go below 1.33 where it emulates that itself.
    #[must_use]
    pub fn min_compatibility(self) -> Self {
        Self(if self.0 >= FLOOR { (self.0 - 1).max(FLOOR) } else { self.0 - 1 })
    }
}

impl FromStr for EmulatedVersion {
    type Err = String;

    /// Reads `1.33` or `kube=1.33`, as kube-apiserver's flag.
    fn from_str(text: &str) -> Result<Self, String> {
        let version = match text.split_once('=') {
            Some((component, version)) if component.trim() == "kube" => version.trim(),
            Some((component, _)) => return Err(format!("component not registered: {}", component.trim())),
            None => text.trim(),
        };
        let mut parts = version.trim_start_matches('v').split('.');
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
        let (Some(major), Some(minor)) = (number(parts.next()), number(parts.next())) else {
            return Err(format!("could not parse {version:?} as version"));
        };
        if parts.next().is_some_and(|patch| patch != "0") {
            return Err(format!("patch version not allowed, got: kube={version}"));
        }
        if major != 1 || !(OLDEST..=NEWEST).contains(&minor) {
            return Err(format!("emulation version {major}.{minor} is not between [1.{OLDEST}, 1.{NEWEST}]"));
        }
        Ok(Self(minor))
    }
}

/// The versions in which versions of built-in kinds were introduced, where that is after the oldest emulated version:
/// group, version and the beginning of the kind.
const INTRODUCED: [(&str, &str, &str, u32); 5] = [
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", 36),
    ("networking.k8s.io", "v1", "IPAddress", 33),
    ("networking.k8s.io", "v1", "ServiceCIDR", 33),
    ("resource.k8s.io", "v1", "", 34),
    ("storage.k8s.io", "v1", "VolumeAttributesClass", 34),
];

impl EmulatedVersion {
    /// Whether a version of a built-in kind was there already.
    pub(crate) fn has(self, group: &str, version: &str, kind: &str) -> bool {
        !INTRODUCED.iter().any(|(of_group, of_version, beginning, since)| {
            *of_group == group && *of_version == version && kind.starts_with(beginning) && self.0 < *since
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_flag_of_kube_apiserver() {
        let read = |text: &str| text.parse::<EmulatedVersion>().map(|version| version.to_string());
        for (text, expected) in [
            ("1.33", Ok("1.33")),
            ("kube=1.30", Ok("1.30")),
            ("v1.36.0", Ok("1.36")),
            ("1.29", Err("emulation version 1.29 is not between [1.30, 1.36]")),
            ("2.0", Err("emulation version 2.0 is not between [1.30, 1.36]")),
            ("1.33.2", Err("patch version not allowed, got: kube=1.33.2")),
            ("wardle=1.2", Err("component not registered: wardle")),
            ("x", Err("could not parse \"x\" as version")),
        ] {
            assert_eq!(read(text).as_deref().map_err(String::as_str), expected, "{text}");
        }
    }

    #[test]
    fn compatibility_goes_back_one_version() {
        let of = |text: &str| text.parse::<EmulatedVersion>().unwrap().min_compatibility().to_string();
        assert_eq!((of("1.36").as_str(), of("1.33").as_str()), ("1.35", "1.33"));
        assert_eq!((of("1.32").as_str(), of("1.30").as_str()), ("1.31", "1.29"));
    }

    #[test]
    fn kinds_are_there_since_they_were_introduced() {
        let version = |text: &str| text.parse::<EmulatedVersion>().unwrap();
        assert!(!version("1.33").has("resource.k8s.io", "v1", "ResourceClaim"));
        assert!(version("1.34").has("resource.k8s.io", "v1", "ResourceClaim"));
        assert!(!version("1.35").has("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding"));
        assert!(version("1.30").has("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"));
    }
}
