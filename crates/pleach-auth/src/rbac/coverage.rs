//! Coverage: whether the rules that a user grants are among the rules that the user has.

use std::collections::BTreeSet;

use pleach_json::Str;

use super::index::quoted;
use super::rule::{PolicyRule, url_covers};

/// The steps that a missing part is charged: some hundred bytes of memory in each of its forms, up to the message.
const MISSING: u64 = 800;
/// How many texts are compared in a step.
const TEXTS_PER_STEP: u64 = 4;

/// The parts of `wanted` that no single rule of `owned` covers, each with one verb.
pub fn missing_rules<'a>(
    owned: impl Iterator<Item = &'a PolicyRule> + Clone,
    wanted: &[PolicyRule],
) -> Vec<PolicyRule> {
    let mut missing = Vec::new();
    for rule in wanted {
        each_part(rule, &mut |part| {
            pleach_work::charge(10);
            let covering = owned.clone().find(|own| {
                pleach_work::charge(1 + own.work() / TEXTS_PER_STEP);
                covers(own, &part)
            });
            if covering.is_none() {
                pleach_work::charge(MISSING);
                missing.push(part);
            }
        });
    }
    missing
}

/// Breaks a rule into parts with one group, resource, name and verb, or one path and verb.
fn each_part(rule: &PolicyRule, to: &mut impl FnMut(PolicyRule)) {
    let one = |text: &Str| vec![text.clone()];
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part = PolicyRule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..PolicyRule::default()
                };
                if rule.resource_names.is_empty() {
                    to(part);
                    continue;
                }
                for name in &rule.resource_names {
                    to(PolicyRule { resource_names: one(name), ..part.clone() });
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        for verb in &rule.verbs {
            to(PolicyRule { verbs: one(verb), non_resource_urls: one(url), ..PolicyRule::default() });
        }
    }
}

fn covers(own: &PolicyRule, part: &PolicyRule) -> bool {
    let has_all = |own: &[Str], part: &[Str]| {
        part.iter().all(|text| own.iter().any(|item| item == "*" || item == text))
    };
    let names = if part.resource_names.is_empty() {
        own.resource_names.is_empty()
    } else {
        own.resource_names.is_empty() || part.resource_names.iter().all(|n| own.resource_names.contains(n))
    };
    has_all(&own.verbs, &part.verbs)
        && has_all(&own.api_groups, &part.api_groups)
        && part.resources.iter().all(|resource| resource_covered(&own.resources, resource))
        && names
        && part.non_resource_urls.iter().all(|url| own.non_resource_urls.iter().any(|o| url_covers(o, url)))
}

fn resource_covered(own: &[Str], resource: &str) -> bool {
    own.iter().any(|rule| {
        rule == "*"
            || rule == resource
            || rule
                .strip_prefix("*/")
                .is_some_and(|sub| resource.split_once('/').is_some_and(|(_, asked)| asked == sub))
    })
}

/// The missing parts as the message of a refusal lists them: verbs of equal parts merged, lines sorted.
pub fn describe_missing(missing: &[PolicyRule]) -> String {
    let mut merged: Vec<PolicyRule> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for part in missing {
        let is_resource = part.non_resource_urls.is_empty();
        let key = (part.api_groups.clone(), part.resources.clone(), part.resource_names.clone());
        match places.get(&key).filter(|_| is_resource) {
            Some(at) => {
                let rule: &mut PolicyRule = &mut merged[*at];
                rule.verbs.extend(part.verbs.iter().cloned());
            }
            None => {
                if is_resource {
                    places.insert(key, merged.len());
                }
                merged.push(part.clone());
            }
        }
    }
    let lines: BTreeSet<String> = merged.iter().map(line).collect();
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

fn line(rule: &PolicyRule) -> String {
    let parts = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let parts = parts.iter().filter(|(_, list)| !list.is_empty());
    let parts: Vec<String> = parts.map(|(name, list)| format!("{name}:{}", quoted_list(list))).collect();
    format!("{{{}}}", parts.join(", "))
}

/// A list of texts as Go's `%q` writes it.
fn quoted_list(list: &[Str]) -> String {
    let texts: Vec<String> = list.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(" "))
}
