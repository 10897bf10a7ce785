//! Assembly of a published document from the parts of its kinds, in one encoding.
//!
//! A part is valid as long as the catalog holds the very version it was made from. A response is a
//! rope of the pieces of all parts, in order: a change makes one part anew and strings the rope
//! again, whatever the size of the document. Nothing is made or kept that was not requested.

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use pleach_json::Str;
use pleach_openapi::{Edition, Form, Frame, Needed, Section};
use sha2::{Digest as _, Sha512};

use super::Served;
use super::deflate::{Deflater, Gzip};
use super::part::{Kept, Part, Piece};
use super::rope::Rope;

/// A document in one form.
pub(super) struct Assembly {
    edition: Edition,
    form: Form,
    /// By group, plural and version.
    parts: BTreeMap<(Str, Str, Str), Part>,
    shared: Option<(Needed, Part)>,
    /// The forms that were requested.
    kept: Kept,
    /// The generation of the catalog that the parts were last compared with.
    compared: Option<u64>,
    stamp: Stamp,
    /// Whether any of the kinds comes from a CRD.
    custom: bool,
    raw: Option<Rope>,
    gzip: Option<Rope>,
}

/// The stamp that changes with the content of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The hash of the content.
    pub(super) etag: Str,
    /// When it was first seen.
    pub(super) since: SystemTime,
}

impl Assembly {
    pub(super) fn new(edition: Edition, form: Form) -> Self {
        Self {
            edition,
            form,
            parts: BTreeMap::new(),
            shared: None,
            kept: Kept::default(),
            compared: None,
            stamp: Stamp { etag: Str::default(), since: SystemTime::UNIX_EPOCH },
            custom: false,
            raw: None,
            gzip: None,
        }
    }

    /// The hash of the content. Members that were not requested are made for it and not kept.
    pub(super) fn stamp(&mut self, generation: u64, served: &dyn Fn() -> Vec<Served>) -> Stamp {
        if self.compared != Some(generation) {
            self.refresh(&served());
            self.compared = Some(generation);
        }
        self.stamp.clone()
    }

    /// Whether more than hashes is kept.
    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.kept != Kept::default()
    }

    /// Whether nothing is served that the document would be about.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether the content must be made, or compared with the kinds there are.
    pub(super) fn is_stale(&self, generation: u64, gzip: bool) -> bool {
        self.compared != Some(generation) || self.kept != self.wanted(gzip)
    }

    /// The forms that are kept after this request.
    fn wanted(&self, gzip: bool) -> Kept {
        Kept { raw: self.kept.raw || !gzip, gzip: self.kept.gzip || gzip }
    }

    /// The content, compressed or not.
    pub(super) fn content(&mut self, generation: u64, gzip: bool, served: &dyn Fn() -> Vec<Served>) -> Rope {
        if self.is_stale(generation, gzip) {
            self.kept = self.wanted(gzip);
            self.refresh(&served());
            self.compared = Some(generation);
        }
        let known = if gzip { &self.gzip } else { &self.raw };
        if let Some(rope) = known {
            return rope.clone();
        }
        let rope = Rope::new(if gzip { self.compressed() } else { self.plain() });
        *(if gzip { &mut self.gzip } else { &mut self.raw }) = Some(rope.clone());
        rope
    }

    /// Makes the parts that are missing or old, and drops the parts of deleted kinds.
    pub(super) fn refresh(&mut self, served: &[Served]) {
        let mut deflater = None;
        let mut made = false;
        let mut old = std::mem::take(&mut self.parts);
        for (kind, at) in served {
            let key = (kind.group.clone(), kind.plural.clone(), kind.versions[*at].name.clone());
            let known = old.remove(&key).filter(|part| part.is_of(kind)).and_then(|mut part| {
                let enough = part.kept.has(self.kept)
                    || part.widen(self.kept, deflater.get_or_insert_with(Deflater::default));
                enough.then_some(part)
            });
            let part = known.unwrap_or_else(|| {
                made = true;
                let deflater = deflater.get_or_insert_with(Deflater::default);
                Part::of(kind, *at, (self.edition, self.form), self.kept, deflater)
            });
            self.parts.insert(key, part);
        }
        made |= !old.is_empty();
        let needed = match self.edition {
            Edition::V2 => Needed { scale: true, definitions: true },
            Edition::V3 => Needed {
                scale: served.iter().any(|(kind, at)| kind.versions[*at].scale.is_some()),
                definitions: served.iter().any(|(kind, _)| kind.group == pleach_engine::kinds::crd::GROUP),
            },
        };
        let fresh = self.shared.as_ref().is_some_and(|(of, part)| *of == needed && part.kept.has(self.kept));
        if !fresh {
            made = true;
            self.shared = Some((needed, Part::shared(self.edition, self.form, needed, self.kept)));
        }
        self.custom = served.iter().any(|(kind, _)| kind.is_custom());
        if made {
            self.raw = None;
            self.gzip = None;
            let etag = self.hash();
            if etag != self.stamp.etag {
                self.stamp = Stamp { etag, since: SystemTime::now() };
            }
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

    /// The pieces as they are.
    fn plain(&self) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        self.each_item(&mut |item| {
            pieces.push(match item {
                Item::Text(b",") => Bytes::from_static(b","),
                Item::Text(text) => Bytes::copy_from_slice(text),
                Item::Piece(piece) => piece.raw.clone(),
            });
        });
        pieces
    }

    /// The compressed pieces.
    fn compressed(&self) -> Vec<Bytes> {
        let (mut gzip, mut deflater) = (Gzip::default(), Deflater::default());
        self.each_item(&mut |item| match item {
            Item::Text(b",") => gzip.comma(),
            Item::Text(text) => gzip.piece(&deflater.piece(text)),
            Item::Piece(piece) => gzip.piece(piece.deflated.as_ref().expect("kept parts are compressed")),
        });
        gzip.finish()
    }

    /// Calls `visit` with the pieces of the document, in order.
    fn each_item(&self, visit: &mut dyn FnMut(Item<'_>)) {
        let (mut paths, mut schemas): (Vec<&Piece>, Vec<&Piece>) = (Vec::new(), Vec::new());
        for part in self.parts.values().chain(self.shared.iter().map(|(_, part)| part)) {
            paths.extend(&part.paths);
            schemas.extend(&part.schemas);
        }
        for pieces in [&mut paths, &mut schemas] {
            pieces.sort_by(|a, b| a.key.cmp(&b.key));
            // A group that takes the name of another's type comes second.
            pieces.dedup_by(|later, first| later.key == first.key);
        }
        let lengths = |pieces: &[&Piece]| pieces.iter().map(|piece| piece.length).collect::<Vec<_>>();
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
                Section::Path(i) => Item::Piece(paths[i]),
                Section::Schema(i) => Item::Piece(schemas[i]),
            });
        });
    }
}

/// A piece of a document.
enum Item<'a> {
    Text(&'a [u8]),
    Piece(&'a Piece),
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read as _;

    use super::*;
    use crate::documents::testing::{crd, kind, set};
    use pleach_json::json;

    const EDITIONS: [Edition; 2] = [Edition::V2, Edition::V3];

    fn served(crds: &[pleach_json::Value]) -> Vec<Served> {
        crds.iter().flat_map(|crd| crate::documents::served_versions(kind(crd))).collect()
    }

    fn bytes(rope: Rope) -> Vec<u8> {
        rope.flat_map(|frame| frame.to_vec()).collect()
    }

    fn unzipped(rope: Rope) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(&bytes(rope)[..]).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn the_etag_changes_if_and_only_if_the_content_does() {
        let (elms, oaks) = (crd("elms", "Elm", "height"), crd("oaks", "Oak", "age"));
        let with = |path: &[&str], key: &str, to: pleach_json::Value| {
            let mut changed = elms.clone();
            set(&mut changed, &[&["spec", "versions", "0"], path].concat(), key, to);
            changed
        };
        let field = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "height"];
        let column = json!([{"name": "Height", "type": "string", "jsonPath": ".spec.height"}]);
        for (after, changes, why) in [
            (vec![elms.clone(), oaks.clone()], false, "the same kinds, made anew"),
            (
                vec![with(&[], "additionalPrinterColumns", column), oaks.clone()],
                false,
                "columns are not shown",
            ),
            (vec![with(&field, "title", json!("t")), oaks.clone()], true, "a field says more"),
            (vec![with(&[], "subresources", json!({"status": {}})), oaks.clone()], true, "a subresource"),
            (vec![elms.clone()], true, "a CRD is gone"),
            (vec![with(&[], "served", json!(false)), oaks.clone()], true, "a version is not served"),
            (vec![crd("elms", "Elm", "girth"), oaks.clone()], true, "another field"),
        ] {
            for edition in EDITIONS {
                let mut assembly = Assembly::new(edition, Form::Json);
                let before = assembly.stamp(1, &|| served(&[elms.clone(), oaks.clone()]));
                let old = bytes(assembly.content(1, false, &|| served(&[elms.clone(), oaks.clone()])));
                let now = assembly.stamp(2, &|| served(&after));
                let new = bytes(assembly.content(2, false, &|| served(&after)));
                assert_eq!(old != new, changes, "{why} ({edition:?})");
                assert_eq!(before.etag != now.etag, changes, "{why} ({edition:?})");
                assert_eq!(before == now, !changes, "it is as old as its content: {why} ({edition:?})");
                let mut other = Assembly::new(edition, Form::Json);
                assert_eq!(other.stamp(7, &|| served(&after)).etag, now.etag, "of the content only: {why}");
            }
        }
    }

    #[test]
    fn a_change_makes_one_part_anew() {
        let (elms, oaks) = (kind(&crd("elms", "Elm", "height")), kind(&crd("oaks", "Oak", "age")));
        let changed = kind(&crd("elms", "Elm", "girth"));
        let mut assembly = Assembly::new(Edition::V2, Form::Json);
        let pointers = |assembly: &Assembly| -> Vec<*const u8> {
            assembly.parts.values().map(|part| part.schemas[0].raw.as_ptr()).collect()
        };
        assembly.content(1, false, &|| vec![(elms.clone(), 0), (oaks.clone(), 0)]);
        let before = pointers(&assembly);
        assembly.content(2, false, &|| vec![(changed.clone(), 0), (oaks.clone(), 0)]);
        let after = pointers(&assembly);
        assert_ne!(before[0], after[0], "the elms changed");
        assert_eq!(before[1], after[1], "the oaks did not");
    }

    #[test]
    fn an_unchanged_catalog_is_not_read_again() {
        let calls = Cell::new(0);
        let served = || {
            calls.set(calls.get() + 1);
            served(&[crd("elms", "Elm", "height")])
        };
        let mut assembly = Assembly::new(Edition::V3, Form::Json);
        let first = assembly.content(1, false, &served);
        let again = assembly.content(1, false, &served);
        assembly.stamp(1, &served);
        assert_eq!(calls.get(), 1, "one comparison for one generation");
        assert_eq!(bytes(first), bytes(again));
        assembly.stamp(2, &served);
        assert_eq!(calls.get(), 2, "and one for the next");
    }

    #[test]
    fn only_what_was_asked_for_is_kept() {
        let kinds = [crd("elms", "Elm", "height")];
        let kinds = served(&kinds);
        let served = || kinds.clone();
        let held = |assembly: &Assembly| {
            let parts = assembly.parts.values();
            let pieces: Vec<&Piece> = parts.flat_map(|part| part.paths.iter().chain(&part.schemas)).collect();
            (pieces.iter().any(|piece| !piece.raw.is_empty()), pieces.iter().any(|p| p.deflated.is_some()))
        };
        let mut assembly = Assembly::new(Edition::V2, Form::Json);
        assembly.stamp(1, &served);
        assert_eq!(held(&assembly), (false, false), "a hash needs nothing");
        let compressed = unzipped(assembly.content(1, true, &served));
        assert_eq!(held(&assembly), (false, true), "only compressed");
        let plain = bytes(assembly.content(1, false, &served));
        assert_eq!(held(&assembly), (true, true), "both");
        assert_eq!(plain, compressed);

        let mut assembly = Assembly::new(Edition::V2, Form::Json);
        assert_eq!(bytes(assembly.content(1, false, &served)), plain);
        assert_eq!(held(&assembly), (true, false), "only plain");
        let before = assembly.parts.values().next().map(|part| part.schemas[0].raw.as_ptr());
        assert_eq!(unzipped(assembly.content(1, true, &served)), plain);
        let after = assembly.parts.values().next().map(|part| part.schemas[0].raw.as_ptr());
        assert_eq!(before, after, "what is there is compressed, not made again");
    }

    #[test]
    fn sent_bytes_are_not_held_twice() {
        let kinds = served(&[crd("elms", "Elm", "height")]);
        for (form, gzip) in [(Form::Json, false), (Form::Json, true), (Form::Protobuf, false)] {
            let mut assembly = Assembly::new(Edition::V2, form);
            let rope = assembly.content(1, gzip, &|| kinds.clone());
            let stored: usize = [&assembly.raw, &assembly.gzip].into_iter().flatten().map(Rope::left).sum();
            assert_eq!(stored, rope.left(), "one rope for what was asked for");
            let part = assembly.parts.values().next().unwrap();
            let all: usize = part.paths.iter().chain(&part.schemas).map(|piece| piece.raw.len()).sum();
            assert_eq!(all == 0, gzip, "bytes as they are only where they are sent");
        }
    }

    #[test]
    fn all_forms_can_be_read() {
        let kinds = served(&[crd("elms", "Elm", "height"), crd("oaks", "Oak", "age")]);
        for edition in EDITIONS {
            let mut json = Assembly::new(edition, Form::Json);
            let document = pleach_json::parse(&bytes(json.content(1, false, &|| kinds.clone()))).unwrap();
            assert!(document.get("paths").is_some(), "{edition:?}");
            let mut protobuf = Assembly::new(edition, Form::Protobuf);
            let plain = bytes(protobuf.content(1, false, &|| kinds.clone()));
            assert_eq!(unzipped(protobuf.content(1, true, &|| kinds.clone())), plain, "{edition:?}");
        }
    }
}
