//! Events: one object, two groups.
//!
//! An event made through `events.k8s.io` is seen in the core group and the other way round, under
//! other field names. Events are stored as the core group writes them; each group's kind has the
//! other's version beside its own, which no client can ask for by name.

mod validate;

use std::borrow::Cow;

use pleach_json::{Map, Str, Value};

pub(crate) use self::validate::validate;

use crate::compile;
use crate::kind::{Conversion, Kind, KindVersion};

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

/// The kind of one group, with the version of the other.
pub(super) fn kind(own: &pleach_crd::Crd, other: &pleach_crd::Crd) -> Kind {
    let mut kind = compile::kind(own);
    let hidden = |version: KindVersion| KindVersion { served: false, name: Str::default(), ..version };
    let versions = compile::version_list(&own.spec, &own.spec.names);
    let others = compile::version_list(&other.spec, &other.spec.names);
    let versions = versions.into_iter().chain(others.into_iter().map(hidden)).map(selected_by_source);
    kind.versions = versions.collect();
    kind.storage = kind.versions.iter().position(|version| version.api_version == CORE).unwrap_or(0);
    kind.conversion = Conversion::Event;
    kind.storage_group = Str::default();
    kind
}

/// Selectors call who reports an event its source.
fn selected_by_source(mut version: KindVersion) -> KindVersion {
    for field in &mut version.selectable_fields {
        if field.label == "source.component" {
            field.label = "source".into();
        }
    }
    version
}

/// An event in the words of another group.
pub(crate) fn convert(event: Value, api_version: &str) -> Value {
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

/// Fields that are there even if nothing was said of them, by their names in the core group: objects, times,
/// and texts, which `events.k8s.io` leaves out instead.
const OBJECTS: [&str; 2] = ["involvedObject", "source"];
const TIMES: [&str; 3] = ["eventTime", "firstTimestamp", "lastTimestamp"];
const TEXTS: [&str; 2] = ["reportingComponent", "reportingInstance"];
/// Fields that are left out if nothing was said of them.
const OPTIONAL: [&str; 4] = ["action", "message", "reason", "type"];

/// Puts in what upstream's type of an event always has, and leaves out what it has only with something in it.
pub(crate) fn complete(event: &mut Value) {
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

/// What an event of which nothing was said has in a group.
pub(crate) fn blank(api_version: &'static str) -> Value {
    let mut event = Value::object();
    if let Some(members) = event.as_object_mut() {
        members.insert("apiVersion", api_version);
    }
    complete(&mut event);
    event
}

/// An event as the core group has it: what tables are made from.
pub(crate) fn in_core(event: &Value) -> Cow<'_, Value> {
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
    fn what_nothing_is_said_of() {
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
