//! The built-in kinds: every list and map of every type is filled with as many items as a body holds.

use std::sync::Arc;

use pleach_json::{Value, json};
use pleach_pipeline::types::TypeExpr;

use crate::filled::{filled, item};
use crate::places::{places, written};
use crate::{BODY, Make, SCALE, attack};

/// How long the bodies of the sweep are; in a debug build, which is slow, enough to see what is not linear.
const SWEPT: usize = if SCALE == 1 { BODY } else { BODY / 8 };

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
