//! Validation of the spec as a whole: group, scope, versions together, immutable fields.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::names::{check_dns1035_label, check_dns1123_subdomain};
use pleach_meta::{BadValue, FieldError, Path};

use super::ratchets::{Ratchets, has_defaults};
use super::{columns, conversion, names, schema, selectable, version};
use crate::go_json;
use crate::types::CrdSpec;

const SPEC: Path<'static> = Path::new("spec");

/// The errors of a spec.
pub(super) fn validate(spec: &CrdSpec, old: Option<&CrdSpec>, ratchets: &Ratchets) -> Vec<FieldError> {
    let mut errors = Vec::new();
    validate_group(&spec.group, &mut errors);
    match spec.scope.as_str() {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required(SPEC.child("scope"), "")),
        other => {
            errors.push(FieldError::not_supported(SPEC.child("scope"), other, &["Cluster", "Namespaced"]));
        }
    }
    validate_schema_presence(spec, ratchets, &mut errors);
    if spec.preserve_unknown_fields != Some(false) && has_defaults(spec) && ratchets.allow_defaults {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(SPEC.child("preserveUnknownFields"), true, detail));
    }
    let schemas = schema::Demands::of(spec, old, ratchets);
    let versions = SPEC.child("versions");
    for (i, version) in spec.versions().iter().enumerate() {
        let path = versions.index(i);
        let messages = check_dns1035_label(&version.name);
        if !messages.is_empty() {
            let name = version.name.clone();
            errors.push(FieldError::invalid(path.child("name"), name, messages.join(",")));
        }
        errors.extend(version::validate(spec, version, old, &schemas, &path));
    }
    validate_versions_together(spec, &versions, &mut errors);
    validate_first_version(spec, &mut errors);
    let names_path = SPEC.child("names");
    for (key, name) in [
        ("plural", &spec.names.plural),
        ("singular", &spec.names.singular),
        ("kind", &spec.names.kind),
        ("listKind", &spec.names.list_kind),
    ] {
        if name.is_empty() {
            errors.push(FieldError::required(names_path.child(key), ""));
        }
    }
    errors.extend(names::validate(&spec.names, &names_path));
    validate_shared(spec, old, &schemas, &mut errors);
    conversion::validate(spec, ratchets, &SPEC.child("conversion"), &mut errors);
    errors
}

fn validate_group(group: &str, errors: &mut Vec<FieldError>) {
    let path = SPEC.child("group");
    if group.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let messages = check_dns1123_subdomain(group);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(path, group, messages.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(path, group, "should be a domain with at least one dot"));
    }
}

/// Versions without a schema, where there must be one.
fn validate_schema_presence(spec: &CrdSpec, ratchets: &Ratchets, errors: &mut Vec<FieldError>) {
    if spec.validation.as_ref().is_some_and(|v| v.open_api_v3_schema.is_some()) {
        return;
    }
    let prunes = spec.preserve_unknown_fields != Some(true);
    if !ratchets.require_schema && !prunes {
        return;
    }
    let versions = SPEC.child("versions");
    for (i, version) in spec.versions().iter().enumerate() {
        if version.schema.as_ref().is_some_and(|v| v.open_api_v3_schema.is_some()) {
            continue;
        }
        let detail = match (ratchets.require_schema, version.served) {
            (true, _) => "",
            (false, true) => "because otherwise all fields are pruned",
            (false, false) => continue,
        };
        let path = versions.index(i);
        errors.push(FieldError::required(path.child("schema").child("openAPIV3Schema"), detail));
    }
}

fn validate_versions_together(spec: &CrdSpec, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let versions = spec.versions();
    let own_schema = versions.iter().any(|v| v.schema.is_some());
    let own_subresources = versions.iter().any(|v| v.subresources.is_some());
    let own_columns =
        versions.iter().any(|v| v.additional_printer_columns.as_ref().is_some_and(|c| !c.is_empty()));
    for (shared, own, key, what) in [
        (spec.validation.is_some(), own_schema, "validation", "schemas"),
        (spec.subresources.is_some(), own_subresources, "subresources", "subresources"),
        (
            spec.additional_printer_columns.as_ref().is_some_and(|c| !c.is_empty()),
            own_columns,
            "additionalPrinterColumns",
            "additionalPrinterColumns",
        ),
    ] {
        if shared && own {
            let detail = format!("top-level and per-version {what} are mutually exclusive");
            errors.push(FieldError::forbidden(SPEC.child(key), detail));
        }
    }
    let invalid = |detail: &str| {
        let shown = BadValue::Raw(go_json::versions(spec.versions.as_deref()));
        FieldError::invalid(path, shown, detail)
    };
    if let Some((first, rest)) = versions.split_first() {
        let identical = |what: &str, instead: &str| {
            invalid(&format!(
                "per-version {what} may not all be set to identical values (top-level {instead} should be used \
                 instead)"
            ))
        };
        if first.schema.is_some() && rest.iter().all(|v| v.schema == first.schema) {
            errors.push(identical("schemas", "validation"));
        }
        if first.subresources.is_some() && rest.iter().all(|v| v.subresources == first.subresources) {
            errors.push(identical("subresources", "subresources"));
        }
        let columns = &first.additional_printer_columns;
        if columns.as_ref().is_some_and(|c| !c.is_empty())
            && rest.iter().all(|v| v.additional_printer_columns == *columns)
        {
            errors.push(identical("additionalPrinterColumns", "additionalPrinterColumns"));
        }
    }
    let names: HashSet<&str> = versions.iter().map(|v| v.name.as_str()).collect();
    if names.len() != versions.len() {
        errors.push(invalid("must contain unique version names"));
    }
    if versions.iter().filter(|v| v.storage).count() != 1 {
        errors.push(invalid("must have exactly one version marked as storage version"));
    }
}

fn validate_first_version(spec: &CrdSpec, errors: &mut Vec<FieldError>) {
    if spec.version.is_empty() {
        return;
    }
    let path = SPEC.child("version");
    let messages = check_dns1035_label(&spec.version);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(path, spec.version.clone(), messages.join(",")));
    }
    if spec.versions().first().is_some_and(|first| first.name != spec.version) {
        let detail = "must match the first version in spec.versions";
        errors.push(FieldError::invalid(path, spec.version.clone(), detail));
    }
}

/// The common parts of all versions.
fn validate_shared(
    spec: &CrdSpec,
    old: Option<&CrdSpec>,
    schemas: &schema::Demands<'_>,
    errors: &mut Vec<FieldError>,
) {
    let shared = spec.validation.as_ref().and_then(|v| v.open_api_v3_schema.as_ref());
    if let Some(schema) = shared {
        let first = spec.versions().first().map(|v| v.name.as_str()).unwrap_or_default();
        let status = spec.has_status_subresource();
        errors.extend(schemas.validate(schema, &SPEC.child("validation"), status, first));
    }
    if let Some(subresources) = &spec.subresources {
        columns::validate_subresources(subresources, &SPEC.child("subresources"), errors);
    }
    let path = SPEC.child("additionalPrinterColumns");
    for (i, column) in spec.additional_printer_columns.iter().flatten().enumerate() {
        columns::validate_column(column, &path.index(i), errors);
    }
    let fields = spec.selectable_fields.as_deref().unwrap_or_default();
    if !fields.is_empty() {
        let path = SPEC.child("selectableFields");
        match shared {
            None => {
                let detail = "may only be set when validations.schema is included";
                errors.push(FieldError::invalid(path, "", detail));
            }
            Some(schema) => {
                let before =
                    spec.versions().first().map(|v| super::ratchets::old_selectable_fields(old, &v.name));
                let schema_path = SPEC.child("validation");
                selectable::validate(
                    fields,
                    schema,
                    before.unwrap_or_default(),
                    &path,
                    &schema_path.child("openAPIV3Schema"),
                    errors,
                );
            }
        }
    }
}

/// Fields that are immutable, always or once the CRD was established.
pub(super) fn validate_immutable(new: &CrdSpec, old: &CrdSpec, ratchets: &Ratchets) -> Vec<FieldError> {
    let established = ratchets.require_immutable_names;
    [
        (established, "spec.scope", &new.scope, &old.scope),
        (established, "spec.names.kind", &new.names.kind, &old.names.kind),
        (true, "spec.group", &new.group, &old.group),
        (true, "spec.names.plural", &new.names.plural, &old.names.plural),
    ]
    .into_iter()
    .filter(|(applies, _, new, old)| *applies && new != old)
    .map(|(_, path, new, _)| FieldError::invalid(path, new.clone(), "field is immutable"))
    .collect()
}

/// `v1` keeps unknown fields only under `x-kubernetes-preserve-unknown-fields`.
pub(super) fn validate_preserve_unknown_fields(new: &CrdSpec, old: Option<&CrdSpec>) -> Option<FieldError> {
    if !new.preserves_unknown_fields() || old.is_some_and(CrdSpec::preserves_unknown_fields) {
        return None;
    }
    let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                  spec.versions[*].schema instead";
    Some(FieldError::invalid("spec.preserveUnknownFields", Value::Bool(true), detail))
}
