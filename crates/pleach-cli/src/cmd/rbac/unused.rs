//! Rules of a role that no request in an audit log needed.

use pleach_json::Value;
use pleach_pipeline::kinds::rbac::{ROLES, role_resource};

use super::learn::Observed;

/// A line for each verb on each resource, and on each path, that was not used.
pub(super) fn unused(role: &Value, observed: &Observed) -> Vec<String> {
    let resource = role.get("kind").and_then(Value::as_str).and_then(role_resource);
    let namespace = role.at(&["metadata", "namespace"]).and_then(Value::as_str);
    let namespace = namespace.filter(|_| resource == Some(ROLES));
    let mut out = Vec::new();
    let rules = role.get("rules").and_then(Value::as_array);
    for (i, rule) in rules.into_iter().flatten().enumerate() {
        let list = |key: &str| -> Vec<&str> {
            let items = rule.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).collect()
        };
        let names = list("resourceNames");
        for verb in list("verbs") {
            for path in list("nonResourceURLs") {
                if !uses_path(observed, path, verb) {
                    out.push(format!("rules[{i}]: {verb} {path} was not used"));
                }
            }
            for group in list("apiGroups") {
                for resource in list("resources") {
                    pleach_work::charge(1);
                    let shown =
                        if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
                    if names.is_empty() && !uses(observed, namespace, group, resource, verb, None) {
                        out.push(format!("rules[{i}]: {verb} {shown} was not used"));
                    }
                    for name in &names {
                        if !uses(observed, namespace, group, resource, verb, Some(name)) {
                            out.push(format!("rules[{i}]: {verb} {shown} {name} was not used"));
                        }
                    }
                }
            }
        }
    }
    out
}

fn uses_path(observed: &Observed, pattern: &str, verb: &str) -> bool {
    let mut paths = observed.users.values().flat_map(|user| &user.paths);
    paths.any(|(path, used)| {
        let matches = match pattern.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == pattern,
        };
        matches && (verb == "*" || verb == used)
    })
}

fn uses(
    observed: &Observed,
    namespace: Option<&str>,
    group: &str,
    resource: &str,
    verb: &str,
    name: Option<&str>,
) -> bool {
    let mut accesses = observed.users.values().flat_map(|user| &user.resources);
    accesses.any(|(access, names)| {
        let is_resource = resource == "*"
            || resource == access.resource
            || resource
                .strip_prefix("*/")
                .is_some_and(|sub| access.resource.split_once('/').is_some_and(|(_, used)| used == sub));
        is_resource
            && (group == "*" || group == access.group)
            && (verb == "*" || verb == access.verb)
            && namespace.is_none_or(|namespace| namespace == access.namespace)
            && name.is_none_or(|name| names.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::super::learn::tests::event;
    use super::*;

    #[test]
    fn rules_that_were_not_used_are_listed() {
        let mut observed = Observed::new(Vec::new(), false);
        observed.add(&event("ann", "get", json!({"resource": "configmaps", "namespace": "a", "name": "x"})));
        let reference = json!({"resource": "pods", "subresource": "log", "namespace": "b", "name": "p"});
        observed.add(&event("ann", "get", reference));
        let role = json!({"kind": "Role", "metadata": {"namespace": "a"}, "rules": [
            {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["x", "y"], "verbs": ["get"]},
            {"apiGroups": ["*"], "resources": ["*/log"], "verbs": ["*"]},
        ]});
        assert_eq!(
            unused(&role, &observed),
            [
                "rules[0]: get secrets was not used",
                "rules[0]: list configmaps was not used",
                "rules[0]: list secrets was not used",
                "rules[1]: get configmaps y was not used",
                "rules[2]: * */log.* was not used",
            ]
        );
        let role = json!({"kind": "ClusterRole", "rules": [
            {"apiGroups": ["*"], "resources": ["*/log"], "verbs": ["*"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ]});
        assert_eq!(unused(&role, &observed), ["rules[1]: get /metrics was not used"]);
    }
}
