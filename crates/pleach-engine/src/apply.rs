//! Server-side apply: the request and its effect on the object.
//!
//! A configuration is applied to the live object in the version of the request, or to nothing, which
//! creates. The result takes the way of every write but for decoding: it is defaulted, never pruned,
//! and nulls stay, so that validation sees the applied configuration.

use std::sync::Arc;

use bytes::Bytes;
use pleach_apply::{ApplyError, Tracker};
use pleach_crd::Scale;
use pleach_json::{Hints, InternedObjects, SpannedValue, Spans, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_schema::Record;

use crate::decode;
use crate::engine::Engine;
use crate::live::Live;
use crate::managed::{Endpoint, Manager, scale as owners};
use crate::options::{Body, Context, FieldValidation, WriteOptions};
use crate::rejection::Rejection;
use crate::scale;
use crate::settle::{self, Settled};
use crate::target::{Subresource, Target};
use crate::write::{self, Intent, WriteResult};
use crate::write_cache::{AppliedConfiguration, LastApplied, LastStored};

/// How often an apply is retried when the object is created and deleted meanwhile.
const CONFLICT_RETRIES: usize = 16;

impl Engine {
    /// Applies a configuration.
    pub async fn apply(
        &self,
        target: &Target,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<WriteResult, Rejection> {
        let key = target.key_of(target.name());
        let manager = Manager::update(self, target, options, context);
        let fingerprint = target.version().fingerprint();
        let last = self.write_cache.last_stored(&key, fingerprint);
        // A configuration is mostly the one applied before, or the live object.
        let last_applied = last.as_ref().and_then(|last| last.last_applied.clone());
        let last_applied =
            last_applied.filter(|last| last.is_by(&manager.name, manager.subresource, fingerprint));
        let record_spans = self.write_cache.is_on();
        let configuration = match &last_applied {
            Some(last) => Configuration::decode(body, Some(last.spanned()), true, record_spans),
            None => Configuration::decode(body, last.as_ref().map(LastStored::spanned), false, record_spans),
        }?;
        let field_sets = self.write_cache.field_sets(target.kind.storage_version().fingerprint());
        let mut apply = Apply { target, manager, configuration, options, field_sets, last_applied };
        for _ in 0..CONFLICT_RETRIES {
            match self.write_over(target, &mut apply, options, context).await {
                // An object that does not exist is created.
                Err(Rejection::NotFound(_)) if target.subresource == Subresource::None => {}
                done => return done.map(|object| WriteResult { object, created: false }),
            }
            let warned = context.warnings.len();
            let new = apply.create(context)?;
            write::refuse_while_terminating(&target.kind, target.name())?;
            match self.create_settled(target, new, options, context, None).await {
                // It was created meanwhile: the configuration is applied to it.
                Err(Rejection::AlreadyExists { .. }) => context.warnings.truncate(warned),
                done => return done.map(|object| WriteResult { object, created: true }),
            }
        }
        Err(Rejection::internal("the object came and went too often"))
    }
}

impl Engine {
    /// Applies a Scale to an object.
    pub(crate) async fn apply_scale(
        &self,
        target: &Target,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Value, Rejection> {
        let paths = target.version().scale.as_ref().ok_or_else(|| Rejection::NotFound(target.subject()))?;
        let configuration = Configuration::decode(body, None, false, false)?;
        let manager = Manager::update(self, target, options, context);
        let main = Target { subresource: Subresource::None, ..target.clone() };
        let field_sets = Arc::default();
        let apply = Apply { target, manager, configuration, options, field_sets, last_applied: None };
        let object = self.write_over(&main, &mut ApplyScale(apply, paths), options, context).await?;
        scale::from_object(paths, &object.into_value()?)
    }
}

/// The configuration is applied to the Scale of the live object.
struct ApplyScale<'a>(Apply<'a>, &'a Scale);

impl Intent for ApplyScale<'_> {
    fn candidate(&mut self, live: &Live, context: &mut Context) -> Result<Option<Settled>, Rejection> {
        let Self(Apply { target, manager, configuration, options, .. }, paths) = &*self;
        let was = owners::with_owners(target, paths, live)?;
        let failed = |what: &str, object: &Value| {
            let meta = ObjectMeta::of(object);
            Rejection::Plain(format!(
                "{what} object ({}/{}; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
                meta.namespace(),
                meta.name()
            ))
        };
        let tracker = Tracker::new(&owners::Scales, owners::request(manager));
        let applied = tracker
            .apply(Some(&was), &configuration.value, options.force, &|_| {})
            .map_err(rejection)?
            .object;
        self.0.report_duplicates(context)?;
        let is_custom = target.kind.is_custom();
        if is_custom && was.at(&["metadata", "managedFields"]).is_none() {
            return Err(failed(
                "failed to create manager for existing fields: failed to convert live",
                &Value::object(),
            ));
        }
        let without_owners = |scale: &Value| {
            let mut scale = scale.clone();
            crate::prepare::metadata_mut(&mut scale).remove("managedFields");
            scale
        };
        if is_custom && without_owners(&was) != without_owners(&applied) {
            return Err(failed("failed to convert new", &applied));
        }
        let mut object = live.value.clone();
        if !is_custom {
            let replicas = scale::read_replicas(&applied).map_err(Rejection::BadRequest)?;
            paths.set_replicas(&mut object, replicas).map_err(Rejection::Plain)?;
        }
        owners::put_back(target, &applied, &mut object);
        Ok(Some(settle::rescaled(object)))
    }

    fn scale(&self) -> Option<(&Target, &Scale)> {
        Some((self.0.target, self.1))
    }

    fn tracks_managers(&self) -> Option<bool> {
        Some(false)
    }
}

/// A decoded body.
struct Configuration {
    value: Value,
    /// Keys that were set twice, as a text; only YAML tells.
    duplicates: Option<String>,
    /// The text, and the spans of its containers, if they are known.
    text: Option<(Bytes, Spans)>,
}

impl Configuration {
    /// Decodes a body; `baseline` is the live object, or the last applied configuration if `is_configuration`.
    fn decode(
        body: &Body,
        baseline: Option<SpannedValue<'_>>,
        is_configuration: bool,
        record_spans: bool,
    ) -> Result<Self, Rejection> {
        let bad = |error: String| Rejection::BadRequest(format!("error decoding YAML: {error}"));
        let hints = Hints { baseline, spans: record_spans, ..Hints::default() };
        let parsed = pleach_yaml::parse_strict_with(&body.bytes, hints, is_configuration)
            .map_err(|error| bad(format!("error converting YAML to JSON: {error}")))?;
        debug_assert_eq!(
            Some(&parsed.value),
            pleach_yaml::parse_strict(&body.bytes).ok().map(|parsed| parsed.value).as_ref(),
            "known is what is read"
        );
        let duplicates = (!parsed.duplicates.is_empty())
            .then(|| format!("error converting YAML to JSON: {}", parsed.duplicates));
        let value = match parsed.value {
            Value::Null => Value::object(),
            value @ Value::Object(_) => value,
            other => {
                let error = pleach_go::json::type_error(&other, "map[string]interface {}");
                return Err(bad(format!("error unmarshaling JSON: while decoding JSON: {error}")));
            }
        };
        // A text of its own: the bytes may be part of something larger.
        let text = parsed.spans.map(|spans| (Bytes::copy_from_slice(&body.bytes), spans));
        Ok(Self { value, duplicates, text })
    }
}

/// The configuration is applied to the live object.
struct Apply<'a> {
    target: &'a Target,
    manager: Manager,
    configuration: Configuration,
    options: &'a WriteOptions,
    /// Field sets that objects of the kind have in common.
    field_sets: Arc<InternedObjects>,
    /// The last applied configuration of the same manager.
    last_applied: Option<Arc<LastApplied>>,
}

impl Apply<'_> {
    /// The object after the apply, with its owners.
    fn onto(&self, live: Option<&Live>, context: &mut Context) -> Result<Settled, Rejection> {
        let endpoint = Endpoint::over(self.target, live);
        let mut tracker = Tracker::new(&endpoint, self.manager.request(self.target))
            .with_field_sets(&self.field_sets)
            .with_tracked_live(live.is_some_and(|live| live.verified.tracked));
        // Objects of built-in kinds may be rewritten after an apply.
        if let Some(last) = self.last_applied.as_ref().filter(|_| self.target.kind.is_custom()) {
            tracker = tracker.with_last_applied(last.config(), &last.result);
        }
        let settled = live.and_then(Live::spanned).map(|spanned| spanned.value());
        let fill_defaults = |object: &mut Value| {
            if self.target.kind.is_custom() {
                self.target.version().schema.get().fill_defaults(object, settled);
            }
        };
        let applied = tracker
            .apply(
                live.map(|live| &live.value),
                &self.configuration.value,
                self.options.force,
                &fill_defaults,
            )
            .map_err(rejection)?;
        self.report_duplicates(context)?;
        self.settled(applied.object)
    }

    /// Duplicate keys are reported once the apply is known to work.
    fn report_duplicates(&self, context: &mut Context) -> Result<(), Rejection> {
        let Some(text) = &self.configuration.duplicates else { return Ok(()) };
        match self.options.field_validation {
            FieldValidation::Strict => {
                Err(Rejection::BadRequest(format!("error strict decoding YAML: {text}")))
            }
            other => decode::report(vec![text.clone()], other, &mut context.warnings)
                .map_err(Rejection::BadRequest),
        }
    }

    /// The object as its kind is decoded: typed kinds wholly, custom resources only their metadata.
    fn settled(&self, object: Value) -> Result<Settled, Rejection> {
        if !self.target.kind.is_custom() {
            let decoded = decode::object(self.target.resource(), object, Record::Nothing, None);
            return decoded.map(|decoded| decoded.value).map_err(Rejection::BadRequest);
        }
        Ok(settle::applied(object)?)
    }

    /// The object that an apply to nothing makes.
    fn create(&self, context: &mut Context) -> Result<Settled, Rejection> {
        let mut object = self.onto(None, context)?;
        let uid = ObjectMeta::of(object.value()).uid();
        if !uid.is_empty() {
            return Err(Rejection::Conflict {
                subject: self.target.subject(),
                why: format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                ),
            });
        }
        object.edit(|object| {
            write::align_namespace(self.target, object)?;
            write::check_identity(self.target, object)?;
            crate::prepare::metadata_mut(object).remove("resourceVersion");
            Ok::<(), Rejection>(())
        })?;
        Ok(object)
    }
}

impl Intent for Apply<'_> {
    fn candidate(&mut self, live: &Live, context: &mut Context) -> Result<Option<Settled>, Rejection> {
        let mut object = self.onto(Some(live), context)?;
        object.edit(|object| write::align_namespace(self.target, object))?;
        Ok(Some(object))
    }

    fn tracks_managers(&self) -> Option<bool> {
        Some(true)
    }

    fn applied_configuration(&mut self) -> Option<AppliedConfiguration> {
        let (text, spans) = self.configuration.text.take()?;
        Some(AppliedConfiguration {
            manager: self.manager.name.clone(),
            subresource: self.manager.subresource,
            fingerprint: self.target.version().fingerprint(),
            config: self.configuration.value.take(),
            text,
            spans,
        })
    }

    fn is_unconditional(&self) -> bool {
        false
    }
}

fn rejection(error: ApplyError) -> Rejection {
    match error {
        ApplyError::BadRequest(text) => Rejection::BadRequest(text),
        ApplyError::Conflicts(conflicts) => {
            Rejection::ApplyConflict { message: conflicts.message(), causes: conflicts.causes() }
        }
        ApplyError::Failed(text) => Rejection::Plain(text),
        other => Rejection::internal(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests;
