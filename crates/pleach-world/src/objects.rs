//! All objects of a store, in the form in which those of two servers can be compared.

use pleach_engine::record::Record;
use pleach_engine::{Rejection, keys};
use pleach_json::Value;
use pleach_store::{RangeQuery, Store as _};
use pleach_store_memory::MemoryStore;

/// Kinds whose objects record events or times, and no state.
const SKIPPED_KINDS: [(&str, &str); 3] =
    [("", "events"), ("events.k8s.io", "events"), ("coordination.k8s.io", "leases")];

/// Metadata that differs between any two servers.
const OWN: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "generation"];

/// All objects, by their keys.
pub(crate) async fn all(store: &MemoryStore) -> Result<Vec<Value>, Rejection> {
    let found = store.range(RangeQuery::prefix("")).await.map_err(Rejection::from_store)?;
    let mut objects = Vec::new();
    for versioned in found.items {
        let key = versioned.key.clone();
        let Some((group, plural, _)) = keys::split(&key) else { continue };
        if SKIPPED_KINDS.contains(&(group, plural)) {
            continue;
        }
        let mut object = Record::open(versioned.value, versioned.revision)?.parse()?;
        comparable(&mut object);
        objects.push(object);
    }
    Ok(objects)
}

/// Removes data that differs between any two servers: own metadata, uids of owners, times of conditions.
fn comparable(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !OWN.contains(&name.as_str()));
    }
    without_times(object);
}

fn without_times(value: &mut Value) {
    pleach_json::grow_stack(|| match value {
        Value::Object(map) => {
            map.retain(|name, _| {
                !matches!(name.as_str(), "uid" | "lastTransitionTime" | "observedGeneration")
            });
            map.iter_mut().for_each(|(_, value)| without_times(value));
        }
        Value::Array(_) => {
            if let Some(items) = value.as_array_mut() {
                items.iter_mut().for_each(without_times);
            }
        }
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_differ_between_servers_are_left_out() {
        let mut object = pleach_json::parse(
            br#"{"metadata":{"name":"a","uid":"1","resourceVersion":"2","ownerReferences":[{"name":"o","uid":"3"}]},
                "status":{"conditions":[{"type":"Ready","lastTransitionTime":"t"}]}}"#,
        )
        .unwrap();
        comparable(&mut object);
        let expected = r#"{"metadata":{"name":"a","ownerReferences":[{"name":"o"}]},"status":{"conditions":[{"type":"Ready"}]}}"#;
        assert_eq!(pleach_json::to_string(&object), expected);
    }
}
