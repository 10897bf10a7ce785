//! The patch strategies of the table's types.

use pleach_patch::StrategicSchema;

use super::{FieldDef, TypeExpr, get};

/// How a strategic merge patch merges objects of a type.
pub fn strategic_schema(name: &str) -> StrategicSchema {
    let mut schema = StrategicSchema::new();
    for (_, field) in get(name).into_iter().flat_map(super::TypeDef::flat) {
        let inner = of_field(field);
        if inner != StrategicSchema::new() {
            schema = schema.with_field(field.name, inner);
        }
    }
    schema
}

fn of_field(field: &FieldDef) -> StrategicSchema {
    let mut ty = &field.ty;
    while let TypeExpr::Pointer(to) | TypeExpr::List(to) = ty {
        ty = to;
    }
    let inner = match ty {
        TypeExpr::Struct(name) => strategic_schema(name),
        _ => StrategicSchema::new(),
    };
    let merges = field.patch.split(',').any(|strategy| strategy == "merge");
    let replaces = field.patch.split(',').any(|strategy| strategy == "replace");
    match (merges, field.merge_key) {
        (true, Some(key)) => inner.merging_by(key),
        (true, None) => inner.merging_as_set(),
        _ if replaces => inner.replaced(),
        _ => inner,
    }
}
