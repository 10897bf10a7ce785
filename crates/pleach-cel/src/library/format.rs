//! Named string formats that can be validated.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, Opaque, Timestamp, Url};
use pleach_meta::names;
use pleach_regex::Regex;
use pleach_work::Constant;

/// Named string formats that can be validated.
pub(super) static LIBRARY: Library = Library { name: "format", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "format.byte",
        call: Some(constant),
        overloads: &[Overload::new("format.byte", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.date",
        call: Some(constant),
        overloads: &[Overload::new("format.date", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.datetime",
        call: Some(constant),
        overloads: &[Overload::new("format.datetime", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.dns1035Label",
        call: Some(constant),
        overloads: &[
            Overload::new("format.dns1035Label", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1035LabelPrefix",
        call: Some(constant),
        overloads: &[
            Overload::new("format.dns1035LabelPrefix", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123Label",
        call: Some(constant),
        overloads: &[
            Overload::new("format.dns1123Label", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123LabelPrefix",
        call: Some(constant),
        overloads: &[
            Overload::new("format.dns1123LabelPrefix", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123Subdomain",
        call: Some(constant),
        overloads: &[
            Overload::new("format.dns1123Subdomain", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123SubdomainPrefix",
        call: Some(constant),
        overloads: &[Overload::new(
            "format.dns1123SubdomainPrefix",
            &[],
            T::Message("kubernetes.NamedFormat"),
        )
        .since(31)],
    },
    Function {
        name: "format.labelValue",
        call: Some(constant),
        overloads: &[Overload::new("format.labelValue", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.named",
        call: Some(named),
        overloads: &[Overload::new(
            "format-named",
            &[T::String],
            T::Optional(&T::Message("kubernetes.NamedFormat")),
        )
        .since(31)],
    },
    Function {
        name: "format.qualifiedName",
        call: Some(constant),
        overloads: &[
            Overload::new("format.qualifiedName", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.uri",
        call: Some(constant),
        overloads: &[Overload::new("format.uri", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.uuid",
        call: Some(constant),
        overloads: &[Overload::new("format.uuid", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "validate",
        call: Some(validate),
        overloads: &[Overload::member(
            "format-validate",
            &[T::Message("kubernetes.NamedFormat"), T::String],
            T::Optional(&T::List(&T::String)),
        )
        .since(31)
        .cost(StaticCost::Validate)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// A named format of strings.
#[derive(Debug)]
pub struct Format {
    /// The name after `format.`.
    pub name: &'static str,
    /// The factor of a tenth of the text in the cost of validation: a quarter of the
    /// length of the API server's pattern.
    pub(crate) pattern_cost: u64,
    validate: fn(&str) -> Vec<String>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

static FORMATS: [Format; 13] = [
    Format { name: "dns1123Label", pattern_cost: 8, validate: |s| messages(names::check_dns1123_label(s)) },
    Format {
        name: "dns1123Subdomain",
        pattern_cost: 15,
        validate: |s| messages(names::check_dns1123_subdomain(s)),
    },
    Format { name: "dns1035Label", pattern_cost: 8, validate: |s| messages(names::check_dns1035_label(s)) },
    Format {
        name: "qualifiedName",
        pattern_cost: 15,
        validate: |s| messages(names::check_qualified_name(s)),
    },
    Format {
        name: "dns1123LabelPrefix",
        pattern_cost: 8,
        validate: |s| messages(names::check_dns1123_label(&names::mask_trailing_dash(s))),
    },
    Format {
        name: "dns1123SubdomainPrefix",
        pattern_cost: 15,
        validate: |s| messages(names::check_dns1123_subdomain(&names::mask_trailing_dash(s))),
    },
    Format {
        name: "dns1035LabelPrefix",
        pattern_cost: 8,
        validate: |s| messages(names::check_dns1035_label(&names::mask_trailing_dash(s))),
    },
    Format { name: "labelValue", pattern_cost: 10, validate: |s| messages(names::check_label_value(s)) },
    Format {
        name: "uri",
        pattern_cost: 276,
        validate: |s| Url::parse_request_uri(s).err().into_iter().collect(),
    },
    Format {
        name: "uuid",
        pattern_cost: 18,
        validate: |s| unless(UUID.is_match(s), "does not match the UUID format"),
    },
    Format { name: "byte", pattern_cost: 21, validate: |s| unless(BASE64.is_match(s), "invalid base64") },
    Format { name: "date", pattern_cost: 18, validate: |s| unless(is_date(s), "invalid date") },
    Format { name: "datetime", pattern_cost: 18, validate: |s| unless(is_date_time(s), "invalid datetime") },
];

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of our own")
}

static UUID: Constant<Regex> =
    Constant::new(|| pattern("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"));

static BASE64: Constant<Regex> = Constant::new(|| {
    pattern("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$")
});

static TIME: Constant<Regex> =
    Constant::new(|| pattern("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"));

fn messages<M: Into<String>>(found: impl IntoIterator<Item = M>) -> Vec<String> {
    found.into_iter().map(Into::into).collect()
}

fn unless(holds: bool, message: &str) -> Vec<String> {
    if holds { Vec::new() } else { vec![message.to_owned()] }
}

fn is_date(text: &str) -> bool {
    Timestamp::parse_date(text).is_ok()
}

/// A date, a `t`, a time. Odd: text after a second `t` is ignored.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let digits = |at: usize| time.get(at..at + 2);
    text.len() >= 4
        && is_date(date)
        && TIME.is_match(time)
        && digits(0) <= Some("23")
        && digits(3) <= Some("59")
        && digits(6) <= Some("59")
}

fn constant<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let name = call.function.trim_start_matches("format.");
    match FORMATS.iter().find(|format| format.name == name) {
        Some(format) => Ok(CelValue::opaque(Opaque::Format(format))),
        None => call.no_such_overload(args),
    }
}

fn named<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(name)] => {
            let found = FORMATS.iter().find(|format| format.name == name.as_str());
            Ok(found.map_or(CelValue::Optional(None), |format| {
                CelValue::some(CelValue::opaque(Opaque::Format(format)))
            }))
        }
        _ => call.no_such_overload(args),
    }
}

fn validate<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Opaque(value), CelValue::String(text)] if let Opaque::Format(format) = &**value => {
            call.work.read_bytes(text.as_str().len())?;
            let messages = (format.validate)(text.as_str());
            if messages.is_empty() {
                return Ok(CelValue::Optional(None));
            }
            Ok(CelValue::some(CelValue::list(messages.into_iter().map(CelValue::from).collect())))
        }
        _ => call.no_such_overload(args),
    }
}
