//! Variables, selections and indexes.
//!
//! The cost of a path is one per step, and one for the whole; a ternary and a presence test have
//! no cost for the whole, nor has a path that only serves as an index. A step that an optional
//! leaves out is free.

use crate::decl::DeclKind;
use crate::eval::machine::{Machine, Outcome, Slot};
use crate::eval::node::{AttributeId, Qualifier, QualifierKind, Root};
use crate::eval::{OldSelf, Variable};
use crate::value::{CelValue, Fault, List, Map, key_text, read};

/// Whether a path had optional steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Optionality {
    Plain,
    Present,
}

/// What a step finds.
enum Found<'a> {
    Value(CelValue<'a>),
    /// Nothing; with the key, if it had to be computed.
    Absent(Option<CelValue<'a>>),
}

impl<'a> Machine<'a, '_> {
    /// The value of an attribute, charged.
    pub(super) fn eval_attribute(&mut self, id: AttributeId) -> Outcome<'a> {
        let conditional = matches!(self.program.attributes[id.0 as usize].root, Root::Conditional(..));
        let value = self.resolve(id);
        if !conditional {
            if let Err(fault) = &value
                && !fault.is_error()
            {
                return Err(fault.clone());
            }
            self.charge(1)?;
        }
        value.map(|(value, optionality)| wrap(value, optionality))
    }

    /// Whether the last step of an attribute finds something.
    pub(super) fn eval_test(&mut self, id: AttributeId) -> Outcome<'a> {
        let found = self.resolve(id);
        if matches!(self.program.attributes[id.0 as usize].root, Root::Conditional(..)) {
            // Odd: a test takes back the charge for the whole, which a ternary never had.
            self.refund(1);
        }
        Ok(match found? {
            (CelValue::Optional(inner), _) => CelValue::Bool(inner.is_some()),
            (_, Optionality::Present) => CelValue::Bool(true),
            (value, Optionality::Plain) => value,
        })
    }

    /// The value of an attribute without the charge for the whole.
    pub(super) fn resolve(&mut self, id: AttributeId) -> Result<(CelValue<'a>, Optionality), Fault> {
        let attribute = &self.program.attributes[id.0 as usize];
        let root = match &attribute.root {
            Root::Variable(index) => self.variable(*index)?,
            Root::Slot(slot) => self.slot(*slot)?,
            Root::Node(node) => self.eval(*node)?,
            Root::Conditional(condition, truthy, falsy) => {
                let branch = match self.eval(*condition)? {
                    CelValue::Bool(true) => *truthy,
                    CelValue::Bool(false) => *falsy,
                    _ => return Err(Fault::no_such_overload()),
                };
                return self.resolve(branch);
            }
            Root::Unknown(name) => return Err(Fault::error(format!("no such attribute(s): {name}"))),
        };
        self.follow(root, &attribute.path)
    }

    fn follow(
        &mut self,
        root: CelValue<'a>,
        path: &'a [Qualifier],
    ) -> Result<(CelValue<'a>, Optionality), Fault> {
        let (mut value, mut optional) = match root {
            CelValue::Optional(None) => return Ok((CelValue::Optional(None), Optionality::Plain)),
            CelValue::Optional(Some(inner)) => ((*inner).clone().without_schema(), true),
            value => (value, false),
        };
        for qualifier in path {
            optional |= qualifier.optional;
            let found = self.step(&value, qualifier);
            match found {
                // What is absent from an optional is free, and so is an error there.
                Ok(Found::Absent(_)) if optional => {
                    return Ok((CelValue::Optional(None), Optionality::Plain));
                }
                Err(fault) if optional => return Err(fault),
                Err(fault) if !fault.is_error() => return Err(fault),
                found => {
                    self.charge(1)?;
                    value = match found? {
                        Found::Value(_) if qualifier.test_only => CelValue::Bool(true),
                        Found::Absent(_) if qualifier.test_only => CelValue::Bool(false),
                        Found::Value(value) => value,
                        Found::Absent(key) => return Err(missing(&value, qualifier, key)),
                    };
                }
            }
        }
        Ok((value, if optional { Optionality::Present } else { Optionality::Plain }))
    }

    fn step(&mut self, value: &CelValue<'a>, qualifier: &'a Qualifier) -> Result<Found<'a>, Fault> {
        let found = match (&qualifier.kind, value) {
            (
                QualifierKind::Field { object, index, name },
                CelValue::Map(map @ Map::View { members, decl }),
            ) => {
                if let Some(DeclKind::Object(own)) = decl.map(|decl| decl.kind())
                    && std::sync::Arc::ptr_eq(own, object)
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
            (QualifierKind::Field { .. } | QualifierKind::Name(_), _) => None,
            (QualifierKind::Constant(key), value) => select(value, key)?,
            (QualifierKind::Attribute(id), value) => {
                let (key, optionality) = self.resolve(*id)?;
                return select_computed(value, wrap(key, optionality));
            }
            (QualifierKind::Node(node), value) => {
                let key = self.eval(*node)?;
                return select_computed(value, key);
            }
        };
        Ok(found.map_or(Found::Absent(None), Found::Value))
    }

    fn variable(&self, index: u32) -> Outcome<'a> {
        let (variable, name, decl) = &self.program.variables[index as usize];
        let absent = || Err(Fault::error(format!("no such attribute(s): {name}")));
        let inner = match decl.kind() {
            DeclKind::Optional(inner) => inner,
            _ => decl,
        };
        match (variable, self.activation.old_self) {
            (Variable::Self_, _) => read(self.activation.self_, decl),
            (Variable::OldSelf, OldSelf::Value(value)) => read(value, inner),
            (Variable::OldSelf, OldSelf::Optional(None)) => Ok(CelValue::Optional(None)),
            (Variable::OldSelf, OldSelf::Optional(Some(value))) => read(value, inner).map(CelValue::some),
            (Variable::OldSelf, OldSelf::Absent) | (Variable::Other, _) => absent(),
        }
    }

    fn slot(&mut self, slot: u32) -> Outcome<'a> {
        self.force(slot)?;
        match &self.slots[slot as usize] {
            Slot::Ready(value) => value.clone(),
            Slot::Empty | Slot::Lazy(_) => Err(Fault::fixed("no such attribute(s)")),
        }
    }
}

/// Says what is missing where.
fn missing(value: &CelValue<'_>, qualifier: &Qualifier, key: Option<CelValue<'_>>) -> Fault {
    let key = match (&qualifier.kind, &key) {
        (_, Some(key)) | (QualifierKind::Constant(key), None) => key_text(key),
        (QualifierKind::Field { name, .. } | QualifierKind::Name(name), None) => name.to_string(),
        (QualifierKind::Attribute(_) | QualifierKind::Node(_), None) => String::new(),
    };
    match value {
        CelValue::List(_) => Fault::error(format!("index out of bounds: {key}")),
        _ => Fault::error(format!("no such key: {key}")),
    }
}

fn wrap(value: CelValue<'_>, optionality: Optionality) -> CelValue<'_> {
    match optionality {
        Optionality::Plain => value,
        Optionality::Present => CelValue::some(value),
    }
}

fn select_computed<'a>(value: &CelValue<'a>, key: CelValue<'a>) -> Result<Found<'a>, Fault> {
    Ok(match select(value, &key)? {
        Some(value) => Found::Value(value),
        None => Found::Absent(Some(key)),
    })
}

/// The element under a key; `None` if there is none.
fn select<'a>(value: &CelValue<'a>, key: &CelValue<'_>) -> Result<Option<CelValue<'a>>, Fault> {
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
