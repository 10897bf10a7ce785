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

    /// Looks at all objects of a kind as they are stored, in a namespace or in all: one at a time, as a client decides
    /// how many there are and how large.
    pub(crate) async fn each_object(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        mut look: impl FnMut(Value) -> Result<(), Rejection> + Send,
    ) -> Result<(), Rejection> {
        let Some(target) = self.storage_target(group, plural, namespace, None) else { return Ok(()) };
        let listing = Box::pin(self.list(&target, &ListOptions::default())).await?;
        listing.items.into_iter().try_for_each(|object| look(object.into_value()?))
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
