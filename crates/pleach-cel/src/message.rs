//! Protobuf well-known types that expressions can construct.
//!
//! An expression never sees a message: `google.protobuf.Int32Value{value: 3}` is a nullable int for the
//! checker and an int when evaluated, a `Struct` is a map, a `Value` whatever it holds. Their bare
//! names type-check, but are not values: planning an expression that uses one fails.

use crate::types::T;

/// A message type.
#[derive(Debug)]
pub(crate) struct Message {
    /// Its name.
    pub(crate) name: &'static str,
    /// The type of a constructed value.
    pub(crate) ty: T,
    /// Its fields and their types.
    pub(crate) fields: &'static [(&'static str, T)],
    /// How it is constructed from its fields.
    pub(crate) kind: MessageKind,
}

/// How a message is constructed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// The value of its only field, converted to this Go type.
    Wrapper(&'static str),
    Any,
    Duration,
    Timestamp,
    Struct,
    Value,
    ListValue,
    Empty,
}

const JSON_OBJECT: T = T::Map(&T::String, &T::Dyn);
const JSON_LIST: T = T::List(&T::Dyn);
const TIME: &[(&str, T)] = &[("seconds", T::Int), ("nanos", T::Int)];

const fn wrapper(
    name: &'static str,
    ty: T,
    fields: &'static [(&'static str, T)],
    go_type: &'static str,
) -> Message {
    Message { name, ty, fields, kind: MessageKind::Wrapper(go_type) }
}

static MESSAGES: &[Message] = &[
    wrapper("google.protobuf.BoolValue", T::Wrapper(&T::Bool), &[("value", T::Bool)], "bool"),
    wrapper("google.protobuf.BytesValue", T::Wrapper(&T::Bytes), &[("value", T::Bytes)], "[]uint8"),
    wrapper("google.protobuf.DoubleValue", T::Wrapper(&T::Double), &[("value", T::Double)], "float64"),
    wrapper("google.protobuf.FloatValue", T::Wrapper(&T::Double), &[("value", T::Double)], "float32"),
    wrapper("google.protobuf.Int32Value", T::Wrapper(&T::Int), &[("value", T::Int)], "int32"),
    wrapper("google.protobuf.Int64Value", T::Wrapper(&T::Int), &[("value", T::Int)], "int64"),
    wrapper("google.protobuf.StringValue", T::Wrapper(&T::String), &[("value", T::String)], "string"),
    wrapper("google.protobuf.UInt32Value", T::Wrapper(&T::Uint), &[("value", T::Uint)], "uint32"),
    wrapper("google.protobuf.UInt64Value", T::Wrapper(&T::Uint), &[("value", T::Uint)], "uint64"),
    Message {
        name: "google.protobuf.Any",
        ty: T::Any,
        fields: &[("type_url", T::String), ("value", T::Bytes)],
        kind: MessageKind::Any,
    },
    Message { name: "google.protobuf.Duration", ty: T::Duration, fields: TIME, kind: MessageKind::Duration },
    Message {
        name: "google.protobuf.Timestamp",
        ty: T::Timestamp,
        fields: TIME,
        kind: MessageKind::Timestamp,
    },
    Message {
        name: "google.protobuf.Struct",
        ty: JSON_OBJECT,
        fields: &[("fields", JSON_OBJECT)],
        kind: MessageKind::Struct,
    },
    Message {
        name: "google.protobuf.Value",
        ty: T::Dyn,
        fields: &[
            ("null_value", T::Int),
            ("number_value", T::Double),
            ("string_value", T::String),
            ("bool_value", T::Bool),
            ("struct_value", JSON_OBJECT),
            ("list_value", JSON_LIST),
        ],
        kind: MessageKind::Value,
    },
    Message {
        name: "google.protobuf.ListValue",
        ty: JSON_LIST,
        fields: &[("values", JSON_LIST)],
        kind: MessageKind::ListValue,
    },
    Message {
        name: "google.protobuf.Empty",
        ty: T::Message("google.protobuf.Empty"),
        fields: &[],
        kind: MessageKind::Empty,
    },
];

/// The only enum constant that expressions can name; it is 0.
pub(crate) const NULL_VALUE: &str = "google.protobuf.NullValue.NULL_VALUE";

impl Message {
    /// Looks up a message type.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        MESSAGES.iter().find(|message| message.name == name)
    }

    /// The type of a field.
    pub(crate) fn field(&self, name: &str) -> Option<T> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, ty)| *ty)
    }
}

/// The type of a JSON patch operation.
pub(crate) const JSON_PATCH: &str = "JSONPatch";

/// Whether a name is that of a type that only mutations have: `JSONPatch`, `Object`, `Object.spec` and so on.
pub(crate) fn is_patch_type(name: &str) -> bool {
    name == JSON_PATCH || name == "Object" || name.starts_with("Object.")
}

/// The type of a field of such a type.
pub(crate) fn patch_field(type_name: &str, field: &str) -> Option<T> {
    match field {
        _ if type_name != JSON_PATCH => Some(T::Dyn),
        "op" | "path" | "from" => Some(T::String),
        "value" => Some(T::Dyn),
        _ => None,
    }
}
