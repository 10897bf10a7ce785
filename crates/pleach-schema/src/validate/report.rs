//! The validation walk that reports every error.
//!
//! Each visit returns a *match count*, upstream's measure of how much of a schema a value met: of
//! the branches of an `anyOf` that all fail, the one with the highest count is reported. It matters only
//! inside junctors.

use pleach_json::{Array, Map, Value, grow_stack};
use pleach_meta::{FieldError, FieldErrors};
use pleach_work::charge;

use super::location::Location;
use crate::compile::{Additional, Junctors, Node, NodeRef};
use crate::keywords::Gate;
use crate::ratchet::Ratchet;

/// Every error of a value. With an old value, errors of unchanged parts are left out.
pub(super) fn report(
    node: &Node,
    value: &Value,
    at: &Location<'_>,
    old: Option<(&Ratchet, &Value)>,
) -> FieldErrors {
    let mut reporter = Reporter { errors: FieldErrors::new(), ratchet: old.map(|(ratchet, _)| ratchet) };
    reporter.visit(node, value, at, old.map(|(_, old)| old), true);
    reporter.errors
}

struct Reporter<'r> {
    errors: FieldErrors,
    ratchet: Option<&'r Ratchet>,
}

impl Reporter<'_> {
    /// Visits a value; `old` is the value it replaces, if it can be correlated. `top` marks the start of validation.
    fn visit(
        &mut self,
        node: &Node,
        value: &Value,
        at: &Location<'_>,
        old: Option<&Value>,
        top: bool,
    ) -> u64 {
        if self.errors.is_full() {
            return 0;
        }
        // Reporting takes longer than the yes or no.
        charge(3);
        let before = self.errors.len();
        let count = grow_stack(|| self.visit_here(node, value, at, old, top));
        if self.errors.len() > before
            && let (Some(ratchet), Some(old)) = (self.ratchet, old)
            && ratchet.is_equal(node, value, old)
        {
            self.errors.truncate(before);
        }
        count
    }

    fn visit_here(
        &mut self,
        node: &Node,
        value: &Value,
        at: &Location<'_>,
        old: Option<&Value>,
        top: bool,
    ) -> u64 {
        let fits = node.types().accepts(value);
        if !fits {
            self.errors.push(node.types().error(value, at));
        }
        if value.is_null() {
            self.run(node, Gate::Any, value, at);
            return u64::from(fits);
        }
        let mut count = if node.types().is_checked() { 1 + u64::from(fits) } else { 0 };
        count += 2 + self.junctors(node, value, at);
        match value {
            Value::String(_) => {
                count += 1;
                self.run_until_first(node, Gate::String, value, at);
                count += u64::from(self.run(node, Gate::Format, value, at));
            }
            Value::Int(_) | Value::Float(_) => {
                count += 2;
                self.run(node, Gate::Number, value, at);
            }
            Value::Array(items) => {
                count += 2 + self.items(node, items, at, old);
                self.run(node, Gate::Array, value, at);
            }
            _ => {}
        }
        self.run(node, Gate::Any, value, at);
        count += 1;
        if let Value::Object(members) = value {
            self.run(node, Gate::Object, value, at);
            count += 1 + self.members(node, members, at, old, top);
        }
        count + 1
    }

    /// Runs all checks behind a gate; whether there were any.
    fn run(&mut self, node: &Node, gate: Gate, value: &Value, at: &Location<'_>) -> bool {
        let mut any = false;
        for c in node.checks().iter().filter(|c| c.gate == gate) {
            any = true;
            if !c.check.accepts(value) {
                c.check.explain(value, at, &mut self.errors);
            }
        }
        any
    }

    fn run_until_first(&mut self, node: &Node, gate: Gate, value: &Value, at: &Location<'_>) {
        let failing = node.checks().iter().find(|c| c.gate == gate && !c.check.accepts(value));
        if let Some(c) = failing {
            c.check.explain(value, at, &mut self.errors);
        }
    }

    fn items(&mut self, node: &Node, items: &Array, at: &Location<'_>, old: Option<&Value>) -> u64 {
        let Some(of_items) = node.items() else { return 0 };
        let mut count = 0;
        charge(items.len() as u64);
        for (i, item) in items.iter().enumerate() {
            if self.errors.is_full() {
                break;
            }
            let old = match (self.ratchet, old) {
                (Some(ratchet), Some(old)) => ratchet.old_item(node, item, old),
                _ => None,
            };
            count += self.visit(of_items, item, &at.index(i), old, false);
        }
        count
    }

    fn members(
        &mut self,
        node: &Node,
        members: &Map,
        at: &Location<'_>,
        old: Option<&Value>,
        top: bool,
    ) -> u64 {
        let mut count = 0;
        let mut from = 0;
        charge((members.len() + node.required().len()) as u64);
        for (key, member) in members {
            if self.errors.is_full() {
                break;
            }
            let property = node.next_property(&mut from, key);
            let at_member = if property.is_some() { at.key(key) } else { at.map_key(key) };
            let of_member = match (property, node.additional()) {
                (Some(property), _) => &property.node,
                (None, Additional::Schema(of_member)) => of_member,
                (None, Additional::Absent | Additional::Bool(true)) => continue,
                (None, Additional::Bool(false)) => {
                    let detail = format!("{} in body is a forbidden property", at_member.name());
                    self.errors.push(FieldError::invalid(at.field(), key.clone(), detail));
                    continue;
                }
            };
            // `apiVersion` and `kind` are bound to the request and never ratcheted.
            let bound = top && matches!(key.as_str(), "apiVersion" | "kind");
            let old = old.filter(|_| !bound).and_then(|old| old.get(key));
            count += self.visit(of_member, member, &at_member, old, false);
        }
        for name in node.required() {
            if self.errors.is_full() {
                break;
            }
            if !members.contains_key(name) {
                self.errors.push(FieldError::required(at.key(name).field(), ""));
            }
        }
        count
    }

    /// Runs the junctors and returns the counts of the branches whose results count.
    fn junctors(&mut self, node: &Node, value: &Value, at: &Location<'_>) -> u64 {
        let Some(Junctors { any_of, one_of, all_of, not }) = node.junctors() else { return 0 };
        let mut count = 0;
        if !any_of.is_empty() {
            count += self.any_of(any_of, value, at);
        }
        if !one_of.is_empty() {
            count += self.one_of(one_of, value, at);
        }
        if !all_of.is_empty() {
            count += self.all_of(all_of, value, at);
        }
        if let Some(not) = not
            && not.accepts(value)
        {
            self.line(at, "must not validate the schema (not)");
        }
        count
    }

    fn any_of(&mut self, branches: &[NodeRef], value: &Value, at: &Location<'_>) -> u64 {
        let mut best = Branch::default();
        for node in branches {
            let branch = Branch::visit(node, value, at, &self.errors);
            if branch.errors.is_empty() {
                return branch.count;
            }
            best.keep_better(branch);
        }
        self.line(at, "must validate at least one schema (anyOf)");
        self.errors.extend(best.errors.into_vec());
        best.count
    }

    fn one_of(&mut self, branches: &[NodeRef], value: &Value, at: &Location<'_>) -> u64 {
        let mut best = Branch::default();
        let mut first_valid = None;
        let mut valid = 0;
        for node in branches {
            let branch = Branch::visit(node, value, at, &self.errors);
            if branch.errors.is_empty() {
                valid += 1;
                first_valid.get_or_insert(branch.count);
            } else {
                best.keep_better(branch);
            }
        }
        match (valid, first_valid) {
            (1, Some(count)) => count,
            (0, _) => {
                self.line(at, "must validate one and only one schema (oneOf). Found none valid");
                self.errors.extend(best.errors.into_vec());
                best.count
            }
            _ => {
                let text = format!(
                    "must validate one and only one schema (oneOf). Found {valid} valid alternatives"
                );
                self.line(at, &text);
                0
            }
        }
    }

    fn all_of(&mut self, branches: &[NodeRef], value: &Value, at: &Location<'_>) -> u64 {
        let mut count = 0;
        let mut valid = 0;
        for node in branches {
            let branch = Branch::visit(node, value, at, &self.errors);
            valid += usize::from(branch.errors.is_empty());
            count += branch.count;
            self.errors.extend(branch.errors.into_vec());
        }
        match valid {
            _ if valid == branches.len() => {}
            0 => self.line(at, "must validate all the schemas (allOf). None validated"),
            _ => self.line(at, "must validate all the schemas (allOf)"),
        }
        count
    }

    /// An error about a junctor, which has no field of its own.
    fn line(&mut self, at: &Location<'_>, text: &str) {
        let detail = format!("\"{}\" {text}", at.name());
        self.errors.push(FieldError::invalid(at.start_field(), "", detail));
    }
}

/// The result of a branch of a junctor.
#[derive(Default)]
struct Branch {
    errors: FieldErrors,
    count: u64,
}

impl Branch {
    /// Visits a branch by itself. Nothing ratchets in it. Its errors are to be put into `all`.
    fn visit(node: &Node, value: &Value, at: &Location<'_>, all: &FieldErrors) -> Self {
        let mut inner = Reporter { errors: all.for_a_part(), ratchet: None };
        let count = inner.visit(node, value, at, None, false);
        Self { errors: inner.errors, count }
    }

    /// Keeps the one that got further; of equals the earlier.
    fn keep_better(&mut self, other: Self) {
        if self.errors.is_empty() || other.count > self.count {
            *self = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn junctors() {
        let any = json!({"type": "integer", "anyOf": [{"maximum": 2}, {"minimum": 8}]});
        let one = json!({"type": "integer", "oneOf": [{"maximum": 5}, {"minimum": 3}]});
        let all = json!({"type": "integer", "allOf": [{"minimum": 2}, {"maximum": 5}, {"multipleOf": 2}]});
        let not = json!({"type": "integer", "not": {"not": {"minimum": 3}}});
        for (why, schema, value, want) in [
            ("the first branch", &any, json!(1), ""),
            ("the second branch", &any, json!(9), ""),
            (
                "none: of equals the first is told",
                &any,
                json!(5),
                "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)\nf: Invalid value: 5: f in body should be less than or equal to 2",
            ),
            (
                "two are too many",
                &one,
                json!(4),
                "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
            ),
            (
                "all errors, then the line",
                &all,
                json!(7),
                "f: Invalid value: 7: f in body should be less than or equal to 5\nf: Invalid value: 7: f in body should be a multiple of 2\n<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf)",
            ),
            ("twice not", &not, json!(3), ""),
            (
                "only the line",
                &not,
                json!(2),
                "<nil>: Invalid value: \"\": \"f\" must not validate the schema (not)",
            ),
        ] {
            check(why, schema, &value, want);
        }
        check(
            "none of all",
            &json!({"type": "integer", "allOf": [{"minimum": 2}, {"minimum": 3}]}),
            &json!(1),
            "f: Invalid value: 1: f in body should be greater than or equal to 2\nf: Invalid value: 1: f in body should be greater than or equal to 3\n<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf). None validated",
        );
    }

    #[test]
    fn the_branch_with_the_highest_match_count_is_reported() {
        let schema = json!({
            "type": "object",
            "properties": {"kind": {"type": "string"}, "file": {"type": "string"}, "url": {"type": "string"}, "size": {"type": "integer"}},
            "anyOf": [
                {"properties": {"kind": {"enum": ["file"]}, "file": {"minLength": 3}}, "required": ["kind", "file"]},
                {"properties": {"kind": {"enum": ["url"]}, "size": {"maximum": 5}}, "required": ["kind", "url"]},
            ],
        });
        let line = "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)";
        for (why, value, want) in [
            (
                "the second looked at two fields",
                json!({"kind": "url", "url": "x", "size": 9}),
                "\nf.size: Invalid value: 9: f.size in body should be less than or equal to 5",
            ),
            (
                "a tie goes to the first",
                json!({"kind": "url"}),
                "\nf.kind: Unsupported value: \"url\": supported values: \"file\"\nf.file: Required value",
            ),
        ] {
            check(why, &schema, &value, &format!("{line}{want}"));
        }
    }

    #[test]
    fn objects() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b", "a", "a.b"]});
        for (why, value, want) in [
            (
                "required in the order given",
                json!({}),
                "f.b: Required value\nf.a: Required value\nf.a.b: Required value",
            ),
            ("null is there", json!({"a": "", "b": null, "a.b": 1}), ""),
        ] {
            check(why, &schema, &value, want);
        }
        let closed =
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
        check(
            "closed",
            &closed,
            &json!({"a": "x", "b": 1}),
            "f: Invalid value: \"b\": f.b in body is a forbidden property",
        );
        let map = json!({"type": "object", "additionalProperties": {"type": "integer", "maximum": 5}});
        check(
            "keys follow a dot",
            &map,
            &json!({"with.dot": 7}),
            "f.with.dot: Invalid value: 7: f.with.dot in body should be less than or equal to 5",
        );
    }

    #[test]
    fn equal_errors_are_reported_once() {
        let schema = json!({"type": "string", "minLength": 2, "allOf": [{"minLength": 2}, {"maxLength": 9}]});
        check(
            "the same text from two places",
            &schema,
            &json!("x"),
            "f: Invalid value: \"x\": f in body should be at least 2 chars long\n<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf)",
        );
    }
}
