//! Validation of a version: its deprecation, schema, subresources, columns and selectable fields.

use pleach_go::strconv::is_print;
use pleach_json::Value;
use pleach_meta::{BadValue, FieldError, Path};

use super::ratchets::old_selectable_fields;
use super::{columns, schema, selectable};
use crate::types::{CrdSpec, Version};

const MAX_DEPRECATION_WARNING_LENGTH: usize = 256;

pub(super) fn validate(
    spec: &CrdSpec,
    version: &Version,
    old: Option<&CrdSpec>,
    schemas: &schema::Demands<'_>,
    path: &Path<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    validate_deprecation(version, &path.child("deprecationWarning"), &mut errors);
    let schema = version.schema.as_ref().and_then(|v| v.open_api_v3_schema.as_ref());
    if let Some(schema) = schema {
        let status = spec.subresources_of(version).is_some_and(|s| s.status);
        errors.extend(schemas.validate(schema, &path.child("schema"), status, &version.name));
    }
    if let Some(subresources) = &version.subresources {
        columns::validate_subresources(subresources, &path.child("subresources"), &mut errors);
    }
    let columns_path = path.child("additionalPrinterColumns");
    for (i, column) in version.additional_printer_columns.iter().flatten().enumerate() {
        columns::validate_column(column, &columns_path.index(i), &mut errors);
    }
    let fields = version.selectable_fields.as_deref().unwrap_or_default();
    if !fields.is_empty() {
        let fields_path = path.child("selectableFields");
        match schema {
            None => {
                let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
                errors.push(FieldError::invalid(fields_path, "", detail));
            }
            Some(schema) => {
                let before = old_selectable_fields(old, &version.name);
                let schema_path = path.child("schema");
                let schema_path = schema_path.child("openAPIV3Schema");
                selectable::validate(fields, schema, before, &fields_path, &schema_path, &mut errors);
            }
        }
    }
    errors
}

fn validate_deprecation(version: &Version, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Some(warning) = &version.deprecation_warning else { return };
    // A pointer to a string prints as JSON, not as Go quotes.
    let shown = || BadValue::Raw(pleach_json::to_string(&Value::from(warning.clone())));
    if !version.deprecated {
        errors.push(FieldError::invalid(path, shown(), "can only be set for deprecated versions"));
        return;
    }
    if warning.len() > MAX_DEPRECATION_WARNING_LENGTH {
        errors.push(FieldError::invalid(path, shown(), "must be <= 256 characters long"));
    }
    if warning.is_empty() {
        errors.push(FieldError::invalid(path, shown(), "must not be an empty string"));
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| !is_print(*c)) {
        let detail = format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        );
        errors.push(FieldError::invalid(path, shown(), detail));
    }
}
