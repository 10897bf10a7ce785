//! Cost of writes in the engine alone: no HTTP, no TLS, no disk, one thread.
//!
//! Many short batches are timed and the fastest counts: other load on the machine can only make a batch
//! slower.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use pleach_auth::UserInfo;
use pleach_engine::options::{Body, Context, Format, PatchType, WriteOptions};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, to_vec};
use pleach_store::ModelStore;

use crate::objects::{self, object};

/// Objects in one batch.
const BATCH: usize = 64;

/// An engine with the benchmark's CRD.
pub(crate) struct Bench {
    engine: Engine,
    /// Objects that are changed in turn.
    objects: usize,
}

/// Prints what each write costs.
pub(crate) async fn measure(objects: usize, batches: usize, wanted: &dyn Fn(&str) -> bool) {
    let bench = Bench::new(objects).await;
    println!("{:<10} {:>12} {:>12}", "operation", "µs at least", "µs in median");
    for operation in ["create", "update", "patch", "apply"].into_iter().filter(|name| wanted(name)) {
        let mut took = Vec::new();
        for batch in 0..batches {
            took.push(bench.batch(operation, batch).await);
        }
        took.sort_by(f64::total_cmp);
        println!("{operation:<10} {:>12.1} {:>12.1}", took[0], took[took.len() / 2]);
    }
}

impl Bench {
    /// An engine with so many objects.
    pub(crate) async fn new(objects: usize) -> Self {
        let engine = deterministic::engine(Arc::new(ModelStore::new()));
        engine.start().await.expect("an empty store");
        let bench = Self { engine, objects };
        let crds = bench.target("apiextensions.k8s.io", "customresourcedefinitions", "", None);
        let definition =
            objects::definition("gadgets.bench.pleach.example", "bench.pleach.example", objects::schema());
        bench.create(&crds, definition).await;
        for n in 0..objects {
            bench.create(&bench.gadget(""), body(&name(n), 0)).await;
            bench.apply(&bench.gadget(&applied(n)), body(&applied(n), 0)).await;
        }
        bench
    }

    pub(crate) fn target(&self, group: &str, plural: &str, name: &str, namespace: Option<&str>) -> Target {
        let kind = self.engine.catalog().get(group, plural).expect("a kind that is served");
        let name = (!name.is_empty()).then(|| name.into());
        let version = kind.storage;
        Target { kind, version, namespace: namespace.map(Into::into), name, subresource: Subresource::None }
    }

    fn gadget(&self, name: &str) -> Target {
        self.target("bench.pleach.example", "gadgets", name, Some("default"))
    }

    /// µs for one operation, on average over a batch.
    pub(crate) async fn batch(&self, operation: &str, batch: usize) -> f64 {
        let step = batch as i64 + 1;
        let mut calls = Vec::with_capacity(BATCH);
        for i in 0..BATCH {
            let n = (batch * BATCH + i) % self.objects;
            calls.push(match operation {
                "create" => (self.gadget(""), body(&format!("new-{batch}-{i}"), step)),
                "update" => (self.gadget(&name(n)), self.changed(&name(n), step).await),
                "patch" => {
                    (self.gadget(&name(n)), format!("{{\"spec\":{{\"step\":{}}}}}", step + 1_000_000).into())
                }
                _ => (self.gadget(&applied(n)), body(&applied(n), step)),
            });
        }
        let began = Instant::now();
        self.run(operation, calls);
        began.elapsed().as_secs_f64() * 1e6 / BATCH as f64
    }

    /// The timed function, separate so that instructions can be counted.
    #[inline(never)]
    fn run(&self, operation: &str, calls: Vec<(Target, Bytes)>) {
        for (target, body) in calls {
            match operation {
                "create" => at_once(self.create(&target, body)),
                "update" => at_once(self.update(&target, body)),
                "patch" => at_once(self.patch(&target, body)),
                _ => at_once(self.apply(&target, body)),
            }
        }
    }

    /// An object as it is, with one field changed.
    async fn changed(&self, name: &str, step: i64) -> Bytes {
        let read = self.engine.get(&self.gadget(name), pleach_engine::options::Freshness::Latest).await;
        let mut value = read.expect("an object").into_value().expect("stored JSON");
        if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("step", step);
        }
        to_vec(&value).into()
    }

    pub(crate) async fn create(&self, target: &Target, body: Bytes) {
        let (options, mut context) = asked();
        self.engine.create(target, &json(body), &options, &mut context).await.expect("a new object");
    }

    async fn update(&self, target: &Target, body: Bytes) {
        let (options, mut context) = asked();
        self.engine.update(target, &json(body), &options, &mut context).await.expect("an update");
    }

    async fn patch(&self, target: &Target, body: Bytes) {
        let (options, mut context) = asked();
        let body = json(body);
        let patch = self.engine.patch(target, PatchType::Merge, &body, &options, &mut context);
        patch.await.expect("a patch");
    }

    async fn apply(&self, target: &Target, body: Bytes) {
        let (mut options, mut context) = asked();
        options.force = true;
        let body = Body { bytes: body, format: Format::Yaml };
        self.engine.apply(target, &body, &options, &mut context).await.expect("an apply");
    }
}

/// The store is in memory: nothing waits.
fn at_once(write: impl Future<Output = ()>) {
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::pin!(write).poll(&mut task).is_ready(), "a write that waits");
}

fn asked() -> (WriteOptions, Context) {
    let options = WriteOptions { field_manager: "bench".into(), ..WriteOptions::default() };
    (options, Context { user: UserInfo::authenticated("bench", []), ..Context::default() })
}

fn json(bytes: Bytes) -> Body {
    Body { bytes, format: Format::Json }
}

fn body(name: &str, step: i64) -> Bytes {
    to_vec(&object(name, step)).into()
}

fn name(n: usize) -> String {
    format!("gadget-{n}")
}

fn applied(n: usize) -> String {
    format!("applied-{n}")
}
