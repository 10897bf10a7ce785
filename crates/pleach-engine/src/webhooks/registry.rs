//! The webhooks there are, decoded once per change of their configurations.
//!
//! Looked up on every write; without webhooks that costs one atomic load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use pleach_store::{Key, RangeQuery, Revision};

use super::hook::{self, Hook};
use crate::admission::AdmissionAttributes;
use crate::engine::Engine;
use crate::keys;
use crate::kinds::webhook_configuration::{GROUP, MUTATING, VALIDATING};
use crate::record::Record;
use crate::rejection::Rejection;

/// Why writes are refused whose webhooks are not known.
pub(crate) const NOT_READY: &str = "not yet ready to handle request";

/// All webhooks, in the order they are called: by the name of their configuration, then as it lists them.
#[derive(Default)]
pub(crate) struct Hooks {
    /// Mutating webhooks.
    pub(crate) mutating: Vec<Hook>,
    /// Validating webhooks.
    pub(crate) validating: Vec<Hook>,
    /// Whether a configuration cannot be decoded, so that the writes that its webhooks would refuse are not known.
    pub(crate) unreadable: bool,
}

impl Hooks {
    /// Whether the webhooks of a write are not known, and it has to be refused.
    pub(crate) fn lacks_some_of(&self, attributes: &AdmissionAttributes<'_>) -> bool {
        self.unreadable && !attributes.target.kind.strategy.is_exempt_from_webhooks()
    }
}

/// The webhooks there are now.
#[derive(Default)]
pub(crate) struct Registry {
    any: AtomicBool,
    hooks: RwLock<Arc<Hooks>>,
    /// The state of the store that they are at least as new as. Held while configurations are read, so that an
    /// older state never replaces a newer one.
    read_at: tokio::sync::Mutex<Revision>,
}

impl Registry {
    /// The webhooks, if there are any.
    pub(crate) fn get(&self) -> Option<Arc<Hooks>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        Some(self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Engine {
    /// Reads the configurations anew.
    pub(crate) async fn load_hooks(&self) -> Result<(), Rejection> {
        self.load_hooks_since(Revision(u64::MAX)).await
    }

    /// Reads the configurations anew if they were last read before a change.
    pub(crate) async fn load_hooks_since(&self, changed: Revision) -> Result<(), Rejection> {
        let mut read_at = self.hooks.read_at.lock().await;
        if *read_at >= changed {
            return Ok(());
        }
        let mut hooks = Hooks::default();
        let mut oldest = Revision(u64::MAX);
        let unreadable = &mut hooks.unreadable;
        hooks.mutating = self.read_hooks(MUTATING, &mut oldest, unreadable).await?;
        hooks.validating = self.read_hooks(VALIDATING, &mut oldest, unreadable).await?;
        let any = !hooks.mutating.is_empty() || !hooks.validating.is_empty() || hooks.unreadable;
        *self.hooks.hooks.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(hooks);
        self.hooks.any.store(any, Ordering::Release);
        *read_at = oldest;
        Ok(())
    }

    /// Whether a key is that of a configuration.
    pub(crate) fn is_hook_configuration(key: &Key) -> bool {
        matches!(keys::split(key), Some((GROUP, MUTATING | VALIDATING, _)))
    }

    async fn read_hooks(
        &self,
        plural: &str,
        oldest: &mut Revision,
        unreadable: &mut bool,
    ) -> Result<Vec<Hook>, Rejection> {
        let prefix = keys::prefix(GROUP, plural, None);
        let end = Key::prefix_end(&prefix);
        let query = RangeQuery { start: Key::new(prefix), end, limit: None, at: None };
        let range = self.store.range(query).await.map_err(Rejection::from_store)?;
        *oldest = range.revision.min(*oldest);
        let mut hooks = Vec::new();
        for item in range.items {
            match Record::open(item.value, item.revision).and_then(|record| record.parse()) {
                Ok(configuration) => hooks.extend(hook::decode(&configuration)),
                Err(error) => {
                    *unreadable = true;
                    tracing::error!(key = %item.key, %error, "cannot decode a webhook configuration: writes are refused until it is deleted");
                }
            }
        }
        Ok(hooks)
    }
}
