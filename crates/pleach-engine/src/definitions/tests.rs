use pleach_json::json;
use pleach_store::{Key, Revision, Versioned};

use super::{RangeQuery, decode_on, keys};

use crate::options::{Context, DeleteOptions, PatchType, WriteOptions};
use crate::testing::{Fixture, body, text};

fn crd(plural: &str, kind: &str) -> pleach_json::Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": (format!("{plural}.example.com"))},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"plural": (plural), "kind": (kind)},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        }
    })
}

#[tokio::test]
async fn a_crd_is_served_when_its_request_is_answered() {
    let fixture = Fixture::new().await;
    assert!(fixture.engine.catalog.get("example.com", "bars").is_none());
    fixture.create("customresourcedefinitions", &crd("bars", "Bar")).await.unwrap();
    assert!(fixture.engine.catalog.get("example.com", "bars").unwrap().established);
}

#[tokio::test]
async fn names_that_are_taken_are_not_accepted() {
    let fixture = Fixture::new().await;
    fixture.create("customresourcedefinitions", &crd("bars", "Foo")).await.unwrap();
    assert!(fixture.engine.catalog.get("example.com", "bars").is_none());
    let target = fixture.target("customresourcedefinitions", Some("bars.example.com"));
    let stored = fixture.get(&target).await.unwrap();
    let conditions = stored.at(&["status", "conditions"]).and_then(pleach_json::Value::as_array).unwrap();
    let accepted = conditions.iter().find(|c| text(c, &["type"]) == "NamesAccepted").unwrap();
    assert_eq!(
        (text(accepted, &["status"]), text(accepted, &["reason"])),
        ("False".into(), "ListKindConflict".into())
    );
    // Its own names become free for it when they are changed.
    let patch = body(&json!({"spec": {"names": {"kind": "Bar", "singular": "bar", "listKind": "BarList"}}}));
    let (options, mut context) = (WriteOptions::default(), Context::default());
    fixture.engine.patch(&target, PatchType::Merge, &patch, &options, &mut context).await.unwrap();
    assert!(fixture.engine.catalog.get("example.com", "bars").is_some());
}

#[tokio::test]
async fn a_crd_that_is_being_deleted_accepts_no_new_objects() {
    let fixture = Fixture::new().await;
    fixture.create_foo("a", json!({})).await;
    let target = fixture.target("customresourcedefinitions", Some("foos.example.com"));
    fixture.engine.delete(&target, &DeleteOptions::default(), &mut Context::default()).await.unwrap();
    let object = crate::testing::foo("b", json!({}));
    let refused = fixture.create("foos", &object).await.map(drop).unwrap_err().into_status();
    assert_eq!(refused.code, 403, "{}", refused.message);
    assert!(fixture.get(&fixture.foo("a")).await.is_ok(), "the CRD finalizer deletes it");
}

#[tokio::test]
async fn crds_decoded_on_many_threads_are_those_decoded_on_one_in_order() {
    let fixture = Fixture::new().await;
    for n in 0..20 {
        fixture
            .create("customresourcedefinitions", &crd(&format!("bars{n}s"), &format!("Bar{n}")))
            .await
            .unwrap();
    }
    // Its name is taken.
    fixture.create("customresourcedefinitions", &crd("others", "Bar1")).await.unwrap();
    let query = RangeQuery::prefix(keys::prefix(super::GROUP, super::PLURAL, None));
    let mut items = fixture.engine.store.range(query).await.unwrap().items;
    for (at, value) in [(0, &b"damaged"[..]), (7, b"k8s:enc:aescbc:v1:key:"), (22, b"")] {
        let key = Key::new(format!("{}damaged{at}", keys::prefix(super::GROUP, super::PLURAL, None)));
        let (value, revision) = (value.to_vec().into(), Revision(1));
        items.insert(at, Versioned { key, value, revision, created: revision });
    }
    let decoded = |threads| {
        let decoded = decode_on(threads, &items, fixture.engine.gates).into_iter();
        let decoded = decoded.map(|decoded| match decoded {
            Ok((crd, kind)) => {
                (crd.meta().name().to_owned(), kind.map(|kind| kind.storage_version().fingerprint()))
            }
            Err(error) => (error.to_string(), None),
        });
        decoded.collect::<Vec<_>>()
    };
    let serial = decoded(1);
    assert_eq!(serial.iter().filter(|(_, kind)| kind.is_some()).count(), 21);
    assert!(serial[7].0.contains("is encrypted"), "{}", serial[7].0);
    for threads in [0, 2, 3, 8, 24, 100] {
        assert_eq!(decoded(threads), serial, "{threads}");
    }
}
