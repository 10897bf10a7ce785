use pleach_json::json;

use super::*;
use crate::testing::{Fixture, body, foo, text};

#[tokio::test]
async fn a_new_object_is_defaulted_and_gets_its_metadata() {
    let fixture = Fixture::new().await;
    let made = fixture.create_foo("a", json!({"size": 1, "unknown": 2})).await;
    assert_eq!(made.get("spec"), Some(&json!({"color": "red", "size": 1})));
    assert_eq!(text(&made, &["metadata", "creationTimestamp"]), "2027-01-15T08:00:00Z");
    assert_eq!(made.at(&["metadata", "generation"]), Some(&json!(1)));
    assert_eq!(fixture.get(&fixture.foo("a")).await.unwrap(), made);
}

#[tokio::test]
async fn an_invalid_object_is_not_stored() {
    let fixture = Fixture::new().await;
    let refused = fixture.create("foos", &foo("a", json!({"size": 0}))).await.map(drop).unwrap_err();
    assert_eq!(refused.into_status().code, 422);
    assert_eq!(fixture.get(&fixture.foo("a")).await.unwrap_err().into_status().code, 404);
}

#[tokio::test]
async fn an_object_is_created_once() {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({})).await;
    let refused = fixture.create("foos", &foo("a", json!({}))).await.map(drop).unwrap_err().into_status();
    assert_eq!((refused.code, refused.message.as_str()), (409, "foos.example.com \"a\" already exists"));
}

#[tokio::test]
async fn a_replacement_names_the_version_that_it_replaces() {
    let fixture = Fixture::new().await;
    let first = fixture.create_foo("a", json!({"size": 1})).await;
    let (target, options) = (fixture.foo("a"), WriteOptions::default());
    let replace = async |object: &Value| {
        fixture.engine.update(&target, &body(object), &options, &mut Context::default()).await
    };
    let mut second = first.clone();
    second.get_mut("spec").unwrap().as_object_mut().unwrap().insert("size", 2);
    let done = replace(&second).await.unwrap();
    assert!(!done.created);
    assert_eq!(done.object.into_value().unwrap().at(&["metadata", "generation"]), Some(&json!(2)));
    // The first version is no longer the stored one.
    assert_eq!(replace(&second).await.map(drop).unwrap_err().into_status().code, 409);
    assert_eq!(fixture.get(&target).await.unwrap().at(&["spec", "size"]), Some(&json!(2)));
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let fixture = Fixture::new().await;
    let options = WriteOptions { dry_run: true, ..WriteOptions::default() };
    let object = body(&foo("a", json!({})));
    let target = fixture.target("foos", None);
    let made = fixture.engine.create(&target, &object, &options, &mut Context::default()).await.unwrap();
    assert_eq!(made.into_value().unwrap().at(&["spec", "color"]), Some(&json!("red")));
    assert!(fixture.get(&fixture.foo("a")).await.is_err());
}
