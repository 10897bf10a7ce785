//! The FlowSchemas and PriorityLevelConfigurations that are there from the beginning.
//!
//! `exempt` and `catch-all` are mandatory: their specs are fixed. The others are suggestions, which an administrator
//! may change.

use pleach_json::{Value, json};

use super::{AUTO_UPDATE, GROUP};

/// A priority level: name, shares, percentage that it lends, queues and hand size; none of either for one that rejects.
type Level = (&'static str, i64, i64, Option<(i64, i64)>);

const LEVELS: [Level; 7] = [
    ("catch-all", 5, 0, None),
    ("system", 30, 33, Some((64, 6))),
    ("node-high", 40, 25, Some((64, 6))),
    ("leader-election", 10, 0, Some((16, 4))),
    ("workload-high", 40, 50, Some((128, 6))),
    ("workload-low", 100, 90, Some((128, 6))),
    ("global-default", 20, 50, Some((128, 6))),
];

/// Names of objects whose specs are fixed.
const MANDATORY: [&str; 2] = ["exempt", "catch-all"];

const EVERYBODY: &[Subject] =
    &[Subject::Group("system:unauthenticated"), Subject::Group("system:authenticated")];
const KUBE_SYSTEM: Subject = Subject::ServiceAccounts("kube-system");

#[derive(Clone, Copy)]
enum Subject {
    Group(&'static str),
    User(&'static str),
    /// All service accounts of a namespace.
    ServiceAccounts(&'static str),
}

/// Which requests of its subjects a schema is about.
#[derive(Clone, Copy)]
enum Requests {
    All,
    Paths(&'static [&'static str]),
    /// Verbs, group, resources, whether also outside namespaces.
    Resources(&'static [(&'static [&'static str], &'static str, &'static [&'static str], bool)]),
}

/// A flow schema: name, priority level, precedence, what distinguishes flows, subjects, requests.
type Schema = (&'static str, &'static str, i64, &'static str, &'static [Subject], Requests);

const SCHEMAS: [Schema; 11] = [
    ("exempt", "exempt", 1, "", &[Subject::Group("system:masters")], Requests::All),
    ("catch-all", "catch-all", 10_000, "ByUser", EVERYBODY, Requests::All),
    ("system-nodes", "system", 500, "ByUser", &[Subject::Group("system:nodes")], Requests::All),
    (
        "system-node-high",
        "node-high",
        400,
        "ByUser",
        &[Subject::Group("system:nodes")],
        Requests::Resources(&[
            (&["*"], "", &["nodes", "nodes/status"], true),
            (&["*"], "coordination.k8s.io", &["leases"], false),
        ]),
    ),
    ("probes", "exempt", 2, "", EVERYBODY, Requests::Paths(&["/healthz", "/readyz", "/livez"])),
    (
        "system-leader-election",
        "leader-election",
        100,
        "ByUser",
        &[
            Subject::User("system:kube-controller-manager"),
            Subject::User("system:kube-scheduler"),
            KUBE_SYSTEM,
        ],
        Requests::Resources(&[(&["get", "create", "update"], "coordination.k8s.io", &["leases"], false)]),
    ),
    (
        "kube-controller-manager",
        "workload-high",
        800,
        "ByNamespace",
        &[Subject::User("system:kube-controller-manager")],
        Requests::All,
    ),
    (
        "kube-scheduler",
        "workload-high",
        800,
        "ByNamespace",
        &[Subject::User("system:kube-scheduler")],
        Requests::All,
    ),
    ("kube-system-service-accounts", "workload-high", 900, "ByNamespace", &[KUBE_SYSTEM], Requests::All),
    (
        "service-accounts",
        "workload-low",
        9000,
        "ByUser",
        &[Subject::Group("system:serviceaccounts")],
        Requests::All,
    ),
    ("global-default", "global-default", 9900, "ByUser", EVERYBODY, Requests::All),
];

/// Whether the spec of an object of this name is fixed.
pub fn is_mandatory(name: &str) -> bool {
    MANDATORY.contains(&name)
}

/// All PriorityLevelConfigurations.
pub fn priority_levels() -> impl Iterator<Item = Value> {
    let exempt = json!({"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}});
    let limited = LEVELS.into_iter().map(|(name, shares, lendable, queues)| {
        let response = match queues {
            None => json!({"type": "Reject"}),
            Some((queues, hand)) => json!({
                "type": "Queue",
                "queuing": {"queues": (queues), "handSize": (hand), "queueLengthLimit": 50},
            }),
        };
        let limited = json!({
            "nominalConcurrencyShares": (shares), "lendablePercent": (lendable), "limitResponse": (response),
        });
        object("PriorityLevelConfiguration", name, json!({"type": "Limited", "limited": (limited)}))
    });
    std::iter::once(object("PriorityLevelConfiguration", "exempt", exempt)).chain(limited)
}

/// All FlowSchemas.
pub fn flow_schemas() -> impl Iterator<Item = Value> {
    SCHEMAS.into_iter().map(|(name, level, precedence, distinguisher, subjects, requests)| {
        let subjects: Vec<Value> = subjects.iter().copied().map(subject).collect();
        let mut rule = json!({"subjects": (subjects)});
        let all = || vec![Value::from("*")];
        if let Some(members) = rule.as_object_mut() {
            match requests {
                Requests::All => {
                    members.insert(
                        "resourceRules",
                        json!([{
                            "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true,
                            "namespaces": (all()),
                        }]),
                    );
                    members.insert("nonResourceRules", json!([{"verbs": ["*"], "nonResourceURLs": (all())}]));
                }
                Requests::Paths(paths) => {
                    let rule = json!({"verbs": ["get"], "nonResourceURLs": (texts(paths))});
                    members.insert("nonResourceRules", vec![rule]);
                }
                Requests::Resources(rules) => {
                    let rules: Vec<Value> = rules.iter().copied().map(resource_rule).collect();
                    members.insert("resourceRules", rules);
                }
            }
        }
        let mut spec = json!({
            "priorityLevelConfiguration": {"name": (level)}, "matchingPrecedence": (precedence), "rules": [(rule)],
        });
        if let Some(members) = spec.as_object_mut().filter(|_| !distinguisher.is_empty()) {
            members.insert("distinguisherMethod", json!({"type": (distinguisher)}));
        }
        object("FlowSchema", name, spec)
    })
}

fn resource_rule((verbs, group, resources, cluster): (&[&str], &str, &[&str], bool)) -> Value {
    let mut rule = json!({
        "verbs": (texts(verbs)), "apiGroups": [(group)], "resources": (texts(resources)), "namespaces": ["*"],
    });
    if let Some(members) = rule.as_object_mut().filter(|_| cluster) {
        members.insert("clusterScope", true);
    }
    rule
}

fn texts(list: &[&str]) -> Vec<Value> {
    list.iter().map(|text| Value::from(*text)).collect()
}

fn subject(subject: Subject) -> Value {
    match subject {
        Subject::Group(name) => json!({"kind": "Group", "group": {"name": (name)}}),
        Subject::User(name) => json!({"kind": "User", "user": {"name": (name)}}),
        Subject::ServiceAccounts(namespace) => {
            json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": (namespace), "name": "*"}})
        }
    }
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": (format!("{GROUP}/v1")), "kind": (kind),
        "metadata": {"name": (name), "annotations": {(AUTO_UPDATE): "true"}},
        "spec": (spec),
    })
}

fn named(mut objects: impl Iterator<Item = Value>, name: &str) -> Option<Value> {
    if !is_mandatory(name) {
        return None;
    }
    objects.find(|object| object.at(&["metadata", "name"]).and_then(Value::as_str) == Some(name))
}

/// The mandatory FlowSchema of a name.
pub fn mandatory_flow_schema(name: &str) -> Option<Value> {
    named(flow_schemas(), name)
}

/// The mandatory PriorityLevelConfiguration of a name.
pub fn mandatory_priority_level(name: &str) -> Option<Value> {
    named(priority_levels(), name)
}
