//! Claims and volumes, as kube-apiserver v1.36.4 answered.

use pleach_json::json;

use super::*;

fn texts(errors: Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn claims_get_a_class_later_and_shrink_no_further_than_their_volume() {
    let claim = |class: Option<&str>, storage: &str| {
        let mut claim = json!({
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "resources": {"requests": {"storage": (storage)}}},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
        });
        if let Some(class) = class {
            member(&mut claim, "spec").insert("storageClassName", class);
        }
        claim
    };
    let (without, with) = (claim(None, "2Gi"), claim(Some("fast"), "2Gi"));
    assert_eq!(texts(Claim.validate(&with, Some(&without))), [""; 0]);
    let refused = texts(Claim.validate(&without, Some(&with)));
    assert_eq!(refused, [format!("spec: Forbidden: {IMMUTABLE}\n")]);
    let shrunk = claim(None, "1Gi");
    let want = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity";
    assert_eq!(texts(Claim.validate(&shrunk, Some(&without))), [want]);
}

#[test]
fn sources_of_claims_are_named() {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        "dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
        "dataSourceRef": {"apiGroup": "Bad_", "kind": "X", "name": ""},
    });
    let mut errors = Errors::new();
    claim_spec(&spec, "spec", &mut errors);
    let found = texts(errors);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "spec.dataSourceRef.name: Required value");
    assert!(found[1].starts_with("spec.dataSourceRef.apiGroup: Invalid value: \"Bad_\": "), "{found:?}");
    assert_eq!(found[2], "spec: Invalid value: {}: must match dataSourceRef");
}

#[test]
fn affinity_of_volumes_changes_only_to_new_names_of_labels() {
    let volume = |key: &str| json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": (key), "operator": "In", "values": ["a"]}]}]}}}});
    let errors = |new: &Value, old: &Value| {
        let mut errors = Errors::new();
        volume_update(new.get("spec").unwrap(), old.get("spec").unwrap(), &mut errors);
        texts(errors)
    };
    let old = volume("failure-domain.beta.kubernetes.io/zone");
    assert_eq!(errors(&volume("topology.kubernetes.io/zone"), &old), [""; 0]);
    let refused = errors(&volume("other"), &old);
    assert_eq!(
        refused,
        [
            "nodeAffinity: Invalid value: {\"Required\":{\"NodeSelectorTerms\":[{\"MatchExpressions\":[{\"Key\":\"other\",\"Operator\":\"In\",\"Values\":[\"a\"]}],\"MatchFields\":null}]}}: field is immutable, except for updating from beta label to GA"
        ]
    );
}
