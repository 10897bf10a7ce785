//! Objects of other kinds that a write depends on.

use pleach_json::{Str, Value};

use crate::engine::Engine;
use crate::options::ListOptions;
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};

impl Engine {
    fn storage_target(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Option<Target> {
        let kind = self.catalog.get(group, plural)?;
        let version = kind.storage;
        Some(Target {
            kind,
            version,
            namespace: namespace.map(Str::from),
            name: name.map(Str::from),
            subresource: Subresource::None,
        })
    }

    /// All objects of a kind as they are stored, in a namespace or in all.
    pub(crate) async fn objects(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, Rejection> {
        let Some(target) = self.storage_target(group, plural, namespace, None) else { return Ok(Vec::new()) };
        let listing = Box::pin(self.list(&target, &ListOptions::default())).await?;
        listing.items.iter().map(crate::object::Object::to_value).collect()
    }

    /// One object, if it is there.
    pub(crate) async fn object(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, Rejection> {
        let Some(target) = self.storage_target(group, plural, namespace, Some(name)) else { return Ok(None) };
        match self.stored(&target.key_of(name)).await? {
            Some(record) => record.parse().map(Some),
            None => Ok(None),
        }
    }
}
