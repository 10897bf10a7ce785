use pleach_json::json;

use super::*;

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_need_verbs_groups_and_resources() {
    for (rule, namespaced, want) in [
        (json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), true, vec![]),
        (json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}), false, vec![]),
        (
            json!({"verbs": ["get"], "nonResourceURLs": ["/x"], "apiGroups": [""]}),
            true,
            vec![
                "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
                "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and non-resource URLs",
            ],
        ),
        (
            json!({}),
            true,
            vec![
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
    ] {
        let strategy = if namespaced { &ROLE } else { &CLUSTER_ROLE };
        assert_eq!(texts(&strategy.validate(&json!({"rules": [(rule)]}), None)), want);
    }
}

#[test]
fn bindings_keep_their_role() {
    let binding = |name: &str| json!({"roleRef": {"apiGroup": (GROUP), "kind": "Role", "name": (name)}, "subjects": []});
    assert!(ROLE_BINDING.validate(&binding("one"), Some(&binding("one"))).is_empty());
    assert_eq!(
        texts(&ROLE_BINDING.validate(&binding("two"), Some(&binding("one")))),
        [
            "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"two\"}: cannot change roleRef"
        ]
    );
    assert_eq!(
        texts(&CLUSTER_ROLE_BINDING.validate(&binding("one"), None)),
        ["roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\""]
    );
}

#[test]
fn empty_groups_are_filled_in_and_empty_rules_are_null() {
    let mut object = json!({
        "roleRef": {"apiGroup": "", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}],
    });
    ROLE_BINDING.complete(&mut object);
    assert_eq!(
        object,
        json!({
            "roleRef": {"apiGroup": (GROUP), "kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u", "apiGroup": (GROUP)}, {"kind": "ServiceAccount", "name": "s"}],
        })
    );
    let mut role = json!({"rules": []});
    ROLE.complete(&mut role);
    assert_eq!(role, json!({"rules": null}));
}

#[test]
fn an_update_of_owners_grants_nothing() {
    let role = |label: &str, owner: &str| {
        json!({
            "metadata": {"labels": {"a": (label)}, "ownerReferences": [{"name": (owner)}]},
            "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
        })
    };
    assert!(ROLE.grant(&role("1", "x"), Some(&role("1", "y"))).is_none());
    assert!(ROLE.grant(&role("1", "x"), Some(&role("2", "x"))).is_some());
}
