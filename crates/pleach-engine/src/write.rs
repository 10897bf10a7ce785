//! Create and update: read, decide, commit, try again.
//!
//! The order is upstream's: decode (prune, drop nulls, default) → field managers → those who may change
//! it → prepare → validate → those who say yes or no → convert to the stored version → commit. The answer is
//! what a read of the stored object would give. Every decision is in a call that is not awaited; the loop here
//! only reads, asks and commits.

use pleach_apply::Written;
use pleach_crd::Scale;
use pleach_json::{Hints, Piece, Spans, Str, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::{Commit, Expect, Key, StoreError};

use crate::admission;
use crate::decode::decode;
use crate::engine::Engine;
use crate::kind::{Kind, Strategy};
use crate::managed::{self, Manager};
use crate::object::Object;
use crate::options::{Body, Context, WriteOptions};
use crate::prepare;
use crate::recent::{Known, Last, Live, Saying};
use crate::record::{Record, encode, encode_beside, encode_new};
use crate::rejection::Rejection;
use crate::settle;
use crate::target::Target;
use crate::validate;
use crate::webhooks::Operation;

/// How many fields of its metadata an object has from the server.
const SYSTEM_FIELDS: usize = 6;
/// When an object is first looked at, and when those who may change it have done so.
const BEFORE_ADMISSION: &str = "";
pub(crate) const AFTER_ADMISSION: &str = " after mutating admission happens";
/// How often a generated name is tried.
const NAME_ATTEMPTS: usize = 8;
/// A generated name keeps this much of its base.
const NAME_BASE: usize = 58;
/// How often a write that lost a race is tried again. Upstream tries until the request times out.
const RACES: usize = 256;

/// An object as it is stored.
pub(crate) struct Encoded {
    /// The record.
    pub(crate) bytes: bytes::Bytes,
    /// The same as a value, without the resource version, if a reader would find it settled.
    pub(crate) value: Option<Value>,
    /// Where the value's containers are in the record.
    spans: Spans,
}

/// An object that is to replace another.
struct Draft {
    value: Value,
    known: Known,
    /// Whether others than its author changed it, so that reading it may change it again.
    touched: bool,
}

/// What a draft was made from.
pub(crate) enum Origin<'a> {
    /// Nothing: it is not kept at hand. Its managed fields may be written already.
    New(Option<&'a Written>),
    /// The live object, and its text if that is at hand.
    Live(Option<Piece<'a>>),
}

/// What is to become of an object that exists.
pub(crate) trait Intent: Send + Sync {
    /// The object as it shall be, in the version of the request, made from the live one. `None`
    /// leaves the live object as it is.
    fn candidate(&mut self, live: &Live, context: &mut Context) -> Result<Option<Value>, Rejection>;

    /// The uid the stored object must have.
    fn uid(&self) -> Option<&str> {
        None
    }

    /// Whether field managers were worked out by `candidate` itself, and if so, whether for the whole
    /// object.
    fn tracks_managers(&self) -> Option<bool> {
        None
    }

    /// What was said, if that is what an apply is, to know it when it is said again.
    fn saying(&mut self) -> Option<Saying> {
        None
    }

    /// The Scale that the request is about, and its endpoint, if it is not about the object itself.
    fn scale(&self) -> Option<(&Target, &Scale)> {
        None
    }

    /// Whether a candidate without a resource version stands for any.
    fn is_unconditional(&self) -> bool {
        true
    }
}

/// The object is replaced by another.
struct Replace<'a> {
    target: &'a Target,
    with: Value,
    uid: Str,
    /// The client said which state it replaces, and nobody outside is asked, so that there is no second try.
    once: bool,
}

impl<'a> Replace<'a> {
    fn new(target: &'a Target, with: Value) -> Self {
        let meta = ObjectMeta::of(&with);
        let once = meta.resource_version().parse::<u64>().is_ok_and(|number| number != 0)
            && !target.kind.converts_outside();
        Self { target, uid: meta.uid().into(), once, with }
    }
}

impl Intent for Replace<'_> {
    fn candidate(&mut self, _: &Live, _: &mut Context) -> Result<Option<Value>, Rejection> {
        if !self.once {
            return Ok(Some(self.with.clone()));
        }
        match std::mem::take(&mut self.with) {
            // Taken by a first try that somebody overtook: the state to replace is gone.
            Value::Null => Err(conflict(self.target)),
            with => Ok(Some(with)),
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
        let value = decode(target, body, options.field_validation, Hints::default(), context)?;
        refuse_while_terminating(&target.kind, ObjectMeta::of(&value).name())?;
        let manager = Manager::update(self, target, options, context);
        self.create_value(target, value, options, context, Some(&manager)).await
    }

    /// Creates a decoded object. `manager` owns its fields; none when they are worked out already.
    pub async fn create_value(
        &self,
        target: &Target,
        mut value: Value,
        options: &WriteOptions,
        context: &mut Context,
        manager: Option<&Manager>,
    ) -> Result<Object, Rejection> {
        // The server adds about as much to a new object's metadata as its author wrote.
        prepare::metadata_mut(&mut value).reserve(SYSTEM_FIELDS);
        align_namespace(target, &mut value)?;
        dedup_owner_references(&mut value, BEFORE_ADMISSION, context);
        prepare::read(&target.kind, &mut value)?;
        let mut managed = manager.and_then(|manager| Self::owned(target, &mut value, manager));
        let mut sound =
            managed.as_ref().filter(|managed| managed.is_sound()).map(|_| without_metadata(&value));
        admission::namespace_lifecycle(self, target, &value).await?;
        let told = || options.to_value("CreateOptions");
        let question = self.question(target, Operation::Create, "", options.dry_run, told);
        let mut changed = false;
        if let Some(question) = &question {
            // Who is asked sees who owns what.
            (sound, managed) = (None, put_in(&mut value, managed));
            (value, changed) = Box::pin(self.mutated_new(question, value, context)).await?;
        }
        let generated =
            ObjectMeta::of(&value).name().is_empty() && !ObjectMeta::of(&value).generate_name().is_empty();
        let had_status = value.get("status").is_some();
        for attempt in 1.. {
            // Only a generated name is tried again.
            let mut draft = if generated { value.clone() } else { std::mem::take(&mut value) };
            prepare::fill_system_fields(&mut draft, self.new_uid(), self.now());
            if generated {
                let base = ObjectMeta::of(&draft).generate_name();
                let base: String = base.chars().take(NAME_BASE).collect();
                let name = format!("{base}{}", self.name_suffix());
                prepare::metadata_mut(&mut draft).insert("name", name);
            }
            prepare::for_create(&target.kind, target.version, &mut draft);
            let errors = validate::create(target, &draft, sound.as_ref(), context);
            let name: Str = ObjectMeta::of(&draft).name().into();
            if !errors.is_empty() {
                return Err(Rejection::Invalid { subject: target.kind.own_subject(&draft), errors });
            }
            if let Some(question) = &question {
                Box::pin(self.approve(question, Some(&draft), None, context)).await?;
                keep_known(target, &mut draft, changed);
            }
            let key = target.key_of(&name);
            if options.dry_run {
                if let Some(found) = self.stored(&key).await? {
                    return Err(already_exists(&target.kind, &name, Some(&found), false));
                }
                if let Some(managed) = &managed {
                    managed::put_written(&mut draft, managed);
                }
                return self.as_if_stored(target, draft).await.map(Object::Value);
            }
            let resource_version = ObjectMeta::of(&draft).resource_version();
            if resource_version.parse::<u64>().is_ok_and(|rv| rv != 0) {
                return Err(Rejection::Plain(
                    "resourceVersion should not be set on objects to be created".into(),
                ));
            }
            let touched = changed || had_status && draft.get("status").is_none();
            let stored = self.to_storage(target, draft).await?;
            let bytes = self.encode(target, stored, Origin::New(managed.as_ref()), touched)?.bytes;
            if !generated {
                // While this request waits for the disk, others find its memory free, and near.
                (sound, managed) = (None, None);
            }
            match self.store.commit(Commit::put(key, Expect::Absent, bytes.clone())).await {
                Ok(revision) => {
                    let record = Record::open(bytes, revision)?;
                    self.committed(target, None, Some(&record)).await;
                    return self.serve(&target.kind, target.version, record).await;
                }
                Err(StoreError::Conflict { .. }) if generated && attempt < NAME_ATTEMPTS => {}
                Err(StoreError::Conflict { found, .. }) => {
                    let found = found.map(|v| Record::open(v.value, v.revision)).transpose()?;
                    return Err(already_exists(&target.kind, &name, found.as_ref(), generated));
                }
                Err(error) => return Err(Rejection::from_store(error)),
            }
        }
        unreachable!("the loop above ends by returning")
    }

    /// Makes a manager the owner of a new object's fields: in the object, or as text that belongs there.
    fn owned(target: &Target, value: &mut Value, manager: &Manager) -> Option<Written> {
        let written = managed::written(target, value, manager);
        if written.is_none() {
            managed::track_new(target, value, manager);
        }
        written
    }

    /// Replaces an object by a body.
    pub async fn update(
        &self,
        target: &Target,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Object, Rejection> {
        // A client that changes an object sends all of it: what did not change is at hand.
        let last = self.recent.last(&target.key_of(target.name()), target.version().fingerprint());
        let usual = self.usual.of(target.kind.storage_version().fingerprint());
        let hints = Hints { like: last.as_ref().map(Last::piece), phrases: Some(&usual), ..Hints::default() };
        let mut value = decode(target, body, options.field_validation, hints, context)?;
        check_identity(target, &mut value)?;
        self.write_over(target, &mut Replace::new(target, value), options, context).await
    }

    /// Changes an object that exists, as an intent says.
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
        let told = || options.to_value("UpdateOptions");
        let question = self.question(asked, Operation::Update, asked.name(), options.dry_run, told);
        for _ in 0..RACES {
            let record = self.stored(&key).await?.ok_or_else(|| Rejection::NotFound(target.subject()))?;
            let live = self.live(target, &key, &record).await?;
            check_uid(target, &key, intent.uid(), &live)?;
            let warned = context.warnings.len();
            let candidate = loop {
                let candidate = Self::candidate(target, intent, &live, &manager, context);
                match &live.conversions {
                    // What owners in other versions own was not known yet.
                    Some(conversions) if self.learn(&target.kind, conversions).await => {
                        context.warnings.truncate(warned);
                    }
                    _ => break candidate?,
                }
            };
            let Some((mut draft, tracked)) = candidate else {
                return self.serve(&target.kind, target.version, record).await;
            };
            let mut changed = false;
            if let Some(question) = &question {
                (draft, changed) = Box::pin(self.mutated(question, intent, draft, &live, context)).await?;
            }
            let draft = Self::checked(target, intent, draft, &live, context)?;
            let (mut draft, sound) = draft;
            if let Some(question) = &question {
                Box::pin(self.approved(question, intent, &draft, &live, context)).await?;
                keep_known(target, &mut draft, changed);
            }
            let known = if changed { Known::default() } else { Known { sound, tracked } };
            let draft = Draft { value: draft, known, touched: changed };
            match self.replace(target, &key, &record, &live, draft, intent, options).await? {
                Some(object) => return Ok(object),
                // Somebody else was faster: what was said about the old state no longer counts.
                None => context.warnings.truncate(warned),
            }
        }
        Err(conflict(target))
    }

    /// The object as its author would have it, and whether its owners are told for the whole of it; `None`
    /// if nothing changes.
    fn candidate(
        target: &Target,
        intent: &mut dyn Intent,
        live: &Live,
        manager: &Manager,
        context: &mut Context,
    ) -> Result<Option<(Value, bool)>, Rejection> {
        let Some(mut draft) = intent.candidate(live, context)? else { return Ok(None) };
        check_identity(target, &mut draft)?;
        dedup_owner_references(&mut draft, BEFORE_ADMISSION, context);
        prepare::read(&target.kind, &mut draft)?;
        let tracked = match intent.tracks_managers() {
            Some(tracked) => tracked,
            None => managed::track(target, Some(live), &mut draft, manager),
        };
        Ok(Some((draft, tracked)))
    }

    /// The object as it shall be, validated, and whether it is sound.
    fn checked(
        target: &Target,
        intent: &dyn Intent,
        mut draft: Value,
        live: &Live,
        context: &mut Context,
    ) -> Result<(Value, bool), Rejection> {
        check_resource_version(target, &mut draft, live, intent.is_unconditional())?;
        prepare::restore_system_fields(&mut draft, live);
        prepare::for_update(&target.kind, target.version, target.subresource, &mut draft, live);
        let (errors, sound) = validate::update(target, &draft, live, context);
        if !errors.is_empty() {
            return Err(Rejection::Invalid { subject: target.kind.own_subject(&draft), errors });
        }
        Ok((draft, sound))
    }

    /// Commits a draft in place of the record it was made from; `None` if that was overtaken.
    #[expect(clippy::too_many_arguments, reason = "all that a write knows by then")]
    async fn replace(
        &self,
        target: &Target,
        key: &Key,
        record: &Record,
        live: &Live,
        Draft { value: mut draft, known, touched }: Draft,
        intent: &mut dyn Intent,
        options: &WriteOptions,
    ) -> Result<Option<Object>, Rejection> {
        managed::keep_times(live, &mut draft);
        if is_finished(&draft) {
            if options.dry_run {
                return self.as_if_stored(target, draft).await.map(|value| Some(Object::Value(value)));
            }
            return self.remove(target, key, record, draft).await;
        }
        if options.dry_run {
            return self.as_if_stored(target, draft).await.map(|value| Some(Object::Value(value)));
        }
        let stored = self.to_storage(target, draft).await?;
        let Encoded { bytes, value, spans } =
            self.encode(target, stored, Origin::Live(live.piece()), touched)?;
        // Only what reads back is what a reader of the bytes would have.
        let earlier = live.text.is_some().then_some(&live.value);
        let stored = value.filter(|value| value.reads_back(earlier)).map(|value| (value, spans));
        let new = Record::open(bytes.clone(), record.revision)?;
        if new.json() == record.json() {
            return self.serve(&target.kind, target.version, record.clone()).await.map(Some);
        }
        match self.store.commit(Commit::put(key.clone(), Expect::At(record.revision), bytes.clone())).await {
            Ok(revision) => {
                let new = Record::open(bytes, revision)?;
                self.remember(target, key.clone(), &new, stored, known, intent.saying());
                self.committed(target, Some(record), Some(&new)).await;
                self.serve(&target.kind, target.version, new).await.map(Some)
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// Removes an object whose last finalizer is gone; `None` if it was overtaken.
    async fn remove(
        &self,
        target: &Target,
        key: &Key,
        record: &Record,
        draft: Value,
    ) -> Result<Option<Object>, Rejection> {
        match self.store.commit(Commit::delete(key.clone(), Expect::At(record.revision))).await {
            Ok(_) => {
                self.committed(target, Some(record), None).await;
                Ok(Some(Object::Value(draft)))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// An object of the request's version as it is stored.
    pub(crate) async fn to_storage(&self, target: &Target, draft: Value) -> Result<Value, Rejection> {
        let kind = &target.kind;
        self.convert(kind, target.version, kind.storage, draft).await
    }

    /// The bytes to store for an object, in the version that is stored. `touched`
    /// says that something was taken out after defaulting, so that reading it may put a default back.
    pub(crate) fn encode(
        &self,
        target: &Target,
        mut stored: Value,
        origin: Origin<'_>,
        touched: bool,
    ) -> Result<Encoded, Rejection> {
        let kind = &target.kind;
        let clean = if touched || target.version != kind.storage {
            let mut read = stored.clone();
            settle::stored(kind, kind.storage, &mut read)?;
            read == stored
        } else {
            true
        };
        let fingerprint = if clean { kind.storage_version().fingerprint() } else { 0 };
        let version = kind.storage_version().fingerprint();
        let (bytes, spans) = match origin {
            Origin::New(Some(written)) => {
                self.usual.see_text(version, written.fields());
                (encode_new(&mut stored, fingerprint, written.text()), Spans::default())
            }
            Origin::New(None) => {
                let usual = self.usual.see(version, &mut stored);
                (encode(&mut stored, fingerprint, &usual), Spans::default())
            }
            Origin::Live(earlier) => {
                encode_beside(&mut stored, fingerprint, &self.usual.of(version), earlier)
            }
        };
        let settled = clean && kind.strategy != Strategy::CustomResourceDefinition;
        Ok(Encoded { bytes, value: settled.then_some(stored), spans })
    }

    /// What a read would give if an object had been stored; its resource version stays what it is.
    async fn as_if_stored(&self, target: &Target, draft: Value) -> Result<Value, Rejection> {
        let stored = self.to_storage(target, draft).await?;
        self.served_value(&target.kind, target.version, stored).await
    }

    /// What follows from a commit: kinds made and replaced, names freed, webhooks known.
    async fn committed(&self, target: &Target, old: Option<&Record>, new: Option<&Record>) {
        match target.kind.strategy {
            Strategy::CustomResourceDefinition => {
                // Kept elsewhere: the future of every write would have room for it, and is moved about.
                Box::pin(self.definition_committed(old, new)).await;
            }
            Strategy::WebhookConfiguration => {
                if let Err(error) = Box::pin(self.load_hooks()).await {
                    tracing::error!(%error, "webhooks are not known any more");
                }
            }
            Strategy::Custom | Strategy::BuiltIn | Strategy::Namespace => {}
        }
    }

    /// Tells of a removal that was committed elsewhere.
    pub(crate) async fn removed(&self, target: &Target, old: &Record) {
        self.committed(target, Some(old), None).await;
    }

    /// Tells of a change that was committed elsewhere.
    pub(crate) async fn changed(&self, target: &Target, old: &Record, new: &Record) {
        self.committed(target, Some(old), Some(new)).await;
    }
}

/// Puts managed fields that are written already into the object they belong to.
fn put_in(value: &mut Value, managed: Option<Written>) -> Option<Written> {
    if let Some(managed) = managed {
        managed::put_written(value, &managed);
    }
    None
}

/// Drops what a webhook added and the schema does not know: no reader would see it.
fn keep_known(target: &Target, draft: &mut Value, changed: bool) {
    if changed {
        settle::converted(&target.kind, target.version, draft);
    }
}

/// What an object shares with itself, whatever becomes of its metadata.
fn without_metadata(object: &Value) -> Value {
    let mut rest = object.clone();
    if let Some(members) = rest.as_object_mut() {
        members.remove("metadata");
    }
    rest
}

/// A CRD that is being deleted takes no new objects.
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

/// The namespace of the URL is the object's.
pub(crate) fn align_namespace(target: &Target, value: &mut Value) -> Result<(), Rejection> {
    let metadata = prepare::metadata_mut(value);
    let Some(namespace) = &target.namespace else {
        metadata.remove("namespace");
        return Ok(());
    };
    match metadata.get_str("namespace") {
        None | Some("") => {
            metadata.insert("namespace", namespace.clone());
            Ok(())
        }
        Some(given) if given == namespace => Ok(()),
        Some(_) => Err(Rejection::BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request".into(),
        )),
    }
}

/// Name and namespace of the URL are the object's.
pub(crate) fn check_identity(target: &Target, value: &mut Value) -> Result<(), Rejection> {
    let name = ObjectMeta::of(value).name();
    if name.is_empty() {
        return Err(Rejection::BadRequest(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name()
        )));
    }
    if name != target.name() {
        return Err(Rejection::BadRequest(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name()
        )));
    }
    align_namespace(target, value)
}

fn check_uid(target: &Target, key: &Key, wanted: Option<&str>, live: &Value) -> Result<(), Rejection> {
    let found = ObjectMeta::of(live).uid();
    match wanted {
        Some(wanted) if wanted != found => Err(Rejection::Conflict {
            subject: target.subject(),
            why: format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
            ),
        }),
        _ => Ok(()),
    }
}

/// Optimistic locking: the resource version a client sends must be the stored one.
fn check_resource_version(
    target: &Target,
    draft: &mut Value,
    live: &Value,
    unconditional: bool,
) -> Result<(), Rejection> {
    let found = ObjectMeta::of(live).resource_version();
    let given = ObjectMeta::of(draft).resource_version();
    let number = if given.is_empty() {
        0
    } else {
        given.parse::<u64>().map_err(|_| {
            Rejection::Plain(format!("strconv.ParseUint: parsing \"{given}\": invalid syntax"))
        })?
    };
    if number == 0 {
        if unconditional || target.kind.allows_unconditional_update() {
            let found: Str = found.into();
            prepare::metadata_mut(draft).insert("resourceVersion", found);
            return Ok(());
        }
        return Err(Rejection::Invalid {
            subject: target.subject(),
            errors: vec![FieldError::invalid(
                "metadata.resourceVersion",
                0,
                "must be specified for an update",
            )],
        });
    }
    if given == found { Ok(()) } else { Err(conflict(target)) }
}

fn conflict(target: &Target) -> Rejection {
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

/// An object that is being deleted goes when nothing holds it any more.
pub(crate) fn is_finished(value: &Value) -> bool {
    let meta = ObjectMeta::of(value);
    meta.is_terminating()
        && meta.finalizers().next().is_none()
        && meta.deletion_grace_period_seconds().unwrap_or_default() == 0
        && value
            .at(&["spec", "finalizers"])
            .and_then(Value::as_array)
            .is_none_or(|f| f.is_empty() || value.get("kind").and_then(Value::as_str) != Some("Namespace"))
}

/// Equal owner references are kept once, and the client is told, and when they were found.
pub(crate) fn dedup_owner_references(value: &mut Value, when: &str, context: &mut Context) {
    let Some(Value::Array(references)) = prepare::metadata_mut(value).get_mut("ownerReferences") else {
        return;
    };
    let mut kept: Vec<Value> = Vec::with_capacity(references.len());
    let mut repeated: Vec<Str> = Vec::new();
    for reference in references.drain(..) {
        if kept.contains(&reference) {
            let uid: Str = reference.get("uid").and_then(Value::as_str).unwrap_or_default().into();
            if !repeated.contains(&uid) {
                repeated.push(uid);
            }
        } else {
            kept.push(reference);
        }
    }
    references.extend(kept);
    if !repeated.is_empty() {
        let uids: Vec<&str> = repeated.iter().map(Str::as_str).collect();
        context.warn(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            uids.join(", ")
        ));
    }
}
