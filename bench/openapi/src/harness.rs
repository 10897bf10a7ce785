//! A server without sockets: an engine over a store, and its documents.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderValue};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, Collected};
use pleach_auth::UserInfo;
use pleach_engine::options::{Body, Context, Format, PatchType, WriteOptions};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{AdmissionPlugins, Clock, Engine, Instant, Randomness};
use pleach_server::app::Call;
use pleach_server::chunk::Chunk;
use pleach_server::documents::Documents;
use pleach_server::query::Query;
use pleach_server::request_info::RequestInfo;
use pleach_store_log::LogStore;
use serde_json::Value;
use tempfile::TempDir;

/// An engine and the documents about its kinds.
pub(crate) struct Harness {
    engine: Arc<Engine>,
    documents: Documents,
    _room: TempDir,
}

/// How a document is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON as it is.
    Json,
    /// JSON, compressed.
    Gzip,
    /// The gnostic protobuf as it is.
    Protobuf,
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Instant { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() }
    }
}

struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system has randomness");
    }
}

impl Harness {
    /// A new one, with no CRDs.
    pub(crate) async fn new() -> Self {
        let room = TempDir::new().expect("a directory to work in");
        let store = LogStore::options().sync(false).open(room.path()).expect("a store");
        let engine = Arc::new(Engine::new(
            Arc::new(store),
            Arc::new(SystemClock),
            Arc::new(SystemRandomness),
            AdmissionPlugins::default(),
        ));
        engine.start().await.expect("the engine starts");
        Self { engine, documents: Documents::default(), _room: room }
    }

    fn definitions(&self, name: Option<&str>) -> Target {
        let kind = self.engine.catalog().get("apiextensions.k8s.io", "customresourcedefinitions");
        let kind = kind.expect("CRDs are a kind");
        let version = kind.version("v1").expect("CRDs have v1");
        let subresource = Subresource::None;
        Target { kind, version, namespace: None, name: name.map(Into::into), subresource }
    }

    /// Creates a CRD.
    pub(crate) async fn create(&self, crd: &Value) {
        let (options, mut context) = (WriteOptions::default(), Context::default());
        let made = self.engine.create(&self.definitions(None), &body(crd), &options, &mut context).await;
        made.unwrap_or_else(|error| panic!("{}: {error}", crd["metadata"]["name"]));
    }

    /// Changes a CRD by a merge patch.
    pub(crate) async fn patch(&self, name: &str, patch: &Value) {
        let (options, mut context) = (WriteOptions::default(), Context::default());
        let target = self.definitions(Some(name));
        let changed =
            self.engine.patch(&target, PatchType::Merge, &body(patch), &options, &mut context).await;
        changed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// The response of `/openapi/<path>`, as the connection gets it; the status must be 200.
    pub(crate) async fn document(&self, path: &str, ask: Encoding) -> Collected<Chunk> {
        let mut headers = HeaderMap::new();
        match ask {
            Encoding::Json => {}
            Encoding::Gzip => drop(headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))),
            Encoding::Protobuf => drop(headers.insert(
                ACCEPT,
                HeaderValue::from_static("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"),
            )),
        }
        let (full, query) = (format!("/openapi/{path}"), Query::default());
        let info = RequestInfo::new(&Method::GET, &full, &query);
        let call = Call::new(Method::GET, info, UserInfo::anonymous(), &query, headers);
        let answer = self.documents.openapi(&self.engine, &call, path);
        assert_eq!(answer.status(), 200, "{path}");
        answer.into_body().collect().await.expect("a document has an end")
    }
}

fn body(object: &Value) -> Body {
    Body { bytes: object.to_string().into(), format: Format::Json }
}
