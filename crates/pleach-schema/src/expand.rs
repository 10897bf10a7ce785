//! Rewrites `x-kubernetes-unions` into keywords that every Kubernetes API server supports.
//!
//! Which members may be set together becomes `oneOf` and `required`, the values of the
//! discriminator become an `enum`, and that it agrees with the member that is set becomes a CEL
//! rule per member. A member or discriminator that CEL cannot name gets its agreement as an `enum`
//! within the `oneOf` branch instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pleach_json::Str;

use crate::props::{JSONSchemaProps, Union, ValidationRule};
use crate::unions;

impl JSONSchemaProps {
    /// Rewrites all unions of the schema; without unions it stays as it is.
    pub fn expand(&mut self) {
        self.each_structural_node(&mut |node| {
            if node.unions().is_empty() {
                return;
            }
            unions::unfold(node);
            for union in node.rare_mut().x_unions.take().unwrap_or_default() {
                if !union.discriminator.is_empty() {
                    agree(node, &union);
                }
            }
        });
    }
}

/// Makes the discriminator agree with the member that is set.
fn agree(node: &mut JSONSchemaProps, union: &Union) {
    let discriminator = pleach_cel::names::escape(&union.discriminator);
    let mut unnameable = BTreeMap::new();
    for (name, value) in &union.fields {
        match (&discriminator, pleach_cel::names::escape(name)) {
            (Some(discriminator), Some(member)) => {
                let rule = rule(union, discriminator, name, &member, value);
                node.rare_mut().x_validations.get_or_insert_default().push(rule);
            }
            _ => {
                unnameable.insert(name, value);
            }
        }
    }
    if !unnameable.is_empty() {
        restrict_branches(node, union, &unnameable);
    }
}

fn rule(union: &Union, discriminator: &str, name: &str, member: &str, value: &str) -> ValidationRule {
    let literal = literal(value);
    ValidationRule {
        rule: format!(
            "!has(self.{discriminator}) || self.{discriminator} != {literal} || has(self.{member})"
        )
        .into(),
        message: one_line(&format!("{name} must be set if {} is {value}", union.discriminator)),
        ..ValidationRule::default()
    }
}

/// A CEL string literal.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "'"
}

/// Messages of rules have no line breaks.
fn one_line(text: &str) -> Str {
    text.replace(['\n', '\r'], " ").into()
}

/// Restricts the discriminator in the `oneOf` branches of `members`.
fn restrict_branches(node: &mut JSONSchemaProps, union: &Union, members: &BTreeMap<&Str, &Str>) {
    let value = node.value_mut();
    let in_one_of = value.one_of.iter_mut().flat_map(|list| list.iter_mut());
    let in_all_of = value
        .all_of
        .iter_mut()
        .flat_map(|list| list.iter_mut())
        .filter(|schema| !schema.one_of().is_empty())
        .flat_map(|schema| schema.value_mut().one_of.iter_mut())
        .flat_map(|list| list.iter_mut());
    for branch in in_one_of.chain(in_all_of) {
        let [name] = branch.required() else { continue };
        let Some(value) = members.get(name) else { continue };
        let mut said = JSONSchemaProps::default();
        said.value_mut().enum_ = Some(vec![(*value).clone().into()]);
        branch.properties.get_or_insert_default().insert(union.discriminator.clone(), said);
    }
}
