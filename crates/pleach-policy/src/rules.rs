//! Rules and selectors of webhooks and policies: which writes they match.

use pleach_json::{Map, Str, Value};
use pleach_meta::selector::LabelSelector;
use pleach_pipeline::kinds::namespace;

use crate::request::{AdmissionRequest, GroupVersion, Operation};

/// Operations on resources.
#[derive(Debug)]
pub struct Rule {
    operations: Vec<Str>,
    groups: Vec<Str>,
    versions: Vec<Str>,
    resources: Vec<(Str, Str)>,
    /// Names that the rule is limited to; none for all.
    names: Vec<Str>,
    scope: Scope,
}

#[derive(Debug)]
enum Scope {
    Any,
    Cluster,
    Namespaced,
}

impl Rule {
    /// Reads a rule.
    pub fn read(rule: &Value) -> Self {
        let list = |key: &str| texts(rule, key).map(Str::from).collect();
        let resource = |text: &str| {
            let (resource, subresource) = text.split_once('/').unwrap_or((text, ""));
            (resource.into(), subresource.into())
        };
        Self {
            operations: list("operations"),
            groups: list("apiGroups"),
            versions: list("apiVersions"),
            resources: texts(rule, "resources").map(resource).collect(),
            names: list("resourceNames"),
            scope: match rule.get("scope").and_then(Value::as_str) {
                Some("Cluster") => Scope::Cluster,
                Some("Namespaced") => Scope::Namespaced,
                _ => Scope::Any,
            },
        }
    }

    /// How much there is to compare.
    pub fn work(&self) -> usize {
        1 + self.names.len()
            + self.operations.len()
            + self.groups.len()
            + self.versions.len()
            + self.resources.len()
    }

    /// Whether the rule is about a write, seen as one of this group and version.
    pub fn matches(&self, request: &AdmissionRequest<'_>, seen: GroupVersion<'_>) -> bool {
        self.fits_scope(request)
            && self.is_for(request.operation, request.resource, request.subresource)
            && self.is_in(seen)
            && (self.names.is_empty() || self.names.contains(&request.name))
    }

    /// The resources it names, if it names them all.
    pub fn named_resources(&self) -> Option<impl Iterator<Item = &str>> {
        let named = self.resources.iter().all(|(resource, _)| resource != "*");
        named.then(|| self.resources.iter().map(|(resource, _)| resource.as_str()))
    }

    /// Whether the rule is about an operation on a resource of that name.
    pub fn is_for(&self, operation: Operation, resource: &str, subresource: &str) -> bool {
        lists(&self.operations, operation.as_str())
            && self.resources.iter().any(|(r, s)| is(r, resource) && is(s, subresource))
    }

    /// Whether the rule is about a group and version.
    pub fn is_in(&self, (group, version): GroupVersion<'_>) -> bool {
        lists(&self.groups, group) && lists(&self.versions, version)
    }

    /// A namespace is in no namespace, although requests for one name it.
    fn fits_scope(&self, request: &AdmissionRequest<'_>) -> bool {
        let namespaced = !request.namespace.is_empty() && !is_namespace(request);
        match self.scope {
            Scope::Any => true,
            Scope::Cluster => !namespaced,
            Scope::Namespaced => namespaced,
        }
    }
}

fn lists(list: &[Str], text: &str) -> bool {
    list.iter().any(|listed| is(listed, text))
}

fn is(pattern: &str, text: &str) -> bool {
    pattern == "*" || pattern == text
}

fn is_namespace(request: &AdmissionRequest<'_>) -> bool {
    (request.group, request.resource) == (namespace::GROUP, namespace::PLURAL)
}

/// Whether the new or the old object is selected.
pub fn selects_object(selector: &LabelSelector, request: &AdmissionRequest<'_>) -> bool {
    selector.is_everything()
        || [request.object, request.old].into_iter().flatten().any(|o| selector.matches(labels(o)))
}

/// Whether the namespace of a request is selected. Cluster-scoped objects always are, except for a
/// namespace itself: its own labels count, the new ones for a write that changes them.
pub fn selects_namespace(
    selector: &LabelSelector,
    request: &AdmissionRequest<'_>,
    namespace_labels: Option<&Value>,
) -> bool {
    if selector.is_everything() {
        return true;
    }
    if is_namespace(request) {
        let changes = request.operation != Operation::Delete && request.subresource.is_empty();
        let object = if changes { request.object } else { request.old };
        return selector.matches(object.and_then(labels));
    }
    request.namespace.is_empty() || selector.matches(namespace_labels.and_then(Value::as_object))
}

/// The texts in a list.
pub fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn labels(object: &Value) -> Option<&Map> {
    object.at(&["metadata", "labels"]).and_then(Value::as_object)
}
