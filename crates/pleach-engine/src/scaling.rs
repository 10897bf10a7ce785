//! Reading and writing an object through its `/scale`.

use pleach_crd::Scale;
use pleach_go::strconv::quote;
use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;
use pleach_patch::JsonPatch;

use crate::engine::Engine;
use crate::live::Live;
use crate::managed::{Manager, scale as scale_owners};
use crate::options::{Body, Context, FieldValidation, Format, PatchType, Unreadable, WriteOptions};
use crate::rejection::{Rejection, Subject};
use crate::scale;
use crate::settle::{self, Settled};
use crate::target::{Subresource, Target};
use crate::write::Intent;

impl Engine {
    /// The Scale of an object.
    pub fn scale_of(&self, target: &Target, object: &Value) -> Result<Value, Rejection> {
        scale::from_object(paths(target)?, object)
    }

    /// Writes the replicas of a Scale.
    pub async fn update_scale(
        &self,
        target: &Target,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Value, Rejection> {
        let given = parse(body)?;
        let change = Change::Replace(given);
        self.write_scale(target, &change, options, context).await
    }

    /// Patches a Scale and writes its replicas.
    pub async fn patch_scale(
        &self,
        target: &Target,
        patch_type: PatchType,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Value, Rejection> {
        if patch_type == PatchType::Apply {
            return self.apply_scale(target, body, options, context).await;
        }
        let given = parse(body).map_err(|_| Rejection::BadRequest("error decoding patch".into()))?;
        let change = match patch_type {
            PatchType::Json => Change::Json(
                JsonPatch::from_value(&given).map_err(|error| Rejection::BadRequest(error.to_string()))?,
            ),
            PatchType::Merge | PatchType::StrategicMerge | PatchType::Apply => Change::Merge(given),
        };
        self.write_scale(target, &change, options, context).await
    }

    async fn write_scale(
        &self,
        target: &Target,
        change: &Change,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Value, Rejection> {
        let scale = paths(target)?;
        let main = Target { subresource: Subresource::None, ..target.clone() };
        let manager = Manager::update(self, target, options, context);
        let mut intent = Rescale { target, scale, change, manager, validation: options.field_validation };
        let object = self.write_over(&main, &mut intent, options, context).await?;
        scale::from_object(scale, &object.into_value()?)
    }
}

fn paths(target: &Target) -> Result<&Scale, Rejection> {
    target.version().scale.as_ref().ok_or_else(|| Rejection::NotFound(target.subject()))
}

fn parse(body: &Body) -> Result<Value, Rejection> {
    match &body.format {
        Format::Json => pleach_json::parse(&body.bytes).map_err(|error| error.to_string()),
        Format::Yaml => pleach_yaml::parse(&body.bytes).map_err(|error| error.to_string()),
        Format::Read(Ok(value)) => Ok(value.clone()),
        Format::Read(Err(Unreadable::Body(error) | Unreadable::Object(error))) => {
            return Err(Rejection::BadRequest(error.clone()));
        }
    }
    .map_err(|error| Rejection::BadRequest(format!("couldn't get version/kind; json parse error: {error}")))
}

enum Change {
    Replace(Value),
    Json(JsonPatch),
    Merge(Value),
}

/// The live object with other replicas.
struct Rescale<'a> {
    target: &'a Target,
    scale: &'a Scale,
    change: &'a Change,
    manager: Manager,
    validation: FieldValidation,
}

/// The error of a kind that is no Scale, which names the scheme of the resource that is scaled.
fn unknown_kind(target: &Target, kind: &str, version: &str) -> String {
    let scheme = if target.kind.is_custom() {
        "k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:1338"
    } else {
        target.kind.strategy.scheme()
    };
    format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"{scheme}\"")
}

/// Fields that a Scale does not have, as they are reported.
fn unknown_fields(scale: &Value) -> Vec<String> {
    const KNOWN: [(&str, &[&str]); 3] = [
        ("", &["apiVersion", "kind", "metadata", "spec", "status"]),
        ("spec", &["replicas"]),
        ("status", &["replicas", "selector"]),
    ];
    let mut unknown = Vec::new();
    for (part, known) in KNOWN {
        let members =
            if part.is_empty() { scale.as_object() } else { scale.get(part).and_then(Value::as_object) };
        for key in members.into_iter().flat_map(pleach_json::Map::keys) {
            if !known.contains(&key.as_str()) {
                let dot = if part.is_empty() { "" } else { "." };
                unknown.push(format!("unknown field {}", quote(&format!("{part}{dot}{key}"))));
            }
        }
    }
    unknown
}

impl Intent for Rescale<'_> {
    fn scale(&self) -> Option<(&Target, &Scale)> {
        Some((self.target, self.scale))
    }

    fn tracks_managers(&self) -> Option<bool> {
        Some(false)
    }

    fn uid(&self) -> Option<&str> {
        match self.change {
            Change::Replace(given) => Some(ObjectMeta::of(given).uid()).filter(|uid| !uid.is_empty()),
            Change::Json(_) | Change::Merge(_) => None,
        }
    }

    fn candidate(&mut self, live: &Live, context: &mut Context) -> Result<Option<Settled>, Rejection> {
        // An unset number stands for itself while a patch is applied, so that a patch which leaves
        // it alone can be told from one that sets it.
        const UNSET: i64 = i32::MIN as i64;
        let unset = self.scale.replicas(live).is_ok_and(|replicas| replicas.is_none());
        let now = scale::from_object_or(self.scale, live, UNSET)?;
        let new = match self.change {
            Change::Replace(given) => given.clone(),
            Change::Json(patch) => {
                let new = pleach_patch::apply_json_patch(now, patch).map_err(|_| Rejection::Unprocessable)?;
                crate::limits::check_nesting(&new, None)?;
                new
            }
            Change::Merge(patch) => pleach_patch::merge_patch(now, patch)
                .map_err(|error| Rejection::BadRequest(error.to_string()))?,
        };
        let replicas = self.read(&new, live)?;
        self.check(&new)?;
        crate::decode::report(unknown_fields(&new), self.validation, &mut context.warnings).map_err(
            |error| {
                Rejection::BadRequest(format!(
                    "Scale in version \"v1\" cannot be handled as a Scale: {error}"
                ))
            },
        )?;
        let patches = !matches!(self.change, Change::Replace(_));
        if patches && unset && replicas == UNSET {
            return Err(Rejection::BadRequest(format!(
                "the spec replicas field {} cannot be empty",
                quote(&self.scale.spec_replicas_path)
            )));
        }
        let mut object = live.value.clone();
        self.scale.set_replicas(&mut object, replicas).map_err(Rejection::Plain)?;
        scale_owners::track(self.target, self.scale, live, &mut object, &self.manager)?;
        let version: Str = ObjectMeta::of(&new).resource_version().into();
        crate::prepare::metadata_mut(&mut object).insert("resourceVersion", version);
        Ok(Some(settle::rescaled(object)))
    }
}

impl Rescale<'_> {
    /// The replicas of a Scale, if it is one.
    fn read(&self, new: &Value, live: &Live) -> Result<i64, Rejection> {
        let text = |key: &str| new.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, version) = (text("kind"), text("apiVersion"));
        let is_scale = matches!((kind, version), ("" | "Scale", "" | "autoscaling/v1"));
        let read = || {
            if is_scale { scale::read_replicas(new) } else { Err(unknown_kind(self.target, kind, version)) }
        };
        match self.change {
            Change::Replace(_) if !is_scale => {
                let problem = unknown_kind(self.target, kind, version);
                let last = version.rsplit('/').next().unwrap_or_default();
                let handled = format!("{kind} in version \"{last}\" cannot be handled as a Scale: {problem}");
                Err(Rejection::BadRequest(if self.target.kind.is_custom() { problem } else { handled }))
            }
            Change::Replace(_) => read().map_err(|problem| {
                Rejection::BadRequest(format!(
                    "Scale in version \"v1\" cannot be handled as a Scale: {problem}"
                ))
            }),
            Change::Json(_) | Change::Merge(_) => read().map_err(|problem| {
                let owned = scale_owners::with_owners(self.target, self.scale, live);
                let text = scale::patched_text(new, &owned.unwrap_or_default());
                let errors = vec![FieldError::invalid("patch", text, problem)];
                Rejection::Invalid { subject: Subject::default(), errors }
            }),
        }
    }

    /// Checks that name and namespace of the Scale are equal to the URL's.
    fn check(&self, new: &Value) -> Result<(), Rejection> {
        let name = ObjectMeta::of(new).name();
        if name.is_empty() {
            return Err(Rejection::BadRequest(format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                self.target.name()
            )));
        }
        if name != self.target.name() {
            return Err(Rejection::BadRequest(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                self.target.name()
            )));
        }
        let namespace = ObjectMeta::of(new).namespace();
        if !namespace.is_empty() && Some(namespace) != self.target.namespace.as_deref() {
            return Err(Rejection::BadRequest(
                "the namespace of the provided object does not match the namespace sent on the request"
                    .into(),
            ));
        }
        Ok(())
    }
}
