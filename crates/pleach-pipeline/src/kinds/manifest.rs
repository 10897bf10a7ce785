//! Manifests of built-in kinds: CustomResourceDefinitions in YAML, of which the schema is read when it is needed.

use std::sync::OnceLock;

use pleach_crd::decode::Options;
use pleach_crd::{ApiVersion, Crd};
use pleach_json::Value;
use pleach_schema::{JSONSchemaProps, Schema, SchemaOptions};

use crate::compile;
use crate::gates::Gates;
use crate::kind::{Kind, KindVersion, LazySchema};

/// A manifest of this crate. What is read of it is kept for all servers in the process.
pub(crate) struct Manifest {
    text: &'static str,
    head: OnceLock<Crd>,
}

impl Manifest {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, head: OnceLock::new() }
    }

    /// The text up to the schema of its only version, and from there on. With several versions, nothing is cut off.
    fn parts(&self) -> (&'static str, Option<&'static str>) {
        const SCHEMA: &str = "\n    schema:\n";
        match self.text.split_once(SCHEMA) {
            Some((head, schema)) if !schema.contains("\n    schema:") => (head, Some(schema)),
            _ => (self.text, None),
        }
    }

    /// The CRD, without its schema if that is read later.
    pub(crate) fn crd(&self) -> &Crd {
        self.head.get_or_init(|| crd(self.parts().0))
    }

    /// The schema as the manifest has it, if it is not in the CRD.
    pub(crate) fn schema(&self) -> Option<Value> {
        let mut part = read(self.parts().1?);
        part.as_object_mut()?.remove("openAPIV3Schema")
    }

    /// The kind of the manifest.
    pub(crate) fn kind(&'static self) -> Kind {
        Kind { versions: self.versions().into(), ..compile::kind(self.crd()) }
    }

    /// The versions of the kind.
    pub(crate) fn versions(&'static self) -> Vec<KindVersion> {
        let crd = self.crd();
        let mut versions = compile::version_list(&crd.spec, &crd.spec.names, Gates::default());
        if self.parts().1.is_some() {
            for version in &mut versions {
                version.schema = LazySchema::new(|| {
                    let schema = self.schema().expect("the manifest has a schema");
                    let props =
                        JSONSchemaProps::from_value(&schema).expect("a schema of this crate can be read");
                    Schema::compile(&props, SchemaOptions::default())
                });
            }
        }
        versions
    }
}

/// The CRD that a manifest of this crate is.
pub(crate) fn crd(text: &str) -> Crd {
    let decoded = pleach_crd::decode(&read(text), ApiVersion::V1, Options::default());
    let mut crd = decoded.expect("a manifest of this crate is a CRD").crd;
    crd.status.accepted_names = crd.spec.names.clone();
    crd
}

/// A part of a manifest. Strings of format `byte` are left to strategies: the format refuses empty ones.
fn read(text: &str) -> Value {
    let mut document = pleach_yaml::parse(text.as_bytes()).expect("a manifest of this crate is YAML");
    forget_format(&mut document, "byte");
    document
}

/// Removes a format from all schemas in a manifest.
fn forget_format(document: &mut Value, format: &str) {
    match document {
        Value::Object(members) => {
            if members.get_str("format") == Some(format) {
                members.remove("format");
            }
            members.iter_mut().for_each(|(_, member)| forget_format(member, format));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| forget_format(item, format)),
        _ => {}
    }
}
