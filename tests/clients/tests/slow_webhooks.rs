//! Webhooks that do not respond: which requests wait for them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pleach_clients::{Api, Running, eventually};
use pleach_conformance::{AS_RECORDED, HOOK_CA, HookServer};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/// The seats of the server: few, so that a machine that is busy gets through all writers before webhooks time out.
const SEATS: [&str; 2] = ["--max-requests-inflight=20", "--max-mutating-requests-inflight=10"];
/// More than there are seats.
const WRITERS: usize = 50;

/// A latch.
#[derive(Default)]
struct Door(Mutex<bool>, Condvar);

impl Door {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn pass(&self) {
        let open = self.0.lock().unwrap();
        drop(self.1.wait_while(open, |open| !*open).unwrap());
    }
}

/// Opens the latch even if the test fails.
struct Opens(Arc<Door>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}

fn allow(review: &Value) -> (u16, String) {
    let response = json!({"uid": review["request"]["uid"], "allowed": true});
    (
        200,
        json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).to_string(),
    )
}

fn configure(api: &Api, hook: &HookServer, operation: &str, resource: &str) {
    api.create(
        VALIDATING,
        &json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "slow"},
            "webhooks": [{
                "name": "slow.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "timeoutSeconds": 30,
                "clientConfig": {"url": hook.url("/slow"), "caBundle": BASE64_STANDARD.encode(HOOK_CA)},
                "rules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": [operation], "resources": [resource]}],
            }],
        }),
    );
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})
}

#[test]
fn a_slow_webhook_does_not_block_other_writes() {
    // Without the ConfigMap of each namespace, about which the webhook would be called.
    let server = Running::start(&[&AS_RECORDED[..], &SEATS].concat());
    let api = server.api();
    let door = Opens(Arc::default());
    let waiting = Arc::new(AtomicUsize::new(0));
    let hook = {
        let (door, waiting, api) = (door.0.clone(), waiting.clone(), api.clone());
        HookServer::start(0, move |_, review| {
            let number = waiting.fetch_add(1, Ordering::SeqCst);
            door.pass();
            // The webhook uses the server before it responds, as operators' webhooks do.
            api.create(SECRETS, &secret(&format!("of-webhook-{number}")));
            allow(review)
        })
        .unwrap()
    };
    configure(&api, &hook, "CREATE", "configmaps");
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let api = api.clone();
            std::thread::spawn(move || api.send("POST", MAPS, Some(&map(&format!("m{number}")))))
        })
        .collect();
    eventually("all writers wait for the webhook", || {
        (waiting.load(Ordering::SeqCst) == WRITERS).then_some(())
    });
    api.create(SECRETS, &secret("other"));
    assert_eq!(api.get(&format!("{SECRETS}/other")).status, 200);
    api.send("DELETE", &format!("{VALIDATING}/slow"), None).ok();
    api.create(MAPS, &map("after"));
    door.0.open();
    for writer in writers {
        writer.join().unwrap().ok();
    }
    assert_eq!(api.get(SECRETS).ok()["items"].as_array().unwrap().len(), WRITERS + 1);
}

#[test]
fn a_slow_webhook_does_not_block_the_garbage_collector() {
    let server = Running::start(&AS_RECORDED);
    let api = server.api();
    let door = Opens(Arc::default());
    let asked = Arc::new(AtomicBool::new(false));
    let hook = {
        let (door, asked) = (door.0.clone(), asked.clone());
        HookServer::start(0, move |_, review| {
            asked.store(true, Ordering::SeqCst);
            door.pass();
            allow(review)
        })
        .unwrap()
    };
    let owner = api.create(SECRETS, &secret("owner"));
    let owned = |mut object: Value| {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"],
        }]);
        object
    };
    for number in 0..40 {
        api.create(MAPS, &owned(map(&format!("m{number}"))));
    }
    api.create("/api/v1/namespaces/default/serviceaccounts", &{
        owned(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "zz"}}))
    });
    let namespaces = "/api/v1/namespaces";
    api.create(namespaces, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "walled"}}));
    configure(&api, &hook, "DELETE", "configmaps");
    api.send("DELETE", &format!("{SECRETS}/owner"), None).ok();
    eventually("the webhook is asked", || asked.load(Ordering::SeqCst).then_some(()));
    api.send("DELETE", &format!("{namespaces}/walled"), None).ok();
    for gone in [format!("{namespaces}/walled"), "/api/v1/namespaces/default/serviceaccounts/zz".to_owned()] {
        eventually(&format!("{gone} is gone"), || (api.get(&gone).status == 404).then_some(()));
    }
    assert_eq!(api.get(MAPS).ok()["items"].as_array().unwrap().len(), 40, "these still wait");
    door.0.open();
    eventually("the dependents are gone", || {
        api.get(MAPS).ok()["items"].as_array().unwrap().is_empty().then_some(())
    });
}
