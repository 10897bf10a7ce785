//! The planner: a checked expression becomes a [`Program`].
//!
//! Literals, lists and maps of literals, and conversions of literals are folded to constants, exactly
//! as cel-go does: costs depend on it.
//!
//! Shared nodes (macros make them) are planned once, so that a plan is never larger than its
//! expression. Every comprehension has its own slots: the initial value of an accumulator is computed
//! on first use, which may be deep inside other comprehensions.

use crate::ast::{Comprehension, Expr, ExprId, Literal, MapEntry, StructField};
use crate::checked::{Checked, Reference};
use crate::eval::node::{
    Attribute, AttributeId, Fold, FoldId, Loop, MessageNode, Node, NodeId, ObjectNode, Qualifier,
    QualifierKind, Root,
};
use crate::eval::{PlanError, Program, Variable};
use crate::function::operators;
use crate::message::{Message, is_patch_type};
use crate::types::Type;
use crate::value::{CelValue, Key, Map, Text};
use pleach_json::{Str, grow_stack};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accumulator of macros; expressions cannot name it.
pub(super) const RESULT: &str = "@result";

pub(super) fn plan(checked: &Checked) -> Result<Program, PlanError> {
    let mut parents = vec![0u32; checked.ast().len()];
    let mut pending = vec![checked.ast().root()];
    while let Some(id) = pending.pop() {
        for child in checked.ast().children(id) {
            parents[child.index()] += 1;
            if parents[child.index()] == 1 {
                pending.push(child);
            }
        }
    }
    let mut others = 0..;
    let variables = checked.declarations().iter().map(|(name, decl)| {
        let variable = match name.as_str() {
            "self" => Variable::Self_,
            "oldSelf" => Variable::OldSelf,
            "variables" if decl.as_object().is_some() => Variable::Lazy,
            _ => Variable::Other(others.next().unwrap_or_default()),
        };
        (variable, name.clone(), decl.clone())
    });
    let mut planner = Planner {
        checked,
        parents,
        planned: BTreeMap::new(),
        scope: Vec::new(),
        scope_id: 0,
        scopes_made: 0,
        program: Program {
            is_test: false,
            nodes: Vec::new(),
            attributes: Vec::new(),
            folds: Vec::new(),
            root: NodeId(0),
            slots: 0,
            node_weight: 1,
            variables: variables.collect(),
        },
    };
    planner.program.root = planner.plan(checked.ast().root())?;
    let root = &planner.program.nodes[planner.program.root.0 as usize];
    planner.program.node_weight = 1 + planner.longest_name() as u64 / 64;
    planner.program.is_test = matches!(
        root,
        Node::And(..)
            | Node::Or(..)
            | Node::Compare(_)
            | Node::Equals(..)
            | Node::NotEquals(..)
            | Node::Test(_)
    );
    Ok(planner.program)
}

/// A variable of a comprehension.
pub(super) struct Local {
    pub(super) name: Str,
    pub(super) slot: u32,
    /// Whether it is the accumulator of a macro that collects into an empty list or map.
    pub(super) collects: bool,
}

pub(super) struct Planner<'c> {
    pub(super) checked: &'c Checked,
    /// The number of parents of each node.
    parents: Vec<u32>,
    /// Plans of shared nodes, by their scope.
    planned: BTreeMap<(usize, u32), NodeId>,
    scope: Vec<Local>,
    /// Identifies the content of `scope`.
    scope_id: u32,
    scopes_made: u32,
    pub(super) program: Program,
}

impl<'c> Planner<'c> {
    pub(super) fn plan(&mut self, id: ExprId) -> Result<NodeId, PlanError> {
        if !self.is_shared(id) {
            return grow_stack(|| self.plan_expr(id));
        }
        let key = (id.index(), self.scope_id);
        if let Some(planned) = self.planned.get(&key) {
            return Ok(*planned);
        }
        let planned = grow_stack(|| self.plan_expr(id))?;
        self.planned.insert(key, planned);
        Ok(planned)
    }

    pub(super) fn is_shared(&self, id: ExprId) -> bool {
        self.parents[id.index()] > 1
    }

    fn plan_expr(&mut self, id: ExprId) -> Result<NodeId, PlanError> {
        if let Some(node) = self.plan_name(id)? {
            return Ok(node);
        }
        let checked = self.checked;
        match checked.ast().expr(id) {
            Expr::Literal(literal) => Ok(self.constant(literal_value(literal))),
            Expr::Ident(name) => Ok(self.plan_variable(name)),
            Expr::Select { operand, field, test_only } => self.plan_select(*operand, field, *test_only),
            Expr::Call { target, function, args } => self.plan_call(id, *target, function, args),
            Expr::List { elements, optional } => self.plan_list(elements, optional),
            Expr::Map(entries) => self.plan_map(entries),
            Expr::Struct { name, fields } => self.plan_message(name, fields),
            Expr::Comprehension(comprehension) => self.plan_comprehension(comprehension),
        }
    }

    /// An identifier, or a selection that is a qualified name.
    fn plan_name(&mut self, id: ExprId) -> Result<Option<NodeId>, PlanError> {
        Ok(match self.checked.reference(id) {
            Some(Reference::Variable(name)) => Some(self.plan_variable(&name.clone())),
            Some(Reference::TypeName(Type::Object(object))) if is_patch_type(&object.name) => {
                // Such types can be made, but are no values.
                let name = &object.name;
                return Err(PlanError(format!("reference to undefined type: {name}").into()));
            }
            Some(Reference::TypeName(ty)) => {
                let name = Str::from(ty.name());
                Some(self.constant(CelValue::Type(name)))
            }
            Some(Reference::MessageType(name)) => {
                return Err(PlanError(format!("reference to undefined type: {name}").into()));
            }
            Some(Reference::Constant(value)) => Some(self.constant(CelValue::Int(*value))),
            Some(Reference::Overloads(_)) | None => None,
        })
    }

    fn plan_message(&mut self, name: &str, fields: &[StructField]) -> Result<NodeId, PlanError> {
        let name = name.strip_prefix('.').unwrap_or(name);
        let unknown = || PlanError(format!("unknown type: {name}").into());
        if is_patch_type(name) {
            let mut planned = Vec::with_capacity(fields.len());
            for field in fields {
                planned.push((field.name.clone(), self.plan(field.value)?, field.optional));
            }
            let node = ObjectNode { type_name: name.into(), fields: planned };
            return Ok(self.node(Node::Object(Arc::new(node))));
        }
        let message = Message::find(name).ok_or_else(unknown)?;
        let mut planned = Vec::with_capacity(fields.len());
        for field in fields {
            let known = message.fields.iter().find(|(name, _)| *name == field.name);
            let (name, _) = *known.ok_or_else(unknown)?;
            planned.push((name, self.plan(field.value)?, field.optional));
        }
        Ok(self.node(Node::Message(Arc::new(MessageNode { message, fields: planned }))))
    }

    fn plan_variable(&mut self, name: &str) -> NodeId {
        let local = self.scope.iter().rev().find(|local| local.name == name);
        let declared = || self.program.variables.iter().position(|(_, n, _)| n == name);
        let root = match local {
            Some(local) => return self.node(Node::Slot(local.slot)),
            None => declared().map_or_else(|| Root::Unknown(name.into()), |at| Root::Variable(at as u32)),
        };
        let attribute = self.attribute(Attribute::of(root));
        self.node(Node::Attribute(attribute))
    }

    fn plan_list(&mut self, elements: &[ExprId], optional: &[u32]) -> Result<NodeId, PlanError> {
        let mut planned = Vec::with_capacity(elements.len());
        for (i, element) in elements.iter().enumerate() {
            planned.push((self.plan(*element)?, optional.binary_search(&(i as u32)).is_ok()));
        }
        let constants = planned.iter().map(|(node, optional)| match optional {
            true => None,
            false => self.as_constant(*node).cloned(),
        });
        if let Some(items) = constants.collect::<Option<Vec<_>>>() {
            return Ok(self.constant(CelValue::list(items)));
        }
        Ok(self.node(Node::List(planned.into())))
    }

    fn plan_map(&mut self, entries: &[MapEntry]) -> Result<NodeId, PlanError> {
        let mut planned = Vec::with_capacity(entries.len());
        for entry in entries {
            planned.push((self.plan(entry.key)?, self.plan(entry.value)?, entry.optional));
        }
        let constants = planned.iter().map(|(key, value, optional)| {
            let constant = (self.as_constant(*key)?, self.as_constant(*value)?);
            (!optional).then_some(constant)
        });
        if let Some(constants) = constants.collect::<Option<Vec<_>>>() {
            let mut entries = BTreeMap::new();
            for (key, value) in constants {
                // The API server would panic here.
                let key = Key::of(key).map_err(|fault| PlanError(fault.to_string().into()))?;
                entries.insert(key, value.clone());
            }
            return Ok(self.constant(CelValue::Map(Map::of(entries))));
        }
        Ok(self.node(Node::Map(planned.into())))
    }

    fn plan_comprehension(&mut self, c: &'c Comprehension) -> Result<NodeId, PlanError> {
        let range = self.plan(c.range)?;
        let init = self.plan(c.init)?;
        let collects = c.accu_var == RESULT
            && match self.as_constant(init) {
                Some(CelValue::List(list)) => list.is_empty(),
                Some(CelValue::Map(map)) => map.is_empty(),
                _ => false,
            };
        let iter_slot = self.slot();
        let iter2_slot = c.iter_var2.as_ref().map(|_| self.slot());
        let accu_slot = self.slot();
        let outer = (self.scope.len(), self.scope_id);
        self.scopes_made += 1;
        self.scope_id = self.scopes_made;
        self.scope.push(Local { name: c.accu_var.clone(), slot: accu_slot, collects });
        self.scope.push(Local { name: c.iter_var.clone(), slot: iter_slot, collects: false });
        if let (Some(name), Some(slot)) = (&c.iter_var2, iter2_slot) {
            self.scope.push(Local { name: name.clone(), slot, collects: false });
        }
        let cond = self.plan(c.cond)?;
        let cond = (!matches!(self.as_constant(cond), Some(CelValue::Bool(true)))).then_some(cond);
        let step = self.plan(c.step)?;
        // Only the accumulator is visible in the result.
        self.scope.truncate(outer.0 + 1);
        self.scopes_made += 1;
        self.scope_id = self.scopes_made;
        let result = self.plan(c.result)?;
        self.scope.truncate(outer.0);
        self.scope_id = outer.1;
        let id = FoldId(self.program.folds.len() as u32);
        let mut fold =
            Fold { kind: Loop::General, range, iter_slot, iter2_slot, accu_slot, init, cond, step, result };
        if c.accu_var == RESULT {
            fold.kind = self.loop_of(&fold);
        }
        self.program.folds.push(fold);
        Ok(self.node(Node::Fold(id)))
    }

    /// Recognizes the comprehensions of `all` and `exists`.
    fn loop_of(&self, fold: &Fold) -> Loop {
        let node = |id: NodeId| &self.program.nodes[id.0 as usize];
        let is_accumulator = |id: NodeId| matches!(node(id), Node::Slot(slot) if *slot == fold.accu_slot);
        let Some(Node::NotStrictlyFalse(condition)) = fold.cond.map(node) else { return Loop::General };
        if !is_accumulator(fold.result) {
            return Loop::General;
        }
        match (node(fold.init), node(*condition), node(fold.step)) {
            (Node::Constant(CelValue::Bool(true)), _, Node::And(accumulator, predicate))
                if is_accumulator(*condition) && is_accumulator(*accumulator) =>
            {
                Loop::All(*predicate)
            }
            (Node::Constant(CelValue::Bool(false)), Node::Call(not), Node::Or(accumulator, predicate))
                if not.name == operators::NOT
                    && not.args.first().is_some_and(|arg| is_accumulator(*arg))
                    && is_accumulator(*accumulator) =>
            {
                Loop::Exists(*predicate)
            }
            _ => Loop::General,
        }
    }

    /// The slot, if the node is an accumulator that a macro collects into.
    pub(super) fn collecting_slot(&self, node: NodeId) -> Option<u32> {
        let Node::Slot(slot) = self.program.nodes[node.0 as usize] else { return None };
        self.scope.iter().any(|local| local.slot == slot && local.collects).then_some(slot)
    }

    /// The length of the longest name that evaluating a node searches for.
    fn longest_name(&self) -> usize {
        let names = self.program.attributes.iter().flat_map(|attribute| &attribute.path);
        let length = |qualifier: &Qualifier| match &qualifier.kind {
            QualifierKind::Field { name, .. } | QualifierKind::Name(name) => name.len(),
            QualifierKind::Constant(CelValue::String(name)) => name.as_str().len(),
            _ => 0,
        };
        names.map(length).max().unwrap_or_default()
    }

    fn slot(&mut self) -> u32 {
        self.program.slots += 1;
        self.program.slots as u32 - 1
    }

    pub(super) fn node(&mut self, node: Node) -> NodeId {
        self.program.nodes.push(node);
        NodeId(self.program.nodes.len() as u32 - 1)
    }

    pub(super) fn constant(&mut self, value: CelValue<'static>) -> NodeId {
        self.node(Node::Constant(value))
    }

    pub(super) fn attribute(&mut self, attribute: Attribute) -> AttributeId {
        self.program.attributes.push(attribute);
        AttributeId(self.program.attributes.len() as u32 - 1)
    }

    pub(super) fn as_constant(&self, node: NodeId) -> Option<&CelValue<'static>> {
        match &self.program.nodes[node.0 as usize] {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }
}

fn literal_value(literal: &Literal) -> CelValue<'static> {
    match literal {
        Literal::Null => CelValue::Null,
        Literal::Bool(b) => CelValue::Bool(*b),
        Literal::Int(i) => CelValue::Int(*i),
        Literal::Uint(u) => CelValue::Uint(*u),
        Literal::Double(d) => CelValue::Double(*d),
        Literal::String(s) => CelValue::String(Text::Owned(s.clone())),
        Literal::Bytes(b) => CelValue::Bytes(Arc::clone(b)),
    }
}
