//! Create and update: the write path from the decoded body to the commit, with retries on conflict.
//!
//! The order is upstream's: decode (prune, drop nulls, default) → field managers → mutating admission
//! → prepare → validate → validating admission → convert to the stored version → commit. The response is
//! the stored object as a read would return it. Decisions are in synchronous calls; the loop here only
//! reads, calls admission and commits.

mod admitted;
mod draft;
mod encoded;
mod valid;

use pleach_crd::Scale;
use pleach_json::{Hints, Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Effect;
use pleach_store::{Commit, Expect, Key, StoreError};

use self::draft::Draft;
pub(crate) use self::draft::{align_namespace, check_identity};
use self::encoded::Encoded;
use self::valid::{Approved, Valid};
use crate::admission::{AdmissionAttributes, RequestOptions};
use crate::allocation::Allocating;
use crate::decode::decode;
use crate::engine::Engine;
use crate::keys;
use crate::kind::Kind;
use crate::live::Live;
use crate::managed::Manager;
use crate::object::Object;
use crate::options::{Body, Context, WriteOptions};
use crate::prepare;
use crate::read::previewed;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::settle::Settled;
use crate::target::{Subresource, Target};
use crate::write_cache::{AppliedConfiguration, LastStored};

/// How often a generated name is tried.
const NAME_ATTEMPTS: usize = 8;
/// How often a write is retried after a conflict. Upstream retries until the request times out.
const CONFLICT_RETRIES: usize = 256;

/// The result of an update or apply.
pub struct WriteResult {
    /// The stored object.
    pub object: Object,
    /// Whether the request created it.
    pub created: bool,
}

/// The change that a request makes to a live object: update, patch, apply or scale.
pub(crate) trait Intent: Send + Sync {
    /// The new object, in the version of the request, made from the live one. `None` leaves the live
    /// object unchanged.
    fn candidate(&mut self, live: &Live, context: &mut Context) -> Result<Option<Settled>, Rejection>;

    /// The uid the stored object must have.
    fn uid(&self) -> Option<&str> {
        None
    }

    /// `Some` if `candidate` itself tracks field managers, and whether it does so for the whole object.
    fn tracks_managers(&self) -> Option<bool> {
        None
    }

    /// The configuration of an apply, for the write cache.
    fn applied_configuration(&mut self) -> Option<AppliedConfiguration> {
        None
    }

    /// The endpoint and paths of `/scale`, if the request is for that subresource.
    fn scale(&self) -> Option<(&Target, &Scale)> {
        None
    }

    /// Whether a candidate without a resource version replaces any state of the object.
    fn is_unconditional(&self) -> bool {
        true
    }
}

/// An update (PUT).
struct Replace<'a> {
    target: &'a Target,
    with: Option<Settled>,
    uid: Str,
    /// The body has a resource version and no webhook converts it, so there is no retry.
    once: bool,
}

impl<'a> Replace<'a> {
    fn new(target: &'a Target, with: Settled) -> Self {
        let meta = ObjectMeta::of(with.value());
        let once = meta.resource_version().parse::<u64>().is_ok_and(|number| number != 0)
            && !target.kind.has_conversion_webhook();
        Self { target, uid: meta.uid().into(), once, with: Some(with) }
    }
}

impl Intent for Replace<'_> {
    fn candidate(&mut self, _: &Live, _: &mut Context) -> Result<Option<Settled>, Rejection> {
        if !self.once {
            return Ok(self.with.clone());
        }
        match self.with.take() {
            // Taken by the first try, which met a conflict.
            None => Err(conflict(self.target)),
            with => Ok(with),
        }
    }

    fn uid(&self) -> Option<&str> {
        Some(self.uid.as_str()).filter(|uid| !uid.is_empty())
    }

    fn is_unconditional(&self) -> bool {
        false
    }
}

impl Engine {
    /// Creates an object from a body.
    pub async fn create(
        &self,
        target: &Target,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Object, Rejection> {
        let settled = decode(
            target.resource(),
            body,
            options.field_validation,
            Hints::default(),
            &mut context.warnings,
        )?;
        refuse_while_terminating(&target.kind, ObjectMeta::of(settled.value()).name())?;
        let manager = Manager::update(self, target, options, context);
        self.create_settled(target, settled, options, context, Some(&manager)).await
    }

    /// Creates an object. `manager` owns its fields; none when its managed fields are complete.
    pub async fn create_settled(
        &self,
        target: &Target,
        settled: Settled,
        options: &WriteOptions,
        context: &mut Context,
        manager: Option<&Manager>,
    ) -> Result<Object, Rejection> {
        let draft = Draft::create(target, settled, manager, self.write_cache.is_on(), context)?;
        let name = ObjectMeta::of(draft.value()).name();
        let attributes = AdmissionAttributes::new(target, name, RequestOptions::Create(options), context);
        let admission = self.begin_admission(&attributes).await?;
        let mut admitted = Some(self.admit_new(admission, draft, context).await?);
        let meta = admitted.as_ref().map(|admitted| ObjectMeta::of(admitted.value()));
        // The error for an object with both name and generateName is the one about generated names.
        let has_base = meta.is_some_and(|meta| !meta.generate_name().is_empty());
        let generated = has_base && meta.is_some_and(|meta| meta.name().is_empty());
        for attempt in 1.. {
            // Only a generated name is tried again.
            let admitted = if generated { admitted.clone() } else { admitted.take() };
            let Some(admitted) = admitted else { break };
            self.check_escalation(target, admitted.value(), None, context).await?;
            let warned = context.warnings.len();
            let mut valid = Valid::create(self, target, admitted, generated, context)?;
            self.check_param_access(target, valid.value(), None, context).await?;
            if let Some(name) = &target.name {
                // Apply and update name the object that they create.
                Box::pin(self.check_create(target, name, context)).await?;
            }
            let mut allocating = None;
            if target.kind.strategy.rules().allocates() {
                allocating = Some(self.begin_allocation().await?);
                let taken = Box::pin(self.taken(&target.kind, "")).await?;
                let allocated =
                    valid.edit(|object| self.allocate(&target.kind, object, None, taken, options.dry_run));
                allocated.inspect_err(|_| context.warnings.truncate(warned))?;
            }
            let approved = self.approve_new(admission, target, valid, context).await?;
            let meta = ObjectMeta::of(approved.value());
            let name: Str = meta.name().into();
            let key = target.key_of(&name);
            if options.dry_run {
                if let Some(found) = self.stored(&key).await? {
                    return Err(already_exists(&target.kind, &name, Some(&found), has_base));
                }
                Box::pin(self.check_kind(&target.kind)).await?;
                return self.as_if_stored(target, approved).await.map(Object::Value);
            }
            if meta.resource_version().parse::<u64>().is_ok_and(|rv| rv != 0) {
                return Err(Rejection::Plain(
                    "resourceVersion should not be set on objects to be created".into(),
                ));
            }
            // Freed before waiting for the disk, so that other requests reuse the memory while it is in cache.
            let typed = approved.typed().clone();
            let bytes = self.encode_new(target, &key, approved, manager.is_some()).await?;
            let preview = self.preview(&target.kind, target.version, &bytes, &typed).await?;
            let mut put = Commit::put(key.clone(), Expect::Absent, bytes.clone());
            if let Some(allocating) = &allocating {
                put = allocating.guard(put);
            }
            let committed = self.store.commit(self.guarded(&target.kind, put)).await;
            drop(allocating);
            match committed {
                Ok(revision) => {
                    self.typed_forms.put(&key, revision, &typed);
                    let record = Record::open(bytes, revision)?;
                    self.committed(target, &name).await;
                    return Ok(previewed(record, preview));
                }
                Err(StoreError::Conflict { key: changed, .. }) if changed != key => {
                    return Err(stale(&changed));
                }
                Err(StoreError::Conflict { .. })
                    if generated && self.gates.retry_generate_name && attempt < NAME_ATTEMPTS => {}
                Err(StoreError::Conflict { found, .. }) => {
                    let found = found.and_then(|v| Record::open(v.value, v.revision).ok());
                    return Err(already_exists(&target.kind, &name, found.as_ref(), has_base));
                }
                Err(error) => return Err(Rejection::from_store(error)),
            }
        }
        Err(Rejection::internal("no name was found for the object"))
    }

    /// Replaces an object by a body.
    pub async fn update(
        &self,
        target: &Target,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<WriteResult, Rejection> {
        // The body is parsed with the last stored object as baseline: most of it is equal.
        let last =
            self.write_cache.last_stored(&target.key_of(target.name()), target.version().fingerprint());
        let sets = self.write_cache.field_sets(target.kind.storage_version().fingerprint());
        let hints = Hints {
            baseline: last.as_ref().map(LastStored::spanned),
            interned: Some(&sets),
            ..Hints::default()
        };
        let mut settled =
            decode(target.resource(), body, options.field_validation, hints, &mut context.warnings)?;
        settled.edit(|value| check_identity(target, value))?;
        let may_create =
            target.kind.strategy.allow_create_on_update() && target.subresource == Subresource::None;
        let new = may_create.then(|| settled.clone());
        match (self.write_over(target, &mut Replace::new(target, settled), options, context).await, new) {
            (Err(Rejection::NotFound(_)), Some(mut new)) => {
                // An object that is not there has no uid.
                let uid: Str = ObjectMeta::of(new.value()).uid().into();
                if !uid.is_empty() {
                    let key = target.key_of(target.name());
                    check_uid(target, &key, Some(&uid), &Value::Null, options.dry_run)?;
                }
                // Create on update: there is no state that the resource version could name.
                new.edit(|value| drop(prepare::metadata_mut(value).remove("resourceVersion")));
                let manager = Manager::update(self, target, options, context);
                let object = self.create_settled(target, new, options, context, Some(&manager)).await?;
                Ok(WriteResult { object, created: true })
            }
            (done, _) => done.map(|object| WriteResult { object, created: false }),
        }
    }

    /// Writes the candidate of an intent over a live object.
    pub(crate) async fn write_over(
        &self,
        target: &Target,
        intent: &mut dyn Intent,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Object, Rejection> {
        let key = target.key_of(target.name());
        let manager = Manager::update(self, target, options, context);
        let endpoint = intent.scale().map(|(endpoint, _)| endpoint.clone());
        let asked = endpoint.as_ref().unwrap_or(target);
        let update = RequestOptions::Update(options);
        let attributes = AdmissionAttributes::new(asked, asked.name(), update, context);
        let admission = self.begin_admission(&attributes).await?;
        for _ in 0..CONFLICT_RETRIES {
            let record = self.stored(&key).await?.ok_or_else(|| Rejection::NotFound(target.subject()))?;
            let live = self.live(target, &key, &record).await?;
            check_uid(target, &key, intent.uid(), &live, options.dry_run)?;
            let warned = context.warnings.len();
            let draft = loop {
                let draft = Draft::over(target, intent, &live, &manager, context);
                match &live.conversions {
                    // Tracking needs conversions of the owned fields of other versions.
                    Some(conversions) if self.convert_requested(&target.kind, conversions).await? => {
                        context.warnings.truncate(warned);
                    }
                    _ => break draft?,
                }
            };
            let Some(draft) = draft else {
                Box::pin(self.check_kind(&target.kind)).await?;
                return self.serve(&target.kind, target.version, record).await;
            };
            let admitted = self.admit(admission, intent, draft, &live, context).await?;
            self.check_escalation(target, admitted.value(), Some(&live.value), context).await?;
            let warned = context.warnings.len();
            let mut valid = Valid::update(self, target, intent, admitted, &live, context)?;
            self.check_param_access(target, valid.value(), Some(&live.value), context).await?;
            let mut allocating = None;
            if target.kind.strategy.rules().allocates() && target.subresource == Subresource::None {
                allocating = Some(self.begin_allocation().await?);
                let uid = ObjectMeta::of(valid.value()).uid().to_owned();
                let taken = Box::pin(self.taken(&target.kind, &uid)).await?;
                let dry_run = options.dry_run;
                let allocated =
                    valid.edit(|object| self.allocate(&target.kind, object, Some(&live), taken, dry_run));
                allocated.inspect_err(|_| context.warnings.truncate(warned))?;
            }
            let approved = self.approve_over(admission, target, intent, valid, &live, context).await?;
            let allocated = allocating.as_ref();
            let replaced =
                self.replace(target, &key, &record, &live, approved, intent, options, allocated).await?;
            drop(allocating);
            match replaced {
                Some(object) => return Ok(object),
                // Conflict: warnings about the old state no longer count.
                None => context.warnings.truncate(warned),
            }
        }
        Err(conflict(target))
    }

    /// Commits an object over the record that it was made from; `None` on conflict.
    #[expect(clippy::too_many_arguments, reason = "all that a write knows by then")]
    async fn replace(
        &self,
        target: &Target,
        key: &Key,
        record: &Record,
        live: &Live,
        mut approved: Approved,
        intent: &mut dyn Intent,
        options: &WriteOptions,
        allocating: Option<&Allocating<'_>>,
    ) -> Result<Option<Object>, Rejection> {
        approved.keep_times(live);
        let finished = is_finished(&target.kind, approved.value());
        if options.dry_run {
            Box::pin(self.check_kind(&target.kind)).await?;
            return self.as_if_stored(target, approved).await.map(|value| Some(Object::Value(value)));
        }
        if finished {
            return self.remove(target, key, record, approved.into_parts().value).await;
        }
        let typed = approved.typed().clone();
        let may_be_dropped = intent.tracks_managers().is_none();
        let Encoded { bytes, stored, verified } =
            self.encode_over(target, key, approved, live, record, may_be_dropped).await?;
        let new = Record::open(bytes.clone(), record.revision)?;
        if new.json() == record.json() {
            Box::pin(self.check_kind(&target.kind)).await?;
            return self.serve(&target.kind, target.version, record.clone()).await.map(Some);
        }
        let preview = self.preview(&target.kind, target.version, &bytes, &typed).await?;
        let mut put = Commit::put(key.clone(), Expect::At(record.revision), bytes.clone());
        if let Some(allocating) = allocating {
            put = allocating.guard(put);
        }
        match self.store.commit(self.guarded(&target.kind, put)).await {
            Ok(revision) => {
                let new = new.at(revision);
                self.typed_forms.put(key, revision, &typed);
                self.remember(target, key.clone(), &new, stored, verified, intent.applied_configuration());
                self.committed(target, target.name()).await;
                Ok(Some(previewed(new, preview)))
            }
            Err(StoreError::Conflict { key: changed, .. }) if changed != *key => Err(stale(&changed)),
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// Deletes an object whose last finalizer was removed; `None` on conflict.
    async fn remove(
        &self,
        target: &Target,
        key: &Key,
        record: &Record,
        draft: Value,
    ) -> Result<Option<Object>, Rejection> {
        match self.store.commit(Commit::delete(key.clone(), Expect::At(record.revision))).await {
            Ok(_) => {
                self.committed(target, target.name()).await;
                Ok(Some(Object::Value(draft)))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// Post-commit reconcile: kinds are served, names freed, webhooks loaded.
    ///
    /// If the client disconnects meanwhile, [`crate::controllers`] does it.
    pub(crate) async fn committed(&self, target: &Target, name: &str) {
        let kind = &target.kind;
        // Boxed: it would enlarge the future of every write.
        let done = match kind.strategy.after_commit() {
            Effect::None => Ok(()),
            Effect::DefinitionChanged => Box::pin(self.definition_changed(&name.into())).await,
            Effect::WebhooksChanged => Box::pin(self.load_hooks()).await,
            Effect::LimitsChanged => Box::pin(self.load_limits()).await,
            Effect::PoliciesChanged => Box::pin(self.load_policies()).await,
            Effect::FlowControlChanged => Box::pin(self.flow_control_changed()).await,
            Effect::RbacChanged => Box::pin(self.rbac_changed(&target.key_of(name))).await,
        };
        if let Err(error) = done {
            tracing::error!(kind = kind.kind.as_str(), name, %error, "post-commit reconcile failed, will retry");
        }
    }
}

/// Refuses new objects of a CRD that is being deleted.
pub(crate) fn refuse_while_terminating(kind: &Kind, name: &str) -> Result<(), Rejection> {
    if !kind.terminating {
        return Ok(());
    }
    Err(Rejection::Forbidden {
        subject: kind.subject(name),
        why: "create not allowed while custom resource definition is terminating".into(),
        cause: None,
    })
}

pub(crate) fn check_uid(
    target: &Target,
    key: &Key,
    wanted: Option<&str>,
    live: &Value,
    dry_run: bool,
) -> Result<(), Rejection> {
    let found = ObjectMeta::of(live).uid();
    match wanted {
        Some(wanted) if wanted != found => Err(Rejection::Conflict {
            subject: target.subject(),
            why: format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
                shown_key(target, key, dry_run)
            ),
        }),
        _ => Ok(()),
    }
}

/// The key under which upstream stores an object: built-in kinds have no group in it, and dry runs, which are checked
/// above the store, not the store's prefix.
fn shown_key(target: &Target, key: &Key, dry_run: bool) -> String {
    let key = key.as_str();
    let key = key.strip_prefix(keys::ROOT.trim_end_matches('/')).filter(|_| dry_run).unwrap_or(key);
    if target.kind.strategy.hides_group_in_keys() {
        key.replacen(&format!("/{}/", target.kind.storage_group), "/", 1)
    } else {
        key.to_owned()
    }
}

/// The error for a commit that depends on another key, which has changed.
fn stale(changed: &Key) -> Rejection {
    if keys::is_definition(changed) { Rejection::StaleKind } else { Rejection::StaleAllocation }
}

pub(crate) fn conflict(target: &Target) -> Rejection {
    Rejection::Conflict {
        subject: target.subject(),
        why: "the object has been modified; please apply your changes to the latest version and try again"
            .into(),
    }
}

fn already_exists(kind: &Kind, name: &str, found: Option<&Record>, generated: bool) -> Rejection {
    let deleting = found
        .and_then(|record| record.parse().ok())
        .is_some_and(|value| ObjectMeta::of(&value).is_terminating());
    Rejection::AlreadyExists { subject: kind.subject(name), deleting, generated }
}

/// Whether an object is being deleted and has no finalizers left.
pub(crate) fn is_finished(kind: &Kind, value: &Value) -> bool {
    let meta = ObjectMeta::of(value);
    meta.is_terminating()
        && meta.finalizers().next().is_none()
        && meta.deletion_grace_period_seconds().unwrap_or_default() == 0
        && !kind.strategy.is_held(value)
}

#[cfg(test)]
mod tests;
