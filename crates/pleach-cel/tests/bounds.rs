//! Rules that would use all memory, or never end, are aborted. `work.rs` counts their work.

use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{Activation, DeclType, Declarations, Environment, Fault, ListKind, Program};
use pleach_json::Value;

/// Compiles and evaluates with `self` as a list of strings; compile errors are fine.
fn outcome(source: &str, object: &Value) -> Result<(), Fault> {
    let list = DeclType::list(DeclType::string(None, None), ListKind::Atomic, None);
    let declarations = Declarations::new().with("self", list);
    let Ok(checked) = Environment::stored().compile(source, &declarations) else { return Ok(()) };
    let Ok(program) = Program::new(&checked) else { return Ok(()) };
    program.run(&Activation::new(object), PER_CALL_LIMIT).result.map(|_| ())
}

fn strings(count: usize, length: usize) -> Value {
    Value::from((0..count).map(|_| Value::from("x".repeat(length))).collect::<Vec<_>>())
}

#[test]
fn memory_exhaustion_exceeds_the_cost_limit() {
    let large = strings(2, 700_000);
    for (why, source) in [
        ("a list of all numbers", "lists.range(9223372036854775807).size() == 0"),
        ("a text of a text for every letter", "self[0].replace('', self[1]).size() == 0"),
        ("lists of letters", "lists.range(100).map(x, self[0].split('')).size() == 0"),
    ] {
        assert_eq!(outcome(source, &large), Err(Fault::CostExceeded), "{why}");
    }
}

#[test]
fn a_caller_can_stop_an_evaluation() {
    let object = strings(10_000, 1);
    let list = DeclType::list(DeclType::string(None, None), ListKind::Atomic, None);
    let declarations = Declarations::new().with("self", list);
    let checked = Environment::stored().compile("self.all(x, x != '')", &declarations).expect("valid");
    let program = Program::new(&checked).expect("a program");
    let stop = || true;
    let activation = Activation { interrupted: Some(&stop), ..Activation::new(&object) };
    let evaluation = program.run(&activation, PER_CALL_LIMIT);
    assert_eq!(evaluation.result.map(|_| ()), Err(Fault::Interrupted));
    assert!(evaluation.cost < 2_000, "after some hundred rounds, not at the end");
}
