//! Role-based access control: many rules, many bindings, many groups.

use std::borrow::Cow;
use std::sync::Arc;

use pleach_auth::rbac::{
    Binding, PolicyRule, RbacAuthorizer, RoleKey, Subject, SubjectKind, describe_missing, missing_rules,
};
use pleach_auth::{Answer, Attributes, Authorizer, ResourceAttributes, UserInfo, Verb};
use pleach_json::Str;

use crate::{BODY, Make, attack, fitting};

fn texts(n: usize) -> Vec<Str> {
    (0..n).map(|n| format!("t{n}").into()).collect()
}

fn rule(verbs: Vec<Str>, groups: Vec<Str>, resources: Vec<Str>, names: Vec<Str>) -> PolicyRule {
    PolicyRule { verbs, api_groups: groups, resources, resource_names: names, ..PolicyRule::default() }
}

fn one(text: &'static str) -> Vec<Str> {
    vec![Str::new_static(text)]
}

/// An authorizer with this number of bindings of one role.
fn bound(bindings: usize, rules: Vec<PolicyRule>, subjects: &[Subject]) -> RbacAuthorizer {
    let authorizer = RbacAuthorizer::default();
    let role = RoleKey { namespace: Some("ns".into()), name: "r".into() };
    authorizer.set_role(role.clone(), Some(rules));
    for n in 0..bindings {
        let name: Str = format!("b{n}").into();
        let binding = Binding {
            namespace: "ns".into(),
            name: name.clone(),
            role: role.clone(),
            subjects: subjects.to_vec(),
        };
        authorizer.set_binding("ns", &name, Some(binding));
    }
    authorizer
}

fn group(name: Str) -> Subject {
    Subject { kind: SubjectKind::Group, namespace: Str::default(), name }
}

fn now<T>(answer: Answer<'_, T>) -> T {
    match answer {
        Answer::Now(value) => value,
        Answer::Later(_) => unreachable!("roles are in memory"),
    }
}

/// The decision of an authorizer about a request for `x` of the group `g`.
fn decide(authorizer: &RbacAuthorizer, user: &Arc<UserInfo>) -> bool {
    let resource = ResourceAttributes {
        group: "g",
        version: "v1",
        resource: "x",
        subresource: "",
        namespace: "ns",
        name: Cow::Borrowed("x"),
        ..ResourceAttributes::default()
    };
    let attributes = Attributes { user: user.clone(), verb: Verb::Get, path: "", resource: Some(resource) };
    now(authorizer.authorize(&attributes)).is_allowed()
}

fn user(groups: Vec<Str>) -> Arc<UserInfo> {
    UserInfo::authenticated("u", groups)
}

pub(crate) fn all() -> Vec<Make> {
    let many_rules = || vec![rule(one("get"), one("g"), one("y"), Vec::new()); fitting(60)];
    vec![
        Box::new(|| {
            let wanted = rule(texts(400), texts(400), texts(400), Vec::new());
            attack("RBAC: a rule that stands for many", 10_000, move || {
                describe_missing(&missing_rules([].iter(), &[wanted]))
            })
        }),
        Box::new(|| {
            let names = texts(fitting(12));
            let wanted = rule(one("get"), one("g"), one("x"), names.clone());
            let owned = rule(one("get"), one("g"), one("x"), names.into_iter().rev().collect());
            attack("RBAC: many names that are granted on", BODY, move || {
                missing_rules([owned].iter(), &[wanted]).len()
            })
        }),
        Box::new(move || {
            let authorizer = bound(1_000, many_rules(), &[group("dev".into())]);
            attack("RBAC: a large role that is bound often", 1_000, move || {
                decide(&authorizer, &user(one("dev")))
            })
        }),
        Box::new(move || {
            let authorizer = bound(1_000, many_rules(), &[group("dev".into())]);
            attack("RBAC: the rules of a role that is bound often", 1_000, move || {
                now(authorizer.rules_for(&user(one("dev")), "ns")).resource.len()
            })
        }),
        Box::new(|| {
            // Only the last of the subjects is among the groups.
            let subjects: Vec<Subject> = texts(fitting(45)).into_iter().map(group).rev().collect();
            let rules = vec![rule(one("get"), one("g"), one("x"), Vec::new())];
            let authorizer = bound(1, rules, &subjects);
            let groups = (0..fitting(10)).map(|n| format!("u{n}").into()).chain(one("t0")).collect();
            attack("RBAC: a review of many groups", BODY, move || decide(&authorizer, &user(groups)))
        }),
        Box::new(|| {
            let subjects: Vec<Subject> = vec![group("dev".into()); fitting(45)];
            attack("RBAC: subjects that are there twice", BODY, move || {
                let authorizer = bound(4, Vec::new(), &subjects);
                bound(1, Vec::new(), &subjects);
                decide(&authorizer, &user(one("dev")))
            })
        }),
    ]
}
