//! Objects that are large.

use pleach_engine::object::Object;

use super::*;

const LIMIT: usize = 20_000;
const TOO_LARGE: &str = "etcdserver: request is too large";

async fn fixture() -> Fixture {
    Fixture::with(|engine| engine.with_max_request_bytes(LIMIT)).await
}

fn text(bytes: usize) -> Value {
    "x".repeat(bytes).into()
}

async fn size(fixture: &Fixture, name: &str) -> usize {
    let stored = fixture.store.get(&key(name), None).await.unwrap().unwrap();
    stored.value.len() + key(name).as_str().len()
}

#[tokio::test]
async fn the_default_is_etcds() {
    let fixture = Fixture::new().await;
    fixture.create(FOOS, &foo("small", text(1_500_000))).await.unwrap();
    let refused = fixture.create(FOOS, &foo("large", text(1_572_864))).await.map(drop).unwrap_err();
    let status = refused.into_status();
    assert_eq!((status.code, status.reason.as_str(), status.message.as_str()), (500, "", TOO_LARGE));
    assert!(!fixture.is_stored("large").await);
}

#[tokio::test]
async fn an_object_that_is_too_large_is_not_stored_by_any_write() {
    let fixture = fixture().await;
    fixture.create(FOOS, &foo("a", text(LIMIT - 2_000))).await.unwrap();
    let before = fixture.get(FOOS, "a").await.unwrap();
    for (name, how, patch) in [
        ("a", PatchType::Merge, json!({"spec": {"any": (text(LIMIT))}})),
        (
            "a",
            PatchType::Json,
            json!([{"op": "add", "path": "/spec/any", "value": [(text(LIMIT / 2)), (text(LIMIT / 2))]}]),
        ),
        ("a", PatchType::Apply, foo("a", text(LIMIT))),
        ("new", PatchType::Apply, foo("new", text(LIMIT))),
    ] {
        let refused = fixture.patch(name, how, &patch).await.map(drop).unwrap_err();
        assert_eq!(code_and_message(refused), (500, TOO_LARGE.to_owned()), "{how:?}");
    }
    assert_eq!(fixture.get(FOOS, "a").await.unwrap(), before);
    assert!(!fixture.is_stored("new").await);
}

#[tokio::test]
async fn managed_fields_give_way_before_the_object_is_refused() {
    let fixture = fixture().await;
    // Short fields: their managedFields take more room than they do.
    let many = || {
        let members = (0..900).map(|i| (format!("k{i}").into(), Value::Int(i)));
        Value::Object(members.collect::<Vec<_>>().into())
    };
    let created = fixture.create(FOOS, &foo("a", many())).await.unwrap();
    assert!(created.at(&["metadata", "managedFields"]).is_none());
    assert!(fixture.get(FOOS, "a").await.unwrap().at(&["metadata", "managedFields"]).is_none());
    let fits = fixture.create(FOOS, &foo("b", json!({"k": 1}))).await.unwrap();
    assert!(fits.at(&["metadata", "managedFields"]).is_some());
    let patched = fixture.patch("b", PatchType::Merge, &json!({"spec": {"any": (many())}})).await.unwrap();
    assert!(patched.at(&["metadata", "managedFields"]).is_none());
    // An apply is about owners: it is refused.
    let applied = fixture.patch("c", PatchType::Apply, &foo("c", many())).await.map(drop).unwrap_err();
    assert_eq!(code_and_message(applied), (500, TOO_LARGE.to_owned()));
}

#[tokio::test]
async fn an_object_at_the_limit_can_be_deleted() {
    let fixture = fixture().await;
    fixture.create(FOOS, &foo("a", text(1))).await.unwrap();
    let set = async |bytes: usize| {
        fixture.patch("a", PatchType::Merge, &json!({"spec": {"any": (text(bytes))}})).await.unwrap();
    };
    set(LIMIT - 2_000).await;
    let bytes = LIMIT - 2_000 + LIMIT - size(&fixture, "a").await;
    set(bytes).await;
    assert!(LIMIT - size(&fixture, "a").await < 100, "there is no room left for a time of deletion");
    let deleted = fixture.delete(FOOS, "a", &DeleteOptions::default()).await.unwrap();
    assert!(matches!(deleted, Deleted::Marked(_)));
    assert!(size(&fixture, "a").await > LIMIT);
    // It may not grow further, and what makes it smaller is taken.
    let more = json!({"spec": {"any": (text(bytes + 2_000))}});
    assert!(fixture.patch("a", PatchType::Merge, &more).await.is_err());
    fixture.patch("a", PatchType::Merge, &json!({"spec": {"any": (text(bytes - 20))}})).await.unwrap();
    fixture.patch("a", PatchType::Merge, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert!(!fixture.is_stored("a").await);
}

#[tokio::test]
async fn long_lists_in_another_version_are_kept_as_text() {
    let fixture = Fixture::new().await;
    let names: Vec<String> = (0..9).map(|n| format!("n{n}")).collect();
    for name in &names {
        fixture.create(FOOS, &foo(name, text(1_000_000))).await.unwrap();
    }
    let mut target = fixture.target(FOOS, None);
    target.version = target.kind.version("v2").unwrap();
    let listing = fixture.engine.list(&target, &ListOptions::default()).await.unwrap();
    let as_text = |object: &Object| matches!(object, Object::Stored(_));
    assert_eq!(listing.items.iter().filter(|object| as_text(object)).count(), 5);
    for (name, listed) in names.iter().zip(listing.items) {
        target.name = Some(name.as_str().into());
        let one = fixture.engine.get(&target, Freshness::Latest).await.unwrap();
        let json = |object: &Object| {
            let mut json = Vec::new();
            object.write_json(&mut json);
            json
        };
        assert!(json(&one) == json(&listed), "{name}");
        assert_eq!(one.into_value().unwrap(), listed.into_value().unwrap());
    }
}
