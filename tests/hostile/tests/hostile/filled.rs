//! Long lists of the built-in kinds, by the types of their items.

use pleach_json::{Map, Value, json};
use pleach_pipeline::types::{TypeDef, TypeExpr, get};

/// The item of a long list; `n` makes it differ from others.
pub(crate) fn item(ty: &TypeExpr, n: Option<usize>) -> Value {
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
pub(crate) fn filled(ty: &TypeExpr, bytes: usize, make: impl Fn(usize) -> Value) -> Value {
    let length = pleach_json::to_vec(&make(0)).len();
    match ty {
        TypeExpr::Map(_) => {
            (0..bytes / (length + 9)).map(|n| (format!("k{n}").into(), make(n))).collect::<Map>().into()
        }
        _ => (0..bytes / (length + 1)).map(make).collect::<Vec<_>>().into(),
    }
}
