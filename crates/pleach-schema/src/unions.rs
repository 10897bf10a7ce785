//! `x-kubernetes-unions`: fields of an object of which only one may be set.
//!
//! The design of structural schemas has them and Kubernetes never shipped them. Here they work when
//! the decoder is configured so ([`crate::Decoder::with_extensions`]); otherwise the key is an unknown field,
//! as it is for stock Kubernetes. [`JSONSchemaProps::expand`] rewrites them into what every API server knows.
//!
//! ```yaml
//! x-kubernetes-unions:
//! - discriminator: type
//!   fields:
//!     emptyDir: EmptyDir
//!     hostPath: HostPath
//! ```
//!
//! With a discriminator exactly one member must be set, and the discriminator, where it is given,
//! must have that member's value. Without one (then the members have no values) at most one member
//! may be set. What is checked on objects is what the unfolded schema ([`JSONSchemaProps::unfold`])
//! says, in words that name the fields.

use std::collections::HashMap;

use pleach_go::strconv::quote;
use pleach_json::{Map, Str, Value};
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::props::{JSONSchemaProps, SchemaList, Union};

const KEYWORD: &str = "x-kubernetes-unions";

/// Checks the unions of a node: a part of the structural rules.
pub(crate) fn check(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    if schema.unions().is_empty() {
        return;
    }
    if schema.type_ != "object" {
        let detail = "must be object if x-kubernetes-unions is specified";
        errors.push(if schema.type_.is_empty() {
            FieldError::required(path.child("type"), detail)
        } else {
            FieldError::invalid(path.child("type"), schema.type_.clone(), detail)
        });
    }
    let mut roles: HashMap<&str, usize> = HashMap::new();
    let unions = path.child(KEYWORD);
    for (i, union) in schema.unions().iter().enumerate() {
        if errors.is_full() {
            return;
        }
        let at = unions.index(i);
        discriminator(schema, union, path, &at, errors);
        members(schema, union, path, &at, errors);
        let names = union.fields.iter().map(|(name, _)| name);
        for name in names.chain(Some(&union.discriminator).filter(|name| !name.is_empty())) {
            if roles.insert(name, i).is_some() {
                errors.push(FieldError::duplicate(at, name.clone()));
            }
        }
    }
}

fn discriminator(
    schema: &JSONSchemaProps,
    union: &Union,
    path: &Path<'_>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    if union.discriminator.is_empty() {
        return;
    }
    let at = at.child("discriminator");
    let properties = path.child("properties");
    let property = properties.key(&union.discriminator);
    let Some(found) = schema.property(&union.discriminator) else {
        errors.push(FieldError::required(property, format!("because it is defined in {at}")));
        return;
    };
    if found.type_ != "string" {
        errors.push(FieldError::invalid(
            property.child("type"),
            found.type_.clone(),
            "must be string for the discriminator of a union",
        ));
    }
}

fn members(
    schema: &JSONSchemaProps,
    union: &Union,
    path: &Path<'_>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let fields = at.child("fields");
    if union.fields.is_empty() {
        errors.push(FieldError::required(fields, "must not be empty"));
    }
    let known = schema.property(&union.discriminator).and_then(|d| d.value().enum_.as_ref());
    let mut values: HashMap<&str, &str> = HashMap::new();
    for (name, value) in &union.fields {
        let field = fields.key(name);
        let properties = path.child("properties");
        let property = properties.key(name);
        match schema.property(name) {
            None => errors.push(FieldError::required(property, format!("because it is defined in {field}"))),
            Some(found) if found.nullable => errors.push(FieldError::forbidden(
                property.child("nullable"),
                "must be false for the member of a union",
            )),
            Some(_) => {}
        }
        if union.discriminator.is_empty() {
            if !value.is_empty() {
                errors.push(FieldError::forbidden(field, "must be empty without a discriminator"));
            }
        } else if value.is_empty() {
            errors.push(FieldError::required(field, "must be the value of the discriminator for this field"));
        } else if values.insert(value, name).is_some() {
            errors.push(FieldError::duplicate(field, value.clone()));
        } else if let Some(known) = known
            && !known.iter().any(|v| v.as_str() == Some(value))
        {
            let known: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
            errors.push(FieldError::not_supported(field, value.clone(), &known));
        }
    }
}

/// Checks an object against the unions of its schema; `path` is where the object is.
pub fn validate_unions(object: &Map, unions: &[Union], path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for union in unions {
        validate_union(object, union, path, &mut errors);
    }
    errors
}

fn validate_union(object: &Map, union: &Union, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let set: Vec<&(Str, Str)> =
        union.fields.iter().filter(|(name, _)| object.get(name).is_some_and(|v| !v.is_null())).collect();
    let mut named = None;
    if !union.discriminator.is_empty() {
        let at = path.child(&union.discriminator);
        if let Some(given) = object.get(&union.discriminator).and_then(Value::as_str) {
            named = union.fields.iter().find(|(_, value)| value == given);
            match (named, set.as_slice()) {
                (None, _) => {
                    let values: Vec<&str> = union.fields.iter().map(|(_, value)| value.as_str()).collect();
                    errors.push(FieldError::not_supported(at, given, &values));
                }
                (Some((name, _)), [(other, value)]) if name != other => errors.push(FieldError::invalid(
                    at,
                    given,
                    format!("must be {} because {} is set", quote(value), quote(other)),
                )),
                _ => {}
            }
        }
        if set.is_empty() {
            match named {
                Some((name, value)) => errors.push(FieldError::required(
                    path.child(name),
                    format!("must be set because {} is {}", quote(&union.discriminator), quote(value)),
                )),
                None => errors.push(FieldError::required(
                    path_or_root(path),
                    format!("exactly one of {} must be set", names(union)),
                )),
            }
        }
    }
    if set.len() > 1 {
        // The one the discriminator names stays; without a word from it, the first.
        let kept = named.filter(|named| set.contains(named)).unwrap_or(set[0]);
        for (name, _) in set.into_iter().filter(|member| *member != kept) {
            errors.push(FieldError::forbidden(
                path.child(name),
                format!(
                    "may not be set together with {}: only one of {} may be set",
                    quote(&kept.0),
                    names(union)
                ),
            ));
        }
    }
}

/// The path as text; the whole object has none, which prints as upstream prints it.
fn path_or_root(path: &Path<'_>) -> String {
    let text = path.to_string();
    if text.is_empty() { "<nil>".to_owned() } else { text }
}

fn names(union: &Union) -> String {
    let names: Vec<String> = union.fields.iter().map(|(name, _)| quote(name)).collect();
    names.join(", ")
}

/// Expresses in plain keywords which members may be set together, and which values the discriminators
/// have: `oneOf` if it is free, `allOf` otherwise.
pub(crate) fn unfold(schema: &mut JSONSchemaProps) {
    for union in schema.unions().to_vec() {
        let exclusive = exclusive(&union);
        if spelled_out(schema, &exclusive) {
            continue;
        }
        let value = schema.value_mut();
        if value.one_of.as_ref().is_none_or(|list| list.is_empty()) {
            value.one_of = Some(exclusive);
        } else {
            let mut and = JSONSchemaProps::default();
            and.value_mut().one_of = Some(exclusive);
            value.all_of.get_or_insert_default().push(and);
        }
        let discriminator = schema.properties.as_mut().and_then(|p| p.get_mut(&union.discriminator));
        if let Some(property) = discriminator
            && property.value().enum_.as_ref().is_none_or(Vec::is_empty)
        {
            property.value_mut().enum_ =
                Some(union.fields.iter().map(|(_, value)| value.clone().into()).collect());
        }
    }
}

fn spelled_out(schema: &JSONSchemaProps, exclusive: &SchemaList) -> bool {
    let all_of = schema.all_of().iter().any(|s| s.value().one_of.as_ref() == Some(exclusive));
    all_of || schema.value().one_of.as_ref() == Some(exclusive)
}

/// The `oneOf` of a union: one member each; without a discriminator also none of them.
fn exclusive(union: &Union) -> SchemaList {
    let member = |name: &Str| JSONSchemaProps { required: Some(vec![name.clone()]), ..Default::default() };
    let mut branches: Vec<_> = union.fields.iter().map(|(name, _)| member(name)).collect();
    if union.discriminator.is_empty() {
        let mut any = JSONSchemaProps::default();
        any.value_mut().any_of = Some(branches.clone().into());
        let mut none = JSONSchemaProps::default();
        none.value_mut().not = Some(any.into());
        branches.push(none);
    }
    branches.into()
}

#[cfg(test)]
mod tests;
