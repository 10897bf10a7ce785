//! Outcomes of requests that are not API errors, and their HTTP status codes.
//!
//! No other module of the server names a status code: errors have theirs from `Rejection::into_status`.

use http::StatusCode;
use pleach_meta::Status;

/// The status code of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 101: the connection is a WebSocket from here on.
    SwitchingProtocols,
    /// 200
    Ok,
    /// 201: an object was created, or a review answered.
    Created,
    /// 202: a deletion continues in the background.
    Accepted,
    /// 204: there is nothing to show.
    NoContent,
    /// 301: the document has another URL now.
    Moved,
    /// 304: the client has it.
    NotModified,
    /// 400 before the path is understood.
    BadPath,
    /// 400: a handshake of the WebSocket protocol that is none.
    BadHandshake,
    /// 401 without a Status: the console has no session for the request, or an endpoint for tests no token.
    NotSignedIn,
    /// 403: a handshake of the WebSocket protocol without an origin, a request to the console from another one.
    ForeignOrigin,
    /// 403: a write through a console that only reads.
    ReadOnly,
    /// 404 without a Status.
    PageNotFound,
    /// 405 without a Status.
    MethodNotAllowed,
    /// 406 without a Status.
    NotAcceptable,
    /// 421: the console is not served under the name that the client used.
    Misdirected,
    /// 429 without a Status: flow control has no seats for the request.
    TooManyRequests,
    /// 500 without a Status: a failed health check, a panic.
    Failed,
    /// 502: the API server that the console shows does not answer.
    Unreachable,
    /// 503 without a Status: the server is stopping, or the client has disconnected.
    Stopped,
}

impl Outcome {
    /// The status code.
    pub fn code(self) -> StatusCode {
        match self {
            Self::SwitchingProtocols => StatusCode::SWITCHING_PROTOCOLS,
            Self::Ok => StatusCode::OK,
            Self::Created => StatusCode::CREATED,
            Self::Accepted => StatusCode::ACCEPTED,
            Self::NoContent => StatusCode::NO_CONTENT,
            Self::Moved => StatusCode::MOVED_PERMANENTLY,
            Self::NotModified => StatusCode::NOT_MODIFIED,
            Self::BadPath | Self::BadHandshake => StatusCode::BAD_REQUEST,
            Self::NotSignedIn => StatusCode::UNAUTHORIZED,
            Self::ForeignOrigin | Self::ReadOnly => StatusCode::FORBIDDEN,
            Self::PageNotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unreachable => StatusCode::BAD_GATEWAY,
            Self::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<Outcome> for StatusCode {
    fn from(outcome: Outcome) -> Self {
        outcome.code()
    }
}

/// Whether a response says that the body of its request was refused for its size, the work that it takes, or its type: it
/// was not decoded.
pub fn is_undecoded(code: StatusCode) -> bool {
    matches!(code, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

/// The status code of a `Status`. A webhook may have chosen it; an invalid code is a 500.
pub fn code_of(status: &Status) -> StatusCode {
    match status.code {
        0 => StatusCode::OK,
        code => StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Whether the credentials of a request were refused.
pub fn is_unauthorized(code: StatusCode) -> bool {
    code == StatusCode::UNAUTHORIZED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_codes() {
        for (code, want) in [(0, 200), (404, 404), (999, 999), (42, 500), (60_000, 500)] {
            let status = Status {
                code,
                success: false,
                reason: pleach_meta::Reason::None,
                message: String::new(),
                details: None,
            };
            assert_eq!(code_of(&status).as_u16(), want, "{code}");
        }
    }
}
