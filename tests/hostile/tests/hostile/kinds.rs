//! The built-in kinds: every list and map of every type is filled with as many items as a body holds.

use std::sync::Arc;

use pleach_json::{Map, Value, json};
use pleach_pipeline::types::{TypeDef, TypeExpr, get};

use crate::places::{places, written};
use crate::{BODY, Make, SCALE, attack};

/// How long the bodies of the sweep are; in a debug build, which is slow, enough to see what is not linear.
const SWEPT: usize = if SCALE == 1 { BODY } else { BODY / 8 };

/// The item of a long list; `n` makes it differ from others.
fn item(ty: &TypeExpr, n: Option<usize>) -> Value {
    let text = || n.map_or_else(|| "a".to_owned(), |n| format!("a{n}"));
    let number = n.unwrap_or(1) as i64 % 65_536;
    match ty {
        TypeExpr::String(_) | TypeExpr::Bytes => text().into(),
        TypeExpr::Bool => true.into(),
        TypeExpr::Int32 | TypeExpr::Int64 | TypeExpr::IntOrString => number.into(),
        TypeExpr::Float64 => 1.5.into(),
        TypeExpr::Time => "2020-01-01T00:00:00Z".into(),
        TypeExpr::MicroTime => "2020-01-01T00:00:00.000000Z".into(),
        TypeExpr::Quantity => number.to_string().into(),
        TypeExpr::Raw | TypeExpr::SchemaOrBool | TypeExpr::SchemaOrList | TypeExpr::SchemaOrTexts => {
            json!({})
        }
        TypeExpr::Texts => json!(["a"]),
        TypeExpr::Map(of) => json!({"a": (item(of, n))}),
        TypeExpr::List(of) => vec![item(of, n)].into(),
        TypeExpr::Pointer(of) => item(of, n),
        TypeExpr::Struct(name) => {
            let fields = get(name).into_iter().flat_map(TypeDef::flat);
            let scalars = fields.filter(|(_, field)| {
                !matches!(
                    field.ty,
                    TypeExpr::Map(_) | TypeExpr::List(_) | TypeExpr::Pointer(_) | TypeExpr::Struct(_)
                )
            });
            let members = scalars.take(3).map(|(_, field)| (field.name.into(), item(&field.ty, n)));
            members.collect::<Map>().into()
        }
    }
}

/// A list or map of as many items as fit.
fn filled(ty: &TypeExpr, bytes: usize, make: impl Fn(usize) -> Value) -> Value {
    let length = pleach_json::to_vec(&make(0)).len();
    match ty {
        TypeExpr::Map(_) => {
            (0..bytes / (length + 9)).map(|n| (format!("k{n}").into(), make(n))).collect::<Map>().into()
        }
        _ => (0..bytes / (length + 1)).map(make).collect::<Vec<_>>().into(),
    }
}

pub(crate) fn all() -> Vec<Make> {
    let is_list = |ty: &TypeExpr| matches!(ty, TypeExpr::List(_) | TypeExpr::Map(_));
    let mut attacks: Vec<Make> = Vec::new();
    for (kind, version, place) in places(is_list) {
        let (TypeExpr::List(of) | TypeExpr::Map(of)) = place.ty else { continue };
        let place = Arc::new(place);
        for (which, make) in [
            ("empty", (|of, _| empty(of)) as fn(&TypeExpr, usize) -> Value),
            ("alike", |of, _| item(of, None)),
            ("different", |of, n| item(of, Some(n))),
        ] {
            let (kind, place) = (kind.clone(), place.clone());
            let name = format!("{}{}: {which}", kind.kind, place.name());
            attacks.push(Box::new(move || {
                let list = filled(place.ty, SWEPT, |n| make(of, n));
                let body = pleach_json::to_vec(&place.with(&kind, version, list));
                attack(name, body.len(), move || written(&kind, version, &body))
            }));
        }
    }
    attacks
}

/// The shortest value of a type.
fn empty(ty: &TypeExpr) -> Value {
    match ty {
        TypeExpr::Struct(_) | TypeExpr::Map(_) | TypeExpr::Raw => json!({}),
        TypeExpr::List(_) | TypeExpr::Texts => json!([]),
        TypeExpr::Pointer(of) => empty(of),
        TypeExpr::String(_) | TypeExpr::Bytes => "".into(),
        other => item(other, Some(0)),
    }
}
