//! Lists: a view of a JSON array, or computed values.
//!
//! A view has the schema of the list: elements are converted when accessed, and
//! `x-kubernetes-list-type` decides equality and `+`.

use crate::decl::{DeclKind, DeclType, ListKind};
use crate::value::{CelValue, Fault, read, read_untyped};
use crate::work::Work;
use pleach_json::{Str, Value, grow_stack_to_drop};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// Part of the object; `decl` is the list's own schema, absent where none applies.
    View {
        /// The elements as JSON.
        items: &'a [Value],
        /// The schema of the list.
        decl: Option<&'a DeclType>,
    },
    /// Computed.
    Owned(Arc<OwnedList<'a>>),
}

/// A computed list.
#[derive(Clone, Debug)]
pub struct OwnedList<'a> {
    items: Vec<CelValue<'a>>,
    /// Set on the result of `+` of a list with a schema: it is still a set or a map.
    decl: Option<&'a DeclType>,
}

/// A list made from an object may be as deep as the object.
impl Drop for OwnedList<'_> {
    fn drop(&mut self) {
        if self.items.iter().any(CelValue::is_container) {
            grow_stack_to_drop(|| self.items.clear());
        }
    }
}

/// The elements of a list one by one.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    source: Source<'a>,
    next: usize,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    View { items: &'a [Value], element: Option<&'a DeclType> },
    Owned(Arc<OwnedList<'a>>),
}

impl<'a> List<'a> {
    /// A list of computed values.
    pub fn of(items: Vec<CelValue<'a>>) -> Self {
        Self::Owned(Arc::new(OwnedList { items, decl: None }))
    }

    /// How many elements it has.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::View { items, .. } => items.len(),
            Self::Owned(list) => list.items.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`, if there is one: its value, or why it has none.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Result<CelValue<'a>, Fault>> {
        match self {
            Self::View { items, decl } => {
                items.get(index).map(|item| read_item(item, decl.and_then(DeclType::element)))
            }
            Self::Owned(list) => list.items.get(index).map(owned_item),
        }
    }

    /// The elements one by one.
    pub fn iter(&self) -> Items<'a> {
        let source = match self {
            Self::View { items, decl } => Source::View { items, element: decl.and_then(DeclType::element) },
            Self::Owned(list) => Source::Owned(Arc::clone(list)),
        };
        Items { source, next: 0 }
    }

    /// All elements, or the first error.
    pub fn to_vec(&self) -> Result<Vec<CelValue<'a>>, Fault> {
        self.iter().collect()
    }

    /// The elements of a set as the data has them.
    pub(crate) fn raw_scalars(&self) -> impl Iterator<Item = ScalarKey> {
        let (view, owned) = match self {
            Self::View { items, .. } => (*items, [].as_slice()),
            Self::Owned(list) => ([].as_slice(), list.items.as_slice()),
        };
        let json = view.iter().map(|item| ScalarKey::of_json(Some(item)));
        json.chain(owned.iter().map(ScalarKey::of_value))
    }

    /// All elements; one that does not fit its schema is an error when it is accessed.
    pub(crate) fn to_vec_keeping(&self, work: &Work<'_>) -> Result<Vec<CelValue<'a>>, Fault> {
        work.build_items(self.len())?;
        let items = work.items(self).map(|item| item.unwrap_or_else(CelValue::failed)).collect();
        work.ended().map_or(Ok(items), Err)
    }

    /// The schema's list type; `None` for lists without a schema.
    pub(crate) fn kind(&self) -> Option<&'a ListKind> {
        let decl = match self {
            Self::View { decl, .. } => *decl,
            Self::Owned(list) => list.decl,
        };
        match decl?.kind() {
            DeclKind::List(_, kind) => Some(kind),
            _ => None,
        }
    }

    /// Appends an element, in place if the list is not shared: macros build their results that way.
    pub(crate) fn push(self, work: &Work<'_>, value: CelValue<'a>) -> Result<Self, Fault> {
        match self {
            Self::Owned(mut list) if list.decl.is_none() => {
                if let Some(own) = Arc::get_mut(&mut list) {
                    work.build_items(1)?;
                    own.items.push(value);
                    return Ok(Self::Owned(list));
                }
                work.build_items(list.items.len() + 1)?;
                Arc::make_mut(&mut list).items.push(value);
                Ok(Self::Owned(list))
            }
            list => list.concat(work, &Self::of(vec![value])),
        }
    }

    /// `self + other`: a union for sets, a merge by key for maps.
    pub(crate) fn concat(&self, work: &Work<'_>, other: &Self) -> Result<Self, Fault> {
        let length = self.len() + other.len();
        work.build_items(length)?;
        let decl = match self {
            Self::View { decl, .. } => *decl,
            Self::Owned(list) => list.decl,
        };
        // An element that does not fit its schema is an error when it is accessed.
        let keep = |item: Result<CelValue<'a>, Fault>| item.unwrap_or_else(CelValue::failed);
        let mut items = Vec::with_capacity(length);
        items.extend(work.items(self).map(keep));
        match self.kind() {
            Some(ListKind::Set) => {
                let mut known = BTreeSet::new();
                for key in self.raw_scalars() {
                    known.insert(key.charged(work, length)?);
                }
                for item in work.items(other).map(keep) {
                    if known.insert(ScalarKey::of_value(&item).charged(work, length)?) {
                        items.push(item);
                    }
                }
            }
            Some(ListKind::Map(keys)) => {
                let keys = escaped_keys(keys);
                let mut known = BTreeMap::new();
                for (at, item) in items.iter().enumerate() {
                    known.insert(map_key(work, item, &keys, length)?, at);
                }
                for item in work.items(other).map(keep) {
                    match known.get(&map_key(work, &item, &keys, length)?) {
                        Some(at) => items[*at] = item,
                        None => items.push(item),
                    }
                }
            }
            _ => items.extend(work.items(other).map(keep)),
        }
        work.look()?;
        Ok(Self::Owned(Arc::new(OwnedList { items, decl })))
    }
}

#[inline]
fn read_item<'a>(item: &'a Value, element: Option<&'a DeclType>) -> Result<CelValue<'a>, Fault> {
    match element {
        Some(element) => read(item, element),
        None => Ok(read_untyped(item)),
    }
}

fn owned_item<'a>(item: &CelValue<'a>) -> Result<CelValue<'a>, Fault> {
    match item {
        CelValue::Failed(fault) => Err((**fault).clone()),
        item => Ok(item.clone()),
    }
}

/// A scalar as a key: values of unlike types differ, `1` and `1.0` too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScalarKey {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
    String(Str),
    /// Never found in a set by the API server: dates and other parsed strings.
    Other(&'static str),
}

impl ScalarKey {
    /// The key, charged for finding it among `count` others.
    pub(crate) fn charged(self, work: &Work<'_>, count: usize) -> Result<Self, Fault> {
        let bytes = if let Self::String(text) = &self { text.len() } else { 0 };
        work.charge((1 + bytes as u64 / 64) * (1 + u64::from((count as u64 + 1).ilog2())))?;
        Ok(self)
    }

    pub(crate) fn of_json(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Null,
            Some(Value::Bool(b)) => Self::Bool(*b),
            Some(Value::Int(i)) => Self::Int(*i),
            Some(Value::Float(f)) => Self::Double(f.to_bits()),
            Some(Value::String(s)) => Self::String(s.clone()),
            Some(Value::Array(_)) => Self::Other("json array"),
            Some(Value::Object(_)) => Self::Other("json object"),
        }
    }

    pub(crate) fn of_value(value: &CelValue<'_>) -> Self {
        match value {
            CelValue::Null => Self::Null,
            CelValue::Bool(b) => Self::Bool(*b),
            CelValue::Int(i) => Self::Int(*i),
            CelValue::Uint(u) => Self::Uint(*u),
            CelValue::Double(d) => Self::Double(d.to_bits()),
            CelValue::String(text) => Self::String(text.as_str().into()),
            other => Self::Other(other.type_name()),
        }
    }
}

/// The names under which a list's keys are looked up.
///
/// Odd: they are the *escaped* names, though the data has raw ones, so a key that needs escaping is
/// never found and all elements seem to have the same.
pub(crate) fn escaped_keys(keys: &[Str]) -> Vec<Str> {
    keys.iter().map(|key| crate::names::escape(key).unwrap_or_else(|| key.clone())).collect()
}

/// The values of an element's keys in a list of type map, to be found among `count` others.
pub(crate) fn map_key(
    work: &Work<'_>,
    item: &CelValue<'_>,
    keys: &[Str],
    count: usize,
) -> Result<Vec<ScalarKey>, Fault> {
    let key = |name: &Str| match item {
        CelValue::Map(map) => map.raw_scalar(name),
        _ => ScalarKey::Null,
    };
    keys.iter().map(|name| key(name).charged(work, count)).collect()
}

impl Items<'_> {
    /// The index of the next element.
    pub fn index(&self) -> usize {
        self.next
    }
}

impl<'a> IntoIterator for &List<'a> {
    type Item = Result<CelValue<'a>, Fault>;
    type IntoIter = Items<'a>;

    fn into_iter(self) -> Items<'a> {
        self.iter()
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<CelValue<'a>, Fault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let item = match &self.source {
            Source::View { items, element } => read_item(items.get(self.next)?, *element),
            Source::Owned(list) => owned_item(list.items.get(self.next)?),
        };
        self.next += 1;
        Some(item)
    }
}
