//! Limits on stored objects: nesting depth and size in bytes.
//!
//! Both are checked on the object as it will be stored, in the stored version and with what the server
//! adds, before it is committed: every stored object can be read in every form, changed and deleted.
//!
//! JSON is read up to 10,000 levels, here and by Go's clients. An object comes wrapped in lists, tables,
//! watch events and reviews, which add up to four levels, and its managed fields are nested up to five
//! levels deeper than itself. The limits leave room for both.

use pleach_json::{Value, grow_stack};

use crate::rejection::Rejection;

/// How many levels an object may have, managed fields aside.
pub const MAX_NESTING: usize = 9_900;
/// How many levels more managed fields may have, counted from the object.
const MANAGED_FIELDS_ROOM: usize = 50;
/// The size of a stored object by default, which is etcd's.
pub const MAX_REQUEST_BYTES: usize = 1_536 * 1_024;

/// Refuses an object that is nested too deep. Values that it shares with `earlier`, a stored object, are
/// not looked at again.
pub(crate) fn check_nesting(object: &Value, earlier: Option<&Value>) -> Result<(), Rejection> {
    let Value::Object(members) = object else { return Ok(()) };
    let is_too_deep = members.entries().iter().any(|(key, value)| {
        let earlier = earlier.and_then(|earlier| earlier.get(key));
        match value {
            Value::Object(metadata) if key == "metadata" => metadata.entries().iter().any(|(key, value)| {
                let room = if key == "managedFields" { MANAGED_FIELDS_ROOM } else { 0 };
                let earlier = earlier.and_then(|earlier| earlier.get(key));
                has_more_levels(value, MAX_NESTING - 2 + room, earlier)
            }),
            value => has_more_levels(value, MAX_NESTING - 1, earlier),
        }
    });
    if is_too_deep {
        return Err(Rejection::TooLarge(format!(
            "the object is nested more than {MAX_NESTING} levels deep, which cannot be stored"
        )));
    }
    Ok(())
}

/// The same for an object whose record is at hand: a level takes two bytes at least, so that few records
/// have to be looked at.
pub(crate) fn check_record_nesting(
    record: &[u8],
    object: &Value,
    earlier: Option<&Value>,
) -> Result<(), Rejection> {
    if record.len() < 2 * MAX_NESTING {
        return Ok(());
    }
    check_nesting(object, earlier)
}

/// Whether a value has more levels than this; a value without members has none.
fn has_more_levels(value: &Value, levels: usize, earlier: Option<&Value>) -> bool {
    let inner = match value {
        Value::Array(_) | Value::Object(_) if earlier.is_some_and(|earlier| value.is_same(earlier)) => {
            return false;
        }
        Value::Array(_) | Value::Object(_) => match levels.checked_sub(1) {
            Some(inner) => inner,
            None => return true,
        },
        _ => return false,
    };
    grow_stack(|| match value {
        Value::Array(items) => {
            let earlier = earlier.and_then(Value::as_array);
            items
                .iter()
                .enumerate()
                .filter(|(_, item)| item.is_container())
                .any(|(i, item)| has_more_levels(item, inner, earlier.and_then(|earlier| earlier.get(i))))
        }
        Value::Object(members) => {
            members.entries().iter().filter(|(_, member)| member.is_container()).any(|(key, member)| {
                has_more_levels(member, inner, earlier.and_then(|earlier| earlier.get(key)))
            })
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    /// A value of so many levels.
    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Int(1), |inner, level| {
            if level % 2 == 0 { vec![inner].into() } else { json!({"a": (inner)}) }
        })
    }

    #[test]
    fn levels_are_counted_from_the_object() {
        for (object, stored, why) in [
            (json!({"spec": (nested(MAX_NESTING - 1))}), true, "as deep as can be"),
            (json!({"spec": (nested(MAX_NESTING))}), false, "one more"),
            (json!({"metadata": {"x": (nested(MAX_NESTING - 2))}}), true, "metadata is a level"),
            (json!({"metadata": {"x": (nested(MAX_NESTING - 1))}}), false, "one more in metadata"),
            (
                json!({"metadata": {"managedFields": (nested(MAX_NESTING + 3))}}),
                true,
                "owners of the deepest",
            ),
            (json!({"metadata": {"managedFields": (nested(MAX_NESTING + 60))}}), false, "owners of nothing"),
            (json!({"a": 1, "b": [1, {"c": []}], "z": (nested(MAX_NESTING))}), false, "the last of many"),
        ] {
            assert_eq!(check_nesting(&object, None).is_ok(), stored, "{why}");
        }
    }

    #[test]
    fn stored_values_are_not_checked_again() {
        let deep = json!({"spec": {"a": (nested(MAX_NESTING)), "b": 1}});
        let mut changed = deep.clone();
        changed.get_mut("spec").and_then(Value::as_object_mut).unwrap().insert("b", 2);
        assert!(check_nesting(&changed, None).is_err());
        assert!(check_nesting(&changed, Some(&deep)).is_ok(), "it can still be changed");
        let elsewhere = json!({"spec": {"c": (changed)}});
        assert!(check_nesting(&elsewhere, Some(&deep)).is_err());
    }

    #[test]
    fn the_error_says_what_is_wrong() {
        let status = check_nesting(&json!({"spec": (nested(MAX_NESTING))}), None).unwrap_err().into_status();
        assert_eq!(
            (status.code, status.message.as_str()),
            (
                413,
                "Request entity too large: the object is nested more than 9900 levels deep, which cannot be stored"
            )
        );
    }
}
