//! Bodies of requests for objects, in the encoding that their Content-Type names.

use http::header::CONTENT_LENGTH;
use pleach_engine::options::{Body, DeleteOptions, Format, Unreadable};
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};

use super::media_types::{body_format, media_type};
use crate::accept::Encoding;
use crate::app::Call;
use crate::cbor;
use crate::options;
use crate::request_body::Unread;
use pleach_protobuf as protobuf;

pub(super) async fn request_body(
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
) -> Result<Body, Rejection> {
    let format = body_format(call)?;
    let bytes = body.read().await?;
    let format = match format {
        Encoding::Json => Format::Json,
        Encoding::Yaml => Format::Yaml,
        Encoding::Protobuf => {
            let (api_version, kind) = match target.subresource {
                // A custom kind may have any name.
                _ if target.kind.is_custom() => (target.version().api_version.as_str(), ""),
                Subresource::Scale => ("autoscaling/v1", "Scale"),
                _ => (target.version().api_version.as_str(), target.kind.kind.as_str()),
            };
            Format::Read(protobuf::object(&bytes, api_version, kind))
        }
        Encoding::Cbor => Format::Read(cbor::read(&bytes).map_err(Unreadable::Body)),
    };
    Ok(Body { bytes, format })
}

/// The body of a request whose object is not stored.
pub async fn unstored_body(
    call: &Call<'_>,
    api_version: &str,
    kind: &str,
    body: &mut Unread,
) -> Result<Body, Rejection> {
    let format = body_format(call)?;
    let bytes = body.read().await?;
    let format = match format {
        Encoding::Json => Format::Json,
        Encoding::Yaml => Format::Yaml,
        Encoding::Protobuf => Format::Read(protobuf::object(&bytes, api_version, kind)),
        Encoding::Cbor => Format::Read(cbor::read(&bytes).map_err(Unreadable::Body)),
    };
    Ok(Body { bytes, format })
}

/// The body of a patch.
pub(super) async fn patch_body(call: &Call<'_>, body: &mut Unread) -> Result<Body, Rejection> {
    let mut bytes = body.read().await?;
    if media_type(call) == cbor::APPLY {
        // Applied configurations are read as YAML, of which JSON is a part.
        let configuration = cbor::read(&bytes);
        let configuration =
            configuration.map_err(|error| Rejection::BadRequest(format!("error decoding CBOR: {error}")))?;
        bytes = pleach_json::to_vec(&configuration).into();
    }
    Ok(Body { bytes, format: Format::Json })
}

pub(super) async fn delete_options(call: &Call<'_>, body: &mut Unread) -> Result<DeleteOptions, Rejection> {
    let format = match body_format(call) {
        // Without a body its type does not matter.
        Err(_) if call.header(CONTENT_LENGTH).is_none_or(|length| length == "0") => Encoding::Json,
        format => format?,
    };
    let bytes = body.read().await?;
    let read = match format {
        _ if bytes.is_empty() => return options::delete_options_of_query(call.query),
        Encoding::Json => pleach_json::parse(&bytes)
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}")),
        Encoding::Yaml => pleach_yaml::parse(&bytes).map_err(|error| error.to_string()),
        Encoding::Protobuf => protobuf::delete_options(&bytes),
        Encoding::Cbor => cbor::read(&bytes),
    };
    options::delete_options(&read.map_err(Rejection::BadRequest)?)
}
