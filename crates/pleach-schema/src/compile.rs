//! The compiled form of a schema: made once per CRD version, walked for every object.
//!
//! A [`Schema`] is a shared root of immutable [`Node`]s and costs nothing to clone. Equal nodes are
//! stored once across all schemas. Compiling cannot fail: invalid schemas have been refused
//! before, and what old CRDs have all the same (a pattern that does not compile) shows when objects
//! are validated, as it does upstream.

mod build;
pub(crate) mod digest;
mod intern;
mod node;
#[cfg(test)]
mod tests;
pub(crate) mod types;

use pleach_json::Value;

use crate::JSONSchemaProps;
use crate::formats::Compat;
pub use intern::distinct_nodes;
pub(crate) use node::Junctors;
pub use node::{Additional, Below, ListType, MapType, Node, NodeRef, Property};
pub use types::{Declared, Types};

/// How a schema is compiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemaOptions {
    /// Which formats are recognised; `None` recognises every name.
    pub formats: Option<Compat>,
    /// Whether `x-kubernetes-int-or-string` stands for the types integer and string.
    pub widen_int_or_string: bool,
    /// `spec.preserveUnknownFields` of the CRD: nothing is pruned, and nulls stay.
    pub preserve_unknown_fields: bool,
    /// Whether errors of what an update does not change are left out.
    pub ratcheting: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            formats: Some(Compat::of_server()),
            widen_int_or_string: true,
            preserve_unknown_fields: false,
            ratcheting: true,
        }
    }
}

impl SchemaOptions {
    /// How the API server reads a schema when it validates the defaults in it.
    pub fn for_defaults() -> Self {
        Self { formats: None, widen_int_or_string: false, preserve_unknown_fields: false, ratcheting: true }
    }
}

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    root: NodeRef,
    preserve_unknown_fields: bool,
    ratcheting: bool,
}

impl Schema {
    /// Compiles the schema of a whole object.
    pub fn compile(schema: &JSONSchemaProps, options: SchemaOptions) -> Self {
        Self {
            root: build::build(schema, options, true),
            preserve_unknown_fields: options.preserve_unknown_fields,
            ratcheting: options.ratcheting,
        }
    }

    /// Compiles the schema of a part of an object, a default for instance.
    pub fn compile_part(schema: &JSONSchemaProps, options: SchemaOptions) -> Self {
        Self {
            root: build::build(schema, options, false),
            preserve_unknown_fields: options.preserve_unknown_fields,
            ratcheting: options.ratcheting,
        }
    }

    /// Compiles a schema from its JSON; what does not decode is left out.
    pub fn from_value(schema: &Value, options: SchemaOptions) -> Self {
        Self::compile(&JSONSchemaProps::from_value(schema).unwrap_or_default(), options)
    }

    /// Whether errors of what an update does not change are left out.
    pub(crate) fn is_ratcheting(&self) -> bool {
        self.ratcheting
    }

    /// The schema of the whole object.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The schema of `status`.
    pub fn status(&self) -> Option<&NodeRef> {
        self.root.property("status")
    }

    /// `spec.preserveUnknownFields` of the CRD.
    pub fn preserves_unknown_fields(&self) -> bool {
        self.preserve_unknown_fields
    }

    /// A hash of all that settling depends on: pruning, dropping nulls, coercion, defaults.
    ///
    /// An object that was settled under a schema comes out of settling under any schema of the
    /// same fingerprint as it went in. It is the same in every run and may be stored.
    pub fn fingerprint(&self) -> u64 {
        let mut digest = digest::Digest::new(3);
        digest.number(u64::from(self.preserve_unknown_fields));
        digest.number(self.root.settle_fingerprint());
        digest.finish()
    }
}
