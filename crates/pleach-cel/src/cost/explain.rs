//! Cost explanations, for people.
//!
//! An [`Explanation`] is a tree of [`Part`]s, each with the maximum number of its evaluations and the
//! [`Bound`]s of the schema that determine it. [`Explanation::remedies`] finds smaller bounds that
//! bring the cost under a limit. Acceptance does not depend on it.

use crate::ast::{Expr, ExprId};
use crate::checked::{Checked, Reference};
use crate::cost::CostEstimate;
use crate::cost::estimate::{Estimator, ITEMS, KEYS, Path, VALUES, declared};
use crate::decl::{DeclKind, DeclType};
use crate::function::{StaticCost, operators};
use pleach_json::{Str, grow_stack};
use std::fmt;

/// An explained estimate.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The estimate.
    pub estimate: CostEstimate,
    /// The whole expression.
    pub root: Part,
    pub(super) checked: Checked,
}

/// A part of an expression and its share of the cost.
#[derive(Debug, Clone)]
pub struct Part {
    /// The expression: `all()`, `==`, `self.hosts`.
    pub what: String,
    /// Where it is in the source, in code points.
    pub offset: u32,
    /// Its maximum share, including its children: its cost times `times`.
    pub total: u64,
    /// How often it runs at most.
    pub times: u64,
    /// The bounds its cost, or the number of its iterations, depends on.
    pub bounds: Vec<Bound>,
    /// The parts inside it.
    pub parts: Vec<Part>,
}

/// A limit on the size of a value, as the schema sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The path from `self` to the value: fields, `@items` and `@values`.
    pub path: Vec<Str>,
    /// `maxLength`, `maxItems` or `maxProperties`.
    pub keyword: &'static str,
    /// The bound in the keyword's unit.
    pub value: u64,
    /// Whether the schema has none, so that only the request size bounds it.
    pub implied: bool,
    /// How many of the estimator's units are one of the keyword's.
    unit: u64,
}

/// A bound that would be low enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// The bounds to change; more than one only if no single one suffices.
    pub bounds: Vec<Bound>,
    /// The largest value that passes, for each of them.
    pub at_most: u64,
}

impl Explanation {
    pub(super) fn of(checked: &Checked) -> Self {
        let mut estimator = Estimator::new(checked, &[]);
        let root = checked.ast().root();
        let estimate = estimator.cost(root);
        let root = Explainer { estimator }.part(root, 1);
        Self { estimate, root, checked: checked.clone() }
    }

    /// All bounds that matter, each once.
    pub fn bounds(&self) -> Vec<Bound> {
        let mut bounds = Vec::new();
        let mut pending = vec![&self.root];
        while let Some(part) = pending.pop() {
            for bound in &part.bounds {
                if !bounds.contains(bound) {
                    bounds.push(bound.clone());
                }
            }
            pending.extend(part.parts.iter().rev());
        }
        bounds
    }

    /// Changes that bring the cost down to `limit`: every single bound that can, or else all unset
    /// bounds together. Nothing if the cost is low enough, or if no bound above zero helps.
    pub fn remedies(&self, limit: u64) -> Vec<Remedy> {
        if self.estimate.max <= limit {
            return Vec::new();
        }
        let bounds = self.bounds();
        let single: Vec<Remedy> =
            bounds.iter().filter_map(|bound| self.lowered(std::slice::from_ref(bound), limit)).collect();
        if !single.is_empty() {
            return single;
        }
        let implied: Vec<Bound> = bounds.iter().filter(|bound| bound.implied).cloned().collect();
        self.lowered(&implied, limit).or_else(|| self.lowered(&bounds, limit)).into_iter().collect()
    }

    /// The largest common value of `bounds` with which the cost is within `limit`.
    fn lowered(&self, bounds: &[Bound], limit: u64) -> Option<Remedy> {
        let passes = |value: u64| {
            let overrides: Vec<(Path, u64)> = bounds.iter().map(|bound| bound.lowered_to(value)).collect();
            Estimator::new(&self.checked, &overrides).total().max <= limit
        };
        let (mut low, mut high) = (0, bounds.iter().map(|bound| bound.value).max()?);
        // Invariant: `low` passes (or is 0), `high` does not.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            *(if passes(middle) { &mut low } else { &mut high }) = middle;
        }
        (low > 0).then(|| Remedy { bounds: bounds.to_vec(), at_most: low })
    }
}

/// Builds an explanation from the estimator's results.
struct Explainer<'a> {
    estimator: Estimator<'a>,
}

impl Explainer<'_> {
    /// The part at `id`, which runs `times` times.
    fn part(&mut self, id: ExprId, times: u64) -> Part {
        grow_stack(|| self.part_in_place(id, times))
    }

    fn part_in_place(&mut self, id: ExprId, times: u64) -> Part {
        let checked = self.estimator.checked;
        let ast = checked.ast();
        let total = self.estimator.cost(id).max.saturating_mul(times);
        let mut part = Part {
            what: self.describe(id),
            offset: ast.offset(id),
            total,
            times,
            bounds: Vec::new(),
            parts: Vec::new(),
        };
        match ast.expr(id) {
            // A path of fields is one part.
            Expr::Literal(_) | Expr::Ident(_) | Expr::Select { .. } if self.is_path(id) => {}
            Expr::Comprehension(fold) => {
                let count = self.estimator.size(fold.range).map_or(u64::MAX, |size| size.max);
                part.bounds.extend(self.bound_of(fold.range, None));
                for (child, times) in [
                    (fold.range, times),
                    (fold.init, times),
                    (fold.cond, times.saturating_mul(count)),
                    (fold.step, times.saturating_mul(count)),
                    (fold.result, times),
                ] {
                    part.parts.push(self.part(child, times));
                }
            }
            Expr::Call { function, target, args } => {
                if self.depends_on_sizes(id) {
                    for arg in target.iter().chain(args) {
                        part.bounds.extend(self.bound_of(*arg, None));
                        part.bounds.extend(self.bound_of(*arg, Some(ITEMS)));
                    }
                }
                let mut children = ast.children(id);
                if function == operators::CONDITIONAL && children.len() == 3 {
                    // Only the more expensive branch counts.
                    let cheaper = usize::from(self.cost(children[1]) > self.cost(children[2]));
                    children.remove(1 + cheaper);
                }
                part.parts
                    .extend(children.into_iter().map(|child| self.part(child, times)).collect::<Vec<_>>());
            }
            _ => {
                let children = ast.children(id);
                part.parts
                    .extend(children.into_iter().map(|child| self.part(child, times)).collect::<Vec<_>>());
            }
        }
        part.parts.retain(|part| part.total > 0);
        part
    }

    fn cost(&mut self, id: ExprId) -> u64 {
        self.estimator.cost(id).max
    }

    fn depends_on_sizes(&self, id: ExprId) -> bool {
        match self.estimator.checked.reference(id) {
            Some(Reference::Overloads(overloads)) => overloads.iter().any(|o| {
                !matches!(
                    o.cost,
                    StaticCost::Unit
                        | StaticCost::Logical
                        | StaticCost::Conditional
                        | StaticCost::Index
                        | StaticCost::Same
                )
            }),
            _ => false,
        }
    }

    fn is_path(&self, mut id: ExprId) -> bool {
        loop {
            match self.estimator.checked.ast().expr(id) {
                Expr::Select { operand, test_only: false, .. } => id = *operand,
                Expr::Ident(_) | Expr::Literal(_) => return true,
                _ => return false,
            }
        }
    }

    fn describe(&self, id: ExprId) -> String {
        let ast = self.estimator.checked.ast();
        match ast.expr(id) {
            Expr::Literal(_) => "constant".into(),
            Expr::Ident(name) if name.starts_with('@') => "result".into(),
            Expr::Ident(name) => name.to_string(),
            Expr::Select { operand, field, test_only } => {
                let path = format!("{}.{field}", self.describe(*operand));
                if *test_only { format!("has({path})") } else { path }
            }
            Expr::Call { function, .. } => match function.as_str() {
                operators::INDEX | operators::OPT_INDEX => "[]".into(),
                operators::CONDITIONAL => "? :".into(),
                operators::NOT_STRICTLY_FALSE => "loop condition".into(),
                name if name.starts_with(['_', '!', '-', '@']) => name.trim_matches(['_', '@']).into(),
                name => format!("{name}()"),
            },
            Expr::List { .. } => "[…]".into(),
            Expr::Map(_) | Expr::Struct { .. } => "{…}".into(),
            Expr::Comprehension(_) => {
                // The macro's name is before its parenthesis.
                let before: String = ast.source().chars().take(ast.offset(id) as usize).collect();
                let start =
                    before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
                format!("{}()", &before[start..])
            }
        }
    }

    /// The bound on what a node comes from, or on its elements.
    fn bound_of(&mut self, id: ExprId, step: Option<&'static str>) -> Option<Bound> {
        let mut path = self.estimator.path(id).get(1..)?.to_vec();
        path.extend(step.map(Str::new_static));
        let root = self.estimator.root()?;
        let decl = declared(root, &path)?;
        let (keyword, unit) = match decl.kind() {
            DeclKind::String | DeclKind::IntOrString => ("maxLength", 4),
            DeclKind::Bytes => ("maxLength", 1),
            DeclKind::List(..) => ("maxItems", 1),
            DeclKind::Map(_) => ("maxProperties", 1),
            _ => return None,
        };
        let implied = decl.max_elements() == implied_bound(decl);
        Some(Bound { path, keyword, value: decl.max_elements() / unit, implied, unit })
    }
}

/// The bound of a node that sets none.
fn implied_bound(decl: &DeclType) -> u64 {
    match decl.kind() {
        DeclKind::List(element, kind) => {
            DeclType::list((**element).clone(), kind.clone(), None).max_elements()
        }
        DeclKind::Map(value) => DeclType::map((**value).clone(), None).max_elements(),
        _ => DeclType::string(None, None).max_elements(),
    }
}

/// `hosts[*].name`; empty for `self`.
impl Bound {
    /// The bound with a lower value, as the estimator takes it.
    pub(super) fn lowered_to(&self, value: u64) -> (Path, u64) {
        (self.path.clone(), value.min(self.value).saturating_mul(self.unit))
    }

    /// The path as a reader knows it.
    pub fn location(&self) -> String {
        let mut out = String::new();
        for step in &self.path {
            match step.as_str() {
                ITEMS | VALUES | KEYS => out.push_str("[*]"),
                name => {
                    out.push_str(if out.is_empty() { "" } else { "." });
                    out.push_str(&crate::names::unescape(name).unwrap_or_else(|| name.into()));
                }
            }
        }
        out
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = self.location();
        let dot = if location.is_empty() { "" } else { "." };
        write!(f, "self{dot}{location}: ")?;
        if self.implied {
            write!(f, "no {}", self.keyword)
        } else {
            write!(f, "{} {}", self.keyword, self.value)
        }
    }
}

/// `set maxItems <= 64 at self.hosts`
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, bound) in self.bounds.iter().enumerate() {
            let location = bound.location();
            let dot = if location.is_empty() { "" } else { "." };
            let lead = if i == 0 { "set" } else { " and" };
            write!(f, "{lead} {} <= {} at self{dot}{location}", bound.keyword, self.at_most)?;
        }
        Ok(())
    }
}

/// The tree, a part per line, without parts that contribute less than a hundredth.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pending = vec![(&self.root, 0)];
        while let Some((part, depth)) = pending.pop() {
            write!(
                f,
                "{:indent$}{} at {}: {}",
                "",
                part.what,
                part.offset + 1,
                part.total,
                indent = depth * 2
            )?;
            if part.times > 1 {
                write!(f, " in {} rounds", part.times)?;
            }
            for bound in &part.bounds {
                write!(f, "; {bound}")?;
            }
            writeln!(f)?;
            let counts = |part: &&Part| part.total > self.root.total / 100;
            pending.extend(part.parts.iter().rev().filter(counts).map(|part| (part, depth + 1)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Declarations, Environment, ListKind, ObjectType};

    fn explain(source: &str) -> Explanation {
        let host = DeclType::string(None, None);
        let hosts = DeclType::list(host, ListKind::Atomic, None);
        let short = DeclType::list(DeclType::integer(), ListKind::Atomic, Some(10));
        let object = ObjectType::new("selfType").with_field("hosts", hosts).with_field("short", short);
        let declarations = Declarations::new().with("self", DeclType::object(object, []));
        Environment::stored().compile(source, &declarations).expect("it compiles").explain_cost()
    }

    #[test]
    fn parts_add_up() {
        fn check(part: &Part) {
            let inside = part.parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.total));
            assert!(inside <= part.total, "{} holds more than it is: {inside} > {}", part.what, part.total);
            part.parts.iter().for_each(check);
        }
        for source in [
            "self.hosts.all(h, h.matches('^[a-z]+$'))",
            "self.short.exists(x, x > 3) ? self.hosts.size() == 0 : self.hosts[0] == 'a'",
            "self.hosts.map(h, h + 'x').filter(h, h.size() > 3).join(',').contains('y')",
        ] {
            let explanation = explain(source);
            assert_eq!(explanation.root.total, explanation.estimate.max, "{source}");
            check(&explanation.root);
        }
    }

    #[test]
    fn bounds_are_named() {
        let explanation = explain("self.hosts.all(h, h.matches('^[a-z]+$'))");
        let bounds: Vec<String> = explanation.bounds().iter().map(Bound::to_string).collect();
        assert_eq!(bounds, ["self.hosts: no maxItems", "self.hosts[*]: no maxLength"]);
        assert_eq!(explanation.root.what, "all()");
        let text = explanation.to_string();
        assert!(text.contains("matches() at 28:"), "{text}");
    }

    #[test]
    fn the_smallest_change_that_passes() {
        for (why, source, limit, want) in [
            ("cheap already", "self.hosts.size() > 0", 10, &[][..]),
            (
                "a loop over a list without bound",
                "self.hosts.all(h, true)",
                1_000,
                &["set maxItems <= 332 at self.hosts"],
            ),
            (
                "a bound that is set can be lowered",
                "self.short.all(h, true)",
                14,
                &["set maxItems <= 3 at self.short"],
            ),
            (
                "either of two",
                "self.short.all(x, self.hosts.all(h, true))",
                10_000_000,
                &["set maxItems <= 3 at self.short", "set maxItems <= 333331 at self.hosts"],
            ),
            (
                "neither list nor string alone",
                "self.hosts.all(h, h.contains(self.hosts[0]) && self.short.all(x, true))",
                100,
                &["set maxItems <= 2 at self.hosts and maxLength <= 2 at self.hosts[*]"],
            ),
            ("no bound helps", "[1, 2].all(x, x > 0)", 3, &[]),
        ] {
            let remedies: Vec<String> =
                explain(source).remedies(limit).iter().map(Remedy::to_string).collect();
            assert_eq!(remedies, want, "{why}");
        }
    }
}
