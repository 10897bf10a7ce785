//! Construction of lists and maps: literals, and accumulators of macros.
//!
//! The accumulator of a macro such as `map` is not shared, so it is moved out of its slot, grows in
//! place and becomes the result of the step.

use crate::eval::evaluator::{Evaluator, Outcome, Slot, absorb};
use crate::eval::node::{CallNode, NodeId};
use crate::value::{CelValue, Fault, Key, Map, key_text};
use std::collections::BTreeMap;

impl<'a> Evaluator<'a, '_> {
    pub(super) fn eval_list(&mut self, elements: &[(NodeId, bool)]) -> Outcome<'a> {
        self.work.build_items(elements.len() + 2)?;
        let mut items = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            let value = self.eval(*element)?;
            if !optional {
                items.push(value);
                continue;
            }
            match value {
                CelValue::Optional(Some(inner)) => items.push((*inner).clone()),
                CelValue::Optional(None) => {}
                other => {
                    let other = key_text(&other);
                    return Err(Fault::error(format!(
                        "cannot initialize optional list element from non-optional value {other}"
                    )));
                }
            }
        }
        Ok(CelValue::list(items))
    }

    pub(super) fn eval_map(&mut self, entries: &[(NodeId, NodeId, bool)]) -> Outcome<'a> {
        self.work.build_entries(entries.len() + 4)?;
        let mut map = BTreeMap::new();
        for (key, value, optional) in entries {
            let key_value = self.eval(*key)?;
            let value = self.eval(*value)?;
            let key = Key::charged(self.work, &key_value)?;
            if !optional {
                map.insert(key, value);
                continue;
            }
            match value {
                CelValue::Optional(Some(inner)) => _ = map.insert(key, (*inner).clone()),
                CelValue::Optional(None) => _ = map.remove(&key),
                other => {
                    let (key, other) = (key_text(&key_value), key_text(&other));
                    return Err(Fault::error(format!(
                        "cannot initialize optional entry '{key}' from non-optional value {other}"
                    )));
                }
            }
        }
        Ok(CelValue::Map(Map::of(map)))
    }

    /// A call whose first argument is the accumulator: the map is moved into the call, so that it is
    /// not shared and not copied.
    pub(super) fn eval_growing(&mut self, call: &'a CallNode, slot: u32) -> Outcome<'a> {
        self.charge(1)?;
        self.force(slot)?;
        if let Slot::Ready(Err(fault)) = &self.slots[slot as usize] {
            return Err(fault.clone());
        }
        let mut rest = Vec::with_capacity(call.args.len() - 1);
        for (i, arg) in call.args[1..].iter().enumerate() {
            match absorb(self.eval(*arg))? {
                Ok(value) => rest.push(value),
                Err(fault) => {
                    // Charged only if all arguments were evaluated.
                    self.charge(u64::from(i + 2 == call.args.len()))?;
                    return Err(fault);
                }
            }
        }
        self.charge(1)?;
        let Slot::Ready(Ok(CelValue::Map(mut map))) = std::mem::take(&mut self.slots[slot as usize]) else {
            return Err(Fault::no_such_overload());
        };
        match rest.as_slice() {
            [CelValue::Map(entries)] => {
                entries.charge_walk(self.work)?;
                for (key, value) in entries {
                    map = map.insert(self.work, &key, self.work.read(value)?)?;
                }
            }
            [key, value] => {
                map = map.insert(self.work, key, value.clone())?;
            }
            _ => return Err(Fault::no_such_overload()),
        }
        Ok(CelValue::Map(map))
    }

    /// `accumulator + [element]`, in place.
    pub(super) fn eval_append(&mut self, slot: u32, element: NodeId, list_cost: u64) -> Outcome<'a> {
        self.charge(1)?;
        self.force(slot)?;
        let element = absorb(self.eval(element))?;
        self.charge(list_cost + 1)?;
        if let Slot::Ready(Err(fault)) = &self.slots[slot as usize] {
            return Err(fault.clone());
        }
        let element = element?;
        match std::mem::take(&mut self.slots[slot as usize]) {
            Slot::Ready(Ok(CelValue::List(list))) => list.push(self.work, element).map(CelValue::List),
            _ => Err(Fault::no_such_overload()),
        }
    }
}
