//! `PrepareForCreate` and `PrepareForUpdate` of CRDs: fields that the client cannot set.

use pleach_json::Value;

use crate::types::{ApiVersion, Crd, CrdStatus};

/// A new CRD has no status but the version its objects will be stored in.
pub fn prepare_for_create(crd: &mut Crd) {
    crd.status = CrdStatus::default();
    note_stored_version(crd);
    set_generation(crd, 1);
}

/// An update keeps the status, notes a new storage version in it, and counts a change of the spec. `drop_fields` takes
/// away what the server does not support, before the specs are compared.
pub fn prepare_for_update(new: &mut Crd, old: &Crd, drop_fields: impl FnOnce(&mut Crd)) {
    new.status = old.status.clone();
    drop_fields(new);
    note_stored_version(new);
    let changed =
        new.spec != old.spec && new.spec.encode(ApiVersion::V1beta1) != old.spec.encode(ApiVersion::V1beta1);
    set_generation(new, old.meta().generation().saturating_add(i64::from(changed)));
}

/// An update of the status keeps the spec. The metadata is what was sent: labels, annotations and
/// finalizers change here too.
pub fn prepare_for_status_update(new: &mut Crd, old: &Crd) {
    new.spec = old.spec.clone();
    set_generation(new, old.meta().generation());
}

fn note_stored_version(crd: &mut Crd) {
    let Some(storage) = crd.spec.storage_version().map(|v| v.name.clone()) else { return };
    let stored = crd.status.stored_versions.get_or_insert_default();
    if !stored.contains(&storage) {
        stored.push(storage);
    }
}

fn set_generation(crd: &mut Crd, generation: i64) {
    if let Value::Object(metadata) = &mut crd.metadata {
        if generation == 0 {
            metadata.remove("generation");
        } else {
            metadata.insert("generation", generation);
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::decode::{Options, decode};

    fn crd(storage: &str, extra: &Value) -> Crd {
        let versions: Vec<Value> = ["v1", "v2"]
            .iter()
            .map(|v| json!({"name": (*v), "served": true, "storage": (*v == storage)}))
            .collect();
        let document = json!({
            "metadata": {"name": "foos.example.com", "generation": 7},
            "spec": {"group": "example.com", "names": {"plural": "foos", "kind": "Foo", "shortNames": (extra.clone())},
                     "versions": versions},
            "status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v9"]},
        });
        decode(&document, ApiVersion::V1, Options::default()).unwrap().crd
    }

    #[test]
    fn a_new_crd_starts_with_a_clean_status() {
        let mut new = crd("v2", &Value::Null);
        prepare_for_create(&mut new);
        assert_eq!(new.meta().generation(), 1);
        assert_eq!(
            new.status.encode(ApiVersion::V1),
            json!({
                "conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v2"],
            })
        );
    }

    #[test]
    fn an_update_keeps_the_status_and_counts_changes() {
        let old = crd("v1", &Value::Null);
        for (mut new, generation, stored, why) in [
            (crd("v1", &Value::Null), 7, ["v9", "v1"], "nothing changed"),
            (crd("v1", &json!([])), 7, ["v9", "v1"], "an empty list is no list"),
            (crd("v2", &Value::Null), 8, ["v9", "v2"], "another storage version is noted"),
            (crd("v1", &json!(["f"])), 8, ["v9", "v1"], "a new short name"),
        ] {
            new.status = CrdStatus::default();
            prepare_for_update(&mut new, &old, |_| {});
            assert_eq!(new.meta().generation(), generation, "{why}");
            assert_eq!(new.status.stored_versions.as_deref().unwrap(), stored, "{why}");
            assert_eq!(new.status.conditions, old.status.conditions);
        }
    }

    #[test]
    fn an_update_of_the_status_keeps_the_spec() {
        let old = crd("v1", &Value::Null);
        let mut new = crd("v2", &json!(["f"]));
        new.metadata = json!({"labels": {"a": "b"}});
        prepare_for_status_update(&mut new, &old);
        assert_eq!(new.spec, old.spec);
        assert_eq!(new.metadata, json!({"labels": {"a": "b"}, "generation": 7}));
    }
}
