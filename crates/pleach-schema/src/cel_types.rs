//! CEL types of schemas: what `self` is to a rule.
//!
//! Types come from the structural part alone. A node without a type (preserved unknown fields) has none, and
//! neither has a list or map of such nodes. Where a whole resource is, the root or an embedded one,
//! `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are there whatever the schema says, and
//! nothing else of metadata.
//!
//! There are two sources of types and one way to make them: a schema as written ([`written`]), with the bounds
//! that cost estimates need, and a compiled node ([`compiled`]), which keeps its type.

pub(crate) mod compiled;
pub(crate) mod written;

use pleach_cel::{DeclType, ListKind, ObjectType};
use pleach_json::Str;

/// A schema that types are made from.
trait Source<'a>: Copy {
    /// The prefix of nested types' names.
    type Names;
    fn type_name(self) -> &'a str;
    fn format(self) -> &'a str;
    fn is_int_or_string(self) -> bool;
    fn is_nullable(self) -> bool;
    /// Whether this is the root or an embedded resource.
    fn is_resource(self) -> bool;
    fn list_kind(self) -> ListKind;
    fn bounds(self) -> Bounds;
    fn items(self) -> Option<Self>;
    fn additional_properties(self) -> Option<Self>;
    fn property(self, name: &str) -> Option<Self>;
    fn properties(self) -> impl Iterator<Item = (&'a Str, Self)>;
    /// The members that are always there, as far as estimates need them: required and without a default.
    fn certain(self, with_meta: bool) -> Vec<&'a str>;
    /// The type of a schema below this one, which is reached by `part`.
    fn below(self, part: Part<'_>, names: &mut Self::Names) -> Option<DeclType>;
    /// The name of the type of this object.
    fn object_name(self, names: &mut Self::Names) -> Str;
    /// The name of the type of the metadata of this resource.
    fn metadata_name(names: &mut Self::Names) -> Str;
}

/// How a schema is reached from the one above it.
#[derive(Clone, Copy)]
enum Part<'a> {
    Items,
    AdditionalProperties,
    Property(&'a str),
}

/// The bounds that cost estimates need.
#[derive(Default)]
struct Bounds {
    max_length: Option<i64>,
    max_items: Option<i64>,
    max_properties: Option<i64>,
    longest_enum_value: Option<u64>,
}

fn make<'a, S: Source<'a>>(schema: S, names: &mut S::Names) -> Option<DeclType> {
    let bounds = schema.bounds();
    let decl = if schema.is_int_or_string() {
        DeclType::int_or_string(bounds.max_length)
    } else {
        match schema.type_name() {
            "array" => {
                let item = schema.items()?.below(Part::Items, names)?;
                DeclType::list(item, schema.list_kind(), bounds.max_items)
            }
            "object" => match schema.additional_properties() {
                Some(additional) if !schema.is_resource() => {
                    let element = additional.below(Part::AdditionalProperties, names)?;
                    DeclType::map(element, bounds.max_properties)
                }
                _ => object(schema, names),
            },
            "string" => match schema.format() {
                "byte" => DeclType::bytes(bounds.max_length),
                "date" => DeclType::date(),
                "date-time" => DeclType::date_time(),
                "duration" => DeclType::duration(),
                _ => DeclType::string(bounds.max_length, bounds.longest_enum_value),
            },
            "boolean" => DeclType::boolean(),
            "integer" => DeclType::integer(),
            "number" => DeclType::number(),
            _ => return None,
        }
    };
    Some(decl.nullable(schema.is_nullable()))
}

fn object<'a, S: Source<'a>>(schema: S, names: &mut S::Names) -> DeclType {
    let with_meta = schema.is_resource() && !declares_meta(schema);
    let mut object = ObjectType::new(schema.object_name(names));
    for (name, property) in schema.properties().filter(|(name, _)| !with_meta || !is_meta(name)) {
        object = match property.below(Part::Property(name), names) {
            Some(decl) => object.with_field(name.clone(), decl),
            None => object.with_untyped(name.clone()),
        };
    }
    if with_meta {
        let text = || DeclType::string(None, None);
        let metadata = ObjectType::new(S::metadata_name(names))
            .with_field("name", text())
            .with_field("generateName", text());
        object = object
            .with_field("apiVersion", text())
            .with_field("kind", text())
            .with_field("metadata", DeclType::object(metadata, []));
    }
    DeclType::object(object, schema.certain(with_meta))
}

fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// Whether a resource's schema declares `apiVersion`, `kind`, `metadata.name` and `metadata.generateName`: then
/// it is taken as it is.
fn declares_meta<'a, S: Source<'a>>(schema: S) -> bool {
    let is = |schema: S, name, type_name: &str| {
        schema.property(name).is_some_and(|property| property.type_name() == type_name)
    };
    is(schema, "kind", "string")
        && is(schema, "apiVersion", "string")
        && schema.property("metadata").is_some_and(|metadata| {
            metadata.type_name() == "object"
                && is(metadata, "name", "string")
                && is(metadata, "generateName", "string")
        })
}
