//! Storage keys of objects.
//!
//! One function makes every key, for built-in and custom kinds alike:
//! `/registry/<group>/<plural>/[<namespace>/]<name>`. The version is not part of it: an object has
//! one key whatever version it is read in. The core group, whose name is empty, is spelled `core`,
//! which no CRD can claim because a CRD's group has a dot.

use pleach_store::Key;

use crate::kinds::namespace;

/// The start of every key.
pub const ROOT: &str = "/registry/";
/// The prefix of the keys of namespaces.
const NAMESPACES: &str = "/registry/core/namespaces/";
/// The prefix of the keys of CRDs.
const DEFINITIONS: &str = "/registry/apiextensions.k8s.io/customresourcedefinitions/";

/// The prefix of the keys of a resource, or of one namespace of it. Ends in a slash.
pub fn prefix(group: &str, plural: &str, namespace: Option<&str>) -> String {
    let group = if group.is_empty() { "core" } else { group };
    let namespace = namespace.filter(|ns| !ns.is_empty());
    let len = ROOT.len() + group.len() + plural.len() + namespace.map_or(0, |ns| ns.len() + 1) + 2;
    let mut key = String::with_capacity(len + 64);
    key.push_str(ROOT);
    key.push_str(group);
    key.push('/');
    key.push_str(plural);
    key.push('/');
    if let Some(namespace) = namespace {
        key.push_str(namespace);
        key.push('/');
    }
    key
}

/// The key of one object.
pub fn object(group: &str, plural: &str, namespace: Option<&str>, name: &str) -> Key {
    let mut key = prefix(group, plural, namespace);
    key.push_str(name);
    Key::new(key)
}

/// The key of a namespace.
pub fn namespace(name: &str) -> Key {
    object(namespace::GROUP, namespace::PLURAL, None, name)
}

/// Whether a key is that of a namespace.
pub fn is_namespace(key: &Key) -> bool {
    key.as_str().starts_with(NAMESPACES)
}

/// Whether a key is that of a CRD.
pub fn is_definition(key: &Key) -> bool {
    key.as_str().starts_with(DEFINITIONS)
}

/// The group and plural of a key, and the rest: a namespace, where the kind has one, and the name.
pub fn split(key: &Key) -> Option<(&str, &str, &str)> {
    // Several controllers split the key of every change: a vectorized search is a fifth of `split_once`.
    let at_slash = |text: &'_ str| memchr::memchr(b'/', text.as_bytes());
    let rest = key.as_str().strip_prefix(ROOT)?;
    let (group, rest) = rest.split_at(at_slash(rest)?);
    let rest = &rest[1..];
    let (plural, rest) = rest.split_at(at_slash(rest)?);
    Some((if group == "core" { "" } else { group }, plural, &rest[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::crd;

    #[test]
    fn keys_of_namespaces_are_recognized() {
        assert!(is_namespace(&namespace("a")));
        for other in [object("", "namespaces2", None, "a"), object("", "pods", Some("namespaces"), "a")] {
            assert!(!is_namespace(&other), "{other:?}");
        }
        assert_eq!(split(&namespace("a")), Some((namespace::GROUP, namespace::PLURAL, "a")));
        assert_eq!(split(&Key::new("/registry/g/foos")), None);
    }

    #[test]
    fn keys_of_definitions_are_recognized() {
        let definition = |group| object(group, crd::PLURAL, None, "a");
        assert!(is_definition(&definition(crd::GROUP)) && !is_definition(&definition("example.com")));
    }

    #[test]
    fn one_layout_for_every_kind() {
        for (group, namespace, want) in [
            ("a.example.com", Some("ns"), "/registry/a.example.com/foos/ns/x"),
            ("a.example.com", None, "/registry/a.example.com/foos/x"),
            ("", Some("ns"), "/registry/core/foos/ns/x"),
            ("", Some(""), "/registry/core/foos/x"),
        ] {
            let key = object(group, "foos", namespace, "x");
            assert_eq!(key.as_str(), want);
            let rest = if namespace == Some("ns") { "ns/x" } else { "x" };
            assert_eq!(split(&key), Some((group, "foos", rest)));
        }
    }
}
