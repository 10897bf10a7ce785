//! The seam to the network: where a webhook is, and the trait that calls it.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use pleach_json::Str;

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// By URL or by service.
    pub place: Place,
    /// The CA bundle as PEM; empty for the roots of the system.
    pub ca_bundle: Bytes,
}

/// The URL or service of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// An `https` URL, without query and fragment.
    Url(Str),
    /// A service of a cluster.
    Service {
        /// Its namespace.
        namespace: Str,
        /// Its name.
        name: Str,
        /// The path in a URL; may be empty.
        path: Str,
        /// The port.
        port: u16,
    },
}

/// The admission plugin that calls a webhook: each may have credentials of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WebhookPlugin {
    /// `MutatingAdmissionWebhook`
    Mutating,
    /// `ValidatingAdmissionWebhook`
    Validating,
}

/// Why there is no answer from a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The call failed. The text is in the words of upstream's client.
    Failed(String),
    /// Too many calls are waiting for answers already, and this one was not made. The request is refused
    /// with 429 whatever the failure policy of the webhook: nothing is wrong with the webhook.
    Overloaded,
}

impl From<String> for CallError {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

/// The result of a call.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<Bytes, CallError>> + Send + 'a>>;

/// Posts a review to a webhook and waits for the answer.
///
/// The server wraps the one that does so with one that gives back the place of the waiting request and
/// bounds how many calls there are. Dropping the future ends the call.
pub trait Caller: Send + Sync + 'static {
    /// The body of the webhook's answer.
    fn call<'a>(&'a self, address: &'a Address, body: Bytes, timeout: Duration) -> CallFuture<'a>;

    /// The same for an admission plugin, with its credentials if it has any.
    fn call_for<'a>(
        &'a self,
        _: WebhookPlugin,
        address: &'a Address,
        body: Bytes,
        timeout: Duration,
    ) -> CallFuture<'a> {
        self.call(address, body, timeout)
    }
}

/// Refuses every call: for engines without a network.
pub(crate) struct NoWebhooks;

impl Caller for NoWebhooks {
    fn call<'a>(&'a self, _: &'a Address, _: Bytes, _: Duration) -> CallFuture<'a> {
        Box::pin(async { Err(CallError::Failed("webhooks are not called here".into())) })
    }
}
