//! `--admission-control-config-file`: an AdmissionConfiguration, of which the kubeconfigs of the webhook plugins are read.

use std::path::Path;

use pleach_hooks::WebhookCredentials;
use pleach_json::Value;

use crate::files::{at, read};

/// The version of both configurations.
const API_VERSION: &str = "apiserver.config.k8s.io/v1";

/// The credentials of the plugins that call webhooks.
#[derive(Debug, Default)]
pub(crate) struct AdmissionConfig {
    /// The credentials of `MutatingAdmissionWebhook`.
    pub mutating: WebhookCredentials,
    /// The credentials of `ValidatingAdmissionWebhook`.
    pub validating: WebhookCredentials,
}

impl AdmissionConfig {
    /// Reads the file; every error keeps the server from starting.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let config = parse(path)?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Self::of(&config, directory).map_err(|error| at(path, &error))
    }

    fn of(config: &Value, directory: &Path) -> Result<Self, String> {
        expect_type(config, "AdmissionConfiguration")?;
        known_fields(config, &["apiVersion", "kind", "plugins"])?;
        let mut out = Self::default();
        for plugin in config.get("plugins").and_then(Value::as_array).into_iter().flatten() {
            known_fields(plugin, &["name", "path", "configuration"])?;
            let name = text(plugin, "name");
            let (own, file) = (plugin.get("configuration"), text(plugin, "path"));
            let credentials = match name {
                "MutatingAdmissionWebhook" => &mut out.mutating,
                "ValidatingAdmissionWebhook" => &mut out.validating,
                _ if own.is_none_or(Value::is_null) && file.is_empty() => continue,
                _ => return Err(format!("a configuration of plugin {name:?} is not supported")),
            };
            let own = match own.filter(|own| !own.is_null()) {
                Some(own) => own.clone(),
                None if file.is_empty() => continue,
                None => parse(&directory.join(file))?,
            };
            *credentials = webhook_credentials(&own)?;
        }
        Ok(out)
    }
}

/// The users in the kubeconfig of a WebhookAdmissionConfiguration.
fn webhook_credentials(config: &Value) -> Result<WebhookCredentials, String> {
    expect_type(config, "WebhookAdmissionConfiguration")?;
    known_fields(config, &["apiVersion", "kind", "kubeConfigFile"])?;
    let file = text(config, "kubeConfigFile");
    if file.is_empty() {
        return Ok(WebhookCredentials::default());
    }
    let path = Path::new(file);
    if !path.is_absolute() {
        return Err(format!("kubeConfigFile: Invalid value: {file:?}: must be an absolute file path"));
    }
    let kubeconfig = parse(path)?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    WebhookCredentials::read(&kubeconfig, directory).map_err(|error| at(path, &error))
}

fn parse(path: &Path) -> Result<Value, String> {
    pleach_yaml::parse(read(path)?.as_bytes()).map_err(|error| at(path, &error.to_string()))
}

fn expect_type(config: &Value, kind: &str) -> Result<(), String> {
    match (text(config, "apiVersion"), text(config, "kind")) {
        (API_VERSION, own) if own == kind => Ok(()),
        (api_version, own) => Err(format!(
            "no kind {own:?} is registered for version {api_version:?}: want {kind} of {API_VERSION}"
        )),
    }
}

fn known_fields(config: &Value, known: &[&str]) -> Result<(), String> {
    let keys = config.as_object().into_iter().flat_map(pleach_json::Map::iter).map(|(key, _)| key.as_str());
    match keys.into_iter().find(|key| !known.contains(key)) {
        Some(unknown) => Err(format!("strict decoding error: unknown field {unknown:?}")),
        None => Ok(()),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn config(plugins: Value) -> Value {
        json!({"apiVersion": API_VERSION, "kind": "AdmissionConfiguration", "plugins": (plugins)})
    }

    #[test]
    fn mistakes_are_told() {
        let webhook =
            |own: Value| config(json!([{"name": "ValidatingAdmissionWebhook", "configuration": (own)}]));
        for (config, want) in [
            (json!({"kind": "x"}), "no kind \"x\" is registered"),
            (
                config(json!([{"name": "PodSecurity", "path": "x"}])),
                "plugin \"PodSecurity\" is not supported",
            ),
            (config(json!([{"nam": "x"}])), "unknown field \"nam\""),
            (webhook(json!({"kind": "WebhookAdmissionConfiguration"})), "is registered"),
            (
                webhook(
                    json!({"apiVersion": API_VERSION, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": "k"}),
                ),
                "must be an absolute file path",
            ),
            (
                webhook(
                    json!({"apiVersion": API_VERSION, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": "/none"}),
                ),
                "cannot read /none",
            ),
        ] {
            let error = AdmissionConfig::of(&config, Path::new(".")).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
        assert!(AdmissionConfig::of(&config(json!([{"name": "PodSecurity"}])), Path::new(".")).is_ok());
    }
}
