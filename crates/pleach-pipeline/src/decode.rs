//! Decoding: from bytes to an object of the version the client wrote.
//!
//! The first stage of a write. Errors are those of a 400, which quote the body's first bytes. Unknown and duplicate
//! fields are warnings or an error, as the request's field validation says.

use pleach_go::fmt::{go_type, go_v};
use pleach_go::json::{Decoder, field_type_error, in_document_order, type_error};
use pleach_go::strconv::quote;
use pleach_json::{Hints, Map, Value};
use pleach_meta::GroupVersion;
use pleach_schema::Record;

use crate::body::{Body, FieldValidation, Format, Unreadable};
use crate::error::Error;
use crate::kind::Kind;
use crate::resource::Resource;
use crate::settle::{self, Settled};
use crate::typed::Typed;
use crate::types;

/// A decoded object: pruned, nulls dropped, defaulted.
#[derive(Debug)]
pub struct Decoded {
    /// The object.
    pub value: Settled,
    /// The paths of unknown fields, in the order they are reported.
    pub strict: Vec<String>,
    /// The changes of settling, as far as they were recorded.
    pub changes: pleach_schema::Settled,
}

/// Decodes a request body. `hints.baseline` is an object of the same version that is decoded already: values that the two
/// share are not decoded again.
pub fn decode(
    resource: Resource<'_>,
    body: &Body,
    validation: FieldValidation,
    hints: Hints<'_>,
    warnings: &mut Vec<String>,
) -> Result<Settled, Error> {
    let kind = resource.kind;
    let version = resource.version();
    let strictly = validation != FieldValidation::Ignore;
    let unrecognized = |error: String| {
        Error::BadRequest(format!(
            "the object provided is unrecognized (must be of type {}): {error} ({})",
            kind.kind,
            summary(&body.bytes)
        ))
    };
    let (raw, mut strict) = match parse(body, strictly, hints) {
        Ok(parsed) => parsed,
        Err(Unreadable::Object(error)) => return Err(cannot_be_handled(kind, &version.name, &error)),
        Err(Unreadable::Body(error)) => return Err(unrecognized(error)),
    };
    let mut raw = raw;
    if !kind.is_custom() {
        default_type_meta(resource, &mut raw);
    }
    let type_meta = TypeMeta::read(&raw).map_err(unrecognized)?;
    if type_meta.kind.is_empty() {
        let missing = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(&body.bytes));
        return Err(if strictly {
            unrecognized(missing)
        } else {
            cannot_be_handled(kind, &version.name, &missing)
        });
    }
    if type_meta.api_version != version.api_version {
        if let Err(error) = GroupVersion::parse(type_meta.api_version) {
            return Err(unrecognized(error));
        }
        let known = kind.versions.iter().any(|v| v.api_version == type_meta.api_version)
            || kind.strategy.other_versions().contains(&type_meta.api_version);
        if !kind.is_custom() && !known {
            return Err(not_registered(kind, &type_meta));
        }
        if validation == FieldValidation::Warn && is_unknown_version(kind, &type_meta) {
            // Upstream has read the object by then, against a schema that has no fields.
            let unknown = raw.as_object().into_iter().flat_map(Map::keys);
            let unknown = unknown.filter(|key| !["apiVersion", "kind", "metadata"].contains(&key.as_str()));
            unknown.for_each(|key| warnings.push(format!("unknown field \"{key}\"")));
        }
        return Err(Error::BadRequest(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            type_meta.api_version, version.api_version
        )));
    }
    if !kind.is_custom() && type_meta.kind != kind.kind {
        return Err(match kind.strategy.other_kind_error(&kind.kind, type_meta.kind) {
            Some(error) => Error::BadRequest(format!(
                "{} in version \"{}\" cannot be handled as a {}: {error}",
                type_meta.kind, version.name, kind.kind
            )),
            None => not_registered(kind, &type_meta),
        });
    }
    let baseline = hints.baseline.map(|spanned| spanned.value());
    let record = if strictly { Record::Unknown } else { Record::Nothing };
    let mut decoded = object(resource, raw, record, baseline)
        .map_err(|error| cannot_be_handled(kind, &version.name, &error))?;
    if kind.strategy.reports_unknown_in_document_order() && body.format == Format::Json {
        decoded.strict = in_document_order(&String::from_utf8_lossy(&body.bytes), decoded.strict);
    }
    decoded.strict.iter_mut().for_each(|path| *path = unknown_field(kind, path));
    strict.extend(decoded.strict);
    report(strict, validation, warnings).map_err(|error| cannot_be_handled(kind, &version.name, &error))?;
    Ok(decoded.value)
}

/// Decodes an object that is parsed already: a request's, or the result of a patch. `baseline` is an object of the same
/// version that is settled. Returns unknown fields too, unless `record` is `Nothing`. The error is Go's.
pub fn object(
    resource: Resource<'_>,
    mut value: Value,
    record: Record,
    baseline: Option<&Value>,
) -> Result<Decoded, String> {
    let strategy = resource.kind.strategy;
    let strictly = record != Record::Nothing;
    let mut strict = Vec::new();
    if strategy.decodes_whole_object() {
        let mut typed = Typed::default();
        let unknown = strategy.decode(resource, &mut value, &mut typed)?;
        strict.extend(unknown.into_iter().filter(|_| strictly));
        return Ok(Decoded {
            value: settle::typed(value, typed),
            strict,
            changes: pleach_schema::Settled::default(),
        });
    }
    for key in ["apiVersion", "kind"] {
        if let Some(other) = value.get(key).filter(|v| v.as_str().is_none()) {
            return Err(format!(
                "{key} accessor error: {} is of the type {}, expected string",
                go_v(other),
                go_type(other)
            ));
        }
    }
    let metadata = value.get("metadata").filter(|metadata| metadata.is_container());
    let known = baseline.and_then(|settled| settled.get("metadata")).zip(metadata);
    if !known.is_some_and(|(known, metadata)| known.is_same(metadata)) {
        strict.extend(decode_metadata(&mut value, strictly)?);
    }
    if let Some(name) = strategy.type_name(resource.version()) {
        types::check(name, &value)?;
    }
    let unknown = strategy.decode(resource, &mut value, &mut Typed::default())?;
    strict.extend(unknown.into_iter().filter(|_| strictly));
    let (value, mut changes) = settle::request(resource, value, baseline, record)?;
    if record == Record::Everything {
        strict.extend(changes.pruned.iter().chain(&changes.unknown_metadata).cloned());
    } else {
        strict.append(&mut changes.pruned);
        strict.append(&mut changes.unknown_metadata);
    }
    Ok(Decoded { value, strict, changes })
}

/// Decodes `metadata` in place. Returns the paths of unknown fields if `strictly` is set.
pub(crate) fn decode_metadata(value: &mut Value, strictly: bool) -> Result<Vec<String>, String> {
    let mut metadata = match value.as_object_mut() {
        Some(object) => object.remove("metadata").unwrap_or_default(),
        None => Value::Null,
    };
    if metadata.is_null() {
        metadata = Value::object();
    }
    let mut decoder = if strictly { Decoder::noting_unknown("metadata") } else { Decoder::lenient() };
    pleach_meta::object_meta::decode(&mut metadata, &mut decoder)?;
    let unknown = decoder.into_unknown();
    if let Some(object) = value.as_object_mut() {
        object.insert("metadata", metadata);
    }
    Ok(unknown)
}

/// Turns repeated and unknown fields into warnings or an error, as the request wants it.
pub fn report(
    strict: Vec<String>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    match validation {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Strict if strict.is_empty() => Ok(()),
        FieldValidation::Strict => Err(format!("strict decoding error: {}", unique(&strict).join(", "))),
        FieldValidation::Warn => {
            for text in strict {
                warn_by_line(text, warnings);
            }
            Ok(())
        }
    }
}

/// A YAML error has many lines; each is a warning.
fn warn_by_line(text: String, warnings: &mut Vec<String>) {
    const PREFIXES: [&str; 2] =
        ["error converting YAML to JSON: yaml: unmarshal errors:\n", "yaml: unmarshal errors:\n"];
    match PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        Some(lines) => warnings.extend(lines.lines().map(|line| line.trim().to_owned())),
        None => warnings.push(text),
    }
}

fn unique(texts: &[String]) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    texts.iter().map(String::as_str).filter(|text| seen.insert(*text)).collect()
}

/// The error of an object that cannot be decoded.
pub fn cannot_be_handled(kind: &Kind, version: &str, error: &str) -> Error {
    Error::BadRequest(format!(
        "{} in version \"{version}\" cannot be handled as a {}: {error}",
        kind.kind, kind.kind
    ))
}

/// Parses the body. Returns duplicate fields as texts.
fn parse(body: &Body, strictly: bool, hints: Hints<'_>) -> Result<(Value, Vec<String>), Unreadable> {
    let json_error = |error: pleach_json::ParseError| {
        if error.is_out_of_range() {
            // Found only when the kind is known.
            Unreadable::Object(error.to_string())
        } else {
            Unreadable::Body(format!("couldn't get version/kind; json parse error: {error}"))
        }
    };
    match (&body.format, strictly) {
        (Format::Json, false) => Ok((pleach_json::parse(&body.bytes).map_err(json_error)?, Vec::new())),
        (Format::Json, true) => {
            let parsed = pleach_json::parse_strict_with(&body.bytes, hints).map_err(json_error)?;
            debug_assert_eq!(
                Ok(&parsed),
                pleach_json::parse_strict(&body.bytes).as_ref(),
                "known is what is read"
            );
            let duplicates =
                parsed.duplicates.iter().map(|path| format!("duplicate field {}", quote(path))).collect();
            Ok((parsed.value, duplicates))
        }
        (Format::Yaml, strictly) => {
            let read = pleach_yaml::parse_strict(&body.bytes)
                .map_err(|error| Unreadable::Body(error.to_string()))?;
            let duplicates = (strictly && !read.duplicates.is_empty()).then(|| read.duplicates.to_string());
            Ok((read.value, duplicates.into_iter().collect()))
        }
        (Format::Read(read), _) => Ok((read.clone()?, Vec::new())),
    }
}

/// The report of an unknown field. Upstream quotes paths of Go structs, and not those of pruned objects.
pub fn unknown_field(kind: &Kind, path: &str) -> String {
    if kind.is_custom() {
        format!("unknown field \"{path}\"")
    } else {
        format!("unknown field {}", quote(path))
    }
}

/// Objects of built-in kinds may leave out `apiVersion` and `kind`: the URL has them.
fn default_type_meta(resource: Resource<'_>, value: &mut Value) {
    let Some(object) = value.as_object_mut() else { return };
    for (key, default) in [("apiVersion", &resource.version().api_version), ("kind", &resource.kind.kind)] {
        if matches!(object.get(key), None | Some(Value::Null)) || object.get_str(key) == Some("") {
            object.insert(key, default.clone());
        }
    }
}

/// Another kind at the address of a built-in one.
fn not_registered(kind: &Kind, type_meta: &TypeMeta<'_>) -> Error {
    let (found, api_version) = (type_meta.kind, type_meta.api_version);
    let version = api_version.rsplit_once('/').map_or(api_version, |(_, version)| version);
    let scheme = kind.strategy.scheme();
    if kind.strategy.api_kind().is_some() && crate::kinds::type_name(api_version, found).is_some() {
        // Another kind that upstream knows: it is decoded and cannot be converted.
        let package = kind.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
        return Error::BadRequest(format!(
            "{found} in version \"{version}\" cannot be handled as a {0}: converting ({version}.{found}) to ({package}.{0}): unknown conversion",
            kind.kind
        ));
    }
    Error::BadRequest(format!(
        "{found} in version \"{version}\" cannot be handled as a {}: no kind \"{found}\" is registered for version \"{api_version}\" in scheme \"{scheme}\"",
        kind.kind
    ))
}

/// Whether an object is of this kind in a version that does not exist.
fn is_unknown_version(kind: &Kind, type_meta: &TypeMeta<'_>) -> bool {
    let group = type_meta.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    group == kind.group
        && type_meta.kind == kind.kind
        && !kind.versions.iter().any(|version| version.api_version == type_meta.api_version)
}

/// `apiVersion` and `kind` of any value. The error is Go's.
pub fn type_meta(value: &Value) -> Result<(&str, &str), String> {
    TypeMeta::read(value).map(|found| (found.api_version, found.kind))
}

/// `apiVersion` and `kind`, before anything else is known.
struct TypeMeta<'a> {
    api_version: &'a str,
    kind: &'a str,
}

impl<'a> TypeMeta<'a> {
    fn read(value: &'a Value) -> Result<Self, String> {
        const WANTED: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
        let object = match value {
            Value::Object(object) => object,
            Value::Null => return Ok(Self { api_version: "", kind: "" }),
            other => {
                let error = type_error(other, &WANTED.replace("\\\\", "\\"));
                return Err(format!("couldn't get version/kind; json parse error: {error}"));
            }
        };
        let text = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(other) => {
                let error = field_type_error(other, "", key, "string");
                Err(format!("couldn't get version/kind; json parse error: {error}"))
            }
        };
        Ok(Self { api_version: text("apiVersion")?, kind: text("kind")? })
    }
}

/// The body's beginning: as text if it could be JSON, else in hexadecimal.
fn summary(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    const SHOWN: usize = 30;
    if bytes.is_empty() {
        return "<empty>".into();
    }
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let mut text = if bytes[0] == b'{' {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        shown.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    if bytes.len() > SHOWN {
        text.push_str(" ...");
    }
    text
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::kinds::tests::{built_in, custom};

    fn body(text: &str, format: Format) -> Body {
        Body { bytes: text.to_owned().into(), format }
    }

    #[test]
    fn bodies_that_cannot_be_decoded() {
        let custom = custom(json!({"type": "object"}));
        let secret = built_in("secrets");
        for (kind, text, want) in [
            (
                &custom,
                "{",
                "the object provided is unrecognized (must be of type Foo): couldn't get version/kind; json parse error: unexpected end of JSON input ({)",
            ),
            (
                &custom,
                r#"{"apiVersion":"example.com/v2","kind":"Foo"}"#,
                "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
            ),
            (
                &secret,
                r#"{"kind":"Pod"}"#,
                "Pod in version \"v1\" cannot be handled as a Secret: no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            ),
            (
                &secret,
                r#"{"data":{"a":"!"}}"#,
                "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte 0",
            ),
        ] {
            let resource = Resource::new(kind, 0);
            let decoded = decode(
                resource,
                &body(text, Format::Json),
                FieldValidation::Warn,
                Hints::default(),
                &mut Vec::new(),
            );
            assert_eq!(decoded.err(), Some(Error::BadRequest(want.to_owned())), "{text}");
        }
    }

    #[test]
    fn unknown_and_duplicate_fields_are_warnings_or_an_error() {
        let kind = custom(json!({"type": "object"}));
        let text = r#"{"apiVersion":"example.com/v1","kind":"Foo","kind":"Foo","a":1}"#;
        for (validation, want) in [
            (FieldValidation::Ignore, Ok(vec![])),
            (FieldValidation::Warn, Ok(vec!["duplicate field \"kind\"", "unknown field \"a\""])),
            (
                FieldValidation::Strict,
                Err(
                    "Foo in version \"v1\" cannot be handled as a Foo: strict decoding error: duplicate field \"kind\", unknown field \"a\"",
                ),
            ),
        ] {
            let mut warnings = Vec::new();
            let decoded = decode(
                Resource::new(&kind, 0),
                &body(text, Format::Json),
                validation,
                Hints::default(),
                &mut warnings,
            );
            let got = decoded.map(|_| warnings).map_err(|error| error.to_string());
            assert_eq!(
                got,
                want.map(|warnings: Vec<&str>| warnings.into_iter().map(str::to_owned).collect())
                    .map_err(str::to_owned),
                "{validation:?}"
            );
        }
    }

    #[test]
    fn paths_of_go_structs_are_quoted_and_those_of_pruned_fields_are_not() {
        let kind = custom(json!({"type": "object"}));
        let text = r#"{"apiVersion":"example.com/v1","kind":"Foo","a\\":1,"b\u200b":1,"b\u200b":2}"#;
        let mut warnings = Vec::new();
        let (body, warn) = (body(text, Format::Json), FieldValidation::Warn);
        decode(Resource::new(&kind, 0), &body, warn, Hints::default(), &mut warnings).expect("decodes");
        assert_eq!(
            warnings,
            [r#"duplicate field "b\u200b""#, "unknown field \"a\\\"", "unknown field \"b\u{200b}\""]
        );
        let namespace = built_in("namespaces");
        assert_eq!(unknown_field(&namespace, "a\\"), r#"unknown field "a\\""#);
    }
}
