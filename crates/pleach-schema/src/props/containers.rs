//! Containers of subschemas in a schema: properties, items, combinators.
//!
//! A schema may be ten thousand levels deep, so dropping, cloning and comparing go through
//! [`grow_stack`]. The containers do that, so that [`JSONSchemaProps`] stays a plain struct.

use std::fmt;
use std::ops::{Deref, DerefMut};

use pleach_json::{Str, grow_stack};

use super::JSONSchemaProps;

/// One schema on the heap.
pub struct SchemaBox(Option<Box<JSONSchemaProps>>);

/// A list of schemas.
#[derive(Default)]
pub struct SchemaList(Vec<JSONSchemaProps>);

/// Schemas by name, sorted bytewise; names are unique.
#[derive(Default)]
pub struct SchemaMap(Vec<(Str, JSONSchemaProps)>);

/// `items`: a schema, a list of them, or, as decoded from anything else, neither.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum SchemaOrArray {
    /// Decoded from something that was neither object nor list.
    #[default]
    Neither,
    /// One schema for all items.
    Schema(SchemaBox),
    /// One schema per position.
    List(SchemaList),
}

/// `additionalProperties`: a schema, or whether there may be any.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaOrBool {
    /// `true` or `false`
    Bool(bool),
    /// A schema.
    Schema(SchemaBox),
}

impl SchemaBox {
    /// Puts a schema on the heap.
    pub fn new(schema: JSONSchemaProps) -> Self {
        Self(Some(Box::new(schema)))
    }

    /// Takes it off the heap.
    pub fn into_inner(mut self) -> JSONSchemaProps {
        *self.0.take().expect("only drop and into_inner, which consume it, empty the box")
    }
}

impl Deref for SchemaBox {
    type Target = JSONSchemaProps;
    fn deref(&self) -> &JSONSchemaProps {
        self.0.as_deref().expect("only drop and into_inner, which consume it, empty the box")
    }
}

impl DerefMut for SchemaBox {
    fn deref_mut(&mut self) -> &mut JSONSchemaProps {
        self.0.as_deref_mut().expect("only drop and into_inner, which consume it, empty the box")
    }
}

impl From<JSONSchemaProps> for SchemaBox {
    fn from(schema: JSONSchemaProps) -> Self {
        Self::new(schema)
    }
}

impl SchemaList {
    /// The schemas as a plain vector.
    pub fn into_vec(mut self) -> Vec<JSONSchemaProps> {
        std::mem::take(&mut self.0)
    }
}

impl From<Vec<JSONSchemaProps>> for SchemaList {
    fn from(schemas: Vec<JSONSchemaProps>) -> Self {
        Self(schemas)
    }
}

impl FromIterator<JSONSchemaProps> for SchemaList {
    fn from_iter<I: IntoIterator<Item = JSONSchemaProps>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl Deref for SchemaList {
    type Target = Vec<JSONSchemaProps>;
    fn deref(&self) -> &Vec<JSONSchemaProps> {
        &self.0
    }
}

impl DerefMut for SchemaList {
    fn deref_mut(&mut self) -> &mut Vec<JSONSchemaProps> {
        &mut self.0
    }
}

impl SchemaMap {
    /// The schema called `name`.
    pub fn get(&self, name: &str) -> Option<&JSONSchemaProps> {
        self.position(name).ok().map(|i| &self.0[i].1)
    }

    /// The schema called `name`, open to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut JSONSchemaProps> {
        self.position(name).ok().map(|i| &mut self.0[i].1)
    }

    /// Sets the schema called `name` and returns what it replaced.
    pub fn insert(&mut self, name: impl Into<Str>, schema: JSONSchemaProps) -> Option<JSONSchemaProps> {
        let name = name.into();
        match self.position(&name) {
            Ok(i) => Some(std::mem::replace(&mut self.0[i].1, schema)),
            Err(i) => {
                self.0.insert(i, (name, schema));
                None
            }
        }
    }

    /// The schemas in order of their names, open to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Str, &mut JSONSchemaProps)> {
        self.0.iter_mut().map(|(name, schema)| (&*name, schema))
    }

    /// The schemas as a plain vector, sorted by name.
    pub fn into_vec(mut self) -> Vec<(Str, JSONSchemaProps)> {
        std::mem::take(&mut self.0)
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(n, _)| n.as_str().cmp(name))
    }
}

impl Deref for SchemaMap {
    type Target = [(Str, JSONSchemaProps)];
    fn deref(&self) -> &[(Str, JSONSchemaProps)] {
        &self.0
    }
}

impl FromIterator<(Str, JSONSchemaProps)> for SchemaMap {
    /// Sorts; of equal names the last one wins.
    fn from_iter<I: IntoIterator<Item = (Str, JSONSchemaProps)>>(iter: I) -> Self {
        let mut members: Vec<_> = iter.into_iter().collect();
        if !members.is_sorted_by(|a, b| a.0 < b.0) {
            members.sort_by(|a, b| a.0.cmp(&b.0));
            members.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    std::mem::swap(later, kept);
                }
                same
            });
        }
        Self(members)
    }
}

impl SchemaOrArray {
    /// The schema, if it is one.
    pub fn schema(&self) -> Option<&JSONSchemaProps> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Neither | Self::List(_) => None,
        }
    }

    /// The list, if it is one.
    pub fn list(&self) -> &[JSONSchemaProps] {
        match self {
            Self::List(list) => list,
            Self::Neither | Self::Schema(_) => &[],
        }
    }

    /// All schemas in it.
    pub fn schemas(&self) -> impl Iterator<Item = &JSONSchemaProps> {
        self.schema().into_iter().chain(self.list())
    }
}

impl SchemaOrBool {
    /// The schema, if it is one.
    pub fn schema(&self) -> Option<&JSONSchemaProps> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Bool(_) => None,
        }
    }

    /// Whether additional members are allowed at all.
    pub fn allows(&self) -> bool {
        !matches!(self, Self::Bool(false))
    }
}

impl From<JSONSchemaProps> for SchemaOrArray {
    fn from(schema: JSONSchemaProps) -> Self {
        Self::Schema(schema.into())
    }
}

impl From<JSONSchemaProps> for SchemaOrBool {
    fn from(schema: JSONSchemaProps) -> Self {
        Self::Schema(schema.into())
    }
}

macro_rules! deep {
    ($($container:ident)*) => {$(
        impl Drop for $container {
            fn drop(&mut self) {
                pleach_json::grow_stack_to_drop(|| drop(std::mem::take(&mut self.0)));
            }
        }

        impl Clone for $container {
            fn clone(&self) -> Self {
                grow_stack(|| Self(self.0.clone()))
            }
        }

        impl PartialEq for $container {
            fn eq(&self, other: &Self) -> bool {
                grow_stack(|| self.0 == other.0)
            }
        }

        impl fmt::Debug for $container {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                grow_stack(|| self.0.fmt(f))
            }
        }
    )*};
}

deep!(SchemaBox SchemaList SchemaMap);
