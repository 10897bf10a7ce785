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

    /// Spells out what `x-kubernetes-embedded-resource` implies: `apiVersion`, `kind` and `metadata`
    /// with their types, the first two required.
    pub fn unfold_embedded_resources(&mut self) {
        self.each_structural_node(&mut |node| {
            if !node.x_embedded_resource {
                return;
            }
            let properties = node.properties.get_or_insert_default();
            for (name, type_) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
                match properties.get_mut(name) {
                    None => {
                        properties.insert(name, Self::of_type(type_));
                    }
                    Some(property) if property.type_.is_empty() => property.type_ = type_.into(),
                    Some(_) => {}
                }
            }
            let required = node.required.get_or_insert_default();
            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|other| other == name) {
                    required.push(name.into());
                }
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
