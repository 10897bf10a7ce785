//! How the parts of a document are written: key order in JSON, field numbers in protobuf.
//!
//! The protobuf is gnostic's rendering of OpenAPI: maps are lists of named values, a choice is a
//! message with one of its fields set, and whatever has no fixed form is YAML text.

pub(crate) mod v2;
pub(crate) mod v3;

use pleach_json::Value;

/// How a value is written.
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
    /// A message around the value: the number of its field is found by looking at the value.
    Choice(fn(&Value) -> (u32, &'static Shape)),
}

/// A fixed set of members, in JSON's order.
pub(crate) struct Object {
    /// The members.
    pub(crate) members: &'static [Entry],
    /// The protobuf field that holds extensions.
    pub(crate) extensions: u32,
}

/// A member: its key, its number in protobuf, its shape. Number 0 is an extension with a fixed place
/// in JSON.
pub(crate) type Entry = (&'static str, u32, &'static Shape);

/// Texts.
pub(crate) static TEXTS: Shape = Shape::List(&Shape::Text);
/// Anythings.
pub(crate) static ANYS: Shape = Shape::List(&Shape::Any);
/// Members of an operation's kind, in the order v3 has them.
pub(crate) static KIND_V3: Shape = Shape::Object(&Object {
    members: &[("group", 0, &Shape::Text), ("version", 0, &Shape::Text), ("kind", 0, &Shape::Text)],
    extensions: 0,
});

pub(crate) static DOCS: Shape = Shape::Object(&Object {
    members: &[("description", 1, &Shape::Text), ("url", 2, &Shape::Text)],
    extensions: 3,
});
