//! Rewriting schemas: unfolding for publication, dropping value validation.

use pleach_json::grow_stack;

use crate::props::{JSONSchemaProps, SchemaOrArray, SchemaOrBool};
use crate::structural::shape;

impl JSONSchemaProps {
    /// Spells out `x-kubernetes-int-or-string` as `anyOf` and `x-kubernetes-unions` as `oneOf` wherever
    /// they are not spelled out yet, as published documents show them. The extensions stay.
    pub fn unfold(&mut self) {
        self.each_structural_node(&mut |node| {
            crate::unions::unfold(node);
            let spelled_out = shape::is_int_or_string(node.any_of())
                || node.all_of().first().is_some_and(|first| shape::is_int_or_string(first.any_of()));
            if !node.x_int_or_string || spelled_out {
                return;
            }
            let either = vec![Self::of_type("integer"), Self::of_type("string")];
            if node.any_of().is_empty() {
                node.value_mut().any_of = Some(either.into());
            } else {
                let mut first = Self::default();
                first.value_mut().any_of = Some(either.into());
                let all_of = node.value_mut().all_of.get_or_insert_default();
                all_of.insert(0, first);
            }
        });
    }

    /// Drops all value validation, and with it all junctors: what is left are types, fields,
    /// descriptions and extensions.
    pub fn drop_value_validations(&mut self) {
        self.each_structural_node(&mut |node| {
            node.clear_value();
            node.required = None;
        });
    }

    /// Calls `f` for this node and all below it that are not inside a junctor; parents first.
    pub fn each_structural_node(&mut self, f: &mut dyn FnMut(&mut Self)) {
        f(self);
        grow_stack(|| {
            if let Some(SchemaOrArray::Schema(items)) = &mut self.items {
                items.each_structural_node(f);
            }
            if let Some(properties) = &mut self.properties {
                for (_, property) in properties.iter_mut() {
                    property.each_structural_node(f);
                }
            }
            if let Some(SchemaOrBool::Schema(additional)) = &mut self.additional_properties {
                additional.each_structural_node(f);
            }
        });
    }
}
