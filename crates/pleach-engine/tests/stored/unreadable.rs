//! Objects in the store that cannot be decoded.

use std::time::Duration;

use pleach_engine::gates::Gates;
use pleach_engine::options::WatchOptions;
use pleach_engine::watch::Item;
use pleach_store::{Commit, Expect};

use super::*;

/// The damage to a record.
const DAMAGES: [(&str, &[u8]); 4] = [
    ("another format", b"\x07what is this"),
    ("cut short", b"\x01\0\0"),
    ("no JSON", b"\x01\0\0\0\0\0\0\0\0\0\0\0\0{\"apiVersion\":"),
    (
        "a version that is not served",
        b"\x01\0\0\0\0\0\0\0\0\0\0\0\0{\"apiVersion\":\"g.io/v0\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"bad\"}}",
    ),
];

async fn fixture() -> Fixture {
    let gates = Gates { unsafe_deletion: true, ..Gates::default() };
    Fixture::with(|engine| engine.with_gates(gates)).await
}

impl Fixture {
    /// Puts a record into the store that the engine did not write.
    async fn damage(&self, key: Key, record: &'static [u8]) {
        let expect = match self.store.get(&key, None).await.unwrap() {
            Some(found) => Expect::At(found.revision),
            None => Expect::Absent,
        };
        self.store.commit(Commit::put(key, expect, record)).await.unwrap();
    }

    async fn delete_unsafely(&self, kind: (&str, &str), name: &str) -> Result<Deleted, Rejection> {
        self.delete(kind, name, &unsafely()).await
    }

    async fn eventually_gone(&self, key: &Key) {
        for _ in 0..400 {
            if self.store.get(key, None).await.unwrap().is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{key} is still there");
    }
}

fn unsafely() -> DeleteOptions {
    DeleteOptions { ignore_store_read_error: true, ..DeleteOptions::default() }
}

#[tokio::test]
async fn they_are_deleted_when_asked_for() {
    let fixture = fixture().await;
    fixture.create(FOOS, &foo("good", json!(1))).await.unwrap();
    for (why, record) in DAMAGES {
        fixture.damage(key("bad"), record).await;
        let got = fixture.get(FOOS, "bad").await.map(drop).unwrap_err().into_status();
        assert_eq!(got.code, 500, "{why}");
        let patched = fixture.patch("bad", PatchType::Merge, &json!({"spec": {"n": 2}})).await.map(drop);
        assert_eq!(code_and_message(patched.unwrap_err()).0, 500, "{why}");
        let deleted = fixture.delete(FOOS, "bad", &DeleteOptions::default()).await.map(drop);
        assert_eq!(code_and_message(deleted.unwrap_err()).0, 500, "{why}");
        let deleted = fixture.delete_unsafely(FOOS, "bad").await.unwrap();
        assert!(matches!(deleted, Deleted::Gone(uid) if uid.is_empty()), "{why}");
        assert!(!fixture.is_stored("bad").await, "{why}");
        assert_eq!(fixture.list(FOOS).await.unwrap().len(), 1, "{why}");
    }
}

#[tokio::test]
async fn errors_name_them() {
    let fixture = fixture().await;
    fixture.create(FOOS, &foo("good", json!(1))).await.unwrap();
    fixture.damage(key("bad"), DAMAGES[2].1).await;
    fixture.damage(key("worse"), DAMAGES[0].1).await;
    let status = fixture.get(FOOS, "worse").await.map(drop).unwrap_err().into_status();
    assert_eq!(status.reason.as_str(), "InternalError");
    let revision = fixture.store.revision().await.unwrap();
    assert_eq!(
        status.message,
        format!(
            "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /registry/g.io/foos/default/worse, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision={revision}: stored object has format 7, this server reads 1"
        )
    );
    let status = fixture.list(FOOS).await.map(drop).unwrap_err().into_status();
    assert_eq!((status.code, status.reason.as_str()), (500, "StorageReadError"));
    assert_eq!(status.message, "failed to read one or more foos.g.io from the storage");
    let causes = status.details.unwrap().causes;
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(fields, ["/registry/g.io/foos/default/bad", "/registry/g.io/foos/default/worse"]);
    assert!(causes.iter().all(|cause| cause.reason == "UnexpectedServerResponse"));
}

#[tokio::test]
async fn many_of_them_are_not_all_named() {
    let fixture = fixture().await;
    for i in 0..120 {
        fixture.damage(key(&format!("bad-{i:03}")), DAMAGES[0].1).await;
    }
    let causes = fixture.list(FOOS).await.map(drop).unwrap_err().into_status().details.unwrap().causes;
    assert_eq!(causes.len(), 101);
    assert_eq!(causes[100].message, "too many errors, the list is truncated");
}

#[tokio::test]
async fn readable_objects_are_not_deleted_that_way() {
    let fixture = fixture().await;
    fixture.create(FOOS, &foo("good", json!(1))).await.unwrap();
    for name in ["good", "absent"] {
        let refused = fixture.delete_unsafely(FOOS, name).await.map(drop).unwrap_err();
        let message = format!(
            "foos.g.io \"{name}\" is invalid: ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: is exclusively used to delete corrupt object(s), try again by removing this option"
        );
        assert_eq!(code_and_message(refused), (422, message));
    }
    assert!(fixture.is_stored("good").await);
    let target = fixture.target(FOOS, None);
    let (list, context) = (ListOptions::default(), &mut Context::default());
    let refused = fixture.engine.delete_collection(&target, &list, &unsafely(), context).await.map(drop);
    assert_eq!(
        code_and_message(refused.unwrap_err()),
        (
            422,
            "DeleteOptions.meta.k8s.io \"\" is invalid: ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: is not allowed with DELETECOLLECTION, try again after removing the option".to_owned()
        )
    );
}

#[tokio::test]
async fn without_the_gate_the_option_means_nothing() {
    let fixture = Fixture::new().await;
    fixture.damage(key("bad"), DAMAGES[0].1).await;
    assert_eq!(code_and_message(fixture.delete_unsafely(FOOS, "bad").await.map(drop).unwrap_err()).0, 500);
    assert!(fixture.is_stored("bad").await);
    fixture.create(FOOS, &foo("good", json!(1))).await.unwrap();
    let deleted = fixture.delete_unsafely(FOOS, "good").await.unwrap();
    assert!(matches!(deleted, Deleted::Marked(_)));
}

#[tokio::test]
async fn namespaces_and_definitions_finish_once_they_are_deleted() {
    let fixture = fixture().await;
    tokio::spawn(fixture.engine.clone().run_controllers());
    let namespaces = ("", "namespaces");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}});
    fixture.create(namespaces, &namespace).await.unwrap();
    fixture.damage(Key::new("/registry/g.io/foos/ns/bad"), DAMAGES[2].1).await;
    fixture.damage(key("bad"), DAMAGES[0].1).await;
    fixture.delete(namespaces, "ns", &DeleteOptions::default()).await.unwrap();
    let target = Target { namespace: Some("ns".into()), ..fixture.target(FOOS, Some("bad")) };
    fixture.engine.delete(&target, &unsafely(), &mut Context::default()).await.unwrap();
    fixture.eventually_gone(&Key::new("/registry/core/namespaces/ns")).await;
    fixture.delete(CRDS, "foos.g.io", &DeleteOptions::default()).await.unwrap();
    fixture.delete_unsafely(FOOS, "bad").await.unwrap();
    let definition = Key::new("/registry/apiextensions.k8s.io/customresourcedefinitions/foos.g.io");
    fixture.eventually_gone(&definition).await;
}

#[tokio::test]
async fn a_watch_that_sees_one_ends_with_an_error() {
    let fixture = fixture().await;
    let target = fixture.target(FOOS, None);
    for deleted in [false, true] {
        if deleted {
            fixture.damage(key("bad"), DAMAGES[0].1).await;
        }
        let after = Some(fixture.store.revision().await.unwrap().0);
        let options = WatchOptions { after, ..WatchOptions::default() };
        let Ok(mut stream) = fixture.engine.watch(&target, options).await.unwrap() else { panic!() };
        if deleted {
            fixture.delete_unsafely(FOOS, "bad").await.unwrap();
        } else {
            fixture.damage(key("bad"), DAMAGES[0].1).await;
        }
        let failed = match stream.next().await {
            Some(Item::Failed(status)) => *status,
            Some(Item::Event(event)) => event.object().map(drop).unwrap_err().into_status(),
            _ => panic!("an end without a reason"),
        };
        assert_eq!(failed.code, 500);
        assert!(failed.message.contains("/registry/g.io/foos/default/bad"), "{}", failed.message);
        let says = failed.message.starts_with("saw a DELETED event, but object data is corrupt");
        assert_eq!(says, deleted, "{}", failed.message);
    }
}

#[tokio::test]
async fn the_others_are_served_after_a_start() {
    let fixture = fixture().await;
    let broken = Key::new("/registry/apiextensions.k8s.io/customresourcedefinitions/bars.g.io");
    fixture.damage(broken.clone(), DAMAGES[2].1).await;
    let again = deterministic::engine(fixture.store.clone())
        .with_gates(Gates { unsafe_deletion: true, ..Gates::default() });
    again.start().await.unwrap();
    let fixture = Fixture { store: fixture.store, engine: Arc::new(again) };
    fixture.create(FOOS, &foo("good", json!(1))).await.unwrap();
    fixture.delete_unsafely(CRDS, "bars.g.io").await.unwrap();
    assert!(fixture.store.get(&broken, None).await.unwrap().is_none());
}

#[tokio::test]
async fn a_webhook_configuration_that_cannot_be_decoded_refuses_writes_until_it_is_deleted() {
    const CONFIGURATIONS: (&str, &str) = ("admissionregistration.k8s.io", "validatingwebhookconfigurations");
    let fixture = fixture().await;
    let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "bad"}});
    fixture.create(CONFIGURATIONS, &configuration).await.unwrap();
    let key = fixture.target(CONFIGURATIONS, Some("bad")).key_of("bad");
    fixture.damage(key, DAMAGES[2].1).await;
    let gates = Gates { unsafe_deletion: true, ..Gates::default() };
    let engine = deterministic::engine(fixture.store.clone()).with_gates(gates);
    engine.start().await.expect("it starts all the same");
    let again = Fixture { store: fixture.store.clone(), engine: Arc::new(engine) };
    let refused = again.create(FOOS, &foo("x", json!(1))).await.map(drop).unwrap_err();
    let (code, message) = code_and_message(refused);
    assert_eq!(
        (code, message.as_str()),
        (403, "foos.g.io \"x\" is forbidden: not yet ready to handle request")
    );
    assert!(again.list(FOOS).await.unwrap().is_empty(), "it can be read");
    again.delete_unsafely(CONFIGURATIONS, "bad").await.unwrap();
    again.create(FOOS, &foo("x", json!(1))).await.unwrap();
}
