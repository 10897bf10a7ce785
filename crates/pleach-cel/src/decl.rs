//! Declared types: the CEL view of a schema.
//!
//! The schema crate builds one [`DeclType`] per schema node with the constructors below, which apply
//! the API server's rules for minimum serialized size and maximum elements. The checker uses
//! [`DeclType::cel_type`], the estimator the bounds, the evaluator the conversion from JSON (a date is
//! a string there).
//!
//! A node without a CEL type is *absent*: the property is left out of its object, and a list or map of
//! such nodes is absent too. A property is found by its escaped name ([`crate::names`]).

use crate::types::Type;
use pleach_json::{Str, grow_stack_to_drop};
use std::sync::Arc;

/// The request size limit of the API server, in bytes: the bound where a schema has none.
pub const MAX_REQUEST_SIZE: u64 = 3 * 1024 * 1024;
/// `""`, `[]` and `{}` take two bytes.
const MIN_STRING: u64 = 2;
/// A string or int-or-string without `maxLength`: the request size without quotes.
const MAX_STRING: u64 = MAX_REQUEST_SIZE - 2;

/// How many nested lists and maps a static type keeps apart.
const MAX_NESTING: usize = 200;

/// A schema node as CEL sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeclType {
    kind: DeclKind,
    max_elements: u64,
    min_serialized_size: u64,
    nullable: bool,
}

/// The kind of a [`DeclType`].
#[derive(Debug, Clone)]
pub enum DeclKind {
    /// `type: boolean`
    Bool,
    /// `type: integer`
    Int,
    /// `type: number`
    Double,
    /// `type: string` without a format that changes the type.
    String,
    /// `format: byte`
    Bytes,
    /// `format: date`, a timestamp
    Date,
    /// `format: date-time`, a timestamp
    DateTime,
    /// `format: duration`
    Duration,
    /// `x-kubernetes-int-or-string`, a `dyn`
    IntOrString,
    /// `type: array`
    List(Arc<DeclType>, ListKind),
    /// `additionalProperties`: a map from strings
    Map(Arc<DeclType>),
    /// `type: object` with properties (or without any)
    Object(Arc<ObjectType>),
    /// `oldSelf` of a rule with `optionalOldSelf: true`
    Optional(Arc<DeclType>),
    /// Any other type: variables that do not come from a schema.
    Other(Type),
}

/// `x-kubernetes-list-type`: how lists are compared and added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListKind {
    /// By position.
    #[default]
    Atomic,
    /// Ignoring order; `+` is a union.
    Set,
    /// By the values of these keys (raw names); `+` is a merge.
    Map(Arc<[Str]>),
}

/// An object schema: a name unique in its environment, and fields.
#[derive(Debug, Clone, Default)]
pub struct ObjectType {
    /// The name that error messages print, such as `selfType7.spec`.
    pub name: Str,
    /// Sorted by escaped name.
    fields: Vec<Field>,
    /// Declared properties that no expression can select, sorted; they still take part in `==`.
    untyped: Vec<Str>,
}

/// A property that expressions can select.
#[derive(Debug, Clone)]
pub struct Field {
    /// The name in expressions.
    pub escaped_name: Str,
    /// The name in JSON.
    pub name: Str,
    /// The property's schema.
    pub decl: DeclType,
}

impl Drop for ObjectType {
    /// Objects may be thousands of levels deep: dropped without recursion.
    fn drop(&mut self) {
        if self.fields.iter().any(|field| field.decl.is_compound()) {
            grow_stack_to_drop(|| self.fields.clear());
        }
    }
}

impl Drop for DeclType {
    /// As for objects.
    fn drop(&mut self) {
        if let DeclKind::List(inner, _) | DeclKind::Map(inner) | DeclKind::Optional(inner) = &self.kind
            && inner.is_compound()
        {
            let kind = std::mem::replace(&mut self.kind, DeclKind::Bool);
            grow_stack_to_drop(|| drop(kind));
        }
    }
}

impl ObjectType {
    /// An object without fields.
    pub fn new(name: impl Into<Str>) -> Self {
        Self { name: name.into(), fields: Vec::new(), untyped: Vec::new() }
    }

    /// Adds the property `name`; a name that cannot be escaped is left out, because no expression
    /// can reach it.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<Str>, decl: DeclType) -> Self {
        let name = name.into();
        if let Some(escaped_name) = crate::names::escape(&name) {
            let at = self.fields.partition_point(|f| f.escaped_name < escaped_name);
            self.fields.insert(at, Field { escaped_name, name, decl });
            self
        } else {
            self.with_untyped(name)
        }
    }

    /// Adds a field whose name in expressions is its name, such as a variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<Str>, decl: DeclType) -> Self {
        let name = name.into();
        self.fields.retain(|field| field.escaped_name != name);
        let at = self.fields.partition_point(|f| f.escaped_name < name);
        self.fields.insert(at, Field { escaped_name: name.clone(), name, decl });
        self
    }

    /// Adds the property `name`, whose schema has no type: it cannot be selected, but objects
    /// that differ in it are unequal.
    #[must_use]
    pub fn with_untyped(mut self, name: impl Into<Str>) -> Self {
        let name = name.into();
        let at = self.untyped.partition_point(|n| *n < name);
        self.untyped.insert(at, name);
        self
    }

    /// Whether `name` is a declared property that no expression can select.
    pub(crate) fn is_untyped(&self, name: &str) -> bool {
        self.untyped.binary_search_by(|n| n.as_str().cmp(name)).is_ok()
    }

    /// The field whose name in JSON is `name`.
    pub(crate) fn field_by_raw_name(&self, name: &str) -> Option<&Field> {
        match self.fields.binary_search_by(|f| f.escaped_name.as_str().cmp(name)) {
            Ok(at) if self.fields[at].name == name => Some(&self.fields[at]),
            _ => self.fields.iter().find(|f| f.name == name),
        }
    }

    /// The field that `name` selects; a reserved word selects without escaping too.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let find = |name: &str| {
            let at = self.fields.binary_search_by(|f| f.escaped_name.as_str().cmp(name));
            at.ok().map(|at| &self.fields[at])
        };
        find(name).or_else(|| find(&crate::names::escape_reserved(name)?))
    }

    /// Whether this is an opaque library type, of which only the name is known. Schema types never have
    /// such names.
    pub(crate) fn is_opaque(&self) -> bool {
        self.fields.is_empty() && self.name.starts_with("kubernetes.") && self.name != "kubernetes.variables"
    }

    /// All fields by escaped name.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

impl DeclType {
    fn new(kind: DeclKind, min_serialized_size: u64, max_elements: u64) -> Self {
        Self { kind, max_elements, min_serialized_size, nullable: false }
    }

    /// `type: boolean`
    pub fn boolean() -> Self {
        Self::new(DeclKind::Bool, 4, 0)
    }

    /// `type: integer`
    pub fn integer() -> Self {
        Self::new(DeclKind::Int, 1, 0)
    }

    /// `type: number`
    pub fn number() -> Self {
        Self::new(DeclKind::Double, 1, 0)
    }

    /// `type: string`; of `maxLength` and the longest `enum` value (in bytes) the first counts.
    /// `maxLength` is in code points, of which each may take four bytes.
    pub fn string(max_length: Option<i64>, longest_enum: Option<u64>) -> Self {
        let max = max_length.map(|max| unsigned(max).saturating_mul(4)).or(longest_enum);
        Self::new(DeclKind::String, MIN_STRING, max.unwrap_or(MAX_STRING))
    }

    /// `type: string, format: byte`
    pub fn bytes(max_length: Option<i64>) -> Self {
        Self::new(DeclKind::Bytes, MIN_STRING, max_length.map_or(MAX_STRING, unsigned))
    }

    /// `type: string, format: date`
    pub fn date() -> Self {
        Self::new(DeclKind::Date, 12, 12)
    }

    /// `type: string, format: date-time`
    pub fn date_time() -> Self {
        Self::new(DeclKind::DateTime, 21, 32)
    }

    /// `type: string, format: duration`
    pub fn duration() -> Self {
        Self::new(DeclKind::Duration, 3, 32)
    }

    /// `x-kubernetes-int-or-string`
    pub fn int_or_string(max_length: Option<i64>) -> Self {
        let max = max_length.map_or(MAX_STRING, |max| unsigned(max).saturating_mul(4));
        Self::new(DeclKind::IntOrString, 1, max)
    }

    /// `type: array`
    pub fn list(element: DeclType, kind: ListKind, max_items: Option<i64>) -> Self {
        let implied = || (MAX_REQUEST_SIZE - 2) / (element.min_serialized_size + 1);
        let max = max_items.map_or_else(implied, unsigned);
        Self::new(DeclKind::List(Arc::new(element), kind), 2, max)
    }

    /// `type: object` with `additionalProperties`
    pub fn map(value: DeclType, max_properties: Option<i64>) -> Self {
        let implied = || (MAX_REQUEST_SIZE - 2) / (value.min_serialized_size + 6);
        let max = max_properties.map_or_else(implied, unsigned);
        Self::new(DeclKind::Map(Arc::new(value)), 2, max)
    }

    /// `type: object` otherwise. `required` names the properties that are required and have no default:
    /// only they count for the minimum size.
    pub fn object<'a>(object: ObjectType, required: impl IntoIterator<Item = &'a str>) -> Self {
        let mut min = 2u64;
        for name in required {
            if let Some(field) = object.field_by_raw_name(name) {
                min = min.saturating_add(name.len() as u64 + field.decl.min_serialized_size + 4);
            }
        }
        Self::new(DeclKind::Object(Arc::new(object)), min, 0)
    }

    /// `oldSelf` under `optionalOldSelf: true`
    pub fn optional(inner: DeclType) -> Self {
        let (min, max) = (inner.min_serialized_size, inner.max_elements);
        Self::new(DeclKind::Optional(Arc::new(inner)), min, max)
    }

    /// A variable that does not come from a schema, of which no size is known.
    pub fn other(ty: Type) -> Self {
        Self::new(DeclKind::Other(ty), 0, u64::MAX)
    }

    /// `nullable: true`: changes nothing in the static type.
    #[must_use]
    pub fn nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// Whether it contains other types.
    fn is_compound(&self) -> bool {
        matches!(
            self.kind,
            DeclKind::List(..) | DeclKind::Map(_) | DeclKind::Object(_) | DeclKind::Optional(_)
        )
    }

    /// The kind.
    pub fn kind(&self) -> &DeclKind {
        &self.kind
    }

    /// Whether null is a value of it.
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// The maximum number of elements of a list or map, or bytes of a string; 0 for others.
    pub fn max_elements(&self) -> u64 {
        self.max_elements
    }

    /// The minimum serialized size.
    pub fn min_serialized_size(&self) -> u64 {
        self.min_serialized_size
    }

    /// The element of a list, the value of a map, the inside of an optional.
    pub fn element(&self) -> Option<&DeclType> {
        match &self.kind {
            DeclKind::List(inner, _) | DeclKind::Map(inner) | DeclKind::Optional(inner) => Some(inner),
            _ => None,
        }
    }

    /// The object's type, if it is one.
    pub fn as_object(&self) -> Option<&Arc<ObjectType>> {
        match &self.kind {
            DeclKind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The type that expressions are checked with. Beyond `MAX_NESTING` levels it is dyn.
    pub fn cel_type(&self) -> Type {
        self.cel_type_within(MAX_NESTING)
    }

    fn cel_type_within(&self, levels: usize) -> Type {
        let Some(levels) = levels.checked_sub(1) else { return Type::Dyn };
        match &self.kind {
            DeclKind::Bool => Type::Bool,
            DeclKind::Int => Type::Int,
            DeclKind::Double => Type::Double,
            DeclKind::String => Type::String,
            DeclKind::Bytes => Type::Bytes,
            DeclKind::Date | DeclKind::DateTime => Type::Timestamp,
            DeclKind::Duration => Type::Duration,
            DeclKind::IntOrString => Type::Dyn,
            DeclKind::List(element, _) => Type::list(element.cel_type_within(levels)),
            DeclKind::Map(value) => Type::map(Type::String, value.cel_type_within(levels)),
            DeclKind::Object(object) => Type::Object(Arc::clone(object)),
            DeclKind::Optional(inner) => Type::optional(inner.cel_type_within(levels)),
            DeclKind::Other(ty) => ty.clone(),
        }
    }
}

/// Negative limits count as zero.
fn unsigned(limit: i64) -> u64 {
    limit.max(0) as u64
}

/// The variables an expression may use.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    variables: Vec<(Str, DeclType)>,
}

impl Declarations {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable; the evaluator binds values in the same order.
    #[must_use]
    pub fn with(mut self, name: impl Into<Str>, decl: DeclType) -> Self {
        self.variables.push((name.into(), decl));
        self
    }

    /// The variable's type.
    pub fn get(&self, name: &str) -> Option<&DeclType> {
        self.variables.iter().find(|(n, _)| n == name).map(|(_, decl)| decl)
    }

    /// All variables in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, &DeclType)> {
        self.variables.iter().map(|(name, decl)| (name, decl))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_the_schema() {
        let list = |element| DeclType::list(element, ListKind::Atomic, None).max_elements();
        for (why, got, want) in [
            ("numbers take a byte and a comma", list(DeclType::number()), 1_572_863),
            ("strings two quotes", list(DeclType::string(None, None)), 1_048_575),
            ("booleans", list(DeclType::boolean()), 629_145),
            ("durations", list(DeclType::duration()), 786_431),
            ("dates", list(DeclType::date()), 241_978),
            ("date-times", list(DeclType::date_time()), 142_987),
            ("maps of numbers", DeclType::map(DeclType::number(), None).max_elements(), 449_389),
            ("code points are four bytes", DeclType::string(Some(10), None).max_elements(), 40),
            ("bytes are not", DeclType::bytes(Some(10)).max_elements(), 10),
            ("maxLength beats enum", DeclType::string(Some(10), Some(3)).max_elements(), 40),
            ("enum bounds", DeclType::string(None, Some(9)).max_elements(), 9),
            ("negative is zero", DeclType::string(Some(-1), None).max_elements(), 0),
        ] {
            assert_eq!(got, want, "{why}");
        }
    }

    #[test]
    fn objects_need_room_for_required_fields() {
        let object = ObjectType::new("o")
            .with_field("name", DeclType::string(None, None))
            .with_field("note", DeclType::string(None, None))
            .with_field("bad name", DeclType::integer());
        assert_eq!(object.fields().len(), 2, "what cannot be escaped cannot be selected");
        let decl = DeclType::object(object, ["name", "missing", "bad name"]);
        assert_eq!(decl.min_serialized_size(), 2 + 4 + 2 + 4);
    }

    #[test]
    fn reserved_words_select_with_and_without_escaping() {
        let object = ObjectType::new("o").with_field("namespace", DeclType::integer());
        assert_eq!(object.field("__namespace__").map(|f| f.name.as_str()), Some("namespace"));
        assert_eq!(object.field("namespace").map(|f| f.name.as_str()), Some("namespace"));
        assert!(object.field("name").is_none());
    }
}
