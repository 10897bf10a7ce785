//! Keys and values that kube-apiserver v1.36.4 wrote (`tests/registry.json`), read and written again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pleach_engine::record::Record;
use pleach_json::Value;
use pleach_store::{Key, Revision};
use pleach_store_etcd::Codec as _;

use crate::StorageCodec;

struct Recorded {
    key: String,
    value: Bytes,
    lease: bool,
    served: Option<Value>,
}

fn recorded() -> (Vec<Recorded>, Vec<String>) {
    let file = pleach_json::parse(include_bytes!("tests/registry.json")).unwrap();
    let list = |name: &str| file.get(name).and_then(Value::as_array).unwrap().to_vec();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let objects = list("objects").into_iter().map(|object| Recorded {
        key: text(&object, "key").unwrap(),
        value: match text(&object, "value") {
            Some(json) => json.into(),
            None => STANDARD.decode(text(&object, "valueBase64").unwrap()).unwrap().into(),
        },
        lease: object.get("lease") == Some(&Value::Bool(true)),
        served: object.get("served").cloned(),
    });
    (objects.collect(), list("allKeys").iter().map(|key| key.as_str().unwrap().to_owned()).collect())
}

fn codec() -> StorageCodec {
    StorageCodec::new("/registry", Some(std::time::Duration::from_hours(1)))
}

#[test]
fn values_of_kube_apiserver_are_read_and_written_back() {
    let (objects, _) = recorded();
    assert_eq!(objects.len(), 18);
    let codec = codec();
    for Recorded { key, value, lease, served } in objects {
        let ours = codec.decode_key(key.as_bytes()).unwrap_or_else(|| panic!("{key} is not ours"));
        assert_eq!(codec.encode_key(&ours), key.as_bytes());
        assert_eq!(codec.time_to_live(&ours).is_some(), lease, "{key}");
        let record = codec.decode_value(&ours, value.clone());
        let revision = served.as_ref().map_or(Revision(1), |served| {
            let revision = served.at(&["metadata", "resourceVersion"]).and_then(Value::as_str);
            Revision(revision.unwrap().parse().unwrap())
        });
        let object = Record::open(record.clone(), revision).unwrap().parse().unwrap();
        if let Some(served) = served {
            assert_eq!(pleach_json::to_string(&object), pleach_json::to_string(&served), "{key}");
        }
        let written = codec.encode_value(&ours, &record).unwrap();
        if value.starts_with(b"k8s\0") {
            assert_eq!(STANDARD.encode(&written), STANDARD.encode(&value), "{key}");
        } else {
            let read = |bytes: &[u8]| pleach_json::to_string(&pleach_json::parse(bytes).unwrap());
            assert_eq!(read(&written), read(&value), "{key}");
            assert!(written.ends_with(b"}\n"), "{key}");
        }
        assert_eq!(codec.decode_value(&ours, written), record, "{key}: nothing beside the value is needed");
    }
}

#[test]
fn custom_resources_are_written_byte_by_byte_as_kube_apiserver_does() {
    let codec = codec();
    let custom = |key: &str| key.starts_with("/registry/etcd.example.com/");
    let (objects, _) = recorded();
    let objects: Vec<_> = objects.into_iter().filter(|object| custom(&object.key)).collect();
    assert_eq!(objects.len(), 3);
    for Recorded { key, value, .. } in objects {
        let ours = codec.decode_key(key.as_bytes()).unwrap();
        let written = codec.encode_value(&ours, &codec.decode_value(&ours, value.clone())).unwrap();
        assert_eq!(String::from_utf8(written.to_vec()), String::from_utf8(value.to_vec()), "{key}");
    }
}

#[test]
fn custom_resources_in_cbor_are_read_and_written_back_as_json() {
    let codec = codec();
    let (objects, _) = recorded();
    let custom = objects.into_iter().filter(|object| object.key.starts_with("/registry/etcd.example.com/"));
    for Recorded { key, value, .. } in custom {
        let ours = codec.decode_key(key.as_bytes()).unwrap();
        let cbor = pleach_cbor::write(&pleach_json::parse(&value).unwrap());
        assert!(cbor.starts_with(b"\xd9\xd9\xf7"), "{key}");
        let record = codec.decode_value(&ours, cbor.into());
        assert_eq!(record, codec.decode_value(&ours, value.clone()), "{key}");
        assert_eq!(codec.encode_value(&ours, &record).unwrap(), value, "{key}");
    }
    let broken = Bytes::from_static(b"\xd9\xd9\xf7\xa1\x41a");
    let ours = Key::from("/registry/etcd.example.com/widgets/ns/a");
    assert_eq!(codec.decode_value(&ours, broken.clone()), broken, "it stays as it is");
}

#[test]
fn keys_of_a_fresh_server_are_ours_or_left_alone() {
    let codec = codec();
    let (_, keys) = recorded();
    let others = ["masterleases", "peerserverleases", "ranges"];
    for key in keys {
        let resource = key.split('/').nth(2).unwrap();
        match codec.decode_key(key.as_bytes()) {
            Some(ours) => {
                assert_eq!(codec.encode_key(&ours), key.as_bytes());
                assert!(!others.contains(&resource), "{key}");
            }
            None => assert!(others.contains(&resource), "{key} is not served"),
        }
    }
}

#[test]
fn keys_keep_their_older_names() {
    let codec = StorageCodec::new("some/prefix", None);
    for (ours, theirs) in [
        ("/registry/core/services/ns/a", "/some/prefix/services/specs/ns/a"),
        ("/registry/core/endpoints/ns/a", "/some/prefix/services/endpoints/ns/a"),
        ("/registry/core/nodes/a", "/some/prefix/minions/a"),
        ("/registry/core/replicationcontrollers/ns/a", "/some/prefix/controllers/ns/a"),
        ("/registry/networking.k8s.io/ingresses/ns/a", "/some/prefix/ingress/ns/a"),
        ("/registry/apps/deployments/ns/a", "/some/prefix/deployments/ns/a"),
        ("/registry/networking.k8s.io/mine/ns/a", "/some/prefix/networking.k8s.io/mine/ns/a"),
        ("/registry/a.example.com/services/ns/a", "/some/prefix/a.example.com/services/ns/a"),
    ] {
        assert_eq!(codec.encode_key(&Key::from(ours)), theirs);
        assert_eq!(codec.decode_key(theirs.as_bytes()), Some(Key::from(ours)));
    }
    for other in ["/registry/pods/ns/a", "/some/prefix/ranges/a", "/some/prefix/apps/deployments/ns/a", "\0"]
    {
        assert_eq!(codec.decode_key(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn ranges_of_a_resource_are_ranges_in_etcd() {
    let codec = codec();
    let span = |start: &str, end: Option<&str>| {
        let (start, end) = codec.span(&Key::from(start), end.map(Key::from).as_ref());
        (String::from_utf8(start.to_vec()).unwrap(), String::from_utf8(end.to_vec()).unwrap())
    };
    let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    for (start, end, want) in [
        ("/registry/core/pods/", Some("/registry/core/pods0"), text("/registry/pods/", "/registry/pods0")),
        (
            "/registry/core/pods/a/b\0",
            Some("/registry/core/pods/a0"),
            text("/registry/pods/a/b\0", "/registry/pods/a0"),
        ),
        ("/registry/core/pods/", Some("/registry/core/secrets/"), text("/registry/", "/registry0")),
        ("/registry/", None, text("/registry/", "/registry0")),
    ] {
        assert_eq!(span(start, end), want, "{start}");
    }
}

#[test]
fn values_that_cannot_be_decoded_are_kept() {
    let codec = codec();
    let key = Key::from("/registry/a.example.com/foos/x");
    for value in [&b"not an object"[..], b"", b"k8s\0", b"k8s\0\x0a\xff", b"[1]", b"{\"metadata\":1}"] {
        let value = Bytes::from_static(value);
        assert_eq!(codec.decode_value(&key, value.clone()), value);
        assert!(codec.encode_value(&key, &value).is_err());
    }
}

#[test]
fn objects_read_before_their_kind_was_known_are_looked_at_again() {
    let codec = codec();
    let (objects, _) = recorded();
    let object = objects.iter().find(|object| object.key.ends_with("/gadgets/g")).unwrap();
    let key = codec.decode_key(object.key.as_bytes()).unwrap();
    let record = codec.decode_value(&key, object.value.clone());
    assert_eq!(codec.refresh(&key, &record), None, "no kinds are known");
    codec.set_fingerprint(std::sync::Arc::new(|_, object| u64::from(object.get("spec").is_some()) * 7));
    let refreshed = codec.refresh(&key, &record).unwrap();
    assert_eq!(refreshed, codec.decode_value(&key, object.value.clone()));
    assert!(Record::open(refreshed.clone(), Revision(1)).unwrap().is_sendable(7));
    assert_eq!(codec.refresh(&key, &refreshed), None, "it is settled");
}
