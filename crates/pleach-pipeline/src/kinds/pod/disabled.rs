//! Fields of Pods and templates whose feature gates are off by default: a new object loses them before it is validated.
//!
//! An object that has one of them keeps what it has.

use pleach_json::{Map, Value};

use crate::kinds::fields::items;

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
/// `ClusterTrustBundleProjection`, `PodCertificateRequest`
const SOURCES: [&str; 2] = ["clusterTrustBundle", "podCertificate"];

fn has_stop_signal(container: &Value) -> bool {
    container.at(&["lifecycle", "stopSignal"]).is_some()
}

fn signals(spec: &Value) -> bool {
    CONTAINERS.iter().any(|list| items(spec, list).iter().any(has_stop_signal))
}

fn sources(volume: &Value) -> &[Value] {
    volume.get("projected").map(|projected| items(projected, "sources")).unwrap_or_default()
}

fn projects(volume: &Value, source: &str) -> bool {
    sources(volume).iter().any(|one| one.get(source).is_some())
}

/// Whether a spec has any of the fields.
pub(crate) fn has_fields(spec: &Value) -> bool {
    let projects = |volume: &Value| SOURCES.iter().any(|source| projects(volume, source));
    spec.get("schedulingGroup").is_some() || signals(spec) || items(spec, "volumes").iter().any(projects)
}

/// Removes the fields from the spec of a Pod or template that replaces another.
pub(crate) fn drop_fields(spec: &mut Value, old: Option<&Value>) {
    let had = |has: &dyn Fn(&Value) -> bool| old.is_some_and(has);
    // `GenericWorkload`
    if spec.get("schedulingGroup").is_some()
        && !had(&|old| old.get("schedulingGroup").is_some())
        && let Some(members) = spec.as_object_mut()
    {
        members.remove("schedulingGroup");
    }
    // `ContainerStopSignals`
    if signals(spec) && !had(&signals) {
        CONTAINERS.iter().for_each(|list| drop_stop_signals(spec, list));
    }
    for source in SOURCES {
        let any = |spec: &Value| items(spec, "volumes").iter().any(|volume| projects(volume, source));
        if any(spec) && !had(&any) {
            drop_source(spec, source);
        }
    }
}

fn drop_stop_signals(spec: &mut Value, list: &str) {
    if !items(spec, list).iter().any(has_stop_signal) {
        return;
    }
    let Some(Value::Array(containers)) = spec.get_mut(list) else { return };
    for container in containers.iter_mut().filter(|container| has_stop_signal(container)) {
        let Some(members) = container.as_object_mut() else { continue };
        let lifecycle = members.get_mut("lifecycle").and_then(Value::as_object_mut);
        let is_empty = lifecycle.is_some_and(|lifecycle| {
            lifecycle.remove("stopSignal");
            lifecycle.is_empty()
        });
        if is_empty {
            members.remove("lifecycle");
        }
    }
}

fn drop_source(spec: &mut Value, source: &str) {
    let Some(Value::Array(volumes)) = spec.get_mut("volumes") else { return };
    for volume in volumes.iter_mut().filter(|volume| projects(volume, source)) {
        let sources = volume.get_mut("projected").and_then(|projected| projected.get_mut("sources"));
        let Some(Value::Array(sources)) = sources else { continue };
        sources
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .for_each(|one: &mut Map| drop(one.remove(source)));
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn only_what_was_there_stays() {
        let spec = json!({
            "schedulingGroup": {"podGroupName": "g"},
            "containers": [
                {"name": "a", "lifecycle": {"stopSignal": "SIGTERM"}},
                {"name": "b", "lifecycle": {"stopSignal": "SIGTERM", "preStop": {}}},
            ],
            "volumes": [{"name": "v", "projected": {"sources": [
                {"clusterTrustBundle": {"name": "x"}}, {"podCertificate": {}}, {"configMap": {"name": "c"}},
            ]}}],
        });
        let mut new = spec.clone();
        drop_fields(&mut new, None);
        assert_eq!(
            new,
            json!({
                "containers": [{"name": "a"}, {"name": "b", "lifecycle": {"preStop": {}}}],
                "volumes": [{"name": "v", "projected": {"sources": [{}, {}, {"configMap": {"name": "c"}}]}}],
            })
        );
        let mut kept = spec.clone();
        drop_fields(&mut kept, Some(&spec));
        assert_eq!(kept, spec);
    }
}
