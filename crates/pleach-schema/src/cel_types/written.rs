//! CEL types of schemas as written, which rules are checked with when a CRD is written.

use std::collections::HashSet;
use std::sync::Arc;

use pleach_cel::{DeclType, ListKind};
use pleach_json::{Str, Value, grow_stack};

use super::{Bounds, Part, Source, is_meta, make};
use crate::props::JSONSchemaProps;

/// The name of the type of `self`. Upstream has a random number there.
pub(crate) const SELF_TYPE: &str = "selfType1";

/// Types further down than this many bytes of name are numbered instead: names must not grow with
/// the square of the schema's depth.
const LONGEST_NAME: usize = 2_000;

/// The type of a schema; `is_resource`: it is the root or an embedded resource.
pub fn decl_type(schema: &JSONSchemaProps, is_resource: bool) -> Option<DeclType> {
    named_decl_type(schema, is_resource, SELF_TYPE)
}

/// The same; the type and those below it are named after `name`.
pub fn named_decl_type(schema: &JSONSchemaProps, is_resource: bool, name: &str) -> Option<DeclType> {
    make(Written { schema, is_resource }, &mut Name { text: name.into(), root: name.len(), numbered: 0 })
}

/// The name of the type that is being made: longer on the way down and as before on return.
struct Name {
    text: String,
    /// The length of the name of the root.
    root: usize,
    numbered: usize,
}

impl Name {
    fn below<T>(&mut self, part: &str, body: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.text.len();
        if length < LONGEST_NAME {
            self.text.push('.');
            self.text.push_str(part);
        }
        let out = grow_stack(|| body(self));
        self.text.truncate(length);
        out
    }

    fn of_object(&mut self) -> Str {
        if self.text.len() < LONGEST_NAME {
            return self.text.as_str().into();
        }
        self.numbered += 1;
        format!("{}.@{}", &self.text[..self.root], self.numbered).into()
    }
}

#[derive(Clone, Copy)]
struct Written<'a> {
    schema: &'a JSONSchemaProps,
    is_resource: bool,
}

impl<'a> From<&'a JSONSchemaProps> for Written<'a> {
    fn from(schema: &'a JSONSchemaProps) -> Self {
        Self { schema, is_resource: schema.x_embedded_resource }
    }
}

impl<'a> Source<'a> for Written<'a> {
    type Names = Name;

    fn type_name(self) -> &'a str {
        &self.schema.type_
    }

    fn format(self) -> &'a str {
        &self.schema.value().format
    }

    fn is_int_or_string(self) -> bool {
        self.schema.x_int_or_string
    }

    fn is_nullable(self) -> bool {
        self.schema.nullable
    }

    fn is_resource(self) -> bool {
        self.is_resource
    }

    fn list_kind(self) -> ListKind {
        match self.schema.list_type() {
            "set" => ListKind::Set,
            "map" => ListKind::Map(Arc::from(self.schema.list_map_keys())),
            _ => ListKind::Atomic,
        }
    }

    fn bounds(self) -> Bounds {
        let value = self.schema.value();
        let values = value.enum_.as_ref().filter(|values| !values.is_empty());
        let longest =
            values.map(|values| values.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or(0));
        Bounds {
            max_length: value.max_length,
            max_items: value.max_items,
            max_properties: value.max_properties,
            longest_enum_value: longest.map(|n| n as u64),
        }
    }

    fn items(self) -> Option<Self> {
        self.schema.items().map(Self::from)
    }

    fn additional_properties(self) -> Option<Self> {
        self.schema.additional_properties().map(Self::from)
    }

    fn property(self, name: &str) -> Option<Self> {
        self.schema.property(name).map(Self::from)
    }

    fn properties(self) -> impl Iterator<Item = (&'a Str, Self)> {
        self.schema.properties().iter().map(|(name, property)| (name, property.into()))
    }

    fn certain(self, with_meta: bool) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let names = self.schema.required().iter().map(Str::as_str).filter(|name| seen.insert(*name));
        names
            .filter(|name| {
                (with_meta && is_meta(name))
                    || self.schema.property(name).is_some_and(|property| property.default_value().is_null())
            })
            .collect()
    }

    fn below(self, part: Part<'_>, names: &mut Name) -> Option<DeclType> {
        let escaped;
        let part = match part {
            Part::Items => "@idx",
            Part::AdditionalProperties => "@elem",
            Part::Property(name) => {
                escaped = pleach_cel::names::escape(name);
                escaped.as_deref().unwrap_or_default()
            }
        };
        names.below(part, |names| make(self, names))
    }

    fn object_name(self, names: &mut Name) -> Str {
        names.of_object()
    }

    fn metadata_name(names: &mut Name) -> Str {
        names.below("metadata", Name::of_object)
    }
}
