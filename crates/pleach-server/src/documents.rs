//! Published documents: OpenAPI v2 and v3.
//!
//! Nothing is made before it is requested. The part of a kind is kept as bytes until the kind
//! changes; then only that is made anew. A change of a CRD itself costs nothing here: a request
//! finds out what changed by comparing pointers, and not even that while the catalog stands still.

mod assembly;
mod deflate;
mod negotiate;
mod part;
mod reply;
pub mod rope;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::Response;
use http::header::IF_NONE_MATCH;
use pleach_engine::Engine;
use pleach_engine::catalog::ServedKind;
use pleach_json::Str;
use pleach_openapi::{Edition, Form};
use tokio::runtime::{Handle, RuntimeFlavor};

use self::assembly::{Assembly, Stamp};
use self::rope::Rope;
use crate::app::Call;
use crate::body::Body;
use crate::respond;

/// Documents made from the catalog.
#[derive(Default)]
pub struct Documents {
    v2: Mutex<Forms>,
    v3: Mutex<Index>,
}

/// A document in the forms that were requested.
#[derive(Default)]
struct Forms {
    json: Option<Assembly>,
    protobuf: Option<Assembly>,
}

/// The v3 documents. Each has a lock of its own, so that requests for different documents do not wait for each other.
#[derive(Default)]
struct Index {
    documents: BTreeMap<(Str, Str), Arc<Mutex<Forms>>>,
    /// The list of them, as of a generation of the catalog.
    list: Option<(u64, Bytes)>,
}

/// A served version of a kind: the kind and the place of the version in it.
type Served = (Arc<ServedKind>, usize);

impl Documents {
    /// Serves `/openapi/…`.
    pub fn openapi(&self, engine: &Engine, call: &Call<'_>, path: &str) -> Response<Body> {
        // Making a document can take a while; other requests shall not wait behind it.
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.answer(engine, call, path)),
            _ => self.answer(engine, call, path),
        }
    }

    fn answer(&self, engine: &Engine, call: &Call<'_>, path: &str) -> Response<Body> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["v2"] => self.v2(engine, call),
            ["v3"] => reply::index(self.index(engine)),
            ["v3", "api", version] => self.v3(engine, call, "", version),
            ["v3", "apis", group, version] if !group.is_empty() => self.v3(engine, call, group, version),
            _ => respond::page_not_found(),
        }
    }

    fn v2(&self, engine: &Engine, call: &Call<'_>) -> Response<Body> {
        let Some(form) = negotiate::form(call, Edition::V2) else { return reply::not_acceptable() };
        let generation = engine.catalog().generation();
        let served = || engine.catalog().all().into_iter().flat_map(served_versions).collect();
        let asked = Asked { edition: Edition::V2, form, generation, served: &served };
        let mut forms = lock(&self.v2);
        let stamp = forms.stamp_for(call, &asked);
        reply::document(call, asked.edition, form, &stamp, |gzip| forms.content(&asked, gzip))
    }

    fn v3(&self, engine: &Engine, call: &Call<'_>, group: &str, version: &str) -> Response<Body> {
        let Some(form) = negotiate::form(call, Edition::V3) else { return reply::not_acceptable() };
        let generation = engine.catalog().generation();
        let served = || -> Vec<Served> {
            let kinds = engine.catalog().group(group).into_iter().flat_map(served_versions);
            kinds.filter(|(kind, at)| kind.versions[*at].name == version).collect()
        };
        let asked = Asked { edition: Edition::V3, form, generation, served: &served };
        let key = (Str::from(group), Str::from(version));
        let known = lock(&self.v3).documents.get(&key).cloned();
        let forms = match known {
            Some(forms) => forms,
            None if served().is_empty() => return reply::no_document(),
            None => lock(&self.v3).documents.entry(key.clone()).or_default().clone(),
        };
        let mut forms = lock(&forms);
        let stamp = forms.stamp_for(call, &asked);
        if forms.is_empty() {
            lock(&self.v3).documents.remove(&key);
            return reply::no_document();
        }
        reply::document(call, asked.edition, form, &stamp, |gzip| forms.content(&asked, gzip))
    }

    /// The list of v3 documents with their hashes.
    fn index(&self, engine: &Engine) -> Bytes {
        let generation = engine.catalog().generation();
        if let Some((made, list)) = &lock(&self.v3).list
            && *made == generation
        {
            return list.clone();
        }
        let mut groups: BTreeMap<(Str, Str), Vec<Served>> = BTreeMap::new();
        for (kind, at) in engine.catalog().all().into_iter().flat_map(served_versions) {
            let key = (kind.group.clone(), kind.versions[at].name.clone());
            groups.entry(key).or_default().push((kind, at));
        }
        lock(&self.v3).documents.retain(|key, _| groups.contains_key(key));
        let mut out = b"{\"paths\":{".to_vec();
        for (i, (key, served)) in groups.into_iter().enumerate() {
            let path = match key.0.as_str() {
                "" => format!("api/{}", key.1),
                group => format!("apis/{group}/{}", key.1),
            };
            let forms = lock(&self.v3).documents.entry(key).or_default().clone();
            let asked =
                Asked { edition: Edition::V3, form: Form::Json, generation, served: &|| served.clone() };
            let etag = lock(&forms).stamp(&asked).etag;
            let comma = if i == 0 { "" } else { "," };
            let line =
                format!("{comma}\"{path}\":{{\"serverRelativeURL\":\"/openapi/v3/{path}?hash={etag}\"}}");
            out.extend_from_slice(line.as_bytes());
        }
        out.extend_from_slice(b"}}");
        let list = Bytes::from(out);
        lock(&self.v3).list = Some((generation, list.clone()));
        list
    }
}

/// The requested document.
struct Asked<'a> {
    edition: Edition,
    form: Form,
    /// The generation of the catalog.
    generation: u64,
    /// The document as of that generation or later.
    served: &'a dyn Fn() -> Vec<Served>,
}

impl Forms {
    fn json(&mut self, edition: Edition) -> &mut Assembly {
        self.json.get_or_insert_with(|| Assembly::new(edition, Form::Json))
    }

    /// The hash of the JSON form, which stands for all forms.
    fn stamp(&mut self, asked: &Asked<'_>) -> Stamp {
        self.json(asked.edition).stamp(asked.generation, asked.served)
    }

    /// The same for a client that may have the content already. One that has nothing will get it: made
    /// at once, it is not made for its hash first.
    fn stamp_for(&mut self, call: &Call<'_>, asked: &Asked<'_>) -> Stamp {
        if asked.form == Form::Json && call.header(IF_NONE_MATCH).is_none() {
            return self.content(asked, respond::reads_gzip(&call.headers)).1;
        }
        self.stamp(asked)
    }

    /// Whether nothing is served that the document would be about.
    fn is_empty(&self) -> bool {
        self.json.as_ref().is_none_or(Assembly::is_empty)
    }

    /// The content and its hash: kinds may have changed since the hash was last asked for.
    fn content(&mut self, asked: &Asked<'_>, gzip: bool) -> (Rope, Stamp) {
        let kinds = OnceCell::new();
        let served = || kinds.get_or_init(asked.served).clone();
        let rope = match asked.form {
            Form::Json => self.json(asked.edition).content(asked.generation, gzip, &served),
            Form::Protobuf => {
                let assembly =
                    self.protobuf.get_or_insert_with(|| Assembly::new(asked.edition, Form::Protobuf));
                let stale = assembly.is_stale(asked.generation, gzip);
                let rope = assembly.content(asked.generation, gzip, &served);
                if stale {
                    // Both forms are made of the same kinds, so that the hash of one tells the other.
                    self.json(asked.edition).refresh(&served());
                }
                rope
            }
        };
        (rope, self.json(asked.edition).stamp(asked.generation, &served))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The versions of a kind that documents show.
fn served_versions(kind: Arc<ServedKind>) -> Vec<Served> {
    if !kind.established {
        return Vec::new();
    }
    (0..kind.versions.len()).filter(|at| kind.versions[*at].served).map(|at| (kind.clone(), at)).collect()
}
