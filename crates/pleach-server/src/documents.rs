//! Published documents: OpenAPI v2 and v3.
//!
//! Nothing is made before somebody asks. A document is kept as bytes until a kind in it changes; then
//! only that kind's part of it is made anew. A change of a CRD itself costs nothing here: a request
//! finds out what changed by comparing pointers, and not even that while the catalog stands still.

mod assembly;
mod deflate;
mod negotiate;
mod reply;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::Response;
use pleach_engine::Engine;
use pleach_engine::kind::Kind;
use pleach_json::Str;
use pleach_openapi::{Edition, Form};
use tokio::runtime::{Handle, RuntimeFlavor};

use self::assembly::{Assembly, Document};
use crate::app::Call;
use crate::body::Body;
use crate::respond;

/// Documents made from the catalog.
#[derive(Default)]
pub struct Documents {
    v2: Mutex<Forms>,
    v3: Mutex<Index>,
}

/// A document in the forms somebody asked for.
#[derive(Default)]
struct Forms {
    json: Option<Assembly>,
    protobuf: Option<Assembly>,
}

/// The v3 documents.
#[derive(Default)]
struct Index {
    documents: BTreeMap<(Str, Str), Forms>,
    /// The list of them, as of a generation of the catalog.
    list: Option<(u64, Bytes)>,
}

/// A served version of a kind: the kind and the place of the version in it.
type Served = (Arc<Kind>, usize);

impl Documents {
    /// Serves `/openapi/…`.
    pub fn openapi(&self, engine: &Engine, call: &Call, path: &str) -> Response<Body> {
        // Making a document can take a while; other requests shall not wait behind it.
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.answer(engine, call, path)),
            _ => self.answer(engine, call, path),
        }
    }

    fn answer(&self, engine: &Engine, call: &Call, path: &str) -> Response<Body> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["v2"] => match negotiate::form(call, Edition::V2) {
                Some(form) => reply::document(call, Edition::V2, form, self.v2(engine, call, form)),
                None => reply::not_acceptable(),
            },
            ["v3"] => reply::index(self.index(engine)),
            ["v3", "api", version] => self.v3(engine, call, "", version),
            ["v3", "apis", group, version] if !group.is_empty() => self.v3(engine, call, group, version),
            _ => respond::page_not_found(),
        }
    }

    fn v2(&self, engine: &Engine, call: &Call, form: Form) -> Document {
        let generation = engine.catalog().generation();
        let mut forms = self.v2.lock().unwrap_or_else(PoisonError::into_inner);
        let served = || engine.catalog().all().into_iter().flat_map(served_versions).collect();
        forms.document(Edition::V2, form, generation, respond::reads_gzip(&call.headers), &served)
    }

    fn v3(&self, engine: &Engine, call: &Call, group: &str, version: &str) -> Response<Body> {
        let Some(form) = negotiate::form(call, Edition::V3) else { return reply::not_acceptable() };
        let generation = engine.catalog().generation();
        let key = (Str::from(group), Str::from(version));
        let served = || -> Vec<Served> {
            let kinds = engine.catalog().group(group).into_iter().flat_map(served_versions);
            kinds.filter(|(kind, at)| kind.versions[*at].name == version).collect()
        };
        let mut index = self.v3.lock().unwrap_or_else(PoisonError::into_inner);
        if served().is_empty() {
            index.documents.remove(&key);
            return respond::page_not_found();
        }
        let forms = index.documents.entry(key).or_default();
        let document =
            forms.document(Edition::V3, form, generation, respond::reads_gzip(&call.headers), &served);
        drop(index);
        reply::document(call, Edition::V3, form, document)
    }

    /// The list of v3 documents with their hashes.
    fn index(&self, engine: &Engine) -> Bytes {
        let generation = engine.catalog().generation();
        let mut index = self.v3.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, list)) = &index.list
            && *made == generation
        {
            return list.clone();
        }
        let mut groups: BTreeMap<(Str, Str), Vec<Served>> = BTreeMap::new();
        for (kind, at) in engine.catalog().all().into_iter().flat_map(served_versions) {
            let key = (kind.group.clone(), kind.versions[at].name.clone());
            groups.entry(key).or_default().push((kind, at));
        }
        index.documents.retain(|key, _| groups.contains_key(key));
        let mut out = b"{\"paths\":{".to_vec();
        for (i, (key, served)) in groups.into_iter().enumerate() {
            let path = match key.0.as_str() {
                "" => format!("api/{}", key.1),
                group => format!("apis/{group}/{}", key.1),
            };
            let forms = index.documents.entry(key).or_default();
            let etag = forms.etag(Edition::V3, generation, &|| served.clone());
            let comma = if i == 0 { "" } else { "," };
            let line =
                format!("{comma}\"{path}\":{{\"serverRelativeURL\":\"/openapi/v3/{path}?hash={etag}\"}}");
            out.extend_from_slice(line.as_bytes());
        }
        out.extend_from_slice(b"}}");
        let list = Bytes::from(out);
        index.list = Some((generation, list.clone()));
        list
    }
}

impl Forms {
    fn json(&mut self, edition: Edition) -> &mut Assembly {
        self.json.get_or_insert_with(|| Assembly::new(edition, Form::Json))
    }

    /// The hash of the JSON form, which stands for all forms.
    fn etag(&mut self, edition: Edition, generation: u64, served: &dyn Fn() -> Vec<Served>) -> Str {
        self.json(edition).etag(generation, served)
    }

    fn document(
        &mut self,
        edition: Edition,
        form: Form,
        generation: u64,
        gzip: bool,
        served: &dyn Fn() -> Vec<Served>,
    ) -> Document {
        match form {
            Form::Json => self.json(edition).document(generation, gzip, served),
            Form::Protobuf => {
                let etag = self.etag(edition, generation, served);
                let assembly = self.protobuf.get_or_insert_with(|| Assembly::new(edition, form));
                Document { etag, ..assembly.document(generation, gzip, served) }
            }
        }
    }
}

/// The versions of a kind that documents show.
fn served_versions(kind: Arc<Kind>) -> Vec<Served> {
    if !kind.established {
        return Vec::new();
    }
    (0..kind.versions.len()).filter(|at| kind.versions[*at].served).map(|at| (kind.clone(), at)).collect()
}
