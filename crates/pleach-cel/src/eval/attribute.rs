//! Evaluation of attributes: variables, selections and indexes.
//!
//! An attribute costs one per qualifier, plus one; a ternary and a presence test lack the latter, and
//! so does an attribute that is only used as an index. Qualifiers skipped by an optional are free.

use crate::decl::{DeclKind, DeclType};
use crate::eval::evaluator::{Evaluator, Outcome, Slot, is_fatal};
use crate::eval::node::{AttributeId, Qualifier, QualifierKind, Root};
use crate::eval::{Bound, OldSelf, Variable};
use crate::value::{CelValue, Fault, List, Map, Opaque, Text, key_text, read, read_untyped};
use pleach_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of a qualifier.
enum Found<'a> {
    Value(CelValue<'a>),
    /// Absent; with the key, if it was computed.
    Absent(Option<CelValue<'a>>),
}

impl<'a> Evaluator<'a, '_> {
    /// The value of an attribute, with its cost.
    pub(super) fn eval_attribute(&mut self, id: AttributeId) -> Outcome<'a> {
        let value = self.resolve(id);
        if is_fatal(&value) {
            return value;
        }
        if !matches!(self.program.attributes[id.0 as usize].root, Root::Conditional(..)) {
            self.charge(1)?;
        }
        value
    }

    /// Whether the last qualifier of an attribute is present.
    pub(super) fn eval_test(&mut self, id: AttributeId) -> Outcome<'a> {
        let found = self.resolve(id);
        if matches!(self.program.attributes[id.0 as usize].root, Root::Conditional(..)) {
            // Odd: a presence test refunds a charge that a ternary never made.
            self.refund(1);
        }
        match found? {
            CelValue::Optional(inner) => Ok(CelValue::Bool(inner.is_some())),
            value => Ok(value),
        }
    }

    /// The value of an attribute without the additional one.
    pub(super) fn resolve(&mut self, id: AttributeId) -> Outcome<'a> {
        let attribute = &self.program.attributes[id.0 as usize];
        if let Root::Variable(index) = attribute.root
            && matches!(self.program.variables[index as usize].0, Variable::Lazy)
            && let [first, rest @ ..] = attribute.path.as_slice()
        {
            return self.resolve_lazy(first, rest, attribute.optional);
        }
        let root = match &attribute.root {
            Root::Variable(index) => self.variable(*index)?,
            Root::Slot(slot) => self.slot(*slot)?,
            Root::Node(node) => self.eval(*node)?,
            Root::Conditional(condition, truthy, falsy) => {
                let branch = if self.holds(*condition)? { *truthy } else { *falsy };
                return self.resolve(branch);
            }
            Root::Unknown(name) => return Err(Fault::error(format!("no such attribute(s): {name}"))),
        };
        if attribute.optional || matches!(root, CelValue::Optional(_)) {
            return self.follow_optional(root, &attribute.path);
        }
        let (value, steps) = match root {
            CelValue::Map(Map::View { members, decl: Some(decl) }) if !attribute.path.is_empty() => {
                let (value, steps) = follow_fields(members, decl, &attribute.path);
                self.charge(steps as u64)?;
                (self.work.read(value)?, steps)
            }
            CelValue::Map(Map::View { members, decl: None }) if !attribute.path.is_empty() => {
                let (value, steps) = follow_members(members, &attribute.path);
                self.charge(steps as u64)?;
                (value?, steps)
            }
            root => (root, 0),
        };
        self.follow(value, &attribute.path[steps..])
    }

    /// Follows qualifiers that are not optional.
    fn follow(&mut self, mut value: CelValue<'a>, path: &'a [Qualifier]) -> Outcome<'a> {
        for qualifier in path {
            let found = self.step(&value, qualifier);
            if let Err(fault) = &found
                && !fault.is_error()
            {
                return Err(fault.clone());
            }
            self.charge(1)?;
            value = match found? {
                Found::Value(_) if qualifier.test_only => CelValue::Bool(true),
                Found::Absent(_) if qualifier.test_only => CelValue::Bool(false),
                Found::Value(value) => value,
                Found::Absent(key) => return Err(missing(&value, qualifier, key.as_ref())),
            };
        }
        Ok(value)
    }

    /// `variables.name` and what is selected from it.
    fn resolve_lazy(&mut self, name: &'a Qualifier, path: &'a [Qualifier], optional: bool) -> Outcome<'a> {
        let (QualifierKind::Field { name: variable, .. } | QualifierKind::Name(variable)) = &name.kind else {
            return Err(Fault::fixed("unsupported index of variables"));
        };
        let value = match self.lazy {
            Some(lazy) => lazy.get(variable),
            None => Err(Fault::error(format!("no such key: {variable}"))),
        };
        if is_fatal(&value) {
            return value;
        }
        self.charge(1)?;
        let value = value?;
        if name.test_only {
            return Ok(CelValue::Bool(true));
        }
        if name.optional {
            return self.follow_optional(CelValue::some(value), path);
        }
        if optional || matches!(value, CelValue::Optional(_)) && !path.is_empty() {
            return self.follow_optional(value, path);
        }
        self.follow(value, path)
    }

    /// An attribute with an optional root or optional qualifiers: everything after the first is
    /// optional.
    fn follow_optional(&mut self, root: CelValue<'a>, path: &'a [Qualifier]) -> Outcome<'a> {
        let (mut value, mut optional) = match root {
            CelValue::Optional(None) => return Ok(CelValue::Optional(None)),
            CelValue::Optional(Some(inner)) => ((*inner).clone().without_schema(), true),
            value => (value, false),
        };
        for qualifier in path {
            optional |= qualifier.optional;
            let found = self.step(&value, qualifier);
            if optional {
                // Absence in an optional is free, and so is an error there.
                match found? {
                    Found::Absent(_) => return Ok(CelValue::Optional(None)),
                    Found::Value(found) => value = found,
                }
                self.charge(1)?;
                continue;
            }
            if let Err(fault) = &found
                && !fault.is_error()
            {
                return Err(fault.clone());
            }
            self.charge(1)?;
            value = match found? {
                Found::Value(value) => value,
                Found::Absent(key) => return Err(missing(&value, qualifier, key.as_ref())),
            };
        }
        Ok(CelValue::some(value))
    }

    fn step(&mut self, value: &CelValue<'a>, qualifier: &'a Qualifier) -> Result<Found<'a>, Fault> {
        let found = match (&qualifier.kind, value) {
            (
                QualifierKind::Field { object, index, name },
                CelValue::Map(map @ Map::View { members, decl }),
            ) => {
                if let Some(DeclKind::Object(own)) = decl.map(DeclType::kind)
                    && Arc::ptr_eq(own, object)
                {
                    Map::find_field(members, &own.fields()[*index])?
                } else {
                    map.find_str(name)?
                }
            }
            (QualifierKind::Field { name, .. } | QualifierKind::Name(name), CelValue::Map(map)) => {
                map.find_str(name)?
            }
            (QualifierKind::Field { .. } | QualifierKind::Name(_), CelValue::List(_)) => {
                return Err(Fault::fixed("unsupported index type 'string' in list"));
            }
            (QualifierKind::Field { name, .. } | QualifierKind::Name(name), CelValue::Object(object)) => {
                object.fields.get(name.as_str()).cloned()
            }
            (QualifierKind::Field { name, .. } | QualifierKind::Name(name), CelValue::Opaque(opaque))
                if **opaque == Opaque::Empty =>
            {
                return Err(Fault::error(format!("no such field '{name}'")));
            }
            (QualifierKind::Field { .. } | QualifierKind::Name(_), _) => None,
            (QualifierKind::Constant(key), value) => select(value, key)?,
            (QualifierKind::Attribute(id), value) => {
                let key = self.resolve(*id)?;
                return self.select_computed(value, key);
            }
            (QualifierKind::Node(node), value) => {
                let key = self.eval(*node)?;
                return self.select_computed(value, key);
            }
        };
        match found {
            Some(found) => self.work.read(Ok(found)).map(Found::Value),
            None => Ok(Found::Absent(None)),
        }
    }

    fn select_computed(&self, value: &CelValue<'a>, key: CelValue<'a>) -> Result<Found<'a>, Fault> {
        // The key is compared several times, and may be printed.
        self.work.read_bytes(key.as_str().map_or(0, str::len))?;
        match select(value, &key)? {
            Some(value) => self.work.read(Ok(value)).map(Found::Value),
            None => Ok(Found::Absent(Some(key))),
        }
    }

    fn variable(&self, index: u32) -> Outcome<'a> {
        let (variable, name, decl) = &self.program.variables[index as usize];
        let absent = || Err(Fault::error(format!("no such attribute(s): {name}")));
        let inner = match decl.kind() {
            DeclKind::Optional(inner) => inner,
            _ => decl,
        };
        match (variable, self.activation.old_self) {
            (Variable::Self_, _) => self.work.read(read(self.activation.self_, decl)),
            (Variable::OldSelf, OldSelf::Value(value)) => self.work.read(read(value, inner)),
            (Variable::OldSelf, OldSelf::Optional(None)) => Ok(CelValue::Optional(None)),
            (Variable::OldSelf, OldSelf::Optional(Some(value))) => {
                self.work.read(read(value, inner)).map(CelValue::some)
            }
            (Variable::OldSelf, OldSelf::Absent) => absent(),
            (Variable::Other(at), _) => match self.activation.others.get(*at) {
                Some(Bound::Value(value)) => Ok(read_untyped(value)),
                Some(Bound::Authorizer(authz)) => Ok(CelValue::opaque(Opaque::Authz(authz.clone()))),
                Some(Bound::Absent) | None => absent(),
            },
            (Variable::Lazy, _) => Ok(CelValue::Map(Map::of(BTreeMap::new()))),
        }
    }

    #[inline]
    pub(super) fn slot(&mut self, slot: u32) -> Outcome<'a> {
        match &self.slots[slot as usize] {
            // The usual range of a comprehension.
            Slot::Ready(Ok(CelValue::String(Text::Borrowed(text)))) => {
                return Ok(CelValue::String(Text::Borrowed(text)));
            }
            Slot::Ready(value) => return value.clone(),
            Slot::FieldRef(place) => return self.work.read(read(place.value, place.decl)),
            Slot::Empty | Slot::Lazy(_) => {}
        }
        self.force(slot)?;
        match &self.slots[slot as usize] {
            Slot::Ready(value) => value.clone(),
            Slot::Empty | Slot::Lazy(_) | Slot::FieldRef(_) => Err(Fault::fixed("no such attribute(s)")),
        }
    }
}

/// Follows declared properties as far as possible and returns how many: the usual case, in which only
/// the last value is made.
fn follow_fields<'a>(
    mut members: &'a pleach_json::Map,
    mut decl: &'a DeclType,
    path: &'a [Qualifier],
) -> (Outcome<'a>, usize) {
    for (i, qualifier) in path.iter().enumerate() {
        let field = match (&qualifier.kind, decl.kind()) {
            (QualifierKind::Field { object, index, .. }, DeclKind::Object(own))
                if Arc::ptr_eq(own, object) =>
            {
                &own.fields()[*index]
            }
            _ => return (Ok(CelValue::Map(Map::View { members, decl: Some(decl) })), i),
        };
        let value = members.get(&field.name).filter(|value| !value.is_null());
        if qualifier.test_only {
            // A value that does not fit its schema is an error even for a presence test.
            let present = value.map(|value| read(value, &field.decl)).transpose();
            return (present.map(|value| CelValue::Bool(value.is_some())), i + 1);
        }
        match value {
            None => {
                let name = field_name(qualifier);
                return (Err(Fault::error(format!("no such key: {name}"))), i + 1);
            }
            Some(Value::Object(next)) if i + 1 < path.len() && field.decl.as_object().is_some() => {
                (members, decl) = (next, &field.decl);
            }
            Some(value) => return (read(value, &field.decl), i + 1),
        }
    }
    (Ok(CelValue::Map(Map::View { members, decl: Some(decl) })), path.len())
}

/// The same for values without a schema, as admission policies have them.
fn follow_members<'a>(mut members: &'a pleach_json::Map, path: &'a [Qualifier]) -> (Outcome<'a>, usize) {
    for (i, qualifier) in path.iter().enumerate() {
        let (QualifierKind::Field { name, .. } | QualifierKind::Name(name)) = &qualifier.kind else {
            return (Ok(CelValue::Map(Map::View { members, decl: None })), i);
        };
        let value = members.get(name);
        if qualifier.test_only {
            return (Ok(CelValue::Bool(value.is_some())), i + 1);
        }
        match value {
            None => return (Err(Fault::error(format!("no such key: {name}"))), i + 1),
            Some(Value::Object(next)) if i + 1 < path.len() => members = next,
            Some(value) => return (Ok(read_untyped(value)), i + 1),
        }
    }
    (Ok(CelValue::Map(Map::View { members, decl: None })), path.len())
}

fn field_name(qualifier: &Qualifier) -> &str {
    match &qualifier.kind {
        QualifierKind::Field { name, .. } | QualifierKind::Name(name) => name,
        _ => "",
    }
}

/// The error for a missing field or key.
fn missing(value: &CelValue<'_>, qualifier: &Qualifier, key: Option<&CelValue<'_>>) -> Fault {
    let key = match (&qualifier.kind, key) {
        (_, Some(key)) | (QualifierKind::Constant(key), None) => key_text(key),
        (QualifierKind::Field { name, .. } | QualifierKind::Name(name), None) => name.to_string(),
        (QualifierKind::Attribute(_) | QualifierKind::Node(_), None) => String::new(),
    };
    match value {
        CelValue::List(_) => Fault::error(format!("index out of bounds: {key}")),
        _ => Fault::error(format!("no such key: {key}")),
    }
}

/// The element under a key; `None` if there is none.
fn select<'a>(value: &CelValue<'a>, key: &CelValue<'a>) -> Result<Option<CelValue<'a>>, Fault> {
    if !matches!(
        key,
        CelValue::String(_) | CelValue::Int(_) | CelValue::Uint(_) | CelValue::Bool(_) | CelValue::Double(_)
    ) {
        return Err(Fault::error(format!("invalid qualifier type: {}", key.go_type())));
    }
    match value {
        CelValue::Map(map) => map.find(key),
        CelValue::List(list) => select_item(list, key),
        _ => Ok(None),
    }
}

fn select_item<'a>(list: &List<'a>, key: &CelValue<'_>) -> Result<Option<CelValue<'a>>, Fault> {
    let unsupported = || Fault::error(format!("unsupported index value {} in list", key_text(key)));
    let index = match key {
        CelValue::Int(i) => *i,
        CelValue::Uint(u) => i64::try_from(*u).map_err(|_| unsupported())?,
        CelValue::Double(d) if d.fract() == 0.0 && d.abs() < 9e18 => *d as i64,
        CelValue::Double(_) => return Err(unsupported()),
        other => {
            return Err(Fault::error(format!("unsupported index type '{}' in list", other.type_name())));
        }
    };
    let Some(item) = usize::try_from(index).ok().and_then(|index| list.get(index)) else { return Ok(None) };
    if list.kind().is_some() && !matches!(key, CelValue::Int(_)) {
        return Err(Fault::error(format!("unsupported index: {}", key_text(key))));
    }
    item.map(Some)
}
