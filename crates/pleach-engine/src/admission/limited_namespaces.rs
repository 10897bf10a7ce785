//! The namespaces that have LimitRanges or ResourceQuotas: writes in other namespaces pay for one load.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use pleach_json::Str;
use pleach_store::{Key, RangeQuery};

use crate::engine::Engine;
use crate::keys;
use crate::kinds::{limit_range, quota};
use crate::rejection::Rejection;

/// The namespaces that have some.
#[derive(Default)]
pub(crate) struct LimitedNamespaces {
    any: AtomicBool,
    names: RwLock<HashSet<Str>>,
}

impl LimitedNamespaces {
    /// Whether any namespace has some.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Whether a namespace has some.
    pub(crate) fn has(&self, namespace: Option<&Str>) -> bool {
        self.any()
            && namespace
                .is_some_and(|name| self.names.read().unwrap_or_else(PoisonError::into_inner).contains(name))
    }
}

impl Engine {
    /// Whether a key is that of a LimitRange or ResourceQuota.
    pub(crate) fn is_limit(key: &Key) -> bool {
        matches!(keys::split(key), Some(("", limit_range::PLURAL | quota::PLURAL, _)))
    }

    /// Reads anew which namespaces have some.
    pub(crate) async fn load_limits(&self) -> Result<(), Rejection> {
        let mut names = HashSet::new();
        for (group, plural) in [(limit_range::GROUP, limit_range::PLURAL), (quota::GROUP, quota::PLURAL)] {
            let query = RangeQuery::prefix(keys::prefix(group, plural, None));
            let range = self.store.range(query).await.map_err(Rejection::from_store)?;
            for item in &range.items {
                let namespace = keys::split(&item.key).and_then(|(_, _, rest)| rest.split_once('/'));
                names.extend(namespace.map(|(namespace, _)| Str::from(namespace)));
            }
        }
        self.limited.any.store(!names.is_empty(), Ordering::Release);
        *self.limited.names.write().unwrap_or_else(PoisonError::into_inner) = names;
        Ok(())
    }
}
