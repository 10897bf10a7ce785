//! As kube-apiserver v1.36.4 answered.

use pleach_json::json;

use super::*;

fn secret(object: &Value, old: Option<&Value>) -> Vec<String> {
    Secret.validate(object, old).iter().map(ToString::to_string).collect()
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
fn immutable_fields_do_not_change() {
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
fn string_data_goes_into_data() {
    for (object, want) in [
        (
            json!({"data": {"k": "aGk=", "other": "eA=="}, "stringData": {"k": "w"}}),
            json!({"data": {"k": "dw==", "other": "eA=="}}),
        ),
        (json!({"data": {}, "type": ""}), json!({"type": "Opaque"})),
    ] {
        let mut completed = object;
        Secret.complete(&mut completed);
        assert_eq!(completed, want);
    }
}
