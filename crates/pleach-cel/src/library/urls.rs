//! URLs as Go parses them.

use std::collections::BTreeMap;

use pleach_go::url::parse_query;

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, Key, Map, Opaque, Url};

/// URLs as Go parses them.
pub(super) static LIBRARY: Library = Library { name: "URLs", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "getEscapedPath",
        call: Some(get_escaped_path),
        overloads: &[Overload::member("url_get_escaped_path", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getHost",
        call: Some(get_host),
        overloads: &[Overload::member("url_get_host", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getHostname",
        call: Some(get_hostname),
        overloads: &[Overload::member("url_get_hostname", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getPort",
        call: Some(get_port),
        overloads: &[Overload::member("url_get_port", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "getQuery",
        call: Some(get_query),
        overloads: &[Overload::member(
            "url_get_query",
            &[T::Message("kubernetes.URL")],
            T::Map(&T::String, &T::List(&T::String)),
        )],
    },
    Function {
        name: "getScheme",
        call: Some(get_scheme),
        overloads: &[Overload::member("url_get_scheme", &[T::Message("kubernetes.URL")], T::String)],
    },
    Function {
        name: "isURL",
        call: Some(is_url),
        overloads: &[Overload::new("is_url_string", &[T::String], T::Bool)],
    },
    Function {
        name: "url",
        call: Some(url),
        overloads: &[Overload::new("string_to_url", &[T::String], T::Message("kubernetes.URL"))
            .cost(StaticCost::Traverse)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// Takes a text apart, or says why it is no URL.
fn parse(call: &Call<'_>, text: &str) -> Result<Result<Url, String>, Fault> {
    call.work.charge(text.len() as u64 / 4)?;
    call.work.build(2 * text.len())?;
    Ok(Url::parse_request_uri(text).and_then(|_| Url::parse(text)))
}

fn url<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => match parse(call, text.as_str())? {
            Ok(url) => Ok(CelValue::opaque(Opaque::Url(url))),
            Err(reason) => {
                Err(Fault::error(format!("URL parse error during conversion from string: {reason}")))
            }
        },
        _ => call.no_such_overload(args),
    }
}

fn is_url<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => Ok(CelValue::Bool(parse(call, text.as_str())?.is_ok())),
        _ => call.no_such_overload(args),
    }
}

fn get<'v>(call: &Call<'_>, args: &[CelValue<'v>], part: fn(&Url) -> &str) -> Outcome<'v> {
    match args {
        [CelValue::Opaque(value)] if let Opaque::Url(url) = &**value => {
            let part = part(url);
            call.work.build(part.len())?;
            Ok(CelValue::string(part))
        }
        _ => call.no_such_overload(args),
    }
}

fn get_scheme<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    get(call, args, Url::scheme)
}

fn get_host<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    get(call, args, Url::host)
}

fn get_hostname<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    get(call, args, Url::hostname)
}

fn get_port<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    get(call, args, Url::port)
}

fn get_escaped_path<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    get(call, args, Url::escaped_path)
}

fn get_query<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Opaque(value)] if let Opaque::Url(url) = &**value => {
            // Keys and values are copied, and short ones need more than their bytes.
            call.work.charge(url.bytes() as u64)?;
            call.work.build(url.bytes().saturating_mul(64))?;
            let list = |values: Vec<String>| CelValue::list(values.into_iter().map(CelValue::from).collect());
            let mut values = BTreeMap::<_, Vec<_>>::new();
            for (key, value) in parse_query(url.raw_query()) {
                values.entry(key).or_default().push(value);
            }
            let entries = values.into_iter().map(|(key, values)| (Key::String(key.into()), list(values)));
            Ok(CelValue::Map(Map::of(entries.collect())))
        }
        _ => call.no_such_overload(args),
    }
}
