use pleach_json::json;

use super::*;
use crate::testing::{Fixture, body};

async fn patched(patch_type: PatchType, patch: Value) -> Result<Value, u16> {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({"size": 3})).await;
    let (target, options, mut context) = (fixture.foo("a"), WriteOptions::default(), Context::default());
    let done = fixture.engine.patch(&target, patch_type, &body(&patch), &options, &mut context).await;
    let done = done.map_err(|rejection| rejection.into_status().code)?;
    Ok(done.into_value().unwrap().get("spec").cloned().unwrap_or_default())
}

#[tokio::test]
async fn a_merge_patch_sets_and_removes() {
    let spec = patched(PatchType::Merge, json!({"spec": {"size": null, "color": "blue"}})).await;
    assert_eq!(spec, Ok(json!({"color": "blue"})));
}

#[tokio::test]
async fn a_json_patch_is_applied_whole_or_not_at_all() {
    let replace = json!({"op": "replace", "path": "/spec/size", "value": 5});
    let test = |value: i64| json!({"op": "test", "path": "/spec/size", "value": (value)});
    let spec = patched(PatchType::Json, json!([(test(3)), (replace.clone())])).await;
    assert_eq!(spec, Ok(json!({"color": "red", "size": 5})));
    assert_eq!(patched(PatchType::Json, json!([(replace), (test(3))])).await, Err(422));
}

#[tokio::test]
async fn a_patched_object_is_validated() {
    assert_eq!(patched(PatchType::Merge, json!({"spec": {"size": 0}})).await, Err(422));
    assert_eq!(patched(PatchType::Merge, json!({"metadata": {"name": "b"}})).await, Err(400));
}

#[tokio::test]
async fn an_object_that_is_not_there_is_not_created() {
    let fixture = Fixture::new().await;
    let (options, mut context) = (WriteOptions::default(), Context::default());
    let patch = body(&json!({"spec": {}}));
    let done =
        fixture.engine.patch(&fixture.foo("a"), PatchType::Merge, &patch, &options, &mut context).await;
    assert_eq!(done.map(drop).unwrap_err().into_status().code, 404);
}
