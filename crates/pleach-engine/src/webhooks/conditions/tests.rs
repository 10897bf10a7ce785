//! Match conditions with the results recorded from a real kube-apiserver.

use pleach_auth::rbac::PrivilegedGroup;
use pleach_auth::user::MASTERS;
use pleach_auth::{AuthorizerUnion, UserInfo};
use pleach_json::{Map, json};
use std::sync::Arc;

use super::*;
use crate::admission::Operation;
use crate::options::Context;

fn judge(expressions: &[&str], on_failure: FailurePolicy) -> Verdict {
    let numbers: Vec<Value> = (1..250).map(Value::Int).collect();
    let spec = json!({"replicas": 1, "list": (numbers), "d": "1s", "namespace": "n", "a-b": 1, "q": "2"});
    judge_spec(expressions, &spec, on_failure)
}

/// A dry run of a create, by an admin.
fn judge_spec(expressions: &[&str], spec: &Value, on_failure: FailurePolicy) -> Verdict {
    let object = json!({
        "apiVersion": "g.example.com/v2", "kind": "Foo", "metadata": {"name": "x"}, "spec": (spec.clone()),
    });
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"});
    let user = UserInfo::authenticated("admin", [Str::new_static(MASTERS)]);
    let context = Context { user, ..Context::default() };
    let attributes = AdmissionRequest {
        operation: Operation::Create,
        group: "g.example.com",
        version: "v1",
        resource: "foos",
        subresource: "",
        object_type: ("g.example.com", "v1", "Foo"),
        name: "x".into(),
        namespace: "ns1",
        object: Some(&object),
        old: None,
        options: &options,
        dry_run: true,
        user: &context.user,
    };
    let conditions: Vec<Value> =
        expressions.iter().map(|e| json!({"name": "c", "expression": (*e)})).collect();
    let conditions = Conditions::read(Some(&Value::from(conditions)));
    let authorizer = || {
        let privileged = Arc::new(AuthorizerUnion(vec![Box::new(PrivilegedGroup)]));
        RequestAuthorizer::user(privileged, context.user.clone())
    };
    conditions.judge(&attributes, ("g.example.com", "v2"), (Some(&object), None), on_failure, authorizer)
}

#[test]
fn conditions_see_a_write() {
    for expression in [
        "true",
        "oldObject == null",
        "object.spec.replicas == 1",
        "object.spec.namespace == 'n'",
        "object.spec['a-b'] == 1",
        "object.kind == 'Foo' && type(object) == map",
        "object.metadata.name.startsWith('x')",
        "object.spec.list.exists_one(x, x == 1)",
        "quantity(object.spec.q).isGreaterThan(quantity('1'))",
        "request.namespace == 'ns1' && request.name == 'x'",
        "!has(request.subResource)",
        "request.dryRun",
        "request.operation == 'CREATE'",
        "request.kind.kind == 'Foo' && request.kind.version == 'v2' && request.resource.version == 'v2'",
        "request.requestKind.version == 'v1' && request.requestResource.version == 'v1'",
        "request.resource.resource == 'foos'",
        "request.userInfo.username == 'admin' && request.userInfo.groups.size() == 2",
        "'system:masters' in request.userInfo.groups",
        "!has(request.userInfo.extra)",
        "request.options.kind == 'CreateOptions'",
        "namespaceObject == null",
        "authorizer.group('').resource('pods').check('get').allowed()",
        "authorizer.requestResource.check('get').allowed()",
        "authorizer.path('/x').check('get').reason() == ''",
        "!authorizer.serviceAccount('a', 'b').group('').resource('pods').namespace('n').check('get').allowed()",
        "!authorizer.group('').resource('pods').subresource('status').name('a').fieldSelector('a=b').check('get').errored()",
    ] {
        assert_eq!(judge(&[expression], FailurePolicy::Fail), Verdict::Call, "{expression}");
    }
}

#[test]
fn one_that_is_false_decides() {
    let error =
        |expression: &str, error: &str| format!("expression '{expression}' resulted in error: {error}");
    let dear = "object.spec.list.all(x, object.spec.list.all(y, object.spec.list.all(z, x + y + z > 0)))";
    let half = "object.spec.list.all(x, object.spec.list.all(y, 0 < x + y + 1 && true))";
    let dear_error = error(dear, "operation cancelled: actual cost limit exceeded");
    for (why, expressions, want) in [
        ("none", &[][..], Verdict::Call),
        ("all are true", &["true", "1 == 1"], Verdict::Call),
        ("one is false", &["true", "false"], Verdict::Skip),
        ("false before an error", &["false", "1/0 == 1"], Verdict::Skip),
        ("false after an error", &["object.nope == 1", "false"], Verdict::Skip),
        ("an error", &["object.nope == 1"], Verdict::Refuse(error("object.nope == 1", "no such key: nope"))),
        (
            "an error beside a truth",
            &["1/0 == 1", "true"],
            Verdict::Refuse(error("1/0 == 1", "division by zero")),
        ),
        (
            "two errors",
            &["object.nope == 1", "1/0 == 1"],
            Verdict::Refuse(format!(
                "[{}, {}]",
                error("object.nope == 1", "no such key: nope"),
                error("1/0 == 1", "division by zero")
            )),
        ),
        (
            "an empty field is missing",
            &["request.subResource == \"\""],
            Verdict::Refuse(error("request.subResource == \"\"", "no such key: subResource")),
        ),
        (
            "there is no namespace",
            &["namespaceObject.metadata.name == \"ns1\""],
            Verdict::Refuse(error("namespaceObject.metadata.name == \"ns1\"", "no such key: metadata")),
        ),
        (
            "a path",
            &["authorizer.path(\"\").check(\"get\").allowed()"],
            Verdict::Refuse(error(
                "authorizer.path(\"\").check(\"get\").allowed()",
                "path must not be empty",
            )),
        ),
        (
            "an account",
            &["authorizer.serviceAccount(\"A_\",\"b\").path(\"/x\").check(\"get\").allowed()"],
            Verdict::Refuse(error(
                "authorizer.serviceAccount(\"A_\",\"b\").path(\"/x\").check(\"get\").allowed()",
                "Invalid service account namespace",
            )),
        ),
        (
            "checks are like nothing",
            &["authorizer == authorizer"],
            Verdict::Refuse(error("authorizer == authorizer", "no such overload")),
        ),
        ("too dear", &[dear], Verdict::Refuse(dear_error.clone())),
        ("too dear, but false", &[dear, "false"], Verdict::Skip),
        ("too dear together", &[half; 10], Verdict::Refuse(OUT_OF_BUDGET.to_owned())),
    ] {
        assert_eq!(judge(expressions, FailurePolicy::Fail), want, "{why}");
        let lenient = if want == Verdict::Call { Verdict::Call } else { Verdict::Skip };
        assert_eq!(judge(expressions, FailurePolicy::Ignore), lenient, "{why}");
    }
}

#[test]
fn costs_are_upstream_s() {
    let pairs = "object.spec.list.all(x, object.spec.list.all(y, x + y > 0))";
    let map = "object.spec.m.all(x, object.spec.m.all(y, object.spec.m[x] != \"\" && request.name == \"x\"))";
    let text = "object.spec.list.all(x, object.spec.t.contains(\"zz\") || request.userInfo.groups.exists(g, g == \"system:masters\"))";
    for (expressions, last) in [(&[pairs][..], 377_i64), (&[pairs; 5], 266), (&[map], 315), (&[text], 990)] {
        for (size, want) in [(last, true), (last + 1, false)] {
            let numbers: Vec<Value> = (1..=size).map(Value::Int).collect();
            let members: Map = (0..size).map(|i| (format!("k{i}").into(), format!("v{i}").into())).collect();
            let long = "abcdefghij".repeat(size as usize);
            let spec = json!({"list": (numbers), "m": (members), "t": (long)});
            let verdict = judge_spec(expressions, &spec, FailurePolicy::Fail);
            assert_eq!(verdict == Verdict::Call, want, "{size}: {} x {}", expressions.len(), expressions[0]);
        }
    }
    let check = "authorizer.path('/x').check('get').allowed()";
    let called = |expressions: &[&str]| judge(expressions, FailurePolicy::Fail) == Verdict::Call;
    assert!(called(&[&[check; 2].join(" && ")]));
    assert!(!called(&[&[check; 3].join(" && ")]), "more than one may cost");
    assert!(called(&[check; 7]));
    assert!(!called(&[check; 8]), "more than all may cost");
}
