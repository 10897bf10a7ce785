//! What a request is about: a kind in a version, a namespace, a name, a subresource.

use std::sync::Arc;

use pleach_json::Str;
use pleach_store::Key;

use crate::keys;
use crate::kind::{Kind, KindVersion};
use crate::rejection::Subject;

/// The part of an object that a request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Subresource {
    /// The object itself.
    #[default]
    None,
    /// `/status`
    Status,
    /// `/scale`
    Scale,
    /// `/finalize`, for namespaces.
    Finalize,
}

impl Subresource {
    /// The path segment; empty for none.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
        }
    }
}

/// What a request is about.
#[derive(Clone, Debug)]
pub struct Target {
    /// The kind.
    pub kind: Arc<Kind>,
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
    /// The version asked for.
    pub fn version(&self) -> &KindVersion {
        &self.kind.versions[self.version]
    }

    /// The name, or the empty text.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The key of the object named `name`.
    pub fn key_of(&self, name: &str) -> Key {
        keys::object(&self.kind.storage_group, &self.kind.plural, self.namespace.as_deref(), name)
    }

    /// What the keys of the collection start with.
    pub fn prefix(&self) -> String {
        keys::prefix(&self.kind.storage_group, &self.kind.plural, self.namespace.as_deref())
    }

    /// `foos.g "name"`
    pub fn subject(&self) -> Subject {
        self.kind.subject(self.name())
    }
}
