//! Admission policies over the model store: what they add to a write by counts, and parameters that come and go.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};

use pleach_engine::options::{Body, Context, DeleteOptions, Format, WriteOptions};
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json, to_vec};
use pleach_policy::compiled_on_this_thread;
use pleach_store::ModelStore;

const GROUP: &str = "admissionregistration.k8s.io";

/// The store is in memory: nothing waits.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut TaskContext::from_waker(Waker::noop())) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("a request that waits"),
    }
}

struct Server(Engine);

impl Server {
    fn new() -> Self {
        let engine = deterministic::engine(Arc::new(ModelStore::default()));
        at_once(engine.start()).unwrap();
        Self(engine)
    }

    fn target(&self, group: &str, plural: &str, name: Option<&str>) -> Target {
        let kind = self.0.catalog().get(group, plural).unwrap();
        let namespace = kind.is_namespaced().then(|| "default".into());
        let version = kind.storage;
        Target { kind, version, namespace, name: name.map(Into::into), subresource: Subresource::None }
    }

    fn create(&self, group: &str, plural: &str, object: &Value) -> Result<Vec<String>, Rejection> {
        let body = Body { bytes: to_vec(object).into(), format: Format::Json };
        let mut context = Context::default();
        let target = self.target(group, plural, None);
        at_once(self.0.create(&target, &body, &WriteOptions::default(), &mut context))?;
        Ok(context.warnings)
    }

    /// A policy and a binding of the same name.
    fn policy(&self, name: &str, policy: Value, mut binding: Value) {
        let object = |kind: &str, spec: Value| {
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
                "spec": (spec)})
        };
        binding.as_object_mut().unwrap().insert("policyName", name);
        let policy = object("ValidatingAdmissionPolicy", policy);
        self.create(GROUP, "validatingadmissionpolicies", &policy).unwrap();
        let binding = object("ValidatingAdmissionPolicyBinding", binding);
        self.create(GROUP, "validatingadmissionpolicybindings", &binding).unwrap();
    }

    fn config_map(&self, name: &str) -> Result<Vec<String>, Rejection> {
        self.create("", "configmaps", &config_map(name))
    }

    fn delete(&self, plural: &str, name: &str) {
        let target = self.target("", plural, Some(name));
        at_once(self.0.delete(&target, &DeleteOptions::default(), &mut Context::default()))
            .map(drop)
            .unwrap();
    }
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

fn about(group: &str, resource: &str, validations: &[&str]) -> Value {
    let validations: Vec<Value> = validations.iter().map(|text| json!({"expression": *text})).collect();
    json!({
        "matchConstraints": {"resourceRules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"],
            "resources": [resource]}]},
        "validations": (validations),
    })
}

#[test]
fn a_thousand_policies_about_other_things_are_a_few_steps_each_and_none_is_compiled_by_a_write() {
    let server = Server::new();
    let steps = |name: &str| {
        // What is made once, and kept, is not counted.
        server.config_map(&format!("{name}-before")).unwrap();
        let compiled = compiled_on_this_thread();
        let (made, steps) = pleach_work::measure(|| server.config_map(name));
        assert_eq!(made.unwrap(), [] as [&str; 0]);
        assert_eq!(compiled_on_this_thread(), compiled, "{name}");
        steps
    };
    let none = steps("without-policies");
    for n in 0..500 {
        let deny = json!({"validationActions": ["Deny"]});
        server.policy(&format!("other-resource-{n}"), about("", "secrets", &["false"]), deny.clone());
        server.policy(&format!("other-group-{n}"), about("no.example.com", "*", &["false"]), deny);
    }
    assert!(compiled_on_this_thread() >= 1_000);
    let others = steps("with-a-thousand");
    assert!(others < none + 500 * 40, "{none} steps without policies, {others} with a thousand");
    let expressions = ["object.data.a == 'b'", "has(object.metadata.name)", "request.operation != 'DELETE'"];
    for n in 0..10 {
        server.policy(
            &format!("about-it-{n}"),
            about("", "configmaps", &expressions),
            json!({"validationActions": ["Deny"]}),
        );
    }
    let ten = steps("with-ten-that-match");
    assert!(ten < others + 10 * 1_000, "{others} steps with a thousand others, {ten} with ten that match");
}

#[test]
fn parameters_that_vanish_are_missed_by_the_next_write() {
    let server = Server::new();
    let mut policy = about("", "secrets", &["object.metadata.name != params.data.a"]);
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    policy.as_object_mut().unwrap().insert("paramKind", kind);
    let reference = |action: &str| {
        json!({"validationActions": ["Deny"],
            "paramRef": {"name": "limits", "namespace": "default", "parameterNotFoundAction": action}})
    };
    server.policy("strict", policy.clone(), reference("Deny"));
    server.policy("lenient", policy, reference("Allow"));
    let secret = |name: &str| {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
        server.create("", "secrets", &object).map(drop).map_err(|error| error.to_string())
    };
    let missing = "ValidatingAdmissionPolicy 'strict' with binding 'strict' denied request: failed to configure \
                   binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert!(secret("x").unwrap_err().contains(missing));
    server.config_map("limits").unwrap();
    secret("x").unwrap();
    assert!(secret("b").unwrap_err().contains("failed expression: object.metadata.name != params.data.a"));
    server.delete("configmaps", "limits");
    assert!(secret("y").unwrap_err().contains(missing));
    server.config_map("limits").unwrap();
    secret("y").unwrap();
}
