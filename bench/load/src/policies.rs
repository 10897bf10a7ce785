//! The cost that admission policies add to a write: engines with and without policies take the same batches in turns, and the
//! fastest of each counts.

use pleach_json::{Value, json, to_vec};

use crate::engine::Bench;

const GROUP: &str = "admissionregistration.k8s.io";
/// Objects that are changed in turn.
const OBJECTS: usize = 64;

/// An engine with policies.
struct Case {
    name: &'static str,
    bench: Bench,
    /// How many policies there are.
    policies: usize,
}

/// Prints the cost that policies add to writes.
pub(crate) async fn measure(batches: usize) {
    let plain = Bench::new(OBJECTS).await;
    let mut cases = Vec::new();
    for (name, policies, constraints) in [
        ("match", 10, json!({"resourceRules": [(rule("bench.pleach.example", "gadgets"))]})),
        ("other resources", 1_000, json!({"resourceRules": [(rule("bench.pleach.example", "others"))]})),
        ("other groups", 1_000, json!({"resourceRules": [(rule("others.example", "*"))]})),
        (
            "other labels",
            1_000,
            json!({"resourceRules": [(rule("*", "*"))], "objectSelector": {"matchLabels": {"no": "such"}}}),
        ),
    ] {
        cases.push(case(name, policies, constraints).await);
    }
    println!("{:<10} {:<18} {:>9} {:>14} {:>14}", "operation", "policies", "µs", "µs more", "ns per policy");
    for operation in ["create", "update", "patch", "apply"] {
        let mut fastest = vec![f64::INFINITY; cases.len() + 1];
        for batch in 0..batches {
            fastest[0] = fastest[0].min(plain.batch(operation, batch).await);
            for (case, fastest) in cases.iter().zip(&mut fastest[1..]) {
                *fastest = fastest.min(case.bench.batch(operation, batch).await);
            }
        }
        println!("{operation:<10} {:<18} {:>9.1}", "none", fastest[0]);
        for (case, took) in cases.iter().zip(&fastest[1..]) {
            let more = took - fastest[0];
            let name = format!("{} {}", case.policies, case.name);
            println!(
                "{operation:<10} {name:<18} {took:>9.1} {more:>14.2} {:>14.1}",
                more * 1e3 / case.policies as f64
            );
        }
    }
}

fn rule(group: &str, resource: &str) -> Value {
    json!({"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource]})
}

async fn case(name: &'static str, policies: usize, constraints: Value) -> Case {
    let bench = Box::pin(Bench::new(OBJECTS)).await;
    let target = |plural: &str| bench.target(GROUP, plural, "", None);
    for n in 0..policies {
        let policy = format!("policy-{n}");
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": (policy.as_str())},
            "spec": {"matchConstraints": (constraints.clone()), "validations": [
                {"expression": "object.spec.step >= 0"},
                {"expression": "has(object.spec) && object.metadata.name != ''"},
                {"expression": "request.operation != 'DELETE' && object.kind == 'Gadget'"},
            ]},
        });
        bench.create(&target("validatingadmissionpolicies"), to_vec(&object).into()).await;
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": (policy.as_str())},
            "spec": {"policyName": (policy.as_str()), "validationActions": ["Deny"]},
        });
        bench.create(&target("validatingadmissionpolicybindings"), to_vec(&binding).into()).await;
    }
    Case { name, bench, policies }
}
