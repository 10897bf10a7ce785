//! Comprehensions: what macros such as `all` and `map` become.

use crate::eval::machine::{Machine, Outcome, Slot};
use crate::eval::node::{Fold, FoldId};
use crate::value::{CelValue, Entries, Fault, Items};

/// How many rounds of loops there are between two questions whether to stop.
const INTERRUPT_EVERY: u64 = 100;

/// What a comprehension walks.
enum Walk<'a> {
    Items(Items<'a>),
    Entries(Entries<'a>),
}

impl<'a> Machine<'a, '_> {
    pub(super) fn eval_fold(&mut self, id: FoldId) -> Outcome<'a> {
        let fold = &self.program.folds[id.0 as usize];
        let walk = match (self.eval(fold.range)?, fold.iter2_slot) {
            (CelValue::List(list), _) => Walk::Items(list.iter()),
            (CelValue::Map(map), _) => Walk::Entries(map.iter()),
            (other, None) => {
                let given = other.go_type();
                return Err(Fault::error(format!("got '{given}', expected iterable type")));
            }
            (other, Some(_)) => {
                let given = other.go_type();
                return Err(Fault::error(format!("unsupported comprehension range type: {given}")));
            }
        };
        // Comprehensions nest, and the same one may be entered again inside itself only through
        // its own init, which uses no slot of it: nothing needs to be saved.
        self.slots[fold.accu_slot as usize] = Slot::Lazy(fold.init);
        let walked = match walk {
            Walk::Items(items) => self.walk_items(fold, items),
            Walk::Entries(entries) => self.walk_entries(fold, entries),
        };
        walked?;
        let result = self.eval(fold.result);
        self.slots[fold.accu_slot as usize] = Slot::Empty;
        result
    }

    fn walk_items(&mut self, fold: &'a Fold, items: Items<'a>) -> Result<(), Fault> {
        for (index, item) in items.enumerate() {
            match fold.iter2_slot {
                None => self.slots[fold.iter_slot as usize] = Slot::Ready(item),
                Some(second) => {
                    self.slots[fold.iter_slot as usize] = Slot::Ready(Ok(CelValue::Int(index as i64)));
                    self.slots[second as usize] = Slot::Ready(item);
                }
            }
            if !self.round(fold)? {
                break;
            }
        }
        Ok(())
    }

    fn walk_entries(&mut self, fold: &'a Fold, entries: Entries<'a>) -> Result<(), Fault> {
        for (key, value) in entries {
            self.slots[fold.iter_slot as usize] = Slot::Ready(Ok(key));
            if let Some(second) = fold.iter2_slot {
                self.slots[second as usize] = Slot::Ready(value);
            }
            if !self.round(fold)? {
                break;
            }
        }
        Ok(())
    }

    /// One round; false ends the loop. An error in the condition does not.
    #[inline]
    fn round(&mut self, fold: &'a Fold) -> Result<bool, Fault> {
        match self.eval(fold.cond) {
            Ok(CelValue::Bool(false)) => return Ok(false),
            Err(fault) if !fault.is_error() => return Err(fault),
            _ => {}
        }
        let next = self.eval(fold.step);
        if let Err(fault) = &next
            && !fault.is_error()
        {
            return Err(fault.clone());
        }
        self.slots[fold.accu_slot as usize] = Slot::Ready(next);
        self.iterations += 1;
        if self.iterations.is_multiple_of(INTERRUPT_EVERY)
            && let Some(interrupted) = self.activation.interrupted
            && interrupted()
        {
            return Err(Fault::Interrupted);
        }
        Ok(true)
    }

    /// Computes an accumulator's first value, if nobody has asked for it before.
    pub(super) fn force(&mut self, slot: u32) -> Result<(), Fault> {
        let Slot::Lazy(init) = self.slots[slot as usize] else { return Ok(()) };
        let value = self.eval(init);
        if let Err(fault) = &value
            && !fault.is_error()
        {
            return Err(fault.clone());
        }
        self.slots[slot as usize] = Slot::Ready(value);
        Ok(())
    }
}
