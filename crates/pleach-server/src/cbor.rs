//! The media types of CBOR (feature gate `CBORServingAndStorage`).

pub(crate) use pleach_cbor::{event, read, write};

/// The media type of one item.
pub(crate) const MEDIA_TYPE: &str = "application/cbor";
/// The media type of a watch.
pub(crate) const SEQUENCE: &str = "application/cbor-seq";
/// The type of a server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+cbor";
