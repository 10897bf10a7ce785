//! Literals of the types that mutations have: `Object{…}`, `Object.spec{…}` and `JSONPatch{…}`.

use crate::message::JSON_PATCH;
use crate::value::{CelValue, Fault, equal};
use crate::work::Work;
use pleach_json::{Str, grow_stack_to_drop};
use std::collections::BTreeMap;

/// The value of such a literal.
#[derive(Clone, Debug)]
pub struct ObjectValue<'a> {
    /// `Object.spec`, `JSONPatch`
    pub type_name: Str,
    /// The given value.
    pub fields: BTreeMap<Str, CelValue<'a>>,
}

/// Objects may hold objects.
impl Drop for ObjectValue<'_> {
    fn drop(&mut self) {
        if self.fields.values().any(CelValue::is_container) {
            grow_stack_to_drop(|| self.fields.clear());
        }
    }
}

impl ObjectValue<'_> {
    pub(super) fn short_type_name(&self) -> &'static str {
        if self.type_name == JSON_PATCH { JSON_PATCH } else { "Object" }
    }

    pub(super) fn go_type(&self) -> &'static str {
        if self.type_name == JSON_PATCH { "*mutation.JSONPatchVal" } else { "*dynamic.ObjectVal" }
    }

    /// The same type and equal fields.
    pub(super) fn equals(&self, work: &Work<'_>, other: &ObjectValue<'_>) -> Result<bool, Fault> {
        if self.type_name != other.type_name || self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for ((name, value), (other_name, other)) in self.fields.iter().zip(&other.fields) {
            if name != other_name || !equal(work, value, other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
