//! Decoding of webhook configurations by upstream's Go types.
//!
//! Empty fields are left out, `null` is no value, certificates are base64, and a wrong type is an error of Go's
//! decoder. Defaults are in the manifests.

use pleach_go::json::{Decoder, GoType};
use pleach_json::Value;

use crate::types;

/// Decodes a configuration in place; returns the paths of unknown fields.
pub(super) fn decode_configuration(kind: &str, value: &mut Value) -> Result<Vec<String>, String> {
    let root = types::go_root(&format!("admissionregistration/v1.{kind}")).expect("a type of the table");
    let mut decoder = Decoder::noting_unknown("").with_literal_numbers();
    decoder.decode(value, &GoType::Struct(root))?;
    remove_nulls(value);
    Ok(decoder.into_unknown())
}

/// Removes nulls of fields that are never left out in Go: an object without these fields is not valid.
fn remove_nulls(configuration: &mut Value) {
    let Some(Value::Array(webhooks)) = configuration.get_mut("webhooks") else { return };
    for webhook in webhooks.iter_mut().filter_map(Value::as_object_mut) {
        for field in ["admissionReviewVersions", "sideEffects"] {
            if webhook.get(field).is_some_and(Value::is_null) {
                webhook.remove(field);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn decoded(mut webhook: Value) -> Result<Value, String> {
        if let Some(members) = webhook.as_object_mut() {
            members.insert("name", "a.b.c");
        }
        let mut value = json!({"webhooks": [(webhook)]});
        decode_configuration("ValidatingWebhookConfiguration", &mut value)?;
        Ok(value.get("webhooks").and_then(Value::as_array).map(|all| all[0].clone()).unwrap_or_default())
    }

    #[test]
    fn empty_fields_are_left_out() {
        for (sent, want) in [
            (json!({}), json!({"clientConfig": {}})),
            (
                json!({"rules": [], "matchConditions": null, "failurePolicy": null, "sideEffects": ""}),
                json!({"clientConfig": {}, "sideEffects": ""}),
            ),
            (
                json!({"clientConfig": {"url": "", "caBundle": "", "service": {"path": ""}}}),
                json!({"clientConfig": {"url": "", "service": {"name": "", "namespace": "", "path": ""}}}),
            ),
            (
                json!({"clientConfig": {"caBundle": "YWJj\nYWJj"}}),
                json!({"clientConfig": {"caBundle": "YWJjYWJj"}}),
            ),
            (
                json!({"namespaceSelector": {"matchLabels": {}, "matchExpressions": [{"values": []}]}}),
                json!({
                    "clientConfig": {},
                    "namespaceSelector": {"matchExpressions": [{"key": "", "operator": ""}]},
                }),
            ),
            (json!({"rules": [null]}), json!({"clientConfig": {}, "rules": [{}]})),
        ] {
            let mut want = want;
            want.as_object_mut().expect("an object").insert("name", "a.b.c");
            assert_eq!(decoded(sent), Ok(want));
        }
        let mut value = json!({"metadata": {}, "webhooks": []});
        assert_eq!(decode_configuration("MutatingWebhookConfiguration", &mut value), Ok(vec![]));
        assert_eq!(value, json!({"metadata": {}}));
    }

    #[test]
    fn wrong_types_are_told_in_go_s_words() {
        let number = "json: cannot unmarshal number into Go struct field";
        for (sent, want) in [
            (json!({"timeoutSeconds": "5"}), "json: cannot unmarshal string into Go struct field ValidatingWebhook.webhooks.timeoutSeconds of type int32".to_owned()),
            (json!({"timeoutSeconds": 5.5}), "json: cannot unmarshal number 5.5 into Go struct field ValidatingWebhook.webhooks.timeoutSeconds of type int32".to_owned()),
            (json!({"rules": [5]}), format!("{number} ValidatingWebhook.webhooks.rules of type v1.RuleWithOperations")),
            (json!({"rules": [{"scope": 5}]}), format!("{number} RuleWithOperations.webhooks.rules.Rule.scope of type v1.ScopeType")),
            (json!({"rules": [{"operations": 5}]}), format!("{number} RuleWithOperations.webhooks.rules.operations of type []v1.OperationType")),
            (json!({"rules": [{"apiGroups": 5}]}), format!("{number} RuleWithOperations.webhooks.rules.Rule.apiGroups of type []string")),
            (json!({"namespaceSelector": {"matchLabels": {"a": 1}}}), format!("{number} LabelSelector.webhooks.namespaceSelector.matchLabels of type string")),
            (json!({"sideEffects": 1}), format!("{number} ValidatingWebhook.webhooks.sideEffects of type v1.SideEffectClass")),
            (json!({"clientConfig": {"caBundle": "%%%"}}), "illegal base64 data at input byte 0".to_owned()),
            (json!({"clientConfig": {"caBundle": "YWJj!"}}), "illegal base64 data at input byte 4".to_owned()),
        ] {
            assert_eq!(decoded(sent), Err(want));
        }
    }

    #[test]
    fn unknown_fields_are_told() {
        let mut value = json!({"x": 1, "webhooks": [{"reinvocationPolicy": "Never", "rules": [{"y": 1}]}]});
        let unknown = decode_configuration("ValidatingWebhookConfiguration", &mut value).expect("decodes");
        assert_eq!(unknown, ["webhooks[0].reinvocationPolicy", "webhooks[0].rules[0].y", "x"]);
        let mut value = json!({"webhooks": [{"reinvocationPolicy": "Never"}]});
        assert_eq!(decode_configuration("MutatingWebhookConfiguration", &mut value), Ok(vec![]));
    }
}
