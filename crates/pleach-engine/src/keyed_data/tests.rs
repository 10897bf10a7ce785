//! As kube-apiserver v1.36.4 answered.

use pleach_json::json;

use super::*;

fn secret(object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut errors = Vec::new();
    if let Some(old) = old {
        check_immutable(object, old, &["data"], &mut errors);
    }
    check_secret(object, &mut errors);
    errors.iter().map(ToString::to_string).collect()
}

fn config_map(object: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check_config_map(object, &mut errors);
    errors.iter().map(ToString::to_string).collect()
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
fn types_of_secrets_have_keys_of_their_own() {
    for (object, want) in [
        (json!({"type": "ex.io/any"}), vec![]),
        (
            json!({"type": "kubernetes.io/tls"}),
            vec!["data[tls.crt]: Required value", "data[tls.key]: Required value"],
        ),
        (json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}}), vec![]),
        (
            json!({"type": "kubernetes.io/basic-auth"}),
            vec!["data[username]: Required value", "data[password]: Required value"],
        ),
        (json!({"type": "kubernetes.io/basic-auth", "data": {"password": "eA=="}}), vec![]),
        (
            json!({"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}}),
            vec!["data[ssh-privatekey]: Required value"],
        ),
        (json!({"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "e30="}}), vec![]),
        (
            json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "W10="}}),
            vec![
                "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": json: cannot \
                 unmarshal array into Go value of type map[string]interface {}",
            ],
        ),
        (
            json!({"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "bm9qc29u"}}),
            vec![
                "data[.dockercfg]: Invalid value: \"<secret contents redacted>\": invalid character 'o' in \
                 literal null (expecting 'u')",
            ],
        ),
        (
            json!({"type": "kubernetes.io/service-account-token"}),
            vec!["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
    ] {
        assert_eq!(secret(&object, None), want, "{object:?}");
    }
}

#[test]
fn what_is_immutable_stays() {
    let old = json!({"immutable": true, "data": {"k": "aGk="}, "type": "Opaque"});
    assert!(secret(&old, Some(&old)).is_empty());
    assert_eq!(
        secret(&json!({"data": {}, "type": "Opaque"}), Some(&old)),
        [
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
        ]
    );
}

#[test]
fn the_text_of_a_secret_goes_into_its_data() {
    let mut object = json!({"data": {"k": "aGk=", "other": "eA=="}, "stringData": {"k": "w"}});
    write_string_data(&mut object);
    assert_eq!(object, json!({"data": {"k": "dw==", "other": "eA=="}}));
}

#[test]
fn bytes_that_are_no_base64_are_told_by_their_place() {
    for (text, want) in [("###", Some(0)), ("aG#=", Some(2)), ("aGk", Some(0)), ("aGp=", None), ("", None)] {
        let at = BASE64.decode(text).err().map(|error| corrupt_at(text, &error));
        assert_eq!(at, want, "{text}");
    }
}
