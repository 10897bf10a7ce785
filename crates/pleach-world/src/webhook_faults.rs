//! Faults of webhooks: calls that fail, wait or time out as the rules say.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pleach_engine::webhooks::caller::{Address, CallFuture, Caller, Place};
use pleach_hooks::{HttpCaller, failures};

use crate::fault::Action;
use crate::script::{Script, status};
use crate::under_way::UnderWay;

/// Calls webhooks, unless a rule says otherwise.
pub(crate) struct FaultyCaller {
    inner: HttpCaller,
    script: Arc<Script>,
    under_way: Arc<UnderWay>,
}

impl FaultyCaller {
    pub(crate) fn new(script: Arc<Script>, under_way: Arc<UnderWay>) -> Self {
        Self { inner: HttpCaller::new(), script, under_way }
    }
}

/// The URL that rules match.
fn url(place: &Place) -> String {
    match place {
        Place::Url(url) => url.to_string(),
        Place::Service { namespace, name, path, port } => {
            format!("https://{name}.{namespace}.svc:{port}/{}", path.trim_start_matches('/'))
        }
    }
}

impl Caller for FaultyCaller {
    fn call<'a>(&'a self, address: &'a Address, body: Bytes, timeout: Duration) -> CallFuture<'a> {
        Box::pin(async move {
            let _entered = self.under_way.enter();
            let Some(fault) = self.script.webhook_fault(&url(&address.place)) else {
                return self.inner.call(address, body, timeout).await;
            };
            match fault {
                Action::Delay(by) if by < timeout => {
                    tokio::time::sleep(by).await;
                    return self.inner.call(address, body, timeout.saturating_sub(by)).await;
                }
                Action::Error { after_commit: true, .. }
                | Action::Reset { after_commit: true }
                | Action::NoAnswer { after_commit: true } => {
                    // The answer does not arrive; whether the webhook could be reached does not matter either.
                    let _ = self.inner.call(address, body, timeout).await;
                }
                _ => {}
            }
            Err(match fault {
                Action::Error { code, .. } => {
                    failures::refused(code, pleach_json::to_string(&status(code)).into())
                }
                Action::Reset { .. } => failures::cut(address, timeout),
                _ => {
                    tokio::time::sleep(timeout).await;
                    failures::timed_out(address, timeout)
                }
            })
        })
    }
}
