//! The cost estimator: a walk over the AST.
//!
//! Besides costs it tracks *paths* (which schema node a value came from) and *sizes* of values and of
//! entries of lists and maps: a comprehension costs its body times the size of its range.

use crate::ast::{Comprehension, Expr, ExprId, Literal};
use crate::checked::{Checked, Reference};
use crate::cost::CostEstimate;
use crate::cost::calls::Argument;
use crate::cost::size::Size;
use crate::decl::{DeclKind, DeclType};
use crate::function::StaticCost;
use crate::types::Type;
use pleach_json::{Str, grow_stack};

/// Costs of making lists, maps and messages.
const LIST: u64 = 10;
const MAP: u64 = 30;
const MESSAGE: u64 = 40;
/// Of a variable and of a field.
const SELECT: u64 = 1;

/// Path steps that are not fields.
pub(super) const ITEMS: &str = "@items";
pub(super) const KEYS: &str = "@keys";
pub(super) const VALUES: &str = "@values";

/// The path from a variable to a value; empty if it is computed.
pub(super) type Path = Vec<Str>;

/// Sizes of the elements of a list or map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) key: Size,
    pub(super) value: Size,
}

/// A variable of an enclosing comprehension.
#[derive(Debug, Clone)]
struct Local {
    name: Str,
    path: Path,
    size: Option<Size>,
    entry: Option<Entry>,
}

pub(super) struct Estimator<'a> {
    pub(super) checked: &'a Checked,
    root: Option<&'a DeclType>,
    /// Bounds that override the schema's.
    overrides: &'a [(Path, u64)],
    costs: Vec<Option<CostEstimate>>,
    paths: Vec<Path>,
    sizes: Vec<Option<Size>>,
    entries: Vec<Option<Entry>>,
    locals: Vec<Local>,
}

impl<'a> Estimator<'a> {
    pub(super) fn new(checked: &'a Checked, overrides: &'a [(Path, u64)]) -> Self {
        let count = checked.ast().len();
        Self {
            checked,
            root: checked.declarations().iter().next().map(|(_, decl)| decl),
            overrides,
            costs: vec![None; count],
            paths: vec![Path::new(); count],
            sizes: vec![None; count],
            entries: vec![None; count],
            locals: Vec::new(),
        }
    }

    /// The cost of the whole.
    pub(super) fn total(mut self) -> CostEstimate {
        self.cost(self.checked.ast().root())
    }

    /// The cost of a node including its children. Shared nodes are memoized.
    pub(super) fn cost(&mut self, id: ExprId) -> CostEstimate {
        if let Some(known) = self.costs[id.index()] {
            return known;
        }
        let cost = grow_stack(|| self.compute(id));
        self.costs[id.index()] = Some(cost);
        cost
    }

    fn compute(&mut self, id: ExprId) -> CostEstimate {
        let checked = self.checked;
        match checked.ast().expr(id) {
            Expr::Literal(_) => CostEstimate::default(),
            Expr::Ident(name) => {
                self.paths[id.index()] = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => vec![name.strip_prefix('.').map_or_else(|| name.clone(), Str::new)],
                };
                CostEstimate::fixed(SELECT)
            }
            Expr::Select { operand, field, test_only } => self.select(id, *operand, field, *test_only),
            Expr::Call { target, args, .. } => self.call(id, *target, args),
            Expr::List { elements, .. } => {
                let value = self.parts(elements.iter().copied());
                self.entries[id.index()] = Some(Entry { key: Size::fixed(1), value: value.1 });
                value.0.add(CostEstimate::fixed(LIST))
            }
            Expr::Map(entries) => {
                let key = self.parts(entries.iter().map(|e| e.key));
                let value = self.parts(entries.iter().map(|e| e.value));
                self.entries[id.index()] = Some(Entry { key: key.1, value: value.1 });
                key.0.add(value.0).add(CostEstimate::fixed(MAP))
            }
            Expr::Struct { fields, .. } => {
                self.parts(fields.iter().map(|f| f.value)).0.add(CostEstimate::fixed(MESSAGE))
            }
            Expr::Comprehension(fold) => self.comprehension(id, fold),
        }
    }

    /// The costs of all `ids` together, and how large the smallest and largest of them are.
    fn parts(&mut self, ids: impl Iterator<Item = ExprId>) -> (CostEstimate, Size) {
        let (mut cost, mut size) = (CostEstimate::default(), Size::NONE);
        for id in ids {
            cost = cost.add(self.cost(id));
            size = size.union(self.size(id).unwrap_or(Size::UNKNOWN));
        }
        if size == Size::NONE {
            size = Size::fixed(0);
        }
        (cost, size)
    }

    fn select(&mut self, id: ExprId, operand: ExprId, field: &Str, test_only: bool) -> CostEstimate {
        let checked = self.checked;
        if let Some(Reference::TypeName(ty)) = checked.reference(id) {
            self.paths[id.index()] = vec![ty.name().into()];
            return CostEstimate::fixed(SELECT);
        }
        if let Some(Reference::MessageType(_) | Reference::Constant(_)) = checked.reference(id) {
            return CostEstimate::fixed(SELECT);
        }
        let cost = self.cost(operand);
        if test_only {
            return cost;
        }
        let mut path = self.paths[operand.index()].clone();
        path.push(field.clone());
        self.paths[id.index()] = path;
        match checked.type_of(operand) {
            Type::Map(_) | Type::Object(_) => cost.add(CostEstimate::fixed(SELECT)),
            _ => cost,
        }
    }

    fn call(&mut self, id: ExprId, target: Option<ExprId>, args: &[ExprId]) -> CostEstimate {
        let checked = self.checked;
        let Some(Reference::Overloads(overloads)) = checked.reference(id) else {
            return CostEstimate::default();
        };
        // `format.named(x)` looks like a call on a variable.
        let target = target.filter(|_| overloads.iter().any(|o| o.member));
        let arg_costs: Vec<CostEstimate> = args.iter().map(|arg| self.cost(*arg)).collect();
        let target_cost = target.map_or_else(CostEstimate::default, |target| self.cost(target));
        let subject = target.map(|target| self.argument(target));
        let arguments: Vec<Argument<'_>> = args.iter().map(|arg| self.argument(*arg)).collect();

        let mut cost = CostEstimate { min: u64::MAX, max: 0 };
        let mut size: Option<Size> = None;
        for overload in overloads {
            let call = self.call_cost(overload, subject.as_ref(), &arguments, &arg_costs);
            cost = cost.union(call.cost);
            if let Some(result) = call.result {
                size = Some(size.map_or(result, |size| size.union(result)));
            }
            match (overload.cost, args) {
                (StaticCost::Index, [container, ..]) => {
                    let mut path = self.paths[container.index()].clone();
                    path.push(Str::new_static(if overload.id == "index_map" { VALUES } else { ITEMS }));
                    self.paths[id.index()] = path;
                    size = self.entry(*container).map(|entry| entry.value).or(size);
                }
                (StaticCost::Same, [argument]) => self.entries[id.index()] = self.entry(*argument),
                (StaticCost::ConcatList, [left, right]) => self.join_entries(id, *left, *right),
                (StaticCost::Conditional, [_, yes, no]) => self.join_entries(id, *yes, *no),
                _ => {}
            }
        }
        if size.is_some() {
            self.sizes[id.index()] = size;
        }
        target_cost.add(cost)
    }

    fn join_entries(&mut self, id: ExprId, left: ExprId, right: ExprId) {
        if let (Some(left), Some(right)) = (self.entry(left), self.entry(right)) {
            let (key, value) = (left.key.union(right.key), left.value.union(right.value));
            self.entries[id.index()] = Some(Entry { key, value });
        }
    }

    fn comprehension(&mut self, id: ExprId, fold: &Comprehension) -> CostEstimate {
        let mut sum = self.cost(fold.range).add(self.cost(fold.init));
        let accumulator = Local {
            name: fold.accu_var.clone(),
            path: self.paths[fold.init.index()].clone(),
            size: self.size(fold.init),
            entry: self.entry(fold.init),
        };
        let outer = self.locals.len();
        self.locals.push(accumulator);
        self.push_variables(fold);
        let body = self.cost(fold.cond).add(self.cost(fold.step));
        // The entries of the step are computed while its variables are in scope.
        let entry = self.entry(fold.step);
        self.locals.truncate(outer + 1);
        sum = sum.add(self.cost(fold.result));
        let result = self.size(fold.result);
        self.locals.truncate(outer);

        let count = self.size(fold.range).unwrap_or(Size::UNKNOWN);
        sum = sum.add(count.times_cost(body));
        let ast = self.checked.ast();
        let collects = matches!(ast.expr(fold.result), Expr::Ident(name) if *name == fold.accu_var);
        match ast.expr(fold.init) {
            Expr::List { .. } | Expr::Map(_) if collects => {
                self.sizes[id.index()] = Some(count);
                self.entries[id.index()] = entry;
            }
            Expr::Literal(_) if collects => self.sizes[id.index()] = self.size(fold.init),
            _ => self.sizes[id.index()] = result,
        }
        sum
    }

    fn push_variables(&mut self, fold: &Comprehension) {
        let path = self.paths[fold.range.index()].clone();
        let entry = self.entry(fold.range);
        let is_map = matches!(self.checked.type_of(fold.range), Type::Map(_));
        let is_list = matches!(self.checked.type_of(fold.range), Type::List(_));
        let extended = |step: &'static str| path.iter().cloned().chain([Str::new_static(step)]).collect();
        let value = Local {
            name: fold.iter_var2.clone().unwrap_or_else(|| fold.iter_var.clone()),
            path: extended(if is_map { VALUES } else { ITEMS }),
            size: entry.map(|entry| entry.value),
            entry: None,
        };
        let key = Local {
            name: fold.iter_var.clone(),
            // The index of a list is taken to be as large as the list.
            path: if is_list { path.clone() } else { extended(KEYS) },
            size: entry.map(|entry| entry.key),
            entry: None,
        };
        match (&fold.iter_var2, is_map) {
            (Some(_), _) => self.locals.extend([key, value]),
            (None, true) => self.locals.push(key),
            (None, false) => self.locals.push(value),
        }
    }

    /// The path of a node whose cost was computed.
    pub(super) fn path(&self, id: ExprId) -> &[Str] {
        &self.paths[id.index()]
    }

    /// The schema that paths refer to.
    pub(super) fn root(&self) -> Option<&'a DeclType> {
        self.root
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn argument(&mut self, id: ExprId) -> Argument<'a> {
        let checked = self.checked;
        Argument {
            size: self.size(id).unwrap_or(Size::UNKNOWN),
            path: self.paths[id.index()].clone(),
            ty: checked.type_of(id),
            literal: match checked.ast().expr(id) {
                Expr::Literal(literal) => Some(literal),
                _ => None,
            },
        }
    }

    /// The size of a node's value, if it can be told.
    pub(super) fn size(&mut self, id: ExprId) -> Option<Size> {
        if let Some(known) = self.sizes[id.index()] {
            return Some(known);
        }
        let checked = self.checked;
        let written = match checked.ast().expr(id) {
            Expr::Literal(Literal::String(text)) => Some(text.chars().count()),
            Expr::Literal(Literal::Bytes(bytes)) => Some(bytes.len()),
            Expr::Literal(_) => Some(1),
            Expr::List { elements, .. } => Some(elements.len()),
            Expr::Map(entries) => Some(entries.len()),
            _ => None,
        };
        if let Some(count) = written {
            return Some(Size::fixed(count as u64));
        }
        if let Some(bound) = self.declared_size(&self.paths[id.index()]) {
            self.sizes[id.index()] = Some(bound);
            return Some(bound);
        }
        match checked.type_of(id) {
            Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => {
                return Some(Size::fixed(1));
            }
            _ => {}
        }
        match checked.ast().expr(id) {
            Expr::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    /// The size the schema allows at a path.
    pub(super) fn declared_size(&self, path: &[Str]) -> Option<Size> {
        let steps = path.get(1..)?;
        if let Some((_, bound)) = self.overrides.iter().find(|(at, _)| at == steps) {
            return Some(Size::at_most(*bound));
        }
        if let Some((step, container)) = steps.split_last()
            && step == KEYS
        {
            // The length of keys has no bound in the schema; they are taken to be empty.
            let decl = declared(self.root?, container)?;
            return matches!(decl.kind(), DeclKind::Map(_)).then_some(Size::fixed(0));
        }
        declared(self.root?, steps).map(|decl| Size::at_most(decl.max_elements()))
    }

    /// The sizes of the elements of a list or map, if they are known.
    fn entry(&self, id: ExprId) -> Option<Entry> {
        if let Some(known) = self.entries[id.index()] {
            return Some(known);
        }
        let checked = self.checked;
        if let Expr::Ident(name) = checked.ast().expr(id)
            && let Some(entry) = self.local(name).and_then(|local| local.entry)
        {
            return Some(entry);
        }
        None
    }
}

/// The schema node that `steps` lead to from `root`.
pub(super) fn declared<'d>(root: &'d DeclType, steps: &[Str]) -> Option<&'d DeclType> {
    let mut at = root;
    for step in steps {
        let inside = match at.kind() {
            DeclKind::Optional(inner) => inner,
            _ => at,
        };
        at = match (step.as_str(), inside.kind()) {
            (ITEMS | VALUES, DeclKind::List(element, _) | DeclKind::Map(element)) => element,
            // Unescaped reserved words are not found.
            (name, DeclKind::Object(object)) => &object.field(name).filter(|f| f.escaped_name == name)?.decl,
            _ => return None,
        };
    }
    Some(at)
}
