//! Types for ownership, derived from a schema: which containers are atomic, the keys of items, and which
//! fields are declared.
//!
//! A [`Type`] is a place in a compiled schema; asked about a value it becomes a [`Shape`]. Deriving
//! is done on the way, nothing is stored: a node knows all that is needed.
//!
//! Odd, and kept: `x-kubernetes-preserve-unknown-fields` goes on for everything below it; an object
//! without properties or additionalProperties may have any members; a node without a type is a map
//! to a null.

use pleach_json::{Str, Value, json};
use pleach_schema::compile::{Additional, Declared, ListType, MapType, Property};
use pleach_schema::{Node, Schema, SchemaOptions};
use pleach_work::Constant;

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub struct Type<'a>(Kind<'a>);

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    /// A schema node, and whether unknown fields are kept here.
    Node(&'a Node, bool),
    /// Any value; maps are granular, lists are atomic.
    Deduced,
    /// Any value; maps and lists are atomic.
    Untyped,
}

/// The shape of a value for ownership.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    Map(MapShape<'a>),
    List(ListShape<'a>),
    Scalar(Scalar),
}

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// A map, or an object with fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapShape<'a> {
    of: Kind<'a>,
    pub(crate) is_atomic: bool,
}

/// A list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListShape<'a> {
    pub(crate) relation: Relation<'a>,
    pub(crate) items: Type<'a>,
}

/// The relation between the items of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Relation<'a> {
    /// Not at all.
    Atomic,
    /// By their values.
    Set,
    /// By the values of these fields.
    Keys(&'a [Str]),
}

impl<'a> Type<'a> {
    /// The type of whole objects under a schema.
    pub fn of(schema: &'a Schema) -> Self {
        Self::node(schema.root(), schema.preserves_unknown_fields())
    }

    /// The type of objects nothing is known about.
    pub const DEDUCED: Type<'static> = Type(Kind::Deduced);

    #[inline]
    fn node(node: &'a Node, preserve: bool) -> Self {
        Self(Kind::Node(node, preserve || node.preserves_unknown_fields()))
    }

    /// The schema, if there is one.
    #[inline]
    pub(crate) fn schema(self) -> Option<&'a Node> {
        match self.0 {
            Kind::Node(node, _) => Some(node),
            Kind::Deduced | Kind::Untyped => None,
        }
    }

    /// The shape of a value. An absent value has the first shape of its type: map, scalar, list.
    #[inline]
    pub(crate) fn shape(self, value: Option<&Value>) -> Shape<'a> {
        match self.0 {
            Kind::Node(node, preserve) => shape_of_node(node, preserve, value),
            Kind::Deduced | Kind::Untyped => match value {
                Some(Value::Array(_)) => {
                    Shape::List(ListShape { relation: Relation::Atomic, items: Type(self.0) })
                }
                None | Some(Value::Object(_) | Value::Null) => Shape::Map(self.map()),
                Some(_) => Shape::Scalar(Scalar::Untyped),
            },
        }
    }

    /// Whether every value is of the type.
    #[inline]
    pub(crate) fn is_anything(self) -> bool {
        matches!(self.0, Kind::Deduced | Kind::Untyped)
    }

    /// Whether no declared container here or below is atomic, judged for absent values.
    #[inline]
    pub(crate) fn is_granular(self) -> bool {
        matches!(self.0, Kind::Node(node, _) if !node.below().atomics())
    }

    /// The type of scalars here; none if there must not be any.
    #[inline]
    pub(crate) fn scalar(self) -> Option<Scalar> {
        match self.0 {
            Kind::Node(node, _) => match node.types().declared() {
                Declared::Nothing if !node.is_root() => Some(Scalar::Untyped),
                declared => scalar_of(declared),
            },
            Kind::Deduced | Kind::Untyped => Some(Scalar::Untyped),
        }
    }

    fn map(self) -> MapShape<'a> {
        let is_atomic = match self.0 {
            Kind::Node(node, _) => node.map_type() == MapType::Atomic,
            Kind::Deduced => false,
            Kind::Untyped => true,
        };
        MapShape { of: self.0, is_atomic }
    }

    /// The map of this type, if it can be one.
    pub(crate) fn as_map(self) -> Option<MapShape<'a>> {
        match self.shape(None) {
            Shape::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list of this type, if it can be one.
    pub(crate) fn as_list(self) -> Option<ListShape<'a>> {
        const LIST: Value = Value::Array(pleach_json::Array::new());
        match self.shape(Some(&LIST)) {
            Shape::List(list) => Some(list),
            _ => None,
        }
    }
}

#[inline]
fn shape_of_node<'a>(node: &'a Node, preserve: bool, value: Option<&Value>) -> Shape<'a> {
    let map = || Shape::Map(Type(Kind::Node(node, preserve)).map());
    let list = || Shape::List(list_of(node, preserve));
    let declared = node.types().declared();
    if let Some(scalar) = scalar_of(declared) {
        return Shape::Scalar(scalar);
    }
    match (declared, value) {
        (Declared::Array, _) => list(),
        // A whole object needs no type to be one.
        (Declared::Nothing, Some(value)) if !node.is_root() => match value {
            Value::Array(_) => list(),
            Value::Object(_) | Value::Null => map(),
            _ => Shape::Scalar(Scalar::Untyped),
        },
        _ => map(),
    }
}

/// The scalar type of a declared type.
#[inline]
fn scalar_of(declared: Declared) -> Option<Scalar> {
    match declared {
        Declared::Nothing | Declared::Object | Declared::Array => None,
        Declared::Number => Some(Scalar::Numeric),
        Declared::Boolean => Some(Scalar::Boolean),
        Declared::String => Some(Scalar::String),
        Declared::AnyScalar => Some(Scalar::Untyped),
    }
}

fn list_of(node: &Node, preserve: bool) -> ListShape<'_> {
    let relation = match node.list_type() {
        ListType::Unset | ListType::Atomic => Relation::Atomic,
        ListType::Set => Relation::Set,
        ListType::Map => Relation::Keys(node.list_map_keys()),
    };
    let items = node.items().map_or(Type(Kind::Untyped), |items| Type::node(items, preserve));
    ListShape { relation, items }
}

/// The declared fields of a map, asked for in ascending order.
pub(crate) struct Fields<'a> {
    of: Kind<'a>,
    is_resource: bool,
    from: usize,
}

impl<'a> Fields<'a> {
    /// The type of a declared field.
    #[inline]
    pub(crate) fn next(&mut self, name: &str) -> Option<Type<'a>> {
        self.next_step(name).0
    }

    /// The type of a declared field, and the step to it if the schema has it at hand.
    #[inline]
    pub(crate) fn next_step(&mut self, name: &str) -> (Option<Type<'a>>, Option<&'a Str>) {
        let (of, property) = self.next_property(name);
        (of, property.map(Property::step))
    }

    /// The type of a declared field, and the property of the schema that declares it, if it is one.
    #[inline]
    pub(crate) fn next_property(&mut self, name: &str) -> (Option<Type<'a>>, Option<&'a Property>) {
        let Kind::Node(node, preserve) = self.of else { return (None, None) };
        if self.is_resource
            && let Some(of) = of_resource(name)
        {
            return (Some(of), None);
        }
        match node.next_property(&mut self.from, name) {
            Some(property) => (Some(Type::node(&property.node, preserve)), Some(property)),
            None => (None, None),
        }
    }
}

/// The types of the fields that every resource has.
fn of_resource(name: &str) -> Option<Type<'static>> {
    match name {
        "metadata" => Some(Type::node(OBJECT_META.root(), false)),
        "apiVersion" | "kind" => Some(Type::node(TEXT.root(), false)),
        _ => None,
    }
}

impl<'a> MapShape<'a> {
    /// The schema, if there is one.
    #[inline]
    pub(crate) fn schema(&self) -> Option<&'a Node> {
        Type(self.of).schema()
    }

    /// The declared fields. Walks along an object ask in order, which is faster than asking for each.
    pub(crate) fn fields(&self) -> Fields<'a> {
        Fields { of: self.of, is_resource: self.is_resource(), from: 0 }
    }

    #[inline]
    fn is_resource(&self) -> bool {
        matches!(self.of, Kind::Node(node, _) if node.is_root() || node.is_embedded_resource())
    }

    /// The type of a declared field.
    pub(crate) fn field(&self, name: &str) -> Option<Type<'a>> {
        self.fields().next(name)
    }

    /// The type of members that are not declared; none if there must not be any.
    pub(crate) fn others(&self) -> Option<Type<'a>> {
        let (node, preserve) = match self.of {
            Kind::Node(node, preserve) => (node, preserve),
            kind => return Some(Type(kind)),
        };
        match node.additional() {
            Additional::Schema(schema) => Some(Type::node(schema, preserve)),
            Additional::Bool(true) => Some(Type::DEDUCED),
            Additional::Bool(false) => None,
            Additional::Absent => {
                let has_fields =
                    !node.properties().is_empty() || node.is_root() || node.is_embedded_resource();
                (preserve || !has_fields).then_some(Type::DEDUCED)
            }
        }
    }

    /// The type of a member, declared or not.
    pub(crate) fn member(&self, name: &str) -> Option<Type<'a>> {
        self.field(name).or_else(|| self.others())
    }

    /// Whether nothing is known of the members.
    pub(crate) fn is_unknown(&self) -> bool {
        let Kind::Node(node, _) = self.of else { return true };
        let resource = node.is_root() || node.is_embedded_resource();
        if resource || !node.properties().is_empty() {
            return false;
        }
        match self.others().map(|of| of.0) {
            Some(Kind::Deduced) => true,
            Some(Kind::Node(of, _)) => of.types().declared() == Declared::Nothing,
            _ => false,
        }
    }

    /// The default of a declared field.
    pub(crate) fn default_of(&self, name: &str) -> Option<&'a Value> {
        match self.field(name)?.0 {
            Kind::Node(node, _) => node.default(),
            _ => None,
        }
    }
}

impl Shape<'_> {
    /// Whether two shapes of one type are the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

static TEXT: Constant<Schema> = Constant::new(|| part(&json!({"type": "string"})));

/// The types of `metadata`, the same for all kinds.
static OBJECT_META: Constant<Schema> = Constant::new(|| {
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer", "format": "int64"});
    let time = || json!({"type": "string", "format": "date-time"});
    let texts = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    part(&json!({
        "type": "object",
        "properties": {
            "annotations": (texts()),
            "creationTimestamp": (time()),
            "deletionGracePeriodSeconds": (number()),
            "deletionTimestamp": (time()),
            "finalizers": {
                "type": "array", "items": (text()), "x-kubernetes-list-type": "set",
            },
            "generateName": (text()),
            "generation": (number()),
            "labels": (texts()),
            "managedFields": {
                "type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic",
            },
            "name": (text()),
            "namespace": (text()),
            "ownerReferences": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "apiVersion": (text()),
                        "blockOwnerDeletion": {"type": "boolean"},
                        "controller": {"type": "boolean"},
                        "kind": (text()),
                        "name": (text()),
                        // A reference without a uid has the empty one as its key.
                        "uid": {"type": "string", "default": ""},
                    },
                    "x-kubernetes-map-type": "atomic",
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"],
            },
            "resourceVersion": (text()),
            "selfLink": (text()),
            "uid": (text()),
        },
    }))
});

fn part(schema: &Value) -> Schema {
    let schema = pleach_schema::JSONSchemaProps::from_value(schema).unwrap_or_default();
    Schema::compile_part(&schema, SchemaOptions::default())
}
