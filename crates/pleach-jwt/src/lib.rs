//! JSON web tokens (JWT): keys, signatures, and the authenticators of `--authentication-config` and `--oidc-*`.
//!
//! Signatures are ring's, here and nowhere else. A token is only looked into to find out whose it is; what it says
//! counts once its signature, issuer, audience and times are good ([`JwtAuthenticator`]). The keys of an issuer come
//! from its discovery document or from a file ([`KeySource`]); how a URL is read is the caller's ([`Fetch`]).
//!
//! **Invariant:** whatever is wrong with a token, a rule or an issuer, the answer is an error or "not mine", never a
//! user.

mod algorithm;
mod authenticator;
mod claims;
mod config;
mod expression;
pub mod key;
mod key_set;
mod key_source;
mod rules;
mod token;

pub use algorithm::Algorithm;
pub use authenticator::{JwtAuthenticator, JwtAuthenticators, TokenError};
pub use config::{
    AnonymousConfig, AuthenticationConfig, ExtraMapping, IssuerConfig, JwtConfig, Malformed, Mapping, Rule,
};
pub use key_set::KeySet;
pub use key_source::{Fetch, FetchFuture, Fetched, KeySource};
pub use token::Token;
