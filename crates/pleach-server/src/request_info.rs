//! RequestInfo: verb, resource, namespace and name, parsed once from the method, path and query of a request.
//!
//! The rules are upstream's, oddities included: trailing slashes are ignored, `watch` may stand after the
//! version, `namespaces/<ns>` comes before the resource, and segments after the subresource are ignored. A list
//! or watch whose field selector names one object has its name.

use std::borrow::Cow;

use http::Method;
use pleach_auth::{ResourceAttributes, Verb};
use pleach_json::Str;
use pleach_meta::names::check_path_segment_name;
use pleach_meta::selector::{FieldSelector, LabelSelector};

use crate::query::Query;

/// Which endpoint a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind<'a> {
    /// Objects of a resource.
    Resource,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/<group>`
    Group(&'a str),
    /// `/api/v1` or `/apis/<group>/<version>`: the group (empty for core) and the version.
    GroupVersion(&'a str, &'a str),
    /// Anything else.
    Other,
}

/// The parsed request; with its user, these are its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInfo<'a> {
    /// The endpoint.
    pub kind: PathKind<'a>,
    /// The verb.
    pub verb: Verb,
    /// The path, without escapes.
    pub path: &'a str,
    /// The resource; none for other paths.
    pub resource: Option<ResourceAttributes<'a>>,
    /// Whether the path names an object: a field selector may do so, too.
    pub is_named: bool,
}

impl<'a> RequestInfo<'a> {
    /// Reads a request. `path` is without escapes.
    pub fn new(method: &Method, path: &'a str, query: &'a Query) -> Self {
        let (kind, found) = parse(path);
        let Some((mut resource, watch_prefix)) = found else {
            return Self { kind, verb: method_verb(method), path, resource: None, is_named: false };
        };
        let is_named = !resource.name.is_empty();
        let verb = match method.as_str() {
            _ if watch_prefix => Verb::Watch,
            "GET" | "HEAD" if is_named => Verb::Get,
            "GET" | "HEAD" => {
                resource.name = selected_name(query);
                if query.switch("watch") == Some(true) { Verb::Watch } else { Verb::List }
            }
            "POST" => Verb::Create,
            "PUT" => Verb::Update,
            "PATCH" => Verb::Patch,
            "DELETE" if is_named => Verb::Delete,
            "DELETE" => Verb::DeleteCollection,
            _ => Verb::NONE,
        };
        if matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection) && !watch_prefix {
            resource.field_selector = query.text("fieldSelector");
            resource.label_selector = query.text("labelSelector");
        }
        Self { kind, verb, path, resource: Some(resource), is_named }
    }
}

/// The verb of a request that is not about a resource: its method in small letters.
fn method_verb(method: &Method) -> Verb {
    match method.as_str() {
        "GET" => Verb::Get,
        "PATCH" => Verb::Patch,
        "DELETE" => Verb::Delete,
        other => Verb::Other(Str::from(other.to_ascii_lowercase())),
    }
}

/// The name of the only object that a field selector allows.
fn selected_name(query: &Query) -> Cow<'static, str> {
    let selector = query.text("fieldSelector");
    if selector.is_empty() || !has_readable_options(query) {
        return Cow::Borrowed("");
    }
    let selector = FieldSelector::parse(selector).unwrap_or_default();
    match selector.requires_exact_match("metadata.name") {
        Some(name) if check_path_segment_name(name).is_empty() => Cow::Owned(name.to_owned()),
        _ => Cow::Borrowed(""),
    }
}

/// Whether the other options of a list can be read. If one of them cannot, upstream reads none.
fn has_readable_options(query: &Query) -> bool {
    let is_number = |name: &str| query.get(name).is_none_or(|text| text.parse::<i64>().is_ok());
    is_number("limit")
        && is_number("timeoutSeconds")
        && LabelSelector::parse(query.text("labelSelector")).is_ok()
}

/// Subresources of a namespace that would otherwise read as resources inside it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// The segments of a path. Segments are so short that looking at each byte beats a search.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.bytes().position(|byte| byte == b'/');
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// Reads a decoded path: where it leads, and if that is a resource, which, and whether `watch` stands before it.
fn parse(path: &str) -> (PathKind<'_>, Option<(ResourceAttributes<'_>, bool)>) {
    // Slashes at the ends are ignored; in the middle they make empty segments, which match nothing.
    if path.starts_with("//") {
        return (PathKind::Other, None);
    }
    let mut segments = segments(path.trim_matches('/'));
    let (group, version) = match segments.next() {
        Some("api") => match segments.next() {
            None => return (PathKind::CoreVersions, None),
            Some(version) => ("", version),
        },
        Some("apis") => match (segments.next(), segments.next()) {
            (None, _) => return (PathKind::Groups, None),
            (Some(group), None) => return (PathKind::Group(group), None),
            (Some(group), Some(version)) => (group, version),
        },
        _ => return (PathKind::Other, None),
    };
    let mut places = [""; 7];
    let mut count = 0;
    for (place, segment) in places.iter_mut().zip(segments) {
        *place = segment;
        count += 1;
    }
    let mut rest = &places[..count];
    if rest.is_empty() {
        return (PathKind::GroupVersion(group, version), None);
    }
    let mut info = ResourceAttributes { group, version, ..ResourceAttributes::default() };
    let watch_prefix = rest[0] == "watch" && rest.len() > 1;
    if watch_prefix {
        rest = &rest[1..];
    }
    let parts = match rest {
        // The namespace itself, or a subresource of it.
        ["namespaces", name] => {
            info.namespace = name;
            rest
        }
        ["namespaces", name, sub, ..] if NAMESPACE_SUBRESOURCES.contains(sub) => {
            info.namespace = name;
            rest
        }
        ["namespaces", namespace, resource @ ..] => {
            info.namespace = namespace;
            resource
        }
        all => all,
    };
    info.resource = parts.first().copied().unwrap_or_default();
    info.name = Cow::Borrowed(parts.get(1).copied().unwrap_or_default());
    info.subresource = parts.get(2).copied().unwrap_or_default();
    (PathKind::Resource, Some((info, watch_prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_collections() {
        for (path, want) in [
            ("/apis/g/v1/foos", ("g", "v1", "", "foos", "", "", false)),
            ("/apis/g/v1/foos/x", ("g", "v1", "", "foos", "x", "", false)),
            ("/apis/g/v1/foos/x/status", ("g", "v1", "", "foos", "x", "status", false)),
            ("/apis/g/v1/namespaces/ns/foos/x/scale/more", ("g", "v1", "ns", "foos", "x", "scale", false)),
            ("/apis/g/v1/namespaces/ns/foos/", ("g", "v1", "ns", "foos", "", "", false)),
            ("/apis/g/v1/foos//x", ("g", "v1", "", "foos", "", "x", false)),
            ("/apis/g/v1/watch/namespaces/ns/foos/x", ("g", "v1", "ns", "foos", "x", "", true)),
            ("/api/v1/namespaces", ("", "v1", "", "namespaces", "", "", false)),
            ("/api/v1/namespaces/a", ("", "v1", "a", "namespaces", "a", "", false)),
            ("/api/v1/namespaces/a/status", ("", "v1", "a", "namespaces", "a", "status", false)),
            ("/api/v1/namespaces/a/configmaps", ("", "v1", "a", "configmaps", "", "", false)),
        ] {
            let (kind, found) = parse(path);
            let Some((r, watch)) = found else { panic!("{path}: {kind:?}") };
            let found = (r.group, r.version, r.namespace, r.resource, &*r.name, r.subresource, watch);
            assert_eq!(found, want, "{path}");
        }
    }

    #[test]
    fn discovery_and_the_rest() {
        for (path, want) in [
            ("/api", PathKind::CoreVersions),
            ("/apis/", PathKind::Groups),
            ("/apis/g", PathKind::Group("g")),
            ("/apis/g/v1", PathKind::GroupVersion("g", "v1")),
            ("/api/v1", PathKind::GroupVersion("", "v1")),
            ("/", PathKind::Other),
            ("/healthz", PathKind::Other),
            ("//apis/g/v1/foos", PathKind::Other),
        ] {
            assert_eq!(parse(path), (want, None), "{path}");
        }
    }

    #[test]
    fn verbs_follow_from_method_path_and_query() {
        for (method, path, query, want, why) in [
            ("GET", "/apis/g/v1/foos/x", "", "get", "an object"),
            ("HEAD", "/apis/g/v1/foos/x", "", "get", "an object without its body"),
            ("GET", "/apis/g/v1/foos/x", "watch=1", "get", "one object is not watched by query"),
            ("GET", "/apis/g/v1/foos", "", "list", "a collection"),
            ("GET", "/apis/g/v1/foos", "watch=true", "watch", "by query"),
            ("GET", "/apis/g/v1/foos", "watch", "watch", "an empty value counts"),
            ("GET", "/apis/g/v1/foos", "watch=nonsense", "watch", "so does any other"),
            ("GET", "/apis/g/v1/foos", "watch=0", "list", "but not zero"),
            ("GET", "/apis/g/v1/foos", "watch=False", "list", "nor false"),
            ("GET", "/apis/g/v1/watch/foos/x", "", "watch", "by prefix"),
            ("POST", "/apis/g/v1/watch/foos", "", "watch", "whatever the method"),
            ("POST", "/apis/g/v1/foos", "", "create", ""),
            ("PUT", "/apis/g/v1/foos/x", "", "update", ""),
            ("PATCH", "/apis/g/v1/foos/x", "", "patch", ""),
            ("DELETE", "/apis/g/v1/foos/x", "", "delete", ""),
            ("DELETE", "/apis/g/v1/foos", "", "deletecollection", ""),
            ("OPTIONS", "/apis/g/v1/foos", "", "", "no verb for resources"),
            ("OPTIONS", "/healthz", "", "options", "paths have the method"),
            ("GET", "/apis", "watch=1", "get", ""),
            ("HEAD", "/apis", "", "head", ""),
            ("POST", "/metrics", "", "post", ""),
            ("DELETE", "/apis/g", "", "delete", ""),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let query_of = Query::parse(Some(query));
            let info = RequestInfo::new(&method, path, &query_of);
            assert_eq!(info.verb, Verb::of(want), "{method} {path}?{query} {why}");
            assert_eq!(info.resource.is_some(), info.kind == PathKind::Resource);
        }
    }

    #[test]
    fn a_field_selector_may_name_the_object() {
        for (method, path, query, want, why) in [
            ("GET", "/apis/g/v1/foos", "fieldSelector=metadata.name%3Dx", "x", "a list"),
            ("GET", "/apis/g/v1/foos", "watch=1&fieldSelector=metadata.name%3D%3Dx", "x", "a watch"),
            ("GET", "/apis/g/v1/foos", "fieldSelector=a%3Db,metadata.name%3Dx", "x", "among others"),
            ("GET", "/apis/g/v1/foos", "fieldSelector=metadata.name!%3Dx", "", "no exact match"),
            ("GET", "/apis/g/v1/foos", "fieldSelector=metadata.name%3Da/b", "", "no path segment"),
            ("GET", "/apis/g/v1/foos", "fieldSelector=nonsense", "", "no selector"),
            ("GET", "/apis/g/v1/foos", "fieldSelector=metadata.name%3Dx&limit=1", "x", "with another option"),
            (
                "GET",
                "/apis/g/v1/foos",
                "fieldSelector=metadata.name%3Dx&limit=a",
                "",
                "an option that cannot be read",
            ),
            ("GET", "/apis/g/v1/foos", "fieldSelector=metadata.name%3Dx&labelSelector=!", "", "nor this one"),
            ("DELETE", "/apis/g/v1/foos", "fieldSelector=metadata.name%3Dx", "", "not deletecollection"),
            ("GET", "/apis/g/v1/foos/y", "fieldSelector=metadata.name%3Dx", "y", "the path's"),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let query_of = Query::parse(Some(query));
            let info = RequestInfo::new(&method, path, &query_of);
            assert_eq!(info.is_named, path.ends_with("/y"), "{why}");
            assert_eq!(info.resource.unwrap().name, want, "{method} {path}?{query} {why}");
        }
    }
}
