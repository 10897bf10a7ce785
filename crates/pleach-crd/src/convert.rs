//! Defaulting of CRDs, and conversion between the versions and the internal form.
//!
//! The internal form keeps at the top of the spec what all versions have alike, so a CRD of one
//! version has its schema there, and errors about it say `spec.validation`. Each of the four things
//! is moved on its own.

use pleach_json::Str;

use crate::types::{ApiVersion, Conversion, Crd, CrdSpec, Validation, Version};

/// Fills in what a document of `version` left out.
pub(crate) fn set_defaults(crd: &mut Crd, version: ApiVersion) {
    let spec = &mut crd.spec;
    if version == ApiVersion::V1beta1 {
        if spec.scope.is_empty() {
            spec.scope = Str::new_static("Namespaced");
        }
        spec.preserve_unknown_fields.get_or_insert(true);
    } else {
        spec.preserve_unknown_fields.get_or_insert(false);
    }
    let names = &mut spec.names;
    if names.singular.is_empty() {
        names.singular = names.kind.to_lowercase().into();
    }
    if names.list_kind.is_empty() && !names.kind.is_empty() {
        names.list_kind = format!("{}List", names.kind).into();
    }
    if version == ApiVersion::V1beta1 {
        if spec.versions().is_empty() && !spec.version.is_empty() {
            spec.versions = Some(vec![Version {
                name: spec.version.clone(),
                served: true,
                storage: true,
                ..Version::default()
            }]);
        }
        if spec.version.is_empty()
            && let Some(first) = spec.versions().first()
        {
            spec.version = first.name.clone();
        }
    }
    let none = || Conversion { strategy: Str::new_static("None"), ..Conversion::default() };
    let conversion = spec.conversion.get_or_insert_with(none);
    let webhook = conversion.strategy == "Webhook";
    if version == ApiVersion::V1beta1
        && webhook
        && conversion.conversion_review_versions.as_ref().is_none_or(Vec::is_empty)
    {
        conversion.conversion_review_versions = Some(vec![Str::new_static("v1beta1")]);
    }
    if let Some(service) = conversion.webhook_client_config.as_mut().and_then(|c| c.service.as_mut()) {
        service.port.get_or_insert(443);
    }
    if crd.status.stored_versions.as_ref().is_none_or(Vec::is_empty)
        && let Some(storage) = spec.storage_version()
    {
        crd.status.stored_versions = Some(vec![storage.name.clone()]);
    }
}

/// Brings a spec that was read from a document of `version` into the internal form.
pub(crate) fn to_internal(spec: &mut CrdSpec, version: ApiVersion) {
    if version == ApiVersion::V1 {
        hoist(spec);
    }
}

/// Moves to the top what all versions have alike.
fn hoist(spec: &mut CrdSpec) {
    let Some(versions) = spec.versions.as_mut().filter(|v| !v.is_empty()) else { return };
    spec.version = versions[0].name.clone();
    let (first, rest) = versions.split_first_mut().expect("it is not empty");
    if rest.iter().all(|v| same_schema(v.schema.as_ref(), first.schema.as_ref())) {
        spec.validation = first.schema.take();
        for v in rest.iter_mut() {
            v.schema = None;
        }
    }
    if rest.iter().all(|v| v.subresources == first.subresources) {
        spec.subresources = first.subresources.take();
        for v in rest.iter_mut() {
            v.subresources = None;
        }
    }
    if rest.iter().all(|v| {
        same_list(v.additional_printer_columns.as_deref(), first.additional_printer_columns.as_deref())
    }) {
        spec.additional_printer_columns = first.additional_printer_columns.take();
        for v in rest.iter_mut() {
            v.additional_printer_columns = None;
        }
    }
    if rest.iter().all(|v| same_list(v.selectable_fields.as_deref(), first.selectable_fields.as_deref())) {
        spec.selectable_fields = first.selectable_fields.take();
        for v in rest.iter_mut() {
            v.selectable_fields = None;
        }
    }
}

/// Whether two schemas are alike; an empty list in one and none in the other make no difference.
fn same_schema(a: Option<&Validation>, b: Option<&Validation>) -> bool {
    if a == b {
        return true;
    }
    match (a, b) {
        (Some(a), Some(b)) => match (&a.open_api_v3_schema, &b.open_api_v3_schema) {
            (Some(a), Some(b)) => a.to_value() == b.to_value(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether two lists are alike; none and an empty one are.
fn same_list<T: PartialEq>(a: Option<&[T]>, b: Option<&[T]>) -> bool {
    a.unwrap_or_default() == b.unwrap_or_default()
}

/// The versions as `v1` has them: each with all that applies to it.
pub(crate) fn v1_versions(spec: &CrdSpec) -> Option<Vec<Version>> {
    if spec.versions().is_empty() && !spec.version.is_empty() {
        let only = Version { name: spec.version.clone(), served: true, storage: true, ..Version::default() };
        return Some(vec![lowered(only, spec)]);
    }
    spec.versions.as_ref().map(|versions| versions.iter().map(|v| lowered(v.clone(), spec)).collect())
}

fn lowered(mut version: Version, spec: &CrdSpec) -> Version {
    if spec.validation.is_some() {
        version.schema.clone_from(&spec.validation);
    }
    if spec.subresources.is_some() {
        version.subresources.clone_from(&spec.subresources);
    }
    if spec.additional_printer_columns.is_some() {
        version.additional_printer_columns.clone_from(&spec.additional_printer_columns);
    }
    if spec.selectable_fields.is_some() {
        version.selectable_fields.clone_from(&spec.selectable_fields);
    }
    version
}
