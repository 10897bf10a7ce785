//! Credentials for webhooks: the users of a kubeconfig, found by the host and port of a webhook.
//!
//! A user is named after the webhook that it is for: `name.namespace.svc:8443`, `*.example.com`, the port left out if it
//! is 443, `*` for all others. Without any of these the user of the current context is taken.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};
use pleach_engine::webhooks::caller::Place;
use pleach_go::base64;
use pleach_json::Value;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use tokio::time::Instant;

/// How long the token of a file is kept.
const TOKEN_KEPT: Duration = Duration::from_mins(1);

/// The users of a kubeconfig.
#[derive(Clone, Debug, Default)]
pub struct WebhookCredentials {
    users: HashMap<String, Arc<Credential>>,
    /// The user of the current context.
    current: Option<Arc<Credential>>,
}

/// The credential of one user.
pub(crate) struct Credential {
    /// Tells credentials apart: connections are not shared between them.
    pub(crate) id: u64,
    /// The client certificate.
    pub(crate) certificate: Option<Arc<CertifiedKey>>,
    authorization: Authorization,
    impersonation: HeaderMap,
}

enum Authorization {
    None,
    Header(HeaderValue),
    TokenFile(PathBuf, Mutex<Option<(Instant, HeaderValue)>>),
}

impl fmt::Debug for Credential {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("id", &self.id).finish_non_exhaustive()
    }
}

impl WebhookCredentials {
    /// Reads the users of a kubeconfig. Files in it are relative to `directory`.
    pub fn read(kubeconfig: &Value, directory: &Path) -> Result<Self, String> {
        let mut users = HashMap::new();
        for user in list(kubeconfig, "users") {
            let name = text(user, "name");
            let empty = Value::object();
            let credential = Credential::read(user.get("user").unwrap_or(&empty), directory);
            let credential = credential.map_err(|error| format!("user {name:?}: {error}"))?;
            users.insert(name.to_owned(), Arc::new(credential));
        }
        let current = text(kubeconfig, "current-context");
        let context = list(kubeconfig, "contexts").find(|context| text(context, "name") == current);
        let current = context.and_then(|context| context.at(&["context", "user"])).and_then(Value::as_str);
        let current = current.and_then(|name| users.get(name).cloned());
        Ok(Self { users, current })
    }

    /// The credential for a webhook.
    pub(crate) fn of(&self, place: &Place) -> Option<&Arc<Credential>> {
        let target = target(place)?;
        let found = self.by_name(&target).or_else(|| self.by_name(target.strip_suffix(":443")?));
        found.or_else(|| self.users.get("*")).or(self.current.as_ref())
    }

    /// A user of that name, or one whose name has a star for its first labels.
    fn by_name(&self, target: &str) -> Option<&Arc<Credential>> {
        let parents = target.match_indices('.').map(|(at, _)| format!("*{}", &target[at..]));
        self.users.get(target).or_else(|| parents.into_iter().find_map(|name| self.users.get(&name)))
    }
}

/// Host and port.
fn target(place: &Place) -> Option<String> {
    match place {
        Place::Service { namespace, name, port, .. } => Some(format!("{name}.{namespace}.svc:{port}")),
        Place::Url(url) => {
            let rest = url.split_once("://")?.1;
            let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let has_port =
                host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
            Some(if has_port { host.to_owned() } else { format!("{host}:443") })
        }
    }
}

impl Credential {
    fn read(user: &Value, directory: &Path) -> Result<Self, String> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        for key in ["exec", "auth-provider"] {
            if user.get(key).is_some_and(|value| !value.is_null()) {
                return Err(format!("{key} is not supported"));
            }
        }
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            certificate: certificate(user, directory)?.map(Arc::new),
            authorization: authorization(user, directory)?,
            impersonation: impersonation(user)?,
        })
    }

    /// Adds the headers that say which user it is.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) -> Result<(), String> {
        match &self.authorization {
            Authorization::None => {}
            Authorization::Header(value) => drop(headers.insert(header::AUTHORIZATION, value.clone())),
            Authorization::TokenFile(path, kept) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let fresh = kept.as_ref().filter(|(read, _)| read.elapsed() < TOKEN_KEPT);
                let value = match fresh {
                    Some((_, value)) => value.clone(),
                    None => {
                        let value = bearer(read_file(path)?.trim())?;
                        *kept = Some((Instant::now(), value.clone()));
                        value
                    }
                };
                headers.insert(header::AUTHORIZATION, value);
            }
        }
        headers.extend(self.impersonation.clone());
        Ok(())
    }
}

fn certificate(user: &Value, directory: &Path) -> Result<Option<CertifiedKey>, String> {
    let pem = |data: &str, file: &str| -> Result<Vec<u8>, String> {
        match (text(user, data), text(user, file)) {
            ("", "") => Ok(Vec::new()),
            ("", path) => Ok(read_file(&directory.join(path))?.into_bytes()),
            (encoded, _) => base64::decode(encoded).map_err(|error| format!("{data}: {error}")),
        }
    };
    let chain = pem("client-certificate-data", "client-certificate")?;
    let key = pem("client-key-data", "client-key")?;
    if chain.is_empty() && key.is_empty() {
        return Ok(None);
    }
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&chain).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err("there is no client certificate".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| "there is no client key".to_owned())?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key).map_err(|error| error.to_string())?;
    let certified = CertifiedKey::new(chain, key);
    certified.keys_match().map_err(|_| "the client certificate is not of the client key".to_owned())?;
    Ok(Some(certified))
}

fn authorization(user: &Value, directory: &Path) -> Result<Authorization, String> {
    let (token, file) = (text(user, "token"), text(user, "tokenFile"));
    let (name, password) = (text(user, "username"), text(user, "password"));
    if !token.is_empty() {
        return Ok(Authorization::Header(bearer(token)?));
    }
    if !file.is_empty() {
        let path = directory.join(file);
        read_file(&path)?;
        return Ok(Authorization::TokenFile(path, Mutex::default()));
    }
    if name.is_empty() && password.is_empty() {
        return Ok(Authorization::None);
    }
    let basic = format!("Basic {}", base64::encode(format!("{name}:{password}").as_bytes()));
    Ok(Authorization::Header(secret(&basic)?))
}

fn bearer(token: &str) -> Result<HeaderValue, String> {
    secret(&format!("Bearer {token}"))
}

fn secret(text: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text).map_err(|_| "the token is no value of a header")?;
    value.set_sensitive(true);
    Ok(value)
}

fn impersonation(user: &Value) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &str| -> Result<(), String> {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        let value = HeaderValue::from_str(value).map_err(|error| error.to_string())?;
        headers.append(name, value);
        Ok(())
    };
    if text(user, "as").is_empty() {
        return Ok(headers);
    }
    add("impersonate-user", text(user, "as"))?;
    if !text(user, "as-uid").is_empty() {
        add("impersonate-uid", text(user, "as-uid"))?;
    }
    for group in list(user, "as-groups").filter_map(Value::as_str) {
        add("impersonate-group", group)?;
    }
    let extra = user.get("as-user-extra").and_then(Value::as_object);
    for (key, values) in extra.into_iter().flat_map(pleach_json::Map::iter) {
        for value in values.as_array().into_iter().flatten().filter_map(Value::as_str) {
            add(&format!("impersonate-extra-{}", header_part(key)), value)?;
        }
    }
    Ok(headers)
}

/// A key as part of the name of a header.
fn header_part(key: &str) -> String {
    let mut out = String::new();
    for byte in key.to_lowercase().bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

fn read_file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn url(url: &str) -> Place {
        Place::Url(url.into())
    }

    #[test]
    fn users_are_found_by_host_and_port() {
        let user = |name: &str| json!({"name": name, "user": {"token": name}});
        let config = json!({
            "users": [(user("a.ns.svc")), (user("a.ns.svc:8443")), (user("*.example.com")), (user("*.ns.svc:8443")), (user("me"))],
            "contexts": [{"name": "c", "context": {"user": "me"}}], "current-context": "c",
        });
        let credentials = WebhookCredentials::read(&config, Path::new(".")).unwrap();
        let service = |name: &str, port| Place::Service {
            namespace: "ns".into(),
            name: name.into(),
            path: "".into(),
            port,
        };
        for (place, want) in [
            (service("a", 443), "a.ns.svc"),
            (service("a", 8443), "a.ns.svc:8443"),
            (service("b", 8443), "*.ns.svc:8443"),
            (service("b", 443), "me"),
            (url("https://x.y.example.com/hook?a"), "*.example.com"),
            (url("https://x.example.com:8443/"), "me"),
            (url("https://[::1]:443/"), "me"),
        ] {
            let mut headers = HeaderMap::new();
            credentials.of(&place).unwrap().add_to(&mut headers).unwrap();
            assert_eq!(headers[header::AUTHORIZATION], format!("Bearer {want}"), "{place:?}");
        }
        let star = json!({"users": [(user("*"))]});
        let star = WebhookCredentials::read(&star, Path::new(".")).unwrap();
        assert!(star.of(&url("https://h/")).is_some());
        assert!(WebhookCredentials::default().of(&url("https://h/")).is_none());
    }

    #[test]
    fn users_present_tokens_passwords_and_other_users() {
        let headers = |user: Value| {
            let mut headers = HeaderMap::new();
            Credential::read(&user, Path::new(".")).and_then(|user| user.add_to(&mut headers))?;
            let mut all: Vec<String> =
                headers.iter().map(|(k, v)| format!("{k}: {}", v.to_str().unwrap())).collect();
            all.sort();
            Ok::<_, String>(all)
        };
        assert_eq!(headers(json!({})), Ok(vec![]));
        let basic = headers(json!({"username": "u", "password": "p"}));
        assert_eq!(basic, Ok(vec!["authorization: Basic dTpw".to_owned()]));
        let other = headers(json!({"as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"k": ["v"]}}));
        assert_eq!(
            other.unwrap().join(", "),
            "impersonate-extra-k: v, impersonate-group: a, impersonate-group: b, impersonate-user: jane"
        );
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "from-file\n").unwrap();
        let file = headers(json!({"tokenFile": (path.to_str().unwrap())}));
        assert_eq!(file, Ok(vec!["authorization: Bearer from-file".to_owned()]));
        for (user, want) in [
            (json!({"exec": {"command": "x"}}), "exec is not supported"),
            (json!({"tokenFile": "/does/not/exist"}), "cannot read"),
            (json!({"client-certificate-data": "eA=="}), "no client certificate"),
            (json!({"client-certificate-data": "?"}), "client-certificate-data"),
            (json!({"token": "a\nb"}), "no value of a header"),
        ] {
            assert!(headers(user).unwrap_err().contains(want), "{want}");
        }
    }
}
