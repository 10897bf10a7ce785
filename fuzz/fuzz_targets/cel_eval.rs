//! Evaluation of rules: no panic; the same answer and cost every time; within the limit, and broken
//! off at any lower one; and no dearer than the estimate, where that is an upper bound.
//!
//! It is none, as it is not for the API server: where a value does not fit its schema; where types
//! are only known at run time; for functions whose estimate looks at one operand and whose cost at
//! another (`startsWith`, `endsWith`), at a longest format that is none (`validate`), or at no size
//! at all (objects with `==`, IPv6 addresses with `!=`, the libraries of lists and sets); and where
//! something is selected from what was computed, which costs one more than estimated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{Activation, Checked, Environment, Expr, ExprId, Fault, OldSelf, Program, Type};
use pleach_fuzz::{Bytes, cel};
use pleach_work::Constant;

static STORED: Constant<Environment> = Constant::new(Environment::stored);

/// The last bytes are not the rule's.
const FOR_OBJECTS: usize = 64;

/// Functions whose estimate is an upper bound.
const BOUNDED: [&str; 24] = [
    "_&&_",
    "_||_",
    "!_",
    "_==_",
    "_!=_",
    "_<_",
    "_<=_",
    "_>_",
    "_>=_",
    "_+_",
    "_-_",
    "_*_",
    "_/_",
    "_%_",
    "-_",
    "_?_:_",
    "_[_]",
    "@in",
    "@not_strictly_false",
    "size",
    "contains",
    "matches",
    "has",
    "int",
];

fuzz_target!(|data: &[u8]| {
    let (rule, objects) = data.split_at(data.len().saturating_sub(FOR_OBJECTS));
    let (mut bytes, mut objects) = (Bytes(rule), Bytes(objects));
    let fitting = bytes.next() % 2 == 0;
    let (new, old) = (cel::object(&mut objects, fitting), cel::object(&mut objects, fitting));
    let source = cel::source(&mut bytes);
    let Ok(checked) = STORED.compile(&source, &cel::declarations()) else { return };
    let Ok(program) = Program::new(&checked) else { return };
    let activation = Activation::new(&new).with_old_self(OldSelf::Value(&old));
    let first = program.run(&activation, PER_CALL_LIMIT);
    let again = program.run(&activation, PER_CALL_LIMIT);
    assert_eq!(format!("{first:?}"), format!("{again:?}"), "{source}");
    if first.cost > 0 && !matches!(first.result, Err(Fault::CostExceeded)) {
        // Some charges are taken back at once; those do not exceed a limit by more than they are.
        let broken_off = program.run(&activation, first.cost / 2);
        let exceeded = matches!(broken_off.result, Err(Fault::CostExceeded));
        assert!(exceeded || broken_off.cost <= first.cost, "{source}");
    }
    if fitting && is_bounded(&checked) {
        let most = checked.cost_estimate().max;
        assert!(first.cost <= most, "{source} costs {} on {new:?}, estimated at most {most}", first.cost);
    }
});

fn is_bounded(checked: &Checked) -> bool {
    let mut pending = vec![checked.ast().root()];
    let mut visits = 0;
    while let Some(id) = pending.pop() {
        visits += 1;
        if visits > 10_000 || !is_bounded_node(checked, id) {
            return false;
        }
        pending.extend(checked.ast().children(id));
    }
    true
}

/// Whether a node is a variable, or something in one.
fn is_place(checked: &Checked, id: ExprId) -> bool {
    match checked.ast().expr(id) {
        Expr::Ident(_) => true,
        Expr::Select { operand, .. } => is_place(checked, *operand),
        Expr::Call { function, args, .. } if function == "_[_]" => {
            args.first().is_some_and(|list| is_place(checked, *list))
        }
        _ => false,
    }
}

fn is_bounded_node(checked: &Checked, id: ExprId) -> bool {
    let known = match checked.ast().expr(id) {
        Expr::Call { function, args, .. } => {
            let of_object = |arg: &ExprId| matches!(checked.type_of(*arg), Type::Object(_));
            let computed = function == "_[_]" && args.first().is_none_or(|list| !is_place(checked, *list));
            BOUNDED.contains(&function.as_str()) && !args.iter().any(of_object) && !computed
        }
        Expr::Select { operand, .. } => is_place(checked, *operand),
        Expr::Struct { .. } => false,
        _ => true,
    };
    known && !checked.type_of(id).is_dyn()
}
