//! Users, request attributes, and the seams of authentication and authorization.
//!
//! Authentication results in a [`UserInfo`]; verb, resource and path of a request are parsed once, as
//! [`Attributes`]; an [`Authorizer`] decides about them. Metrics, logs, admission and errors use the same
//! types. Nothing here knows HTTP, certificates or a store.

pub mod answer;
pub mod attributes;
pub mod authenticator;
pub mod authorizer;
pub mod rbac;
pub mod user;
pub mod verb;

pub use answer::Answer;
pub use attributes::{Attributes, ResourceAttributes};
pub use authenticator::{Authenticator, AuthenticatorChain, Credentials, Unauthorized};
pub use authorizer::{
    AlwaysAllow, Authorizer, AuthorizerUnion, Decision, NonResourceRule, ResourceRule, Rules, Verdict,
};
pub use user::UserInfo;
pub use verb::Verb;
