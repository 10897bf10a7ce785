//! Why the engine turned a request down, and the one place that makes a `Status` of it.

use std::fmt;

use pleach_auth::{Attributes, ResourceAttributes};
use pleach_go::strconv::quote;
use pleach_json::Str;
use pleach_meta::{FieldError, Reason, Status, StatusCause, StatusDetails};
use pleach_store::{Key, StoreError};

/// How messages about failures of the server begin.
const INTERNAL: &str = "Internal error occurred: ";

pub use pleach_pipeline::Subject;

/// Why a request was turned down: a variant per answer that a client can act on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// 400, with upstream's text.
    BadRequest(String),
    /// The CRD has changed since the request looked up its kind: it is to be done again under the new one. 500 if
    /// that keeps happening.
    StaleKind,
    /// Another server has allocated addresses or ports since this request looked at them: it is to be done again. 500 if
    /// that keeps happening.
    StaleAllocation,
    /// 401: the credentials are not valid.
    Unauthorized,
    /// 403 about an object.
    Forbidden {
        /// The object.
        subject: Subject,
        /// The text after `is forbidden: `.
        why: String,
        /// A cause that tools look for.
        cause: Option<StatusCause>,
    },
    /// 403 about a non-resource path, with the text after `forbidden: `.
    ForbiddenPath(String),
    /// 404
    NotFound(Subject),
    /// 404 about a path below a built-in kind.
    UnknownPath,
    /// 405: the verb, and the resource.
    MethodNotAllowed {
        /// The resource.
        subject: Subject,
        /// The verb that is not supported.
        verb: Str,
    },
    /// 405 about a path of a built-in kind.
    UnknownMethod,
    /// 406, with the text.
    NotAcceptable(String),
    /// 406 about a path of a built-in kind: none of the representations that it has.
    NotProduced(&'static str),
    /// 409 on create.
    AlreadyExists {
        /// The object.
        subject: Subject,
        /// The one in the way is being deleted.
        deleting: bool,
        /// No free name was found for `generateName`.
        generated: bool,
    },
    /// 409 on update.
    Conflict {
        /// The object.
        subject: Subject,
        /// The text after the colon.
        why: String,
    },
    /// 409 from server-side apply: other managers own fields.
    ApplyConflict {
        /// The whole message.
        message: String,
        /// One cause per field.
        causes: Vec<StatusCause>,
    },
    /// 410, with the text and a token to go on with.
    Expired {
        /// The whole message.
        message: String,
        /// A continue token for an inconsistent remainder.
        resume: Option<String>,
    },
    /// 413, with the text after the colon.
    TooLarge(String),
    /// 413: the request takes more than this many steps of work.
    TooMuchWork(u64),
    /// 415, with the text.
    UnsupportedMediaType(String),
    /// 415 about a path of a built-in kind: a patch of a type that it does not take.
    NotConsumed,
    /// 422 with field errors. The kind may be empty, as it is for patches.
    Invalid {
        /// Group, kind (not resource) and name.
        subject: Subject,
        /// All that is wrong.
        errors: Vec<FieldError>,
    },
    /// 422 without field errors: a JSON patch that does not apply.
    Unprocessable,
    /// 504: a resource version that has not happened yet.
    ResourceVersionTooLarge {
        /// The requested version.
        requested: u64,
        /// The newest there is.
        current: u64,
    },
    /// 500 with a reason: the source is logged, the text is shown.
    Internal(String),
    /// 500 without a reason: upstream passed a plain error through.
    Plain(String),
    /// 500: a stored object that cannot be decoded.
    Unreadable {
        /// The key it is stored under; empty where that is not known yet.
        key: String,
        /// The revision that wrote it.
        revision: u64,
        /// The field errors.
        why: String,
    },
    /// 500: an object was deleted that cannot be decoded, with the whole message.
    DeletedUnreadable(String),
    /// 500: a list with stored objects that cannot be decoded.
    UnreadableList {
        /// The resource.
        subject: Subject,
        /// The prefix of the keys that were read.
        prefix: String,
        /// The objects with an error each.
        causes: Vec<StatusCause>,
    },
    /// 429: too many calls to webhooks are waiting for answers.
    TooManyRequests,
    /// 429: a PodDisruptionBudget does not allow an eviction.
    DisruptionBudget {
        /// The cause.
        why: String,
        /// When to try again.
        retry_after_seconds: i32,
    },
    /// 504: the request took too long, with the text after the colon.
    Timeout(&'static str),
    /// 503: writes are refused for now.
    Unavailable(String),
    /// A webhook said no, in its own words and with its own code.
    Denied(Box<Status>),
}

/// The words of etcd for an object that is too large.
const STORED_TOO_LARGE: &str = "etcdserver: request is too large";

impl Rejection {
    /// The authorizer does not allow a request.
    pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Self {
        let (user, verb) = (quote(&attributes.user.name), &attributes.verb);
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let Some(resource) = &attributes.resource else {
            let why = format!("User {user} cannot {verb} path {}{reason}", quote(attributes.path));
            return Self::ForbiddenPath(without_markup(why));
        };
        let ResourceAttributes { group, resource: plural, subresource, namespace, name, .. } = resource;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let scope = if namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace \"{namespace}\"")
        };
        let why = format!(
            "User {user} cannot {verb} resource \"{plural}{slash}{subresource}\" in API group \"{group}\" {scope}{reason}"
        );
        let subject =
            Subject { group: (*group).into(), resource: (*plural).into(), name: name.as_ref().into() };
        Self::Forbidden { subject, why: without_markup(why), cause: None }
    }

    /// An admission webhook denied a write: with its Status, if it gave one.
    pub(crate) fn denied(webhook: &str, status: Option<Status>) -> Self {
        let denied = format!("admission webhook \"{webhook}\" denied the request");
        let unexplained = || format!("{denied} without explanation");
        let status = match status {
            None => Status::failure(400, Reason::None, unexplained()),
            Some(mut status) => {
                status.message = match (status.message.as_str(), status.reason.as_str()) {
                    ("", "") => unexplained(),
                    ("", reason) => format!("{denied}: {reason}"),
                    (message, _) => format!("{denied}: {message}"),
                };
                status.code = if status.code < 400 { 400 } else { status.code };
                status
            }
        };
        Self::Denied(Box::new(status))
    }

    /// A stored object would be too large.
    pub(crate) fn stored_too_large() -> Self {
        Self::Plain(STORED_TOO_LARGE.into())
    }

    /// Whether a stored object would be too large.
    pub(crate) fn is_stored_too_large(&self) -> bool {
        matches!(self, Self::Plain(text) if text == STORED_TOO_LARGE)
    }

    /// The server failed.
    pub fn internal(why: impl Into<String>) -> Self {
        Self::Internal(why.into())
    }

    /// The same rejection, about the object under this key if it is about one that cannot be decoded.
    #[must_use]
    pub(crate) fn about(mut self, of: &Key) -> Self {
        if let Self::Unreadable { key, .. } = &mut self
            && key.is_empty()
        {
            of.as_str().clone_into(key);
        }
        self
    }

    /// The error about a stored object that cannot be decoded.
    pub(crate) fn unreadable_text(&self) -> Option<String> {
        let Self::Unreadable { key, revision, why } = self else { return None };
        Some(format!(
            "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision={revision}: {why}"
        ))
    }

    /// A store error is about a key; only the engine knows which object that was.
    pub fn from_store(error: StoreError) -> Self {
        match error {
            StoreError::Compacted { .. } => Self::Expired {
                message: "The resourceVersion for the provided list is too old.".into(),
                resume: None,
            },
            StoreError::WatchCompacted => Self::Expired {
                message: "The resourceVersion for the provided watch is too old.".into(),
                resume: None,
            },
            StoreError::Future { requested, current } => {
                Self::ResourceVersionTooLarge { requested: requested.0, current: current.0 }
            }
            StoreError::TooLarge { .. } => Self::stored_too_large(),
            StoreError::QuotaExceeded { .. } => {
                Self::Plain("etcdserver: mvcc: database space exceeded".into())
            }
            StoreError::NoSpace { reason }
            | StoreError::Unavailable { reason }
            | StoreError::OutcomeUnknown { reason } => Self::Plain(reason.to_string()),
            StoreError::ReadOnly { .. } | StoreError::Io { .. } | StoreError::Closed => {
                Self::Unavailable(error.to_string())
            }
            other => Self::Internal(other.to_string()),
        }
    }

    /// The only place in the workspace that chooses a code and a reason for an object's request.
    pub fn into_status(self) -> Status {
        let message = self.to_string();
        match self {
            Self::BadRequest(_) => Status::failure(400, Reason::BadRequest, message),
            Self::Unauthorized => Status::failure(401, Reason::Unauthorized, message),
            Self::Forbidden { subject, cause, .. } => {
                let mut details = subject.details();
                details.causes.extend(cause);
                Status::failure(403, Reason::Forbidden, message).with_details(details)
            }
            Self::ForbiddenPath(_) => {
                Status::failure(403, Reason::Forbidden, message).with_details(StatusDetails::default())
            }
            Self::NotFound(subject) => {
                Status::failure(404, Reason::NotFound, message).with_details(subject.details())
            }
            Self::UnknownPath => {
                Status::failure(404, Reason::NotFound, message).with_details(StatusDetails::default())
            }
            Self::UnknownMethod => {
                Status::failure(405, Reason::MethodNotAllowed, message).with_details(StatusDetails::default())
            }
            Self::MethodNotAllowed { subject, .. } => {
                let details = StatusDetails { name: String::new(), ..subject.details() };
                Status::failure(405, Reason::MethodNotAllowed, message).with_details(details)
            }
            Self::NotAcceptable(_) => Status::failure(406, Reason::NotAcceptable, message),
            Self::NotProduced(_) => {
                Status::failure(406, Reason::NotAcceptable, message).with_details(StatusDetails::default())
            }
            Self::AlreadyExists { subject, generated, .. } => {
                let mut details = subject.details();
                details.retry_after_seconds = i32::from(generated);
                Status::failure(409, Reason::AlreadyExists, message).with_details(details)
            }
            Self::Conflict { subject, .. } => {
                Status::failure(409, Reason::Conflict, message).with_details(subject.details())
            }
            Self::ApplyConflict { causes, .. } => Status::failure(409, Reason::Conflict, message)
                .with_details(StatusDetails { causes, ..StatusDetails::default() }),
            Self::Expired { .. } => Status::failure(410, Reason::Expired, message),
            Self::TooLarge(_) => Status::failure(413, Reason::RequestEntityTooLarge, message),
            Self::TooMuchWork(_) => Status::failure(413, Reason::RequestEntityTooLarge, message)
                .with_details(StatusDetails::default()),
            Self::UnsupportedMediaType(_) => Status::failure(415, Reason::UnsupportedMediaType, message),
            Self::NotConsumed => Status::failure(415, Reason::UnsupportedMediaType, message)
                .with_details(StatusDetails::default()),
            Self::Invalid { subject, errors } => {
                Status::invalid(&subject.group, &subject.resource, &subject.name, &errors)
            }
            Self::Unprocessable => {
                Status::failure(422, Reason::Invalid, message).with_details(StatusDetails::default())
            }
            Self::ResourceVersionTooLarge { .. } => Status::failure(504, Reason::Timeout, message)
                .with_details(StatusDetails {
                    causes: vec![StatusCause {
                        reason: "ResourceVersionTooLarge".into(),
                        message: "Too large resource version".into(),
                        field: String::new(),
                    }],
                    retry_after_seconds: 1,
                    ..StatusDetails::default()
                }),
            Self::Unreadable { .. } => {
                let why = self.unreadable_text().unwrap_or_default();
                internal(message, why)
            }
            Self::UnreadableList { subject, prefix, causes } => {
                Status::failure(500, Reason::StoreReadError, message).with_details(StatusDetails {
                    name: prefix,
                    causes,
                    ..subject.details()
                })
            }
            Self::DeletedUnreadable(_) => Status::failure(500, Reason::StoreReadError, message),
            Self::Timeout(_) => {
                Status::failure(504, Reason::Timeout, message).with_details(StatusDetails::default())
            }
            Self::Internal(why) => internal(message, why),
            Self::StaleKind | Self::StaleAllocation | Self::Plain(_) => {
                Status::failure(500, Reason::None, message)
            }
            Self::DisruptionBudget { why, retry_after_seconds } => {
                let cause =
                    StatusCause { reason: "DisruptionBudget".into(), message: why, field: String::new() };
                Status::failure(429, Reason::TooManyRequests, message).with_details(StatusDetails {
                    causes: vec![cause],
                    retry_after_seconds,
                    ..StatusDetails::default()
                })
            }
            Self::TooManyRequests => Status::failure(429, Reason::TooManyRequests, message)
                .with_details(StatusDetails { retry_after_seconds: 1, ..StatusDetails::default() }),
            Self::Unavailable(_) => Status::failure(503, Reason::ServiceUnavailable, message),
            Self::Denied(status) => *status,
        }
    }
}

/// Texts from clients and webhooks must not be interpreted as markup by a browser.
fn without_markup(text: String) -> String {
    if text.contains(['&', '<', '>']) {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    } else {
        text
    }
}

fn internal(message: String, why: String) -> Status {
    Status::failure(500, Reason::InternalError, message).with_details(StatusDetails {
        causes: vec![StatusCause { reason: String::new(), message: why, field: String::new() }],
        ..StatusDetails::default()
    })
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleKind => f.write_str("the CustomResourceDefinition keeps changing, please try again"),
            Self::StaleAllocation => {
                f.write_str("other servers keep allocating addresses and ports, please try again")
            }
            Self::BadRequest(text)
            | Self::NotAcceptable(text)
            | Self::UnsupportedMediaType(text)
            | Self::Plain(text)
            | Self::Unavailable(text)
            | Self::DeletedUnreadable(text)
            | Self::ApplyConflict { message: text, .. }
            | Self::Expired { message: text, .. } => f.write_str(text),
            Self::Forbidden { subject, why, .. } if subject.name.is_empty() => {
                write!(f, "{} is forbidden: {why}", subject.qualified())
            }
            Self::Forbidden { subject, why, .. } => write!(f, "{subject} is forbidden: {why}"),
            Self::ForbiddenPath(why) => write!(f, "forbidden: {why}"),
            Self::NotFound(subject) => write!(f, "{subject} not found"),
            Self::NotProduced(types) => {
                write!(f, "406: Not Acceptable\n\nAvailable representations: {types}")
            }
            Self::NotConsumed => f.write_str("415: Unsupported Media Type"),
            Self::UnknownPath => f.write_str("the server could not find the requested resource"),
            Self::UnknownMethod => {
                f.write_str("the server does not allow this method on the requested resource")
            }
            Self::MethodNotAllowed { subject, verb } => {
                write!(f, "{verb} is not supported on resources of kind {}", quote(&subject.qualified()))
            }
            Self::AlreadyExists { subject, deleting, generated } => {
                if *deleting {
                    f.write_str("object is being deleted: ")?;
                }
                write!(f, "{subject} already exists")?;
                if *generated {
                    f.write_str(", the server was not able to generate a unique name for the object")?;
                }
                Ok(())
            }
            Self::Conflict { subject, why } => write!(f, "Operation cannot be fulfilled on {subject}: {why}"),
            Self::TooLarge(why) => write!(f, "Request entity too large: {why}"),
            Self::Invalid { subject, errors } => {
                write!(f, "{subject} is invalid: {}", pleach_meta::field_error::aggregate(errors))
            }
            Self::Unprocessable => {
                f.write_str("the server rejected our request due to an error in our request")
            }
            Self::ResourceVersionTooLarge { requested, current } => {
                write!(f, "Timeout: Too large resource version: {requested}, current: {current}")
            }
            Self::Unauthorized => f.write_str("Unauthorized"),
            Self::TooMuchWork(steps) => write!(
                f,
                "Request entity too large: processing it takes more than {steps} steps, which is the limit for one request"
            ),
            Self::Timeout(why) => write!(f, "Timeout: {why}"),
            Self::Internal(why) => write!(f, "{INTERNAL}{why}"),
            Self::Unreadable { .. } => write!(f, "{INTERNAL}{}", self.unreadable_text().unwrap_or_default()),
            Self::UnreadableList { subject, .. } => {
                write!(f, "failed to read one or more {} from the storage", subject.qualified())
            }
            Self::DisruptionBudget { .. } => {
                f.write_str("Cannot evict pod as it would violate the pod's disruption budget.")
            }
            Self::TooManyRequests => f.write_str("Too many requests, please try again later."),
            Self::Denied(status) => f.write_str(&status.message),
        }
    }
}

impl From<pleach_pipeline::Error> for Rejection {
    fn from(error: pleach_pipeline::Error) -> Self {
        match error {
            pleach_pipeline::Error::BadRequest(text) => Self::BadRequest(text),
            pleach_pipeline::Error::Internal(text) => Self::Internal(text),
            pleach_pipeline::Error::Plain(text) => Self::Plain(text),
        }
    }
}

impl std::error::Error for Rejection {}

#[cfg(test)]
mod tests {
    use pleach_auth::{UserInfo, Verb};

    use super::*;

    #[test]
    fn refusals_of_the_authorizer_are_made_from_the_attributes() {
        let foos = ResourceAttributes { group: "g", version: "v1", resource: "foos", ..Default::default() };
        let named = ResourceAttributes { name: "x".into(), namespace: "ns", ..foos.clone() };
        let status = ResourceAttributes { subresource: "status", ..named.clone() };
        let core = ResourceAttributes { group: "", resource: "configmaps", ..named.clone() };
        for (user, verb, path, resource, reason, want) in [
            ("u", "get", "/apis", None, "", "forbidden: User \"u\" cannot get path \"/apis\""),
            ("a\"b", "head", "/x", None, "no", "forbidden: User \"a\\\"b\" cannot head path \"/x\": no"),
            (
                "u",
                "watch",
                "",
                Some(&foos),
                "",
                "foos.g is forbidden: User \"u\" cannot watch resource \"foos\" in API group \"g\" at the cluster scope",
            ),
            (
                "<u>",
                "get",
                "",
                Some(&named),
                "",
                "foos.g \"x\" is forbidden: User \"&lt;u&gt;\" cannot get resource \"foos\" in API group \"g\" in the namespace \"ns\"",
            ),
            (
                "u",
                "patch",
                "",
                Some(&status),
                "RBAC: none",
                "foos.g \"x\" is forbidden: User \"u\" cannot patch resource \"foos/status\" in API group \"g\" in the namespace \"ns\": RBAC: none",
            ),
            (
                "u",
                "",
                "",
                Some(&core),
                "",
                "configmaps \"x\" is forbidden: User \"u\" cannot  resource \"configmaps\" in API group \"\" in the namespace \"ns\"",
            ),
        ] {
            let user = UserInfo::authenticated(user, []);
            let attributes = Attributes { user, verb: Verb::of(verb), path, resource: resource.cloned() };
            let status = Rejection::forbidden(&attributes, reason).into_status();
            assert_eq!(status.message, want);
            let details = status.details.unwrap();
            let kind = resource.map_or("", |resource| resource.resource);
            assert_eq!((status.code, details.kind.as_str()), (403, kind), "{want}");
        }
    }
}
