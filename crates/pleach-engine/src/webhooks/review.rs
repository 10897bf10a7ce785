//! The common parts of ConversionReview and AdmissionReview: how they are wrapped, and how responses are
//! read.

use pleach_json::{Map, Value};

use super::excerpt::{EXCERPT, excerpt, excerpt_bytes, excerpt_of};
use crate::decode;

/// A version of reviews that this server supports.
pub(crate) fn known_version(version: &str) -> Option<&'static str> {
    match version {
        "v1" => Some("v1"),
        "v1beta1" => Some("v1beta1"),
        _ => None,
    }
}

/// A review with nothing in it.
pub(crate) fn envelope(group: &str, version: &str, kind: &str) -> Map {
    let mut out = Map::new();
    out.insert("apiVersion", format!("{group}/{version}"));
    out.insert("kind", kind);
    out
}

/// Reads an answer, which must be a review of the same form. It may be YAML, as any object that upstream's
/// client reads.
pub(crate) fn read(answer: &[u8], group: &str, version: &str, kind: &str) -> Result<Value, String> {
    let review = match pleach_json::parse(answer) {
        Ok(review) => review,
        Err(error) => pleach_yaml::parse(answer)
            .map_err(|_| format!("couldn't get version/kind; json parse error: {error}"))?,
    };
    let (api_version, found) = decode::type_meta(&review)?;
    if found.is_empty() {
        return Err(format!("Object 'Kind' is missing in '{}'", excerpt_bytes(answer)));
    }
    let expected = format!("{group}/{version}");
    if found != kind || api_version != expected {
        let known = found == kind
            && api_version.strip_prefix(group).is_some_and(|rest| matches!(rest, "/v1" | "/v1beta1"));
        if !known {
            let (found, api_version) = (excerpt_of(found, EXCERPT / 2), excerpt_of(api_version, EXCERPT / 2));
            return Err(format!(
                "no kind \"{found}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
            ));
        }
        let theirs = api_version.rsplit('/').next().unwrap_or_default();
        return Err(format!("converting ({theirs}.{kind}) to ({version}.{kind}): unknown conversion"));
    }
    Ok(review)
}

/// Checks that a response has the uid of its request.
pub(crate) fn check_uid(response: &Value, uid: &str) -> Result<(), String> {
    let got = response.get("uid").and_then(Value::as_str).unwrap_or_default();
    if got == uid {
        Ok(())
    } else {
        Err(format!("expected response.uid=\"{uid}\", got \"{}\"", excerpt(got)))
    }
}
