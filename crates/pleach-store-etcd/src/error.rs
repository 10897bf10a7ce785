//! Errors of calls to etcd: whether a call may have been applied.

use std::sync::Arc;

use pleach_store::StoreError;
use tonic::{Code, ConnectError, Status};

/// An error of a call.
#[derive(Debug, Clone)]
pub(crate) enum CallError {
    /// etcd refused the call, or it was never sent: nothing was changed, and another member would say
    /// the same.
    Refused(Status),
    /// The call was not sent, or the member could not process it; another member may.
    NotProcessed(Arc<str>),
    /// The call was sent and no answer came.
    NoAnswer(Arc<str>),
}

/// The meaning of an error response for the call.
pub(crate) fn classify(status: Status) -> CallError {
    const NOT_PROCESSED: [&str; 4] = [
        "etcdserver: no leader",
        "etcdserver: too many requests",
        "etcdserver: rpc not supported for learner",
        "etcdserver: not capable",
    ];
    let message = status.message();
    if NOT_PROCESSED.contains(&message) {
        return CallError::NotProcessed(message.into());
    }
    if never_connected(&status) {
        return CallError::NotProcessed(describe(&status).into());
    }
    let refused = match status.code() {
        Code::InvalidArgument
        | Code::OutOfRange
        | Code::NotFound
        | Code::FailedPrecondition
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::Unimplemented
        | Code::DataLoss
        // Without space, or larger than a message may be.
        | Code::ResourceExhausted => true,
        // Timeouts and changes of leader after the proposal, and broken connections.
        _ => false,
    };
    if refused {
        CallError::Refused(status)
    } else if message.starts_with("etcdserver: ") {
        CallError::NoAnswer(message.into())
    } else {
        // As Go's gRPC writes it.
        let code =
            if status.code() == Code::Cancelled { "Canceled".into() } else { format!("{:?}", status.code()) };
        CallError::NoAnswer(format!("rpc error: code = {code} desc = {}", describe(&status)).into())
    }
}

/// Whether there was no connection to send a call on.
fn never_connected(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// The message of an error with its causes.
fn describe(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl CallError {
    /// Whether a member said so. Otherwise the connection is to be made anew, with the certificate and the address as
    /// they are then: the one that broke would go on with those it had.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::NotProcessed(reason) => reason.starts_with("etcdserver: "),
            Self::NoAnswer(_) => false,
        }
    }

    pub(crate) fn is_compacted(&self) -> bool {
        matches!(self, Self::Refused(status) if status.message().contains("has been compacted"))
    }

    pub(crate) fn is_future(&self) -> bool {
        matches!(self, Self::Refused(status) if status.message().contains("is a future revision"))
    }

    pub(crate) fn is_lease_gone(&self) -> bool {
        matches!(self, Self::Refused(status) if status.message().contains("requested lease not found"))
    }

    pub(crate) fn is_no_space(&self) -> bool {
        matches!(self, Self::Refused(status) if status.message().contains("database space exceeded"))
    }

    pub(crate) fn reason(&self) -> Arc<str> {
        match self {
            Self::Refused(status) => status.message().into(),
            Self::NotProcessed(reason) | Self::NoAnswer(reason) => Arc::clone(reason),
        }
    }

    /// The error of a read.
    pub(crate) fn of_read(&self) -> StoreError {
        StoreError::Unavailable { reason: self.reason() }
    }

    /// The error of a write.
    pub(crate) fn of_write(&self) -> StoreError {
        match self {
            Self::Refused(status) if status.message().contains("request is too large") => {
                StoreError::TooLarge { size: 0, limit: 0 }
            }
            Self::Refused(_) if self.is_no_space() => StoreError::NoSpace { reason: self.reason() },
            Self::Refused(_) | Self::NotProcessed(_) => StoreError::Unavailable { reason: self.reason() },
            Self::NoAnswer(_) => StoreError::OutcomeUnknown { reason: self.reason() },
        }
    }
}
