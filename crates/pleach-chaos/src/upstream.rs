//! [`Upstream`]: the address and credentials of an API server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_json::Value;

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
        for other in ["exec", "auth-provider", "username", "as"] {
            if user.get(other).is_some_and(|value| !value.is_null()) {
                return Err(format!(
                    "the user has {other}: only tokens and client certificates are supported"
                ));
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
        let plugin = text.replace("token: t", "exec: {command: c}");
        assert!(wrong(plugin.as_bytes(), None).starts_with("the user has exec: "));
    }
}
