//! The CustomResourceDefinition in memory: one form for `v1` and `v1beta1`.
//!
//! It is the internal form of the API server, which field errors speak of: what all versions share
//! (schema, subresources, columns, selectable fields) stands at the top of the spec and not in the
//! versions; see `convert.rs`. Absent and empty lists are different where messages show it.

use std::sync::Arc;

use pleach_json::{Str, Value};
use pleach_meta::ObjectMeta;
use pleach_meta::group_version::compare_kube_aware_versions;
use pleach_schema::JSONSchemaProps;
use pleach_types::TypeDef;

/// The API group of CRDs.
pub const GROUP: &str = "apiextensions.k8s.io";
/// Their kind.
pub const KIND: &str = "CustomResourceDefinition";
/// Their resource.
pub const RESOURCE: &str = "customresourcedefinitions";
/// The finalizer of a CRD until its instances are deleted.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The versions in which a CRD is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApiVersion {
    /// `apiextensions.k8s.io/v1`
    V1,
    /// `apiextensions.k8s.io/v1beta1`
    V1beta1,
}

impl ApiVersion {
    /// `v1` or `v1beta1`, which is also the Go package in messages.
    pub fn version(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }

    /// The type of that name in this version's package.
    pub(crate) fn type_def(self, name: &str) -> &'static TypeDef {
        let package = self.version();
        pleach_types::get(&format!("apiextensions/{package}.{name}")).expect("a type of the table")
    }

    /// The `apiVersion` of an object.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "apiextensions.k8s.io/v1",
            Self::V1beta1 => "apiextensions.k8s.io/v1beta1",
        }
    }

    /// The version an `apiVersion` names.
    pub fn from_api_version(text: &str) -> Option<Self> {
        [Self::V1, Self::V1beta1].into_iter().find(|v| v.api_version() == text)
    }
}

/// A CustomResourceDefinition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crd {
    /// `metadata`, decoded; an object.
    pub metadata: Value,
    /// `spec`
    pub spec: CrdSpec,
    /// `status`
    pub status: CrdStatus,
}

/// `spec`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrdSpec {
    /// The API group of the instances.
    pub group: Str,
    /// The first version, as `v1beta1` has it.
    pub version: Str,
    /// The names wanted.
    pub names: Names,
    /// `Namespaced` or `Cluster`
    pub scope: Str,
    /// The schema all versions share.
    pub validation: Option<Validation>,
    /// The subresources all versions share.
    pub subresources: Option<Subresources>,
    /// The versions, in the order given.
    pub versions: Option<Vec<Version>>,
    /// The columns all versions share.
    pub additional_printer_columns: Option<Vec<Column>>,
    /// The selectable fields all versions share.
    pub selectable_fields: Option<Vec<SelectableField>>,
    /// How objects get from one version to another.
    pub conversion: Option<Conversion>,
    /// Whether fields that no schema names are kept.
    pub preserve_unknown_fields: Option<bool>,
}

/// The names of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// `deployments`
    pub plural: Str,
    /// `deployment`
    pub singular: Str,
    /// `deploy`
    pub short_names: Option<Vec<Str>>,
    /// `Deployment`
    pub kind: Str,
    /// `DeploymentList`
    pub list_kind: Str,
    /// `all`
    pub categories: Option<Vec<Str>>,
}

impl Names {
    /// The short names.
    pub fn short_names(&self) -> &[Str] {
        self.short_names.as_deref().unwrap_or_default()
    }

    /// The categories.
    pub fn categories(&self) -> &[Str] {
        self.categories.as_deref().unwrap_or_default()
    }

    /// Whether the names are the same; no short names and none are.
    pub fn same_as(&self, other: &Self) -> bool {
        self.plural == other.plural
            && self.singular == other.singular
            && self.kind == other.kind
            && self.list_kind == other.list_kind
            && self.short_names() == other.short_names()
            && self.categories() == other.categories()
    }
}

/// A version of the resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Version {
    /// `v1`
    pub name: Str,
    /// Whether it is served.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Whether using it brings a warning.
    pub deprecated: bool,
    /// The warning, in place of the usual one.
    pub deprecation_warning: Option<Str>,
    /// Its own schema.
    pub schema: Option<Validation>,
    /// Its own subresources.
    pub subresources: Option<Subresources>,
    /// Its own columns.
    pub additional_printer_columns: Option<Vec<Column>>,
    /// Its own selectable fields.
    pub selectable_fields: Option<Vec<SelectableField>>,
}

/// A struct with a schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// The schema, shared.
    pub open_api_v3_schema: Option<Arc<JSONSchemaProps>>,
}

/// The subresources of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subresources {
    /// Whether there is `/status`.
    pub status: bool,
    /// How `/scale` works, if there is one.
    pub scale: Option<Scale>,
}

/// The paths of the fields of `/scale`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// `.spec.replicas`
    pub spec_replicas_path: Str,
    /// `.status.replicas`
    pub status_replicas_path: Str,
    /// `.status.selector`
    pub label_selector_path: Option<Str>,
}

/// A column of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Str,
    /// `string`, `integer`, `number`, `boolean` or `date`
    pub type_: Str,
    /// An OpenAPI format.
    pub format: Str,
    /// The JSONPath of the cell.
    pub description: Str,
    /// Above 0 it is shown only in wide tables.
    pub priority: i32,
    /// Where the value is.
    pub json_path: Str,
}

/// A field that lists can be filtered by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectableField {
    /// `.spec.color`
    pub json_path: Str,
}

/// How objects get from one version to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// `None` or `Webhook`
    pub strategy: Str,
    /// Where the webhook is.
    pub webhook_client_config: Option<WebhookClientConfig>,
    /// The `ConversionReview` versions it understands.
    pub conversion_review_versions: Option<Vec<Str>>,
}

/// Where a webhook is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookClientConfig {
    /// By URL.
    pub url: Option<Str>,
    /// By service.
    pub service: Option<ServiceReference>,
    /// The certificates to trust, PEM in base64.
    pub ca_bundle: Option<Str>,
}

/// A service in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceReference {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// The path in a URL.
    pub path: Option<Str>,
    /// The port.
    pub port: Option<i32>,
}

/// `status`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrdStatus {
    /// The status.
    pub conditions: Option<Vec<Condition>>,
    /// The names it is served under.
    pub accepted_names: Names,
    /// The versions in which objects may be stored.
    pub stored_versions: Option<Vec<Str>>,
    /// The generation that the conditions are about; 0 is unknown.
    pub observed_generation: i64,
}

/// One thing known about a CRD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// `Established`, `NamesAccepted`, …
    pub type_: Str,
    /// `True`, `False` or `Unknown`
    pub status: Str,
    /// The time of the last change of the status, as RFC 3339 text.
    pub last_transition_time: Option<Str>,
    /// Why, in a word.
    pub reason: Str,
    /// Why, in a sentence.
    pub message: Str,
    /// The generation it is about; 0 is unknown.
    pub observed_generation: i64,
}

impl Validation {
    /// A validation with a schema.
    pub fn of(schema: JSONSchemaProps) -> Self {
        Self { open_api_v3_schema: Some(Arc::new(schema)) }
    }
}

/// Takes `optionalOldSelf` away from the rules of a schema.
fn without_optional_old_self(schema: &mut Value) {
    pleach_json::grow_stack(|| match schema {
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                if name == "x-kubernetes-validations" {
                    for rule in value.as_array_mut().into_iter().flat_map(|rules| rules.iter_mut()) {
                        rule.as_object_mut().map(|rule| rule.remove("optionalOldSelf"));
                    }
                } else {
                    without_optional_old_self(value);
                }
            }
        }
        Value::Array(_) => {
            let items = schema.as_array_mut().into_iter().flat_map(|items| items.iter_mut());
            items.for_each(without_optional_old_self);
        }
        _ => {}
    });
}

impl CrdSpec {
    /// The versions, in the order given.
    pub fn versions(&self) -> &[Version] {
        self.versions.as_deref().unwrap_or_default()
    }

    /// The version of that name.
    pub fn version_named(&self, name: &str) -> Option<&Version> {
        self.versions().iter().find(|v| v.name == name)
    }

    /// The first version that objects are stored in.
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions().iter().find(|v| v.storage)
    }

    /// The versions that are served, the preferred one first.
    pub fn served_versions(&self) -> Vec<&Version> {
        let mut served: Vec<&Version> = self.versions().iter().filter(|v| v.served).collect();
        served.sort_by(|a, b| compare_kube_aware_versions(&b.name, &a.name));
        served
    }

    /// The schema in force for a version: its own or the shared one.
    pub fn schema_of<'a>(&'a self, version: &'a Version) -> Option<&'a Arc<JSONSchemaProps>> {
        let holder = version.schema.as_ref().or(self.validation.as_ref())?;
        holder.open_api_v3_schema.as_ref()
    }

    /// The subresources in force for a version.
    pub fn subresources_of<'a>(&'a self, version: &'a Version) -> Option<&'a Subresources> {
        version.subresources.as_ref().or(self.subresources.as_ref())
    }

    /// The columns in force for a version.
    pub fn columns_of<'a>(&'a self, version: &'a Version) -> &'a [Column] {
        let own = version.additional_printer_columns.as_deref().filter(|c| !c.is_empty());
        own.or(self.additional_printer_columns.as_deref()).unwrap_or_default()
    }

    /// The selectable fields in force for a version.
    pub fn selectable_fields_of<'a>(&'a self, version: &'a Version) -> &'a [SelectableField] {
        let own = version.selectable_fields.as_deref().filter(|f| !f.is_empty());
        own.or(self.selectable_fields.as_deref()).unwrap_or_default()
    }

    /// Every schema there is, the shared one first.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<JSONSchemaProps>> {
        let own = self.versions().iter().map(|v| v.schema.as_ref());
        std::iter::once(self.validation.as_ref()).chain(own).filter_map(|v| v?.open_api_v3_schema.as_ref())
    }

    /// Whether any version can be selected by fields of its own.
    pub fn has_selectable_fields(&self) -> bool {
        let own = self.versions.iter().flatten().map(|version| version.selectable_fields.as_deref());
        own.chain([self.selectable_fields.as_deref()]).flatten().any(|fields| !fields.is_empty())
    }

    /// Takes the selectable fields away.
    pub fn drop_selectable_fields(&mut self) {
        self.selectable_fields = None;
        self.versions.iter_mut().flatten().for_each(|version| version.selectable_fields = None);
    }

    /// Whether any rule has `optionalOldSelf`.
    pub fn has_optional_old_self(&self) -> bool {
        let has =
            |node: &JSONSchemaProps| node.validations().iter().any(|rule| rule.optional_old_self.is_some());
        self.schemas().any(|schema| schema.any_node(&mut |node| has(node)))
    }

    /// Takes `optionalOldSelf` away from all rules.
    pub fn drop_optional_old_self(&mut self) {
        if !self.has_optional_old_self() {
            return;
        }
        let own = self.versions.iter_mut().flatten().map(|version| version.schema.as_mut());
        for validation in own.chain([self.validation.as_mut()]).flatten() {
            if let Some(schema) = &mut validation.open_api_v3_schema {
                let mut value = schema.to_value();
                without_optional_old_self(&mut value);
                if let Ok(changed) = JSONSchemaProps::from_value(&value) {
                    *schema = Arc::new(changed);
                }
            }
        }
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == "Namespaced"
    }

    /// Whether fields that no schema names are kept everywhere.
    pub fn preserves_unknown_fields(&self) -> bool {
        self.preserve_unknown_fields == Some(true)
    }

    /// Whether any version has a status subresource.
    pub fn has_status_subresource(&self) -> bool {
        let shared = self.subresources.as_ref();
        shared
            .into_iter()
            .chain(self.versions().iter().filter_map(|v| v.subresources.as_ref()))
            .any(|s| s.status)
    }
}

impl Crd {
    /// A view on the metadata.
    pub fn meta(&self) -> ObjectMeta<'_> {
        ObjectMeta::new(&self.metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_version_comes_first() {
        let version = |name: &str, served| Version { name: name.into(), served, ..Version::default() };
        let versions =
            vec![version("v1beta1", true), version("foo", true), version("v2", false), version("v1", true)];
        let spec = CrdSpec { versions: Some(versions), ..CrdSpec::default() };
        let names: Vec<&str> = spec.served_versions().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["v1", "v1beta1", "foo"]);
    }
}
