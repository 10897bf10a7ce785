//! From audit events to roles: requests by user and namespace, merged into few rules.

use std::collections::{BTreeMap, BTreeSet};

use pleach_json::{Map, Value, json};

/// The API group of roles.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Requests that every authenticated user may make, by the bootstrap roles.
const BASIC: [(&str, &str); 3] = [
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
];
const BASIC_PATHS: [&str; 7] = ["/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"];

/// A verb on a resource, in a namespace or in none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Access {
    /// Empty for the cluster scope.
    pub namespace: String,
    /// The API group.
    pub group: String,
    /// The resource, with its subresource.
    pub resource: String,
    /// The verb.
    pub verb: String,
}

/// The requests of a user.
#[derive(Debug, Default)]
pub(super) struct UserAccess {
    /// With the names of the objects; empty for requests without one.
    pub resources: BTreeMap<Access, BTreeSet<String>>,
    /// Paths and verbs.
    pub paths: BTreeSet<(String, String)>,
}

/// The requests of an audit log, by user.
#[derive(Debug)]
pub(super) struct Observed {
    wanted: Vec<String>,
    include_forbidden: bool,
    /// By user.
    pub users: BTreeMap<String, UserAccess>,
}

impl Observed {
    /// Looks at some users; at all if there are none.
    pub(super) fn new(wanted: Vec<String>, include_forbidden: bool) -> Self {
        Self { wanted, include_forbidden, users: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Takes in an event. Stages of one request are the same access.
    pub(super) fn add(&mut self, event: &Value) {
        let text = |path: &[&str]| event.at(path).and_then(Value::as_str).unwrap_or_default();
        let user = match text(&["impersonatedUser", "username"]) {
            "" => text(&["user", "username"]),
            impersonated => impersonated,
        };
        if user.is_empty() || text(&["stage"]) == "RequestReceived" {
            return;
        }
        if !self.wanted.is_empty() && !self.wanted.iter().any(|wanted| wanted == user) {
            return;
        }
        let decision = event.at(&["annotations", "authorization.k8s.io/decision"]).and_then(Value::as_str);
        let code = event.at(&["responseStatus", "code"]).and_then(Value::as_int).unwrap_or_default();
        let is_forbidden = match decision {
            Some(decision) => decision == "forbid",
            None => code == 403,
        };
        if code == 401 || (is_forbidden && !self.include_forbidden) {
            return;
        }
        let verb = text(&["verb"]);
        let Some(reference) = event.get("objectRef").filter(|reference| !reference.is_null()) else {
            let path = text(&["requestURI"]).split('?').next().unwrap_or_default();
            let is_basic = verb == "get"
                && BASIC_PATHS.iter().any(|basic| {
                    path.strip_prefix(basic).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                });
            if !is_basic && path.starts_with('/') {
                self.of(user).paths.insert((path.to_owned(), verb.to_owned()));
            }
            return;
        };
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        if BASIC.contains(&(text("apiGroup"), text("resource"))) && verb == "create" {
            return;
        }
        let resource = match text("subresource") {
            "" => text("resource").to_owned(),
            subresource => format!("{}/{subresource}", text("resource")),
        };
        let access = Access {
            namespace: text("namespace").to_owned(),
            group: text("apiGroup").to_owned(),
            resource,
            verb: verb.to_owned(),
        };
        // The name in the body of a create does not count for resourceNames; the one in the path of a subresource does.
        let is_unnamed = (verb == "create" && text("subresource").is_empty()) || verb == "deletecollection";
        let name = if is_unnamed { "" } else { text("name") }.to_owned();
        self.of(user).resources.entry(access).or_default().insert(name);
    }

    fn of(&mut self, user: &str) -> &mut UserAccess {
        self.users.entry(user.to_owned()).or_default()
    }
}

/// A rule that is not yet merged: resources and verbs on objects of a group.
type Rule = (String, BTreeSet<String>, BTreeSet<String>, BTreeSet<String>);

/// Roles and their bindings, for each user by namespace, the cluster scope last.
pub(super) fn roles(observed: &Observed, max_names: usize) -> Vec<Value> {
    let mut out = Vec::new();
    for (user, access) in &observed.users {
        let mut namespaces: BTreeSet<&str> = BTreeSet::new();
        namespaces.extend(access.resources.keys().map(|access| access.namespace.as_str()));
        for namespace in namespaces.iter().filter(|namespace| !namespace.is_empty()) {
            let rules = rules(access, namespace, max_names);
            out.extend(role_and_binding(user, namespace, rules));
        }
        let mut cluster = rules(access, "", max_names);
        let mut verbs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (path, verb) in &access.paths {
            verbs.entry(path).or_default().insert(verb);
        }
        let mut paths: BTreeMap<BTreeSet<&str>, Vec<&str>> = BTreeMap::new();
        for (path, verbs) in verbs {
            paths.entry(verbs).or_default().push(path);
        }
        for (verbs, paths) in paths {
            cluster.push(json!({"nonResourceURLs": (texts(paths)), "verbs": (texts(verbs))}));
        }
        if !cluster.is_empty() {
            out.extend(role_and_binding(user, "", cluster));
        }
    }
    out
}

fn rules(access: &UserAccess, namespace: &str, max_names: usize) -> Vec<Value> {
    // Verbs on a resource with the same names are one rule.
    let mut by_resource: BTreeMap<(String, String, BTreeSet<String>), BTreeSet<String>> = BTreeMap::new();
    for (access, names) in access.resources.iter().filter(|(access, _)| access.namespace == namespace) {
        let names = if are_stable(names, max_names) { names.clone() } else { BTreeSet::new() };
        let key = (access.group.clone(), access.resource.clone(), names);
        by_resource.entry(key).or_default().insert(access.verb.clone());
    }
    // Resources of a group with the same verbs and names are one rule.
    let mut merged: Vec<Rule> = Vec::new();
    for ((group, resource, names), verbs) in by_resource {
        match merged.iter_mut().find(|rule| rule.0 == group && rule.2 == names && rule.3 == verbs) {
            Some(rule) => {
                rule.1.insert(resource);
            }
            None => merged.push((group, BTreeSet::from([resource]), names, verbs)),
        }
    }
    let rule = |(group, resources, names, verbs): Rule| {
        let mut rule = Map::new();
        rule.insert("apiGroups", vec![Value::from(group)]);
        rule.insert("resources", texts(resources));
        if !names.is_empty() {
            rule.insert("resourceNames", texts(names));
        }
        rule.insert("verbs", texts(verbs));
        Value::from(rule)
    };
    merged.into_iter().map(rule).collect()
}

/// Whether the names can stand in a rule: few, none missing, and none that a server made up.
fn are_stable(names: &BTreeSet<String>, max_names: usize) -> bool {
    let is_generated = |name: &String| {
        let suffix = name.rsplit_once('-').map(|(_, suffix)| suffix);
        suffix.is_some_and(|suffix| {
            suffix.len() == 5 && suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c))
        })
    };
    !names.is_empty()
        && names.len() <= max_names
        && !names.iter().any(|name| name.is_empty() || is_generated(name))
}

fn role_and_binding(user: &str, namespace: &str, rules: Vec<Value>) -> [Value; 2] {
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let name = match account {
        Some((namespace, name)) => format!("{namespace}-{name}"),
        None => user.to_owned(),
    };
    // Names of roles are path segments.
    let name = name.replace(['/', '%'], "-");
    let subject = match account {
        Some((namespace, name)) => {
            json!({"kind": "ServiceAccount", "name": (name), "namespace": (namespace)})
        }
        None => json!({"apiGroup": (GROUP), "kind": "User", "name": (user)}),
    };
    let (role, binding) =
        if namespace.is_empty() { ("ClusterRole", "ClusterRoleBinding") } else { ("Role", "RoleBinding") };
    let mut metadata = Map::new();
    metadata.insert("name", name.as_str());
    if !namespace.is_empty() {
        metadata.insert("namespace", namespace);
    }
    let api_version = format!("{GROUP}/v1");
    [
        json!({"apiVersion": (api_version.as_str()), "kind": (role), "metadata": (metadata.clone()), "rules": (rules)}),
        json!({
            "apiVersion": (api_version), "kind": (binding), "metadata": (metadata),
            "roleRef": {"apiGroup": (GROUP), "kind": (role), "name": (name)},
            "subjects": [(subject)],
        }),
    ]
}

fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<Value> {
    texts.into_iter().map(|text| Value::from(text.as_ref())).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn event(user: &str, verb: &str, reference: Value) -> Value {
        json!({
            "stage": "ResponseComplete", "verb": (verb), "user": {"username": (user)}, "objectRef": (reference),
            "annotations": {"authorization.k8s.io/decision": "allow"}, "responseStatus": {"code": 200},
        })
    }

    fn foo(name: &str) -> Value {
        json!({"apiGroup": "example.com", "resource": "foos", "namespace": "a", "name": (name)})
    }

    #[test]
    fn requests_become_few_rules() {
        let robot = "system:serviceaccount:ops:robot";
        let mut observed = Observed::new(vec![robot.into()], false);
        for (verb, reference) in [
            ("get", foo("x")),
            ("update", foo("x")),
            ("list", foo("")),
            ("watch", foo("")),
            ("create", foo("y")),
            ("delete", foo("x-b2c4d")),
            ("list", json!({"apiGroup": "example.com", "resource": "bars", "namespace": "a"})),
            ("watch", json!({"apiGroup": "example.com", "resource": "bars", "namespace": "a"})),
            ("create", json!({"apiGroup": "example.com", "resource": "bars", "namespace": "a"})),
            (
                "update",
                json!({"apiGroup": "example.com", "resource": "foos", "subresource": "status", "namespace": "a", "name": "x"}),
            ),
            ("list", json!({"resource": "namespaces"})),
            ("create", json!({"apiGroup": "authorization.k8s.io", "resource": "selfsubjectaccessreviews"})),
        ] {
            observed.add(&event(robot, verb, reference));
        }
        observed.add(&event("another", "delete", foo("x")));
        let mut forbidden = event(robot, "deletecollection", foo(""));
        let decision = json!({"authorization.k8s.io/decision": "forbid"});
        forbidden.as_object_mut().unwrap().insert("annotations", decision);
        observed.add(&forbidden);
        let made = roles(&observed, 3);
        let kinds: Vec<_> = made.iter().map(|object| object.get("kind").unwrap().as_str().unwrap()).collect();
        assert_eq!(kinds, ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"]);
        assert_eq!(
            made[0].get("rules").unwrap(),
            &json!([
                {"apiGroups": ["example.com"], "resources": ["bars"], "verbs": ["create", "list", "watch"]},
                {"apiGroups": ["example.com"], "resources": ["foos"], "verbs": ["create", "delete", "list", "watch"]},
                {"apiGroups": ["example.com"], "resources": ["foos"], "resourceNames": ["x"], "verbs": ["get", "update"]},
                {"apiGroups": ["example.com"], "resources": ["foos/status"], "resourceNames": ["x"], "verbs": ["update"]},
            ])
        );
        assert_eq!(
            made[1].get("subjects").unwrap(),
            &json!([{"kind": "ServiceAccount", "name": "robot", "namespace": "ops"}])
        );
        assert_eq!(
            made[2].get("rules").unwrap(),
            &json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}])
        );
    }

    #[test]
    fn paths_are_of_the_cluster() {
        let mut observed = Observed::new(Vec::new(), true);
        for (path, code) in [("/metrics", 403), ("/apis/x?timeout=3s", 200), ("/healthz", 200)] {
            observed.add(&json!({
                "stage": "ResponseComplete", "verb": "get", "user": {"username": "ann"}, "requestURI": (path),
                "responseStatus": {"code": (code)},
            }));
        }
        let made = roles(&observed, 3);
        assert_eq!(
            made[0].get("rules").unwrap(),
            &json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])
        );
    }
}
