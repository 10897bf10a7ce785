//! AuthorizationConfiguration (`apiserver.config.k8s.io/v1`): read and checked at start.

use std::time::Duration;

use pleach_json::Value;

use super::webhook::{FailurePolicy, WebhookOptions, compile};

/// An authorizer of a configuration.
#[derive(Debug)]
pub enum AuthorizerConfig {
    /// `RBAC`
    Rbac,
    /// `AlwaysAllow`
    AlwaysAllow,
    /// `AlwaysDeny`
    AlwaysDeny,
    /// `Webhook`, with the file of its kubeconfig.
    Webhook(Box<WebhookOptions>, String),
}

/// Reads a configuration. Every error is one that keeps the server from starting.
pub fn parse(text: &str) -> Result<Vec<AuthorizerConfig>, String> {
    const VERSIONS: [&str; 3] =
        ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];
    let value = pleach_yaml::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let (version, kind) = (text_of(&value, "apiVersion"), text_of(&value, "kind"));
    if !VERSIONS.contains(&version) || kind != "AuthorizationConfiguration" {
        return Err(format!(
            "no kind {kind:?} is registered for version {version:?}, expected AuthorizationConfiguration in {}",
            VERSIONS[0]
        ));
    }
    known(&value, "", &["apiVersion", "kind", "authorizers"])?;
    let authorizers = list(&value, "authorizers");
    if authorizers.is_empty() {
        return Err("authorizers: Required value: at least one authorization mode must be defined".into());
    }
    let mut found: Vec<AuthorizerConfig> = Vec::new();
    let (mut types, mut names) = (Vec::new(), Vec::new());
    for (i, authorizer) in authorizers.iter().enumerate() {
        let path = format!("authorizers[{i}]");
        known(authorizer, &path, &["type", "name", "webhook"])?;
        let (kind, name) = (text_of(authorizer, "type"), text_of(authorizer, "name"));
        if kind != "Webhook" && types.contains(&kind) {
            return Err(format!("{path}.type: Duplicate value: {kind:?}"));
        }
        types.push(kind);
        if name.is_empty() {
            return Err(format!("{path}.name: Required value"));
        }
        if names.contains(&name) {
            return Err(format!("{path}.name: Duplicate value: {name:?}"));
        }
        names.push(name);
        let webhook = authorizer.get("webhook").filter(|webhook| !webhook.is_null());
        found.push(match (kind, webhook) {
            ("Webhook", Some(settings)) => webhook_of(name, settings, &format!("{path}.webhook"))?,
            ("Webhook", None) => return Err(format!("{path}.webhook: Required value: required when type=Webhook")),
            (_, Some(_)) => {
                return Err(format!(
                    "{path}.webhook: Invalid value: \"non-null\": may only be specified when type=Webhook"
                ));
            }
            ("RBAC", None) => AuthorizerConfig::Rbac,
            ("AlwaysAllow", None) => AuthorizerConfig::AlwaysAllow,
            ("AlwaysDeny", None) => AuthorizerConfig::AlwaysDeny,
            ("", None) => return Err(format!("{path}.type: Required value")),
            (other, None) => {
                return Err(format!(
                    "{path}.type: Unsupported value: {other:?}: supported values: \"AlwaysAllow\", \"AlwaysDeny\", \"RBAC\", \"Webhook\""
                ));
            }
        });
    }
    Ok(found)
}

fn webhook_of(name: &str, settings: &Value, path: &str) -> Result<AuthorizerConfig, String> {
    const FIELDS: [&str; 11] = [
        "authorizedTTL",
        "unauthorizedTTL",
        "cacheAuthorizedRequests",
        "cacheUnauthorizedRequests",
        "timeout",
        "subjectAccessReviewVersion",
        "matchConditionSubjectAccessReviewVersion",
        "failurePolicy",
        "connectionInfo",
        "matchConditions",
        "type",
    ];
    known(settings, path, &FIELDS)?;
    let version = text_of(settings, "subjectAccessReviewVersion");
    if version != "v1" {
        return Err(format!(
            "{path}.subjectAccessReviewVersion: Unsupported value: {version:?}: supported values: \"v1\""
        ));
    }
    let failure_policy = match text_of(settings, "failurePolicy") {
        "NoOpinion" => FailurePolicy::NoOpinion,
        "Deny" => FailurePolicy::Deny,
        "" => return Err(format!("{path}.failurePolicy: Required value")),
        other => {
            return Err(format!(
                "{path}.failurePolicy: Unsupported value: {other:?}: supported values: \"NoOpinion\", \"Deny\""
            ));
        }
    };
    let duration = |key: &str, default: u64| -> Result<Duration, String> {
        match text_of(settings, key) {
            "" => Ok(Duration::from_secs(default)),
            text => {
                let nanoseconds = pleach_go::time::parse_duration(text)
                    .map_err(|error| format!("{path}.{key}: Invalid value: {text:?}: {error}"))?;
                u64::try_from(nanoseconds)
                    .map(Duration::from_nanos)
                    .ok()
                    .filter(|duration| !duration.is_zero())
                    .ok_or_else(|| format!("{path}.{key}: Invalid value: {text:?}: must be > 0s"))
            }
        }
    };
    if text_of(settings, "timeout").is_empty() {
        return Err(format!("{path}.timeout: Required value"));
    }
    let timeout = duration("timeout", 0)?;
    if timeout > Duration::from_secs(30) {
        return Err(format!("{path}.timeout: Invalid value: must be <= 30s"));
    }
    let connection = settings.get("connectionInfo").cloned().unwrap_or_default();
    known(&connection, &format!("{path}.connectionInfo"), &["type", "kubeConfigFile"])?;
    let file = text_of(&connection, "kubeConfigFile");
    if text_of(&connection, "type") != "KubeConfigFile" || file.is_empty() {
        return Err(format!(
            "{path}.connectionInfo.type: Unsupported value: {:?}: supported values: \"KubeConfigFile\", with kubeConfigFile",
            text_of(&connection, "type")
        ));
    }
    let mut conditions = Vec::new();
    for (i, condition) in list(settings, "matchConditions").iter().enumerate() {
        let path = format!("{path}.matchConditions[{i}]");
        known(condition, &path, &["expression"])?;
        let expression = text_of(condition, "expression");
        if expression.trim().is_empty() {
            return Err(format!("{path}.expression: Required value"));
        }
        let program = compile(expression)
            .map_err(|error| format!("{path}.expression: Invalid value: {expression:?}: {error}"))?;
        conditions.push((expression.to_owned(), program));
    }
    if !conditions.is_empty() && text_of(settings, "matchConditionSubjectAccessReviewVersion") != "v1" {
        return Err(format!(
            "{path}.matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified"
        ));
    }
    let is_cached = |key: &str| settings.get(key).and_then(Value::as_bool).unwrap_or(true);
    let options = WebhookOptions {
        name: name.to_owned(),
        authorized_ttl: duration("authorizedTTL", 300)?,
        unauthorized_ttl: duration("unauthorizedTTL", 30)?,
        cache_authorized: is_cached("cacheAuthorizedRequests"),
        cache_unauthorized: is_cached("cacheUnauthorizedRequests"),
        timeout,
        failure_policy,
        conditions,
    };
    Ok(AuthorizerConfig::Webhook(Box::new(options), file.to_owned()))
}

fn known(value: &Value, path: &str, fields: &[&str]) -> Result<(), String> {
    let Some(members) = value.as_object() else { return Err(format!("{path}: must be an object")) };
    match members.keys().find(|key| !fields.contains(&key.as_str())) {
        Some(key) if path.is_empty() => Err(format!("strict decoding error: unknown field \"{key}\"")),
        Some(key) => Err(format!("strict decoding error: unknown field \"{path}.{key}\"")),
        None => Ok(()),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().collect()
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(authorizers: &str) -> String {
        format!(
            "{{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{authorizers}]}}"
        )
    }

    #[test]
    fn a_configuration_is_a_chain() {
        let webhook = "{type: Webhook, name: w, webhook: {timeout: 3s, subjectAccessReviewVersion: v1, matchConditionSubjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}, matchConditions: [{expression: \"request.user != 'x'\"}]}}";
        let found = parse(&with(&format!("{webhook}, {{type: RBAC, name: rbac}}"))).unwrap();
        let [AuthorizerConfig::Webhook(options, file), AuthorizerConfig::Rbac] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((options.name.as_str(), options.conditions.len(), file.as_str()), ("w", 1, "/k"));
        assert_eq!((options.authorized_ttl.as_secs(), options.unauthorized_ttl.as_secs()), (300, 30));
    }

    #[test]
    fn configurations_with_errors_are_refused() {
        for (text, want) in [
            (with(""), "authorizers: Required value"),
            (with("{type: RBAC}"), "authorizers[0].name: Required value"),
            (with("{type: RBAC, name: a}, {type: RBAC, name: b}"), "authorizers[1].type: Duplicate value"),
            (with("{type: Node, name: a}"), "authorizers[0].type: Unsupported value: \"Node\""),
            (with("{type: Webhook, name: a}"), "authorizers[0].webhook: Required value"),
            (with("{type: RBAC, name: a, webhook: {}}"), "may only be specified when type=Webhook"),
            (with("{type: RBAC, nam: a}"), "unknown field \"authorizers[0].nam\""),
            (
                with(
                    "{type: Webhook, name: a, webhook: {subjectAccessReviewVersion: v1, failurePolicy: Allow}}",
                ),
                "failurePolicy: Unsupported value: \"Allow\"",
            ),
            (
                with(
                    "{type: Webhook, name: w, webhook: {timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}, matchConditions: [{expression: 'request.users'}]}}",
                ),
                "matchConditions[0].expression: Invalid value",
            ),
            ("kind: X".into(), "no kind \"X\" is registered"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
