//! The CustomResourceDefinition object.
//!
//! One form in memory ([`types`]), read from and written to `apiextensions.k8s.io/v1` and `v1beta1`
//! ([`mod@decode`], [`encode`], [`convert`]); what a write does to it ([`strategy`]); whether it may be
//! written ([`validate`]); which names it gets and what its conditions say ([`naming`],
//! [`conditions`]); what its `/scale` reads and writes ([`Scale`]). What a schema means is `pleach-schema`'s business. No IO, no clock: times are
//! handed in, and nothing here knows more than one CRD except for names that are taken.

pub mod approval;
pub mod conditions;
pub mod convert;
pub mod decode;
pub mod encode;
mod go_json;
pub mod naming;
mod scaled;
pub mod strategy;
pub mod types;
pub mod validate;
pub mod warnings;

pub use conditions::{ConditionStatus, ConditionType};
pub use decode::{DecodeError, Decoded, decode};
pub use naming::{GroupNames, NamesOutcome};
pub use types::*;
pub use validate::{
    Ratchets, validate_client_config, validate_create, validate_create_with, validate_status_update,
    validate_update, validate_update_with,
};
pub use warnings::{deprecation_warning, warnings};
