//! The log of requests: every client's requests and responses.

use bytes::Bytes;

use pleach_json::{Map, Value};

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// The number of the request, from 1 on.
    pub number: u64,
    /// The user; empty if the credentials were not accepted.
    pub user: String,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or that of HTTP.
    pub verb: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The API group.
    pub group: String,
    /// The resource, with its subresource: `deployments/status`.
    pub resource: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The body: an object or a patch.
    pub body: Bytes,
    /// The status code; 0 if the connection was cut.
    pub code: u16,
    /// The fault that was injected.
    pub fault: Option<String>,
}

impl LoggedRequest {
    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        !["GET", "HEAD", "OPTIONS"].contains(&self.method.as_str())
    }

    /// As JSON.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("number", i64::try_from(self.number).unwrap_or(i64::MAX));
        for (name, text) in [
            ("user", &self.user),
            ("userAgent", &self.user_agent),
            ("verb", &self.verb),
            ("method", &self.method),
            ("uri", &self.uri),
            ("group", &self.group),
            ("resource", &self.resource),
            ("namespace", &self.namespace),
            ("name", &self.name),
        ] {
            map.insert(name, text.clone());
        }
        map.insert("body", String::from_utf8_lossy(&self.body).into_owned());
        map.insert("code", i64::from(self.code));
        if let Some(fault) = &self.fault {
            map.insert("fault", fault.clone());
        }
        map.into()
    }

    /// A line for people.
    pub fn line(&self) -> String {
        let fault = self.fault.as_ref().map(|fault| format!("  [{fault}]")).unwrap_or_default();
        format!("{:>4} {:>3} {:<7} {} ({}){fault}", self.number, self.code, self.method, self.uri, self.user)
    }
}
