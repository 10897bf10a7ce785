//! What a URL path means: a resource request, or something else.
//!
//! The rules are those of the API server's request-info parser, oddities included: repeated and
//! trailing slashes are ignored, `watch` may stand after the version, `namespaces/<ns>` comes before
//! the resource, and what follows the subresource is ignored.

/// A path below `/api/<version>` or `/apis/<group>/<version>`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ResourcePath<'a> {
    /// The group; empty for core.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The deprecated `watch` segment stood after the version.
    pub watch_prefix: bool,
    /// The namespace; empty for none.
    pub namespace: &'a str,
    /// The resource.
    pub resource: &'a str,
    /// The object's name; empty for a collection.
    pub name: &'a str,
    /// The subresource; empty for none.
    pub subresource: &'a str,
}

/// What a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathInfo<'a> {
    /// Objects of a resource.
    Resource(ResourcePath<'a>),
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

/// Subresources of a namespace that would otherwise read as resources inside it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// What stands between slashes. Segments are so short that looking at each byte beats a search.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.bytes().position(|byte| byte == b'/');
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// Reads a decoded path.
pub fn parse(path: &str) -> PathInfo<'_> {
    // Slashes at the ends are ignored; in the middle they make empty segments, which match nothing.
    if path.starts_with("//") {
        return PathInfo::Other;
    }
    let mut segments = segments(path.trim_matches('/'));
    let (group, version) = match segments.next() {
        Some("api") => match segments.next() {
            None => return PathInfo::CoreVersions,
            Some(version) => ("", version),
        },
        Some("apis") => match (segments.next(), segments.next()) {
            (None, _) => return PathInfo::Groups,
            (Some(group), None) => return PathInfo::Group(group),
            (Some(group), Some(version)) => (group, version),
        },
        _ => return PathInfo::Other,
    };
    let mut places = [""; 7];
    let mut count = 0;
    for (place, segment) in places.iter_mut().zip(segments) {
        *place = segment;
        count += 1;
    }
    let mut rest = &places[..count];
    if rest.is_empty() {
        return PathInfo::GroupVersion(group, version);
    }
    let mut info = ResourcePath { group, version, ..ResourcePath::default() };
    if rest[0] == "watch" && rest.len() > 1 {
        info.watch_prefix = true;
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
    info.name = parts.get(1).copied().unwrap_or_default();
    info.subresource = parts.get(2).copied().unwrap_or_default();
    PathInfo::Resource(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> ResourcePath<'_> {
        match parse(path) {
            PathInfo::Resource(info) => info,
            other => panic!("{path}: {other:?}"),
        }
    }

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
            let r = resource(path);
            let found = (r.group, r.version, r.namespace, r.resource, r.name, r.subresource, r.watch_prefix);
            assert_eq!(found, want, "{path}");
        }
    }

    #[test]
    fn discovery_and_the_rest() {
        for (path, want) in [
            ("/api", PathInfo::CoreVersions),
            ("/apis/", PathInfo::Groups),
            ("/apis/g", PathInfo::Group("g")),
            ("/apis/g/v1", PathInfo::GroupVersion("g", "v1")),
            ("/api/v1", PathInfo::GroupVersion("", "v1")),
            ("/", PathInfo::Other),
            ("/healthz", PathInfo::Other),
            ("//apis/g/v1/foos", PathInfo::Other),
        ] {
            assert_eq!(parse(path), want, "{path}");
        }
    }
}
