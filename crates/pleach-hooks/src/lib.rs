//! The HTTPS client for webhooks: posts a review and returns the body of the response.
//!
//! The engine gives the address and the body ([`pleach_engine::webhooks::caller`]). This crate never looks into a
//! review.
//!
//! [`HttpReader`] reads documents from URLs that the server's own configuration names.
//!
//! Errors about webhooks that do not respond are made here, and people search for their texts; so they are those of
//! upstream's client, that is, of Go's network, TLS and HTTP libraries.

mod answer;
mod caller;
mod clients;
mod connect;
mod content;
mod credentials;
mod documents;
mod errors;
pub mod failures;
mod received;
mod services;
mod stream;
mod target;
mod trust;

pub use caller::HttpCaller;
pub use credentials::WebhookCredentials;
pub use documents::{Document, HttpReader};
pub use services::{ServiceAddress, ServiceMap};
