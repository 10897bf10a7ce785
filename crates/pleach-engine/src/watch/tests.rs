use pleach_json::json;
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::selector::LabelSelector;

use super::*;
use crate::options::{Context, DeleteOptions, PatchType, WriteOptions};
use crate::testing::{Fixture, body};

async fn next(stream: &mut WatchStream) -> (Change, String) {
    let event = loop {
        match stream.next().await {
            Some(Item::Event(event)) => break event,
            Some(Item::InitialEnd(_)) => {}
            _ => panic!("the watch has ended"),
        }
    };
    let object = event.object().unwrap().into_value().unwrap();
    (event.change, ObjectMeta::of(&object).name().to_owned())
}

async fn label(fixture: &Fixture, name: &str, tier: &str) {
    let patch = body(&json!({"metadata": {"labels": {"tier": (tier)}}}));
    let (options, mut context) = (WriteOptions::default(), Context::default());
    fixture.engine.patch(&fixture.foo(name), PatchType::Merge, &patch, &options, &mut context).await.unwrap();
}

#[tokio::test]
async fn every_change_is_an_event_in_order() {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({})).await;
    let all = fixture.target("foos", None);
    let options = WatchOptions { initial_events: true, ..WatchOptions::default() };
    let mut stream = fixture.engine.watch(&all, options).await.unwrap().unwrap();
    fixture.create_foo("b", json!({})).await;
    label(&fixture, "a", "front").await;
    let delete = DeleteOptions::default();
    fixture.engine.delete(&fixture.foo("b"), &delete, &mut Context::default()).await.unwrap();
    for want in [(Change::Added, "a"), (Change::Added, "b"), (Change::Modified, "a"), (Change::Deleted, "b")]
    {
        assert_eq!(next(&mut stream).await, (want.0, want.1.to_owned()));
    }
}

#[tokio::test]
async fn an_object_that_is_no_longer_selected_is_deleted_to_the_watcher() {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({})).await;
    let labels = LabelSelector::parse("tier=front").unwrap();
    let options = WatchOptions { labels, initial_events: true, ..WatchOptions::default() };
    let all = fixture.target("foos", None);
    let mut stream = fixture.engine.watch(&all, options).await.unwrap().unwrap();
    label(&fixture, "a", "front").await;
    label(&fixture, "a", "back").await;
    assert_eq!(next(&mut stream).await, (Change::Added, "a".to_owned()));
    assert_eq!(next(&mut stream).await, (Change::Deleted, "a".to_owned()));
}

#[tokio::test]
async fn a_watch_whose_history_is_compacted_ends_with_upstreams_message() {
    let fixture = Fixture::new().await;
    let all = fixture.target("foos", None);
    let mut stream = fixture.engine.watch(&all, WatchOptions::default()).await.unwrap().unwrap();
    fixture.create_foo("a", json!({})).await;
    fixture.create_foo("b", json!({})).await;
    let revision = fixture.engine.store.revision().await.unwrap();
    fixture.engine.store.compact(revision).await.unwrap();
    let Some(Item::Failed(status)) = stream.next().await else { panic!("it goes on") };
    let message = "The resourceVersion for the provided watch is too old.";
    assert_eq!((status.code, status.message.as_str()), (410, message));
}

#[tokio::test]
async fn watchers_with_selectors_share_the_object_of_an_event() {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({})).await;
    let labels = LabelSelector::parse("tier=front").unwrap();
    let all = fixture.target("foos", None);
    let after = fixture.engine.store.revision().await.unwrap().0;
    let options = WatchOptions { labels, after: Some(after), ..WatchOptions::default() };
    let mut streams = Vec::new();
    for _ in 0..2 {
        streams.push(fixture.engine.watch(&all, options.clone()).await.unwrap().unwrap());
    }
    label(&fixture, "a", "front").await;
    label(&fixture, "a", "back").await;
    let mut seen = Vec::new();
    for stream in &mut streams {
        for want in [Change::Added, Change::Deleted] {
            let Some(Item::Event(event)) = stream.next().await else { panic!("an event") };
            assert_eq!(event.change, want);
            let Source::Shared { shared, .. } = &event.source else { panic!("a change") };
            let previous = want == Change::Deleted;
            let looked_at = stream.watcher.in_watched_version(shared, previous).await.unwrap().unwrap();
            let stored = if previous { shared.previous() } else { shared.current() };
            assert!(Arc::ptr_eq(&looked_at, stored.unwrap()), "it is neither copied nor converted");
            seen.push((previous, looked_at));
        }
    }
    for (previous, object) in &seen {
        let same = seen.iter().filter(|(p, _)| p == previous).all(|(_, other)| Arc::ptr_eq(other, object));
        assert!(same, "and parsed once");
    }
}
