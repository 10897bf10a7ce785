//! Type checking of policies: what is found is written once per generation.

use super::controller::Progress;
use super::*;

fn policy(expression: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": (expression)}],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn policies_are_checked_with_the_types_of_what_they_match() {
    let fixture = Fixture::new().await;
    let plural = "validatingadmissionpolicies";
    fixture.create(plural, policy("size(object.dat) > 0")).await;
    assert_eq!(fixture.get(plural, "p").await.unwrap().get("status"), Some(&json!({})));
    sleep(Duration::from_secs(6)).await;
    let found = fixture.get(plural, "p").await.unwrap();
    let text = "/v1, Kind=ConfigMap: ERROR: <input>:1:12: undefined field 'dat'\n | size(object.dat) > 0\n | ...........^\n";
    let warning = json!({"fieldRef": "spec.validations[0].expression", "warning": (text)});
    let want = json!({"observedGeneration": 1, "typeChecking": {"expressionWarnings": [(warning)]}});
    assert_eq!(found.get("status"), Some(&want));
    let owners = found.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap();
    let owner = owners.iter().find(|owner| owner.get("subresource").is_some()).unwrap();
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap();
    assert_eq!((text("manager"), text("operation")), ("validatingadmissionpolicy-status", "Apply"));
    // A change of the policy is checked anew, and what was found before goes.
    let mut changed = policy("size(object.data) > 0");
    let target = fixture.target(plural, Some("p"));
    let record = fixture.engine.stored(&target.key_of("p")).await.unwrap().unwrap();
    changed
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .unwrap()
        .insert("resourceVersion", record.revision.0.to_string());
    let body = Body { bytes: to_vec(&changed).into(), format: Format::Json };
    let options = WriteOptions::default();
    fixture.engine.update(&target, &body, &options, &mut Context::default()).await.unwrap();
    sleep(Duration::from_secs(6)).await;
    let found = fixture.get(plural, "p").await.unwrap();
    assert_eq!(found.at(&["status", "observedGeneration"]), Some(&json!(2)));
    assert_eq!(found.at(&["status", "typeChecking", "expressionWarnings"]), None);
    let revision = async || fixture.engine.stored(&target.key_of("p")).await.unwrap().unwrap().revision;
    let before = revision().await;
    sleep(Duration::from_mins(5)).await;
    assert_eq!(revision().await, before, "it is written once");
}

#[tokio::test]
async fn a_policy_without_room_for_its_status_is_not_tried_again() {
    const LIMIT: usize = 4_000;
    let engine = deterministic::engine(Arc::new(ModelStore::default())).with_max_request_bytes(LIMIT);
    engine.start().await.unwrap();
    let fixture = Fixture { engine: Arc::new(engine), webhook: Webhook::default() };
    let target = fixture.target("validatingadmissionpolicies", None);
    // The longest that there is room for.
    let mut length = LIMIT;
    loop {
        let policy = policy(&format!("'{}' == object.dat", "x".repeat(length)));
        let body = Body { bytes: to_vec(&policy).into(), format: Format::Json };
        let (options, mut context) = (WriteOptions::default(), Context::default());
        match fixture.engine.create(&target, &body, &options, &mut context).await {
            Ok(_) => break,
            Err(error) => assert!(error.is_stored_too_large(), "{error}"),
        }
        length -= 1;
    }
    let controller = policy_status::PolicyStatusController::new(fixture.engine.clone());
    let worked = controller.work(&"p".into()).await;
    assert!(matches!(worked, Ok(Progress::Finished)), "{worked:?}");
}
