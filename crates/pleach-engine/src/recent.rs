//! Objects that were written a moment ago, as values.
//!
//! Who writes an object soon writes it again: a controller its status, a client the next step. The
//! value that went into the store is kept for a while, so that the next write need not parse what this
//! one wrote. Values share what they have in common, so a change of one field costs the memory of
//! the way to it.
//!
//! What an applier said last of an object is kept beside it, for the same reason: it will say most of it
//! again.
//!
//! **Invariant:** a value that is handed out is what the stored bytes of that revision parse to. What
//! is not here is parsed; nothing depends on finding it.

use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use foldhash::fast::RandomState;
use pleach_json::{SpannedValue, Spans, Str, Value};
use pleach_store::{Key, Revision};

use crate::convert::Conversions;
use crate::kind::KindVersion;
use crate::record::Record;

/// Writers on different processors seldom wait for each other.
const SHARDS: usize = 16;
/// How much is kept, by the size of the stored bytes; as values they take two to four times that.
const BYTES: usize = 8 << 20;
/// Larger objects are not kept: a few of them would displace everything else.
const LARGEST: usize = BYTES / SHARDS / 16;

/// What is known of an object beside its content, under its kind as it is now. What is not known may
/// hold all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The schema of its version finds no fault with it.
    pub(crate) sound: bool,
    /// It fits the types of its version, and its owners are as a write leaves them.
    pub(crate) tracked: bool,
}

/// An object that is there, in the version of a request.
#[derive(Debug)]
pub struct Live {
    pub(crate) value: Value,
    pub(crate) known: Known,
    /// The stored bytes, if the value is what they say, number by number.
    pub(crate) text: Option<Text>,
    /// What it and what is made of it are in other versions, where that takes somebody outside.
    pub(crate) conversions: Option<Box<Conversions>>,
}

/// The stored bytes of an object, and where its containers are in them.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    bytes: Bytes,
    spans: Arc<Spans>,
}

impl Text {
    fn new(record: &Record, spans: Spans) -> Self {
        Self { bytes: record.bytes().clone(), spans: Arc::new(spans) }
    }

    fn spanned<'a>(&'a self, value: &'a Value) -> SpannedValue<'a> {
        SpannedValue::new(value, &self.bytes, &self.spans)
    }
}

impl Live {
    /// The object with its text, if that is at hand.
    pub(crate) fn spanned(&self) -> Option<SpannedValue<'_>> {
        self.text.as_ref().map(|text| text.spanned(&self.value))
    }
}

/// What an applier said, with its text.
pub(crate) struct Saying {
    /// Who said it.
    pub(crate) manager: Str,
    pub(crate) subresource: &'static str,
    /// The version and the schema that it was said under.
    pub(crate) fingerprint: u64,
    pub(crate) config: Value,
    pub(crate) text: Bytes,
    pub(crate) spans: Spans,
}

/// What an applier said last of an object, and the object that this left.
pub(crate) struct Said {
    saying: Saying,
    pub(crate) result: Value,
}

impl Said {
    /// What was said.
    pub(crate) fn config(&self) -> &Value {
        &self.saying.config
    }

    /// What was said, with its text.
    pub(crate) fn spanned(&self) -> SpannedValue<'_> {
        SpannedValue::new(&self.saying.config, &self.saying.text, &self.saying.spans)
    }

    /// Whether it is this one who said it, under the same schema.
    pub(crate) fn is_by(&self, manager: &str, subresource: &str, fingerprint: u64) -> bool {
        let Saying { manager: name, subresource: at, fingerprint: under, .. } = &self.saying;
        name == manager && *at == subresource && *under == fingerprint
    }
}

/// An object as it was stored last.
pub(crate) struct Last {
    value: Value,
    text: Text,
    /// What an applier said last of it.
    pub(crate) said: Option<Arc<Said>>,
}

impl Last {
    /// The object with its text.
    pub(crate) fn spanned(&self) -> SpannedValue<'_> {
        self.text.spanned(&self.value)
    }
}

impl From<Value> for Live {
    fn from(value: Value) -> Self {
        Self { value, known: Known::default(), text: None, conversions: None }
    }
}

impl Deref for Live {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.value
    }
}

/// The objects written last.
#[derive(Default)]
pub(crate) struct Recent {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
}

#[derive(Default)]
struct Shard {
    objects: HashMap<Key, Written, RandomState>,
    /// In the order they were written; an object written again is here again.
    order: VecDeque<(Key, Revision)>,
    bytes: usize,
}

struct Written {
    revision: Revision,
    /// Of the record: under which schema it is settled.
    fingerprint: u64,
    size: usize,
    value: Value,
    text: Text,
    said: Option<Arc<Said>>,
    known: Known,
    /// The kind that it is known under.
    of: Arc<[KindVersion]>,
}

impl Recent {
    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        use std::hash::BuildHasher as _;
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// The object as it was stored under a key at a revision, with what is known of it under a kind.
    pub(crate) fn get(&self, of: &Arc<[KindVersion]>, key: &Key, revision: Revision) -> Option<Live> {
        let shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let found = shard.objects.get(key).filter(|written| written.revision == revision)?;
        let known = if Arc::ptr_eq(&found.of, of) { found.known } else { Known::default() };
        Some(Live { value: found.value.clone(), known, text: Some(found.text.clone()), conversions: None })
    }

    /// The object as it was stored last, if it is settled under a schema. It may not be the latest.
    pub(crate) fn last(&self, key: &Key, fingerprint: u64) -> Option<Last> {
        let shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let written = shard.objects.get(key).filter(|written| written.fingerprint == fingerprint);
        written.map(|found| Last {
            value: found.value.clone(),
            text: found.text.clone(),
            said: found.said.clone(),
        })
    }

    /// Keeps an object as it was stored, in the version that is stored, and what was said if it was applied
    /// to.
    pub(crate) fn put(
        &self,
        of: &Arc<[KindVersion]>,
        key: Key,
        record: &Record,
        (value, spans): (Value, Spans),
        known: Known,
        saying: Option<Saying>,
    ) {
        // What was said goes before the object does.
        let saying = saying.filter(|saying| record.json().len() + saying.text.len() <= LARGEST);
        let size = record.json().len() + saying.as_ref().map_or(0, |saying| saying.text.len());
        if size > LARGEST {
            return;
        }
        let said = saying.map(|saying| Arc::new(Said { saying, result: value.clone() }));
        let mut shard = self.shard(&key).lock().unwrap_or_else(PoisonError::into_inner);
        let (revision, fingerprint) = (record.revision, record.fingerprint());
        let of = Arc::clone(of);
        let text = Text::new(record, spans);
        let displaced = shard.put(key, Written { revision, fingerprint, size, value, text, said, known, of });
        // What goes is taken apart when nobody waits for it.
        drop(shard);
        drop(displaced);
    }
}

impl Shard {
    fn put(&mut self, key: Key, mut written: Written) -> Vec<Written> {
        let mut displaced = Vec::new();
        // What was said is worth knowing until something else is said.
        if written.said.is_none()
            && let Some(before) = self.objects.get(&key)
        {
            written.said.clone_from(&before.said);
            written.size += before.said.as_ref().map_or(0, |said| said.saying.text.len());
        }
        self.order.push_back((key.clone(), written.revision));
        self.bytes += written.size;
        if let Some(before) = self.objects.insert(key, written) {
            self.bytes -= before.size;
            displaced.push(before);
        }
        while self.bytes > BYTES / SHARDS || self.order.len() > 2 * self.objects.len() + 8 {
            let Some((key, revision)) = self.order.pop_front() else { break };
            if self.objects.get(&key).is_some_and(|written| written.revision == revision)
                && let Some(oldest) = self.objects.remove(&key)
            {
                self.bytes -= oldest.size;
                displaced.push(oldest);
            }
        }
        displaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        Key::new(format!("/g/things/{n}"))
    }

    fn put(recent: &Recent, key: Key, revision: u64, size: usize, value: i64) {
        // The header of a record is no part of its size.
        let bytes = [&[1u8; 13][..], &vec![b' '; size]].concat();
        let record = Record::open(bytes.into(), Revision(revision)).unwrap();
        recent.put(
            &Arc::from([]),
            key,
            &record,
            (Value::Int(value), Spans::default()),
            Known::default(),
            None,
        );
    }

    fn get(recent: &Recent, key: Key, revision: u64) -> Option<Value> {
        recent.get(&Arc::from([]), &key, Revision(revision)).map(|live| live.value)
    }

    #[test]
    fn what_is_known_is_known_under_one_kind() {
        let recent = Recent::default();
        let (of, other): (Arc<[KindVersion]>, Arc<[KindVersion]>) = (Arc::from([]), Arc::from([]));
        let record = Record::open(vec![1; 20].into(), Revision(1)).unwrap();
        let known = Known { sound: true, tracked: true };
        recent.put(&of, key(1), &record, (Value::Null, Spans::default()), known, None);
        assert_eq!(recent.get(&of, &key(1), Revision(1)).unwrap().known, known);
        assert_eq!(recent.get(&other, &key(1), Revision(1)).unwrap().known, Known::default());
    }

    #[test]
    fn only_the_revision_that_was_stored_is_found() {
        let recent = Recent::default();
        put(&recent, key(1), 5, 100, 5);
        assert_eq!(get(&recent, key(1), 5), Some(Value::Int(5)));
        assert_eq!(get(&recent, key(1), 4), None);
        put(&recent, key(1), 6, 100, 6);
        assert_eq!(get(&recent, key(1), 5), None);
        assert_eq!(get(&recent, key(1), 6), Some(Value::Int(6)));
        assert_eq!(get(&recent, key(2), 6), None);
        let fingerprint = u64::from_le_bytes([1; 8]);
        assert_eq!(recent.last(&key(1), fingerprint).unwrap().value, Value::Int(6));
        assert!(recent.last(&key(1), 7).is_none(), "settled under another schema");
    }

    #[test]
    fn a_large_saying_does_not_cost_the_object_its_place() {
        let recent = Recent::default();
        let record = Record::open(vec![1; 100].into(), Revision(1)).unwrap();
        for (length, kept) in [(10, true), (LARGEST, false)] {
            let saying = Saying {
                manager: "m".into(),
                subresource: "",
                fingerprint: 1,
                config: Value::Null,
                text: vec![b' '; length].into(),
                spans: Spans::default(),
            };
            let stored = (Value::Int(1), Spans::default());
            recent.put(&Arc::from([]), key(length), &record, stored, Known::default(), Some(saying));
            let last = recent.last(&key(length), record.fingerprint()).unwrap();
            assert_eq!(last.said.is_some(), kept, "{length}");
        }
    }

    #[test]
    fn it_is_bounded_and_the_oldest_goes_first() {
        let recent = Recent::default();
        put(&recent, key(0), 1, LARGEST + 1, 0);
        assert_eq!(get(&recent, key(0), 1), None, "too large");
        for n in 0..5_000 {
            put(&recent, key(n), n as u64, 4_000, n as i64);
            // One that is written again and again stays.
            put(&recent, key(0), n as u64, 4_000, n as i64);
        }
        let sum = |of: fn(&Shard) -> usize| -> usize {
            recent.shards.iter().map(|shard| of(&shard.lock().unwrap())).sum()
        };
        let (bytes, kept) = (sum(|shard| shard.bytes), sum(|shard| shard.objects.len()));
        assert!(bytes <= BYTES && bytes > BYTES / 2, "{bytes}");
        assert_eq!(kept * 4_000, bytes);
        assert!(sum(|shard| shard.order.len()) <= 2 * kept + 9 * SHARDS);
        assert_eq!(get(&recent, key(0), 4_999), Some(Value::Int(4_999)));
        assert_eq!(get(&recent, key(1), 1), None);
        assert_eq!(get(&recent, key(4_998), 4_998), Some(Value::Int(4_998)));
    }
}
