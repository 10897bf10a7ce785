//! Media types of requests for objects: which encodings a path produces and reads, the type of a patch, and the
//! errors for all other types.

use http::header::CONTENT_TYPE;
use pleach_auth::Verb;
use pleach_engine::options::PatchType;
use pleach_engine::rejection::Rejection;
use pleach_engine::target::Target;

use crate::accept::{Accepted, Encoding, Endpoint, Offer, is_produced, negotiate_error, negotiate_object};
use crate::app::Call;
use crate::cbor;
use crate::respond::{self, ResponseFormat};
use pleach_protobuf as protobuf;

const ACCEPTED: &str = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
const READ: &str = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
const PATCHES: &str = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
/// The media types of built-in kinds.
pub(super) const PRODUCED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
pub(super) const PRODUCED_BY_LISTS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
const PRODUCED_WITH_CBOR: &str =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor";
const PRODUCED_BY_LISTS_WITH_CBOR: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq";
const ACCEPTED_STREAMS: &str = "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Negotiates a representation of objects. Built-in kinds have a list of types that they `produce`.
pub(super) fn agree(call: &Call<'_>, target: &Target, produce: &'static str) -> Result<Accepted, Rejection> {
    let accept = call.accept();
    if !target.kind.is_custom() && !is_produced(accept.as_deref(), call.cbor) {
        return Err(Rejection::NotProduced(if call.cbor { produced_with_cbor(produce) } else { produce }));
    }
    // A watch may be requested as a sequence, a list may not.
    let endpoint =
        if call.attributes.verb == Verb::Watch && call.cbor { Endpoint::Watch } else { Endpoint::Objects };
    negotiate_object(accept.as_deref(), endpoint, offer(call, target))
        .ok_or_else(|| Rejection::NotAcceptable(with_cbor(call, ACCEPTED, cbor::MEDIA_TYPE)))
}

/// Agrees on the representation of an object that is not stored: it has no table.
pub fn agree_on_unstored(call: &Call<'_>) -> Result<ResponseFormat, Rejection> {
    let accept = call.accept();
    if !is_produced(accept.as_deref(), call.cbor) {
        return Err(Rejection::NotProduced(if call.cbor { produced_with_cbor(PRODUCED) } else { PRODUCED }));
    }
    let offer = Offer { protobuf: true, cbor: call.cbor };
    negotiate_object(accept.as_deref(), Endpoint::Plain, offer)
        .map(|accepted| response_format(call, accepted))
        .ok_or_else(|| Rejection::NotAcceptable(with_cbor(call, ACCEPTED, cbor::MEDIA_TYPE)))
}

/// Agrees on the representation of watch events.
pub(super) fn agree_on_stream(
    call: &Call<'_>,
    target: &Target,
) -> Result<Result<Accepted, Rejection>, Rejection> {
    let listed = agree(call, target, PRODUCED_BY_LISTS)?;
    // The second choice does not count: a client that would rather have YAML, which is no stream, gets none.
    Ok(negotiate_object(call.accept().as_deref(), Endpoint::Watch, offer(call, target))
        .filter(|_| listed.encoding != Encoding::Yaml)
        .ok_or_else(|| Rejection::NotAcceptable(with_cbor(call, ACCEPTED_STREAMS, cbor::SEQUENCE))))
}

/// The encodings that objects of the kind can have, besides JSON and YAML.
fn offer(call: &Call<'_>, target: &Target) -> Offer {
    Offer { protobuf: has_message(target), cbor: call.cbor }
}

/// The media types of built-in kinds with CBOR.
fn produced_with_cbor(produced: &'static str) -> &'static str {
    if produced == PRODUCED { PRODUCED_WITH_CBOR } else { PRODUCED_BY_LISTS_WITH_CBOR }
}

/// A list of media types, with another one where CBOR is read and written.
fn with_cbor(call: &Call<'_>, types: &str, media_type: &str) -> String {
    if call.cbor { format!("{types}, {media_type}") } else { types.to_owned() }
}

/// Whether objects of the kind can be written in protobuf.
fn has_message(target: &Target) -> bool {
    !target.kind.is_custom() && protobuf::has_message(&target.version().api_version, &target.kind.kind)
}

pub(super) fn response_format(call: &Call<'_>, accepted: Accepted) -> ResponseFormat {
    let gzip = respond::reads_gzip(&call.headers);
    ResponseFormat { accepted, pretty: accepted.pretty || call.pretty(), gzip }
}

/// The format of errors: negotiated anew, without transformations.
pub fn error_format(call: &Call<'_>) -> ResponseFormat {
    response_format(call, negotiate_error(call.accept().as_deref(), call.cbor))
}

/// The media type of the body, without parameters.
pub(super) fn media_type<'a>(call: &'a Call<'_>) -> &'a str {
    call.header(CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

/// How a body is written, as it says itself.
pub fn body_format(call: &Call<'_>) -> Result<Encoding, Rejection> {
    let media = media_type(call);
    let known = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf, Encoding::Cbor];
    let known = &known[..if call.cbor { 4 } else { 3 }];
    let found = known.iter().find(|encoding| media.eq_ignore_ascii_case(encoding.media_type()));
    match found {
        None if media.is_empty() => Ok(Encoding::Json),
        None => Err(Rejection::UnsupportedMediaType(with_cbor(call, READ, cbor::MEDIA_TYPE))),
        Some(format) => Ok(*format),
    }
}

pub(super) fn patch_type(call: &Call<'_>, target: &Target) -> Result<PatchType, Rejection> {
    let strategic = !target.kind.is_custom();
    match media_type(call) {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/apply-patch+yaml" => Ok(PatchType::Apply),
        cbor::APPLY if call.cbor => Ok(PatchType::Apply),
        "application/strategic-merge-patch+json" if strategic => Ok(PatchType::StrategicMerge),
        _ if strategic => Err(Rejection::NotConsumed),
        _ => Err(Rejection::UnsupportedMediaType(with_cbor(call, PATCHES, cbor::APPLY))),
    }
}
