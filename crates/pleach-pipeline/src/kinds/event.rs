//! Events: one object in two groups.
//!
//! An event made through `events.k8s.io` is seen in the core group and the other way round, under
//! other field names. Events are stored as the core group writes them; each group's kind has the
//! other's version beside its own, which no client can ask for by name.

mod cells;
mod validate;

use std::borrow::Cow;

use pleach_json::{Map, Str, Value};
use pleach_meta::FieldError;
use pleach_work::Constant;

use crate::error::Error;
use crate::kind::{Column, Kind, KindVersion};
use crate::kinds::manifest::Manifest;
use crate::strategy::{Role, Strategy};
use crate::typed::Typed;

static CORE_MANIFEST: Manifest = Manifest::new(include_str!("event/core.yaml"));
static EVENTS_MANIFEST: Manifest = Manifest::new(include_str!("event/events.yaml"));

/// `apiVersion` of an event in the core group.
const CORE: &str = "v1";

/// Fields by their names in the core group and in `events.k8s.io`. All others are called the same.
const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// The resource in both groups.
const PLURAL: &str = "events";

/// Whether events are stored under this group and resource.
pub fn is_stored_as(group: &str, plural: &str) -> bool {
    group.is_empty() && plural == PLURAL
}

/// The strategy of events.
#[derive(Debug)]
pub struct Event;

impl Strategy for Event {
    fn type_name(&self, version: &KindVersion) -> Option<&'static str> {
        Some(if version.api_version == CORE { "core/v1.Event" } else { "events/v1.Event" })
    }

    fn role(&self) -> Role {
        Role::Event
    }

    /// Each group's kind has the other's version as one that is not served.
    fn adjust(&self, kind: &mut Kind) {
        let (own, other) = if kind.group.is_empty() {
            (&CORE_MANIFEST, &EVENTS_MANIFEST)
        } else {
            (&EVENTS_MANIFEST, &CORE_MANIFEST)
        };
        let hidden = |version: KindVersion| KindVersion { served: false, name: Str::default(), ..version };
        let own = own.versions().into_iter();
        let others = other.versions().into_iter().map(hidden);
        kind.versions = own.chain(others).map(selected_by_source).collect();
        kind.storage = kind.versions.iter().position(|version| version.api_version == CORE).unwrap_or(0);
        kind.storage_group = Str::default();
    }

    fn columns(&self) -> Option<Vec<Column>> {
        Some(cells::columns())
    }

    fn name_is_first_column(&self) -> bool {
        false
    }

    /// The cells of both groups are those of the core group.
    fn table_object<'v>(&self, object: &'v Value) -> Cow<'v, Value> {
        in_core(object)
    }

    /// Upstream's internal type is that of the core group.
    fn error_group<'g>(&self, _: &'g str) -> &'g str {
        ""
    }

    fn complete(&self, object: &mut Value) {
        complete(object);
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::validate(object, old)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn convert<'v>(&self, object: &'v Value, _: &Typed, to: &KindVersion) -> Result<Cow<'v, Value>, Error> {
        Ok(Cow::Owned(convert(object.clone(), &to.api_version)))
    }

    fn always_written(&self, version: &KindVersion) -> Option<&'static Value> {
        static IN_CORE: Constant<Value> = Constant::new(|| blank(CORE));
        static IN_EVENTS: Constant<Value> = Constant::new(|| blank("events.k8s.io/v1"));
        Some(if version.api_version == CORE { &IN_CORE } else { &IN_EVENTS })
    }
}

/// The field selector for the reporting component is `source`.
fn selected_by_source(mut version: KindVersion) -> KindVersion {
    for field in &mut version.selectable_fields {
        if field.label == "source.component" {
            field.label = "source".into();
        }
    }
    version
}

/// An event with the field names of another group.
fn convert(event: Value, api_version: &str) -> Value {
    let Value::Object(members) = event else { return event };
    let to_core = api_version == CORE;
    let renamed = |key: Str| {
        let other = NAMES.iter().find_map(|(core, events)| {
            let (from, to) = if to_core { (events, core) } else { (core, events) };
            (key == *from).then(|| Str::new_static(to))
        });
        other.unwrap_or(key)
    };
    let mut members: Vec<(Str, Value)> =
        members.into_vec().into_iter().map(|(key, value)| (renamed(key), value)).collect();
    members.retain(|(key, _)| key != "apiVersion");
    members.push(("apiVersion".into(), api_version.into()));
    let mut event = Value::Object(Map::from(members));
    complete(&mut event);
    event
}

/// Fields that are always written, by their names in the core group: objects, times, and strings, which
/// `events.k8s.io` leaves out when they are empty.
const OBJECTS: [&str; 2] = ["involvedObject", "source"];
const TIMES: [&str; 3] = ["eventTime", "firstTimestamp", "lastTimestamp"];
const TEXTS: [&str; 2] = ["reportingComponent", "reportingInstance"];
/// Fields that are left out when they are empty.
const OPTIONAL: [&str; 4] = ["action", "message", "reason", "type"];

/// Adds the fields that upstream's Go type always writes, and removes those that it leaves out when they are empty.
fn complete(event: &mut Value) {
    let in_core = event.get("apiVersion").and_then(Value::as_str) == Some(CORE);
    let Some(members) = event.as_object_mut() else { return };
    let name = |core: &'static str| {
        if in_core {
            core
        } else {
            NAMES.iter().find(|(known, _)| *known == core).map_or(core, |names| names.1)
        }
    };
    for key in OBJECTS {
        members.get_or_insert_with(name(key), Value::object);
    }
    for key in TIMES {
        members.get_or_insert_with(name(key), Value::default);
    }
    let is_empty = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(str::is_empty);
    for key in TEXTS {
        if in_core {
            members.get_or_insert_with(key, || "".into());
        } else if is_empty(members.get(name(key))) {
            members.remove(name(key));
        }
    }
    for key in OPTIONAL {
        if is_empty(members.get(name(key))) {
            members.remove(name(key));
        }
    }
    let none = Some(&Value::Int(0));
    if members.get(name("count")) == none {
        members.remove(name("count"));
    }
    if let Some(Value::Object(series)) = members.get_mut("series") {
        series.get_or_insert_with("lastObservedTime", Value::default);
        if in_core && series.get("count") == none {
            series.remove("count");
        }
    }
}

/// The fields that an empty event has in a group.
fn blank(api_version: &'static str) -> Value {
    let mut event = Value::object();
    if let Some(members) = event.as_object_mut() {
        members.insert("apiVersion", api_version);
    }
    complete(&mut event);
    event
}

/// An event with the field names of the core group.
fn in_core(event: &Value) -> Cow<'_, Value> {
    if event.get("apiVersion").and_then(Value::as_str) == Some(CORE) {
        Cow::Borrowed(event)
    } else {
        Cow::Owned(convert(event.clone(), CORE))
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn an_event_has_two_sets_of_names() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
            "count": 2, "involvedObject": {"name": "x"}, "message": "m", "reason": "R",
            "reportingComponent": "c", "source": {"component": "c"},
        });
        let events = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
            "deprecatedCount": 2, "regarding": {"name": "x"}, "note": "m", "reason": "R",
            "reportingController": "c", "deprecatedSource": {"component": "c"},
        });
        let mut whole_core = core.clone();
        complete(&mut whole_core);
        let mut whole_events = events.clone();
        complete(&mut whole_events);
        assert_eq!(convert(core, "events.k8s.io/v1"), whole_events);
        assert_eq!(convert(events, "v1"), whole_core);
        assert_eq!(*in_core(&whole_events), whole_core);
    }

    #[test]
    fn fields_of_an_empty_event() {
        assert_eq!(
            blank("v1"),
            json!({
                "apiVersion": "v1", "eventTime": null, "firstTimestamp": null, "involvedObject": {},
                "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "", "source": {},
            })
        );
        assert_eq!(
            blank("events.k8s.io/v1"),
            json!({
                "apiVersion": "events.k8s.io/v1", "deprecatedFirstTimestamp": null,
                "deprecatedLastTimestamp": null, "deprecatedSource": {}, "eventTime": null, "regarding": {},
            })
        );
    }
}
