//! The part of a published document that one version of one kind contributes, encoded.
//!
//! All of it lies in one allocation that its pieces are slices of; documents that are sent refer to
//! the same bytes. Only requested forms are kept: the bytes as they are, or compressed, or
//! nothing but their hash.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use pleach_engine::kind::{Kind, KindVersion};
use pleach_json::Str;
use pleach_openapi::{Edition, Form, Fragment, Needed, Resource};

use super::deflate::{Deflated, Deflater};

/// The content of a part that is kept beside its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The bytes as they are.
    pub(super) raw: bool,
    /// The bytes, compressed.
    pub(super) gzip: bool,
}

impl Kept {
    /// Whether all that is wanted is there.
    pub(super) fn has(self, wanted: Self) -> bool {
        (self.raw || !wanted.raw) && (self.gzip || !wanted.gzip)
    }
}

/// A hash of content.
pub(super) type Hash = [u8; 32];

/// The part of one version of one kind.
pub(super) struct Part {
    of: Weak<[KindVersion]>,
    pub(super) kept: Kept,
    pub(super) hash: Hash,
    pub(super) paths: Vec<Piece>,
    pub(super) schemas: Vec<Piece>,
}

/// A member of a document.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) key: Str,
    /// How long it is, whether it is kept or not.
    pub(super) length: usize,
    /// Empty if it is not kept.
    pub(super) raw: Bytes,
    pub(super) deflated: Option<Deflated>,
}

impl Part {
    /// The part of a version of a kind.
    pub(super) fn of(
        kind: &Kind,
        at: usize,
        (edition, form): (Edition, Form),
        kept: Kept,
        deflater: &mut Deflater,
    ) -> Self {
        let fragment = fragment(kind, at, edition, form);
        Self::new(Arc::downgrade(&kind.versions), fragment, form, kept, deflater)
    }

    fn new(
        of: Weak<[KindVersion]>,
        fragment: Fragment,
        form: Form,
        kept: Kept,
        deflater: &mut Deflater,
    ) -> Self {
        let members = || fragment.paths.iter().chain(&fragment.schemas);
        let mut all = Vec::with_capacity(members().map(|member| member.bytes.len()).sum());
        members().for_each(|member| all.extend_from_slice(&member.bytes));
        // All forms of a document have the hash of the first.
        let hash = if form == Form::Json { *blake3::hash(&all).as_bytes() } else { Hash::default() };
        if kept == Kept::default() {
            return Self { of, kept, hash, paths: Vec::new(), schemas: Vec::new() };
        }
        let all = Bytes::from(all);
        let mut start = 0;
        let mut pieces = |members: Vec<pleach_openapi::Member>| -> Vec<Piece> {
            let piece = |member: pleach_openapi::Member| {
                let bytes = all.slice(start..start + member.bytes.len());
                start += bytes.len();
                Piece {
                    key: member.key.into(),
                    length: bytes.len(),
                    deflated: kept.gzip.then(|| deflater.piece(&bytes)),
                    raw: if kept.raw { bytes } else { Bytes::new() },
                }
            };
            members.into_iter().map(piece).collect()
        };
        let (paths, schemas) = (pieces(fragment.paths), pieces(fragment.schemas));
        Self { of, kept, hash, paths, schemas }
    }

    /// Whether it was made from these very versions.
    pub(super) fn is_of(&self, kind: &Kind) -> bool {
        std::ptr::addr_eq(Weak::as_ptr(&self.of), Arc::as_ptr(&kind.versions))
    }

    /// Makes the wanted form from a form that is kept; returns whether that was possible.
    pub(super) fn widen(&mut self, wanted: Kept, deflater: &mut Deflater) -> bool {
        if self.kept.raw && wanted.gzip && !self.kept.gzip {
            for piece in self.paths.iter_mut().chain(&mut self.schemas) {
                piece.deflated = Some(deflater.piece(&piece.raw));
            }
            self.kept.gzip = true;
        }
        self.kept.has(wanted)
    }

    /// The part that kinds share. It never changes, so thousands of documents share the bytes as well.
    pub(super) fn shared(edition: Edition, form: Form, needed: Needed, kept: Kept) -> Self {
        type Known = BTreeMap<(Edition, Form, bool, bool), (Hash, Vec<Piece>)>;
        static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = || Weak::<[KindVersion; 0]>::new();
        let (hash, schemas) =
            known.entry((edition, form, needed.scale, needed.definitions)).or_insert_with(|| {
                let fragment = pleach_openapi::shared(edition, form, needed);
                let all = Kept { raw: true, gzip: true };
                let part = Self::new(nothing(), fragment, form, all, &mut Deflater::default());
                (part.hash, part.schemas)
            });
        let schemas = if kept == Kept::default() { Vec::new() } else { schemas.clone() };
        Self { of: nothing(), kept, hash: *hash, paths: Vec::new(), schemas }
    }
}

/// The part of a version of a kind, not yet kept.
fn fragment(kind: &Kind, at: usize, edition: Edition, form: Form) -> Fragment {
    let version = &kind.versions[at];
    let selectable: Vec<&str> = version.selectable_fields.iter().map(|f| f.label.as_str()).collect();
    let types = if kind.is_custom() {
        None
    } else {
        pleach_engine::kinds::published(&version.api_version, &kind.kind)
    };
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
        types: types.as_ref(),
        preserve_unknown_fields: kind.preserve_unknown_fields,
        built_in: !kind.is_custom(),
        deletes_collections: kind.strategy.deletes_collections(),
    };
    pleach_openapi::fragment(&resource, edition, form)
}
