//! Published documents: OpenAPI v2 and v3, as JSON and as protobuf.
//!
//! A document is a frame around members: paths and schemas. The contribution of one served version of
//! one kind is a [`Fragment`], which depends only on that version: when a CRD changes, only its
//! fragments are rebuilt, and [`assemble`] puts the document together again. Members have sort keys.
//!
//! Members are plain [`Value`]s, except for the schemas of CRDs, which are written
//! directly. JSON key order and protobuf field numbers are in the tables of `shape`. No IO, no state.

mod document;
mod json;
mod names;
mod operations;
mod parameters;
mod proto;
mod schema;
mod schema_writer;
mod shape;
mod shared;

pub use document::{Fragment, Frame, Member, Section, assemble, fragment, shared};
use pleach_json::Value;
use pleach_schema::JSONSchemaProps;
pub use shared::Needed;

/// The OpenAPI version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edition {
    /// Swagger 2.0: one document for everything.
    V2,
    /// OpenAPI 3.0: one document per group and version.
    V3,
}

impl Edition {
    /// The prefix of references to schemas.
    pub fn reference_prefix(self) -> &'static str {
        match self {
            Self::V2 => "#/definitions/",
            Self::V3 => "#/components/schemas/",
        }
    }
}

/// The encoding of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// JSON, with upstream's key order.
    Json,
    /// The gnostic protobuf of the edition.
    Protobuf,
}

/// One served version of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'a> {
    /// The API group; empty for core.
    pub group: &'a str,
    /// `v1`
    pub version: &'a str,
    /// The resource in URLs.
    pub plural: &'a str,
    /// The `kind` of an object.
    pub kind: &'a str,
    /// The `kind` of a list.
    pub list_kind: &'a str,
    /// Whether it is namespaced.
    pub namespaced: bool,
    /// Whether it has `/status`.
    pub status: bool,
    /// Whether it has `/scale`.
    pub scale: bool,
    /// Field selectors beyond name and namespace, without their leading dot.
    pub selectable_fields: &'a [&'a str],
    /// The schema of the CRD version.
    pub schema: Option<&'a JSONSchemaProps>,
    /// The schema of a built-in kind, and those of the types that it refers to, by name. They are as in the files of
    /// shared types: a `$ref` is a full name, may have siblings, and defaults are given.
    pub types: Option<&'a (Value, Vec<(String, Value)>)>,
    /// `preserveUnknownFields` of v1beta1 CRDs.
    pub preserve_unknown_fields: bool,
    /// A built-in kind: other schema names, and strategic merge patch.
    pub built_in: bool,
    /// Has `deletecollection`.
    pub deletes_collections: bool,
}
