//! What several test files use: the material beside the checkout, and the order of the stages.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_schema::Schema;

/// A folder of the shared material; says so loudly when it is not there.
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PLEACH_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = root.join(name);
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {} is not there; set PLEACH_SHARED to the shared material", folder.display());
    None
}

/// All files below a folder that end like this, sorted.
pub fn files(name: &str, extension: &str) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder(name)?];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Some(found)
}

/// The errors of a write, and what was let be.
pub struct Verdict {
    /// What the write is refused for.
    pub errors: Vec<FieldError>,
    /// What is told all the same.
    pub warnings: Vec<String>,
}

/// The stages of validation after those of metadata, whose errors are `before`.
pub fn stages(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    on_status: bool,
    before: Vec<FieldError>,
) -> Verdict {
    let mut errors = before;
    match old {
        None => {
            errors.extend(schema.validate_value(new));
            errors.extend(schema.validate_embedded(new));
            errors.extend(schema.validate_lists(new));
        }
        Some(old) if on_status => {
            errors.extend(schema.validate_status_value_update(new, old));
            errors.extend(schema.validate_lists_update(new, old));
        }
        Some(old) => {
            errors.extend(schema.validate_value_update(new, old));
            errors.extend(schema.validate_embedded(new));
            errors.extend(schema.validate_lists_update(new, old));
        }
    }
    errors.extend(schema.rules_not_checked(&errors));
    Verdict { errors, warnings: Vec::new() }
}
