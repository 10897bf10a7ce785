//! The walk over a new object that validates it and writes its `fieldsV1`.
//!
//! Both follow the schema through the whole object, so one walk does both (figures in `docs/design/003`). The creator of
//! an object owns all of its fields and only the text of that set is needed: no set is built. The fields are those
//! of [`new_fields`](crate::fields::new_fields); the verdict is that of `Node::accepts` and of list types.
//!
//! In unusual cases (duplicate items, wrong types, keys that need escapes) the walk ends with `None`, and the caller
//! builds the set. Errors are not worded here: after a verdict other than valid, validation runs as for any object.

use std::cmp::Ordering;
use std::ops::Range;

use pleach_json::{Array, Map, Value, grow_stack, write_int, write_string};
use pleach_schema::compile::Property;
use pleach_work::charge;
use smallvec::SmallVec;

use crate::fields::{Unowned, named};
use crate::fields_v1::is_all_plain;
use crate::fits::{fits, is_fit};
use crate::items::{Key, key};
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// Appends the `fieldsV1` of a new object, without unowned fields, and returns whether all of the object but its type
/// and metadata is valid: accepted by the schema, with no duplicates in lists of type set or map. On `None` what was
/// appended is to be dropped.
pub(crate) fn validate_and_write_fields(
    object: &Value,
    of: Type<'_>,
    unowned: &Unowned<'_>,
    out: &mut Vec<u8>,
) -> Option<bool> {
    let mut writer = Writer { out, valid: true };
    writer.whole_object(object, of, unowned)?;
    Some(writer.valid)
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    /// Everything visited so far is valid.
    valid: bool,
}

/// Where an item is in the text: its path element and all of it, with the comma before it.
struct Row {
    step: Range<usize>,
    end: usize,
}

impl Writer<'_> {
    fn whole_object(&mut self, object: &Value, of: Type<'_>, unowned: &Unowned<'_>) -> Option<()> {
        let (Shape::Map(map), Value::Object(members)) = (of.shape(Some(object)), object) else { return None };
        if map.is_atomic {
            return None;
        }
        let (mut fields, others) = (map.fields(), map.others());
        let open = self.out.len();
        for (key, value) in members.entries() {
            let (declared, property) = fields.next_property(key);
            let of = declared.or(others)?;
            match unowned.of(key) {
                (None, None) => self.member(key, property, value, of)?,
                (Some(reset), _) if reset.member => {
                    self.validate_whole(value, of);
                    fits(value, of, false).then_some(())?;
                }
                (None, Some(unowned)) if unowned.member => self.left(key, value, of, &unowned.children)?,
                // No such sets exist.
                _ => return None,
            }
        }
        // A manager of no fields gets no entry.
        *self.out.get_mut(open)? = b'{';
        self.out.push(b'}');
        Some(())
    }

    /// The rest of a member that is unowned, like some of its own members.
    fn left(&mut self, key: &str, value: &Value, of: Type<'_>, unowned: &Set) -> Option<()> {
        let (map, members) = match (of.shape(Some(value)), value) {
            (Shape::Scalar(scalar), _) => return is_fit(scalar, value).then_some(()),
            (Shape::Map(map), Value::Object(members)) if !map.is_atomic => (map, members),
            _ => return value.is_null().then_some(()),
        };
        let before = self.out.len();
        self.step(key, None);
        let open = self.out.len();
        let (mut fields, others) = (map.fields(), map.others());
        for (key, value) in members.entries() {
            let (declared, property) = fields.next_property(key);
            let of = declared.or(others)?;
            match named(unowned, key) {
                // Fields in a container might be owned.
                Some(_) => (!value.is_container() && fits(value, of, false)).then_some(())?,
                None => self.member(key, property, value, of)?,
            }
        }
        match self.out.get_mut(open) {
            Some(first) => {
                *first = b'{';
                self.out.push(b'}');
            }
            None => self.out.truncate(before),
        }
        Some(())
    }

    /// `,"f:name":`
    #[inline]
    fn step(&mut self, key: &str, property: Option<&Property>) {
        self.out.extend_from_slice(br#","f:"#);
        if property.is_some_and(Property::is_plain) || is_all_plain(key) {
            self.out.extend_from_slice(key.as_bytes());
            self.out.extend_from_slice(br#"":"#);
        } else {
            let quote = self.out.len();
            write_string(key, self.out);
            self.out.remove(quote);
            self.out.push(b':');
        }
    }

    #[inline]
    fn member(&mut self, key: &str, property: Option<&Property>, value: &Value, of: Type<'_>) -> Option<()> {
        self.step(key, property);
        // Most members are scalars.
        if !value.is_null()
            && !value.is_container()
            && let Some(scalar) = of.scalar()
        {
            self.validate_scalar(value, of);
            return self.whole(is_fit(scalar, value));
        }
        self.below(value, of)
    }

    /// Validates a scalar, or an empty container.
    #[inline]
    fn validate_scalar(&mut self, value: &Value, of: Type<'_>) {
        self.valid = self.valid && of.schema().is_none_or(|node| node.accepts(value));
    }

    /// Validates a value with all that is in it.
    fn validate_whole(&mut self, value: &Value, of: Type<'_>) {
        self.valid =
            self.valid && of.schema().is_none_or(|node| !node.below().lists() && node.accepts(value));
    }

    /// Validates a container by its own type and keywords; its items or members follow.
    #[inline]
    fn validate_container(&mut self, value: &Value, of: Type<'_>) {
        self.valid = self.valid && of.schema().is_none_or(|node| node.accepts_apart_from_contents(value));
    }

    /// Nothing goes on from here, if the value fits.
    #[inline]
    fn whole(&mut self, fits: bool) -> Option<()> {
        self.out.extend_from_slice(b"{}");
        fits.then_some(())
    }

    /// Writes what is below an element that is a member.
    fn below(&mut self, value: &Value, of: Type<'_>) -> Option<()> {
        match (of.shape(Some(value)), value) {
            (
                Shape::List(ListShape { relation: Relation::Atomic, .. })
                | Shape::Map(MapShape { is_atomic: true, .. }),
                _,
            ) => {
                self.validate_whole(value, of);
                self.whole(fits(value, of, false))
            }
            (Shape::List(list), Value::Array(items)) if !items.is_empty() => {
                self.validate_container(value, of);
                grow_stack(|| self.items(&list, items))
            }
            (Shape::Map(map), Value::Object(members)) if !members.is_empty() => {
                self.validate_container(value, of);
                grow_stack(|| self.members(&map, members))
            }
            (shape, _) => {
                self.validate_scalar(value, of);
                self.whole(match shape {
                    Shape::Scalar(scalar) => is_fit(scalar, value),
                    Shape::List(_) => matches!(value, Value::Array(_) | Value::Null),
                    Shape::Map(_) => matches!(value, Value::Object(_) | Value::Null),
                })
            }
        }
    }

    fn members(&mut self, map: &MapShape<'_>, members: &Map) -> Option<()> {
        charge(members.len() as u64);
        self.out.extend_from_slice(br#"{".":{}"#);
        let (mut fields, others) = (map.fields(), map.others());
        let mut required = 0;
        for (key, value) in members.entries() {
            let (declared, property) = fields.next_property(key);
            required += usize::from(property.is_some_and(|property| property.required));
            self.member(key, property, value, declared.or(others)?)?;
        }
        // Embedded resources are validated elsewhere.
        self.valid &= map
            .schema()
            .is_none_or(|node| !node.is_embedded_resource() && node.has_required(members, required));
        self.out.push(b'}');
        Some(())
    }

    fn items(&mut self, list: &ListShape<'_>, items: &Array) -> Option<()> {
        charge(8 * items.len() as u64);
        self.out.extend_from_slice(br#"{".":{}"#);
        let start = self.out.len();
        let mut rows: SmallVec<[Row; 8]> = SmallVec::with_capacity(items.len());
        for item in items {
            let begin = self.out.len();
            self.item_step(&key(list, item).ok()?)?;
            let step = begin..self.out.len();
            self.below(item, list.items)?;
            rows.push(Row { step, end: self.out.len() });
        }
        if !rows.is_sorted_by(|a, b| self.order(a, b).is_lt()) {
            charge(4 * rows.len() as u64 + (self.out.len() - start) as u64 / 64);
            rows.sort_by(|a, b| self.order(a, b));
            // Fields of duplicate items are not distinguished.
            if rows.windows(2).any(|pair| self.order(&pair[0], &pair[1]).is_eq()) {
                return None;
            }
            let text = self.out.split_off(start);
            for Row { step, end } in rows {
                self.out.extend_from_slice(&text[step.start - start..end - start]);
            }
        }
        self.out.push(b'}');
        Some(())
    }

    /// `,"k:{\"name\":\"a\"}":` or `,"v:\"a\"":`; none if there is more to escape in it.
    fn item_step(&mut self, key: &Key<'_>) -> Option<()> {
        match key {
            Key::Value(value) => {
                self.out.extend_from_slice(br#","v:"#);
                self.scalar(value)?;
                self.out.extend_from_slice(br#"":"#);
            }
            Key::Fields(fields) => {
                self.out.extend_from_slice(br#","k:"#);
                let mut separator = b'{';
                for (name, value) in fields {
                    self.out.push(std::mem::replace(&mut separator, b','));
                    self.text(name)?;
                    self.out.push(b':');
                    self.scalar(value)?;
                }
                self.out.extend_from_slice(br#"}":"#);
            }
        }
        Some(())
    }

    fn scalar(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::String(text) => self.text(text)?,
            Value::Int(int) => write_int(*int, self.out),
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
            _ => return None,
        }
        Some(())
    }

    /// A text in quotes, inside of quotes.
    fn text(&mut self, text: &str) -> Option<()> {
        is_all_plain(text).then_some(())?;
        self.out.extend_from_slice(br#"\""#);
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(br#"\""#);
        Some(())
    }

    /// The order of two steps as they are without escapes. All they have escaped are quotes.
    fn order(&self, a: &Row, b: &Row) -> Ordering {
        let (a, b) = (&self.out[a.step.clone()], &self.out[b.step.clone()]);
        let as_is = |byte: u8| if byte == b'\\' { b'"' } else { byte };
        match a.iter().zip(b).find(|(a, b)| a != b) {
            Some((a, b)) => as_is(*a).cmp(&as_is(*b)),
            None => a.len().cmp(&b.len()),
        }
    }
}
