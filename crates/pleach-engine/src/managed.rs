//! Who owns which fields: the managers of an object, kept up to date on every write.
//!
//! The work is done by `pleach_apply`; here is what it must know of a kind: the types of its versions
//! and the fields that each endpoint leaves alone. CRDs are typed objects without a schema of their
//! own; what their owners must know is written down here.

pub(crate) mod scale;

use std::borrow::Cow;

use pleach_apply::{ManagedFields, ManagedFieldsText, Request, Set, Tracker, Type, Versions};
use pleach_json::{Map, Str, Value, json};
use pleach_schema::{Schema, SchemaOptions};
use pleach_work::Constant;

use crate::builtin::events;
use crate::convert::Conversions;
use crate::engine::Engine;
use crate::kind::{Conversion, Strategy};
use crate::limits;
use crate::live::Live;
use crate::options::{Context, WriteOptions};
use crate::prepare::metadata_mut;
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};

/// Who writes, in which way, and when.
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

/// Works out who owns the fields of `new`, which is about to replace `live`. Whether owners could be told
/// comes back.
pub(crate) fn track(target: &Target, live: Option<&Live>, new: &mut Value, manager: &Manager) -> bool {
    Tracker::new(&Endpoint::over(target, live), manager.request(target))
        .with_tracked_live(live.is_some_and(|live| live.verified.tracked))
        .update(live.map(|live| &live.value), new)
}

/// Works out who owns the fields of a new object.
pub(crate) fn track_new(target: &Target, new: &mut Value, manager: &Manager) {
    Tracker::new(&Endpoint::over(target, None), manager.request(target)).update(None, new);
}

/// What every object of a kind has, in upstream's eyes even before it is made: the fields of typed objects
/// that are structs and never left out.
fn blank(target: &Target) -> Option<&'static Value> {
    static DEFINITION: Constant<Value> = Constant::new(|| json!({"spec": {"names": {}}}));
    static NAMESPACE: Constant<Value> = Constant::new(|| json!({"spec": {}, "status": {}}));
    static LEASE: Constant<Value> = Constant::new(|| json!({"spec": {}}));
    static CORE_EVENT: Constant<Value> = Constant::new(|| events::blank("v1"));
    static EVENT: Constant<Value> = Constant::new(|| events::blank("events.k8s.io/v1"));
    let kind = &target.kind;
    match (kind.strategy, kind.plural.as_str()) {
        (Strategy::CustomResourceDefinition, _) => Some(&DEFINITION),
        (Strategy::Namespace, _) => Some(&NAMESPACE),
        (Strategy::BuiltIn, "leases") => Some(&LEASE),
        (Strategy::BuiltIn, "events") if target.version().api_version == "v1" => Some(&CORE_EVENT),
        (Strategy::BuiltIn, "events") => Some(&EVENT),
        _ => None,
    }
}

/// The managed fields of a new object as text, where that is told without making a value of them.
pub(crate) fn text_of_new(target: &Target, new: &Value, manager: &Manager) -> Option<ManagedFieldsText> {
    // What is converted on its way to the store has them in it.
    if target.version != target.kind.storage || blank(target).is_some() {
        return None;
    }
    let written =
        Tracker::new(&Endpoint::over(target, None), manager.request(target)).managed_fields_text(new)?;
    debug_assert!(
        // What is nested too deep is refused later.
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

/// Puts the owners of an object back if somebody made something unreadable of them.
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

/// The server's own update of a CRD's status.
pub(crate) fn track_own_status(engine: &Engine, live: Value, new: &mut Value) {
    let Some(kind) = engine.catalog.get(crate::crd::GROUP, crate::crd::PLURAL) else { return };
    let version = kind.storage;
    let target = Target { kind, version, namespace: None, name: None, subresource: Subresource::Status };
    let manager = Manager {
        name: "kube-apiserver".into(),
        api_version: target.version().api_version.clone(),
        subresource: target.subresource.as_str(),
        time: engine.now(),
    };
    track(&target, Some(&live.into()), new, &manager);
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
    /// What is known of conversions that take somebody outside.
    conversions: Option<&'a Conversions>,
}

impl<'a> Endpoint<'a> {
    /// An endpoint that is about to change a live object, or to make a new one.
    pub(crate) fn over(target: &'a Target, live: Option<&'a Live>) -> Self {
        Self { target, conversions: live.and_then(|live| live.conversions.as_deref()) }
    }
}

impl Versions for Endpoint<'_> {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        let kind = &self.target.kind;
        let version = kind.versions.iter().find(|version| version.api_version == api_version)?;
        if kind.strategy == Strategy::CustomResourceDefinition {
            return Some(Type::of(if version.name == "v1" { &DEFINITION } else { &OLD_DEFINITION }));
        }
        Some(Type::of(version.schema.get()))
    }

    fn convert<'v>(&self, object: &'v Value, to: &str) -> Result<Cow<'v, Value>, String> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(to) {
            return Ok(Cow::Borrowed(object));
        }
        match &self.target.kind.conversion {
            Conversion::None => Ok(Cow::Borrowed(object)),
            Conversion::Event => Ok(Cow::Owned(events::convert(object.clone(), to))),
            Conversion::CustomResourceDefinition => {
                let version = to.rsplit('/').next().unwrap_or_default();
                let converted = crate::crd::convert(object.clone(), version);
                converted.map(Cow::Owned).map_err(|error| error.to_string())
            }
            Conversion::Webhook(_) => match self.conversions {
                Some(conversions) => conversions.get(object, to).map(Cow::Owned),
                // A new object has owners in its own version only.
                None => Ok(Cow::Borrowed(object)),
            },
        }
    }

    fn reset(&self, api_version: &str) -> Option<&Set> {
        static STATUS: Constant<Set> = Constant::new(|| Set::of_fields(&[&["status"]]));
        static REST: Constant<Set> = Constant::new(|| Set::of_fields(&[&["metadata"], &["spec"]]));
        static SPEC: Constant<Set> = Constant::new(|| Set::of_fields(&[&["spec"]]));
        let target = self.target;
        // The status endpoints of these let metadata through.
        let takes_metadata =
            matches!(target.kind.strategy, Strategy::Namespace | Strategy::CustomResourceDefinition);
        match target.subresource {
            Subresource::Status if takes_metadata => Some(&SPEC),
            Subresource::Status => Some(&REST),
            Subresource::None | Subresource::Finalize => {
                let version = target.version();
                (version.status && version.api_version == api_version).then_some(&*STATUS)
            }
            Subresource::Scale => None,
        }
    }

    fn blank(&self) -> Option<&Value> {
        blank(self.target)
    }

    fn missing(&self, api_version: &str) -> Option<String> {
        let custom = self.target.kind.is_custom();
        custom.then(|| format!("request to convert CR to an invalid group/version: {api_version}"))
    }
}

/// What owners must know of a CRD.
static DEFINITION: Constant<Schema> = Constant::new(|| definition(false));
static OLD_DEFINITION: Constant<Schema> = Constant::new(|| definition(true));

fn definition(old: bool) -> Schema {
    let text = || json!({"type": "string"});
    let flag = || json!({"type": "boolean"});
    let number = || json!({"type": "integer"});
    let anything = || json!({"x-kubernetes-preserve-unknown-fields": true});
    let object = |properties: Value| json!({"type": "object", "properties": (properties)});
    let list = |items: Value| json!({"type": "array", "items": (items), "x-kubernetes-list-type": "atomic"});
    let names = object(json!({
        "categories": (list(text())),
        "kind": (text()),
        "listKind": (text()),
        "plural": (text()),
        "shortNames": (list(text())),
        "singular": (text()),
    }));
    let client = object(json!({
        "caBundle": (text()),
        "service": (object(json!({
            "name": (text()), "namespace": (text()), "path": (text()), "port": (number()),
        }))),
        "url": (text()),
    }));
    let column = |path: &str| {
        let mut column = Map::new();
        for key in ["description", "format", path, "name", "type"] {
            column.insert(key, text());
        }
        column.insert("priority", number());
        list(object(column.into()))
    };
    let schema = object(json!({"openAPIV3Schema": (anything())}));
    let selectable = list(object(json!({"jsonPath": (text())})));
    let subresources = object(json!({
        "scale": (object(json!({
            "labelSelectorPath": (text()),
            "specReplicasPath": (text()),
            "statusReplicasPath": (text()),
        }))),
        "status": {"type": "object"},
    }));
    let column_path = if old { "JSONPath" } else { "jsonPath" };
    let version = object(json!({
        "additionalPrinterColumns": (column(column_path)),
        "deprecated": (flag()),
        "deprecationWarning": (text()),
        "name": (text()),
        "schema": (schema.clone()),
        "selectableFields": (selectable.clone()),
        "served": (flag()),
        "storage": (flag()),
        "subresources": (subresources.clone()),
    }));
    let conversion = if old {
        object(json!({
            "conversionReviewVersions": (list(text())),
            "strategy": (text()),
            "webhookClientConfig": (client),
        }))
    } else {
        object(json!({
            "strategy": (text()),
            "webhook": (object(json!({
                "clientConfig": (client), "conversionReviewVersions": (list(text())),
            }))),
        }))
    };
    let mut spec = Map::new();
    spec.insert("conversion", conversion);
    spec.insert("group", text());
    spec.insert("names", names.clone());
    spec.insert("preserveUnknownFields", flag());
    spec.insert("scope", text());
    spec.insert("versions", list(version));
    if old {
        spec.insert("additionalPrinterColumns", column(column_path));
        spec.insert("selectableFields", selectable);
        spec.insert("subresources", subresources);
        spec.insert("validation", schema);
        spec.insert("version", text());
    }
    let condition = object(json!({
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "message": (text()),
        "observedGeneration": (number()),
        "reason": (text()),
        "status": (text()),
        "type": {"type": "string", "default": ""},
    }));
    let status = object(json!({
        "acceptedNames": (names),
        "conditions": {
            "type": "array",
            "items": (condition),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
        "observedGeneration": (number()),
        "storedVersions": (list(text())),
    }));
    let whole = object(json!({"spec": (object(spec.into())), "status": (status)}));
    Schema::from_value(&whole, SchemaOptions::default())
}
