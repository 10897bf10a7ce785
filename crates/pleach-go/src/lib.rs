//! Go's dialect, as clients of kube-apiserver see it in messages and normalized values.
//!
//! Modules are named after Go's packages: [`fmt`] (`%v`, `%T`), [`strconv`] (`%q`), [`time`],
//! [`url`], [`base64`], [`json`] (decoding into structs). No Kubernetes type, no IO, no clock.

pub mod base64;
pub mod fmt;
pub mod json;
pub mod quantity;
pub mod strconv;
pub mod time;
pub mod url;
