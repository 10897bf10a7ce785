//! Decoding a CRD from a request or from storage, as the API server's decoder does.
//!
//! Which fields there are, and the types that errors name, come from the table of types. The errors are Go's; unknown
//! fields are dropped and their paths returned. Defaults of the version are applied and the result is in the internal
//! form. Schemas are decoded by `pleach-schema`.

use std::cell::Cell;
use std::sync::Arc;

use pleach_go::json::{Decoder, GoType};
use pleach_json::{Str, Value};
use pleach_meta::object_meta::OBJECT_META;
use pleach_schema::JSONSchemaProps;
use pleach_types::FieldDef;

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
    let mut reader = Reader { d: &mut decoder, version, field: None };
    reader.structure("CustomResourceDefinition", document, |r, key, v| match key {
        "metadata" => metadata(r.d, v, &mut crd.metadata),
        "spec" => crd.spec = r.spec(v),
        "status" => crd.status = r.status(v),
        _ => drop(r.text(v)),
    });
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

/// A decoder of one version, within a field.
struct Reader<'a> {
    d: &'a mut Decoder,
    version: ApiVersion,
    field: Option<&'static FieldDef>,
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
    /// The Go type of the field, as errors name it.
    fn go_name(&self) -> String {
        self.field.map_or_else(String::new, |field| field.ty.go_name(self.version.version()))
    }

    /// A string, of a named type or none.
    fn text(&mut self, value: &Value) -> Option<Str> {
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => {
                let want = self.go_name();
                self.d.mismatch(other, &want);
                None
            }
        }
    }

    fn list<T>(
        &mut self,
        value: &Value,
        mut read: impl FnMut(&mut Reader<'_>, &Value) -> T,
    ) -> Option<Vec<T>> {
        let (version, field) = (self.version, self.field);
        if value.is_null() {
            return None;
        }
        let want = self.go_name();
        self.d.list(value, &want, |d, item| read(&mut Reader { d, version, field }, item))
    }

    /// Reads a struct: `read` gets a reader within the field, the key and the value of each member.
    fn structure(
        &mut self,
        name: &'static str,
        value: &Value,
        mut read: impl FnMut(&mut Reader<'_>, &'static str, &Value),
    ) {
        let version = self.version;
        let def = version.type_def(name);
        self.d.structure(name, value, &def.keys, |d, key, v| {
            read(&mut Reader { d, version, field: def.field(key) }, key, v);
        });
    }

    fn spec(&mut self, value: &Value) -> CrdSpec {
        let mut out = CrdSpec::default();
        self.structure("CustomResourceDefinitionSpec", value, |r, key, v| match key {
            "group" => set(&mut out.group, r.text(v)),
            "version" => set(&mut out.version, r.text(v)),
            "names" => out.names = r.names(v),
            "scope" => set(&mut out.scope, r.text(v)),
            "validation" => out.validation = pointer(v, |v| r.validation(v)),
            "subresources" => out.subresources = pointer(v, |v| r.subresources(v)),
            "versions" => out.versions = r.list(v, read_version),
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
        self.structure("CustomResourceDefinitionNames", value, |r, key, v| match key {
            "plural" => set(&mut out.plural, r.text(v)),
            "singular" => set(&mut out.singular, r.text(v)),
            "shortNames" => out.short_names = r.d.strings(v),
            "kind" => set(&mut out.kind, r.text(v)),
            "listKind" => set(&mut out.list_kind, r.text(v)),
            _ => out.categories = r.d.strings(v),
        });
        out
    }

    fn validation(&mut self, value: &Value) -> Validation {
        let mut out = Validation::default();
        self.structure("CustomResourceValidation", value, |r, _, v| {
            out.open_api_v3_schema = pointer(v, |v| Arc::new(JSONSchemaProps::decode(r.d, v)));
        });
        out
    }

    fn subresources(&mut self, value: &Value) -> Subresources {
        let mut out = Subresources::default();
        self.structure("CustomResourceSubresources", value, |r, key, v| match key {
            "status" => {
                out.status = !v.is_null();
                r.structure("CustomResourceSubresourceStatus", v, |_, _, _| {});
            }
            _ => out.scale = pointer(v, |v| r.scale(v)),
        });
        out
    }

    fn scale(&mut self, value: &Value) -> Scale {
        let mut out = Scale::default();
        self.structure("CustomResourceSubresourceScale", value, |r, key, v| match key {
            "specReplicasPath" => set(&mut out.spec_replicas_path, r.text(v)),
            "statusReplicasPath" => set(&mut out.status_replicas_path, r.text(v)),
            _ => out.label_selector_path = r.text(v),
        });
        out
    }

    fn columns(&mut self, value: &Value) -> Option<Vec<Column>> {
        self.list(value, |r, item| {
            let mut out = Column::default();
            r.structure("CustomResourceColumnDefinition", item, |r, key, v| match key {
                "name" => set(&mut out.name, r.text(v)),
                "type" => set(&mut out.type_, r.text(v)),
                "format" => set(&mut out.format, r.text(v)),
                "description" => set(&mut out.description, r.text(v)),
                "priority" => out.priority = r.d.int32(v).unwrap_or_default(),
                _ => set(&mut out.json_path, r.text(v)),
            });
            out
        })
    }

    fn selectable_fields(&mut self, value: &Value) -> Option<Vec<SelectableField>> {
        self.list(value, |r, item| {
            let mut out = SelectableField::default();
            r.structure("SelectableField", item, |r, _, v| {
                set(&mut out.json_path, r.text(v));
            });
            out
        })
    }

    fn conversion(&mut self, value: &Value) -> Conversion {
        let mut out = Conversion::default();
        self.structure("CustomResourceConversion", value, |r, key, v| match key {
            "strategy" => set(&mut out.strategy, r.text(v)),
            "webhook" => {
                r.structure("WebhookConversion", v, |r, key, v| match key {
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
        self.structure("WebhookClientConfig", value, |r, key, v| match key {
            "url" => out.url = r.text(v),
            "service" => out.service = pointer(v, |v| r.service(v)),
            _ => out.ca_bundle = r.normalized(v, &GoType::Bytes),
        });
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
        self.structure("ServiceReference", value, |r, key, v| match key {
            "namespace" => set(&mut out.namespace, r.text(v)),
            "name" => set(&mut out.name, r.text(v)),
            "path" => out.path = r.text(v),
            _ => out.port = r.d.int32(v),
        });
        out
    }

    fn status(&mut self, value: &Value) -> CrdStatus {
        let mut out = CrdStatus::default();
        self.structure("CustomResourceDefinitionStatus", value, |r, key, v| match key {
            "conditions" => out.conditions = r.list(v, read_condition),
            "acceptedNames" => out.accepted_names = r.names(v),
            "storedVersions" => out.stored_versions = r.d.strings(v),
            _ => out.observed_generation = r.d.int64(v).unwrap_or_default(),
        });
        out
    }
}

fn read_version(reader: &mut Reader<'_>, value: &Value) -> Version {
    let mut out = Version::default();
    reader.structure("CustomResourceDefinitionVersion", value, |r, key, v| match key {
        "name" => set(&mut out.name, r.text(v)),
        "served" => out.served = r.d.boolean(v).unwrap_or_default(),
        "storage" => out.storage = r.d.boolean(v).unwrap_or_default(),
        "deprecated" => out.deprecated = r.d.boolean(v).unwrap_or_default(),
        "deprecationWarning" => out.deprecation_warning = r.text(v),
        "schema" => out.schema = pointer(v, |v| r.validation(v)),
        "subresources" => out.subresources = pointer(v, |v| r.subresources(v)),
        "additionalPrinterColumns" => out.additional_printer_columns = r.columns(v),
        _ => out.selectable_fields = r.selectable_fields(v),
    });
    out
}

fn read_condition(reader: &mut Reader<'_>, value: &Value) -> Condition {
    let mut out = Condition::default();
    reader.structure("CustomResourceDefinitionCondition", value, |r, key, v| match key {
        "type" => set(&mut out.type_, r.text(v)),
        "status" => set(&mut out.status, r.text(v)),
        "lastTransitionTime" => out.last_transition_time = r.normalized(v, &GoType::Time),
        "reason" => set(&mut out.reason, r.text(v)),
        "message" => set(&mut out.message, r.text(v)),
        _ => out.observed_generation = r.d.int64(v).unwrap_or_default(),
    });
    out
}

#[cfg(test)]
mod tests;
