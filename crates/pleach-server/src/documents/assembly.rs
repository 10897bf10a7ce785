//! One document: the parts that kinds contribute, and the bytes they make together.
//!
//! A part is made from one version of one kind and is good as long as the catalog holds that very
//! version. Once a document is put together its parts are slices of it, so nothing is held twice.
//! Parts are compressed one by one as well: a change compresses what changed and copies the rest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use bytes::Bytes;
use pleach_engine::kind::{Kind, KindVersion};
use pleach_json::Str;
use pleach_openapi::{Edition, Form, Fragment, Frame, Member, Needed, Resource, Section};
use sha2::{Digest as _, Sha512};

use super::Served;
use super::deflate::{Deflated, Gzip};

/// A document in one form.
pub(super) struct Assembly {
    edition: Edition,
    form: Form,
    /// By group, plural and version.
    parts: BTreeMap<(Str, Str, Str), Part>,
    shared: Option<(Needed, Part)>,
    /// The generation of the catalog that the parts were last compared with.
    compared: Option<u64>,
    etag: Str,
    /// Whether any of the kinds comes from a CRD.
    custom: bool,
    made: Option<Made>,
    made_length: usize,
}

/// What a document is sent as.
pub(super) struct Document {
    /// The hash of its content.
    pub(super) etag: Str,
    /// The bytes, compressed if that was asked for.
    pub(super) bytes: Bytes,
    /// When it was put together.
    pub(super) since: SystemTime,
}

struct Made {
    bytes: Bytes,
    gzip: Option<Bytes>,
    since: SystemTime,
}

struct Part {
    of: Weak<[KindVersion]>,
    hash: [u8; 64],
    /// The members, if the document was asked for and not only its hash.
    members: Option<Members>,
}

struct Members {
    paths: Vec<Piece>,
    schemas: Vec<Piece>,
}

struct Piece {
    key: String,
    bytes: Bytes,
    deflated: Option<Deflated>,
}

impl Assembly {
    pub(super) fn new(edition: Edition, form: Form) -> Self {
        Self {
            edition,
            form,
            parts: BTreeMap::new(),
            shared: None,
            compared: None,
            etag: Str::default(),
            custom: false,
            made: None,
            made_length: 0,
        }
    }

    /// The hash of the content. Members that nobody asked for are made for it and not kept.
    pub(super) fn etag(&mut self, generation: u64, served: &dyn Fn() -> Vec<Served>) -> Str {
        if self.compared != Some(generation) {
            let keep = self.made.is_some();
            self.refresh(&served(), keep);
            self.compared = Some(generation);
        }
        self.etag.clone()
    }

    /// The document.
    pub(super) fn document(
        &mut self,
        generation: u64,
        gzip: bool,
        served: &dyn Fn() -> Vec<Served>,
    ) -> Document {
        if self.compared != Some(generation) || self.made.is_none() {
            self.refresh(&served(), true);
            self.compared = Some(generation);
            if self.made.is_none() {
                self.assemble();
            }
        }
        let missing = gzip && self.made.as_ref().is_some_and(|made| made.gzip.is_none());
        let compressed = missing.then(|| self.compress());
        let made = self.made.as_mut().expect("made above where there was none");
        if compressed.is_some() {
            made.gzip = compressed;
        }
        let bytes = made.gzip.as_ref().filter(|_| gzip).unwrap_or(&made.bytes).clone();
        Document { etag: self.etag.clone(), bytes, since: made.since }
    }

    /// Makes the parts that are missing or old, and drops those of kinds that are gone.
    fn refresh(&mut self, served: &[Served], keep: bool) {
        let mut changed = self.etag.is_empty();
        let mut old = std::mem::take(&mut self.parts);
        for (kind, at) in served {
            let key = (kind.group.clone(), kind.plural.clone(), kind.versions[*at].name.clone());
            let known = old.remove(&key).filter(|part| {
                let same = std::ptr::addr_eq(Weak::as_ptr(&part.of), Arc::as_ptr(&kind.versions));
                same && (part.members.is_some() || !keep)
            });
            let part = known.unwrap_or_else(|| {
                changed = true;
                let fragment = fragment(kind, *at, self.edition, self.form);
                Part::new(Arc::downgrade(&kind.versions), fragment, keep)
            });
            self.parts.insert(key, part);
        }
        changed |= !old.is_empty();
        let needed = match self.edition {
            Edition::V2 => Needed { scale: true, definitions: true },
            Edition::V3 => Needed {
                scale: served.iter().any(|(kind, at)| kind.versions[*at].scale.is_some()),
                definitions: served.iter().any(|(kind, _)| kind.group == pleach_engine::crd::GROUP),
            },
        };
        let fresh =
            self.shared.as_ref().is_some_and(|(of, part)| *of == needed && (part.members.is_some() || !keep));
        if !fresh {
            changed = true;
            self.shared = Some((needed, Part::shared(self.edition, self.form, needed, keep)));
        }
        self.custom = served.iter().any(|(kind, _)| kind.is_custom());
        if changed {
            self.made = None;
            self.etag = self.hash();
        }
    }

    fn hash(&self) -> Str {
        use std::fmt::Write as _;
        let mut hash = Sha512::new();
        for part in self.parts.values().chain(self.shared.iter().map(|(_, part)| part)) {
            hash.update(part.hash);
        }
        let mut text = String::with_capacity(128);
        for byte in hash.finalize() {
            let _ = write!(text, "{byte:02X}");
        }
        text.into()
    }

    /// Puts the parts together, and makes them slices of the whole.
    fn assemble(&mut self) {
        let mut out = Vec::with_capacity(self.made_length.next_power_of_two());
        self.each_item(&mut |item| match item {
            Item::Text(text) => out.extend_from_slice(text),
            Item::Piece { piece, .. } => out.extend_from_slice(&piece.bytes),
        });
        out.shrink_to_fit();
        self.made_length = out.len();
        let bytes = Bytes::from(out);
        let mut at = 0;
        self.each_item(&mut |item| match item {
            Item::Text(text) => at += text.len(),
            Item::Piece { piece, .. } => {
                let end = at + piece.bytes.len();
                piece.bytes = bytes.slice(at..end);
                at = end;
            }
        });
        self.made = Some(Made { bytes, gzip: None, since: SystemTime::now() });
    }

    /// The whole, compressed from compressed parts.
    fn compress(&mut self) -> Bytes {
        let mut gzip = Gzip::default();
        let comma: &[u8] = if self.form == Form::Json { b"," } else { b"" };
        self.each_item(&mut |item| match item {
            // Commas are compressed together with what follows them.
            Item::Text(b",") => {}
            Item::Text(text) => gzip.text(text),
            Item::Piece { piece, first: true } => gzip.text(&piece.bytes),
            Item::Piece { piece, first: false } => {
                let bytes = &piece.bytes;
                gzip.part(piece.deflated.get_or_insert_with(|| Deflated::new(&[comma, bytes])));
            }
        });
        gzip.finish()
    }

    /// Calls `visit` with what the document is made of, in order.
    fn each_item(&mut self, visit: &mut dyn FnMut(Item<'_>)) {
        let (mut paths, mut schemas): (Vec<&mut Piece>, Vec<&mut Piece>) = (Vec::new(), Vec::new());
        let shared = self.shared.iter_mut().map(|(_, part)| part);
        for part in self.parts.values_mut().chain(shared) {
            if let Some(members) = &mut part.members {
                paths.extend(members.paths.iter_mut());
                schemas.extend(members.schemas.iter_mut());
            }
        }
        for pieces in [&mut paths, &mut schemas] {
            pieces.sort_by(|a, b| a.key.cmp(&b.key));
            // A group that takes the name of another's type comes second.
            pieces.dedup_by(|later, first| later.key == first.key);
        }
        let lengths = |pieces: &[&mut Piece]| pieces.iter().map(|p| p.bytes.len()).collect::<Vec<_>>();
        let (path_lengths, schema_lengths) = (lengths(&paths), lengths(&schemas));
        let frame = if self.custom && self.edition == Edition::V3 {
            Frame { title: "Kubernetes CRD Swagger", version: "v0.1.0" }
        } else {
            Frame { title: "Kubernetes", version: "v1.36.4" }
        };
        let (edition, form) = (self.edition, self.form);
        pleach_openapi::assemble(edition, form, frame, &path_lengths, &schema_lengths, &mut |section| {
            visit(match section {
                Section::Text(text) => Item::Text(text),
                Section::Path(i) => Item::Piece { piece: &mut *paths[i], first: i == 0 },
                Section::Schema(i) => Item::Piece { piece: &mut *schemas[i], first: i == 0 },
            });
        });
    }
}

/// What a document is made of.
enum Item<'a> {
    Text(&'a [u8]),
    Piece { piece: &'a mut Piece, first: bool },
}

impl Piece {
    fn new(key: String, bytes: Bytes) -> Self {
        Self { key, bytes, deflated: None }
    }
}

impl Part {
    fn new(of: Weak<[KindVersion]>, fragment: Fragment, keep: bool) -> Self {
        let mut hash = Sha512::new();
        for member in fragment.paths.iter().chain(&fragment.schemas) {
            hash.update(&member.bytes);
        }
        let piece = |member: Member| Piece::new(member.key, member.bytes.into());
        let members = keep.then(|| Members {
            paths: fragment.paths.into_iter().map(piece).collect(),
            schemas: fragment.schemas.into_iter().map(piece).collect(),
        });
        Self { of, hash: hash.finalize().into(), members }
    }

    /// What kinds share. It never changes, so thousands of documents share the bytes as well.
    fn shared(edition: Edition, form: Form, needed: Needed, keep: bool) -> Self {
        type Known = BTreeMap<(Edition, Form, bool, bool), ([u8; 64], Vec<(String, Bytes)>)>;
        static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let (hash, schemas) =
            known.entry((edition, form, needed.scale, needed.definitions)).or_insert_with(|| {
                let fragment = pleach_openapi::shared(edition, form, needed);
                let part = Self::new(Weak::<[KindVersion; 0]>::new(), fragment, true);
                let schemas = part.members.into_iter().flat_map(|members| members.schemas);
                (part.hash, schemas.map(|piece| (piece.key, piece.bytes)).collect())
            });
        let pieces = || schemas.iter().map(|(key, bytes)| Piece::new(key.clone(), bytes.clone()));
        let members = keep.then(|| Members { paths: Vec::new(), schemas: pieces().collect() });
        Self { of: Weak::<[KindVersion; 0]>::new(), hash: *hash, members }
    }
}

/// What a version of a kind contributes.
fn fragment(kind: &Kind, at: usize, edition: Edition, form: Form) -> Fragment {
    let version = &kind.versions[at];
    let selectable: Vec<&str> = version.selectable_fields.iter().map(|f| f.label.as_str()).collect();
    let resource = Resource {
        group: &kind.group,
        version: &version.name,
        plural: &kind.plural,
        kind: &kind.kind,
        list_kind: &kind.list_kind,
        namespaced: kind.is_namespaced(),
        status: version.status,
        scale: version.scale.is_some(),
        selectable_fields: &selectable,
        schema: version.props.as_deref(),
        preserve_unknown_fields: kind.preserve_unknown_fields,
        built_in: !kind.is_custom(),
    };
    pleach_openapi::fragment(&resource, edition, form)
}
