//! Drops nulls that nothing allows.
//!
//! Between pruning and defaulting. A member that is null goes when its schema is known, is not
//! nullable and has no default; with a default the next stage replaces it. Nulls in arrays stay,
//! for validation to refuse, and so do nulls of which no schema speaks.

use pleach_json::{Value, grow_stack};
use pleach_work::charge;

use crate::compile::Node;
use crate::prune::{Note, Noted, Silent};
use crate::trail::Trail;

/// Drops the nulls that nothing allows.
pub fn drop_nulls(value: &mut Value, node: &Node) {
    drop_below(value, node, &Trail::ROOT, &mut Silent);
}

/// Drops the nulls that nothing allows and returns where they were.
pub fn drop_nulls_noting(value: &mut Value, node: &Node) -> Vec<String> {
    let mut noted = Noted::default();
    drop_below(value, node, &Trail::ROOT, &mut noted);
    noted.nulls
}

/// Whether a member of this schema goes when it is null.
pub(crate) fn is_dropped(node: &Node) -> bool {
    !node.is_nullable() && node.default().is_none()
}

pub(crate) fn drop_below(value: &mut Value, node: &Node, at: &Trail<'_>, note: &mut impl Note) {
    match value {
        Value::Object(members) => grow_stack(|| {
            charge(members.len() as u64);
            let mut from = 0;
            members.retain(|key, member| {
                let declared = node.next_property(&mut from, key).map(|p| &p.node);
                let Some(of_member) = declared.or_else(|| node.additional().schema()) else { return true };
                if member.is_null() && is_dropped(of_member) {
                    note.null_dropped(&at.key(key));
                    return false;
                }
                drop_below(member, of_member, &at.key(key), note);
                true
            });
        }),
        Value::Array(items) => {
            let Some(of_items) = node.items() else { return };
            grow_stack(|| {
                charge(items.len() as u64);
                for (i, item) in items.iter_mut().enumerate() {
                    drop_below(item, of_items, &at.index(i), note);
                }
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::prune::prune_and_drop_nulls;
    use crate::{Schema, SchemaOptions};

    #[test]
    fn nulls() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "a": {"type": "string"},
            "n": {"type": "string", "nullable": true},
            "d": {"type": "string", "default": "x"},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "t": {"type": "object", "additionalProperties": true},
            "l": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}},
        }});
        let schema = Schema::from_value(&schema, SchemaOptions::default());
        let object = json!({
            "a": null, "n": null, "d": null, "m": {"k": null, "j": "x"}, "t": {"k": null}, "l": [null, {"b": null}], "unknown": null,
        });
        let want = json!({"n": null, "d": null, "m": {"j": "x"}, "t": {"k": null}, "l": [null, {}], "unknown": null});
        let mut alone = object.clone();
        assert_eq!(drop_nulls_noting(&mut alone, schema.root()), ["a", "l[1].b", "m.k"]);
        assert_eq!(alone, want);
        let mut noted = Noted::default();
        let mut together = object.clone();
        prune_and_drop_nulls(&mut together, schema.root(), &mut noted);
        assert_eq!((together, noted.nulls.len()), (want, 3), "riding along with pruning is the same");
    }
}
