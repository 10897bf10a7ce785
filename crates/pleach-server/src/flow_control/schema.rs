//! FlowSchemas as requests are matched with them, and PriorityLevelConfigurations as levels are made of them.

use std::cmp::Ordering;

use pleach_auth::{Attributes, UserInfo};
use pleach_json::{Str, Value};

use super::queue_set::{LARGEST_HAND, Queuing};

/// The property that tells flows of one schema apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distinguisher {
    None,
    User,
    Namespace,
}

/// A FlowSchema.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) name: Str,
    pub(super) uid: Str,
    pub(super) level: Str,
    pub(super) precedence: i64,
    pub(super) distinguisher: Distinguisher,
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

#[derive(Debug)]
enum Subject {
    User(Str),
    Group(Str),
    /// The prefix of the names of all service accounts of a namespace.
    ServiceAccounts(Str),
    Anybody,
}

#[derive(Debug)]
struct ResourceRule {
    verbs: Texts,
    groups: Texts,
    resources: Texts,
    namespaces: Texts,
    cluster_scope: bool,
}

#[derive(Debug)]
struct PathRule {
    verbs: Texts,
    paths: Vec<Str>,
}

/// Texts, of which a single star stands for all.
#[derive(Debug)]
struct Texts(Option<Vec<Str>>);

impl Texts {
    fn read(rule: &Value, key: &str) -> Self {
        let texts = texts(rule, key);
        Self(if texts.len() == 1 && texts[0] == "*" { None } else { Some(texts) })
    }

    fn has(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|texts| texts.iter().any(|one| one == text))
    }

    /// Whether it has a resource with a subresource, written with a slash.
    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        if subresource.is_empty() {
            return self.has(resource);
        }
        self.0.as_ref().is_none_or(|texts| {
            texts.iter().any(|one| one.split_once('/').is_some_and(|both| both == (resource, subresource)))
        })
    }
}

fn text(value: &Value, path: &[&str]) -> Str {
    value.at(path).and_then(Value::as_str).unwrap_or_default().into()
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn texts(value: &Value, key: &str) -> Vec<Str> {
    items(value, key).filter_map(Value::as_str).map(Str::from).collect()
}

impl Schema {
    pub(super) fn read(object: &Value) -> Self {
        let empty = Value::Null;
        let spec = object.get("spec").unwrap_or(&empty);
        let distinguisher = match &*text(spec, &["distinguisherMethod", "type"]) {
            "ByUser" => Distinguisher::User,
            "ByNamespace" => Distinguisher::Namespace,
            _ => Distinguisher::None,
        };
        Self {
            name: text(object, &["metadata", "name"]),
            uid: text(object, &["metadata", "uid"]),
            level: text(spec, &["priorityLevelConfiguration", "name"]),
            precedence: spec.get("matchingPrecedence").and_then(Value::as_int).unwrap_or_default(),
            distinguisher,
            rules: items(spec, "rules").map(Rule::read).collect(),
        }
    }

    /// The order in which schemas are asked.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        (self.precedence, &self.name).cmp(&(other.precedence, &other.name))
    }

    pub(super) fn matches(&self, attributes: &Attributes<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(attributes))
    }
}

impl Rule {
    fn read(rule: &Value) -> Self {
        Self {
            subjects: items(rule, "subjects").filter_map(Subject::read).collect(),
            resources: items(rule, "resourceRules").map(ResourceRule::read).collect(),
            paths: items(rule, "nonResourceRules")
                .map(|rule| PathRule {
                    verbs: Texts::read(rule, "verbs"),
                    paths: texts(rule, "nonResourceURLs"),
                })
                .collect(),
        }
    }

    fn matches(&self, attributes: &Attributes<'_>) -> bool {
        // What costs little first.
        let concerns = if attributes.is_resource_request() {
            !self.resources.is_empty()
        } else {
            !self.paths.is_empty()
        };
        if !concerns || !self.subjects.iter().any(|subject| subject.matches(&attributes.user)) {
            return false;
        }
        let verb = attributes.verb.as_str();
        match &attributes.resource {
            Some(asked) => self.resources.iter().any(|rule| {
                rule.verbs.has(verb)
                    && rule.resources.has_resource(asked.resource, asked.subresource)
                    && rule.groups.has(asked.group)
                    && if asked.namespace.is_empty() {
                        rule.cluster_scope
                    } else {
                        rule.namespaces.has(asked.namespace)
                    }
            }),
            None => self.paths.iter().any(|rule| {
                rule.verbs.has(verb) && rule.paths.iter().any(|path| path_matches(path, attributes.path))
            }),
        }
    }
}

impl ResourceRule {
    fn read(rule: &Value) -> Self {
        Self {
            verbs: Texts::read(rule, "verbs"),
            groups: Texts::read(rule, "apiGroups"),
            resources: Texts::read(rule, "resources"),
            namespaces: Texts::read(rule, "namespaces"),
            cluster_scope: rule.get("clusterScope").and_then(Value::as_bool).unwrap_or_default(),
        }
    }
}

/// A path of a rule also stands for all below it.
fn path_matches(rule: &str, path: &str) -> bool {
    if rule == "*" || rule == path {
        return true;
    }
    let prefix = rule.strip_suffix('*').unwrap_or(rule);
    match path.strip_prefix(prefix) {
        Some(rest) => prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

impl Subject {
    fn read(subject: &Value) -> Option<Self> {
        // The member that is set says the kind.
        let of = |member: &str| subject.get(member).filter(|value| !value.is_null());
        let named = |subject: &Value| text(subject, &["name"]);
        if let Some(account) = of("serviceAccount") {
            let prefix = format!("system:serviceaccount:{}:", text(account, &["namespace"]));
            return Some(match named(account) {
                name if name == "*" => Self::ServiceAccounts(prefix.into()),
                name => Self::User((prefix + &name).into()),
            });
        }
        let (name, is_user) = match (of("user"), of("group")) {
            (Some(user), _) => (named(user), true),
            (None, Some(group)) => (named(group), false),
            (None, None) => return None,
        };
        Some(if name == "*" {
            Self::Anybody
        } else if is_user {
            Self::User(name)
        } else {
            Self::Group(name)
        })
    }

    fn matches(&self, user: &UserInfo) -> bool {
        match self {
            Self::User(name) => user.name == *name,
            Self::Group(group) => user.is_in(group),
            Self::ServiceAccounts(prefix) => user.name.starts_with(prefix.as_str()),
            Self::Anybody => true,
        }
    }
}

/// A PriorityLevelConfiguration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LevelConfig {
    pub(super) name: Str,
    pub(super) uid: Str,
    pub(super) queuing: Queuing,
    pub(super) shares: i64,
    pub(super) lendable: i64,
    pub(super) borrowing: Option<i64>,
}

impl LevelConfig {
    pub(super) fn read(object: &Value) -> Self {
        let empty = Value::Null;
        let spec = object.get("spec").unwrap_or(&empty);
        let exempt = &*text(spec, &["type"]) == "Exempt";
        let level = spec.get(if exempt { "exempt" } else { "limited" }).unwrap_or(&empty);
        let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_int);
        let size = |value: &Value, key: &str| number(value, key).and_then(|size| usize::try_from(size).ok());
        let queuing = match level.at(&["limitResponse", "queuing"]).filter(|queuing| !queuing.is_null()) {
            _ if exempt => Queuing::Exempt,
            None => Queuing::Reject,
            Some(queuing) => Queuing::Queue {
                queues: size(queuing, "queues").unwrap_or(1).max(1),
                hand: size(queuing, "handSize").unwrap_or(1).clamp(1, LARGEST_HAND),
                length: size(queuing, "queueLengthLimit").unwrap_or(1),
            },
        };
        Self {
            name: text(object, &["metadata", "name"]),
            uid: text(object, &["metadata", "uid"]),
            queuing,
            shares: number(level, "nominalConcurrencyShares").unwrap_or_default(),
            lendable: number(level, "lendablePercent").unwrap_or_default(),
            borrowing: if exempt { None } else { number(level, "borrowingLimitPercent") },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pleach_auth::{ResourceAttributes, Verb};
    use pleach_engine::kinds::flow_control::bootstrap;

    use super::*;

    fn schemas() -> Vec<Schema> {
        let mut schemas: Vec<Schema> =
            bootstrap::flow_schemas().map(|object| Schema::read(&object)).collect();
        schemas.sort_by(Schema::order);
        schemas
    }

    fn matched(user: &Arc<UserInfo>, verb: &str, what: &str) -> Str {
        let resource = match what.strip_prefix('/') {
            Some(_) => None,
            None => {
                let mut parts = what.split(':');
                let mut next = || parts.next().unwrap_or_default();
                let (group, namespace, resource, subresource) = (next(), next(), next(), next());
                Some(ResourceAttributes {
                    group,
                    namespace,
                    resource,
                    subresource,
                    ..ResourceAttributes::default()
                })
            }
        };
        let attributes = Attributes { user: user.clone(), verb: Verb::of(verb), path: what, resource };
        let found = schemas().into_iter().find(|schema| schema.matches(&attributes));
        found.expect("the last schema matches everything").name
    }

    #[test]
    fn requests_are_classified_as_upstream_does() {
        let group = |name: &str| UserInfo::authenticated("u", [Str::from(name)]);
        let named = |name: &str| UserInfo::authenticated(name, []);
        let account = |namespace: &str| {
            let name = format!("system:serviceaccount:{namespace}:a");
            UserInfo::authenticated(name, [Str::from("system:serviceaccounts")])
        };
        for (user, verb, what, want) in [
            (group("system:masters"), "delete", "g:n:foos", "exempt"),
            (group("system:masters"), "get", "/healthz", "exempt"),
            (named("u"), "get", "/healthz", "probes"),
            (named("u"), "get", "/healthz/etcd", "probes"),
            (named("u"), "get", "/healthzz", "global-default"),
            (UserInfo::anonymous(), "get", "/livez", "probes"),
            (named("u"), "get", "g:n:foos", "global-default"),
            (named("u"), "list", "g::foos", "global-default"),
            (UserInfo::anonymous(), "get", "g:n:foos", "global-default"),
            (account("default"), "list", "g::foos", "service-accounts"),
            (account("kube-system"), "list", "g::foos", "kube-system-service-accounts"),
            (account("kube-system"), "update", "coordination.k8s.io:n:leases", "system-leader-election"),
            (
                account("kube-system"),
                "delete",
                "coordination.k8s.io:n:leases",
                "kube-system-service-accounts",
            ),
            (named("system:kube-scheduler"), "get", "coordination.k8s.io:n:leases", "system-leader-election"),
            (named("system:kube-scheduler"), "list", ":n:pods", "kube-scheduler"),
            (group("system:nodes"), "patch", "::nodes:status", "system-node-high"),
            (group("system:nodes"), "patch", "::nodes:proxy", "system-nodes"),
            (group("system:nodes"), "get", ":n:pods", "system-nodes"),
        ] {
            assert_eq!(matched(&user, verb, what), want, "{} {verb} {what}", user.name);
        }
    }

    #[test]
    fn levels_are_read() {
        let levels: Vec<LevelConfig> =
            bootstrap::priority_levels().map(|object| LevelConfig::read(&object)).collect();
        let of = |name: &str| levels.iter().find(|level| level.name == name).unwrap().queuing;
        assert_eq!(of("exempt"), Queuing::Exempt);
        assert_eq!(of("catch-all"), Queuing::Reject);
        assert_eq!(of("global-default"), Queuing::Queue { queues: 128, hand: 6, length: 50 });
    }
}
