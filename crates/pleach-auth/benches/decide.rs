//! Cost of a decision of the RBAC authorizer: a user with 50 bindings among 10,000 in the cluster.

use std::borrow::Cow;
use std::sync::Arc;

use divan::{Bencher, black_box};
use pleach_auth::rbac::{Binding, PolicyRule, RbacAuthorizer, RoleKey, Subject, SubjectKind};
use pleach_auth::{Answer, Attributes, Authorizer, ResourceAttributes, UserInfo, Verb};
use pleach_json::Str;

const BINDINGS: usize = 10_000;
const OWN: usize = 50;

fn main() {
    divan::main();
}

fn text(text: &str) -> Vec<Str> {
    vec![text.into()]
}

/// One role in ten has five rules, the others one; the user's bindings are spread among the others.
fn authorizer() -> RbacAuthorizer {
    let authorizer = RbacAuthorizer::default();
    for role in 0..500 {
        let rules = (0..if role % 10 == 0 { 5 } else { 1 })
            .map(|i| PolicyRule {
                verbs: ["get", "list", "watch"].map(Str::from).to_vec(),
                api_groups: text("example.com"),
                resources: text(&format!("resource{role}x{i}")),
                ..PolicyRule::default()
            })
            .collect();
        authorizer.set_role(RoleKey { namespace: None, name: format!("role{role}").into() }, Some(rules));
    }
    for at in 0..BINDINGS {
        let own = at % (BINDINGS / OWN) == 7;
        let subject = Subject {
            kind: SubjectKind::User,
            namespace: Str::default(),
            name: if own { "alice".into() } else { format!("user{}", at % 3000).into() },
        };
        let namespace: Str = if at % 2 == 0 || own { "".into() } else { format!("ns{}", at % 100).into() };
        let name: Str = format!("binding{at}").into();
        let role = RoleKey { namespace: None, name: format!("role{}", at % 500).into() };
        let binding =
            Binding { namespace: namespace.clone(), name: name.clone(), role, subjects: vec![subject] };
        authorizer.set_binding(&namespace, &name, Some(binding));
    }
    authorizer
}

fn asks<'a>(user: &Arc<UserInfo>, resource: &'a str) -> Attributes<'a> {
    let resource = ResourceAttributes {
        group: "example.com",
        version: "v1",
        resource,
        subresource: "",
        namespace: "ns1",
        name: Cow::Borrowed("x"),
        ..ResourceAttributes::default()
    };
    Attributes { user: user.clone(), verb: Verb::Get, path: "", resource: Some(resource) }
}

fn decide(bencher: Bencher<'_, '_>, resource: &str, want: bool) {
    let (authorizer, user) = (authorizer(), UserInfo::authenticated("alice", [Str::from("team")]));
    let attributes = asks(&user, resource);
    bencher.bench_local(|| match authorizer.authorize(black_box(&attributes)) {
        Answer::Now(decision) => assert_eq!(decision.is_allowed(), want),
        Answer::Later(_) => unreachable!("RBAC decides at once"),
    });
}

/// The rule is in the role of the last of the user's bindings.
#[divan::bench]
fn allowed_by_the_last_binding(bencher: Bencher<'_, '_>) {
    decide(bencher, &format!("resource{}x0", (BINDINGS - BINDINGS / OWN + 7) % 500), true);
}

/// No rule allows it: all of the user's bindings are looked at.
#[divan::bench]
fn refused(bencher: Bencher<'_, '_>) {
    decide(bencher, "nothing", false);
}
