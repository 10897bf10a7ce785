//! Events: one object, two groups.
//!
//! An event made through `events.k8s.io` is seen in the core group and the other way round, under
//! other field names. Events are stored as the core group writes them; each group's kind has the
//! other's version beside its own, which no client can ask for by name.

use std::borrow::Cow;

use pleach_json::{Map, Str, Value};

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
    kind.versions = versions.into_iter().chain(others.into_iter().map(hidden)).collect();
    kind.storage = kind.versions.iter().position(|version| version.api_version == CORE).unwrap_or(0);
    kind.conversion = Conversion::Event;
    kind.storage_group = Str::default();
    kind
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
    Value::Object(Map::from(members))
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
        assert_eq!(convert(core.clone(), "events.k8s.io/v1"), events);
        assert_eq!(convert(events.clone(), "v1"), core);
        assert_eq!(*in_core(&events), core);
    }
}
