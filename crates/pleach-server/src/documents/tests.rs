//! Documents as clients get them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, HeaderName, IF_NONE_MATCH, LOCATION};
use http::{HeaderMap, Method, Response};
use http_body_util::BodyExt as _;
use pleach_auth::UserInfo;
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json};
use pleach_store_log::LogStore;

use super::testing::{crd, kind, place, set};
use super::*;
use crate::query::Query;
use crate::request_info::RequestInfo;

/// An engine whose catalog is filled by the test.
fn engine() -> (Engine, tempfile::TempDir) {
    let room = tempfile::tempdir().unwrap();
    let store = LogStore::options().sync(false).open(room.path()).unwrap();
    (deterministic::engine(Arc::new(store)), room)
}

fn ask(documents: &Documents, engine: &Engine, path: &str, headers: &[(HeaderName, &str)]) -> Response<Body> {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let headers: HeaderMap =
        headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
    let (query, full) = (Query::parse(query), format!("/openapi/{path}"));
    let info = RequestInfo::new(&Method::GET, &full, &query);
    let call = Call::new(Method::GET, info, UserInfo::anonymous(), &query, headers);
    documents.openapi(engine, &call, path)
}

fn header(response: &Response<Body>, name: HeaderName) -> String {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

fn json_of(response: Response<Body>) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let bytes = runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
    pleach_json::parse(&bytes).unwrap()
}

const ELMS: &str = "v3/apis/trees.example.com/v1";

#[test]
fn a_client_that_has_a_document_does_not_get_it_again() {
    let (engine, _room) = engine();
    engine.catalog().put(kind(&crd("elms", "Elm", "height")));
    for path in ["v2", ELMS] {
        let documents = Documents::default();
        let etag = header(&ask(&documents, &engine, path, &[]), ETAG);
        let same = ask(&documents, &engine, path, &[(IF_NONE_MATCH, &etag)]);
        assert_eq!(same.status(), 304, "{path}");
        assert_eq!(header(&same, ETAG), etag);
        let protobuf = match path {
            "v2" => "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            _ => "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
        };
        let other = ask(&documents, &engine, path, &[(IF_NONE_MATCH, &etag), (ACCEPT, protobuf)]);
        assert_eq!(other.status(), 304, "all forms have one hash: {path}");
        let fresh = Documents::default();
        assert_eq!(ask(&fresh, &engine, path, &[(IF_NONE_MATCH, &etag)]).status(), 304, "after a restart");
        if path == "v2" {
            let kept = lock(&fresh.v2).json.as_ref().map(Assembly::is_kept);
            assert_eq!(kept, Some(false), "nothing is kept for a client that has it");
        }
        let old = ask(&documents, &engine, path, &[(IF_NONE_MATCH, "\"of another day\"")]);
        assert_eq!(old.status(), 200, "{path}");
    }
}

#[test]
fn a_change_ends_what_a_client_has() {
    let (engine, _room) = engine();
    let documents = Documents::default();
    engine.catalog().put(kind(&crd("elms", "Elm", "height")));
    for path in ["v2", ELMS] {
        engine.catalog().put(kind(&crd("elms", "Elm", "height")));
        let etag = header(&ask(&documents, &engine, path, &[]), ETAG);
        engine.catalog().put(kind(&crd("elms", "Elm", "girth")));
        let changed = ask(&documents, &engine, path, &[(IF_NONE_MATCH, &etag)]);
        assert_eq!(changed.status(), 200, "{path}");
        assert_ne!(header(&changed, ETAG), etag, "{path}");
        assert!(json_of(changed).to_string().contains("girth"), "{path}");
    }
}

#[test]
fn deleted_and_unserved_versions_are_not_found() {
    let (engine, _room) = engine();
    let documents = Documents::default();
    let mut elms = crd("elms", "Elm", "height");
    let mut second = place(&mut elms, &["spec", "versions", "0"]).clone();
    set(&mut second, &[], "name", "v2");
    set(&mut second, &[], "storage", false);
    place(&mut elms, &["spec", "versions"]).as_array_mut().unwrap().push(second);
    engine.catalog().put(kind(&elms));
    let status = |path: &str| ask(&documents, &engine, path, &[]).status().as_u16();
    let later = "v3/apis/trees.example.com/v2";
    assert_eq!((status(ELMS), status(later)), (200, 200));
    assert_eq!(status("v3/apis/trees.example.com/v3"), 404, "there never was one");
    assert_eq!(lock(&documents.v3).documents.len(), 2, "and none is kept of what is not there");

    set(&mut elms, &["spec", "versions", "1"], "served", false);
    engine.catalog().put(kind(&elms));
    assert_eq!((status(ELMS), status(later)), (200, 404), "one version is not served any more");
    let definitions = json_of(ask(&documents, &engine, "v2", &[]));
    assert!(definitions.at(&["definitions", "com.example.trees.v1.Elm"]).is_some());
    assert!(definitions.at(&["definitions", "com.example.trees.v2.Elm"]).is_none());

    engine.catalog().remove("trees.example.com", "elms");
    assert_eq!((status(ELMS), status(later)), (404, 404), "the CRD is gone");
    let definitions = json_of(ask(&documents, &engine, "v2", &[]));
    assert!(definitions.at(&["definitions", "com.example.trees.v1.Elm"]).is_none());
    assert!(lock(&documents.v3).documents.is_empty(), "nothing is kept of what is gone");
}

#[test]
fn nothing_is_made_for_others() {
    let (engine, _room) = engine();
    let documents = Documents::default();
    for group in ["a.example.com", "b.example.com", "c.example.com"] {
        let mut elms = crd("elms", "Elm", "height");
        set(&mut elms, &["spec"], "group", group);
        engine.catalog().put(kind(&elms));
    }
    assert!(lock(&documents.v3).documents.is_empty(), "CRDs alone make nothing");
    assert_eq!(ask(&documents, &engine, "v3/apis/b.example.com/v1", &[]).status(), 200);
    let made: Vec<_> = lock(&documents.v3).documents.keys().map(|(group, _)| group.clone()).collect();
    assert_eq!(made, ["b.example.com"]);
    assert!(lock(&documents.v2).json.is_none(), "nor is v2 made for v3");
    assert!(lock(&lock(&documents.v3).documents[&("b.example.com".into(), "v1".into())]).protobuf.is_none());
}

#[test]
fn the_index_has_the_hashes_of_the_documents() {
    let (engine, _room) = engine();
    let documents = Documents::default();
    engine.catalog().put(kind(&crd("elms", "Elm", "height")));
    let url = |engine: &Engine| {
        let index = json_of(ask(&documents, engine, "v3", &[]));
        let url = index.at(&["paths", "apis/trees.example.com/v1", "serverRelativeURL"]).cloned();
        url.and_then(|url| Some(url.as_str()?.strip_prefix("/openapi/")?.to_owned())).unwrap()
    };
    let first = url(&engine);
    let hashed = ask(&documents, &engine, &first, &[]);
    assert_eq!(header(&hashed, ETAG), format!("\"{}\"", first.rsplit('=').next().unwrap()));
    assert_eq!(header(&hashed, CACHE_CONTROL), "public, immutable");
    engine.catalog().put(kind(&crd("elms", "Elm", "girth")));
    let second = url(&engine);
    assert_ne!(first, second);
    let moved = ask(&documents, &engine, &first, &[]);
    assert_eq!(moved.status(), 301, "the hash of another day");
    assert_eq!(header(&moved, LOCATION), format!("/openapi/{second}"));
    engine.catalog().remove("trees.example.com", "elms");
    assert_eq!(json_of(ask(&documents, &engine, "v3", &[])), json!({"paths": {}}));
    assert!(lock(&documents.v3).documents.is_empty());
}

#[test]
fn readers_see_whole_documents_while_kinds_change() {
    let (engine, _room) = engine();
    let documents = Documents::default();
    engine.catalog().put(kind(&crd("elms", "Elm", "height")));
    let seen: Mutex<BTreeMap<(String, String), Value>> = Mutex::default();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for path in ["v2", "v2", ELMS, ELMS, "v3"] {
            let (engine, documents, seen, done) = (&engine, &documents, &seen, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let answer = ask(documents, engine, path, &[]);
                    assert_eq!(answer.status(), 200, "{path}");
                    let etag = header(&answer, ETAG);
                    let document = json_of(answer);
                    if path != "v3" {
                        let mut seen = lock(seen);
                        let known = seen.entry((path.into(), etag)).or_insert_with(|| document.clone());
                        assert!(*known == document, "one hash, one content: {path}");
                    }
                }
            });
        }
        for round in 0..20 {
            engine.catalog().put(kind(&crd("elms", "Elm", ["height", "girth", "age"][round % 3])));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(lock(&seen).len() <= 6, "three contents of two documents");
    assert!(json_of(ask(&documents, &engine, ELMS, &[])).to_string().contains("girth"), "the last is seen");
}
