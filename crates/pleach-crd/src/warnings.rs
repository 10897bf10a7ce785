//! Warnings for writes of CRDs, and deprecation warnings of versions.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use pleach_go::strconv::quote;
use pleach_json::Str;
use pleach_meta::group_version::compare_kube_aware_versions;
use pleach_schema::formats::{Compat, is_recognised};

use crate::types::{Crd, CrdSpec, Version};

/// Warns of formats that this server does not know and that the old CRD did not have, each once.
pub fn warnings(new: &Crd, old: Option<&Crd>, compat: Compat) -> Vec<String> {
    let mut formats = unrecognised_formats(&new.spec, compat);
    if !formats.is_empty()
        && let Some(old) = old
    {
        let known = unrecognised_formats(&old.spec, compat);
        formats.retain(|format| !known.contains(format));
    }
    formats.iter().map(|format| format!("unrecognized format {}", quote(format))).collect()
}

/// The warning of every request for a deprecated version: the version's own text, or one that
/// names what to use instead. `kind` is the accepted name.
pub fn deprecation_warning(spec: &CrdSpec, kind: &str, version: &Version) -> Option<Str> {
    if !version.deprecated {
        return None;
    }
    if let Some(own) = &version.deprecation_warning {
        return Some(own.clone());
    }
    let group = &spec.group;
    let better = spec
        .versions()
        .iter()
        .filter(|other| other.served && !other.deprecated)
        .filter(|other| compare_kube_aware_versions(&other.name, &version.name) == Ordering::Greater)
        .max_by(|a, b| compare_kube_aware_versions(&a.name, &b.name));
    let advice = better.map(|better| format!("; use {group}/{} {kind}", better.name)).unwrap_or_default();
    Some(format!("{group}/{} {kind} is deprecated{advice}", version.name).into())
}

fn unrecognised_formats(spec: &CrdSpec, compat: Compat) -> BTreeSet<Str> {
    let mut out = BTreeSet::new();
    for schema in spec.schemas() {
        schema.any_node(&mut |node| {
            let format = &node.value().format;
            if !format.is_empty() && !is_recognised(&node.type_, node.x_int_or_string, format, compat) {
                out.insert(format.clone());
            }
            false
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::decode::{Options, decode};
    use crate::types::ApiVersion;

    fn crd(formats: &[&str]) -> Crd {
        let properties: pleach_json::Map =
            formats.iter().map(|f| ((*f).into(), json!({"type": "string", "format": (*f)}))).collect();
        let document = json!({"spec": {"versions": [{"name": "v1", "storage": true, "schema": {
            "openAPIV3Schema": {"type": "object", "properties": properties}}}]}});
        decode(&document, ApiVersion::V1, Options::default()).unwrap().crd
    }

    #[test]
    fn a_deprecated_version_names_a_better_one() {
        let document = json!({"spec": {"group": "g", "versions": [
            {"name": "v1alpha1", "served": true, "deprecated": true},
            {"name": "v1beta1", "served": true, "deprecated": true, "deprecationWarning": "go away"},
            {"name": "v1beta2", "served": true},
            {"name": "v1", "served": true, "storage": true},
            {"name": "v2", "served": false},
            {"name": "v3", "served": true, "deprecated": true},
        ]}});
        let spec = decode(&document, ApiVersion::V1, Options::default()).unwrap().crd.spec;
        for (name, want) in [
            ("v1alpha1", Some("g/v1alpha1 K is deprecated; use g/v1 K")),
            ("v1beta1", Some("go away")),
            ("v1", None),
            ("v3", Some("g/v3 K is deprecated")),
        ] {
            let version = spec.version_named(name).unwrap();
            assert_eq!(deprecation_warning(&spec, "K", version).as_deref(), want, "{name}");
        }
    }

    #[test]
    fn new_unknown_formats_warn() {
        let new = crd(&["date-time", "zz", "int32", "uuid"]);
        assert_eq!(
            warnings(&new, None, Compat::DEFAULT),
            ["unrecognized format \"int32\"", "unrecognized format \"zz\""],
            "int32 is none for strings"
        );
        assert_eq!(warnings(&new, Some(&crd(&["zz"])), Compat::DEFAULT), ["unrecognized format \"int32\""]);
        assert!(warnings(&crd(&["date"]), None, Compat::DEFAULT).is_empty());
    }
}
