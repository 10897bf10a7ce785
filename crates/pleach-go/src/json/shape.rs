//! Go structs as data: the types that JSON is decoded into.

use pleach_json::{Map, Value};

/// A Go type that JSON is decoded into.
#[derive(Clone, Copy, Debug)]
pub enum GoType {
    /// A string, or a named type of one: `string`, `types.UID`.
    String(&'static str),
    /// `bool`
    Bool,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `float64`
    Float64,
    /// `resource.Quantity`
    Quantity,
    /// The same in a `ResourceList`: no finer than a thousandth
    ResourceQuantity,
    /// `intstr.IntOrString`
    IntOrString,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// `[]byte`: base64 text
    Bytes,
    /// Raw JSON behind a pointer, kept as it is
    Raw,
    /// `map[string]T`
    Map(&'static GoType),
    /// `[]T`
    Slice(&'static GoType),
    /// `*T`
    Pointer(&'static GoType),
    /// A struct
    Struct(&'static GoStruct),
}

/// Plain `string`.
pub const STRING: GoType = GoType::String("string");

/// A struct and its fields in declaration order, which is the order Go encodes them in.
#[derive(Debug)]
pub struct GoStruct {
    /// The name without its package: `ObjectMeta`.
    pub name: &'static str,
    /// The package's name: `v1`.
    pub package: &'static str,
    /// At most 64.
    pub fields: &'static [GoField],
}

/// A field of a struct.
#[derive(Debug)]
pub struct GoField {
    /// The JSON key.
    pub name: &'static str,
    /// Its type.
    pub ty: GoType,
    /// When it is left out.
    pub omit: Omit,
    /// The embedded struct that it is a field of, which errors name; empty for none.
    pub embedded: &'static str,
}

/// When a field is left out of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omit {
    /// Never: a missing field is encoded as its zero value.
    Never,
    /// `omitempty`: a zero number or string, a nil pointer, an empty list or map.
    Empty,
    /// `omitzero`: also the zero time.
    Zero,
}

/// A field that is always encoded.
pub const fn always(name: &'static str, ty: GoType) -> GoField {
    GoField { name, ty, omit: Omit::Never, embedded: "" }
}

/// A field with `omitempty`.
pub const fn omitempty(name: &'static str, ty: GoType) -> GoField {
    GoField { name, ty, omit: Omit::Empty, embedded: "" }
}

/// A field with `omitzero`.
pub const fn omitzero(name: &'static str, ty: GoType) -> GoField {
    GoField { name, ty, omit: Omit::Zero, embedded: "" }
}

impl GoStruct {
    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == key)
    }

    /// The zero value, as it is encoded.
    pub fn zero(&self) -> Value {
        self.zero_members().into()
    }

    /// The members of the zero value.
    pub(super) fn zero_members(&self) -> Map {
        let always = self.fields.iter().filter(|f| f.omit == Omit::Never);
        always.map(|f| (f.name.into(), f.ty.zero())).collect()
    }
}

impl GoType {
    /// The name Go gives the type, pointers left out as its messages do.
    pub fn go_name(&self) -> String {
        match self {
            Self::String(name) => (*name).to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Float64 => "float64".to_owned(),
            Self::Quantity | Self::ResourceQuantity => "resource.Quantity".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Time | Self::MicroTime => "string".to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Raw => "v1.JSON".to_owned(),
            Self::Map(of) => format!("map[string]{}", of.go_name()),
            Self::Slice(of) => format!("[]{}", of.go_name()),
            Self::Pointer(to) => to.go_name(),
            Self::Struct(s) => format!("{}.{}", s.package, s.name),
        }
    }

    /// The zero value, as it is encoded.
    pub(super) fn zero(&self) -> Value {
        match self {
            Self::String(_) => Value::from(""),
            Self::Bool => Value::Bool(false),
            Self::Int32 | Self::Int64 | Self::Float64 | Self::IntOrString => Value::Int(0),
            Self::Quantity | Self::ResourceQuantity => Value::from("0"),
            Self::Struct(s) => s.zero(),
            Self::Time
            | Self::MicroTime
            | Self::Bytes
            | Self::Raw
            | Self::Map(_)
            | Self::Slice(_)
            | Self::Pointer(_) => Value::Null,
        }
    }
}
