//! `--enable-priority-and-fairness=false`: reads and writes have a limit each, without queues, fairness and headers.
//! The limits are written as the configuration of two levels.

use pleach_engine::flow_control::FlowControlObjects;
use pleach_engine::kinds::flow_control::bootstrap;
use pleach_json::{Value, json};

use crate::inflight::InflightLimits;

/// A level for reads, one for writes, and the exempt one for `system:masters`.
pub(super) fn objects(limits: &InflightLimits) -> FlowControlObjects {
    let level = |name: &str, seats: usize| {
        json!({
            "metadata": {"name": (name)},
            "spec": {"type": "Limited", "limited": {
                "nominalConcurrencyShares": (seats as i64), "lendablePercent": 0, "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"},
            }},
        })
    };
    let schema = |name: &str, precedence: i64, verbs: Vec<Value>| {
        json!({
            "metadata": {"name": (name)},
            "spec": {
                "priorityLevelConfiguration": {"name": (name)}, "matchingPrecedence": (precedence),
                "rules": [{
                    "subjects": [{"kind": "Group", "group": {"name": "*"}}],
                    "resourceRules": [{
                        "verbs": (verbs.clone()), "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"],
                        "clusterScope": true,
                    }],
                    "nonResourceRules": [{"verbs": (verbs), "nonResourceURLs": ["*"]}],
                }],
            },
        })
    };
    let reads = ["get", "list", "watch", "head", "options"].map(Value::from).to_vec();
    FlowControlObjects {
        schemas: bootstrap::mandatory_flow_schema("exempt")
            .into_iter()
            .chain([schema("readonly", 10, reads), schema("mutating", 20, vec!["*".into()])])
            .collect(),
        levels: bootstrap::mandatory_priority_level("exempt")
            .into_iter()
            .chain([level("readonly", limits.readonly), level("mutating", limits.mutating)])
            .chain([level("catch-all", 0)])
            .collect(),
    }
}
