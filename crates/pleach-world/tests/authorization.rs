//! Authorization of a whole server: a generated matrix of verbs, resources, scopes and subjects against a model written
//! here, and the property that requests without a matching rule read and change nothing, by whichever route.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "authorization/fixture.rs"]
mod fixture;
#[path = "authorization/model.rs"]
mod model;

use http::Method;
use pleach_auth::UserInfo;
use pleach_json::{Str, Value, json};
use pleach_world::World;

use fixture::{Fixture, MARKER};
use model::{Asked, Grant, Random, is_allowed};

const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/// Group, resource and subresource, whether it is in namespaces.
const RESOURCES: [(&str, &str, &str, bool); 5] = [
    ("", "configmaps", "", true),
    ("example.com", "foos", "", true),
    ("example.com", "foos", "status", true),
    ("example.com", "foos", "scale", true),
    ("example.com", "bars", "", false),
];

fn users() -> Vec<std::sync::Arc<UserInfo>> {
    let account = ["system:serviceaccounts", "system:serviceaccounts:a"].map(Str::new_static);
    vec![
        UserInfo::authenticated("alice", []),
        UserInfo::authenticated("bob", [Str::new_static("team")]),
        UserInfo::authenticated("carol", [Str::new_static("team"), Str::new_static("others")]),
        UserInfo::authenticated("system:serviceaccount:a:robot", account),
        UserInfo::authenticated("root", [Str::new_static("system:masters")]),
    ]
}

#[tokio::test]
async fn every_decision_is_that_of_the_model() {
    let fixture = Fixture::start().await;
    let mut random = Random(7);
    let (mut allowed, mut refused) = (0, 0);
    for round in 0..6 {
        let world = fixture.fork().await;
        let grants: Vec<Grant> =
            (0..12).map(|i| Grant::random(&mut random, &format!("grant-{round}-{i}"))).collect();
        for grant in &grants {
            world.grant(grant).await;
        }
        for user in users() {
            for (group, resource, subresource, namespaced) in RESOURCES {
                for verb in VERBS {
                    if !subresource.is_empty() && !["get", "update", "patch"].contains(&verb) {
                        continue;
                    }
                    let scopes: &[&str] = match (namespaced, verb) {
                        (false, _) => &[""],
                        (true, "list" | "watch") => &["a", "b", ""],
                        _ => &["a", "b"],
                    };
                    for namespace in scopes {
                        let named = ["get", "update", "patch", "delete"].contains(&verb);
                        let names: &[&str] = if named { &["x", "y"] } else { &[""] };
                        for name in names {
                            let asked = Asked { verb, group, resource, subresource, namespace, name };
                            let want = is_allowed(&grants, &user, &asked);
                            if want {
                                allowed += 1;
                            } else {
                                refused += 1;
                            }
                            let code = world.ask(&user, &asked).await;
                            assert_eq!(code != 403, want, "{} {asked:?}: {code}, by {grants:?}", user.name);
                            let review = world.review(&user, &asked).await;
                            assert_eq!(review, want, "review: {} {asked:?}", user.name);
                        }
                    }
                }
            }
        }
    }
    assert!(allowed > 400 && refused > 400, "both happen: {allowed} and {refused}");
}

/// A request by some route, and what it asks for.
struct Route {
    method: Method,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: Option<Value>,
    asked: Asked<'static>,
}

const TABLE: &[(&str, &str)] = &[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
const PARTIAL: &[(&str, &str)] =
    &[("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
const PROTOBUF: &[(&str, &str)] = &[("accept", "application/vnd.kubernetes.protobuf")];
const APPLY: &[(&str, &str)] = &[("content-type", "application/apply-patch+yaml")];
const MERGE: &[(&str, &str)] = &[("content-type", "application/merge-patch+json")];

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const X: &str = "/api/v1/namespaces/a/configmaps/x";
const FOO: &str = "/apis/example.com/v1/namespaces/a/foos/x";

fn routes() -> Vec<Route> {
    let map = || json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"k": "changed"}});
    let new = || json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}});
    let scale = || json!({"spec": {"replicas": 7}});
    let maps = |verb: &'static str, namespace: &'static str, name: &'static str| Asked {
        verb,
        group: "",
        resource: "configmaps",
        subresource: "",
        namespace,
        name,
    };
    let foos = |verb: &'static str, subresource: &'static str, name: &'static str| Asked {
        verb,
        group: "example.com",
        resource: "foos",
        subresource,
        namespace: "a",
        name,
    };
    let mut all = Vec::new();
    let mut add = |method: Method, path, headers, body: Option<Value>, asked| {
        all.push(Route { method, path, headers, body, asked });
    };
    let (get, post, put) = (|| Method::GET, || Method::POST, || Method::PUT);
    let (patch, delete) = (|| Method::PATCH, || Method::DELETE);
    add(get(), "/api/v1/namespaces/a/configmaps/x", &[], None, maps("get", "a", "x"));
    add(Method::HEAD, "/api/v1/namespaces/a/configmaps/x", &[], None, maps("get", "a", "x"));
    add(get(), "/api/v1/namespaces/a/configmaps/x?watch=1", &[], None, maps("get", "a", "x"));
    add(get(), "/api/v1/namespaces/a/configmaps/x", TABLE, None, maps("get", "a", "x"));
    add(get(), "/api/v1/namespaces/a/configmaps/x", PROTOBUF, None, maps("get", "a", "x"));
    add(get(), "/api/v1/namespaces/a/configmaps/%78", &[], None, maps("get", "a", "x"));
    add(get(), MAPS, &[], None, maps("list", "a", ""));
    add(get(), "/api/v1/namespaces/a/configmaps/", &[], None, maps("list", "a", ""));
    add(get(), MAPS, TABLE, None, maps("list", "a", ""));
    add(get(), MAPS, PARTIAL, None, maps("list", "a", ""));
    add(get(), MAPS, PROTOBUF, None, maps("list", "a", ""));
    add(get(), "/api/v1/namespaces/a/configmaps?limit=1", &[], None, maps("list", "a", ""));
    add(get(), "/api/v1/namespaces/a/configmaps?watch=0", &[], None, maps("list", "a", ""));
    add(
        get(),
        "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx",
        &[],
        None,
        maps("list", "a", "x"),
    );
    add(get(), "/api/v1/namespaces/a/configmaps?labelSelector=a%3Db", &[], None, maps("list", "a", ""));
    add(get(), "/api/v1/configmaps", &[], None, maps("list", "", ""));
    add(get(), "/api/v1/namespaces/a/configmaps?watch=1&timeoutSeconds=1", &[], None, maps("watch", "a", ""));
    add(get(), "/api/v1/watch/namespaces/a/configmaps?timeoutSeconds=1", &[], None, maps("watch", "a", ""));
    add(
        get(),
        "/api/v1/watch/namespaces/a/configmaps/x?timeoutSeconds=1",
        &[],
        None,
        maps("watch", "a", "x"),
    );
    add(get(), "/api/v1/configmaps?watch=true&timeoutSeconds=1", TABLE, None, maps("watch", "", ""));
    add(
        get(),
        "/api/v1/namespaces/a/configmaps?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        &[],
        None,
        maps("watch", "a", ""),
    );
    add(post(), MAPS, &[], Some(new()), maps("create", "a", ""));
    add(post(), "/api/v1/namespaces/a/configmaps?dryRun=All", &[], Some(new()), maps("create", "a", ""));
    add(put(), "/api/v1/namespaces/a/configmaps/x", &[], Some(map()), maps("update", "a", "x"));
    add(put(), "/api/v1/namespaces/a/configmaps/x?dryRun=All", &[], Some(map()), maps("update", "a", "x"));
    add(patch(), "/api/v1/namespaces/a/configmaps/x", MERGE, Some(map()), maps("patch", "a", "x"));
    add(patch(), "/api/v1/namespaces/a/configmaps/x?dryRun=All", MERGE, Some(map()), maps("patch", "a", "x"));
    add(
        patch(),
        "/api/v1/namespaces/a/configmaps/x?fieldManager=m&force=true",
        APPLY,
        Some(map()),
        maps("patch", "a", "x"),
    );
    add(delete(), "/api/v1/namespaces/a/configmaps/x", &[], None, maps("delete", "a", "x"));
    add(delete(), "/api/v1/namespaces/a/configmaps/x?dryRun=All", &[], None, maps("delete", "a", "x"));
    add(delete(), MAPS, &[], None, maps("deletecollection", "a", ""));
    add(
        delete(),
        "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx",
        &[],
        None,
        maps("deletecollection", "a", ""),
    );
    add(get(), FOO, &[], None, foos("get", "", "x"));
    add(get(), "/apis/example.com/v1/namespaces/a/foos/x/status", &[], None, foos("get", "status", "x"));
    add(get(), "/apis/example.com/v1/namespaces/a/foos/x/scale", &[], None, foos("get", "scale", "x"));
    add(
        patch(),
        "/apis/example.com/v1/namespaces/a/foos/x/scale",
        MERGE,
        Some(scale()),
        foos("patch", "scale", "x"),
    );
    add(
        patch(),
        "/apis/example.com/v1/namespaces/a/foos/x/status",
        MERGE,
        Some(scale()),
        foos("patch", "status", "x"),
    );
    add(get(), "/apis/example.com/v1/namespaces/a/foos/x/nothing", &[], None, foos("get", "nothing", "x"));
    all
}

#[tokio::test]
async fn without_a_rule_nothing_is_read_or_changed() {
    let fixture = Fixture::start().await;
    let routes = routes();
    let mut random = Random(11);
    let (mut refused, mut allowed) = (0, 0);
    for round in 0..12 {
        // Few rights in the first rounds, more later.
        let world = fixture.fork().await;
        let grants: Vec<Grant> =
            (0..round).map(|i| Grant::random(&mut random, &format!("grant-{round}-{i}"))).collect();
        for grant in &grants {
            world.grant(grant).await;
        }
        for user in users().into_iter().filter(|user| !user.is_in("system:masters")) {
            for route in &routes {
                let before = world.revision().await;
                let (code, body) =
                    world.send(&user, &route.method, route.path, route.headers, route.body.as_ref()).await;
                if is_allowed(&grants, &user, &route.asked) {
                    allowed += 1;
                    // An apply or an update that creates needs a second right.
                    assert!(
                        code != 403 || route.method == Method::PATCH,
                        "{} {}: {code}",
                        user.name,
                        route.path
                    );
                    continue;
                }
                refused += 1;
                let what = format!("{} {} {}: {code}, by {grants:?}", user.name, route.method, route.path);
                assert_eq!(code, 403, "{what}");
                assert!(!body.contains(MARKER), "{what}");
                assert_eq!(world.revision().await, before, "nothing was written: {what}");
            }
        }
    }
    assert!(refused > 500 && allowed > 100, "both happen: {refused} and {allowed}");
}

#[tokio::test]
async fn impersonation_needs_a_right_and_gives_no_more_than_the_other_user_has() {
    let world = Fixture::start().await;
    let reader = Grant {
        name: "reader".into(),
        namespace: Some("a".into()),
        subject: ("User", "bob".into()),
        verbs: vec!["get".into()],
        groups: vec![String::new()],
        resources: vec!["configmaps".into()],
        names: Vec::new(),
    };
    world.grant(&reader).await;
    let alice = UserInfo::authenticated("alice", []);
    let (bob, root) = (
        [("impersonate-user", "bob")],
        [("impersonate-user", "root"), ("impersonate-group", "system:masters")],
    );
    for (headers, path) in [
        (&bob[..], X),
        (&root[..], X),
        (&bob[..], "/healthz"),
        (&root[..], "/api/v1/namespaces/a/configmaps"),
    ] {
        let before = world.revision().await;
        let (code, body) = world.send(&alice, &Method::GET, path, headers, None).await;
        assert!(code == 403 && !body.contains(MARKER), "{path}: {code} {body}");
        assert_eq!(world.revision().await, before);
    }
    let impersonator = Grant {
        name: "impersonator".into(),
        namespace: None,
        subject: ("User", "alice".into()),
        verbs: vec!["impersonate".into()],
        groups: vec![String::new()],
        resources: vec!["users".into()],
        names: vec!["bob".into()],
    };
    world.grant(&impersonator).await;
    let (code, body) = world.send(&alice, &Method::GET, X, &bob, None).await;
    assert!(code == 200 && body.contains(MARKER), "as bob: {code} {body}");
    for (method, headers, path) in [
        (Method::DELETE, &bob[..], X),
        (Method::GET, &bob[..], "/api/v1/namespaces/a/configmaps"),
        (Method::GET, &bob[..], "/api/v1/namespaces/b/configmaps/x"),
        (Method::GET, &root[..], X),
        (Method::GET, &[("impersonate-user", "carol")][..], X),
        (Method::GET, &[("impersonate-user", "bob"), ("impersonate-group", "team")][..], X),
        (Method::GET, &[], X),
    ] {
        let (code, body) = world.send(&alice, &method, path, headers, None).await;
        assert!(code == 403 && !body.contains(MARKER), "{headers:?} {path}: {code}");
    }
}

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

#[tokio::test]
async fn roles_that_bindings_name_are_looked_up_before_the_binding_is_validated() {
    let world = Fixture::start().await;
    let author = Grant {
        name: "author".into(),
        namespace: Some("a".into()),
        subject: ("User", "alice".into()),
        verbs: vec!["create".into()],
        groups: vec!["rbac.authorization.k8s.io".into()],
        resources: vec!["roles".into(), "rolebindings".into()],
        names: Vec::new(),
    };
    world.grant(&author).await;
    let (alice, admin) = (UserInfo::authenticated("alice", []), World::admin());
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings";
    let binding = |name: &str, kind: &str, role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": (name)},
            "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": (kind), "name": (role)},
        })
    };
    for (role, want) in [
        ("", "Name parameter required."),
        ("a/b", "Name parameter invalid: \\\"a/b\\\": may not contain '/'"),
        ("..", "Name parameter invalid: \\\"..\\\": may not be '..'"),
        ("a/%", "Name parameter invalid: \\\"a/%\\\": may not contain '/';may not contain '%'"),
    ] {
        let odd = binding("odd", "Role", role);
        let (code, body) = world.send(&alice, &Method::POST, path, &[], Some(&odd)).await;
        assert!(code == 400 && body.contains(want), "{role}: {code} {body}");
        let (code, _) = world.send(&admin, &Method::POST, path, &[], Some(&odd)).await;
        assert_eq!(code, 422, "{role}: the admin's is validated");
    }

    // Two missing roles of one name are told once.
    for kind in ["Role", "ClusterRole"] {
        let dangling = binding(&kind.to_lowercase(), kind, "gone");
        let (code, body) = world.send(&admin, &Method::POST, path, &[], Some(&dangling)).await;
        assert_eq!(code, 201, "{body}");
    }
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "more"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles";
    let (code, body) = world.send(&alice, &Method::POST, path, &[], Some(&role)).await;
    let want = "; resolution errors: [roles.rbac.authorization.k8s.io \\\"gone\\\" not found]\"";
    assert!(code == 403 && body.contains(want), "{code} {body}");
}

#[tokio::test]
async fn a_start_puts_back_rules_of_bootstrap_roles_that_are_missing() {
    let world = Fixture::start().await;
    let admin = World::admin();
    let read = async |name: &str| {
        let (code, body) = world.send(&admin, &Method::GET, &format!("{ROLES}/{name}"), &[], None).await;
        assert_eq!(code, 200, "{body}");
        pleach_json::parse(body.as_bytes()).unwrap()
    };
    let more = json!({"apiGroups": ["example.com"], "resources": ["foos"], "verbs": ["get"]});
    let annotation = "rbac.authorization.kubernetes.io/autoupdate";
    for (name, autoupdate) in [("system:basic-user", "true"), ("system:monitoring", "false")] {
        let mut role = read(name).await;
        role.as_object_mut().unwrap().insert("rules", json!([(more.clone())]));
        let metadata = role.get_mut("metadata").unwrap();
        metadata.get_mut("annotations").unwrap().as_object_mut().unwrap().insert(annotation, autoupdate);
        let (code, body) =
            world.send(&admin, &Method::PUT, &format!("{ROLES}/{name}"), &[], Some(&role)).await;
        assert_eq!(code, 200, "{body}");
    }
    let deleted = format!("{ROLES}/system:auth-delegator");
    assert_eq!(world.send(&admin, &Method::DELETE, &deleted, &[], None).await.0, 200);
    world.restart().await;
    let rules = |role: &pleach_json::Value| role.get("rules").unwrap().as_array().unwrap().clone();
    let reconciled = rules(&read("system:basic-user").await);
    assert!(reconciled.len() > 1, "the rules are back");
    assert!(reconciled.contains(&more), "a rule that was added stays");
    assert_eq!(rules(&read("system:monitoring").await).len(), 1, "left as it is");
    assert!(!rules(&read("system:auth-delegator").await).is_empty(), "a role that was deleted is back");
}

#[tokio::test]
async fn documents_and_other_paths_need_their_own_rules() {
    let world = Fixture::start().await;
    let (alice, anonymous) = (UserInfo::authenticated("alice", []), UserInfo::anonymous());
    for (user, path, want) in [
        (&alice, "/openapi/v2", 200),
        (&alice, "/openapi/v3", 200),
        (&alice, "/apis/example.com/v1", 200),
        (&alice, "/metrics", 403),
        (&alice, "/", 403),
        (&alice, "/debug/api_priority_and_fairness/dump_priority_levels", 403),
        (&alice, "/logs", 403),
        (&anonymous, "/openapi/v2", 403),
        (&anonymous, "/apis", 403),
        (&anonymous, "/api", 403),
        (&anonymous, "/metrics", 403),
        (&anonymous, "/version", 200),
        (&anonymous, "/readyz", 200),
        (&anonymous, "/readyz/ping", 403),
    ] {
        let (code, body) = world.send(user, &Method::GET, path, &[], None).await;
        assert_eq!(code, want, "{} {path}", user.name);
        assert!(!body.contains(MARKER), "no document has objects in it: {path}");
    }
}
