//! The log entry of a request, before its answer.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, USER_AGENT};
use pleach_server::query::Query;
use pleach_server::request_info::RequestInfo;

use crate::request_log::LoggedRequest;

/// The beginning of the headers that make a request one of another user.
const IMPERSONATE: &str = "impersonate-";

/// Describes a request of a user, with the user's groups, as kube-apiserver would: verb, resource, namespace, name.
pub fn describe(
    parts: &http::request::Parts,
    body: &Bytes,
    (user, groups): (&str, Vec<String>),
) -> LoggedRequest {
    let query = Query::parse(parts.uri.query());
    let info = RequestInfo::new(&parts.method, parts.uri.path(), &query);
    let resource = info.resource.as_ref();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let header = |name: HeaderName| text(parts.headers.get(name).and_then(|value| value.to_str().ok()));
    let full_name = resource.map(|resource| match resource.subresource {
        "" => resource.resource.to_owned(),
        subresource => format!("{}/{subresource}", resource.resource),
    });
    let impersonation = parts.headers.iter().filter(|(name, _)| name.as_str().starts_with(IMPERSONATE));
    let impersonation = impersonation
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    LoggedRequest {
        user: user.to_owned(),
        groups,
        impersonation: impersonation.collect(),
        user_agent: header(USER_AGENT),
        verb: info.verb.as_str().to_owned(),
        method: parts.method.to_string(),
        uri: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        group: text(resource.map(|resource| resource.group)),
        version: text(resource.map(|resource| resource.version)),
        resource: full_name.unwrap_or_default(),
        namespace: text(resource.map(|resource| resource.namespace)),
        name: text(resource.map(|resource| &*resource.name)),
        content_type: header(CONTENT_TYPE),
        accept: header(ACCEPT),
        body: body.clone(),
        ..LoggedRequest::default()
    }
}
