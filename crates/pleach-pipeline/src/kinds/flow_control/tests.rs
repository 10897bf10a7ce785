use pleach_json::{Value, json};
use pleach_meta::object_meta::ObjectMeta;

use super::*;

fn messages(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// A FlowSchema that is valid, changed by `how`.
fn schema(how: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut object = json!({
        "metadata": {"name": "a"},
        "spec": {
            "priorityLevelConfiguration": {"name": "b"}, "matchingPrecedence": 5,
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": "u"}}],
                "resourceRules": [{
                    "verbs": ["get"], "apiGroups": ["g"], "resources": ["r"], "namespaces": ["n"],
                }],
            }],
        },
    });
    how(object.get_mut("spec").unwrap());
    messages(&FlowSchema.validate(&object, None))
}

fn set(value: &mut Value, path: &[&str], new: Value) {
    let (last, path) = path.split_last().unwrap();
    let mut at = value;
    for key in path {
        at = match key.parse::<usize>() {
            Ok(index) => &mut at.as_array_mut().unwrap()[index],
            Err(_) => at.get_mut(key).unwrap(),
        };
    }
    at.as_object_mut().unwrap().insert(*last, new);
}

#[test]
fn bootstrap_objects_are_valid_and_complete() {
    let (mut schemas, mut levels) = (Vec::new(), Vec::new());
    for mut object in bootstrap::priority_levels() {
        PriorityLevelConfiguration.default(&mut object);
        assert_eq!(messages(&PriorityLevelConfiguration.validate(&object, None)), [""; 0], "{object:?}");
        levels.push(ObjectMeta::of(&object).name().to_owned());
    }
    for object in bootstrap::flow_schemas() {
        assert_eq!(messages(&FlowSchema.validate(&object, None)), [""; 0], "{object:?}");
        let level = text_at(&object, &["spec", "priorityLevelConfiguration", "name"]);
        assert!(levels.iter().any(|known| known == level), "{level}");
        schemas.push(ObjectMeta::of(&object).name().to_owned());
    }
    assert_eq!((schemas.len(), levels.len()), (11, 8));
}

#[test]
fn flow_schemas_are_validated() {
    assert_eq!(schema(|_| {}), [""; 0]);
    let rule: &[&str] = &["rules", "0", "resourceRules", "0"];
    let at = |key: &'static str| [rule, &[key]].concat();
    for (path, value, want) in [
        (
            vec!["matchingPrecedence"],
            json!(1),
            "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
        ),
        (
            vec!["matchingPrecedence"],
            json!(10_001),
            "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
        ),
        (
            vec!["distinguisherMethod"],
            json!({"type": "ByColour"}),
            "spec.distinguisherMethod.type: Unsupported value: {\"Type\":\"ByColour\"}: supported values: \"ByNamespace\", \"ByUser\"",
        ),
        (
            vec!["priorityLevelConfiguration"],
            json!({}),
            "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
        ),
        (
            at("verbs"),
            json!(["get", "bind"]),
            "spec.rules[0].resourceRules[0].verbs: Unsupported value: [\"get\",\"bind\"]: supported values: \"create\", \"delete\", \"deletecollection\", \"get\", \"list\", \"patch\", \"proxy\", \"update\", \"watch\"",
        ),
        (
            at("resources"),
            json!(["*", "b"]),
            "spec.rules[0].resourceRules[0].resources: Invalid value: [\"*\",\"b\"]: if '*' is present, must not specify other resources",
        ),
        (
            at("namespaces"),
            json!([]),
            "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
        ),
        (
            vec!["rules", "0", "subjects", "0", "kind"],
            json!("Group"),
            "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
        ),
    ] {
        let found = schema(|spec| set(spec, &path, value));
        assert_eq!(found.first().map(String::as_str), Some(want), "{path:?}");
    }
}

#[test]
fn mandatory_objects_have_fixed_specs() {
    let mut exempt = bootstrap::mandatory_flow_schema("exempt").unwrap();
    set(&mut exempt, &["spec", "matchingPrecedence"], json!(2));
    let found = messages(&FlowSchema.validate(&exempt, None));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("spec: Invalid value: {\"PriorityLevelConfiguration\":{\"Name\":\"exempt\"},\"MatchingPrecedence\":2,\"DistinguisherMethod\":null,\"Rules\":[{\"Subjects\":[{\"Kind\":\"Group\",\"User\":null,\"Group\":{\"Name\":\"system:masters\"},\"ServiceAccount\":null}],"), "{found:?}");
    assert!(found[0].ends_with(": spec of 'exempt' must equal the fixed value"), "{found:?}");
    let mut level = bootstrap::mandatory_priority_level("exempt").unwrap();
    set(&mut level, &["spec", "exempt", "lendablePercent"], json!(50));
    assert_eq!(messages(&PriorityLevelConfiguration.validate(&level, None)), [""; 0], "may lend");
    let mut level = bootstrap::mandatory_priority_level("catch-all").unwrap();
    set(&mut level, &["spec", "limited", "lendablePercent"], json!(50));
    assert_eq!(
        messages(&PriorityLevelConfiguration.validate(&level, None)),
        [
            "spec: Invalid value: {\"Type\":\"Limited\",\"Limited\":{\"NominalConcurrencyShares\":5,\"LimitResponse\":{\"Type\":\"Reject\",\"Queuing\":null},\"LendablePercent\":50,\"BorrowingLimitPercent\":null},\"Exempt\":null}: spec of 'catch-all' must equal the fixed value"
        ]
    );
}

#[test]
fn priority_levels_are_defaulted_and_validated() {
    let mut level = json!({
        "metadata": {"name": "a"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}},
    });
    PriorityLevelConfiguration.default(&mut level);
    let want = json!({
        "nominalConcurrencyShares": 30, "lendablePercent": 0,
        "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}},
    });
    assert_eq!(level.at(&["spec", "limited"]), Some(&want));
    assert_eq!(messages(&PriorityLevelConfiguration.validate(&level, None)), [""; 0]);
    let queuing: &[&str] = &["spec", "limited", "limitResponse", "queuing"];
    for (path, value, want) in [
        (
            [queuing, &["handSize"]].concat(),
            json!(11),
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 11: required entropy bits of deckSize 64 and handSize 11 should not be greater than 60",
        ),
        (
            [queuing, &["queues"]].concat(),
            json!(4),
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)",
        ),
        (
            vec!["spec", "type"],
            json!("Exempt"),
            "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
        ),
        (
            vec!["spec", "limited", "limitResponse", "type"],
            json!("Reject"),
            "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited",
        ),
    ] {
        let mut changed = level.clone();
        set(&mut changed, &path, value);
        let found = messages(&PriorityLevelConfiguration.validate(&changed, None));
        assert_eq!(found.first().map(String::as_str), Some(want), "{path:?}");
    }
}

#[test]
fn a_condition_says_whether_the_level_exists() {
    let schema = json!({"spec": {"priorityLevelConfiguration": {"name": "b"}}});
    let condition = dangling_condition(&schema, false, "2026-01-01T00:00:00Z");
    assert_eq!(text(&condition, "status"), "True");
    assert_eq!(
        text(&condition, "message"),
        "This FlowSchema references the PriorityLevelConfiguration object named \"b\" but there is no such object"
    );
    let with = json!({"status": {"conditions": [(condition.clone())]}});
    assert!(has_condition(&with, &dangling_condition(&schema, false, "2027-01-01T00:00:00Z")));
    assert!(!has_condition(&with, &dangling_condition(&schema, true, "2026-01-01T00:00:00Z")));
}
