//! The kubeconfig of a webhook of the server itself: where it is and which CA it is trusted by.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_engine::webhooks::{Address, Place};
use pleach_json::Value;

/// The server of the current context of a kubeconfig. Client certificates and tokens are not supported: they are refused,
/// since they would have no effect.
pub fn address(path: &Path) -> Result<Address, String> {
    let text = read(path)?;
    let config = pleach_yaml::parse(text.as_bytes());
    let config = config.map_err(|error| format!("{}: {error}", path.display()))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    parse(&config, directory).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn parse(config: &Value, directory: &Path) -> Result<Address, String> {
    let current = text(config, "current-context");
    let context = named(config, "contexts", current).and_then(|context| context.get("context"));
    let context = context.ok_or_else(|| format!("the context {current:?} does not exist"))?;
    let name = text(context, "cluster");
    let cluster = named(config, "clusters", name).and_then(|cluster| cluster.get("cluster"));
    let cluster = cluster.ok_or_else(|| format!("the cluster {name:?} does not exist"))?;
    let user = named(config, "users", text(context, "user")).and_then(|user| user.get("user"));
    let has_credentials = user.and_then(Value::as_object).is_some_and(|user| !user.is_empty());
    if has_credentials {
        return Err("credentials of the user are not supported".into());
    }
    let server = text(cluster, "server");
    if !server.starts_with("https://") {
        return Err(format!("the server {server:?} is no https URL"));
    }
    if cluster.get("insecure-skip-tls-verify").and_then(Value::as_bool).unwrap_or_default() {
        return Err("insecure-skip-tls-verify is not supported".into());
    }
    let data = text(cluster, "certificate-authority-data");
    let file = text(cluster, "certificate-authority");
    let ca_bundle = if !data.is_empty() {
        STANDARD.decode(data).map_err(|error| format!("certificate-authority-data: {error}"))?
    } else if !file.is_empty() {
        read(&directory.join(file))?.into_bytes()
    } else {
        Vec::new()
    };
    Ok(Address { place: Place::Url(server.into()), ca_bundle: ca_bundle.into() })
}

fn named<'a>(config: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
    let items = config.get(list).and_then(Value::as_array)?;
    items.iter().find(|item| text(item, "name") == name)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn a_kubeconfig_names_a_server() {
        let config = |cluster: Value, user: Value| {
            json!({
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": (cluster)}],
                "users": [{"name": "u", "user": (user)}],
            })
        };
        let good = config(json!({"server": "https://a/b", "certificate-authority-data": "eA=="}), json!({}));
        let address = parse(&good, Path::new(".")).unwrap();
        assert_eq!((address.place, &address.ca_bundle[..]), (Place::Url("https://a/b".into()), &b"x"[..]));
        for (config, want) in [
            (config(json!({"server": "http://a"}), json!({})), "no https URL"),
            (config(json!({"server": "https://a"}), json!({"token": "t"})), "credentials"),
            (config(json!({"server": "https://a", "insecure-skip-tls-verify": true}), json!({})), "insecure"),
            (json!({"current-context": "x"}), "the context \"x\" does not exist"),
        ] {
            assert!(parse(&config, Path::new(".")).unwrap_err().contains(want), "{want}");
        }
    }
}
