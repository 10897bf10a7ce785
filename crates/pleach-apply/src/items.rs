//! How an item of a list is told apart from the others.

use pleach_json::{Str, Value};

use crate::element::PathElement;
use crate::shape::{ListShape, Relation};

/// The step from a list to one of its items. Atomic lists have none.
pub(crate) fn step(list: &ListShape<'_>, item: &Value) -> Result<PathElement, String> {
    match list.relation {
        Relation::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        Relation::Set => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            scalar => Ok(PathElement::Value(scalar.clone())),
        },
        Relation::Keys(keys) => keyed(list, keys, item),
    }
}

fn keyed(list: &ListShape<'_>, keys: &[Str], item: &Value) -> Result<PathElement, String> {
    let members = match item {
        Value::Object(members) => members,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut fields: Vec<(Str, Value)> = Vec::with_capacity(keys.len());
    for key in keys {
        let value = members.get(key).or_else(|| list.items.as_map()?.default_of(key));
        if let Some(value) = value {
            fields.push((key.clone(), value.clone()));
        }
    }
    if fields.is_empty() {
        let keys: Vec<_> = keys.iter().map(|key| pleach_meta::go_format::quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            keys.join(" ")
        ));
    }
    if fields.len() > 1 {
        fields.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
    }
    Ok(PathElement::Key(fields.into()))
}
