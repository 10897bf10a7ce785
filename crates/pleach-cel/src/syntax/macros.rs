//! Macro expansion.
//!
//! A macro is identified by name, number of arguments and whether it has a receiver; any other call is
//! an ordinary call. All nodes of an expansion have the offset of the call's parenthesis.

use crate::ast::{Comprehension, Expr, ExprId, Literal, MacroCall};
use crate::function::operators as op;
use crate::syntax::builder::Builder;
use pleach_json::Str;

/// The accumulator variable, which users cannot name.
const ACCUMULATOR: &str = "@result";
/// The iteration variable of comprehensions over nothing.
const UNUSED: &str = "#unused";
/// Holds the receiver of `sortBy` while its keys are computed.
const SORT_INPUT: &str = "@__sortBy_input__";

/// The kinds of expansion.
#[derive(Clone, Copy)]
enum Form {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    OptMap,
    OptFlatMap,
    TransformList,
    TransformMap,
    TransformMapEntry,
    SortBy,
}

/// The macros with a receiver (`has` is the only one without): name, number of arguments, first
/// version.
const MACROS: &[(&str, usize, u32, Form)] = &[
    ("all", 2, 0, Form::All),
    ("exists", 2, 0, Form::Exists),
    ("exists_one", 2, 0, Form::ExistsOne),
    ("map", 2, 0, Form::Map),
    ("map", 3, 0, Form::Map),
    ("filter", 2, 0, Form::Filter),
    ("optMap", 2, 28, Form::OptMap),
    ("optFlatMap", 2, 28, Form::OptFlatMap),
    ("all", 3, 32, Form::All),
    ("exists", 3, 32, Form::Exists),
    ("existsOne", 3, 32, Form::ExistsOne),
    ("exists_one", 3, 32, Form::ExistsOne),
    ("transformList", 3, 32, Form::TransformList),
    ("transformList", 4, 32, Form::TransformList),
    ("transformMap", 3, 32, Form::TransformMap),
    ("transformMap", 4, 32, Form::TransformMap),
    ("transformMapEntry", 3, 32, Form::TransformMapEntry),
    ("transformMapEntry", 4, 32, Form::TransformMapEntry),
    ("sortBy", 2, 34, Form::SortBy),
];

/// The root of an expansion, or of an error.
type Expanded<T = ExprId> = Result<T, ExprId>;

impl Builder {
    /// The expansion of a call, if it is a macro call.
    pub(super) fn expand_macro(
        &mut self,
        name: &str,
        target: Option<ExprId>,
        args: &[ExprId],
        offset: u32,
    ) -> Option<ExprId> {
        let Some(target) = target else {
            return (name == "has" && args.len() == 1).then(|| self.has(args[0], offset));
        };
        let known = |m: &&(&str, usize, u32, Form)| m.0 == name && m.1 == args.len() && m.2 <= self.version();
        let (.., form) = MACROS.iter().find(known)?;
        let mut expander = Expander { builder: self, offset };
        let expanded = match form {
            Form::All | Form::Exists | Form::ExistsOne => expander.quantifier(*form, target, args),
            Form::Map => expander.map(target, args),
            Form::Filter => expander.filter(target, args),
            Form::OptMap => expander.opt_map(target, args, true),
            Form::OptFlatMap => expander.opt_map(target, args, false),
            Form::TransformList | Form::TransformMap | Form::TransformMapEntry => {
                expander.transform(*form, target, args)
            }
            Form::SortBy => expander.sort_by(target, args),
        };
        let expanded = match expanded {
            Ok(expanded) => expanded,
            Err(error) => return Some(error),
        };
        self.set_macro_call(expanded, MacroCall { target, name: name.into(), args: args.to_vec() });
        Some(expanded)
    }

    fn has(&mut self, arg: ExprId, offset: u32) -> ExprId {
        match self.expr(arg) {
            // Presence of a presence test is the test itself.
            Expr::Select { operand, field, .. } => {
                let (operand, field) = (*operand, field.clone());
                self.push(Expr::Select { operand, field, test_only: true }, offset)
            }
            _ => self.error(self.offset(arg), "invalid argument to has() macro"),
        }
    }
}

/// Adds the nodes of one macro call.
struct Expander<'b> {
    builder: &'b mut Builder,
    offset: u32,
}

/// The variables of a loop.
struct Variables {
    first: Str,
    second: Option<Str>,
}

impl Expander<'_> {
    fn push(&mut self, expr: Expr) -> ExprId {
        self.builder.push(expr, self.offset)
    }

    fn literal(&mut self, literal: Literal) -> ExprId {
        self.push(Expr::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> ExprId {
        self.push(Expr::Ident(name.into()))
    }

    fn accumulator(&mut self) -> ExprId {
        self.ident(ACCUMULATOR)
    }

    fn call(&mut self, function: &'static str, args: Vec<ExprId>) -> ExprId {
        self.push(Expr::Call { target: None, function: Str::new_static(function), args })
    }

    fn member(&mut self, target: ExprId, function: &'static str, args: Vec<ExprId>) -> ExprId {
        self.push(Expr::Call { target: Some(target), function: Str::new_static(function), args })
    }

    fn list(&mut self, elements: Vec<ExprId>) -> ExprId {
        self.push(Expr::List { elements, optional: Vec::new() })
    }

    /// The identifier in `arg`, or an error.
    fn name(&mut self, arg: ExprId, otherwise: &str) -> Expanded<Str> {
        match self.builder.expr(arg) {
            Expr::Ident(name) => Ok(name.clone()),
            _ => Err(self.builder.error(self.builder.offset(arg), otherwise)),
        }
    }

    /// The loop's one or two variables.
    fn variables(&mut self, args: &[ExprId]) -> Expanded<Variables> {
        const NOT_A_NAME: &str = "argument must be a simple name";
        let first = self.name(args[0], NOT_A_NAME)?;
        let Some(&arg) = args.get(1) else { return Ok(Variables { first, second: None }) };
        let second = self.name(arg, NOT_A_NAME)?;
        if first == second {
            let message = format!("duplicate variable name: {first}");
            return Err(self.builder.error(self.builder.offset(arg), message));
        }
        Ok(Variables { first, second: Some(second) })
    }

    fn fold(
        &mut self,
        range: ExprId,
        vars: Variables,
        init: ExprId,
        cond: ExprId,
        step: ExprId,
        result: ExprId,
    ) -> ExprId {
        self.push(Expr::Comprehension(Box::new(Comprehension {
            range,
            iter_var: vars.first,
            iter_var2: vars.second,
            accu_var: Str::new_static(ACCUMULATOR),
            init,
            cond,
            step,
            result,
        })))
    }

    /// A comprehension over all elements whose result is the accumulator. `step` gets the accumulator,
    /// which is unchanged where `filter` is false.
    fn collect(
        &mut self,
        range: ExprId,
        vars: Variables,
        init: ExprId,
        filter: Option<ExprId>,
        step: impl FnOnce(&mut Self, ExprId) -> ExprId,
    ) -> ExprId {
        let cond = self.literal(Literal::Bool(true));
        let accu = self.accumulator();
        let mut step = step(self, accu);
        if let Some(filter) = filter {
            let unchanged = self.accumulator();
            step = self.call(op::CONDITIONAL, vec![filter, step, unchanged]);
        }
        let result = self.accumulator();
        self.fold(range, vars, init, cond, step, result)
    }

    fn quantifier(&mut self, form: Form, range: ExprId, args: &[ExprId]) -> Expanded {
        let (names, predicate) = args.split_at(args.len() - 1);
        let predicate = predicate[0];
        let vars = self.variables(names)?;
        let (init, cond, step, result);
        let accu = self.accumulator();
        match form {
            Form::All => {
                init = self.literal(Literal::Bool(true));
                cond = self.call(op::NOT_STRICTLY_FALSE, vec![accu]);
                let accu = self.accumulator();
                step = self.call(op::AND, vec![accu, predicate]);
                result = self.accumulator();
            }
            Form::Exists => {
                init = self.literal(Literal::Bool(false));
                let not = self.call(op::NOT, vec![accu]);
                cond = self.call(op::NOT_STRICTLY_FALSE, vec![not]);
                let accu = self.accumulator();
                step = self.call(op::OR, vec![accu, predicate]);
                result = self.accumulator();
            }
            _ => {
                init = self.literal(Literal::Int(0));
                cond = self.literal(Literal::Bool(true));
                let one = self.literal(Literal::Int(1));
                let sum = self.call(op::ADD, vec![accu, one]);
                let unchanged = self.accumulator();
                step = self.call(op::CONDITIONAL, vec![predicate, sum, unchanged]);
                let (accu, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                result = self.call(op::EQUALS, vec![accu, one]);
            }
        }
        Ok(self.fold(range, vars, init, cond, step, result))
    }

    /// `name, [filter,] transform`
    fn map(&mut self, range: ExprId, args: &[ExprId]) -> Expanded {
        let first = self.name(args[0], "argument is not an identifier")?;
        let filter = (args.len() == 3).then(|| args[1]);
        let transform = args[args.len() - 1];
        Ok(self.collect_list(range, Variables { first, second: None }, filter, transform))
    }

    fn filter(&mut self, range: ExprId, args: &[ExprId]) -> Expanded {
        let first = self.name(args[0], "argument is not an identifier")?;
        Ok(self.collect_list(range, Variables { first, second: None }, Some(args[1]), args[0]))
    }

    fn collect_list(
        &mut self,
        range: ExprId,
        vars: Variables,
        filter: Option<ExprId>,
        element: ExprId,
    ) -> ExprId {
        let init = self.list(Vec::new());
        self.collect(range, vars, init, filter, |e, accu| {
            let element = e.list(vec![element]);
            e.call(op::ADD, vec![accu, element])
        })
    }

    /// `key, value, [filter,] transform`
    fn transform(&mut self, form: Form, range: ExprId, args: &[ExprId]) -> Expanded {
        let vars = self.variables(&args[..2])?;
        let filter = (args.len() == 4).then(|| args[2]);
        let transform = args[args.len() - 1];
        if matches!(form, Form::TransformList) {
            return Ok(self.collect_list(range, vars, filter, transform));
        }
        let key = matches!(form, Form::TransformMap).then(|| vars.first.clone());
        let init = self.push(Expr::Map(Vec::new()));
        Ok(self.collect(range, vars, init, filter, |e, accu| {
            let mut args = vec![accu];
            args.extend(key.map(|key| e.ident(&key)));
            args.push(transform);
            e.call(op::MAP_INSERT, args)
        }))
    }

    /// `target.hasValue() ? optional.of(expr with name = target.value()) : optional.none()`
    ///
    /// The target is one node with two parents: chains of these calls take linear time only with
    /// memoization.
    fn opt_map(&mut self, target: ExprId, args: &[ExprId], wrap: bool) -> Expanded {
        let function = if wrap { "optMap" } else { "optFlatMap" };
        let complaint = format!("{function}() variable name must be a simple identifier");
        let name = self.name(args[0], &complaint)?;
        let has_value = self.member(target, "hasValue", Vec::new());
        let value = self.member(target, "value", Vec::new());
        let mut present = self.bind(name, value, args[1]);
        if wrap {
            present = self.call("optional.of", vec![present]);
        }
        let absent = self.call("optional.none", Vec::new());
        Ok(self.call(op::CONDITIONAL, vec![has_value, present, absent]))
    }

    /// `result` with `name` bound to `value`: a comprehension over nothing.
    fn bind(&mut self, name: Str, value: ExprId, result: ExprId) -> ExprId {
        let range = self.list(Vec::new());
        let cond = self.literal(Literal::Bool(false));
        let step = self.ident(&name);
        self.push(Expr::Comprehension(Box::new(Comprehension {
            range,
            iter_var: Str::new_static(UNUSED),
            iter_var2: None,
            accu_var: name,
            init: value,
            cond,
            step,
            result,
        })))
    }

    fn sort_by(&mut self, target: ExprId, args: &[ExprId]) -> Expanded {
        if matches!(self.builder.expr(target), Expr::Literal(_) | Expr::Map(_) | Expr::Struct { .. }) {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err(self.builder.error(self.builder.offset(target), message));
        }
        let input = self.ident(SORT_INPUT);
        let keys = self.map(input, args)?;
        let input = self.ident(SORT_INPUT);
        let sorted = self.member(input, "@sortByAssociatedKeys", vec![keys]);
        Ok(self.bind(Str::new_static(SORT_INPUT), target, sorted))
    }
}
