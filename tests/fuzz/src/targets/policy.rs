//! Admission policies: any object as a policy, validated, compiled and evaluated.

use std::sync::Arc;

use pleach_apply::Type;
use pleach_auth::{AlwaysAllow, UserInfo};
use pleach_cel::eval::RUNTIME_COST_BUDGET;
use pleach_json::{Value, json};
use pleach_pipeline::gates::Gates;
use pleach_pipeline::kind::Kind;
use pleach_pipeline::kinds::admission_policy::type_check::expression_warnings;
use pleach_pipeline::kinds::{admission_policy, minimal};
use pleach_pipeline::offline;
use pleach_pipeline::resource::Resource;
use pleach_policy::{
    AdmissionRequest, CONDITIONS_BUDGET, Input, Operation, PatchType, Policy, RequestAuthorizer,
    admission_request,
};
use pleach_schema::Record;
use pleach_work::Constant;

use crate::bytes::{Bytes, seeds, split};
use crate::rules;

static KINDS: Constant<Vec<Kind>> = Constant::new(|| minimal(Gates::default()).chain(all()).collect());

fn all() -> impl Iterator<Item = Kind> {
    pleach_pipeline::kinds::all(Gates::default()).filter(|kind| kind.group == admission_policy::GROUP)
}

/// A policy is refused with errors, or decoded, compiled and evaluated within its budgets; and what it says of an
/// object is the same twice. A policy that would be refused does no harm either.
pub(super) fn policy(data: &[u8]) {
    let (text, rest) = split(data);
    let Ok(mut policy) = pleach_json::parse(text) else { return };
    // Expressions from the grammar in the place of some.
    let mut bytes = Bytes(rest);
    let validations = policy.get_mut("spec").and_then(|spec| spec.get_mut("validations"));
    if let Some(first) = validations.and_then(Value::as_array_mut)
        && let Some(first) = first.first_mut().and_then(Value::as_object_mut)
        && bytes.next() % 2 == 1
    {
        first.insert("expression", rules::source(&mut bytes).replace("self", "object"));
    }
    let name = policy.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = KINDS.iter().find(|kind| kind.kind == name);
    if let Some(kind) = kind {
        let resource = Resource::new(kind, 0);
        let Ok(decoded) = offline::decode(resource, policy, Record::Unknown) else { return };
        policy = decoded.value.into_value();
        offline::create(resource, &mut policy);
    }
    let object = rules::object(&mut bytes, true);
    expression_warnings(&policy, &[], None);
    let policy = Policy::read(&policy);
    let first = evaluate(&policy, &object);
    assert_eq!(first, evaluate(&policy, &object));
}

/// The results and the cost of a policy for an object.
fn evaluate(policy: &Policy, object: &Value) -> String {
    let user = UserInfo::authenticated("jane", []);
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"});
    let request = AdmissionRequest {
        operation: Operation::Create,
        group: "g",
        version: "v1",
        resource: "foos",
        subresource: "",
        object_type: ("g", "v1", "Foo"),
        name: "x".into(),
        namespace: "n",
        object: Some(object),
        old: None,
        options: &options,
        dry_run: false,
        user: &user,
    };
    let shown = admission_request(&request, ("g", "v1"));
    let input = Input {
        object: Some(object),
        old: None,
        request: &shown,
        condition_request: &shown,
        namespace: None,
        params: Some(object),
        authorizer: &RequestAuthorizer::user(Arc::new(AlwaysAllow), user.clone()),
        request_resource: &RequestAuthorizer::request_resource(&request),
    };
    let matches = policy.constraints.matches(&request, &[("g", "v2")], None);
    let validated = policy.validate(&input);
    assert!(validated.cost.conditions <= CONDITIONS_BUDGET as u64);
    assert!(validated.cost.expressions + validated.cost.messages <= RUNTIME_COST_BUDGET as u64);
    let of = PatchType::Known(Type::DEDUCED);
    let mutated: Vec<_> =
        policy.mutations.iter().map(|mutation| policy.mutate(mutation, &input, of)).collect();
    format!("{matches:?} {validated:?} {mutated:?}")
}

pub(super) fn policy_seeds() -> Vec<Vec<u8>> {
    seeds(&[
        r#"{"kind": "ValidatingAdmissionPolicy", "apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"},
            "spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": ["g"], "apiVersions": ["v1"], "operations": ["*"],
                "resources": ["foos"], "scope": "*"}], "objectSelector": {"matchLabels": {"a": "b"}}},
            "matchConditions": [{"name": "c", "expression": "request.operation != 'DELETE' || has(object.i)"}],
            "variables": [{"name": "v", "expression": "size(params.s)"}, {"name": "w", "expression": "variables.v + 1"}],
            "validations": [{"expression": "variables.w > 1", "message": "m", "messageExpression": "'a' + string(variables.v)",
                "reason": "Forbidden"}, {"expression": "object.l.all(x, x.s != '')"}],
            "auditAnnotations": [{"key": "k", "valueExpression": "object.s"}]}}¦0000"#,
        r#"{"kind": "MutatingAdmissionPolicy", "apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"},
            "spec": {"reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [{"apiGroups": ["*"],
                "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*/*"]}]},
            "variables": [{"name": "v", "expression": "object.?s.orValue('x')"}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression":
                "Object{metadata: Object.metadata{labels: {'a': variables.v}}, spec: Object.spec{n: [1, 2]}}"}},
            {"patchType": "JSONPatch", "jsonPatch": {"expression":
                "[JSONPatch{op: 'add', path: '/m/' + jsonpatch.escapeKey('a/b'), value: {'x': duration('1h')}}, JSONPatch{op: 'test', path: '/i', value: 1}]"}}]}}¦0101"#,
        r#"{"kind": "ValidatingAdmissionPolicyBinding", "apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "b"},
            "spec": {"policyName": "p", "validationActions": ["Deny", "Audit"], "paramRef": {"selector": {"matchExpressions":
                [{"key": "a", "operator": "In", "values": ["b"]}]}, "parameterNotFoundAction": "Deny"},
            "matchResources": {"namespaceSelector": {}, "excludeResourceRules": [{"apiGroups": [""]}]}}}"#,
        r#"{"kind": "ValidatingAdmissionPolicy", "spec": {"validations": [{"expression": "object.n.map(a, [a, a]).map(b, [b, b]) == []"},
            {"expression": "authorizer.group('').resource('pods').check('get').allowed()"}, {"expression": 1}],
            "variables": [{"name": "x", "expression": "variables.x"}], "matchConditions": [{"expression": "}"}]}}¦1abcdefgh"#,
    ])
}
