//! What the OpenAPI schema of a CustomResourceDefinition means.
//!
//! The static side reads a schema ([`props`]) and says whether a CRD may carry it ([`structural`]).
//! No IO, no clock, no CRD object: whoever decodes a whole CustomResourceDefinition calls in here
//! with its schemas. Nothing here rejects: every check returns a list of field errors.

pub mod decode;
pub mod props;
pub mod structural;

pub use decode::Decoder;
pub use props::{JSONSchemaProps, SchemaBox, SchemaList, SchemaMap, SchemaOrArray, SchemaOrBool};
pub use structural::Structural;
