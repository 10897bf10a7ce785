//! Encoding a CRD in `v1` or `v1beta1`, as the API server does.
//!
//! Which fields there are, and which are left out when they are empty, comes from the table of types: `status` always
//! has `conditions`, `acceptedNames` and `storedVersions`, be they null.

use pleach_json::{Map, Str, Value};
use pleach_types::TypeDef;

use crate::convert::v1_versions;
use crate::types::{
    ApiVersion, Column, Condition, Conversion, Crd, CrdSpec, CrdStatus, Names, Scale, SelectableField,
    ServiceReference, Subresources, Validation, Version, WebhookClientConfig,
};

/// The members of a struct of a version.
struct Members {
    def: &'static TypeDef,
    out: Map,
}

impl Members {
    fn of(version: ApiVersion, name: &str) -> Self {
        let def = version.type_def(name);
        Self { def, out: Map::with_capacity(def.fields.len()) }
    }

    /// Adds a field, unless it is empty and left out then. Null stands for a nil pointer, list or map.
    fn put(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let field = self.def.field(key).expect("a field of the type");
        if !field.leaves_out(&value) {
            self.out.insert(key, value);
        }
        self
    }

    fn finish(self) -> Value {
        self.out.into()
    }
}

fn list<T>(items: Option<&[T]>, encode: impl Fn(&T) -> Value) -> Value {
    items.map(|items| items.iter().map(encode).collect::<Vec<_>>()).into()
}

fn texts(items: Option<&[Str]>) -> Value {
    list(items, |text| Value::from(text.clone()))
}

impl Crd {
    /// The object in the given version, with `apiVersion` and `kind`.
    pub fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceDefinition")
            .put("apiVersion", version.api_version())
            .put("kind", crate::types::KIND)
            .put("metadata", self.metadata.clone())
            .put("spec", self.spec.encode(version))
            .put("status", self.status.encode(version))
            .finish()
    }
}

impl CrdSpec {
    /// The spec in the given version.
    pub fn encode(&self, version: ApiVersion) -> Value {
        let spec = Members::of(version, "CustomResourceDefinitionSpec")
            .put("group", self.group.clone())
            .put("names", self.names.encode(version))
            .put("scope", self.scope.clone())
            .put("conversion", self.conversion.as_ref().map(|conversion| conversion.encode(version)));
        match version {
            ApiVersion::V1 => spec
                .put("versions", list(v1_versions(self).as_deref(), |v| v.encode(version)))
                .put("preserveUnknownFields", self.preserves_unknown_fields()),
            ApiVersion::V1beta1 => spec
                .put("version", self.version.clone())
                .put("validation", self.validation.as_ref().map(|validation| validation.encode(version)))
                .put("subresources", self.subresources.as_ref().map(|some| some.encode(version)))
                .put("versions", list(self.versions.as_deref(), |v| v.encode(version)))
                .put(
                    "additionalPrinterColumns",
                    list(self.additional_printer_columns.as_deref(), |c| c.encode(version)),
                )
                .put("selectableFields", list(self.selectable_fields.as_deref(), |f| f.encode(version)))
                .put("preserveUnknownFields", self.preserve_unknown_fields),
        }
        .finish()
    }
}

impl Names {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceDefinitionNames")
            .put("plural", self.plural.clone())
            .put("singular", self.singular.clone())
            .put("shortNames", texts(self.short_names.as_deref()))
            .put("kind", self.kind.clone())
            .put("listKind", self.list_kind.clone())
            .put("categories", texts(self.categories.as_deref()))
            .finish()
    }
}

impl Version {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceDefinitionVersion")
            .put("name", self.name.clone())
            .put("served", self.served)
            .put("storage", self.storage)
            .put("deprecated", self.deprecated)
            .put("deprecationWarning", self.deprecation_warning.clone())
            .put("schema", self.schema.as_ref().map(|schema| schema.encode(version)))
            .put("subresources", self.subresources.as_ref().map(|some| some.encode(version)))
            .put(
                "additionalPrinterColumns",
                list(self.additional_printer_columns.as_deref(), |c| c.encode(version)),
            )
            .put("selectableFields", list(self.selectable_fields.as_deref(), |f| f.encode(version)))
            .finish()
    }
}

impl Validation {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceValidation")
            .put("openAPIV3Schema", self.open_api_v3_schema.as_ref().map(|schema| schema.to_value()))
            .finish()
    }
}

impl Subresources {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceSubresources")
            .put("status", self.status.then(Value::object))
            .put("scale", self.scale.as_ref().map(|scale| scale.encode(version)))
            .finish()
    }
}

impl Scale {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceSubresourceScale")
            .put("specReplicasPath", self.spec_replicas_path.clone())
            .put("statusReplicasPath", self.status_replicas_path.clone())
            .put("labelSelectorPath", self.label_selector_path.clone())
            .finish()
    }
}

impl Column {
    /// The column in the given version, which spells the path's key its own way.
    pub fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceColumnDefinition")
            .put("name", self.name.clone())
            .put("type", self.type_.clone())
            .put("format", self.format.clone())
            .put("description", self.description.clone())
            .put("priority", self.priority)
            .put(if version == ApiVersion::V1 { "jsonPath" } else { "JSONPath" }, self.json_path.clone())
            .finish()
    }
}

impl SelectableField {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "SelectableField").put("jsonPath", self.json_path.clone()).finish()
    }
}

impl Conversion {
    fn encode(&self, version: ApiVersion) -> Value {
        let conversion =
            Members::of(version, "CustomResourceConversion").put("strategy", self.strategy.clone());
        let config = self.webhook_client_config.as_ref().map(|config| config.encode(version));
        let reviews = self.conversion_review_versions.as_deref();
        match version {
            ApiVersion::V1 => {
                let webhook = (config.is_some() || reviews.is_some()).then(|| {
                    Members::of(version, "WebhookConversion")
                        .put("clientConfig", config)
                        .put("conversionReviewVersions", texts(reviews))
                        .finish()
                });
                conversion.put("webhook", webhook)
            }
            ApiVersion::V1beta1 => {
                conversion.put("webhookClientConfig", config).put("conversionReviewVersions", texts(reviews))
            }
        }
        .finish()
    }
}

impl WebhookClientConfig {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "WebhookClientConfig")
            .put("url", self.url.clone())
            .put("service", self.service.as_ref().map(|service| service.encode(version)))
            .put("caBundle", self.ca_bundle.clone())
            .finish()
    }
}

impl ServiceReference {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "ServiceReference")
            .put("namespace", self.namespace.clone())
            .put("name", self.name.clone())
            .put("path", self.path.clone())
            .put("port", self.port)
            .finish()
    }
}

impl CrdStatus {
    /// The status in the given version.
    pub fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceDefinitionStatus")
            .put("conditions", list(self.conditions.as_deref(), |condition| condition.encode(version)))
            .put("acceptedNames", self.accepted_names.encode(version))
            .put("storedVersions", texts(self.stored_versions.as_deref()))
            .put("observedGeneration", self.observed_generation)
            .finish()
    }
}

impl Condition {
    fn encode(&self, version: ApiVersion) -> Value {
        Members::of(version, "CustomResourceDefinitionCondition")
            .put("type", self.type_.clone())
            .put("status", self.status.clone())
            .put("lastTransitionTime", self.last_transition_time.clone())
            .put("reason", self.reason.clone())
            .put("message", self.message.clone())
            .put("observedGeneration", self.observed_generation)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::decode::{Options, decode};

    /// A document with every field of a type, but for schemas.
    fn full(def: &TypeDef) -> Value {
        use pleach_types::TypeExpr;
        fn value(ty: &TypeExpr) -> Value {
            match ty {
                TypeExpr::Bool => true.into(),
                TypeExpr::Int32 | TypeExpr::Int64 => 7.into(),
                TypeExpr::Time => "2020-01-01T00:00:00Z".into(),
                TypeExpr::Bytes => "QUJD".into(),
                TypeExpr::List(of) => vec![value(of)].into(),
                TypeExpr::Pointer(to) => value(to),
                TypeExpr::Struct("meta/v1.ObjectMeta") => json!({"name": "foos.example.com"}),
                TypeExpr::Struct(name) if name.ends_with(".JSONSchemaProps") => json!({"type": "object"}),
                TypeExpr::Struct(name) => full(pleach_types::get(name).expect("a type")),
                _ => "x".into(),
            }
        }
        def.fields.iter().map(|field| (field.name.into(), value(&field.ty))).collect::<Map>().into()
    }

    #[test]
    fn every_field_of_the_types_is_decoded_and_encoded() {
        for version in [ApiVersion::V1, ApiVersion::V1beta1] {
            let mut document = full(version.type_def("CustomResourceDefinition"));
            let members = document.as_object_mut().expect("an object");
            members.insert("apiVersion", version.api_version());
            members.insert("kind", crate::types::KIND);
            let decoded = decode(&document, version, Options::default()).expect("a CRD");
            assert!(decoded.unknown.is_empty(), "{:?}", decoded.unknown);
            assert_eq!(decoded.crd.encode(version), document, "{version:?}");
        }
    }
}
