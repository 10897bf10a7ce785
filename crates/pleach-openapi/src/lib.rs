//! Published documents: OpenAPI v2 and v3, as JSON and as protobuf.
//!
//! A document is a frame around members: paths and schemas. What one served version of one kind
//! contributes is a [`Fragment`]; it depends on nothing but that version, so whoever keeps fragments
//! rebuilds one when one CRD changes and puts the document together again with [`assemble`].
//! Members carry their key, so that any set of fragments can be brought into the order clients know.
//!
//! Members are made as plain [`Value`](pleach_json::Value)s, but for the schemas of CRDs, which are
//! written as JSON as they are. How something is written, in which order in JSON and under which
//! numbers in protobuf, is said once, in the tables of `shape`.
//! This crate never does IO and keeps nothing.

mod direct;
mod document;
mod json;
mod names;
mod operations;
mod parameters;
mod proto;
mod schema;
mod shape;
mod shared;

pub use document::{Fragment, Frame, Member, Section, assemble, fragment, shared};
use pleach_schema::JSONSchemaProps;
pub use shared::Needed;

/// Which OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edition {
    /// Swagger 2.0: one document for everything.
    V2,
    /// OpenAPI 3.0: one document per group and version.
    V3,
}

impl Edition {
    /// What a reference to a schema starts with.
    pub fn reference_prefix(self) -> &'static str {
        match self {
            Self::V2 => "#/definitions/",
            Self::V3 => "#/components/schemas/",
        }
    }
}

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// JSON, keys in the order clients know.
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
    /// Lives in namespaces.
    pub namespaced: bool,
    /// Has `/status`.
    pub status: bool,
    /// Has `/scale`.
    pub scale: bool,
    /// Field selectors beyond name and namespace, without their leading dot.
    pub selectable_fields: &'a [&'a str],
    /// The schema as its CRD carries it.
    pub schema: Option<&'a JSONSchemaProps>,
    /// Unknown fields are kept whatever the schema says (only v1beta1 CRDs).
    pub preserve_unknown_fields: bool,
    /// Comes without a CRD: other names for its schemas, one more kind of patch.
    pub built_in: bool,
}
