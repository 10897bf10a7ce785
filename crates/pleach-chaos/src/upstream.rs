//! [`Upstream`]: the address and credentials of an API server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_json::{Value, json};

/// An API server.
#[derive(Clone, Debug, Default)]
pub struct Upstream {
    /// Its URL.
    pub server: String,
    /// The certificates to trust, as PEM; none for those of the system.
    pub certificate_authority: Option<String>,
    /// Trust any certificate.
    pub insecure_skip_tls_verify: bool,
    /// The credentials of requests that bring none of their own.
    pub credentials: Credentials,
    /// The program that has them.
    pub exec: Option<ExecPlugin>,
}

/// A credential plugin: a program that prints an `ExecCredential`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecPlugin {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment beside those of this process.
    pub env: Vec<(String, String)>,
    /// The version of `ExecCredential`.
    pub api_version: String,
}

impl ExecPlugin {
    fn of(value: &Value) -> Option<Self> {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let list = |name: &str| value.get(name).and_then(Value::as_array).map_or(&[][..], |list| list);
        let args = list("args").iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect();
        let env =
            list("env").iter().map(|variable| (text(variable, "name"), text(variable, "value"))).collect();
        let command = text(value, "command");
        (!command.is_empty()).then(|| Self { command, args, env, api_version: text(value, "apiVersion") })
    }

    /// The value of `KUBERNETES_EXEC_INFO` that it gets.
    pub fn info(&self) -> String {
        let api_version = self.api_version.as_str();
        json!({"apiVersion": api_version, "kind": "ExecCredential", "spec": {"interactive": false}})
            .to_string()
    }

    /// The credentials that it printed.
    pub fn credentials(printed: &[u8]) -> Result<Credentials, String> {
        let printed = pleach_json::parse(printed).map_err(|error| format!("no ExecCredential: {error}"))?;
        let status = printed.get("status").cloned().unwrap_or_default();
        let text = |name: &str| status.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let certificate = text("clientCertificateData").zip(text("clientKeyData"));
        let token = text("token");
        if token.is_none() && certificate.is_none() {
            return Err("an ExecCredential without token and certificate".to_owned());
        }
        Ok(Credentials { token, certificate })
    }
}

/// Credentials for an API server.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// A bearer token.
    pub token: Option<String>,
    /// A client certificate and its key, as PEM.
    pub certificate: Option<(String, String)>,
}

impl Upstream {
    /// A context of a kubeconfig, the current one if none is named. `read` reads a file that it names.
    pub fn of_kubeconfig(
        text: &[u8],
        context: Option<&str>,
        read: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let config = pleach_yaml::parse(text).map_err(|error| error.to_string())?;
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let named = |list: &str, kind: &str, name: &str| {
            let entries = config.get(list).and_then(Value::as_array)?;
            let entry = entries.iter().find(|entry| text(entry, "name").as_deref() == Some(name))?;
            entry.get(kind).cloned()
        };
        let current = context.map(ToOwned::to_owned).or_else(|| text(&config, "current-context"));
        let current = current.unwrap_or_default();
        let context = named("contexts", "context", &current)
            .ok_or_else(|| format!("there is no context {current:?} in the kubeconfig"))?;
        let cluster = text(&context, "cluster").unwrap_or_default();
        let cluster = named("clusters", "cluster", &cluster)
            .ok_or_else(|| format!("there is no cluster {cluster:?} in the kubeconfig"))?;
        let user = text(&context, "user").and_then(|user| named("users", "user", &user)).unwrap_or_default();
        for other in ["auth-provider", "username", "as"] {
            if user.get(other).is_some_and(|value| !value.is_null()) {
                let what = "only tokens, client certificates and exec are supported";
                return Err(format!("the user has {other}: {what}"));
            }
        }
        // Data comes before files.
        let pem = |value: &Value, name: &str| match (text(value, &format!("{name}-data")), text(value, name))
        {
            (Some(data), _) => {
                let bytes = STANDARD.decode(data).map_err(|error| format!("{name}-data: {error}"))?;
                String::from_utf8(bytes).map(Some).map_err(|error| format!("{name}-data: {error}"))
            }
            (None, Some(path)) => read(&path).map(Some),
            (None, None) => Ok(None),
        };
        let token = match (text(&user, "token"), text(&user, "tokenFile")) {
            (Some(token), _) => Some(token),
            (None, Some(path)) => Some(read(&path)?.trim().to_owned()),
            (None, None) => None,
        };
        Ok(Self {
            server: text(&cluster, "server").ok_or("the cluster has no server")?,
            certificate_authority: pem(&cluster, "certificate-authority")?,
            insecure_skip_tls_verify: cluster.get("insecure-skip-tls-verify").and_then(Value::as_bool)
                == Some(true),
            credentials: Credentials {
                token,
                certificate: pem(&user, "client-certificate")?.zip(pem(&user, "client-key")?),
            },
            exec: user.get("exec").and_then(ExecPlugin::of),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

    use super::*;

    #[test]
    fn a_kubeconfig_names_server_and_credentials() {
        let text = "current-context: b\ncontexts: [{name: a, context: {}}, {name: b, context: {cluster: c, user: u}}]\n\
                    clusters: [{name: c, cluster: {server: 'https://h:1', certificate-authority-data: Q0E=}}]\n\
                    users: [{name: u, user: {client-certificate: cert, client-key: key, token: t}}]\n";
        let found = Upstream::of_kubeconfig(text.as_bytes(), None, |path| Ok(format!("<{path}>"))).unwrap();
        assert_eq!(
            (found.server.as_str(), found.certificate_authority.as_deref()),
            ("https://h:1", Some("CA"))
        );
        assert_eq!(found.credentials.certificate, Some(("<cert>".to_owned(), "<key>".to_owned())));
        assert_eq!(found.credentials.token.as_deref(), Some("t"));
        let wrong = |text: &[u8], context| {
            Upstream::of_kubeconfig(text, context, |_| Err(String::new())).unwrap_err()
        };
        assert_eq!(wrong(b"current-context: x", None), "there is no context \"x\" in the kubeconfig");
        assert_eq!(wrong(text.as_bytes(), Some("y")), "there is no context \"y\" in the kubeconfig");
        let other = text.replace("token: t", "as: eve");
        assert!(wrong(other.as_bytes(), None).starts_with("the user has as: "));
        let plugin = text.replace(
            "token: t",
            "exec: {command: c, args: [a], env: [{name: N_A, value: v}], apiVersion: x/v1}",
        );
        let found = Upstream::of_kubeconfig(plugin.as_bytes(), None, |_| Ok(String::new())).unwrap();
        let exec = ExecPlugin {
            command: "c".into(),
            args: vec!["a".into()],
            env: vec![("N_A".into(), "v".into())],
            api_version: "x/v1".into(),
        };
        assert_eq!(found.exec, Some(exec));
    }

    #[test]
    fn plugins_print_credentials() {
        let found = ExecPlugin::credentials(br#"{"kind":"ExecCredential","status":{"token":"t"}}"#).unwrap();
        assert_eq!(found.token.as_deref(), Some("t"));
        for wrong in ["", "{}", r#"{"status":{"clientCertificateData":"c"}}"#] {
            assert!(ExecPlugin::credentials(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
