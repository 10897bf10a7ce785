//! The published OpenAPI documents in kubectl: `explain` and client-side validation.
//!
//! Tests have the numbers of the graduation criteria of the KEP "Publish CRD OpenAPI". Since 1.27
//! kubectl leaves field validation to the server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use pleach_clients::{Api, Kubectl, Running, eventually, every_kubectl, manifest};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn plant(kubectl: &Kubectl, crds: &[&str]) {
    for crd in crds {
        kubectl.ok(&["create", "-f", &manifest(&format!("{crd}.yaml"))]);
        let name = format!("crd/{crd}.pleach.example.com");
        kubectl.ok(&["wait", "--for=condition=Established", &name, "--timeout=20s"]);
    }
}

fn object(kind: &str, name: &str, spec: &Value) -> String {
    json!({"apiVersion": "pleach.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
        .to_string()
}

#[test]
fn criterion_1_objects_of_a_kind_with_a_schema_are_checked() {
    every_kubectl(|kubectl| {
        plant(kubectl, &["gardens"]);
        for verb in ["create", "apply"] {
            let known =
                object("Garden", verb, &json!({"hedges": 1, "plants": [{"name": "box", "height": 1}]}));
            kubectl.feed(&[verb, "-f", "-"], &known);
            let unknown = object("Garden", "bad", &json!({"hedges": 1, "weeds": 2}));
            let said = kubectl.fails(&[verb, "-f", "-"], &unknown);
            assert!(said.contains("unknown field") && said.contains("weeds"), "{said}");
            let missing = object("Garden", "bad", &json!({"style": "wild"}));
            let said = kubectl.fails(&[verb, "-f", "-"], &missing);
            assert!(
                said.contains(r#"missing required field "hedges""#)
                    || said.contains("spec.hedges: Required value"),
                "{said}"
            );
            if kubectl.minor < 27 {
                assert!(said.contains("error validating data"), "the client refuses by itself: {said}");
            }
        }
    });
}

#[test]
fn criterion_1_kinds_with_a_schema_are_explained() {
    every_kubectl(|kubectl| {
        plant(kubectl, &["gardens"]);
        let plain = kubectl.ok(&["explain", "garden"]);
        assert!(plain.contains("A garden is a place where hedges grow."), "{plain}");
        assert!(
            plain.contains("What the garden should look like.") && plain.contains("-required-"),
            "{plain}"
        );
        let field = kubectl.ok(&["explain", "gd.spec.hedges"]);
        assert!(
            field.contains("hedges <integer>") && field.contains("How many hedges stand here."),
            "{field}"
        );
        let all = kubectl.ok(&["explain", "gardens", "--recursive"]);
        for name in ["plants", "height", "replicas", "conditions", "ownerReferences", "blockOwnerDeletion"] {
            assert!(all.contains(&format!(" {name}\t<")), "{name} in {all}");
        }
        let missing = kubectl.fails(&["explain", "garden.spec.gnomes"], "");
        assert!(missing.contains(r#"field "gnomes" does not exist"#), "{missing}");
        if kubectl.minor >= 27 {
            let old = kubectl.ok(&["explain", "garden.spec", "--output=plaintext-openapiv2"]);
            assert!(old.contains("RESOURCE: spec <Object>") && old.contains("hedges"), "{old}");
        }
        // Built-in kinds and CRDs are explained too.
        assert!(kubectl.ok(&["explain", "configmap.data"]).contains("map[string]string"));
        assert!(kubectl.ok(&["explain", "crd.spec.versions"]).contains("additionalPrinterColumns"));
    });
}

#[test]
fn criteria_2_3_and_6_a_kind_without_a_schema_takes_anything() {
    every_kubectl(|kubectl| {
        plant(kubectl, &["heaps"]);
        for verb in ["create", "apply"] {
            let anything = object("Heap", verb, &json!({"any": {"thing": [1, "two", null]}}));
            kubectl.feed(&[verb, "-f", "-"], &anything);
        }
        let changed = object("Heap", "apply", &json!({"other": true}));
        assert!(
            kubectl
                .feed(&["apply", "-f", "-"], &changed)
                .contains("heap.pleach.example.com/apply configured")
        );
        assert_eq!(kubectl.get(&["heap", "apply"])["spec"], json!({"other": true}));
        let said = kubectl.run(&["explain", "heap"]);
        assert!(said.success && said.stdout.contains("Heap"), "{said:?}");
    });
}

fn crd(group: &str, plural: &str, kind: &str, versions: &[&str]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, version)| {
            json!({"name": version, "served": true, "storage": at == 0, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    format!("in{version}"): {"type": "string"}}}}}}})
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "versions": versions,
                 "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")}},
    })
}

/// Whether a definition is in the v2 document and in the v3 document of its group and version.
fn is_published(api: &Api, group: &str, version: &str, definition: &str) -> bool {
    let v2 = api.get("/openapi/v2").ok();
    let v3 = api.get(&format!("/openapi/v3/apis/{group}/{version}"));
    let in_v3 = v3.status == 200 && v3.body["components"]["schemas"].get(definition).is_some();
    let in_v2 = v2["definitions"].get(definition).is_some();
    assert!(v2["swagger"] == "2.0" && (v3.status != 200 || v3.body["openapi"].is_string()));
    in_v2 && in_v3
}

#[test]
fn criterion_4_several_crds_are_published() {
    let server = Running::in_memory();
    let api = server.api();
    let cases = [
        (crd("a.example.com", "elms", "Elm", &["v1", "v2"]), "a.example.com", "v1", "com.example.a.v1.Elm"),
        (crd("b.example.com", "elms", "Elm", &["v1"]), "b.example.com", "v1", "com.example.b.v1.Elm"),
        (crd("a.example.com", "oaks", "Oak", &["v1"]), "a.example.com", "v1", "com.example.a.v1.OakList"),
    ];
    for (crd, ..) in &cases {
        api.create(CRDS, crd);
    }
    for (_, group, version, definition) in &cases {
        eventually(definition, || is_published(&api, group, version, definition).then_some(()));
    }
    assert!(is_published(&api, "a.example.com", "v2", "com.example.a.v2.Elm"), "the other version");
    assert!(!is_published(&api, "a.example.com", "v2", "com.example.a.v2.Oak"), "it has one version only");
    api.send("DELETE", &format!("{CRDS}/oaks.a.example.com"), None).ok();
    eventually("the oaks are gone", || {
        (!is_published(&api, "a.example.com", "v1", "com.example.a.v1.Oak")).then_some(())
    });
    assert!(is_published(&api, "a.example.com", "v1", "com.example.a.v1.Elm"), "the elms are not");
}

#[test]
fn criterion_5_changes_are_published_at_once_without_idle_work() {
    let server = Running::in_memory();
    let api = server.api();
    for number in 0..30 {
        let group = format!("g{number}.example.com");
        api.create(CRDS, &crd(&group, "elms", "Elm", &["v1"]));
        let definition = format!("com.example.g{number}.v1.Elm");
        eventually(&definition, || is_published(&api, &group, "v1", &definition).then_some(()));
    }
    let before = cpu_ticks(server.pid());
    std::thread::sleep(Duration::from_secs(3));
    let spent = cpu_ticks(server.pid()) - before;
    assert!(spent <= 6, "{spent} ticks of 10 ms in 3 s at rest");
}

/// User and system time of a process.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
