//! `metav1.Status`: the response of the API server for errors and deletions.

use pleach_json::{Map, Value};

use crate::field_error::{FieldError, MORE, aggregate_bodies, bodies};

/// The machine-readable word for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No reason is given.
    None,
    /// 400
    BadRequest,
    /// 401
    Unauthorized,
    /// 403
    Forbidden,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 406
    NotAcceptable,
    /// 409, the name is taken
    AlreadyExists,
    /// 409
    Conflict,
    /// 410, history is gone
    Gone,
    /// 410, a resource version or continue token is too old
    Expired,
    /// 413
    RequestEntityTooLarge,
    /// 415
    UnsupportedMediaType,
    /// 422
    Invalid,
    /// 429
    TooManyRequests,
    /// 500
    InternalError,
    /// 500 about stored objects that cannot be decoded
    StoreReadError,
    /// 503
    ServiceUnavailable,
    /// 504
    Timeout,
    /// 500, a watch ended badly
    ServerTimeout,
    /// A reason that is not one of these, such as a webhook's.
    Other(String),
}

impl Reason {
    /// The word on the wire; empty for none.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            Self::None => "",
            Self::BadRequest => "BadRequest",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Expired => "Expired",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::Invalid => "Invalid",
            Self::TooManyRequests => "TooManyRequests",
            Self::InternalError => "InternalError",
            Self::StoreReadError => "StorageReadError",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Timeout => "Timeout",
            Self::ServerTimeout => "ServerTimeout",
        }
    }
}

/// One cause in the details of a [`Status`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCause {
    /// The kind of error, `FieldValueInvalid` and the like.
    pub reason: String,
    /// The message without the field.
    pub message: String,
    /// The field it is about.
    pub field: String,
}

/// Which object a [`Status`] is about, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusDetails {
    /// The object's name.
    pub name: String,
    /// Its API group.
    pub group: String,
    /// Its kind, or the resource for some reasons.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// The single errors.
    pub causes: Vec<StatusCause>,
    /// `retryAfterSeconds`; 0 is left out.
    pub retry_after_seconds: i32,
}

/// An answer without an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// `Success` for codes below 400, else `Failure`.
    pub success: bool,
    /// The word for it.
    pub reason: Reason,
    /// The sentence for a person.
    pub message: String,
    /// Which object, and why.
    pub details: Option<Box<StatusDetails>>,
}

impl Status {
    /// A failure without details.
    pub fn failure(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Self { code, success: false, reason, message: message.into(), details: None }
    }

    /// The same with details.
    #[must_use]
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// 422 for an object with errors. `kind` may be empty, as it is for some patches.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let (bodies, complete) = bodies(errors);
        let aggregated = aggregate_bodies(errors, &bodies, complete);
        let message = format!("{qualified} {} is invalid: {aggregated}", pleach_go::strconv::quote(name));
        let cause = |(error, message): (&FieldError, String)| StatusCause {
            reason: error.error_type.reason().to_owned(),
            message,
            field: error.field.clone(),
        };
        let mut causes: Vec<_> = errors.iter().zip(bodies).map(cause).collect();
        if !complete {
            causes.push(StatusCause {
                reason: String::new(),
                message: MORE.to_owned(),
                field: String::new(),
            });
        }
        Self::failure(422, Reason::Invalid, message).with_details(StatusDetails {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            ..StatusDetails::default()
        })
    }

    /// The object as it goes over the wire.
    pub fn to_value(&self) -> Value {
        let mut out = Map::with_capacity(8);
        out.insert("apiVersion", "v1");
        out.insert("kind", "Status");
        out.insert("metadata", Value::object());
        out.insert("status", if self.success { "Success" } else { "Failure" });
        if !self.message.is_empty() {
            out.insert("message", self.message.as_str());
        }
        if self.reason != Reason::None {
            out.insert("reason", self.reason.as_str());
        }
        if let Some(details) = &self.details {
            out.insert("details", details.to_value());
        }
        if self.code != 0 {
            out.insert("code", i64::from(self.code));
        }
        out.into()
    }
}

impl StatusDetails {
    fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in
            [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)]
        {
            if !text.is_empty() {
                out.insert(key, text.as_str());
            }
        }
        if !self.causes.is_empty() {
            let causes: Vec<Value> = self.causes.iter().map(StatusCause::to_value).collect();
            out.insert("causes", causes);
        }
        if self.retry_after_seconds != 0 {
            out.insert("retryAfterSeconds", i64::from(self.retry_after_seconds));
        }
        out.into()
    }
}

impl StatusCause {
    fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !text.is_empty() {
                out.insert(key, text.as_str());
            }
        }
        out.into()
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn an_invalid_object_has_its_errors_as_causes() {
        let errors = [FieldError::required("spec.a", ""), FieldError::required("spec.a", "")];
        let status = Status::invalid("example.com", "Foo", "x", &errors);
        let cause = json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"});
        assert_eq!(
            status.to_value(),
            json!({
                "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "Invalid",
                "message": "Foo.example.com \"x\" is invalid: spec.a: Required value", "code": 422,
                "details": {"name": "x", "group": "example.com", "kind": "Foo", "causes": [(cause.clone()), cause]},
            }),
            "the message names an error once, the causes name each"
        );
    }

    #[test]
    fn empty_fields_are_left_out() {
        let status = Status::failure(500, Reason::None, "boom");
        assert_eq!(
            status.to_value(),
            json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": "boom",
                   "code": 500})
        );
        let details =
            StatusDetails { kind: "foos".into(), retry_after_seconds: 1, ..StatusDetails::default() };
        let status = Status::failure(429, Reason::TooManyRequests, "").with_details(details);
        assert_eq!(status.to_value().get("details"), Some(&json!({"kind": "foos", "retryAfterSeconds": 1})));
        assert_eq!(Status::invalid("", "", "", &[]).message, " \"\" is invalid: ");
    }
}
