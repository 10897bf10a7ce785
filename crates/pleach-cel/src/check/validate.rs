//! Validators of a checked AST: constants that can only fail, homogeneous aggregate literals.
//!
//! Lists and maps must be homogeneous, in every version; the rest came with 1.29. A mixed list is
//! allowed only as argument of `format`.
//!
//! Odd: `matches('(', s)` has its *text* checked as a pattern, because the check looks at the
//! first argument whether there is a receiver or not.

use crate::ast::{Expr, ExprId, Literal};
use crate::check::format;
use crate::checked::Checked;
use crate::issues::{Issue, SourceLines};

/// The version since which constants are checked.
const CONSTANTS: u32 = 29;

/// After this many visits shared nodes are not visited again.
const MAX_REPEATS: usize = 10_000;

/// Everything that is wrong.
pub(super) fn validate(checked: &Checked, minor: u32, places: &SourceLines) -> Vec<Issue> {
    let mut validator = Validator { checked, places, issues: Vec::new() };
    let mut pending = vec![(checked.ast().root(), false)];
    let mut seen = vec![false; checked.ast().len()];
    let mut visits = 0;
    while let Some((id, mut exempt)) = pending.pop() {
        // A node with two parents is reported twice, within the bound.
        if std::mem::replace(&mut seen[id.index()], true) && visits > MAX_REPEATS {
            continue;
        }
        visits += 1;
        match checked.ast().expr(id) {
            Expr::Call { function, target, args } => {
                if minor >= CONSTANTS {
                    validator.constant_argument(function, args);
                    if function == "format"
                        && let Some(target) = target
                    {
                        format::validate(checked, *target, id, args, &mut |at, message| {
                            validator.error(at, message);
                        });
                    }
                }
                if function == "format" {
                    exempt = true;
                }
            }
            Expr::List { elements, optional } if !exempt => {
                let marked = |i: usize| optional.binary_search(&(i as u32)).is_ok();
                validator.same_type(elements.iter().enumerate().map(|(i, id)| (*id, marked(i))), 1);
            }
            Expr::Map(entries) if !exempt => {
                validator.same_type(entries.iter().map(|e| (e.key, false)), usize::MAX);
                validator.same_type(entries.iter().map(|e| (e.value, e.optional)), usize::MAX);
            }
            _ => {}
        }
        pending.extend(checked.ast().children(id).into_iter().map(|child| (child, exempt)));
    }
    validator.issues
}

struct Validator<'a> {
    checked: &'a Checked,
    places: &'a SourceLines,
    issues: Vec<Issue>,
}

impl Validator<'_> {
    fn error(&mut self, at: ExprId, message: String) {
        self.issues.push(self.places.issue(self.checked.ast().offset(at), message));
    }

    /// Reports elements whose type is not that of the first: `most` of them, since a list is
    /// left at the first and a map is not.
    fn same_type(&mut self, elements: impl Iterator<Item = (ExprId, bool)>, most: usize) {
        let mut types = elements.map(|(id, marked)| {
            let ty = self.checked.type_of(id);
            (id, if marked { ty.unwrap_optional() } else { ty })
        });
        let Some((_, expected)) = types.next() else { return };
        let wrong: Vec<_> = types.filter(|(_, ty)| !ty.is_equivalent(expected)).take(most).collect();
        for (id, ty) in wrong {
            self.error(id, format!("expected type '{expected}' but found '{ty}'"));
        }
    }

    fn constant_argument(&mut self, function: &str, args: &[ExprId]) {
        let Some(&arg) = args.first() else { return };
        let Expr::Literal(Literal::String(text)) = self.checked.ast().expr(arg) else { return };
        let valid = match function {
            "duration" => crate::value::Duration::parse(text).is_some(),
            "timestamp" => crate::value::Timestamp::parse(text).is_ok(),
            "matches" => pleach_regex::Regex::new(text).is_ok(),
            _ => true,
        };
        if !valid {
            self.error(arg, format!("invalid {function} argument"));
        }
    }
}
