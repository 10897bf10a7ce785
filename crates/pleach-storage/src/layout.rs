//! Where kube-apiserver keeps the objects of each resource (its "resource prefixes").
//!
//! Built-in resources are under their plural, without their group; a few kept an older name. Resources of the
//! servers that kube-apiserver delegates to (CRDs, APIServices) and custom resources are under group and plural.

use std::collections::HashMap;

use pleach_engine::keys;
use pleach_pipeline::gates::Gates;
use pleach_pipeline::kind::Kind;
use pleach_pipeline::kinds::{self, api_service, crd};

use crate::value::Encoding;

/// Groups whose objects are kept as JSON under group and plural.
const DELEGATED: [&str; 2] = [crd::GROUP, api_service::GROUP];

/// A built-in resource.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) kind: Kind,
    pub(crate) encoding: Encoding,
    /// The rest after the root in keys of the store and in keys of etcd. Both end in a slash.
    ours: String,
    theirs: String,
}

/// The built-in resources, by their prefixes.
#[derive(Debug)]
pub(crate) struct Layout {
    resources: Vec<BuiltIn>,
    by_ours: HashMap<String, usize>,
    by_theirs: HashMap<String, usize>,
}

impl Layout {
    pub(crate) fn new() -> Self {
        // Events of both groups are stored as events of the core group.
        let stored = kinds::all(Gates::default()).filter(|kind| kind.group == kind.storage_group);
        let resources: Vec<BuiltIn> = stored.map(built_in).collect();
        let index = |prefix: fn(&BuiltIn) -> &String| {
            resources.iter().enumerate().map(|(at, resource)| (prefix(resource).clone(), at)).collect()
        };
        let (by_ours, by_theirs) = (index(|resource| &resource.ours), index(|resource| &resource.theirs));
        Self { resources, by_ours, by_theirs }
    }

    /// The built-in resource of a key, by the rest after the root.
    pub(crate) fn built_in(&self, ours: &str) -> Option<&BuiltIn> {
        self.by_ours.get(&ours[..after(ours, 2)?]).map(|at| &self.resources[*at])
    }

    /// The rest after the root in etcd, in two parts, for the rest in keys of the store.
    pub(crate) fn etcd_key<'a>(&'a self, ours: &'a str) -> (&'a str, &'a str) {
        let (prefix, rest) = ours.split_at(after(ours, 2).unwrap_or(0));
        (self.built_in(ours).map_or(prefix, |resource| &resource.theirs), rest)
    }

    /// The way back; `None` for resources that are not served here.
    pub(crate) fn our_key<'a>(&'a self, theirs: &'a str) -> Option<(&'a str, &'a str)> {
        for parts in 1..=2 {
            let (prefix, rest) = theirs.split_at(after(theirs, parts)?);
            if let Some(at) = self.by_theirs.get(prefix) {
                return Some((&self.resources[*at].ours, rest));
            }
        }
        // A group of CRDs has a dot; the name of a built-in resource has none.
        let (prefix, rest) = theirs.split_at(after(theirs, 2)?);
        let group = prefix.split('/').next().unwrap_or_default();
        (group.contains('.') && !self.by_ours.contains_key(prefix)).then_some((prefix, rest))
    }
}

fn built_in(kind: Kind) -> BuiltIn {
    let (group, plural) = (kind.group.as_str(), kind.plural.as_str());
    let ours = keys::prefix(group, plural, None).split_off(keys::ROOT.len());
    let theirs = match kind.strategy.etcd_prefix() {
        Some(prefix) => format!("{prefix}/"),
        None if DELEGATED.contains(&group) => ours.clone(),
        None => format!("{plural}/"),
    };
    let encoding = match group {
        crd::GROUP => Encoding::Definition,
        _ if DELEGATED.contains(&group) => Encoding::Json,
        _ => Encoding::Protobuf,
    };
    BuiltIn { kind, encoding, ours, theirs }
}

/// The position after so many parts with their slashes.
fn after(text: &str, parts: usize) -> Option<usize> {
    text.match_indices('/').nth(parts - 1).map(|(at, _)| at + 1)
}
