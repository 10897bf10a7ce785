//! `matchConstraints` and `matchResources`: whether a policy or binding is about a write, and in which version.

use pleach_json::Value;
use pleach_meta::selector::LabelSelector;

use crate::request::{AdmissionRequest, GroupVersion, Operation};
use crate::rules::{Rule, selects_namespace, selects_object};

/// Selectors and rules.
#[derive(Debug)]
pub struct MatchResources {
    namespaces: LabelSelector,
    objects: LabelSelector,
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    /// Whether other versions of a resource count as the resource.
    equivalent: bool,
    /// How much there is to compare in all rules.
    work: u64,
}

impl MatchResources {
    /// Reads `matchResources`, which was validated before.
    pub fn read(value: &Value) -> Self {
        let rules = |key: &str| -> Vec<Rule> {
            value.get(key).and_then(Value::as_array).into_iter().flatten().map(Rule::read).collect()
        };
        let (rules, excluded) = (rules("resourceRules"), rules("excludeResourceRules"));
        Self {
            namespaces: selector(value.get("namespaceSelector")),
            objects: selector(value.get("objectSelector")),
            work: 1 + rules.iter().chain(&excluded).map(Rule::work).sum::<usize>() as u64,
            rules,
            excluded,
            equivalent: value.get("matchPolicy").and_then(Value::as_str) != Some("Exact"),
        }
    }

    /// Whether it is about a write, and the group and version that it is about. `others` are those that the resource is
    /// served in besides; `namespace_labels` the labels of the namespace the object is in.
    pub fn matches<'a>(
        &self,
        request: &AdmissionRequest<'a>,
        others: &[GroupVersion<'a>],
        namespace_labels: Option<&Value>,
    ) -> Option<GroupVersion<'a>> {
        pleach_work::charge(self.work);
        if !selects_namespace(&self.namespaces, request, namespace_labels)
            || !selects_object(&self.objects, request)
            || self.find(&self.excluded, request, others).is_some()
        {
            return None;
        }
        if self.rules.is_empty() {
            return Some((request.group, request.version));
        }
        self.find(&self.rules, request, others)
    }

    /// Whether rules may be about writes of a resource, before the object is known.
    pub fn concerns(
        &self,
        operation: Operation,
        (own, others): (GroupVersion<'_>, &[GroupVersion<'_>]),
        resource: &str,
        subresource: &str,
    ) -> bool {
        let mut rules = self.rules.iter().filter(|rule| rule.is_for(operation, resource, subresource));
        self.rules.is_empty()
            || rules.any(|rule| {
                rule.is_in(own) || self.equivalent && others.iter().any(|other| rule.is_in(*other))
            })
    }

    /// The resources that the rules name; none if they may be about any.
    pub fn resources(&self) -> Option<Vec<&str>> {
        let mut names = Vec::new();
        for rule in &self.rules {
            names.extend(rule.named_resources()?);
        }
        (!self.rules.is_empty()).then_some(names)
    }

    fn find<'a>(
        &self,
        rules: &[Rule],
        request: &AdmissionRequest<'a>,
        others: &[GroupVersion<'a>],
    ) -> Option<GroupVersion<'a>> {
        let own = (request.group, request.version);
        if rules.iter().any(|rule| rule.matches(request, own)) {
            return Some(own);
        }
        if !self.equivalent {
            return None;
        }
        // Earlier rules go before earlier versions.
        rules
            .iter()
            .flat_map(|rule| others.iter().map(move |other| (rule, *other)))
            .find_map(|(rule, other)| (other != own && rule.matches(request, other)).then_some(other))
    }
}

/// One that is missing selects everything, as the one it defaults to does.
pub(crate) fn selector(value: Option<&Value>) -> LabelSelector {
    match value {
        None => LabelSelector::everything(),
        value => LabelSelector::from_object(value).unwrap_or(LabelSelector::nothing()),
    }
}
