//! GroupVersion, GroupVersionKind, GroupVersionResource: parsing, printing, and the order of versions.

use std::cmp::Ordering;
use std::fmt;

use pleach_json::Str;

/// A group and a version: the `apiVersion` of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: Str,
    /// `v1`
    pub version: Str,
}

impl GroupVersion {
    /// A group and a version.
    pub fn new(group: impl Into<Str>, version: impl Into<Str>) -> Self {
        Self { group: group.into(), version: version.into() }
    }

    /// Reads `version` or `group/version`. Nothing, or a lone slash, is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "/" {
            return Ok(Self::default());
        }
        match text.split_once('/') {
            None => Ok(Self::new("", text)),
            Some((group, version)) if !version.contains('/') => Ok(Self::new(group, version)),
            Some(_) => Err(format!("unexpected GroupVersion string: {text}")),
        }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(&self.version)
    }
}

/// A kind in its group and version; prints as `group/version, Kind=kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// Empty for the core group.
    pub group: Str,
    /// `v1`
    pub version: Str,
    /// `Deployment`
    pub kind: Str,
}

impl GroupVersionKind {
    /// A kind in its group and version.
    pub fn new(group: impl Into<Str>, version: impl Into<Str>, kind: impl Into<Str>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// The group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion { group: self.group.clone(), version: self.version.clone() }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// A resource in its group and version; prints as `group/version, Resource=resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: Str,
    /// `v1`
    pub version: Str,
    /// `deployments`
    pub resource: Str,
}

impl GroupVersionResource {
    /// A resource in its group and version.
    pub fn new(group: impl Into<Str>, version: impl Into<Str>, resource: impl Into<Str>) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// The group and resource.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.group.clone(), resource: self.resource.clone() }
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Resource={}", self.group, self.version, self.resource)
    }
}

/// A resource in its group; prints as `resource.group`, as messages name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: Str,
    /// `deployments`
    pub resource: Str,
}

impl GroupResource {
    /// A resource in its group.
    pub fn new(group: impl Into<Str>, resource: impl Into<Str>) -> Self {
        Self { group: group.into(), resource: resource.into() }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

/// The stability of a version: alpha, beta or GA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Ga,
}

/// `v2beta1` is (Beta, 2, 1); anything else than such a name is `None`.
fn kube_version(version: &str) -> Option<(Stability, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let major = number(&rest[..digits])?;
    match &rest[digits..] {
        "" => Some((Stability::Ga, major, 0)),
        rest => {
            let (stability, minor) = if let Some(minor) = rest.strip_prefix("alpha") {
                (Stability::Alpha, minor)
            } else {
                (Stability::Beta, rest.strip_prefix("beta")?)
            };
            Some((stability, major, number(minor)?))
        }
    }
}

/// A number as version names have it: no leading zero, small enough for 64 bits.
fn number(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    plain.then(|| digits.parse().ok()).flatten()
}

/// Orders versions from the least to the most preferred: names that are no Kubernetes version
/// (`z` before `a`), then alpha, beta and GA, each by its numbers.
pub fn compare_kube_aware_versions(a: &str, b: &str) -> Ordering {
    match (kube_version(a), kube_version(b)) {
        (Some(x), Some(y)) => x.cmp(&y),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_version_has_one_slash_at_most() {
        for (text, group, version) in [
            ("v1", "", "v1"),
            ("g.io/v1", "g.io", "v1"),
            ("", "", ""),
            ("/", "", ""),
            ("g/", "g", ""),
            ("/v", "", "v"),
        ] {
            assert_eq!(GroupVersion::parse(text), Ok(GroupVersion::new(group, version)), "{text}");
        }
        assert_eq!(GroupVersion::parse("a/b/c").unwrap_err(), "unexpected GroupVersion string: a/b/c");
    }

    #[test]
    fn they_print_as_messages_name_them() {
        assert_eq!(GroupVersion::new("", "v1").to_string(), "v1");
        assert_eq!(GroupVersion::new("g", "v1").to_string(), "g/v1");
        assert_eq!(GroupVersionKind::new("", "v1", "Event").to_string(), "/v1, Kind=Event");
        assert_eq!(GroupVersionResource::new("g", "v1", "r").to_string(), "g/v1, Resource=r");
        assert_eq!(GroupResource::new("g", "r").to_string(), "r.g");
        assert_eq!(GroupResource::new("", "r").to_string(), "r");
    }

    #[test]
    fn versions_are_ordered_by_stability_and_number() {
        let mut versions = [
            "v1",
            "v10",
            "v2",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v01",
            "v1gamma",
            "v0",
        ];
        versions.sort_by(|a, b| compare_kube_aware_versions(b, a));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v3beta1",
                "v12alpha1",
                "v11alpha2",
                "foo1",
                "foo10",
                "v0",
                "v01",
                "v1gamma",
            ]
        );
    }
}
