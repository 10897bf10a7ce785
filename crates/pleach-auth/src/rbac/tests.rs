use std::borrow::Cow;

use super::*;
use crate::attributes::ResourceAttributes;
use crate::verb::Verb;

fn texts(list: &[&str]) -> Vec<Str> {
    list.iter().map(|text| Str::from(*text)).collect()
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> PolicyRule {
    PolicyRule {
        verbs: texts(verbs),
        api_groups: texts(groups),
        resources: texts(resources),
        resource_names: texts(names),
        non_resource_urls: Vec::new(),
    }
}

fn paths(verbs: &[&str], urls: &[&str]) -> PolicyRule {
    PolicyRule { verbs: texts(verbs), non_resource_urls: texts(urls), ..PolicyRule::default() }
}

fn asks<'a>(user: &Arc<UserInfo>, verb: &str, resource: ResourceAttributes<'a>) -> Attributes<'a> {
    Attributes { user: user.clone(), verb: Verb::of(verb), path: "", resource: Some(resource) }
}

fn about<'a>(
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
) -> ResourceAttributes<'a> {
    ResourceAttributes {
        group: "g",
        version: "v1",
        resource,
        subresource,
        namespace,
        name: Cow::Borrowed(name),
        ..ResourceAttributes::default()
    }
}

#[test]
fn rules_allow_by_verb_group_resource_and_name() {
    let user = UserInfo::authenticated("u", []);
    for (rule, resource, sub, name, want) in [
        (rule(&["get"], &["g"], &["foos"], &[]), "foos", "", "x", true),
        (rule(&["get"], &["g"], &["foos"], &[]), "foos", "status", "x", false),
        (rule(&["get"], &["g"], &["foos/status"], &[]), "foos", "status", "x", true),
        (rule(&["get"], &["g"], &["*/status"], &[]), "foos", "status", "x", true),
        (rule(&["get"], &["g"], &["*/status"], &[]), "foos", "", "x", false),
        (rule(&["get"], &["g"], &["foos/*"], &[]), "foos", "status", "x", false),
        (rule(&["*"], &["*"], &["*"], &[]), "foos", "status", "x", true),
        (rule(&["get"], &["h"], &["foos"], &[]), "foos", "", "x", false),
        (rule(&["list"], &["g"], &["foos"], &[]), "foos", "", "x", false),
        (rule(&["get"], &["g"], &["foos"], &["y", "x"]), "foos", "", "x", true),
        (rule(&["get"], &["g"], &["foos"], &["*"]), "foos", "", "x", false),
        (rule(&["get"], &["g"], &["foos"], &["x"]), "foos", "", "", false),
        (rule(&["get"], &["g"], &["foos"], &[""]), "foos", "", "", true),
    ] {
        let attributes = asks(&user, "get", about(resource, sub, "ns", name));
        assert_eq!(rule.allows(&attributes), want, "{rule:?} {resource}/{sub} {name}");
    }
    for (url, path, want) in [
        ("*", "/x", true),
        ("/x", "/x", true),
        ("/x", "/x/", false),
        ("/x/*", "/x/", true),
        ("/x/*", "/x", false),
        ("/x*", "/xyz", true),
        ("/*/y", "/x/y", false),
    ] {
        let attributes = Attributes { user: user.clone(), verb: Verb::Get, path, resource: None };
        assert_eq!(paths(&["get"], &[url]).allows(&attributes), want, "{url} {path}");
    }
}

fn binding(namespace: &str, name: &str, role: RoleKey, subjects: Vec<Subject>) -> Binding {
    Binding { namespace: namespace.into(), name: name.into(), role, subjects }
}

fn subject(kind: SubjectKind, namespace: &str, name: &str) -> Subject {
    Subject { kind, namespace: namespace.into(), name: name.into() }
}

fn cluster_role(name: &str) -> RoleKey {
    RoleKey { namespace: None, name: name.into() }
}

#[tokio::test]
async fn bindings_apply_where_they_are() {
    let rbac = RbacAuthorizer::default();
    let read = || Some(vec![rule(&["get"], &["g"], &["foos"], &[])]);
    let set = |binding: Binding| {
        rbac.set_binding(&binding.namespace.clone(), &binding.name.clone(), Some(binding));
    };
    rbac.set_role(cluster_role("reader"), read());
    set(binding("ns", "b", cluster_role("reader"), vec![subject(SubjectKind::Group, "", "dev")]));
    set(binding("", "c", cluster_role("reader"), vec![subject(SubjectKind::User, "", "root")]));
    set(binding("ns", "s", cluster_role("reader"), vec![subject(SubjectKind::ServiceAccount, "", "bot")]));
    let dev = UserInfo::authenticated("u", [Str::from("dev")]);
    let root = UserInfo::authenticated("root", []);
    let bot = UserInfo::authenticated("system:serviceaccount:ns:bot", []);
    for (user, namespace, want) in [
        (
            &dev,
            "ns",
            Some("RBAC: allowed by RoleBinding \"b/ns\" of ClusterRole \"reader\" to Group \"dev\""),
        ),
        (&dev, "other", None),
        (&dev, "", None),
        (
            &root,
            "",
            Some("RBAC: allowed by ClusterRoleBinding \"c\" of ClusterRole \"reader\" to User \"root\""),
        ),
        (
            &bot,
            "ns",
            Some(
                "RBAC: allowed by RoleBinding \"s/ns\" of ClusterRole \"reader\" to ServiceAccount \"bot/ns\"",
            ),
        ),
    ] {
        let attributes = asks(user, "get", about("foos", "", namespace, "x"));
        let decision = rbac.authorize(&attributes).get().await;
        assert_eq!(
            decision.is_allowed().then_some(decision.reason.as_ref()),
            want,
            "{} {namespace}",
            user.name
        );
    }
    // The role is deleted: the reason of the refusal names it. It is created again: the binding applies again.
    let attributes = asks(&dev, "get", about("foos", "", "ns", "x"));
    rbac.set_role(cluster_role("reader"), None);
    let refused = rbac.authorize(&attributes).get().await;
    assert!(!refused.is_allowed());
    assert_eq!(refused.reason, "RBAC: clusterrole.rbac.authorization.k8s.io \"reader\" not found");
    rbac.set_role(cluster_role("reader"), read());
    assert!(rbac.authorize(&attributes).get().await.is_allowed());
    rbac.set_binding("ns", "b", None);
    assert!(!rbac.authorize(&attributes).get().await.is_allowed());
}

#[test]
fn granted_rules_must_be_held() {
    let owned = [
        rule(&["get", "list"], &["g"], &["foos", "*/status"], &[]),
        rule(&["get"], &["g"], &["bars"], &["a"]),
        rule(&["get"], &["g"], &["*/c", "*/d/e"], &[]),
    ];
    for (wanted, want) in [
        (rule(&["get"], &["g"], &["b/c", "b/d/e"], &[]), ""),
        (
            rule(&["get"], &["g"], &["a/b/c"], &[]),
            "{APIGroups:[\"g\"], Resources:[\"a/b/c\"], Verbs:[\"get\"]}",
        ),
        (rule(&["get"], &["g"], &["foos"], &[]), ""),
        (rule(&["get"], &["g"], &["foos"], &["x"]), ""),
        (rule(&["get"], &["g"], &["any/status"], &[]), ""),
        (rule(&["get"], &["g"], &["bars"], &["a"]), ""),
        (
            rule(&["get"], &["g"], &["bars"], &[]),
            "{APIGroups:[\"g\"], Resources:[\"bars\"], Verbs:[\"get\"]}",
        ),
        (
            rule(&["get", "create", "delete"], &["g"], &["foos", "bars"], &["b"]),
            "{APIGroups:[\"g\"], Resources:[\"bars\"], ResourceNames:[\"b\"], Verbs:[\"get\" \"create\" \"delete\"]}\n\
             {APIGroups:[\"g\"], Resources:[\"foos\"], ResourceNames:[\"b\"], Verbs:[\"create\" \"delete\"]}",
        ),
        (rule(&["*"], &["g"], &["foos"], &[]), "{APIGroups:[\"g\"], Resources:[\"foos\"], Verbs:[\"*\"]}"),
        (paths(&["get"], &["/x"]), "{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}"),
    ] {
        assert_eq!(
            describe_missing(&missing_rules(owned.iter(), std::slice::from_ref(&wanted))),
            want,
            "{wanted:?}"
        );
    }
}
