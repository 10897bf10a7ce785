//! Validation of `status.storedVersions`: a version cannot be removed while objects may be stored in it.

use pleach_json::{Str, Value};
use pleach_meta::{FieldError, Path};

use crate::types::Crd;

pub(super) fn validate_stored_versions(crd: &Crd) -> Vec<FieldError> {
    let path = Path::new("status.storedVersions");
    let stored = crd.status.stored_versions.as_deref();
    let shown = stored.map(|list| list.iter().map(|v| Value::from(v.clone())).collect::<Vec<_>>());
    let stored = stored.unwrap_or_default();
    if stored.is_empty() {
        return vec![FieldError::invalid(path, Value::from(shown), "must have at least one stored version")];
    }
    let mut errors = Vec::new();
    let storage = crd.spec.versions().iter().rfind(|v| v.storage);
    if let Some(storage) = storage.filter(|v| !stored.contains(&v.name)) {
        let detail = format!("must have the storage version {}", storage.name);
        errors.push(FieldError::invalid(path, Value::from(shown), detail));
    }
    for (i, version) in stored.iter().enumerate() {
        // A version that is listed twice is reported once, at its last place.
        let again = stored[i + 1..].contains(version);
        if again || crd.spec.version_named(version).is_some() {
            continue;
        }
        errors.push(FieldError::invalid(path.index(i), version.clone(), missing(version)));
    }
    errors
}

fn missing(version: &Str) -> String {
    format!(
        "missing from spec.versions; {version} was previously a storage version, and must remain in \
         spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
         {version} from status.storedVersions"
    )
}
