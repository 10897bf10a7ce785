//! Responses of webhooks: the body, or an error made from the status code.
//!
//! The texts are those of upstream's client, which was made to talk to API servers. So a status code that has a
//! meaning there has a text of its own, and the message of a body that is a `Status` is the error.

mod media;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use pleach_engine::webhooks::{EXCERPT, excerpt};
use pleach_go::strconv::quote_bytes;
use pleach_json::Value;

/// The body of a successful response, or the error of a failed one.
pub(crate) fn check(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Result<Bytes, String> {
    let given = headers.get(header::CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let given = given.filter(|given| !given.is_empty());
    let content_type = given.as_deref().unwrap_or("application/json");
    let media = media::parse(content_type).map_err(|error| format!("Internal error occurred: {error}"))?;
    let code = status.as_u16();
    if code != 101 && !(200..=206).contains(&code) {
        let is_text = given.is_none() || media.starts_with("text/");
        return Err(message_of_status(&body).unwrap_or_else(|| sentence(code, &body, is_text)));
    }
    if body.is_empty() {
        let content_type = excerpt(content_type);
        return Err(format!("0-length response with status code: {code} and content type: {content_type}"));
    }
    Ok(body)
}

/// The message of a body that is a `Status` which failed. Without a message it is empty.
fn message_of_status(body: &[u8]) -> Option<String> {
    let value = pleach_json::parse(body).ok()?;
    let text = |key| match value.get(key) {
        None | Some(Value::Null) => Some(""),
        Some(value) => value.as_str(),
    };
    let whole = matches!(value.get("code"), None | Some(Value::Null | Value::Int(_)))
        && matches!(value.get("details"), None | Some(Value::Null | Value::Object(_)));
    (whole && text("kind")? == "Status" && text("status")? == "Failure" && text("reason").is_some())
        .then(|| text("message").map(|message| excerpt(message).into_owned()))?
}

fn sentence(code: u16, body: &[u8], is_text: bool) -> String {
    let shown = if is_text { body[..body.len().min(EXCERPT)].trim_ascii() } else { b"unknown" };
    let plain = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if shown.is_empty() || shown == b"unknown" => {
            "the server was unable to respond with a content type that the client supports"
        }
        403 | 406 | 415 => return String::from_utf8_lossy(shown).into_owned(),
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => {
            let shown = quote_bytes(shown);
            return format!("an error on the server ({shown}) has prevented the request from succeeding");
        }
        _ => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    plain.to_owned()
}

#[cfg(test)]
mod tests;
