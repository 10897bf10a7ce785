//! The CustomResourceDefinition object.
//!
//! One internal form ([`types`]), decoded from and encoded in `apiextensions.k8s.io/v1` and `v1beta1`
//! ([`mod@decode`], [`encode`]); preparing and validating writes ([`strategy`], [`validate`]); accepted names and
//! conditions ([`naming`], [`conditions`]); the fields of `/scale` ([`Scale`]). What a schema means is
//! `pleach-schema`'s. No IO, no clock: times are arguments. Nothing here knows a second CRD, except for names that
//! are taken.

pub mod approval;
pub mod conditions;
mod convert;
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
