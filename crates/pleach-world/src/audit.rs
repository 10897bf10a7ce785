//! The log of requests as an audit log, which `pleach rbac learn` reads.

use pleach_json::{Map, Value};

use crate::request_log::LoggedRequest;

/// The event of a request, as kube-apiserver writes it at the level `Metadata`.
pub fn audit_event(request: &LoggedRequest) -> Value {
    let mut event = Map::new();
    event.insert("kind", "Event");
    event.insert("apiVersion", "audit.k8s.io/v1");
    event.insert("level", "Metadata");
    event.insert("auditID", format!("00000000-0000-4000-8000-{:012}", request.number));
    event.insert("stage", "ResponseComplete");
    event.insert("requestURI", request.uri.clone());
    event.insert("verb", request.verb.clone());
    let mut user = Map::new();
    user.insert("username", request.user.clone());
    event.insert("user", user);
    event.insert("userAgent", request.user_agent.clone());
    if !request.resource.is_empty() {
        let (resource, subresource) = request.resource.split_once('/').unwrap_or((&request.resource, ""));
        let mut reference = Map::new();
        for (name, text) in [
            ("resource", resource),
            ("namespace", &request.namespace),
            ("name", &request.name),
            ("apiGroup", &request.group),
            ("apiVersion", &request.version),
            ("subresource", subresource),
        ] {
            if !text.is_empty() {
                reference.insert(name, text);
            }
        }
        event.insert("objectRef", reference);
    }
    let mut status = Map::new();
    status.insert("metadata", Map::new());
    status.insert("code", i64::from(request.code));
    event.insert("responseStatus", status);
    event.into()
}

/// A line of JSON for each request.
pub fn audit_log(requests: &[LoggedRequest]) -> String {
    requests.iter().map(|request| pleach_json::to_string(&audit_event(request)) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_name_object_and_subresource() {
        let request = LoggedRequest {
            verb: "update".into(),
            user: "system:serviceaccount:a:b".into(),
            group: "apps".into(),
            version: "v1".into(),
            resource: "deployments/status".into(),
            namespace: "a".into(),
            name: "web".into(),
            code: 200,
            ..LoggedRequest::default()
        };
        let event = audit_event(&request);
        let text = |path: &[&str]| event.at(path).and_then(Value::as_str);
        assert_eq!(text(&["objectRef", "resource"]), Some("deployments"));
        assert_eq!(text(&["objectRef", "subresource"]), Some("status"));
        assert_eq!(text(&["objectRef", "apiGroup"]), Some("apps"));
        assert_eq!(text(&["user", "username"]), Some("system:serviceaccount:a:b"));
        assert_eq!(event.at(&["responseStatus", "code"]).and_then(Value::as_int), Some(200));
    }
}
