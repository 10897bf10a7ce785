//! As kube-apiserver v1.36.4 answered.

use pleach_json::{Map, json};

use super::*;

fn config_map(object: &Value) -> Vec<String> {
    ConfigMap.validate(object, None).iter().map(ToString::to_string).collect()
}

#[test]
fn keys_are_names_of_files() {
    const SPELLING: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
                            'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
                            '[-._a-zA-Z0-9]+')";
    for (key, want) in [
        ("ok.k-_", vec![]),
        ("a/b", vec![SPELLING]),
        ("", vec![SPELLING]),
        (".", vec!["must not be '.'"]),
        ("..", vec!["must not be '..'"]),
        ("..a", vec!["must not start with '..'"]),
        ("../b", vec![SPELLING, "must not start with '..'"]),
    ] {
        let mut data = Map::new();
        data.insert(key, "v");
        let want: Vec<String> =
            want.iter().map(|detail| format!("data[{key}]: Invalid value: \"{key}\": {detail}")).collect();
        assert_eq!(config_map(&json!({"data": data})), want, "{key:?}");
    }
    let mut data = Map::new();
    data.insert("x".repeat(254), "v");
    assert!(config_map(&json!({"data": data}))[0].ends_with("must be no more than 253 characters"));
}

#[test]
fn a_key_is_in_one_place_and_there_is_a_limit() {
    assert_eq!(
        config_map(&json!({"data": {"k": "v"}, "binaryData": {"k": "aGk="}})),
        ["data[k]: Invalid value: \"k\": duplicate of key present in binaryData"]
    );
    assert!(config_map(&json!({"data": {"k": "x".repeat(LIMIT)}})).is_empty());
    assert_eq!(
        config_map(&json!({"data": {"k": "x".repeat(LIMIT)}, "binaryData": {"b": "aGk="}})),
        ["[]: Too long: may not be more than 1048576 bytes"]
    );
}

#[test]
fn many_keys_are_looked_up_not_searched() {
    let keys = || (0..50_000).map(|i| format!("k{i}"));
    let (mut data, mut bytes) = (Map::new(), Map::new());
    keys().for_each(|key| data.insert(key, "").map_or((), drop));
    keys().for_each(|key| bytes.insert(key, "").map_or((), drop));
    assert_eq!(config_map(&json!({"data": data, "binaryData": bytes})).len(), 50_000);
}

#[test]
fn empty_fields_are_left_out() {
    let mut object = json!({"data": {}, "binaryData": {"a": ""}});
    ConfigMap.complete(&mut object);
    assert_eq!(object, json!({"binaryData": {"a": ""}}));
}
