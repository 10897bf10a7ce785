//! The types of CEL expressions.
//!
//! [`Type`] is what the checker computes and error messages print; [`crate::decl::DeclType`] is a type
//! derived from a schema, with bounds. Types are cheap to clone.
//!
//! Odd: object types are equal if their names are (there is no structural comparison), so every object
//! schema of an environment needs its own name.

use crate::decl::ObjectType;
use pleach_json::Str;
use std::fmt;
use std::sync::Arc;

/// The type of an expression.
#[derive(Debug, Clone)]
pub enum Type {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `timestamp`
    Timestamp,
    /// `duration`
    Duration,
    /// `null`
    Null,
    /// `dyn`: checked at run time.
    Dyn,
    /// `any`
    Any,
    /// The type of an expression that could not be checked; compatible with everything.
    Error,
    /// `list(T)`
    List(Arc<Type>),
    /// `map(K, V)`
    Map(Arc<(Type, Type)>),
    /// `type(T)`: the type of a type.
    Type(Arc<Type>),
    /// An abstract type with parameters: `optional_type(T)`, `net.IP`.
    Opaque(Str, Arc<[Type]>),
    /// A type with fields.
    Object(Arc<ObjectType>),
    /// `wrapper(T)`: a scalar or null.
    Wrapper(Arc<Type>),
    /// A type parameter of an overload, or a variable the checker has yet to solve.
    Param(Str),
}

/// The name of the optional type.
pub const OPTIONAL: &str = "optional_type";

impl Type {
    /// `list(element)`
    pub fn list(element: Type) -> Self {
        Self::List(Arc::new(element))
    }

    /// `map(key, value)`
    pub fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// `optional_type(inner)`
    pub fn optional(inner: Type) -> Self {
        Self::Opaque(Str::new_static(OPTIONAL), Arc::from([inner]))
    }

    /// The type of which `ty` is a value.
    pub fn type_of(ty: Type) -> Self {
        Self::Type(Arc::new(ty))
    }

    /// The inner type, if this is an optional.
    pub fn as_optional(&self) -> Option<&Type> {
        match self {
            Self::Opaque(name, params) if name == OPTIONAL => params.first(),
            _ => None,
        }
    }

    /// The inner type of an optional, or the type itself.
    pub fn unwrap_optional(&self) -> &Type {
        self.as_optional().unwrap_or(self)
    }

    /// The inner type of a wrapper, or the type itself.
    pub(crate) fn unwrap_wrapper(&self) -> &Type {
        match self {
            Self::Wrapper(inner) => inner,
            other => other,
        }
    }

    /// Whether both are the same once wrappers are taken for what is in them.
    pub(crate) fn is_equivalent(&self, other: &Type) -> bool {
        match (self, other) {
            (Self::Wrapper(inner), other) | (other, Self::Wrapper(inner)) => inner.is_equivalent(other),
            (Self::List(a), Self::List(b)) | (Self::Type(a), Self::Type(b)) => a.is_equivalent(b),
            (Self::Map(a), Self::Map(b)) => a.0.is_equivalent(&b.0) && a.1.is_equivalent(&b.1),
            (Self::Opaque(a, ap), Self::Opaque(b, bp)) => {
                a == b && ap.len() == bp.len() && ap.iter().zip(bp.iter()).all(|(a, b)| a.is_equivalent(b))
            }
            _ => self == other,
        }
    }

    /// Whether the checker leaves this to run time.
    pub fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any | Self::Error)
    }

    /// The type's name without its parameters, as `type(x)` shows it at run time.
    pub fn name(&self) -> &str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::Null => "null_type",
            Self::Dyn => "dyn",
            Self::Any => "google.protobuf.Any",
            Self::Error => "!error!",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Wrapper(inner) => inner.name(),
            Self::Opaque(name, _) | Self::Param(name) => name,
            Self::Object(object) => &object.name,
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b))
            | (Self::Type(a), Self::Type(b))
            | (Self::Wrapper(a), Self::Wrapper(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Opaque(a, ap), Self::Opaque(b, bp)) => a == b && ap == bp,
            (Self::Object(a), Self::Object(b)) => a.name == b.name,
            (Self::Param(a), Self::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Eq for Type {}

/// The form error messages print: `map(string, int)`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Null => f.write_str("null"),
            Self::Any => f.write_str("any"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(entry) => write!(f, "map({}, {})", entry.0, entry.1),
            Self::Type(inner) => write!(f, "type({inner})"),
            Self::Wrapper(inner) => write!(f, "wrapper({inner})"),
            Self::Opaque(name, params) if !params.is_empty() => {
                write!(f, "{name}(")?;
                for (i, param) in params.iter().enumerate() {
                    write!(f, "{}{param}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            other => f.write_str(other.name()),
        }
    }
}

/// A type as a constant, for the tables of functions.
///
/// A letter stands for a type parameter, equal letters in one overload for equal types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum T {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `timestamp`
    Timestamp,
    /// `duration`
    Duration,
    /// `null`
    Null,
    /// `dyn`
    Dyn,
    /// `any`
    Any,
    /// `list(T)`
    List(&'static T),
    /// `map(K, V)`
    Map(&'static T, &'static T),
    /// `type(T)`
    Type(&'static T),
    /// `optional_type(T)`
    Optional(&'static T),
    /// An abstract type without parameters and fields.
    Opaque(&'static str),
    /// `wrapper(T)`
    Wrapper(&'static T),
    /// A message type, none of whose fields a rule can reach.
    Message(&'static str),
    /// A type parameter.
    Param(&'static str),
}

impl From<T> for Type {
    fn from(constant: T) -> Self {
        match constant {
            T::Bool => Self::Bool,
            T::Int => Self::Int,
            T::Uint => Self::Uint,
            T::Double => Self::Double,
            T::String => Self::String,
            T::Bytes => Self::Bytes,
            T::Timestamp => Self::Timestamp,
            T::Duration => Self::Duration,
            T::Null => Self::Null,
            T::Dyn => Self::Dyn,
            T::Any => Self::Any,
            T::List(element) => Self::list((*element).into()),
            T::Map(key, value) => Self::map((*key).into(), (*value).into()),
            T::Type(inner) => Self::type_of((*inner).into()),
            T::Optional(inner) => Self::optional((*inner).into()),
            T::Wrapper(inner) => Self::Wrapper(Arc::new((*inner).into())),
            T::Opaque(name) => Self::Opaque(Str::new_static(name), Arc::from([])),
            T::Message(name) => Self::Object(Arc::new(ObjectType::new(name))),
            T::Param(name) => Self::Param(Str::new_static(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_print_as_in_error_messages() {
        for (why, ty, want) in [
            ("a scalar", Type::Int, "int"),
            ("null is not null_type in messages", Type::Null, "null"),
            ("well-known types are short", Type::list(Type::Timestamp), "list(timestamp)"),
            ("two parameters", Type::map(Type::String, Type::list(Type::Dyn)), "map(string, list(dyn))"),
            ("optionals", Type::optional(Type::String), "optional_type(string)"),
            ("types of types", Type::type_of(Type::Null), "type(null)"),
            ("opaque types without parameters", T::Opaque("net.IP").into(), "net.IP"),
        ] {
            assert_eq!(ty.to_string(), want, "{why}");
        }
    }

    #[test]
    fn objects_are_equal_by_name() {
        let a: Type = T::Message("a").into();
        assert_eq!(a, T::Message("a").into());
        assert_ne!(a, T::Message("b").into());
        assert_ne!(Type::list(Type::Int), Type::list(Type::Dyn));
    }
}
