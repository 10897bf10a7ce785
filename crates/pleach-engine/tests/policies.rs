//! Admission policies over the model store: what they add to a write by counts, and parameters that come and go.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};

use pleach_auth::UserInfo;
use pleach_engine::options::{Body, Context, DeleteOptions, Format, Freshness, WriteOptions};
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

#[test]
fn a_conversion_that_fails_is_an_error_of_the_binding() {
    let server = Server::new();
    let version = |name: &str| {
        json!({"name": name, "served": true, "storage": (name == "v1"), "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [(version("v1")), (version("v2"))],
            "conversion": {"strategy": "Webhook", "webhook": {
                "clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]}},
        }
    });
    server.create("apiextensions.k8s.io", "customresourcedefinitions", &crd).unwrap();
    let mut policy = about("example.com", "foos", &["true"]);
    let rules = json!([{"apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["*"],
        "resources": ["foos"]}]);
    *policy.get_mut("matchConstraints").unwrap().get_mut("resourceRules").unwrap() = rules;
    policy.as_object_mut().unwrap().insert("failurePolicy", "Ignore");
    server.policy("ignored", policy.clone(), json!({"validationActions": ["Deny"]}));
    let foo = |name: &str| {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}});
        server.create("example.com", "foos", &object).map(drop).map_err(|error| error.to_string())
    };
    foo("a").unwrap();
    policy.as_object_mut().unwrap().insert("failurePolicy", "Fail");
    server.policy("strict", policy, json!({"validationActions": ["Deny"]}));
    let refused = foo("b").unwrap_err();
    let wanted = "foos.example.com \"b\" is forbidden: ValidatingAdmissionPolicy 'strict' with binding 'strict' denied \
                  request: failed to configure binding: failed to convert object version: conversion webhook for \
                  example.com/v1, Kind=Foo failed: ";
    assert!(refused.starts_with(wanted), "{refused}");
}

#[test]
fn the_request_keeps_the_name_that_was_given() {
    let server = Server::new();
    let renaming = |kind: &str, spec: Value| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "renaming"},
            "spec": (spec)})
    };
    let spec = json!({
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"],
            "resources": ["configmaps"]}]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression":
            "[JSONPatch{op: 'add', path: '/metadata/name', value: 'renamed'}]"}}],
    });
    let policy = renaming("MutatingAdmissionPolicy", spec);
    server.create(GROUP, "mutatingadmissionpolicies", &policy).unwrap();
    let binding = renaming("MutatingAdmissionPolicyBinding", json!({"policyName": "renaming"}));
    server.create(GROUP, "mutatingadmissionpolicybindings", &binding).unwrap();
    let wanted = "object.metadata.name == 'renamed' && request.name == 'given'";
    server.policy("names", about("", "configmaps", &[wanted]), json!({"validationActions": ["Deny"]}));
    server.config_map("given").unwrap();
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "given-"}});
    let refused = server.create("", "configmaps", &generated).unwrap_err().to_string();
    assert!(refused.contains(wanted), "{refused}");
}

/// Writes a policy or binding as a user who is a member of a group: creates it, or replaces it if it is there. The error,
/// if there is one.
fn written_as(server: &Server, group: &'static str, plural: &str, object: &Value) -> String {
    let user = UserInfo::authenticated("jane", [group.into()]);
    let mut context = Context { user, ..Context::default() };
    let options = WriteOptions::default();
    let name = object.at(&["metadata", "name"]).and_then(Value::as_str);
    let one = server.target(GROUP, plural, name);
    let done = match at_once(server.0.get(&one, Freshness::Latest)) {
        Ok(stored) => {
            let (stored, mut object) = (stored.into_value().unwrap(), object.clone());
            let version = stored.at(&["metadata", "resourceVersion"]).cloned();
            let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
            metadata.insert("resourceVersion", version.unwrap());
            let body = Body { bytes: to_vec(&object).into(), format: Format::Json };
            at_once(server.0.update(&one, &body, &options, &mut context)).map(drop)
        }
        Err(_) => {
            let body = Body { bytes: to_vec(object).into(), format: Format::Json };
            let all = server.target(GROUP, plural, None);
            at_once(server.0.create(&all, &body, &options, &mut context)).map(drop)
        }
    };
    done.map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn the_author_of_a_binding_must_be_allowed_to_read_its_parameters() {
    const ADMINS: &str = "system:masters";
    let engine = deterministic::engine(Arc::new(ModelStore::default())).with_rbac();
    at_once(engine.start()).unwrap();
    let server = Server(engine);
    for (kind, policies, bindings, words) in [
        (
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "user &{jane  [limited system:authenticated] map[]} does not have \"get\" permission",
        ),
        (
            "MutatingAdmissionPolicy",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            // As upstream has it.
            "user get does not have \"&{jane  [limited system:authenticated] map[]}\" permission",
        ),
    ] {
        let object = |kind: String, spec: Value| {
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "one"},
                "spec": (spec)})
        };
        let mut spec = about("", "secrets", &["true"]);
        let members = spec.as_object_mut().unwrap();
        members.insert("paramKind", json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        if kind == "MutatingAdmissionPolicy" {
            members.remove("validations");
            members.insert("reinvocationPolicy", "Never");
            let expression = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]";
            let mutation = json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}});
            members.insert("mutations", json!([(mutation)]));
        }
        let policy = object(kind.to_owned(), spec);
        let binding = |name: &str, action: &str| {
            let reference = json!({"name": name, "namespace": "default", "parameterNotFoundAction": action});
            let mut spec = json!({"policyName": "one", "paramRef": (reference)});
            if kind == "ValidatingAdmissionPolicy" {
                spec.as_object_mut().unwrap().insert("validationActions", json!(["Deny"]));
            }
            object(format!("{kind}Binding"), spec)
        };
        let refused = written_as(&server, "limited", bindings, &binding("limits", "Allow"));
        let unknown = "spec.paramRef: Forbidden: unable to get policy one to determine minimum required permissions \
                       and user &{jane  [limited system:authenticated] map[]} does not have \"get\" permission for \
                       all groups, versions and resources";
        assert!(refused.ends_with(unknown), "{refused}");

        let refused = written_as(&server, "limited", policies, &policy);
        let of_kind = "spec.paramKind: Forbidden: user &{jane  [limited system:authenticated] map[]} must have \
                       \"get\" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)";
        assert!(refused.ends_with(of_kind), "{refused}");
        assert_eq!(written_as(&server, ADMINS, policies, &policy), "");
        let mut labelled = policy.clone();
        *labelled.get_mut("metadata").unwrap() = json!({"name": "one", "labels": {"a": "b"}});
        assert_eq!(
            written_as(&server, "limited", policies, &labelled),
            "",
            "it names the same kind as before"
        );

        let refused = written_as(&server, "limited", bindings, &binding("limits", "Allow"));
        let of_object = format!("spec.paramRef: Forbidden: {words} on the object referenced by paramRef");
        assert!(refused.ends_with(&of_object), "{refused}");
        assert_eq!(written_as(&server, ADMINS, bindings, &binding("limits", "Allow")), "");
        let mut labelled = binding("limits", "Allow");
        *labelled.get_mut("metadata").unwrap() = json!({"name": "one", "labels": {"a": "b"}});
        assert_eq!(
            written_as(&server, "limited", bindings, &labelled),
            "",
            "it names the same parameter as before"
        );
        let refused = written_as(&server, "limited", bindings, &binding("others", "Allow"));
        assert!(refused.ends_with(&of_object), "{refused}");
    }
}
