//! Encoding tables: key order in JSON, field numbers in protobuf.
//!
//! The protobuf is gnostic's: maps are lists of named values, a choice is a message with one field set,
//! and anything without a fixed form is YAML text.

pub(crate) mod v2;
pub(crate) mod v3;

use pleach_json::Value;

/// The encoding of a value.
pub(crate) enum Shape {
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// An integer.
    Int,
    /// A double.
    Number,
    /// Anything: JSON in JSON, YAML text in protobuf.
    Any,
    /// A fixed set of members and extensions.
    Object(&'static Object),
    /// A list; in protobuf a repeated field.
    List(&'static Shape),
    /// Members of any name; in protobuf a message whose repeated field of this number holds pairs.
    Map(u32, &'static Shape),
    /// A wrapper message; its field number depends on the value.
    Choice(fn(&Value) -> (u32, &'static Shape)),
}

/// A fixed set of members, in JSON's order.
pub(crate) struct Object {
    /// The members.
    pub(crate) members: &'static [Entry],
    /// The protobuf field that holds extensions.
    pub(crate) extensions: u32,
}

/// A member: key, protobuf field number, shape. Number 0 is an extension with a fixed position in JSON.
pub(crate) type Entry = (&'static str, u32, &'static Shape);

/// Strings.
pub(crate) static TEXTS: Shape = Shape::List(&Shape::Text);
/// Arbitrary values.
pub(crate) static ANYS: Shape = Shape::List(&Shape::Any);
/// Members of an operation's kind, in v3's order.
pub(crate) static KIND_V3: Shape = Shape::Object(&Object {
    members: &[("group", 0, &Shape::Text), ("version", 0, &Shape::Text), ("kind", 0, &Shape::Text)],
    extensions: 0,
});

pub(crate) static DOCS: Shape = Shape::Object(&Object {
    members: &[("description", 1, &Shape::Text), ("url", 2, &Shape::Text)],
    extensions: 3,
});
