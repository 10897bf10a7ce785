//! Decides the type of a place, from all schemas that describe it.

use std::collections::BTreeSet;

use pleach_json::{Str, Value};

use super::{Builder, Source};
use crate::props::JSONSchemaProps;
use crate::walk::TYPES;

/// The type of a place.
pub(super) enum Decision {
    /// Values of one type.
    Type(Str),
    /// Integers and strings.
    IntOrString,
    /// Any value.
    Anything,
}

/// Whether values of the type have no parts.
pub(super) fn is_scalar(type_: &str) -> bool {
    matches!(type_, "string" | "integer" | "number" | "boolean")
}

pub(super) fn decide(builder: &mut Builder, parts: &[Source<'_>], root: bool, place: usize) -> Decision {
    for part in parts {
        keywords_without_structural_form(builder, *part);
    }
    let spine = parts.iter().find(|part| !part.inside);
    if parts.iter().any(|part| part.schema.x_int_or_string) {
        return Decision::IntOrString;
    }
    if let Some(spine) = spine.filter(|spine| !spine.schema.type_.is_empty()) {
        return named(builder, &spine.schema.type_, spine.place);
    }
    let said: BTreeSet<&Str> =
        parts.iter().map(|part| &part.schema.type_).filter(|t| !t.is_empty()).collect();
    let said: Vec<&Str> = said.into_iter().collect();
    match said.as_slice() {
        [] => {}
        [only] => {
            if let Some(part) = parts.iter().find(|part| part.schema.type_ == **only) {
                let text = format!("type {only} is said only in {}", builder.path(part.place));
                builder.note(place, text);
            }
            return named(builder, only, place);
        }
        [a, b] if *a == "integer" && *b == "string" => {
            builder.note(place, "integer or string becomes x-kubernetes-int-or-string: true");
            return Decision::IntOrString;
        }
        [a, b] if *a == "integer" && *b == "number" => return Decision::Type("number".into()),
        several => {
            let list: Vec<&str> = several.iter().map(|t| t.as_str()).collect();
            builder.obstacle(place, "type", format!("branches say different types: {}", list.join(", ")));
            return Decision::Anything;
        }
    }
    if spine.is_some_and(|spine| spine.schema.preserves_unknown_fields()) {
        return Decision::Anything;
    }
    if spine.is_some_and(|spine| spine.schema.x_embedded_resource) || root {
        builder.note(place, "type object is added");
        return Decision::Type("object".into());
    }
    infer(builder, parts, place)
}

fn named(builder: &mut Builder, type_: &Str, place: usize) -> Decision {
    if !TYPES.contains(&type_.as_str()) {
        builder.obstacle(place, "type", format!("there is no type {type_:?}"));
    }
    Decision::Type(type_.clone())
}

/// The type that the other keywords speak about.
fn infer(builder: &mut Builder, parts: &[Source<'_>], place: usize) -> Decision {
    let about: BTreeSet<&str> = parts.iter().flat_map(|part| speaks_of(part.schema)).collect();
    let about: Vec<&str> = about.into_iter().collect();
    match about.as_slice() {
        [only] => {
            builder.note(place, format!("type {only} is taken from the other keywords"));
            Decision::Type((*only).into())
        }
        ["integer", "number"] => {
            builder.note(place, "type number is taken from the other keywords");
            Decision::Type("number".into())
        }
        [] => {
            builder.note(place, "no type is said: any value is kept");
            Decision::Anything
        }
        several => {
            let list = several.join(", ");
            builder.obstacle(place, "type", format!("no type is said, and keywords speak of {list}"));
            Decision::Anything
        }
    }
}

fn speaks_of(schema: &JSONSchemaProps) -> Vec<&'static str> {
    let value = schema.value();
    let mut out = Vec::new();
    let object = !schema.properties().is_empty()
        || schema.additional_properties.is_some()
        || !schema.required().is_empty()
        || value.max_properties.is_some()
        || value.min_properties.is_some();
    let array = schema.items.is_some() || value.max_items.is_some() || value.min_items.is_some();
    let string = !value.pattern.is_empty() || value.max_length.is_some() || value.min_length.is_some();
    let number = value.maximum.is_some() || value.minimum.is_some() || value.multiple_of.is_some();
    let integer = matches!(value.format.as_str(), "int32" | "int64");
    for (type_, spoken) in
        [("object", object), ("array", array), ("string", string), ("number", number), ("integer", integer)]
    {
        if spoken {
            out.push(type_);
        }
    }
    let values = value.enum_.iter().flatten().chain(Some(schema.default_value()));
    out.extend(values.filter(|value| !value.is_null()).map(|value: &Value| value.kind().as_str()));
    out
}

/// Keywords that stand in the way wherever they are.
fn keywords_without_structural_form(builder: &mut Builder, part: Source<'_>) {
    let rare = part.schema.rare();
    let patterns = rare.pattern_properties.as_ref().is_some_and(|map| !map.is_empty());
    for (keyword, used, why) in [
        ("$ref", rare.ref_.is_some(), "references have no structural form: write the schema out"),
        ("patternProperties", patterns, "names by pattern have no structural form"),
        ("items", super::is_list(part.schema.items.as_ref()), "a schema per position has no structural form"),
        ("additionalItems", rare.additional_items.is_some(), "a schema per position has no structural form"),
    ] {
        if used {
            builder.obstacle(part.place, keyword, why);
        }
    }
}
