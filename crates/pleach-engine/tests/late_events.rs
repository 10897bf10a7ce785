//! Watches over a store that publishes events long after it acknowledged their commits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use pleach_engine::options::{Body, Context, DeleteOptions, Format, WatchOptions, WriteOptions};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::watch::{Change, Item};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json, to_vec};
use pleach_store::{
    Commit, Key, ModelStore, Range, RangeQuery, Revision, Stats, Store, StoreError, StoreFuture, Versioned,
    Watch, WatchItem, WatchStream,
};
use tokio::time::{Sleep, sleep};

/// How late events are.
const LATE: Duration = Duration::from_secs(1);

/// A store whose watches of Foos are late.
#[derive(Default)]
struct LateStore(ModelStore);

impl Store for LateStore {
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        self.0.get(key, at)
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range> {
        self.0.range(query)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        self.0.commit(commit)
    }

    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch> {
        let is_late = prefix.as_str().contains("/foos/");
        let watch = self.0.watch(prefix, after);
        Box::pin(async move {
            let watch = watch.await?;
            Ok(if is_late { Watch::new(LateEvents { watch, held: None }) } else { watch })
        })
    }

    fn revision(&self) -> StoreFuture<'_, Revision> {
        self.0.revision()
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, ()> {
        self.0.compact(before)
    }

    fn stats(&self) -> StoreFuture<'_, Stats> {
        self.0.stats()
    }
}

/// A watch that holds each item back for a while.
struct LateEvents {
    watch: Watch,
    held: Option<Held>,
}

struct Held {
    /// That of the watch before the item.
    progress: Revision,
    item: Option<Result<WatchItem, StoreError>>,
    until: Pin<Box<Sleep>>,
}

impl WatchStream for LateEvents {
    fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Result<WatchItem, StoreError>>> {
        if self.held.is_none() {
            let progress = self.watch.progress();
            let item = ready!(self.watch.poll_next(cx));
            self.held = Some(Held { progress, item, until: Box::pin(sleep(LATE)) });
        }
        if let Some(held) = &mut self.held {
            ready!(held.until.as_mut().poll(cx));
        }
        Poll::Ready(self.held.take().and_then(|held| held.item))
    }

    fn progress(&self) -> Revision {
        self.held.as_ref().map_or_else(|| self.watch.progress(), |held| held.progress)
    }
}

fn target(engine: &Engine, group: &str, plural: &str, name: Option<&str>) -> Target {
    let kind = engine.catalog().get(group, plural).unwrap();
    let namespace = kind.is_namespaced().then(|| "default".into());
    Target { kind, version: 0, namespace, name: name.map(Into::into), subresource: Subresource::None }
}

async fn create(engine: &Engine, target: &Target, object: &Value) {
    let body = Body { bytes: to_vec(object).into(), format: Format::Json };
    engine.create(target, &body, &WriteOptions::default(), &mut Context::default()).await.map(drop).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_its_crd_after_the_last_events() {
    let engine = deterministic::engine(Arc::new(LateStore::default()));
    engine.start().await.unwrap();
    let engine = Arc::new(engine);
    tokio::spawn(engine.clone().run_controllers());
    let crds = target(&engine, "apiextensions.k8s.io", "customresourcedefinitions", None);
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}}});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.g.io"},
        "spec": {"group": "g.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [(version)]}});
    create(&engine, &crds, &crd).await;
    let foos = target(&engine, "g.io", "foos", None);
    for name in ["a", "b"] {
        let foo = json!({"apiVersion": "g.io/v1", "kind": "Foo", "metadata": {"name": (name)}});
        create(&engine, &foos, &foo).await;
    }
    let watch = engine.watch(&foos, WatchOptions::default()).await.unwrap();
    let Ok(mut watch) = watch else { panic!("the watch is refused") };

    let definition = Target { name: Some("foos.g.io".into()), ..crds };
    engine.delete(&definition, &DeleteOptions::default(), &mut Context::default()).await.unwrap();

    let mut seen = Vec::new();
    while let Some(item) = tokio::time::timeout(Duration::from_mins(1), watch.next()).await.unwrap() {
        match item {
            Item::Event(event) => seen.push(event.change),
            Item::InitialEnd(_) => {}
            Item::Failed(status) => panic!("{status:?}"),
        }
    }
    assert_eq!(seen, [Change::Deleted, Change::Deleted]);
    assert!(engine.catalog().get("g.io", "foos").is_none());
}
