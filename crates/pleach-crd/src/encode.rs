//! Encoding a CRD in `v1` or `v1beta1`, as the API server does.
//!
//! Some fields are written although they are empty: `status` always has `conditions`,
//! `acceptedNames` and `storedVersions`, be they null.

use pleach_json::{Map, Str, Value};

use crate::convert::v1_versions;
use crate::types::{
    ApiVersion, Column, Condition, Conversion, Crd, CrdSpec, CrdStatus, Names, SelectableField, Subresources,
    Validation, Version, WebhookClientConfig,
};

impl Crd {
    /// The object in the given version, with `apiVersion` and `kind`.
    pub fn encode(&self, version: ApiVersion) -> Value {
        let mut out = Map::with_capacity(5);
        out.insert("apiVersion", version.api_version());
        out.insert("kind", crate::types::KIND);
        out.insert("metadata", self.metadata.clone());
        out.insert("spec", self.spec.encode(version));
        out.insert("status", self.status.encode());
        out.into()
    }
}

impl CrdSpec {
    /// The spec in the given version.
    pub fn encode(&self, version: ApiVersion) -> Value {
        let mut out = Map::new();
        out.insert("group", self.group.clone());
        out.insert("names", self.names.encode());
        out.insert("scope", self.scope.clone());
        if let Some(conversion) = &self.conversion {
            out.insert("conversion", conversion.encode(version));
        }
        match version {
            ApiVersion::V1 => {
                let versions = v1_versions(self).map(|list| array(&list, |v| v.encode(version)));
                out.insert("versions", Value::from(versions));
                if self.preserves_unknown_fields() {
                    out.insert("preserveUnknownFields", true);
                }
            }
            ApiVersion::V1beta1 => {
                put_text(&mut out, "version", &self.version);
                put(&mut out, "validation", self.validation.as_ref().map(Validation::encode));
                put(&mut out, "subresources", self.subresources.as_ref().map(Subresources::encode));
                put_list(&mut out, "versions", self.versions.as_deref(), |v| v.encode(version));
                let columns = self.additional_printer_columns.as_deref();
                put_list(&mut out, "additionalPrinterColumns", columns, |c| c.encode(version));
                put_list(
                    &mut out,
                    "selectableFields",
                    self.selectable_fields.as_deref(),
                    SelectableField::encode,
                );
                put(&mut out, "preserveUnknownFields", self.preserve_unknown_fields.map(Value::from));
            }
        }
        out.into()
    }
}

fn array<T>(items: &[T], encode: impl Fn(&T) -> Value) -> Value {
    Value::from(items.iter().map(encode).collect::<Vec<_>>())
}

fn texts(items: &[Str]) -> Value {
    array(items, |s| Value::from(s.clone()))
}

fn put(out: &mut Map, key: &'static str, value: Option<Value>) {
    if let Some(value) = value {
        out.insert(key, value);
    }
}

fn put_text(out: &mut Map, key: &'static str, text: &Str) {
    if !text.is_empty() {
        out.insert(key, text.clone());
    }
}

fn put_list<T>(out: &mut Map, key: &'static str, items: Option<&[T]>, encode: impl Fn(&T) -> Value) {
    if let Some(items) = items.filter(|items| !items.is_empty()) {
        out.insert(key, array(items, encode));
    }
}

fn put_texts(out: &mut Map, key: &'static str, items: Option<&[Str]>) {
    put_list(out, key, items, |s| Value::from(s.clone()));
}

impl Names {
    fn encode(&self) -> Value {
        let mut out = Map::new();
        out.insert("plural", self.plural.clone());
        put_text(&mut out, "singular", &self.singular);
        put_texts(&mut out, "shortNames", self.short_names.as_deref());
        out.insert("kind", self.kind.clone());
        put_text(&mut out, "listKind", &self.list_kind);
        put_texts(&mut out, "categories", self.categories.as_deref());
        out.into()
    }
}

impl Version {
    fn encode(&self, version: ApiVersion) -> Value {
        let mut out = Map::new();
        out.insert("name", self.name.clone());
        out.insert("served", self.served);
        out.insert("storage", self.storage);
        if self.deprecated {
            out.insert("deprecated", true);
        }
        put(&mut out, "deprecationWarning", self.deprecation_warning.clone().map(Value::from));
        put(&mut out, "schema", self.schema.as_ref().map(Validation::encode));
        put(&mut out, "subresources", self.subresources.as_ref().map(Subresources::encode));
        let columns = self.additional_printer_columns.as_deref();
        put_list(&mut out, "additionalPrinterColumns", columns, |c| c.encode(version));
        put_list(&mut out, "selectableFields", self.selectable_fields.as_deref(), SelectableField::encode);
        out.into()
    }
}

impl Validation {
    fn encode(&self) -> Value {
        let mut out = Map::new();
        put(&mut out, "openAPIV3Schema", self.open_api_v3_schema.as_ref().map(|s| s.to_value()));
        out.into()
    }
}

impl Subresources {
    fn encode(&self) -> Value {
        let mut out = Map::new();
        if self.status {
            out.insert("status", Value::object());
        }
        if let Some(scale) = &self.scale {
            let mut inner = Map::new();
            inner.insert("specReplicasPath", scale.spec_replicas_path.clone());
            inner.insert("statusReplicasPath", scale.status_replicas_path.clone());
            put(&mut inner, "labelSelectorPath", scale.label_selector_path.clone().map(Value::from));
            out.insert("scale", inner);
        }
        out.into()
    }
}

impl Column {
    /// The column in the given version, which spells the path's key its own way.
    pub fn encode(&self, version: ApiVersion) -> Value {
        let mut out = Map::new();
        out.insert("name", self.name.clone());
        out.insert("type", self.type_.clone());
        put_text(&mut out, "format", &self.format);
        put_text(&mut out, "description", &self.description);
        if self.priority != 0 {
            out.insert("priority", self.priority);
        }
        let key = if version == ApiVersion::V1 { "jsonPath" } else { "JSONPath" };
        out.insert(key, self.json_path.clone());
        out.into()
    }
}

impl SelectableField {
    fn encode(&self) -> Value {
        let mut out = Map::new();
        out.insert("jsonPath", self.json_path.clone());
        out.into()
    }
}

impl Conversion {
    fn encode(&self, version: ApiVersion) -> Value {
        let mut out = Map::new();
        out.insert("strategy", self.strategy.clone());
        let config = self.webhook_client_config.as_ref().map(WebhookClientConfig::encode);
        let reviews = self.conversion_review_versions.as_deref();
        match version {
            ApiVersion::V1 if config.is_some() || reviews.is_some() => {
                let mut webhook = Map::new();
                put(&mut webhook, "clientConfig", config);
                webhook.insert("conversionReviewVersions", Value::from(reviews.map(texts)));
                out.insert("webhook", webhook);
            }
            ApiVersion::V1 => {}
            ApiVersion::V1beta1 => {
                put(&mut out, "webhookClientConfig", config);
                put_texts(&mut out, "conversionReviewVersions", reviews);
            }
        }
        out.into()
    }
}

impl WebhookClientConfig {
    fn encode(&self) -> Value {
        let mut out = Map::new();
        put(&mut out, "url", self.url.clone().map(Value::from));
        if let Some(service) = &self.service {
            let mut inner = Map::new();
            inner.insert("namespace", service.namespace.clone());
            inner.insert("name", service.name.clone());
            put(&mut inner, "path", service.path.clone().map(Value::from));
            put(&mut inner, "port", service.port.map(Value::from));
            out.insert("service", inner);
        }
        put(&mut out, "caBundle", self.ca_bundle.clone().map(Value::from));
        out.into()
    }
}

impl CrdStatus {
    /// The status, which is the same in every version.
    pub fn encode(&self) -> Value {
        let mut out = Map::new();
        let conditions = self.conditions.as_deref().map(|list| array(list, Condition::encode));
        out.insert("conditions", Value::from(conditions));
        out.insert("acceptedNames", self.accepted_names.encode());
        out.insert("storedVersions", Value::from(self.stored_versions.as_deref().map(texts)));
        if self.observed_generation != 0 {
            out.insert("observedGeneration", self.observed_generation);
        }
        out.into()
    }
}

impl Condition {
    fn encode(&self) -> Value {
        let mut out = Map::new();
        out.insert("type", self.type_.clone());
        out.insert("status", self.status.clone());
        out.insert("lastTransitionTime", Value::from(self.last_transition_time.clone()));
        put_text(&mut out, "reason", &self.reason);
        put_text(&mut out, "message", &self.message);
        if self.observed_generation != 0 {
            out.insert("observedGeneration", self.observed_generation);
        }
        out.into()
    }
}
