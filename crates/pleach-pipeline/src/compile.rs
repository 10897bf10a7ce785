//! Compiles a CRD into a kind.

use std::sync::Arc;

use pleach_crd::{Crd, CrdSpec, Names, Version, deprecation_warning};
use pleach_json::Str;
use pleach_jsonpath::{JsonPath, KeyPath};
use pleach_schema::{JSONSchemaProps, Schema, SchemaOptions};

use crate::gates::Gates;
use crate::kind::{Cell, Column, Kind, KindVersion, LazySchema, Scope, SelectableField};
use crate::strategy::CustomResource;

/// The kind of a CRD whose names were accepted, in its present state.
pub fn kind(crd: &Crd) -> Kind {
    kind_gated(crd, Gates::default())
}

/// The same with other feature gates.
pub fn kind_gated(crd: &Crd, gates: Gates) -> Kind {
    of_names(crd, &crd.status.accepted_names, gates)
}

/// The kind of a CRD as if these names were accepted.
pub fn kind_named(crd: &Crd, names: &Names) -> Kind {
    of_names(crd, names, Gates::default())
}

fn of_names(crd: &Crd, names: &Names, gates: Gates) -> Kind {
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
        versions: version_list(&crd.spec, names, gates).into(),
        storage,
        conversion_webhook: webhook.cloned().map(Arc::new),
        strategy: &CustomResource,
        preserve_unknown_fields: crd.spec.preserves_unknown_fields(),
        crd: Some((meta.name().into(), meta.uid().into())),
        established: crd.is_established(),
        terminating: crd.is_terminating(),
        gates,
    }
}

/// A kind with one version only, and with another schema for it. It has no columns and no field selectors.
pub fn with_schema(kind: &Kind, version: usize, props: JSONSchemaProps) -> Kind {
    let (version, props) = (&kind.versions[version], Arc::new(props));
    let options =
        SchemaOptions { preserve_unknown_fields: kind.preserve_unknown_fields, ..SchemaOptions::default() };
    let of_schema = props.clone();
    let version = KindVersion {
        name: version.name.clone(),
        api_version: version.api_version.clone(),
        served: version.served,
        deprecation: version.deprecation.clone(),
        status: version.status,
        scale: version.scale.clone(),
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        schema: LazySchema::new(move || Schema::compile(&of_schema, options)),
        props: Some(props),
        type_name: "",
    };
    Kind { versions: Arc::new([version]), storage: 0, ..kind.clone() }
}

/// The versions of a spec.
pub(crate) fn version_list(spec: &CrdSpec, names: &Names, gates: Gates) -> Vec<KindVersion> {
    spec.versions().iter().map(|version| kind_version(spec, names, version, gates)).collect()
}

fn kind_version(spec: &CrdSpec, names: &Names, version: &Version, gates: Gates) -> KindVersion {
    let api_version: Str = if spec.group.is_empty() {
        version.name.clone()
    } else {
        format!("{}/{}", spec.group, version.name).into()
    };
    let subresources = spec.subresources_of(version);
    KindVersion {
        served: version.served,
        deprecation: deprecation_warning(spec, &names.kind, version),
        status: subresources.is_some_and(|s| s.status),
        scale: subresources.and_then(|s| s.scale.clone()),
        columns: columns(spec, version),
        selectable_fields: if gates.field_selectors { selectable_fields(spec, version) } else { Vec::new() },
        schema: lazy_schema(spec, version, gates),
        props: spec.schema_of(version).cloned(),
        type_name: "",
        name: version.name.clone(),
        api_version,
    }
}

fn lazy_schema(spec: &CrdSpec, version: &Version, gates: Gates) -> LazySchema {
    let preserve_unknown_fields = spec.preserves_unknown_fields();
    let ratcheting = gates.ratcheting;
    let options = SchemaOptions { preserve_unknown_fields, ratcheting, ..SchemaOptions::default() };
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
            SelectableField { label: label.into(), path: KeyPath::new(&field.json_path), absent: "" }
        })
        .collect()
}
