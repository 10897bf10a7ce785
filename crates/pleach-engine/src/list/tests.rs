use pleach_json::{Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::selector::{FieldSelector, LabelSelector};

use super::*;
use crate::testing::Fixture;

fn names(listing: &Listing) -> Vec<String> {
    let name = |object: &Object| ObjectMeta::of(&object.to_value().unwrap()).name().to_owned();
    listing.items.iter().map(name).collect()
}

async fn fixture() -> Fixture {
    let fixture = Fixture::new().await;
    for (name, tier) in [("a", "front"), ("b", "back"), ("c", "front")] {
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": (name), "labels": {"tier": (tier)}},
        });
        fixture.create("foos", &object).await.unwrap();
    }
    fixture
}

#[tokio::test]
async fn selectors_choose_objects() {
    let fixture = fixture().await;
    let all = fixture.target("foos", None);
    let labels = LabelSelector::parse("tier=front").unwrap();
    let listing = fixture.engine.list(&all, &ListOptions { labels, ..ListOptions::default() }).await.unwrap();
    assert_eq!(names(&listing), ["a", "c"]);
    let fields = FieldSelector::parse("metadata.name=b").unwrap();
    let listing = fixture.engine.list(&all, &ListOptions { fields, ..ListOptions::default() }).await.unwrap();
    assert_eq!(names(&listing), ["b"]);
}

#[tokio::test]
async fn pages_are_of_one_snapshot() {
    let fixture = fixture().await;
    let all = fixture.target("foos", None);
    let page = |continue_token| ListOptions { limit: Some(2), continue_token, ..ListOptions::default() };
    let first = fixture.engine.list(&all, &page(None)).await.unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a".to_owned(), "b".to_owned()], Some(1)));
    fixture.create_foo("bb", Value::object()).await;
    let second = fixture.engine.list(&all, &page(first.next)).await.unwrap();
    assert_eq!((names(&second), second.next), (vec!["c".to_owned()], None));
    assert_eq!(second.revision, first.revision);
}

#[tokio::test]
async fn a_future_resource_version_is_an_error() {
    let fixture = fixture().await;
    let all = fixture.target("foos", None);
    let options = ListOptions { freshness: Freshness::Exact(1 << 40), ..ListOptions::default() };
    assert!(fixture.engine.list(&all, &options).await.is_err());
}
