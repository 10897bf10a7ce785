//! Decoding of webhook configurations by upstream's Go types.
//!
//! Empty fields are left out, `null` is no value, certificates are base64, and a wrong type is an error of Go's
//! decoder. Defaults are in the manifests.

use pleach_go::json::{Decoder, GoField, GoStruct, GoType, STRING, always, omitempty};
use pleach_json::Value;

const STRINGS: GoType = GoType::Slice(&STRING);

/// Decodes a configuration in place; the paths of unknown fields come back.
pub(super) fn decode_configuration(kind: &str, value: &mut Value) -> Result<Vec<String>, String> {
    let shape =
        if kind == MUTATING_CONFIGURATION.name { &MUTATING_CONFIGURATION } else { &VALIDATING_CONFIGURATION };
    let mut decoder = Decoder::noting_unknown("").with_literal_numbers();
    decoder.decode(value, &GoType::Struct(shape)).map_err(|error| name_embedded(&error))?;
    Ok(decoder.into_unknown())
}

/// In Go the most of a rule is a struct within the rule, which errors name and JSON does not.
fn name_embedded(error: &str) -> String {
    const OUTSIDE: &str = ".webhooks.rules.";
    match error.split_once(OUTSIDE) {
        Some((before, field)) if !field.starts_with("operations") => format!("{before}{OUTSIDE}Rule.{field}"),
        _ => error.to_owned(),
    }
}

static MUTATING_CONFIGURATION: GoStruct =
    GoStruct { name: "MutatingWebhookConfiguration", package: "v1", fields: &configuration(&MUTATING) };
static VALIDATING_CONFIGURATION: GoStruct =
    GoStruct { name: "ValidatingWebhookConfiguration", package: "v1", fields: &configuration(&VALIDATING) };

static MUTATING: GoType = GoType::Struct(&GoStruct {
    name: "MutatingWebhook",
    package: "v1",
    fields: &{
        let [
            name,
            client,
            rules,
            failure,
            matches,
            namespaces,
            objects,
            effects,
            timeout,
            reviews,
            conditions,
        ] = webhook();
        let again = pointer("reinvocationPolicy", &GoType::String("v1.ReinvocationPolicyType"));
        [
            name, client, rules, failure, matches, namespaces, objects, effects, timeout, reviews, again,
            conditions,
        ]
    },
});
static VALIDATING: GoType =
    GoType::Struct(&GoStruct { name: "ValidatingWebhook", package: "v1", fields: &webhook() });

const fn configuration(webhook: &'static GoType) -> [GoField; 4] {
    [
        omitempty("kind", STRING),
        omitempty("apiVersion", STRING),
        // Metadata was decoded before.
        omitempty("metadata", GoType::Raw),
        omitempty("webhooks", GoType::Slice(webhook)),
    ]
}

const fn pointer(name: &'static str, to: &'static GoType) -> GoField {
    omitempty(name, GoType::Pointer(to))
}

const fn webhook() -> [GoField; 11] {
    [
        always("name", STRING),
        always("clientConfig", GoType::Struct(&CLIENT_CONFIG)),
        omitempty("rules", GoType::Slice(&RULE)),
        pointer("failurePolicy", &GoType::String("v1.FailurePolicyType")),
        pointer("matchPolicy", &GoType::String("v1.MatchPolicyType")),
        pointer("namespaceSelector", &LABEL_SELECTOR),
        pointer("objectSelector", &LABEL_SELECTOR),
        pointer("sideEffects", &GoType::String("v1.SideEffectClass")),
        pointer("timeoutSeconds", &GoType::Int32),
        // Never left out in Go, but nothing that lacks it is stored.
        omitempty("admissionReviewVersions", STRINGS),
        omitempty("matchConditions", GoType::Slice(&MATCH_CONDITION)),
    ]
}

static CLIENT_CONFIG: GoStruct = GoStruct {
    name: "WebhookClientConfig",
    package: "v1",
    fields: &[
        pointer("url", &STRING),
        pointer(
            "service",
            &GoType::Struct(&GoStruct {
                name: "ServiceReference",
                package: "v1",
                fields: &[
                    always("namespace", STRING),
                    always("name", STRING),
                    pointer("path", &STRING),
                    pointer("port", &GoType::Int32),
                ],
            }),
        ),
        omitempty("caBundle", GoType::Bytes),
    ],
};

static RULE: GoType = GoType::Struct(&GoStruct {
    name: "RuleWithOperations",
    package: "v1",
    fields: &[
        omitempty("operations", GoType::Slice(&GoType::String("v1.OperationType"))),
        omitempty("apiGroups", STRINGS),
        omitempty("apiVersions", STRINGS),
        omitempty("resources", STRINGS),
        pointer("scope", &GoType::String("v1.ScopeType")),
    ],
});

static LABEL_SELECTOR: GoType = GoType::Struct(&GoStruct {
    name: "LabelSelector",
    package: "v1",
    fields: &[
        omitempty("matchLabels", GoType::Map(&STRING)),
        omitempty(
            "matchExpressions",
            GoType::Slice(&GoType::Struct(&GoStruct {
                name: "LabelSelectorRequirement",
                package: "v1",
                fields: &[
                    always("key", STRING),
                    always("operator", GoType::String("v1.LabelSelectorOperator")),
                    omitempty("values", STRINGS),
                ],
            })),
        ),
    ],
});

static MATCH_CONDITION: GoType = GoType::Struct(&GoStruct {
    name: "MatchCondition",
    package: "v1",
    fields: &[always("name", STRING), always("expression", STRING)],
});

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
    fn what_is_empty_is_left_out() {
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
        let mut value = json!({"webhooks": []});
        assert_eq!(decode_configuration("MutatingWebhookConfiguration", &mut value), Ok(vec![]));
        assert_eq!(value, json!({}));
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
