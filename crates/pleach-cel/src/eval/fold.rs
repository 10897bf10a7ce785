//! Evaluation of comprehensions (cel-go: folds).

use crate::decl::DeclType;
use crate::eval::evaluator::{Evaluator, Outcome, Slot};
use crate::eval::fast_path::FieldRef;
use crate::eval::node::{Fold, FoldId, Loop, NodeId};
use crate::value::{CelValue, Entries, Fault, Items, List};
use pleach_json::Value;

/// The range of a comprehension.
enum Walk<'a> {
    /// Elements of the object that need no conversion.
    SourceLines(std::slice::Iter<'a, Value>, &'a DeclType),
    Items(Items<'a>),
    Entries(Entries<'a>),
}

impl<'a> Evaluator<'a, '_> {
    pub(super) fn eval_fold(&mut self, id: FoldId) -> Outcome<'a> {
        let fold = &self.program.folds[id.0 as usize];
        let walk = match (self.eval(fold.range)?, fold.iter2_slot) {
            (CelValue::List(List::View { items, decl: Some(decl) }), None)
                if let Some(element) = decl.element().filter(|element| FieldRef::is_lazy(element)) =>
            {
                Walk::SourceLines(items.iter(), element)
            }
            (CelValue::List(list), _) => Walk::Items(list.iter()),
            (CelValue::Map(map), _) => {
                map.charge_walk(self.work)?;
                Walk::Entries(map.iter())
            }
            (other, None) => {
                let given = other.go_type();
                return Err(Fault::error(format!("got '{given}', expected iterable type")));
            }
            (other, Some(_)) => {
                let given = other.go_type();
                return Err(Fault::error(format!("unsupported comprehension range type: {given}")));
            }
        };
        match fold.kind {
            Loop::All(predicate) => return self.quantify(fold, walk, predicate, false),
            Loop::Exists(predicate) => return self.quantify(fold, walk, predicate, true),
            Loop::General => {}
        }
        // Slots need not be saved: a comprehension is re-entered only through its own init, which uses
        // none of them.
        self.slots[fold.accu_slot as usize] = Slot::Lazy(fold.init);
        let mut walk = walk;
        while self.advance(fold, &mut walk) {
            if !self.round(fold)? {
                break;
            }
        }
        let result = self.eval(fold.result);
        self.slots[fold.accu_slot as usize] = Slot::Empty;
        result
    }

    /// `all` and `exists`, without keeping the accumulator in a slot. An iteration is charged for
    /// reading it, in the condition and in the step.
    fn quantify(&mut self, fold: &'a Fold, walk: Walk<'a>, predicate: NodeId, deciding: bool) -> Outcome<'a> {
        let condition_cost = if deciding { 3 } else { 2 };
        let mut accumulator: Outcome<'a> = Ok(CelValue::Bool(!deciding));
        let mut walk = walk;
        while self.advance(fold, &mut walk) {
            if matches!(accumulator, Ok(CelValue::Bool(value)) if value == deciding) {
                self.charge(condition_cost)?;
                break;
            }
            self.charge(condition_cost + 1)?;
            match self.holds(predicate) {
                Ok(value) if value == deciding => accumulator = Ok(CelValue::Bool(deciding)),
                Err(fault) if !fault.is_error() => return Err(fault),
                Err(fault) if accumulator.is_ok() => accumulator = Err(fault),
                // The first error is kept, and other values change nothing.
                _ => {}
            }
            self.work.look()?;
        }
        self.charge(1)?;
        accumulator
    }

    /// Advances the iteration variables; false at the end.
    #[inline]
    fn advance(&mut self, fold: &Fold, walk: &mut Walk<'a>) -> bool {
        match (walk, fold.iter2_slot) {
            (Walk::SourceLines(items, decl), _) => {
                let Some(value) = items.next() else { return false };
                match &mut self.slots[fold.iter_slot as usize] {
                    // From the second iteration on: nothing to drop.
                    Slot::FieldRef(place) => *place = FieldRef { value, decl },
                    slot => *slot = Slot::FieldRef(FieldRef { value, decl }),
                }
            }
            (Walk::Items(items), None) => {
                let Some(item) = items.next() else { return false };
                self.slots[fold.iter_slot as usize] = Slot::Ready(self.work.read(item));
            }
            (Walk::Items(items), Some(second)) => {
                let index = items.index();
                let Some(item) = items.next() else { return false };
                self.slots[fold.iter_slot as usize] = Slot::Ready(Ok(CelValue::Int(index as i64)));
                self.slots[second as usize] = Slot::Ready(self.work.read(item));
            }
            (Walk::Entries(entries), second) => {
                let Some((key, value)) = entries.next() else { return false };
                self.slots[fold.iter_slot as usize] = Slot::Ready(Ok(key));
                if let Some(second) = second {
                    self.slots[second as usize] = Slot::Ready(self.work.read(value));
                }
            }
        }
        true
    }

    /// One iteration; false ends the loop. An error in the condition does not.
    #[inline]
    fn round(&mut self, fold: &'a Fold) -> Result<bool, Fault> {
        if let Some(cond) = fold.cond {
            match self.holds(cond) {
                Ok(false) => return Ok(false),
                Err(fault) if !fault.is_error() => return Err(fault),
                _ => {}
            }
        }
        let next = self.eval(fold.step);
        if let Err(fault) = &next
            && !fault.is_error()
        {
            return Err(fault.clone());
        }
        self.slots[fold.accu_slot as usize] = Slot::Ready(next);
        self.work.look()?;
        Ok(true)
    }

    /// Computes the initial value of an accumulator, if that was not done yet.
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
