//! Where webhooks are, and who calls them.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use pleach_json::Str;

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// By URL or by service.
    pub place: Place,
    /// The certificates to trust, as PEM; empty for those of the system.
    pub ca_bundle: Bytes,
}

/// What a webhook is reached by.
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

/// Posts a review to a webhook and waits for the answer.
pub trait Caller: Send + Sync + 'static {
    /// The body of the webhook's answer. The error is a text in the words of upstream's client.
    fn call<'a>(
        &'a self,
        address: &'a Address,
        body: Bytes,
        timeout: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>>;
}

/// Calls nobody: for those who use the engine without a network.
pub(crate) struct Nobody;

impl Caller for Nobody {
    fn call<'a>(
        &'a self,
        _: &'a Address,
        _: Bytes,
        _: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>> {
        Box::pin(async { Err("webhooks are not called here".into()) })
    }
}
