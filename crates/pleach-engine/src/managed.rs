//! Field managers: `metadata.managedFields` is kept up to date on every write.
//!
//! Connects `pleach_apply` to kinds: the types of their versions
//! and the fields that each endpoint does not change.

pub(crate) mod scale;

use std::borrow::Cow;

use pleach_apply::{ManagedFields, ManagedFieldsText, Request, Set, Tracker, Type, Versions};
use pleach_crd::{ApiVersion, Crd};
use pleach_json::{Str, Value};
use pleach_pipeline::Typed;
use pleach_work::Constant;

use crate::convert::Conversions;
use crate::engine::Engine;
use crate::kinds::crd;
use crate::limits;
use crate::live::Live;
use crate::options::{Context, WriteOptions};
use crate::prepare::metadata_mut;
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};

/// The field manager of a request: name, version, subresource and time.
#[derive(Clone, Debug)]
pub struct Manager {
    /// The manager's name.
    pub name: Str,
    /// The version the request was made in.
    pub api_version: Str,
    /// The subresource, or empty.
    pub subresource: &'static str,
    /// The time, as managed fields write it.
    pub time: Str,
}

impl Manager {
    /// The manager of a request that is not an apply.
    pub fn update(engine: &Engine, target: &Target, options: &WriteOptions, context: &Context) -> Self {
        Self {
            name: context.manager(&options.field_manager),
            api_version: target.version().api_version.clone(),
            subresource: target.subresource.as_str(),
            time: engine.now(),
        }
    }

    /// The request as field ownership sees it.
    pub(crate) fn request<'a>(&'a self, target: &'a Target) -> Request<'a> {
        Request {
            manager: &self.name,
            api_version: &self.api_version,
            kind: &target.kind.kind,
            subresource: self.subresource,
            time: &self.time,
        }
    }
}

/// Tracks field managers of `new`, which is about to replace `live`; `typed` is its typed form, if that is known.
/// Returns whether that was possible.
pub(crate) fn track(
    target: &Target,
    live: Option<&Live>,
    new: &mut Value,
    typed: &Typed,
    manager: &Manager,
) -> bool {
    Tracker::new(&Endpoint::over(target, live).with_form(new, typed), manager.request(target))
        .with_tracked_live(live.is_some_and(|live| live.verified.tracked))
        .update(live.map(|live| &live.value), new)
}

/// Tracks field managers of a new object.
pub(crate) fn track_new(target: &Target, new: &mut Value, manager: &Manager) {
    Tracker::new(&Endpoint::over(target, None), manager.request(target)).update(None, new);
}

/// Validates a new object and works out its managed fields as text, where one walk does both.
pub(crate) fn text_of_new(target: &Target, new: &Value, manager: &Manager) -> Option<ManagedFieldsText> {
    // An object that is converted on its way to the store has them in it.
    if target.version != target.kind.storage
        || target.kind.strategy.always_written(target.version()).is_some()
    {
        return None;
    }
    let written =
        Tracker::new(&Endpoint::over(target, None), manager.request(target)).validate_and_track_new(new)?;
    debug_assert!(
        // An object that is nested too deep is refused later.
        pleach_json::parse(written.text()).is_err_and(|_| limits::check_nesting(new, None).is_err())
            || pleach_json::parse(written.text()).ok() == {
                let mut new = new.clone();
                track_new(target, &mut new, manager);
                new.at(&["metadata", "managedFields"]).cloned()
            },
        "both ways tell the same"
    );
    Some(written)
}

/// Puts managed fields that are written already into an object.
///
/// An object that is nested too deep to be stored has managed fields that are nested too deep to be read.
pub(crate) fn put_text(object: &mut Value, written: &ManagedFieldsText) -> Result<(), Rejection> {
    limits::check_nesting(object, None)?;
    let managed = pleach_json::parse(written.text())
        .map_err(|error| Rejection::internal(format!("managed fields cannot be read: {error}")))?;
    metadata_mut(object).insert("managedFields", managed);
    Ok(())
}

/// Puts the owners of an object back if a write made them undecodable.
pub(crate) fn keep_readable(object: &mut Value, before: Option<Value>, context: &mut Context) {
    let Some(now) = object.at(&["metadata", "managedFields"]) else { return };
    if Some(now) == before.as_ref() {
        return;
    }
    if let Err(problem) = ManagedFields::decode(now) {
        context.warn(format!(
            ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: {problem}"
        ));
        match before {
            Some(before) => metadata_mut(object).insert("managedFields", before),
            None => metadata_mut(object).remove("managedFields"),
        };
    }
}

/// The server's own update of a CRD's status. `was` and `is` are the typed forms before and after.
pub(crate) fn track_own_status(engine: &Engine, was: &Crd, is: &Crd, new: &mut Value) {
    let Some(kind) = engine.catalog.get(crd::GROUP, crd::PLURAL) else { return };
    let version = kind.storage;
    let target = Target { kind, version, namespace: None, name: None, subresource: Subresource::Status };
    let manager = Manager {
        name: "kube-apiserver".into(),
        api_version: target.version().api_version.clone(),
        subresource: target.subresource.as_str(),
        time: engine.now(),
    };
    let mut live = Live::from(was.encode(ApiVersion::V1));
    live.typed = crd::typed_form(was.clone());
    track(&target, Some(&live), new, &crd::typed_form(is.clone()), &manager);
}

/// Entries that differ from the live object's only in their time keep the time they had, if nothing
/// else of the object differs.
pub(crate) fn keep_times(live: &Value, new: &mut Value) {
    fn of(object: &Value) -> Option<&pleach_json::Array> {
        object.at(&["metadata", "managedFields"])?.as_array()
    }
    let (Some(was), Some(is)) = (of(live), of(new)) else { return };
    let differs = was != is;
    if differs && was.len() == is.len() && same_but(live, new, "metadata", same_metadata) {
        let was = Value::Array(was.clone());
        metadata_mut(new).insert("managedFields", was);
    }
}

/// Whether two objects are equal, with one member compared in its own way.
fn same_but(a: &Value, b: &Value, key: &str, same: fn(&Value, &Value) -> bool) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return false };
    let member = |(name, value): &(Str, Value), (other, another): &(Str, Value)| {
        name == other && if name == key { same(value, another) } else { value == another }
    };
    a.len() == b.len() && a.entries().iter().zip(b.entries()).all(|(a, b)| member(a, b))
}

fn same_metadata(a: &Value, b: &Value) -> bool {
    same_but(a, b, "managedFields", |a, b| {
        let (Some(a), Some(b)) = (a.as_array(), b.as_array()) else { return false };
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_but(a, b, "time", |_, _| true))
    })
}

/// The versions of a kind as one of its endpoints has them.
pub(crate) struct Endpoint<'a> {
    target: &'a Target,
    /// Known results of conversion webhooks.
    conversions: Option<&'a Conversions>,
    /// Objects whose typed forms are known.
    forms: Vec<(Value, Typed)>,
}

impl<'a> Endpoint<'a> {
    /// An endpoint that is about to change a live object, or to make a new one.
    pub(crate) fn over(target: &'a Target, live: Option<&'a Live>) -> Self {
        let endpoint = Self {
            target,
            conversions: live.and_then(|live| live.conversions.as_deref()),
            forms: Vec::new(),
        };
        match live {
            Some(live) => endpoint.with_form(&live.value, &live.typed),
            None => endpoint,
        }
    }

    /// The same with an object whose typed form is known, so that it is not decoded to be converted.
    fn with_form(mut self, object: &Value, typed: &Typed) -> Self {
        if typed.is_known() {
            self.forms.push((object.clone(), typed.clone()));
        }
        self
    }

    /// The typed form of an object, which is that of every object with the same members besides its metadata.
    fn typed_form(&self, object: &Value) -> Typed {
        let same = |(known, _): &&(Value, Typed)| {
            ["apiVersion", "spec", "status"].iter().all(|key| known.get(key) == object.get(key))
        };
        self.forms.iter().find(same).map(|(_, typed)| typed.clone()).unwrap_or_default()
    }
}

impl Versions for Endpoint<'_> {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        let kind = &self.target.kind;
        let version = kind.versions.iter().find(|version| version.api_version == api_version)?;
        let own = kind.strategy.apply_schema(version);
        Some(Type::of(own.unwrap_or_else(|| version.schema.get())))
    }

    fn convert<'v>(&self, object: &'v Value, to: &str) -> Result<Cow<'v, Value>, String> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(to) {
            return Ok(Cow::Borrowed(object));
        }
        let kind = &self.target.kind;
        if kind.has_conversion_webhook() {
            return match self.conversions {
                Some(conversions) => conversions.get(object, to).map(Cow::Owned),
                // A new object has managers in its own version only.
                None => Ok(Cow::Borrowed(object)),
            };
        }
        match kind.versions.iter().find(|version| version.api_version == to) {
            Some(version) => kind
                .strategy
                .convert(object, &self.typed_form(object), version)
                .map_err(|error| error.to_string()),
            None => Ok(Cow::Borrowed(object)),
        }
    }

    fn reset(&self, api_version: &str) -> Option<&Set> {
        static STATUS: Constant<Set> = Constant::new(|| Set::of_fields(&[&["status"]]));
        static REST: Constant<Set> = Constant::new(|| Set::of_fields(&[&["metadata"], &["spec"]]));
        static SPEC: Constant<Set> = Constant::new(|| Set::of_fields(&[&["spec"]]));
        let target = self.target;
        match target.subresource {
            Subresource::Status if target.kind.strategy.status_changes_metadata() => Some(&SPEC),
            Subresource::Status => Some(&REST),
            Subresource::None | Subresource::Finalize => {
                let version = target.version();
                (version.status && version.api_version == api_version).then_some(&*STATUS)
            }
            _ => None,
        }
    }

    fn blank(&self) -> Option<&Value> {
        self.target.kind.strategy.always_written(self.target.version())
    }

    fn missing(&self, api_version: &str) -> Option<String> {
        let custom = self.target.kind.is_custom();
        custom.then(|| format!("request to convert CR to an invalid group/version: {api_version}"))
    }
}
