//! Planning of selections, indexes and ternaries.
//!
//! A chain such as `self.a[0].b` is one attribute with qualifiers, not nested nodes. A ternary is an
//! attribute as well: qualifiers apply to both branches.

use crate::ast::ExprId;
use crate::eval::PlanError;
use crate::eval::node::{Attribute, AttributeId, Node, NodeId, Qualifier, QualifierKind, Root};
use crate::eval::plan::Planner;
use crate::types::Type;
use crate::value::CelValue;
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn plan_select(
        &mut self,
        operand: ExprId,
        field: &str,
        test_only: bool,
    ) -> Result<NodeId, PlanError> {
        let kind = self.field_qualifier(operand, field);
        let attribute = self.plan_operand(operand)?;
        self.extend(attribute, &Qualifier { kind, optional: false, test_only });
        Ok(self.node(if test_only { Node::Test(attribute) } else { Node::Attribute(attribute) }))
    }

    pub(super) fn plan_index(
        &mut self,
        operand: ExprId,
        index: ExprId,
        optional: bool,
    ) -> Result<NodeId, PlanError> {
        let attribute = self.plan_operand(operand)?;
        let index_node = self.plan(index)?;
        let kind = match &self.program.nodes[index_node.0 as usize] {
            Node::Constant(CelValue::String(name)) => QualifierKind::Name(name.as_str().into()),
            Node::Constant(
                key @ (CelValue::Int(_) | CelValue::Uint(_) | CelValue::Bool(_) | CelValue::Double(_)),
            ) => QualifierKind::Constant(key.clone()),
            Node::Constant(other) => {
                return Err(PlanError(format!("invalid qualifier type: {}", other.go_type()).into()));
            }
            Node::Attribute(id) => QualifierKind::Attribute(*id),
            Node::Slot(slot) => {
                let root = Root::Slot(*slot);
                QualifierKind::Attribute(self.attribute(Attribute::of(root)))
            }
            _ => QualifierKind::Node(index_node),
        };
        self.extend(attribute, &Qualifier { kind, optional, test_only: false });
        Ok(self.node(Node::Attribute(attribute)))
    }

    /// `operand.?field`: the field is a literal argument.
    pub(super) fn plan_optional_select(
        &mut self,
        operand: ExprId,
        field: ExprId,
    ) -> Result<NodeId, PlanError> {
        self.plan_index(operand, field, true)
    }

    pub(super) fn plan_conditional(
        &mut self,
        condition: ExprId,
        truthy: ExprId,
        falsy: ExprId,
    ) -> Result<NodeId, PlanError> {
        let condition = self.plan(condition)?;
        let truthy = self.plan_operand(truthy)?;
        let falsy = self.plan_operand(falsy)?;
        let root = Root::Conditional(condition, truthy, falsy);
        let attribute = self.attribute(Attribute::of(root));
        Ok(self.node(Node::Attribute(attribute)))
    }

    /// The operand as an attribute that can be extended.
    fn plan_operand(&mut self, operand: ExprId) -> Result<AttributeId, PlanError> {
        let node = self.plan(operand)?;
        match self.program.nodes[node.0 as usize] {
            Node::Attribute(id) | Node::Test(id) if self.is_shared(operand) => Ok(self.copy(id)),
            Node::Attribute(id) | Node::Test(id) => Ok(id),
            Node::Slot(slot) => Ok(self.attribute(Attribute::of(Root::Slot(slot)))),
            _ => Ok(self.attribute(Attribute::of(Root::Node(node)))),
        }
    }

    fn copy(&mut self, id: AttributeId) -> AttributeId {
        let mut attribute = self.program.attributes[id.0 as usize].clone();
        if let Root::Conditional(_, truthy, falsy) = &mut attribute.root {
            (*truthy, *falsy) = (self.copy(*truthy), self.copy(*falsy));
        }
        self.attribute(attribute)
    }

    fn extend(&mut self, id: AttributeId, qualifier: &Qualifier) {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let attribute = &mut self.program.attributes[id.0 as usize];
            if let Root::Conditional(_, truthy, falsy) = attribute.root {
                pending.extend([truthy, falsy]);
            } else {
                attribute.optional |= qualifier.optional;
                attribute.path.push(qualifier.clone());
            }
        }
    }

    fn field_qualifier(&self, operand: ExprId, field: &str) -> QualifierKind {
        let name = field.into();
        if let Type::Object(object) = self.checked.type_of(operand)
            && let Some(found) = object.field(field)
            && let Some(index) = object.fields().iter().position(|f| std::ptr::eq(f, found))
        {
            return QualifierKind::Field { object: Arc::clone(object), index, name };
        }
        QualifierKind::Name(name)
    }
}
