//! Validation of where volumes come from.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, text};

/// The source of a volume.
pub(super) fn source(volume: &Value, path: &str, spec: &Value, errors: &mut Errors) {
    let mut sources = volume.as_object().into_iter().flat_map(pleach_json::Map::keys);
    let mut found = 0;
    for kind in sources.by_ref().filter(|key| *key != "name") {
        found += 1;
        let path = format!("{path}.{kind}");
        if found > 1 {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            continue;
        }
        let Some(source) = volume.get(kind) else { continue };
        match kind.as_str() {
            "secret" | "configMap" => {
                let name = if kind == "secret" { "secretName" } else { "name" };
                if text(source, name).is_empty() {
                    errors.push(FieldError::required(format!("{path}.{name}"), ""));
                }
                mode(source.get("defaultMode"), &format!("{path}.defaultMode"), errors);
                items_of(source, &path, errors);
            }
            "downwardAPI" | "projected" => {
                mode(source.get("defaultMode"), &format!("{path}.defaultMode"), errors);
                if kind == "downwardAPI" {
                    items_of(source, &path, errors);
                }
                for (i, one) in items(source, "sources").iter().enumerate() {
                    if one.get("serviceAccountToken").is_some() && text(spec, "serviceAccountName").is_empty()
                    {
                        errors.push(FieldError::forbidden(
                            format!("{path}.sources[{i}].serviceAccountToken"),
                            "must not be specified when serviceAccountName is not set",
                        ));
                    }
                }
            }
            "hostPath" => {
                if text(source, "path").is_empty() {
                    errors.push(FieldError::required(format!("{path}.path"), ""));
                }
                if text(source, "path").split('/').any(|part| part == "..") {
                    errors.push(FieldError::invalid(
                        format!("{path}.path"),
                        text(source, "path"),
                        "must not contain '..'",
                    ));
                }
                checks::one_of(
                    text(source, "type"),
                    &format!("{path}.type"),
                    &[
                        "",
                        "BlockDevice",
                        "CharDevice",
                        "Directory",
                        "DirectoryOrCreate",
                        "File",
                        "FileOrCreate",
                        "Socket",
                    ],
                    errors,
                );
            }
            "persistentVolumeClaim" if text(source, "claimName").is_empty() => {
                errors.push(FieldError::required(format!("{path}.claimName"), ""));
            }
            _ => {}
        }
    }
}

fn mode(value: Option<&Value>, path: &str, errors: &mut Errors) {
    if let Some(number) = value.and_then(Value::as_int)
        && !(0..=0o777).contains(&number)
    {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(path, number, why));
    }
}

fn items_of(source: &Value, path: &str, errors: &mut Errors) {
    for (i, item) in items(source, "items").iter().enumerate() {
        let path = format!("{path}.items[{i}]");
        let target = text(item, "path");
        if item.get("key").is_some() && text(item, "key").is_empty() {
            errors.push(FieldError::required(format!("{path}.key"), ""));
        }
        if target.is_empty() {
            errors.push(FieldError::required(format!("{path}.path"), ""));
            continue;
        }
        if target.starts_with('/') {
            errors.push(FieldError::invalid(format!("{path}.path"), target, "must be a relative path"));
        }
        if target.split('/').any(|part| part == "..") {
            errors.push(FieldError::invalid(format!("{path}.path"), target, "must not contain '..'"));
        }
        mode(item.get("mode"), &format!("{path}.mode"), errors);
    }
}
