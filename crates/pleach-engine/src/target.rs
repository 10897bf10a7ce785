//! The target of a request: a kind in a version, a namespace, a name, a subresource.

use std::sync::Arc;

use pleach_json::Str;
use pleach_pipeline::resource::Resource;
pub use pleach_pipeline::resource::Subresource;
use pleach_store::Key;

use crate::catalog::ServedKind;
use crate::keys;
use crate::kind::KindVersion;
use crate::rejection::Subject;

/// The resource that a request addresses.
#[derive(Clone, Debug)]
pub struct Target {
    /// The kind.
    pub kind: Arc<ServedKind>,
    /// Which of its versions.
    pub version: usize,
    /// The namespace; none for cluster-scoped kinds and for all namespaces.
    pub namespace: Option<Str>,
    /// The object; none for a collection.
    pub name: Option<Str>,
    /// Which part of it.
    pub subresource: Subresource,
}

impl Target {
    /// The requested version.
    pub fn version(&self) -> &KindVersion {
        &self.kind.versions[self.version]
    }

    /// The kind, version and subresource, as the stages of the pipeline take them.
    pub fn resource(&self) -> Resource<'_> {
        Resource { kind: &self.kind, version: self.version, subresource: self.subresource }
    }

    /// The name, or the empty text.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The key of the object named `name`.
    pub fn key_of(&self, name: &str) -> Key {
        keys::object(&self.kind.storage_group, &self.kind.plural, self.namespace.as_deref(), name)
    }

    /// The prefix of the keys of the collection.
    pub fn prefix(&self) -> String {
        keys::prefix(&self.kind.storage_group, &self.kind.plural, self.namespace.as_deref())
    }

    /// `foos.g "name"`
    pub fn subject(&self) -> Subject {
        self.kind.subject(self.name())
    }
}
