//! Rules that are made to take forever, or all memory there is: an answer in bounded time.

use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{Activation, DeclType, Declarations, Environment, Fault, ListKind, Program};
use pleach_json::Value;
use std::time::{Duration, Instant};

/// Compiles and evaluates with `self` as a list of strings; what cannot be compiled is fine too.
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
fn hostile_rules_end_soon() {
    let chain = |link: &str, count: usize| format!("optional.of(1){}.hasValue()", link.repeat(count));
    let deep =
        |open: &str, close: &str, count: usize| format!("{}1{}", open.repeat(count), close.repeat(count));
    let nested = "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d != ''))))";
    let small = strings(20, 10);
    let large = strings(4, 700_000);
    let many = strings(100_000, 1);
    for (why, source, object) in [
        ("macros that name their target twice", chain(".optMap(x, x)", 70), &small),
        ("the same with variables", chain(".optMap(x, x + x)", 70), &small),
        ("loops in loops", nested.to_owned(), &many),
        ("a list of all numbers", "lists.range(9223372036854775807).size() == 0".to_owned(), &small),
        ("lists copied in a loop", "self.map(x, self + self).size() == 0".to_owned(), &many),
        ("lists grown in a loop", "self.map(x, [x, x]).map(y, self + y).size() == 0".to_owned(), &many),
        ("a text of a text for every letter", "self[0].replace('', self[1]).size() == 0".to_owned(), &large),
        ("joined", "[self, self, self].flatten().join(self[0]).size() == 0".to_owned(), &large),
        ("formatted", "'%s%s%s%s'.format([self, self, self, self]) == ''".to_owned(), &large),
        ("letters", "self[0].split('').map(x, self[1].split('')).size() == 0".to_owned(), &large),
        ("patterns made anew", "self.all(x, 'aaa'.matches('(a{1,30}){1,30}' + x))".to_owned(), &many),
        (
            "quantities far apart",
            "quantity('1e2000000000').add(quantity('1')).isInteger()".to_owned(),
            &small,
        ),
        (
            "quantities far apart compared",
            "quantity('1e2000000000').isLessThan(quantity('1'))".to_owned(),
            &small,
        ),
        ("nested lists", deep("[", "]", 240), &small),
        ("nested parentheses", deep("(", ")", 240), &small),
        ("a long sum", format!("1{} == 0", " + 1".repeat(20_000)), &small),
        ("a long path", format!("dyn(self){}", ".a".repeat(20_000)), &small),
        ("a long condition", format!("true{}", " && self.size() > 0".repeat(5_000)), &small),
        ("a wide list", format!("[{}1].size() > 0", "1,".repeat(30_000)), &small),
        ("wide membership", format!("self[0] in [{}'y']", "'x',".repeat(20_000)), &small),
    ] {
        let start = Instant::now();
        let _ = outcome(&source, object);
        let taken = start.elapsed();
        assert!(taken < Duration::from_secs(20), "{why}: {taken:?}");
    }
}

#[test]
fn what_would_fill_the_memory_exceeds_the_cost() {
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
    assert!(evaluation.cost < 1_000, "after a hundred rounds, not at the end");
}
