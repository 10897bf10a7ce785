//! From a CRD to the kind it makes.

use std::cmp::Ordering;
use std::sync::Arc;

use pleach_crd::{Crd, CrdSpec, Names, Version};
use pleach_json::Str;
use pleach_jsonpath::{JsonPath, KeyPath};
use pleach_meta::group_version::compare_kube_aware_versions;
use pleach_schema::{JSONSchemaProps, Schema, SchemaOptions};

use crate::gates::Gates;
use crate::kind::{
    Cell, Column, Conversion, Kind, KindVersion, LazySchema, Scope, SelectableField, Strategy,
};
use crate::retire::Retired;
use crate::webhooks::conversion::Converter;

/// The kind of a CRD whose names were accepted, in its present state.
pub fn kind(crd: &Crd) -> Kind {
    let names = &crd.status.accepted_names;
    let meta = crd.meta();
    let storage = crd.spec.versions().iter().position(|v| v.storage).unwrap_or(0);
    let webhook = crd.spec.conversion.as_ref().filter(|conversion| conversion.strategy == "Webhook");
    Kind {
        group: crd.spec.group.clone(),
        storage_group: crd.spec.group.clone(),
        plural: crd.spec.names.plural.clone(),
        singular: names.singular.clone(),
        kind: names.kind.clone(),
        list_kind: names.list_kind.clone(),
        short_names: names.short_names().to_vec(),
        categories: names.categories().to_vec(),
        scope: if crd.spec.is_namespaced() { Scope::Namespaced } else { Scope::Cluster },
        versions: versions(&crd.spec, names),
        storage,
        conversion: webhook
            .map_or(Conversion::None, |webhook| Conversion::Webhook(Converter::of(webhook).into())),
        strategy: Strategy::Custom,
        preserve_unknown_fields: crd.spec.preserves_unknown_fields(),
        crd: Some((meta.name().into(), meta.uid().into())),
        established: crd.is_established(),
        terminating: crd.is_terminating(),
        since: 0,
        gates: Gates::default(),
        retired: Retired::default(),
    }
}

/// The versions of a spec.
pub fn versions(spec: &CrdSpec, names: &Names) -> Arc<[KindVersion]> {
    version_list(spec, names).into()
}

/// The same, for those who want to add to them.
pub(crate) fn version_list(spec: &CrdSpec, names: &Names) -> Vec<KindVersion> {
    spec.versions().iter().map(|version| kind_version(spec, names, version)).collect()
}

fn kind_version(spec: &CrdSpec, names: &Names, version: &Version) -> KindVersion {
    let api_version: Str = if spec.group.is_empty() {
        version.name.clone()
    } else {
        format!("{}/{}", spec.group, version.name).into()
    };
    let subresources = spec.subresources_of(version);
    KindVersion {
        served: version.served,
        deprecation: deprecation(spec, names, version),
        status: subresources.is_some_and(|s| s.status),
        scale: subresources.and_then(|s| s.scale.clone()),
        columns: columns(spec, version),
        selectable_fields: selectable_fields(spec, version),
        schema: lazy_schema(spec, version),
        props: spec.schema_of(version).cloned(),
        name: version.name.clone(),
        api_version,
    }
}

fn lazy_schema(spec: &CrdSpec, version: &Version) -> LazySchema {
    let preserve_unknown_fields = spec.preserves_unknown_fields();
    let options = SchemaOptions { preserve_unknown_fields, ..SchemaOptions::default() };
    let props: Arc<JSONSchemaProps> = spec.schema_of(version).cloned().unwrap_or_default();
    LazySchema::new(move || Schema::compile(&props, options))
}

/// The columns up to the first whose path cannot be parsed, as upstream shows them.
fn columns(spec: &CrdSpec, version: &Version) -> Vec<Column> {
    spec.columns_of(version)
        .iter()
        .map_while(|column| {
            let path = JsonPath::parse(&format!("{{{}}}", column.json_path)).ok()?;
            let description = if column.description.is_empty() {
                format!("Custom resource definition column (in JSONPath format): {}", column.json_path).into()
            } else {
                column.description.clone()
            };
            Some(Column {
                name: column.name.clone(),
                column_type: column.type_.clone(),
                format: column.format.clone(),
                description,
                priority: column.priority,
                cell: Cell::Path(path),
            })
        })
        .collect()
}

fn selectable_fields(spec: &CrdSpec, version: &Version) -> Vec<SelectableField> {
    spec.selectable_fields_of(version)
        .iter()
        .map(|field| {
            let label = field.json_path.strip_prefix('.').unwrap_or(&field.json_path);
            SelectableField { label: label.into(), path: KeyPath::new(&field.json_path) }
        })
        .collect()
}

/// The warning of a deprecated version: its own, or one that names what to use instead.
fn deprecation(spec: &CrdSpec, names: &Names, version: &Version) -> Option<Str> {
    if !version.deprecated {
        return None;
    }
    if let Some(own) = &version.deprecation_warning {
        return Some(own.clone());
    }
    let (group, kind) = (&spec.group, &names.kind);
    let mut text = format!("{group}/{} {kind} is deprecated", version.name);
    let better = spec
        .versions()
        .iter()
        .filter(|other| other.served && !other.deprecated)
        .filter(|other| compare_kube_aware_versions(&other.name, &version.name) == Ordering::Greater)
        .max_by(|a, b| compare_kube_aware_versions(&a.name, &b.name));
    if let Some(better) = better {
        text.push_str(&format!("; use {group}/{} {kind}", better.name));
    }
    Some(text.into())
}
