//! Differences between two CRDs that users of the API notice, rule by rule.
//!
//! A change is breaking when an object that was accepted may be refused, or loses data
//! silently. A breaking change has such an object as its witness, where one is found: constructed for the change, and
//! checked with the engine against both CRDs.

mod schema;
#[cfg(test)]
mod tests;
mod values;
mod witness;

use pleach_json::Value;

use crate::catalog::{DefinedVersion, Definition};
use witness::Witnesses;

/// The effect of a change for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Objects or clients that worked may stop working.
    Breaking,
    /// Nothing is refused, but something means something else.
    Caution,
    /// Everything that worked still does.
    Safe,
}

impl Severity {
    /// The word in all outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Caution => "caution",
            Self::Safe => "safe",
        }
    }
}

/// An object that was accepted before, and the server's error about it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The object.
    pub object: Value,
    /// The server's error, or the fields that are dropped.
    pub answer: String,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The effect.
    pub severity: Severity,
    /// The kind of change, a stable word.
    pub rule: &'static str,
    /// The version it is about; empty for the CRD as a whole.
    pub version: String,
    /// The field; empty for the version as a whole.
    pub path: String,
    /// The description of the change.
    pub message: String,
    /// The proof.
    pub witness: Option<Witness>,
}

impl Change {
    fn whole(severity: Severity, rule: &'static str, version: &str, message: String) -> Self {
        Self { severity, rule, version: version.to_owned(), path: String::new(), message, witness: None }
    }
}

/// All changes from one CRD to another, the worst first.
pub fn diff(old: &Definition, new: &Definition) -> Vec<Change> {
    let mut out = Vec::new();
    names(old, new, &mut out);
    for version in &old.versions {
        versions(old, new, version, &mut out);
    }
    for version in new.versions.iter().filter(|v| old.version(&v.name).is_none()) {
        out.push(Change::whole(Severity::Safe, "version-added", &version.name, "a new version".into()));
    }
    out.sort_by_key(|change| change.severity);
    out
}

/// The properties of a kind as a whole.
fn names(old: &Definition, new: &Definition, out: &mut Vec<Change>) {
    let (a, b) = (&old.crd.spec, &new.crd.spec);
    let mut changed = |rule, from: &str, to: &str, what: &str| {
        if from != to {
            let text = format!("{what} changes from {from} to {to}");
            let mut change = Change::whole(Severity::Breaking, rule, "", text);
            change.witness = old.main_version().and_then(|version| gone(old, version));
            out.push(change);
        }
    };
    changed("group", &a.group, &b.group, "the group");
    changed("kind", &a.names.kind, &b.names.kind, "the kind");
    changed("plural", &a.names.plural, &b.names.plural, "the resource");
    changed("scope", &a.scope, &b.scope, "the scope");
    for name in a.names.short_names().iter().filter(|name| !b.names.short_names().contains(name)) {
        out.push(Change::whole(
            Severity::Caution,
            "short-name-removed",
            "",
            format!("the short name {name} is gone"),
        ));
    }
    let (from, to) = (a.storage_version().map(|v| &v.name), b.storage_version().map(|v| &v.name));
    if let (Some(from), Some(to)) = (from, to)
        && from != to
    {
        let text =
            format!("objects are stored as {to}, no longer as {from}: both must stay until all are migrated");
        out.push(Change::whole(Severity::Caution, "storage-version", to, text));
    }
    let strategy =
        |spec: &pleach_crd::CrdSpec| spec.conversion.as_ref().map(|c| c.strategy.clone()).unwrap_or_default();
    if strategy(a) != strategy(b) {
        let text = format!("conversion changes from {} to {}", strategy(a), strategy(b));
        out.push(Change::whole(Severity::Caution, "conversion", "", text));
    }
    if a.preserves_unknown_fields() && !b.preserves_unknown_fields() {
        let text = "unknown fields are pruned now, everywhere".to_owned();
        let mut change = Change::whole(Severity::Breaking, "preserve-unknown-fields", "", text);
        let versions = old.main_version().and_then(|v| Some((v, new.version(&v.name)?)));
        if let Some((old_version, new_version)) = versions {
            let witnesses = Witnesses { old, old_version, new_version };
            change.witness = witnesses.pruned(&[], "kept".into());
        }
        out.push(change);
    }
}

/// An object that has no place any more.
fn gone(old: &Definition, version: &DefinedVersion) -> Option<Witness> {
    let witnesses = Witnesses { old, old_version: version, new_version: version };
    witnesses.any("the server could not find the requested resource")
}

fn versions(old: &Definition, new: &Definition, version: &DefinedVersion, out: &mut Vec<Change>) {
    let name = &version.name;
    let Some(other) = new.version(name) else {
        let served = version.served;
        let severity = if served { Severity::Breaking } else { Severity::Caution };
        let mut change = Change::whole(severity, "version-removed", name, "the version is gone".into());
        change.witness = gone(old, version).filter(|_| served);
        out.push(change);
        return;
    };
    match (version.served, other.served) {
        (true, false) => {
            let text = "the version is no longer served".to_owned();
            let mut change = Change::whole(Severity::Breaking, "version-unserved", name, text);
            change.witness = gone(old, version);
            out.push(change);
        }
        (false, true) => {
            out.push(Change::whole(
                Severity::Safe,
                "version-served",
                name,
                "the version is served now".into(),
            ));
        }
        _ => {}
    }
    let lost = |had: bool, has: bool| had && !has;
    for (what, had, has) in [
        ("/status", version.status, other.status),
        ("/scale", version.scale.is_some(), other.scale.is_some()),
    ] {
        if lost(had, has) {
            let text = format!("{what} is gone: clients that use it get 404");
            out.push(Change::whole(Severity::Breaking, "subresource-removed", name, text));
        } else if lost(has, had) {
            let text = match what {
                "/status" => {
                    "/status is new: writes to the object itself no longer change its status".to_owned()
                }
                _ => format!("{what} is new"),
            };
            let severity = if what == "/status" { Severity::Caution } else { Severity::Safe };
            out.push(Change::whole(severity, "subresource-added", name, text));
        }
    }
    let fields = |definition: &Definition| -> Vec<pleach_json::Str> {
        let Some(version) = definition.crd.spec.version_named(name) else { return Vec::new() };
        definition.crd.spec.selectable_fields_of(version).iter().map(|f| f.json_path.clone()).collect()
    };
    let kept = fields(new);
    for field in fields(old).into_iter().filter(|field| !kept.contains(field)) {
        let text = format!("{field} can no longer be selected by");
        out.push(Change::whole(Severity::Breaking, "selectable-field-removed", name, text));
    }
    let witnesses = Witnesses { old, old_version: version, new_version: other };
    schema::compare(&witnesses, out);
}
