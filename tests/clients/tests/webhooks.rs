//! Admission and conversion webhooks of the test itself: requests, order, and effects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pleach_clients::{Api, Running, SOON, definition, eventually};
use pleach_conformance::{HOOK_CA, HookServer, behaviours};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BOXES: &str = "/apis/example.com/v1/namespaces/default/boxes";
const BOXES_V2: &str = "/apis/example.com/v2/namespaces/default/boxes";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A webhook that records its requests.
struct RecordingWebhook {
    server: HookServer,
    reviews: Arc<Mutex<Vec<(String, Value)>>>,
}

impl RecordingWebhook {
    /// Responds to reviews with a patch, or denies them with a message.
    fn with(answer: impl Fn(&str, &Value) -> Result<Value, String> + Send + Sync + 'static) -> Self {
        let reviews = Arc::new(Mutex::new(Vec::new()));
        let noted = reviews.clone();
        let server = HookServer::start(0, move |path, review| {
            let request = &review["request"];
            noted.lock().unwrap().push((path.trim_start_matches('/').to_owned(), request.clone()));
            let mut response = json!({"uid": request["uid"], "allowed": true});
            match answer(path.trim_start_matches('/'), request) {
                Ok(Value::Null) => {}
                Ok(patch) => {
                    response["patchType"] = "JSONPatch".into();
                    response["patch"] = BASE64_STANDARD.encode(patch.to_string()).into();
                }
                Err(message) => {
                    response["allowed"] = false.into();
                    response["status"] = json!({"message": message});
                }
            }
            (
                200,
                json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})
                    .to_string(),
            )
        });
        Self { server: server.unwrap(), reviews }
    }

    /// Requests since the last call, with their paths.
    fn taken(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.reviews.lock().unwrap())
    }

    /// Paths of requests since the last call.
    fn paths(&self) -> Vec<String> {
        self.taken().into_iter().map(|(path, _)| path).collect()
    }

    /// A webhook configuration entry; `more` overrides fields.
    fn hook(&self, path: &str, resources: &[&str], more: &Value) -> Value {
        let mut hook = json!({
            "name": format!("{path}.example.com"),
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": client_config(&self.server, &format!("/{path}")),
            "rules": [{
                "apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": resources,
            }],
        });
        for (key, value) in more.as_object().unwrap() {
            hook[key] = value.clone();
        }
        hook
    }
}

fn client_config(server: &HookServer, path: &str) -> Value {
    json!({"url": server.url(path), "caBundle": BASE64_STANDARD.encode(HOOK_CA)})
}

fn configure(api: &Api, collection: &str, name: &str, hooks: &[Value]) {
    let kind = if collection == MUTATING { "Mutating" } else { "Validating" };
    api.create(
        collection,
        &json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": name}, "webhooks": hooks,
        }),
    );
}

fn with_boxes(api: &Api) {
    let properties = json!({"spec": {"type": "object", "properties": {
        "replicas": {"type": "integer"}, "size": {"type": "integer", "default": 1}, "color": {"type": "string"},
    }}});
    let mut crd = definition("boxes", "Box", properties);
    crd["spec"]["versions"][0]["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
    }});
    api.create(CRDS, &crd);
}

fn a_box(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": name}, "spec": spec})
}

/// Adds a label.
fn label(request: &Value, key: &str) -> Value {
    let mut labels = request["object"]["metadata"]["labels"].clone();
    if labels.is_null() {
        labels = json!({});
    }
    labels[key] = "yes".into();
    json!([{"op": "add", "path": "/metadata/labels", "value": labels}])
}

#[test]
fn webhooks_are_reinvoked_if_needed() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    let asked = RecordingWebhook::with(|path, request| Ok(label(request, path)));
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    configure(&api, MUTATING, "b-later", &[asked.hook("second", &["boxes"], &json!({}))]);
    let first = [asked.hook("first", &["boxes"], &again), asked.hook("also-first", &["boxes"], &json!({}))];
    configure(&api, MUTATING, "a-first", &first);
    let made = api.create(BOXES, &a_box("x", json!({})));
    assert_eq!(made["metadata"]["labels"], json!({"first": "yes", "also-first": "yes", "second": "yes"}));
    assert_eq!(
        asked.paths(),
        ["first", "also-first", "second", "first"],
        "in the order of names, and once again"
    );
    api.send("PATCH", &format!("{BOXES}/x"), Some(&json!({"spec": {"size": 2}}))).ok();
    assert_eq!(asked.paths(), ["first", "also-first", "second"], "nothing changes any more");
}

#[test]
fn webhook_patches_are_pruned_defaulted_and_validated() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    let asked = RecordingWebhook::with(|_, request| {
        let color = &request["object"]["spec"]["color"];
        Ok(match color.as_str().unwrap_or_default() {
            "replace" => json!([{"op": "replace", "path": "/spec", "value": {"color": "replaced"}}]),
            "unknown" => json!([{"op": "add", "path": "/spec/nobody-knows", "value": 1}]),
            "wrong" => json!([{"op": "add", "path": "/spec/size", "value": "large"}]),
            _ => Value::Null,
        })
    });
    configure(&api, MUTATING, "all", &[asked.hook("all", &["boxes"], &json!({}))]);
    let made = api.create(BOXES, &a_box("a", json!({"color": "replace", "size": 7})));
    assert_eq!(
        made["spec"],
        json!({"color": "replaced", "size": 1}),
        "what was taken away is defaulted again"
    );
    assert_eq!(
        made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"],
        json!({".": {}, "f:color": {}, "f:size": {}}),
        "owners are those of what the client wrote"
    );
    let made = api.create(BOXES, &a_box("b", json!({"color": "unknown"})));
    assert_eq!(
        made["spec"],
        json!({"color": "unknown", "size": 1}),
        "what the schema does not know is not kept"
    );
    assert_eq!(api.get(&format!("{BOXES}/b")).ok()["spec"], made["spec"]);
    let refused = api.send("POST", BOXES, Some(&a_box("c", json!({"color": "wrong"}))));
    assert_eq!(refused.status, 422, "{}", refused.body);
    let message = refused.body["message"].as_str().unwrap().to_owned();
    assert!(message.contains("spec.size in body must be of type integer"), "{message}");
    let patch = json!({"spec": {"color": "unknown", "size": 3}});
    let patched = api.send("PATCH", &format!("{BOXES}/a"), Some(&patch)).ok();
    assert_eq!(patched["spec"], json!({"color": "unknown", "size": 3}));
}

#[test]
fn validating_webhooks_see_the_final_object() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    let asked = RecordingWebhook::with(|path, request| match path {
        "paint" if request["object"].is_null() => Ok(Value::Null),
        "paint" => Ok(json!([{"op": "add", "path": "/spec/color", "value": "green"}])),
        _ if request["operation"] == "DELETE" => Err("boxes stay".into()),
        _ if request["object"]["spec"]["size"] == json!(13) => Err("an unlucky number".into()),
        _ => Ok(Value::Null),
    });
    configure(&api, MUTATING, "paint", &[asked.hook("paint", &["boxes"], &json!({}))]);
    configure(&api, VALIDATING, "check", &[asked.hook("check", &["boxes", "boxes/status"], &json!({}))]);
    let delete = |name: &str| api.send("DELETE", &format!("{BOXES}/{name}"), None);

    let mut generated = a_box("", json!({}));
    generated["metadata"] = json!({"generateName": "box-"});
    let made = api.create(BOXES, &generated);
    let (paint, check) = {
        let mut seen = asked.taken().into_iter();
        (seen.next().unwrap().1, seen.next().unwrap().1)
    };
    assert_eq!(paint["name"], Value::Null, "there is no name yet");
    assert!(paint["object"]["metadata"]["uid"].is_null());
    assert_eq!(check["name"], made["metadata"]["name"]);
    assert_eq!(check["object"]["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(check["object"]["spec"], json!({"color": "green", "size": 1}));
    assert_eq!(check["options"], json!({"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}));
    assert_eq!(check["userInfo"]["groups"], json!(["system:masters", "system:authenticated"]));

    let refused = api.send("POST", BOXES, Some(&a_box("x", json!({"size": 13}))));
    assert_eq!(refused.status, 400);
    let message = "admission webhook \"check.example.com\" denied the request: an unlucky number";
    assert_eq!(refused.body["message"], message);
    assert_eq!(api.get(&format!("{BOXES}/x")).status, 404, "nothing was written");
    api.create(&format!("{BOXES}?dryRun=All"), &a_box("x", json!({})));
    assert!(asked.taken().iter().all(|(_, seen)| seen["name"] == "x"));
    assert_eq!(api.get(&format!("{BOXES}/x")).status, 404, "nor here");

    let name = made["metadata"]["name"].as_str().unwrap();
    let status = json!({"status": {}});
    api.send("PATCH", &format!("{BOXES}/{name}/status"), Some(&status)).ok();
    let seen = asked.taken();
    assert_eq!(seen.len(), 1, "the painter is not asked about a status");
    assert_eq!((&seen[0].1["subResource"], &seen[0].1["operation"]), (&json!("status"), &json!("UPDATE")));
    assert_eq!(delete(name).status, 400);
    let collection = api.send("DELETE", BOXES, None);
    assert_eq!(collection.status, 400, "each object of a collection is asked about");
    assert_eq!(api.get(&format!("{BOXES}/{name}")).status, 200);
    assert_eq!(api.send("DELETE", &format!("{VALIDATING}/check"), None).status, 200, "no webhook is called");
    assert_eq!(delete(name).status, 200, "a configuration that is gone counts no more");
}

#[test]
fn webhooks_see_a_scale() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    api.create(BOXES, &a_box("x", json!({"replicas": 1})));
    let asked =
        RecordingWebhook::with(|_, _| Ok(json!([{"op": "replace", "path": "/spec/replicas", "value": 7}])));
    configure(&api, MUTATING, "limit", &[asked.hook("limit", &["boxes/scale"], &json!({}))]);
    let scale =
        api.send("PATCH", &format!("{BOXES}/x/scale"), Some(&json!({"spec": {"replicas": 100}}))).ok();
    assert_eq!(scale["spec"]["replicas"], 7);
    assert_eq!(api.get(&format!("{BOXES}/x")).ok()["spec"]["replicas"], 7);
    let seen = asked.taken();
    assert_eq!(seen[0].1["kind"], json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    assert_eq!(seen[0].1["resource"], json!({"group": "example.com", "version": "v1", "resource": "boxes"}));
    assert_eq!(seen[0].1["oldObject"]["spec"]["replicas"], 1);
}

#[test]
fn webhooks_on_built_in_kinds_and_the_garbage_collector() {
    let server = Running::in_memory();
    let api = server.api();
    let maps = "/api/v1/namespaces/default/configmaps";
    let asked = RecordingWebhook::with(|_, request| match request["object"]["metadata"]["name"].as_str() {
        Some("owner") => Ok(label(request, "seen")),
        _ => Ok(Value::Null),
    });
    let mut hook = asked.hook("maps", &["configmaps"], &json!({}));
    hook["rules"][0]["apiGroups"] = json!([""]);
    configure(&api, MUTATING, "maps", &[hook]);
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let owner = api.create(maps, &map("owner"));
    assert_eq!(owner["metadata"]["labels"], json!({"seen": "yes"}));
    let mut owned = map("owned");
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    api.create(maps, &owned);
    api.send("DELETE", &format!("{maps}/owner"), None).ok();
    eventually("what it owned is gone", || (api.get(&format!("{maps}/owned")).status == 404).then_some(()));
    let deletions: Vec<Value> = asked
        .taken()
        .into_iter()
        .map(|(_, seen)| seen)
        .filter(|seen| seen["operation"] == "DELETE")
        .collect();
    assert_eq!(deletions.len(), 2);
    assert_eq!(
        deletions[1]["userInfo"]["username"],
        "system:serviceaccount:kube-system:generic-garbage-collector"
    );
}

#[test]
fn webhooks_survive_a_restart_and_can_be_disabled() {
    let data = tempfile::tempdir().unwrap();
    let asked = RecordingWebhook::with(|_, _| Err("no".into()));
    let server = Running::on(data.path());
    let api = server.api();
    with_boxes(&api);
    configure(&api, VALIDATING, "no", &[asked.hook("no", &["boxes"], &json!({}))]);
    assert_eq!(api.send("POST", BOXES, Some(&a_box("x", json!({})))).status, 400);
    drop(server);
    let server = Running::on(data.path());
    assert_eq!(server.api().send("POST", BOXES, Some(&a_box("x", json!({})))).status, 400);
    drop(server);
    let path = data.path().to_str().unwrap();
    let off = ["--data-dir", path, "--disable-admission-plugins", "ValidatingAdmissionWebhook"];
    let server = Running::start(&off);
    server.api().create(BOXES, &a_box("x", json!({})));
}

/// Boxes in two versions, with a conversion webhook that counts.
fn with_converted_boxes(api: &Api) -> (HookServer, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let hook = HookServer::start(0, move |path, review| {
        counted.fetch_add(1, Ordering::SeqCst);
        behaviours::answer(path, review)
    });
    let hook = hook.unwrap();
    let text = json!({"type": "string"});
    let mut crd =
        definition("boxes", "Box", json!({"spec": {"type": "object", "properties": {"hostPort": text}}}));
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({"host": text, "port": text});
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": client_config(&hook, "/convert/good"),
    }});
    api.create(CRDS, &crd);
    (hook, calls)
}

#[test]
fn an_event_is_converted_once_however_many_watch() {
    let server = Running::in_memory();
    let api = server.api();
    let (_hook, calls) = with_converted_boxes(&api);
    let path = format!("{BOXES_V2}?labelSelector=watched");
    let watches: Vec<_> = (0..20).map(|_| api.watch(&path, SOON)).collect();
    let mut labelled = a_box("x", json!({"hostPort": "h:80"}));
    labelled["metadata"]["labels"] = json!({"watched": "yes"});
    api.create(BOXES, &labelled);
    for watch in watches {
        let event: Value = serde_json::from_str(&watch.first_line().unwrap()).unwrap();
        assert_eq!(event["type"], "ADDED");
        assert_eq!(event["object"]["spec"], json!({"host": "h", "port": "80"}));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn long_lists_are_converted_in_order() {
    let server = Running::in_memory();
    let api = server.api();
    let (_hook, calls) = with_converted_boxes(&api);
    for n in 0..60 {
        api.create(BOXES, &a_box(&format!("b{n:02}"), json!({"hostPort": format!("h:{n}")})));
    }
    let list = api.get(BOXES_V2).ok();
    let ports: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["spec"]["port"].as_str().unwrap()).collect();
    let wanted: Vec<String> = (0..60).map(|n| n.to_string()).collect();
    assert_eq!(ports, wanted);
    assert_eq!(calls.load(Ordering::SeqCst), 60);
    let page = api.get(&format!("{BOXES_V2}?limit=10")).ok();
    assert_eq!(page["items"].as_array().unwrap().len(), 10);
    assert_eq!(calls.load(Ordering::SeqCst), 70, "only what is on the page");
    api.get(BOXES).ok();
    assert_eq!(calls.load(Ordering::SeqCst), 70, "objects stored in that version are not converted");
}

#[test]
fn field_ownership_across_converted_versions() {
    let server = Running::in_memory();
    let api = server.api();
    let (_hook, _) = with_converted_boxes(&api);
    api.create(&format!("{BOXES}?fieldManager=first"), &a_box("x", json!({"hostPort": "h:80"})));
    let port = json!({"spec": {"port": "81"}});
    let changed = api.send("PATCH", &format!("{BOXES_V2}/x?fieldManager=second"), Some(&port)).ok();
    assert_eq!(changed["spec"], json!({"host": "h", "port": "81"}));
    let owners: Vec<(&str, &str, &Value)> = changed["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["manager"].as_str().unwrap(), e["apiVersion"].as_str().unwrap(), &e["fieldsV1"]))
        .collect();
    let (host, spec) = (json!({"f:spec": {"f:port": {}}}), json!({"f:spec": {}}));
    assert!(owners.contains(&("second", "example.com/v2", &host)), "{owners:?}");
    assert!(
        owners.contains(&("first", "example.com/v1", &spec)),
        "the text of both is the first one's no more: {owners:?}"
    );
}
