//! The CEL environment: functions, macros and types of a Kubernetes version.
//!
//! New expressions are compiled for the emulated version, stored expressions with everything
//! ([`Environment::stored`]), so that an object written by a newer server stays valid.

use crate::check;
use crate::checked::Checked;
use crate::decl::{Declarations, Field, ObjectType};
use crate::function::Overload;
use crate::issues::Issues;
use crate::library::{JSON_PATCH_LIBRARY, LIBRARIES};
use crate::syntax;
use crate::types::{T, Type};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Later than any version.
const NEWEST: u32 = u32::MAX;

/// The version before that of this server, which upstream takes if nothing else is said: a new function may not be used
/// before the next release.
const COMPATIBILITY: u32 = 35;

static COMPATIBILITY_VERSION: OnceLock<u32> = OnceLock::new();

/// The minor version that new expressions are compiled for.
pub fn compatibility_version() -> u32 {
    *COMPATIBILITY_VERSION.get_or_init(|| COMPATIBILITY)
}

/// Says which minor version new expressions are compiled for, once in the life of the process and before anything is
/// compiled: it is a property of the server, as in upstream. False if it was asked for already.
#[must_use]
pub fn set_compatibility_version(minor: u32) -> bool {
    *COMPATIBILITY_VERSION.get_or_init(|| minor) == minor
}

/// Type names, with the version they were added in.
const TYPE_NAMES: &[(&str, u32, T)] = &[
    ("bool", 0, T::Bool),
    ("int", 0, T::Int),
    ("uint", 0, T::Uint),
    ("double", 0, T::Double),
    ("string", 0, T::String),
    ("bytes", 0, T::Bytes),
    ("null_type", 0, T::Null),
    ("list", 0, T::List(&T::Param("A"))),
    ("map", 0, T::Map(&T::Param("A"), &T::Param("B"))),
    ("google.protobuf.Timestamp", 0, T::Timestamp),
    ("google.protobuf.Duration", 0, T::Duration),
    ("timestamp", 0, T::Timestamp),
    ("duration", 0, T::Duration),
    ("google.protobuf.Empty", 0, T::Message("google.protobuf.Empty")),
    ("type", 0, T::Opaque("type")),
    ("optional_type", 28, T::Opaque("optional_type")),
    ("net.IP", 30, T::Opaque("net.IP")),
    ("net.CIDR", 30, T::Opaque("net.CIDR")),
];

/// Since this version a field named like a reserved word can be selected unescaped.
const RESERVED_FIELDS: u32 = 31;

/// The functions, macros and types of a version. Made once, used for many expressions.
#[derive(Debug, Clone)]
pub struct Environment {
    minor: u32,
    patch_types: bool,
    functions: HashMap<&'static str, Vec<&'static Overload>>,
}

impl Environment {
    /// The environment of Kubernetes 1.`minor`.
    pub fn for_version(minor: u32) -> Self {
        let mut functions: HashMap<&'static str, Vec<&'static Overload>> = HashMap::new();
        for function in LIBRARIES.iter().flat_map(|library| library.functions) {
            let known = function.overloads.iter().filter(|overload| overload.since <= minor);
            functions.entry(function.name).or_default().extend(known);
        }
        functions.retain(|_, overloads| !overloads.is_empty());
        Self { minor, functions, patch_types: false }
    }

    /// The environment of new expressions.
    pub fn compatible() -> Self {
        Self::for_version(compatibility_version())
    }

    /// The environment with what mutations have besides: the types `Object`, `Object.….…` and `JSONPatch`, and
    /// `jsonpatch.escapeKey`.
    #[must_use]
    pub fn with_patch_types(mut self) -> Self {
        for function in JSON_PATCH_LIBRARY.functions {
            self.functions.entry(function.name).or_default().extend(function.overloads);
        }
        self.patch_types = true;
        self
    }

    /// Whether literals of `Object` and `JSONPatch` are types here.
    pub(crate) fn has_patch_types(&self) -> bool {
        self.patch_types
    }

    /// The environment for stored expressions: everything.
    pub fn stored() -> Self {
        Self::for_version(NEWEST)
    }

    /// The minor version.
    pub fn minor(&self) -> u32 {
        self.minor
    }

    /// Parses and checks `source` with the variables of `declarations`.
    pub fn compile(&self, source: &str, declarations: &Declarations) -> Result<Checked, Issues> {
        let ast = syntax::parse(source, self.minor)?;
        check::check(ast, self, declarations)
    }

    /// The field of `object` that `name` selects.
    pub(crate) fn field<'o>(&self, object: &'o ObjectType, name: &str) -> Option<&'o Field> {
        let field = object.field(name)?;
        (self.minor >= RESERVED_FIELDS || field.escaped_name == name).then_some(field)
    }

    /// The overloads of a function.
    pub(crate) fn function(&self, name: &str) -> Option<(&'static str, &[&'static Overload])> {
        self.functions.get_key_value(name).map(|(name, overloads)| (*name, overloads.as_slice()))
    }

    /// The type that `name` stands for.
    pub(crate) fn type_name(&self, name: &str) -> Option<Type> {
        let (.., ty) = TYPE_NAMES.iter().find(|(n, since, _)| *n == name && *since <= self.minor)?;
        Some((*ty).into())
    }
}
