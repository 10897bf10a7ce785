//! URLs as Go parses them.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// URLs as Go parses them.
pub(super) static LIBRARY: Library = Library { name: "URLs", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "getEscapedPath",
        overloads: &[Overload::member("url_get_escaped_path", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getHost",
        overloads: &[Overload::member("url_get_host", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getHostname",
        overloads: &[Overload::member("url_get_hostname", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getPort",
        overloads: &[Overload::member("url_get_port", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getQuery",
        overloads: &[Overload::member(
            "url_get_query",
            &[T::Message("kubernetes.URL")],
            T::Map(&T::String, &T::List(&T::String)),
        )],
    },
    Function {
        name: "getScheme",
        overloads: &[Overload::member("url_get_scheme", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "isURL",
        overloads: &[Overload::new("is_url_string", &[T::String], T::Bool).cost(StaticCost::Traverse)],
    },
    Function {
        name: "url",
        overloads: &[Overload::new("string_to_url", &[T::String], T::Message("kubernetes.URL"))
            .cost(StaticCost::Traverse)],
    },
];
