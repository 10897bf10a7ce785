//! ClusterRoles that select each other in a long chain: rules are passed on from each to the next, on a small stack.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;

use pleach_engine::options::{Body, Context, Format, Freshness, WriteOptions};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json, to_vec};
use pleach_store::ModelStore;

/// As long as the stack of a thread would not be if each role were a call in the one before.
const CHAIN: usize = 300;

fn target(engine: &Engine, name: Option<&str>) -> Target {
    let kind = engine.catalog().get("rbac.authorization.k8s.io", "clusterroles").unwrap();
    Target { kind, version: 0, namespace: None, name: name.map(Into::into), subresource: Subresource::None }
}

async fn create(engine: &Engine, role: Value) {
    let body = Body { bytes: to_vec(&role).into(), format: Format::Json };
    let target = target(engine, None);
    engine.create(&target, &body, &WriteOptions::default(), &mut Context::default()).await.unwrap();
}

async fn rules(engine: &Engine, name: &str) -> Value {
    let object = engine.get(&target(engine, Some(name)), Freshness::Latest).await.unwrap();
    object.into_value().unwrap().get("rules").cloned().unwrap_or_default()
}

#[tokio::test]
async fn rules_pass_through_a_long_chain_of_roles() {
    let engine = deterministic::engine(Arc::new(ModelStore::default()));
    engine.start().await.unwrap();
    let role = |n: usize, more: Value| {
        let mut role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": (format!("r{n}")), "labels": {"n": (n.to_string())}},
        });
        let Value::Object(more) = more else { unreachable!() };
        more.iter()
            .for_each(|(key, value)| drop(role.as_object_mut().unwrap().insert(key.clone(), value.clone())));
        role
    };
    for n in 0..CHAIN {
        let next = json!({"matchLabels": {"n": ((n + 1).to_string())}});
        create(&engine, role(n, json!({"aggregationRule": {"clusterRoleSelectors": [(next)]}}))).await;
    }
    let granted = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    create(&engine, role(CHAIN, json!({"rules": (granted.clone())}))).await;
    for n in [0, 1, CHAIN / 2, CHAIN] {
        assert_eq!(rules(&engine, &format!("r{n}")).await, granted, "r{n}");
    }
    // A ring: each selects the other, and a change ends.
    let select =
        |n: &str| json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"n": (n)}}]}});
    create(&engine, role(CHAIN + 2, select(&(CHAIN + 3).to_string()))).await;
    create(&engine, role(CHAIN + 3, select(&(CHAIN + 2).to_string()))).await;
    assert_eq!(rules(&engine, &format!("r{}", CHAIN + 2)).await, Value::Null);
}
