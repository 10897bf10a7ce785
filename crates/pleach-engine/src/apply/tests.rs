use pleach_json::json;

use super::*;
use crate::testing::{Fixture, body, foo};

async fn apply(fixture: &Fixture, manager: &str, spec: Value, force: bool) -> Result<WriteResult, Rejection> {
    let options = WriteOptions { field_manager: manager.into(), force, ..WriteOptions::default() };
    let configuration = body(&foo("a", spec));
    fixture.engine.apply(&fixture.foo("a"), &configuration, &options, &mut Context::default()).await
}

fn spec(result: WriteResult) -> Value {
    result.object.into_value().unwrap().get("spec").cloned().unwrap_or_default()
}

#[tokio::test]
async fn an_apply_creates_and_then_changes() {
    let fixture = Fixture::new().await;
    let first = apply(&fixture, "one", json!({"size": 1, "color": "blue"}), false).await.unwrap();
    assert!(first.created);
    // A field that is no longer applied is removed, and its default comes back.
    let second = apply(&fixture, "one", json!({"size": 2}), false).await.unwrap();
    assert!(!second.created);
    assert_eq!(spec(second), json!({"color": "red", "size": 2}));
}

#[tokio::test]
async fn managers_conflict_unless_one_is_forced() {
    let fixture = Fixture::new().await;
    apply(&fixture, "one", json!({"size": 1}), false).await.unwrap();
    let refused =
        apply(&fixture, "two", json!({"size": 2}), false).await.map(drop).unwrap_err().into_status();
    assert_eq!(refused.code, 409);
    assert!(refused.message.contains("conflict with \"one\""), "{}", refused.message);
    let forced = apply(&fixture, "two", json!({"size": 2}), true).await.unwrap();
    assert_eq!(spec(forced).get("size"), Some(&json!(2)));
    // The same value is no conflict: both own it.
    assert!(apply(&fixture, "one", json!({"size": 2}), false).await.is_ok());
}

#[tokio::test]
async fn the_same_configuration_again_changes_nothing() {
    let fixture = Fixture::new().await;
    let version = |result: WriteResult| {
        let object = result.object.into_value().unwrap();
        object.at(&["metadata", "resourceVersion"]).cloned()
    };
    let first = version(apply(&fixture, "one", json!({"size": 1}), false).await.unwrap());
    assert_eq!(version(apply(&fixture, "one", json!({"size": 1}), false).await.unwrap()), first);
}
