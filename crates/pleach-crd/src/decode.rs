//! Decoding a CRD from a request or from storage, as the API server's decoder does.
//!
//! The errors are Go's; unknown fields are dropped and their paths returned. Defaults of the version
//! are applied and the result is in the internal form. The schema reads itself (`pleach-schema`).

use std::cell::Cell;
use std::sync::Arc;

use pleach_go::json::{Decoder, GoType};
use pleach_json::{Str, Value};
use pleach_meta::object_meta::OBJECT_META;
use pleach_schema::JSONSchemaProps;

use crate::convert;
use crate::types::{
    ApiVersion, Column, Condition, Conversion, Crd, CrdSpec, CrdStatus, Names, Scale, SelectableField,
    ServiceReference, Subresources, Validation, Version, WebhookClientConfig,
};

/// The error of decoding, as Go's decoder prints it.
pub type DecodeError = String;

/// A CRD and what its document had besides.
#[derive(Debug)]
pub struct Decoded {
    /// The CRD, with defaults, in the internal form.
    pub crd: Crd,
    /// The paths of fields that a CRD does not have, at most a hundred, sorted. They are reported
    /// to clients in the order of the document: `pleach_go::json::in_document_order`.
    pub unknown: Vec<String>,
}

/// How to read a document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether `x-kubernetes-unions` is a field.
    pub unions: bool,
}

thread_local! {
    static DECODED: Cell<u64> = const { Cell::new(0) };
}

/// How many CRDs this thread has decoded, for tests that count them.
#[doc(hidden)]
pub fn decoded_on_this_thread() -> u64 {
    DECODED.get()
}

/// Reads a CRD of the given version. `apiVersion` and `kind` are the caller's to check.
pub fn decode(document: &Value, version: ApiVersion, options: Options) -> Result<Decoded, DecodeError> {
    DECODED.set(DECODED.get() + 1);
    let mut decoder = Decoder::new(version.version()).with_extensions(options.unions);
    let mut crd = Crd { metadata: Value::object(), ..Crd::default() };
    decoder.structure(
        "CustomResourceDefinition",
        document,
        &["apiVersion", "kind", "metadata", "spec", "status"],
        |d, key, v| match key {
            "metadata" => metadata(d, v, &mut crd.metadata),
            "spec" => crd.spec = Reader { d, version }.spec(v),
            "status" => crd.status = Reader { d, version }.status(v),
            _ => drop(d.string(v)),
        },
    );
    let (error, unknown) = decoder.finish();
    if let Some(error) = error {
        return Err(error);
    }
    convert::set_defaults(&mut crd, version);
    convert::to_internal(&mut crd.spec, version);
    Ok(Decoded { crd, unknown })
}

/// Metadata is decoded in place.
fn metadata(d: &mut Decoder, value: &Value, out: &mut Value) {
    if !value.is_null() {
        *out = value.clone();
        d.value(out, &GoType::Struct(&OBJECT_META));
    }
}

/// A decoder that knows which version it reads.
struct Reader<'a> {
    d: &'a mut Decoder,
    version: ApiVersion,
}

fn set(field: &mut Str, text: Option<Str>) {
    if let Some(text) = text {
        *field = text;
    }
}

/// Reads a struct behind a pointer: null is none.
fn pointer<T>(value: &Value, read: impl FnOnce(&Value) -> T) -> Option<T> {
    (!value.is_null()).then(|| read(value))
}

impl Reader<'_> {
    fn is_v1(&self) -> bool {
        self.version == ApiVersion::V1
    }

    /// A string of a named type.
    fn named(&mut self, value: &Value, go_type: &str) -> Option<Str> {
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => {
                let want = self.d.go_type(go_type);
                self.d.mismatch(other, &want);
                None
            }
        }
    }

    fn list<T>(
        &mut self,
        value: &Value,
        go_type: &str,
        mut read: impl FnMut(&mut Reader<'_>, &Value) -> T,
    ) -> Option<Vec<T>> {
        let want = format!("[]{}", self.d.go_type(go_type));
        let version = self.version;
        self.d.list(value, &want, |d, item| read(&mut Reader { d, version }, item))
    }

    /// Reads a struct: `field` gets a reader, the key and the value of each member.
    fn structure(
        &mut self,
        name: &'static str,
        value: &Value,
        known: &[&'static str],
        mut field: impl FnMut(&mut Reader<'_>, &'static str, &Value),
    ) {
        let version = self.version;
        self.d.structure(name, value, known, |d, key, v| field(&mut Reader { d, version }, key, v));
    }

    fn spec(&mut self, value: &Value) -> CrdSpec {
        const V1: &[&str] = &["group", "names", "scope", "versions", "conversion", "preserveUnknownFields"];
        const V1BETA1: &[&str] = &[
            "group",
            "version",
            "names",
            "scope",
            "validation",
            "subresources",
            "versions",
            "additionalPrinterColumns",
            "selectableFields",
            "conversion",
            "preserveUnknownFields",
        ];
        let mut out = CrdSpec::default();
        let known = if self.is_v1() { V1 } else { V1BETA1 };
        self.structure("CustomResourceDefinitionSpec", value, known, |r, key, v| match key {
            "group" => set(&mut out.group, r.d.string(v)),
            "version" => set(&mut out.version, r.d.string(v)),
            "names" => out.names = r.names(v),
            "scope" => set(&mut out.scope, r.named(v, "ResourceScope")),
            "validation" => out.validation = pointer(v, |v| r.validation(v)),
            "subresources" => out.subresources = pointer(v, |v| r.subresources(v)),
            "versions" => out.versions = r.list(v, "CustomResourceDefinitionVersion", read_version),
            "additionalPrinterColumns" => out.additional_printer_columns = r.columns(v),
            "selectableFields" => out.selectable_fields = r.selectable_fields(v),
            "conversion" => out.conversion = pointer(v, |v| r.conversion(v)),
            "preserveUnknownFields" => out.preserve_unknown_fields = r.d.boolean(v),
            _ => unreachable!("only known keys are handed out"),
        });
        out
    }

    fn names(&mut self, value: &Value) -> Names {
        let mut out = Names::default();
        let known = &["plural", "singular", "shortNames", "kind", "listKind", "categories"];
        self.structure("CustomResourceDefinitionNames", value, known, |r, key, v| match key {
            "plural" => set(&mut out.plural, r.d.string(v)),
            "singular" => set(&mut out.singular, r.d.string(v)),
            "shortNames" => out.short_names = r.d.strings(v),
            "kind" => set(&mut out.kind, r.d.string(v)),
            "listKind" => set(&mut out.list_kind, r.d.string(v)),
            _ => out.categories = r.d.strings(v),
        });
        out
    }

    fn validation(&mut self, value: &Value) -> Validation {
        let mut out = Validation::default();
        self.structure("CustomResourceValidation", value, &["openAPIV3Schema"], |r, _, v| {
            out.open_api_v3_schema = pointer(v, |v| Arc::new(JSONSchemaProps::decode(r.d, v)));
        });
        out
    }

    fn subresources(&mut self, value: &Value) -> Subresources {
        let mut out = Subresources::default();
        self.structure("CustomResourceSubresources", value, &["status", "scale"], |r, key, v| match key {
            "status" => {
                out.status = !v.is_null();
                r.structure("CustomResourceSubresourceStatus", v, &[], |_, _, _| {});
            }
            _ => out.scale = pointer(v, |v| r.scale(v)),
        });
        out
    }

    fn scale(&mut self, value: &Value) -> Scale {
        let mut out = Scale::default();
        let known = &["specReplicasPath", "statusReplicasPath", "labelSelectorPath"];
        self.structure("CustomResourceSubresourceScale", value, known, |r, key, v| match key {
            "specReplicasPath" => set(&mut out.spec_replicas_path, r.d.string(v)),
            "statusReplicasPath" => set(&mut out.status_replicas_path, r.d.string(v)),
            _ => out.label_selector_path = r.d.string(v),
        });
        out
    }

    fn columns(&mut self, value: &Value) -> Option<Vec<Column>> {
        self.list(value, "CustomResourceColumnDefinition", |r, item| {
            let mut out = Column::default();
            let path = if r.is_v1() { "jsonPath" } else { "JSONPath" };
            let known = &["name", "type", "format", "description", "priority", path];
            r.structure("CustomResourceColumnDefinition", item, known, |r, key, v| match key {
                "name" => set(&mut out.name, r.d.string(v)),
                "type" => set(&mut out.type_, r.d.string(v)),
                "format" => set(&mut out.format, r.d.string(v)),
                "description" => set(&mut out.description, r.d.string(v)),
                "priority" => out.priority = r.d.int32(v).unwrap_or_default(),
                _ => set(&mut out.json_path, r.d.string(v)),
            });
            out
        })
    }

    fn selectable_fields(&mut self, value: &Value) -> Option<Vec<SelectableField>> {
        self.list(value, "SelectableField", |r, item| {
            let mut out = SelectableField::default();
            r.structure("SelectableField", item, &["jsonPath"], |r, _, v| {
                set(&mut out.json_path, r.d.string(v));
            });
            out
        })
    }

    fn conversion(&mut self, value: &Value) -> Conversion {
        const V1: &[&str] = &["strategy", "webhook"];
        const V1BETA1: &[&str] = &["strategy", "webhookClientConfig", "conversionReviewVersions"];
        let mut out = Conversion::default();
        let known = if self.is_v1() { V1 } else { V1BETA1 };
        self.structure("CustomResourceConversion", value, known, |r, key, v| match key {
            "strategy" => set(&mut out.strategy, r.named(v, "ConversionStrategyType")),
            "webhook" => {
                let known = &["clientConfig", "conversionReviewVersions"];
                r.structure("WebhookConversion", v, known, |r, key, v| match key {
                    "clientConfig" => out.webhook_client_config = pointer(v, |v| r.client_config(v)),
                    _ => out.conversion_review_versions = r.d.strings(v),
                });
            }
            "webhookClientConfig" => out.webhook_client_config = pointer(v, |v| r.client_config(v)),
            _ => out.conversion_review_versions = r.d.strings(v),
        });
        out
    }

    fn client_config(&mut self, value: &Value) -> WebhookClientConfig {
        let mut out = WebhookClientConfig::default();
        self.structure(
            "WebhookClientConfig",
            value,
            &["url", "service", "caBundle"],
            |r, key, v| match key {
                "url" => out.url = r.d.string(v),
                "service" => out.service = pointer(v, |v| r.service(v)),
                _ => out.ca_bundle = r.normalized(v, &GoType::Bytes),
            },
        );
        out
    }

    /// A value of a type that normalizes its text: bytes, a time. Empty ones are none.
    fn normalized(&mut self, value: &Value, ty: &GoType) -> Option<Str> {
        let mut value = value.clone();
        self.d.value(&mut value, ty);
        value.as_str().filter(|text| !text.is_empty()).map(Str::from)
    }

    fn service(&mut self, value: &Value) -> ServiceReference {
        let mut out = ServiceReference::default();
        let known = &["namespace", "name", "path", "port"];
        self.structure("ServiceReference", value, known, |r, key, v| match key {
            "namespace" => set(&mut out.namespace, r.d.string(v)),
            "name" => set(&mut out.name, r.d.string(v)),
            "path" => out.path = r.d.string(v),
            _ => out.port = r.d.int32(v),
        });
        out
    }

    fn status(&mut self, value: &Value) -> CrdStatus {
        let mut out = CrdStatus::default();
        let known = &["conditions", "acceptedNames", "storedVersions", "observedGeneration"];
        self.structure("CustomResourceDefinitionStatus", value, known, |r, key, v| match key {
            "conditions" => {
                out.conditions = r.list(v, "CustomResourceDefinitionCondition", read_condition);
            }
            "acceptedNames" => out.accepted_names = r.names(v),
            "storedVersions" => out.stored_versions = r.d.strings(v),
            _ => out.observed_generation = r.d.int64(v).unwrap_or_default(),
        });
        out
    }
}

fn read_version(reader: &mut Reader<'_>, value: &Value) -> Version {
    const KNOWN: &[&str] = &[
        "name",
        "served",
        "storage",
        "deprecated",
        "deprecationWarning",
        "schema",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
    ];
    let mut out = Version::default();
    reader.structure("CustomResourceDefinitionVersion", value, KNOWN, |r, key, v| match key {
        "name" => set(&mut out.name, r.d.string(v)),
        "served" => out.served = r.d.boolean(v).unwrap_or_default(),
        "storage" => out.storage = r.d.boolean(v).unwrap_or_default(),
        "deprecated" => out.deprecated = r.d.boolean(v).unwrap_or_default(),
        "deprecationWarning" => out.deprecation_warning = r.d.string(v),
        "schema" => out.schema = pointer(v, |v| r.validation(v)),
        "subresources" => out.subresources = pointer(v, |v| r.subresources(v)),
        "additionalPrinterColumns" => out.additional_printer_columns = r.columns(v),
        _ => out.selectable_fields = r.selectable_fields(v),
    });
    out
}

fn read_condition(reader: &mut Reader<'_>, value: &Value) -> Condition {
    const KNOWN: &[&str] =
        &["type", "status", "lastTransitionTime", "reason", "message", "observedGeneration"];
    let mut out = Condition::default();
    reader.structure("CustomResourceDefinitionCondition", value, KNOWN, |r, key, v| match key {
        "type" => set(&mut out.type_, r.named(v, "CustomResourceDefinitionConditionType")),
        "status" => set(&mut out.status, r.named(v, "ConditionStatus")),
        "lastTransitionTime" => out.last_transition_time = r.normalized(v, &GoType::Time),
        "reason" => set(&mut out.reason, r.d.string(v)),
        "message" => set(&mut out.message, r.d.string(v)),
        _ => out.observed_generation = r.d.int64(v).unwrap_or_default(),
    });
    out
}

#[cfg(test)]
mod tests;
