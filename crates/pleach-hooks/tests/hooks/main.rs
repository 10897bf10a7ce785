//! Webhooks that answer, misbehave or are not there, and what the caller says of them.
//!
//! The texts are what upstream's client said in the same situations.

mod answers;
mod credentials;
mod network;
mod server;
mod tls;

use std::time::Duration;

use bytes::Bytes;
use pleach_engine::webhooks::caller::{Address, CallError, Caller as _, Place};
use pleach_hooks::HttpCaller;

const REVIEW: &[u8] = b"{\"kind\":\"AdmissionReview\"}";

fn address(url: &str, ca_bundle: &str) -> Address {
    Address { place: Place::Url(url.into()), ca_bundle: Bytes::copy_from_slice(ca_bundle.as_bytes()) }
}

async fn call_within(
    caller: &HttpCaller,
    url: &str,
    bundle: &str,
    timeout: Duration,
) -> Result<String, String> {
    let body = caller.call(&address(url, bundle), Bytes::from_static(REVIEW), timeout).await;
    let body = body.map_err(|error| match error {
        CallError::Failed(text) => text,
        CallError::Overloaded => panic!("this caller has no bound on calls"),
    })?;
    Ok(String::from_utf8(body.to_vec()).expect("answers in these tests are text"))
}

async fn call(url: &str, bundle: &str) -> Result<String, String> {
    call_within(&HttpCaller::new(), url, bundle, Duration::from_secs(3)).await
}

/// The error without the part that says where: it has a port of its own in each test.
async fn reason(url: &str, bundle: &str) -> String {
    let error = call(url, bundle).await.expect_err("this must fail");
    let prefix = format!("Post \"{}/hook?timeout=3s\": ", url.trim_end_matches("/hook"));
    error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error} does not start with {prefix}")).to_owned()
}
