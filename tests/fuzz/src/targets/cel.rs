//! CEL rules: parsing, checking and evaluation.

use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::syntax::parse;
use pleach_cel::{Activation, Checked, Environment, Expr, ExprId, Fault, OldSelf, Program, Type};
use pleach_work::Constant;

use crate::bytes::{Bytes, seeds};
use crate::rules;

static STORED: Constant<Environment> = Constant::new(Environment::stored);
static OLD: Constant<Environment> = Constant::new(|| Environment::for_version(28));

/// Parsing of rules: no panic, for any text and any version; what was parsed is the same expression
/// when it is printed and parsed again.
pub(super) fn cel_parse(data: &[u8]) {
    let mut bytes = Bytes(data);
    let minor = 25 + u32::from(bytes.next() % 12);
    let source = rules::source(&mut bytes);
    let Ok(ast) = parse(&source, minor) else { return };
    let printed = ast.to_string();
    match parse(&printed, minor) {
        Ok(again) => {
            assert!(again.is_same(&ast), "{source}\n{printed}");
            assert_eq!(again.to_string(), printed);
        }
        // Parentheses that logic needs, and escapes in strings, may go beyond what may be written.
        Err(issues) => {
            let text = issues.to_string();
            assert!(
                text.contains("recursion") || text.contains("exceeds limit"),
                "{source}\n{printed}\n{text}"
            );
        }
    }
}

/// Checking of rules: no panic and no endless work; checking again what was printed gives the same
/// type, estimate and explanation.
pub(super) fn cel_check(data: &[u8]) {
    let mut bytes = Bytes(data);
    let environment: &Environment = if bytes.next() % 4 == 0 { &OLD } else { &STORED };
    let source = rules::source(&mut bytes);
    let declarations = rules::declarations();
    let checked = match environment.compile(&source, &declarations) {
        Ok(checked) => checked,
        Err(issues) => {
            assert!(!issues.to_string().is_empty());
            return;
        }
    };
    let estimate = checked.cost_estimate();
    assert!(estimate.min <= estimate.max, "{source}: {estimate:?}");
    let explanation = checked.explain_cost();
    assert_eq!(explanation.estimate, estimate, "{source}");
    let planned = Program::new(&checked).map(|_| ());
    if let Ok(again) = environment.compile(&checked.ast().to_string(), &declarations) {
        assert_eq!(again.output_type(), checked.output_type(), "{source}");
        assert_eq!(again.cost_estimate(), estimate, "{source}");
        assert_eq!(Program::new(&again).map(|_| ()), planned, "{source}");
    }
}

/// The last bytes are not the rule's.
const FOR_OBJECTS: usize = 64;

/// Functions whose estimate is an upper bound.
const BOUNDED: [&str; 22] = [
    "_&&_",
    "_||_",
    "!_",
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

/// Evaluation of rules: no panic; the same answer and cost every time; within the limit, and broken
/// off at any lower one; and no dearer than the estimate, where that is an upper bound.
/// It is none, as it is not for the API server: where a value does not fit its schema; where types
/// are only known at run time; for functions whose estimate looks at one operand and whose cost at
/// another (`startsWith`, `endsWith`), at a longest format that is none (`validate`), or at no size
/// at all (`==` and `!=`, the libraries of lists and sets); and where
/// something is selected from what was computed, which costs one more than estimated.
pub(super) fn cel_eval(data: &[u8]) {
    let (rule, objects) = data.split_at(data.len().saturating_sub(FOR_OBJECTS));
    let (mut bytes, mut objects) = (Bytes(rule), Bytes(objects));
    let fitting = bytes.next() % 2 == 0;
    let (new, old) = (rules::object(&mut objects, fitting), rules::object(&mut objects, fitting));
    let source = rules::source(&mut bytes);
    let Ok(checked) = STORED.compile(&source, &rules::declarations()) else { return };
    let Ok(program) = Program::new(&checked) else { return };
    let activation = Activation::new(&new).with_old_self(OldSelf::Value(&old));
    let first = program.run(&activation, PER_CALL_LIMIT);
    let again = program.run(&activation, PER_CALL_LIMIT);
    // Not the work: the first run makes what later ones share, such as patterns.
    assert_eq!(format!("{:?}", first.result), format!("{:?}", again.result), "{source}");
    assert_eq!(first.cost, again.cost, "{source}");
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
}

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

/// Rules with what stands around them in an input of each target.
fn around(head: &[u8], tail: &[u8]) -> Vec<Vec<u8>> {
    let rules = seeds(&[
        "self.i > 5 && self.s.startsWith('a') || has(self.t)",
        "self.l.all(x, x.s.matches('^[a-z]+$')) && self.m.exists(k, self.m[k] == k)",
        "[1].map(a,[a,a]).map(a,[a,a]) == [1].map(a,[a,a]).map(a,[a,a])",
        "self.h.map(x, x + x).filter(x, x.size() < 3).join(',').findAll('[a-c]*').size() >= 0",
        "quantity(self.s).isLessThan(quantity('1Gi')) ? duration('1h') > duration('59m') : type(self.v) == string",
        "optional.of(self.?i).orValue(self.n[?0]).hasValue() || self.n.sum() in [1, 2, 3]",
        "'%s %d %v'.format([self.s, self.i, self.l]) == string(1.5) + b'\\x00'",
        "((((((((1))))))))==1u && -9223372036854775808 <= self.i",
    ]);
    rules.iter().map(|rule| [head, rule, tail].concat()).collect()
}

pub(super) fn cel_parse_seeds() -> Vec<Vec<u8>> {
    around(&[11, 0], &[])
}

pub(super) fn cel_check_seeds() -> Vec<Vec<u8>> {
    around(&[1, 0], &[])
}

pub(super) fn cel_eval_seeds() -> Vec<Vec<u8>> {
    around(&[0, 0], &[0x0f; FOR_OBJECTS])
}
