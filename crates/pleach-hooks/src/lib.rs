//! Calls webhooks: a review is posted over HTTPS, and the body of the answer comes back.
//!
//! An edge like the server, in the other direction: the engine says where a webhook is and what to
//! send ([`pleach_engine::webhooks::caller`]), this crate does it. It never looks into a review.
//!
//! What a user reads about a webhook that does not answer is mostly made here, and people search for
//! those sentences; so every error is in the words of upstream's client, which are those of Go's
//! network, TLS and HTTP libraries.

mod answer;
mod caller;
mod clients;
mod connect;
mod content;
mod heard;
mod stream;
mod target;
mod trust;
mod words;

pub use caller::HttpCaller;
