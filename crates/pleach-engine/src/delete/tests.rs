use pleach_json::json;

use super::*;
use crate::options::PatchType;
use crate::options::WriteOptions;
use crate::testing::{Fixture, body};

async fn delete(fixture: &Fixture, options: DeleteOptions) -> Result<Deleted, Rejection> {
    fixture.engine.delete(&fixture.foo("a"), &options, &mut Context::default()).await
}

#[tokio::test]
async fn an_object_without_finalizers_is_removed() {
    let fixture = Fixture::new().await;
    let made = fixture.create_foo("a", json!({})).await;
    let deleted = delete(&fixture, DeleteOptions::default()).await.unwrap();
    assert!(matches!(deleted, Deleted::Gone(uid) if uid == ObjectMeta::of(&made).uid()));
    assert_eq!(fixture.get(&fixture.foo("a")).await.unwrap_err().into_status().code, 404);
}

#[tokio::test]
async fn an_object_with_finalizers_is_marked_until_they_are_removed() {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({})).await;
    let target = fixture.foo("a");
    let patch = async |patch: Value| {
        let (options, mut context) = (WriteOptions::default(), Context::default());
        fixture.engine.patch(&target, PatchType::Merge, &body(&patch), &options, &mut context).await
    };
    patch(json!({"metadata": {"finalizers": ["example.com/hold"]}})).await.unwrap();
    assert!(matches!(delete(&fixture, DeleteOptions::default()).await, Ok(Deleted::Marked(_))));
    let marked = fixture.get(&target).await.unwrap();
    assert!(ObjectMeta::of(&marked).is_terminating());
    patch(json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert!(fixture.get(&target).await.is_err());
}

#[tokio::test]
async fn preconditions_are_checked() {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({})).await;
    let other = DeleteOptions { uid: Some("other".into()), ..DeleteOptions::default() };
    assert_eq!(delete(&fixture, other).await.map(drop).unwrap_err().into_status().code, 409);
    let other = DeleteOptions { resource_version: Some("1".into()), ..DeleteOptions::default() };
    assert_eq!(delete(&fixture, other).await.map(drop).unwrap_err().into_status().code, 409);
    assert!(fixture.get(&fixture.foo("a")).await.is_ok());
}

#[tokio::test]
async fn propagation_is_a_finalizer() {
    let fixture = Fixture::new().await;
    for (propagation, want) in [(Propagation::Foreground, FOREGROUND), (Propagation::Orphan, ORPHAN)] {
        fixture.create_foo("a", json!({})).await;
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        assert!(matches!(delete(&fixture, options).await, Ok(Deleted::Marked(_))));
        let marked = fixture.get(&fixture.foo("a")).await.unwrap();
        assert_eq!(ObjectMeta::of(&marked).finalizers().collect::<Vec<_>>(), [want]);
        let (options, mut context) = (WriteOptions::default(), Context::default());
        let release = body(&json!({"metadata": {"finalizers": null}}));
        let target = fixture.foo("a");
        fixture.engine.patch(&target, PatchType::Merge, &release, &options, &mut context).await.unwrap();
    }
}

#[tokio::test]
async fn a_collection_is_deleted() {
    let fixture = Fixture::new().await;
    for name in ["a", "b", "c"] {
        fixture.create_foo(name, json!({})).await;
    }
    let (all, mut context) = (fixture.target("foos", None), Context::default());
    let (list, options) = (ListOptions::default(), DeleteOptions::default());
    let deleted = fixture.engine.delete_collection(&all, &list, &options, &mut context).await.unwrap();
    assert_eq!(deleted.items.len(), 3);
    assert!(fixture.engine.list(&all, &list).await.unwrap().items.is_empty());
}
