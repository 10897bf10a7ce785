//! `matchLabelKeys` and `mismatchLabelKeys`: a new Pod's own labels are put into the selectors that name their keys.

use pleach_json::{Map, Value, json};

use crate::kinds::fields::{each_mut, object_mut};

/// Completes the selectors of affinities and topology spread constraints.
pub(super) fn merge(pod: &mut Value) {
    let Some(labels) = pod.at(&["metadata", "labels"]).and_then(Value::as_object).cloned() else { return };
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    each_mut(spec, "topologySpreadConstraints", |constraint| complete(constraint, &labels));
    let Some(affinity) = object_mut(spec, "affinity") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(terms) = object_mut(affinity, kind) else { continue };
        each_mut(terms, "preferredDuringSchedulingIgnoredDuringExecution", |weighted| {
            if let Some(term) = object_mut(weighted, "podAffinityTerm") {
                complete(term, &labels);
            }
        });
        each_mut(terms, "requiredDuringSchedulingIgnoredDuringExecution", |term| complete(term, &labels));
    }
}

fn complete(term: &mut Map, labels: &Map) {
    let mut added: Vec<Value> = Vec::new();
    for (list, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = term.get(list).and_then(Value::as_array).into_iter().flat_map(|keys| keys.iter());
        for key in keys.filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                added.push(json!({"key": key, "operator": operator, "values": [(value.clone())]}));
            }
        }
    }
    if added.is_empty() {
        return;
    }
    if let Some(selector) = object_mut(term, "labelSelector")
        && let Value::Array(expressions) =
            selector.get_or_insert_with("matchExpressions", || Value::from(Vec::new()))
    {
        added.into_iter().for_each(|expression| expressions.push(expression));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_the_pod_are_put_into_selectors_that_are_there() {
        let mut pod = json!({
            "metadata": {"labels": {"hash": "h", "tenant": "t"}},
            "spec": {
                "topologySpreadConstraints": [
                    {"labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["hash", "absent"]},
                    {"matchLabelKeys": ["hash"]},
                ],
                "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"podAffinityTerm": {"labelSelector": {}, "mismatchLabelKeys": ["tenant"]}},
                ]}},
            },
        });
        merge(&mut pod);
        let spread = pod.at(&["spec", "topologySpreadConstraints"]).and_then(Value::as_array).unwrap();
        let hash = json!([{"key": "hash", "operator": "In", "values": ["h"]}]);
        assert_eq!(spread[0].at(&["labelSelector", "matchExpressions"]), Some(&hash));
        assert_eq!(spread[1], json!({"matchLabelKeys": ["hash"]}), "no selector matches nothing");
        let terms = pod.at(&["spec", "affinity", "podAntiAffinity"]).unwrap();
        let terms =
            terms.get("preferredDuringSchedulingIgnoredDuringExecution").and_then(Value::as_array).unwrap();
        let tenant = json!([{"key": "tenant", "operator": "NotIn", "values": ["t"]}]);
        assert_eq!(terms[0].at(&["podAffinityTerm", "labelSelector", "matchExpressions"]), Some(&tenant));
    }
}
