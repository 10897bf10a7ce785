//! The CRDs of a command, compiled, and which of them defines the kind of an object.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use pleach_crd::{ApiVersion, Crd};
use pleach_json::{Str, Value};
use pleach_pipeline::compile;
use pleach_pipeline::kind::{Kind, KindVersion};
use pleach_pipeline::resource::Resource;
use pleach_schema::JSONSchemaProps;
use pleach_work::Constant;

use crate::document::Document;

/// A CRD.
#[derive(Debug)]
pub struct Definition {
    /// The CRD, in the internal form.
    pub crd: Crd,
    /// The version it was written in.
    pub api_version: ApiVersion,
    /// Its versions, in the order given.
    pub versions: Vec<DefinedVersion>,
    /// Fields that a CRD does not have.
    pub unknown: Vec<String>,
}

/// One version of a kind.
#[derive(Clone, Debug)]
pub struct DefinedVersion {
    kind: Arc<Kind>,
    index: usize,
}

impl DefinedVersion {
    /// The version as the stages of a write take it.
    pub(crate) fn resource(&self) -> Resource<'_> {
        Resource::new(&self.kind, self.index)
    }

    /// The schema as written; empty where there is none.
    pub fn props(&self) -> &JSONSchemaProps {
        static EMPTY: Constant<JSONSchemaProps> = Constant::new(JSONSchemaProps::default);
        self.props.as_deref().unwrap_or(&EMPTY)
    }

    /// The same version with another schema.
    pub(crate) fn with_schema(&self, props: JSONSchemaProps) -> Self {
        Self { kind: Arc::new(compile::with_schema(&self.kind, self.index, props)), index: 0 }
    }
}

impl Deref for DefinedVersion {
    type Target = KindVersion;

    fn deref(&self) -> &KindVersion {
        &self.kind.versions[self.index]
    }
}

impl Definition {
    /// Reads a CRD. The error is the server's.
    pub fn read(value: &Value) -> Result<Self, String> {
        Self::read_with(value, false)
    }

    /// Reads a CRD that may use `x-kubernetes-unions`.
    pub fn read_with(value: &Value, unions: bool) -> Result<Self, String> {
        let name = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let Some(api_version) = ApiVersion::from_api_version(name) else {
            return Err(format!("no kind \"CustomResourceDefinition\" is registered for version \"{name}\""));
        };
        let options = pleach_crd::decode::Options { unions };
        let decoded = pleach_crd::decode(value, api_version, options).map_err(|error| {
            let version = api_version.version();
            format!(
                "CustomResourceDefinition in version \"{version}\" cannot be handled as a \
                 CustomResourceDefinition: {error}"
            )
        })?;
        Ok(Self::new(decoded.crd, api_version, decoded.unknown))
    }

    /// Compiles a CRD that was read before.
    pub fn new(crd: Crd, api_version: ApiVersion, unknown: Vec<String>) -> Self {
        let kind = Arc::new(compile::kind_named(&crd, &crd.spec.names));
        let versions =
            (0..kind.versions.len()).map(|index| DefinedVersion { kind: kind.clone(), index }).collect();
        Self { crd, api_version, versions, unknown }
    }

    /// The kind of its objects.
    pub fn kind(&self) -> &str {
        &self.crd.spec.names.kind
    }

    /// The version of that name.
    pub fn version(&self, name: &str) -> Option<&DefinedVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version to show when none is named: the stored one.
    pub fn main_version(&self) -> Option<&DefinedVersion> {
        let stored = self.crd.spec.storage_version().and_then(|version| self.version(&version.name));
        stored.or_else(|| self.versions.first())
    }
}

/// All CRDs given to a command.
#[derive(Debug, Default)]
pub struct Catalog {
    definitions: Vec<Definition>,
    /// By `apiVersion`, then `kind`: which definition and which of its versions.
    kinds: HashMap<Str, HashMap<String, (usize, usize)>>,
}

/// The result of looking up an object's kind.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// It is defined.
    Found(&'a Definition, &'a DefinedVersion),
    /// The kind is defined, but not in this version; these there are.
    OtherVersion(Vec<&'a str>),
    /// There is a definition, but clients cannot reach this version.
    NotServed,
    /// Nothing.
    Unknown,
}

impl Catalog {
    /// Adds a CRD; of two with the same kind and version the later counts.
    pub fn add(&mut self, definition: Definition) {
        let at = self.definitions.len();
        for (i, version) in definition.versions.iter().enumerate() {
            let kinds = self.kinds.entry(version.api_version.clone()).or_default();
            kinds.insert(definition.kind().to_owned(), (at, i));
        }
        self.definitions.push(definition);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// All CRDs.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// Looks up an object's kind.
    pub fn lookup(&self, document: &Document) -> Lookup<'_> {
        let (api_version, kind) = (document.api_version(), document.kind());
        if let Some(&(at, i)) = self.kinds.get(api_version).and_then(|kinds| kinds.get(kind)) {
            let definition = &self.definitions[at];
            let version = &definition.versions[i];
            return if version.served { Lookup::Found(definition, version) } else { Lookup::NotServed };
        }
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let same = |definition: &&Definition| definition.crd.spec.group == group && definition.kind() == kind;
        let others: Vec<&str> = self
            .definitions
            .iter()
            .filter(same)
            .flat_map(|definition| &definition.versions)
            .filter(|version| version.served)
            .map(|version| version.api_version.as_str())
            .collect();
        if others.is_empty() { Lookup::Unknown } else { Lookup::OtherVersion(others) }
    }
}
