//! Parameters of policies, and the other objects that expressions see: parsed once per revision.

use std::sync::Arc;

use pleach_json::Value;
use pleach_policy::{NO_PARAMS, ParamChoice, ParamKind, ParamRef};
use pleach_store::{Key, RangeQuery};

use crate::catalog::ServedKind;
use crate::engine::Engine;
use crate::keys;
use crate::kind::Scope;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::target::Target;

/// The kind of parameters as the server has it.
pub(super) struct ResolvedKind {
    kind: Arc<ServedKind>,
    version: usize,
}

/// The parameters that a policy is evaluated with, each once; none stands for null.
pub(super) type Params = Vec<Option<Arc<Value>>>;

impl Engine {
    /// The kind that a policy's parameters have. The error is upstream's.
    pub(super) fn resolve_param_kind(&self, kind: &ParamKind) -> Result<ResolvedKind, String> {
        let (group, version) = kind.group_version();
        let found = self.catalog.by_kind(group, &kind.kind).and_then(|kind| {
            let at = kind.versions.iter().position(|v| v.served && v.name == version)?;
            Some(ResolvedKind { kind, version: at })
        });
        found.ok_or_else(|| kind.not_found())
    }

    /// The parameters of a binding. The inner error is one of the binding's.
    pub(super) async fn collect_params(
        &self,
        kind: Option<&ResolvedKind>,
        reference: Option<&ParamRef>,
        request_namespace: &str,
    ) -> Result<Result<Params, &'static str>, Rejection> {
        let (Some(resolved), Some(reference)) = (kind, reference) else { return Ok(Ok(vec![None])) };
        let namespaced = resolved.kind.scope == Scope::Namespaced;
        let namespace = match reference.namespace_for(namespaced, request_namespace) {
            Ok(namespace) => namespace,
            Err(why) => return Ok(Err(why)),
        };
        let kind = &resolved.kind;
        let params: Params = match &reference.choice {
            ParamChoice::Name(name) => {
                let key = keys::object(&kind.storage_group, &kind.plural, namespace.as_deref(), name);
                self.seen_object(kind, resolved.version, &key).await?.map(Some).into_iter().collect()
            }
            ParamChoice::Selector(selector) => {
                let prefix = keys::prefix(&kind.storage_group, &kind.plural, namespace.as_deref());
                let mut query = RangeQuery::prefix(prefix);
                if let Some(cached) = self.store.cached_revision() {
                    query = query.at(cached);
                }
                let range = self.store.range(query).await;
                let mut params = Vec::new();
                for item in range.map_err(Rejection::from_store)?.items {
                    let record = Record::open(item.value, item.revision)?;
                    let object = self.parsed(kind, resolved.version, &item.key, record).await?;
                    let labels = object.at(&["metadata", "labels"]).and_then(Value::as_object);
                    if selector.matches(labels) {
                        params.push(Some(object));
                    }
                }
                params
            }
        };
        if params.is_empty() && reference.deny_if_missing {
            return Ok(Err(NO_PARAMS));
        }
        Ok(Ok(params))
    }

    /// An object in a version, if it is there: as the store's cache has it, so that a write asks etcd for no revision
    /// on its account.
    async fn seen_object(
        &self,
        kind: &ServedKind,
        version: usize,
        key: &Key,
    ) -> Result<Option<Arc<Value>>, Rejection> {
        let stored = match self.store.cached_revision() {
            Some(cached) => self.stored_at(key, cached).await?,
            None => self.stored(key).await?,
        };
        match stored {
            Some(record) => self.parsed(kind, version, key, record).await.map(Some),
            None => Ok(None),
        }
    }

    async fn parsed(
        &self,
        kind: &ServedKind,
        version: usize,
        key: &Key,
        record: Record,
    ) -> Result<Arc<Value>, Rejection> {
        // Only the stored version is cached: nearly all policies use it.
        let keeps = version == kind.storage;
        if keeps && let Some(known) = self.policies.parsed(key, record.revision) {
            return Ok(known);
        }
        // All parameters of a policy are held at once.
        pleach_work::charge(record.json().len() as u64);
        let value = Arc::new(self.live_value(kind, version, &record).await?);
        if keeps {
            self.policies.keep(key, record.revision, &value);
        }
        Ok(value)
    }

    /// The namespace that a write is in.
    pub(super) async fn request_namespace(&self, target: &Target) -> Result<Option<Arc<Value>>, Rejection> {
        let Some(namespace) = &target.namespace else { return Ok(None) };
        let Some(kind) = self.catalog.get("", "namespaces") else { return Ok(None) };
        self.seen_object(&kind, kind.storage, &keys::namespace(namespace)).await
    }
}
