//! Validation of the names of a resource, in spec or status.

use pleach_json::Str;
use pleach_meta::names::check_dns1035_label;
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::types::Names;

pub(super) fn validate(names: &Names, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = FieldErrors::new();
    for (key, name) in [("plural", &names.plural), ("singular", &names.singular)] {
        if !name.is_empty() {
            label(name, &path.child(key), &mut errors);
        }
    }
    for (key, kind) in [("kind", &names.kind), ("listKind", &names.list_kind)] {
        if kind.is_empty() {
            continue;
        }
        let messages = check_dns1035_label(&kind.to_lowercase());
        if !messages.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", messages.join(","));
            errors.push(FieldError::invalid(path.child(key), kind.clone(), detail));
        }
    }
    labels(names.short_names(), &path.child("shortNames"), &mut errors);
    if !names.kind.is_empty() && names.kind == names.list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(path.child("listKind"), names.list_kind.clone(), detail));
    }
    labels(names.categories(), &path.child("categories"), &mut errors);
    errors.into()
}

fn labels(names: &[Str], path: &Path<'_>, errors: &mut FieldErrors) {
    for (i, name) in names.iter().enumerate() {
        if errors.is_full() {
            return;
        }
        label(name, &path.index(i), errors);
    }
}

fn label(name: &Str, path: &Path<'_>, errors: &mut FieldErrors) {
    let messages = check_dns1035_label(name);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(path, name.clone(), messages.join(",")));
    }
}
