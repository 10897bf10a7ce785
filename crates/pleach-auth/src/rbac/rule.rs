//! A policy rule, and which requests it allows.

use pleach_json::Str;

use crate::attributes::{Attributes, ResourceAttributes};

/// A `PolicyRule` of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRule {
    /// Verbs; `*` stands for all.
    pub verbs: Vec<Str>,
    /// API groups; `*` stands for all.
    pub api_groups: Vec<Str>,
    /// Resources; `*` stands for all, `*/sub` for a subresource of all.
    pub resources: Vec<Str>,
    /// Names; empty for all.
    pub resource_names: Vec<Str>,
    /// Paths of other requests; a star at the end stands for any rest.
    pub non_resource_urls: Vec<Str>,
}

impl PolicyRule {
    /// How many texts there are to compare.
    pub(super) fn work(&self) -> u64 {
        let lists =
            [&self.verbs, &self.api_groups, &self.resources, &self.resource_names, &self.non_resource_urls];
        1 + lists.iter().map(|list| list.len() as u64).sum::<u64>()
    }

    /// Whether the rule allows a request.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !has(&self.verbs, attributes.verb.as_str()) {
            return false;
        }
        match &attributes.resource {
            Some(resource) => self.allows_resource(resource),
            None => self.non_resource_urls.iter().any(|url| url_covers(url, attributes.path)),
        }
    }

    fn allows_resource(&self, asked: &ResourceAttributes<'_>) -> bool {
        has(&self.api_groups, asked.group)
            && self.resources.iter().any(|rule| resource_matches(rule, asked.resource, asked.subresource))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|name| *name == *asked.name))
    }
}

/// Whether a list has a text or `*`.
fn has(list: &[Str], text: &str) -> bool {
    list.iter().any(|item| item == "*" || item == text)
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    let Some(before) = rule.strip_suffix(subresource).and_then(|before| before.strip_suffix('/')) else {
        return false;
    };
    before == "*" || before == resource
}

/// Whether a path of a rule covers another path.
pub(super) fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}
