//! Maps and objects: a view of a JSON object, or computed entries.
//!
//! Odd: an object is a map at run time. A declared property that holds null is absent, an entry
//! of a map that holds null is not. Property names are escaped, keys of maps never.

use crate::decl::{DeclKind, DeclType, Field};
use crate::names;
use crate::value::list::ScalarKey;
use crate::value::{CelValue, Fault, Key, Text, read, read_untyped};
use crate::work::Work;
use pleach_json::{Str, Value, grow_stack_to_drop};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::ops::Deref;
use std::sync::Arc;

/// A map or an object.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// Part of the object; `decl` is its schema, absent where none applies.
    View {
        /// The members as JSON.
        members: &'a pleach_json::Map,
        /// The schema of the map or object.
        decl: Option<&'a DeclType>,
    },
    /// Computed.
    Owned(Arc<OwnedMap<'a>>),
}

/// The entries of a computed map.
#[derive(Clone, Debug)]
pub struct OwnedMap<'a>(BTreeMap<Key<'a>, CelValue<'a>>);

/// A map made from an object may be as deep as the object.
impl Drop for OwnedMap<'_> {
    fn drop(&mut self) {
        if self.0.values().any(CelValue::is_container) {
            grow_stack_to_drop(|| self.0.clear());
        }
    }
}

impl<'a> Deref for OwnedMap<'a> {
    type Target = BTreeMap<Key<'a>, CelValue<'a>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Map<'a> {
    /// A computed map.
    pub fn of(entries: BTreeMap<Key<'a>, CelValue<'a>>) -> Self {
        Self::Owned(Arc::new(OwnedMap(entries)))
    }

    /// How many members it has; of an object all count, declared or not.
    pub fn len(&self) -> usize {
        match self {
            Self::View { members, .. } => members.len(),
            Self::Owned(entries) => entries.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The member `name`, if present.
    pub fn find_str(&self, name: &str) -> Result<Option<CelValue<'a>>, Fault> {
        let (members, decl) = match self {
            Self::View { members, decl } => (*members, *decl),
            Self::Owned(entries) => return Ok(entries.get(&Key::String(name.into())).cloned()),
        };
        let Some(decl) = decl else { return Ok(members.get(name).map(read_untyped)) };
        match decl.kind() {
            DeclKind::Map(element) => members.get(name).map(|value| read(value, element)).transpose(),
            DeclKind::Object(object) => match object.field(name) {
                Some(field) => Self::find_field(members, field),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The declared property, if present and not null.
    #[inline]
    pub(crate) fn find_field(
        members: &'a pleach_json::Map,
        field: &'a Field,
    ) -> Result<Option<CelValue<'a>>, Fault> {
        match members.get(&field.name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value, &field.decl).map(Some),
        }
    }

    /// The member under `key`; numbers find keys of other number types with the same value.
    pub fn find(&self, key: &CelValue<'a>) -> Result<Option<CelValue<'a>>, Fault> {
        if let CelValue::String(text) = key {
            return self.find_str(text.as_str());
        }
        let entries = match self {
            Self::Owned(entries) => entries,
            Self::View { decl: Some(_), .. } => return Err(Fault::no_such_overload()),
            Self::View { decl: None, .. } => return Ok(None),
        };
        Ok(entries
            .get(&Key::of(key)?)
            .or_else(|| other_number_keys(key).iter().flatten().find_map(|key| entries.get(key)))
            .cloned())
    }

    /// The member as JSON, by its name in the data; `None` for computed maps too.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a Value> {
        match self {
            Self::View { members, .. } => members.get(name),
            Self::Owned(_) => None,
        }
    }

    /// The member by its name in the data, as a key of a list of type map.
    pub(crate) fn raw_scalar(&self, name: &Str) -> ScalarKey {
        match self {
            Self::View { members, .. } => ScalarKey::of_json(members.get(name)),
            Self::Owned(entries) => {
                entries.get(&Key::String(name.clone())).map_or(ScalarKey::Null, ScalarKey::of_value)
            }
        }
    }

    /// All keys and values; declared properties only, if it is an object.
    pub fn iter(&self) -> Entries<'a> {
        Entries { map: self.clone(), next: 0, keys: None }
    }

    /// Charges the overhead of an iteration over the entries.
    pub(crate) fn charge_walk(&self, work: &Work<'_>) -> Result<(), Fault> {
        match self {
            // The names of all members are escaped, though only some are declared.
            Self::View { decl: Some(decl), members } if decl.as_object().is_some() => {
                work.charge(members.iter().map(|(name, _)| 1 + name.len() as u64 / 16).sum())
            }
            Self::View { .. } => Ok(()),
            Self::Owned(entries) => {
                let by_text = entries.keys().filter(|key| key.is_by_identity()).count();
                work.charge(entries.len() as u64 + (by_text * LONGEST_SHOWN) as u64)
            }
        }
    }

    /// The map with another entry; an error if the key is there already.
    pub(crate) fn insert(
        self,
        work: &Work<'_>,
        key: &CelValue<'a>,
        value: CelValue<'a>,
    ) -> Result<Self, Fault> {
        let typed = Key::charged(work, key)?;
        let mut entries = match self {
            Self::Owned(mut entries) => {
                let copied = if Arc::get_mut(&mut entries).is_some() { 0 } else { entries.len() };
                work.build_entries(copied + 1)?;
                entries
            }
            view @ Self::View { .. } => {
                let mut entries = BTreeMap::new();
                work.build_entries(view.len() + 1)?;
                for (key, value) in &view {
                    entries.insert(Key::charged(work, &key)?, work.read(value)?);
                }
                Arc::new(OwnedMap(entries))
            }
        };
        if entries.contains_key(&typed) {
            return Err(Fault::error(format!("insert failed: key {} already exists", text(key))));
        }
        Arc::make_mut(&mut entries).0.insert(typed, value);
        Ok(Self::Owned(entries))
    }
}

/// The keys in an order that does not depend on addresses.
fn keys_in_order<'a>(entries: &BTreeMap<Key<'a>, CelValue<'a>>) -> Arc<[Key<'a>]> {
    if !entries.keys().any(Key::is_by_identity) {
        return entries.keys().cloned().collect();
    }
    let mut keys: Vec<_> = entries.keys().cloned().collect();
    keys.sort_by_cached_key(|key| truncated(&key.to_value()));
    keys.into()
}

/// How many bytes of a compound value are printed: values may share their parts, so that their text is
/// far longer than they are.
const LONGEST_SHOWN: usize = 512;

/// The start of a value's text.
fn truncated(value: &CelValue<'_>) -> String {
    struct TruncatedText(String);
    impl Write for TruncatedText {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            self.0.extend(part.chars().take(LONGEST_SHOWN - self.0.len().min(LONGEST_SHOWN)));
            if self.0.len() < LONGEST_SHOWN { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut text = TruncatedText(String::new());
    // An error means that the text is long enough.
    _ = write!(text, "{value:?}");
    text.0
}

/// How messages print a key.
pub(crate) fn text(key: &CelValue<'_>) -> String {
    match key {
        CelValue::String(text) => text.as_str().to_owned(),
        CelValue::Int(i) => i.to_string(),
        CelValue::Uint(u) => u.to_string(),
        CelValue::Bool(b) => b.to_string(),
        CelValue::Double(d) => crate::value::double_text(*d),
        CelValue::Null => "0".to_owned(),
        other => truncated(other),
    }
}

/// The keys of other number types that equal `key`.
fn other_number_keys<'a>(key: &CelValue<'_>) -> [Option<Key<'a>>; 2] {
    let int = |i: Option<i64>| i.map(Key::Int);
    let uint = |u: Option<u64>| u.map(Key::Uint);
    match key {
        CelValue::Int(i) => [uint(u64::try_from(*i).ok()), None],
        CelValue::Uint(u) => [int(i64::try_from(*u).ok()), None],
        CelValue::Double(d) => {
            let whole = d.fract() == 0.0;
            let as_int = (whole && *d >= -9_223_372_036_854_775_808.0 && *d < 9_223_372_036_854_775_808.0)
                .then_some(*d as i64);
            let as_uint = (whole && *d >= 0.0 && *d < 18_446_744_073_709_551_616.0).then_some(*d as u64);
            [int(as_int), uint(as_uint)]
        }
        _ => [None, None],
    }
}

/// The entries of a map one by one.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    map: Map<'a>,
    next: usize,
    /// Of a computed map, whose order has no positions.
    keys: Option<Arc<[Key<'a>]>>,
}

impl<'a> IntoIterator for &Map<'a> {
    type Item = (CelValue<'a>, Result<CelValue<'a>, Fault>);
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (CelValue<'a>, Result<CelValue<'a>, Fault>);

    fn next(&mut self) -> Option<Self::Item> {
        match &self.map {
            Map::View { members, decl } => {
                let (members, decl): (&'a pleach_json::Map, _) = (members, *decl);
                loop {
                    let (name, value) = members.entries().get(self.next)?;
                    self.next += 1;
                    let Some(decl) = decl else {
                        return Some((CelValue::String(Text::Borrowed(name)), Ok(read_untyped(value))));
                    };
                    if let DeclKind::Map(element) = decl.kind() {
                        return Some((CelValue::String(Text::Borrowed(name)), read(value, element)));
                    }
                    let Some(escaped) = names::escape(name) else { continue };
                    let Some(field) = decl.as_object().and_then(|object| object.field(&escaped)) else {
                        continue;
                    };
                    return Some((CelValue::String(Text::Owned(escaped)), read(value, &field.decl)));
                }
            }
            Map::Owned(entries) => {
                let keys = self.keys.get_or_insert_with(|| keys_in_order(entries));
                let key = keys.get(self.next)?;
                self.next += 1;
                Some((key.to_value(), Ok(entries.get(key)?.clone())))
            }
        }
    }
}
