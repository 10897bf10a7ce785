//! The parts of a v3 document.

use pleach_json::Value;

use super::{ANYS, DOCS, Entry, KIND_V3, Object, Shape, TEXTS};

/// A schema, or a reference to one.
pub(crate) static SCHEMA: Shape = Shape::Choice(|value| match value.get("$ref") {
    Some(_) => (2, &REFERENCE),
    None => (1, &OWN_SCHEMA),
});

static OWN_SCHEMA: Shape = Shape::Object(&Object { members: SCHEMA_MEMBERS, extensions: 36 });

/// The keywords of a schema.
pub(crate) static SCHEMA_MEMBERS: &[Entry] = &[
    ("description", 34, &Shape::Text),
    ("type", 25, &Shape::Text),
    ("nullable", 1, &Shape::Flag),
    ("format", 35, &Shape::Text),
    ("title", 9, &Shape::Text),
    ("default", 33, &DEFAULT),
    ("maximum", 11, &Shape::Number),
    ("exclusiveMaximum", 12, &Shape::Flag),
    ("minimum", 13, &Shape::Number),
    ("exclusiveMinimum", 14, &Shape::Flag),
    ("maxLength", 15, &Shape::Int),
    ("minLength", 16, &Shape::Int),
    ("pattern", 17, &Shape::Text),
    ("maxItems", 18, &Shape::Int),
    ("minItems", 19, &Shape::Int),
    ("uniqueItems", 20, &Shape::Flag),
    ("multipleOf", 10, &Shape::Number),
    ("enum", 24, &ANYS),
    ("maxProperties", 21, &Shape::Int),
    ("minProperties", 22, &Shape::Int),
    ("required", 23, &TEXTS),
    ("items", 30, &ITEMS),
    ("allOf", 26, &SCHEMAS),
    ("oneOf", 27, &SCHEMAS),
    ("anyOf", 28, &SCHEMAS),
    ("not", 29, &OWN_SCHEMA),
    ("properties", 31, &PROPERTIES),
    ("additionalProperties", 32, &ADDITIONAL),
    ("externalDocs", 6, &DOCS),
    ("example", 7, &Shape::Any),
];

static SCHEMAS: Shape = Shape::List(&SCHEMA);
static PROPERTIES: Shape = Shape::Map(1, &SCHEMA);
static ITEMS: Shape = Shape::Choice(|_| (1, &SCHEMA));
static ADDITIONAL: Shape = Shape::Choice(|value| match value {
    Value::Bool(_) => (2, &Shape::Flag),
    _ => (1, &SCHEMA),
});
/// The protobuf form has scalar defaults only; others are an empty message there.
static DEFAULT: Shape = Shape::Choice(|value| match value {
    Value::Bool(_) => (2, &Shape::Flag),
    Value::String(_) => (3, &Shape::Text),
    Value::Int(_) | Value::Float(_) => (1, &Shape::Number),
    _ => (0, &Shape::Any),
});
static REFERENCE: Shape = Shape::Object(&Object { members: &[("$ref", 1, &Shape::Text)], extensions: 0 });

static PARAMETERS: Shape = Shape::List(&Shape::Choice(|_| (1, &PARAMETER)));
static PARAMETER: Shape = Shape::Object(&Object {
    members: &[
        ("name", 1, &Shape::Text),
        ("in", 2, &Shape::Text),
        ("description", 3, &Shape::Text),
        ("required", 4, &Shape::Flag),
        ("schema", 10, &SCHEMA),
    ],
    extensions: 14,
});

static CONTENT: Shape = Shape::Map(1, &MEDIA_TYPE);
static MEDIA_TYPE: Shape = Shape::Object(&Object { members: &[("schema", 1, &SCHEMA)], extensions: 5 });
static REQUEST_BODY: Shape = Shape::Choice(|_| (1, &OWN_REQUEST_BODY));
static OWN_REQUEST_BODY: Shape = Shape::Object(&Object {
    members: &[("content", 2, &CONTENT), ("required", 3, &Shape::Flag)],
    extensions: 4,
});
static RESPONSES: Shape = Shape::Map(2, &RESPONSE);
static RESPONSE: Shape = Shape::Choice(|_| (1, &OWN_RESPONSE));
static OWN_RESPONSE: Shape = Shape::Object(&Object {
    members: &[("description", 1, &Shape::Text), ("content", 3, &CONTENT)],
    extensions: 5,
});

static OPERATION: Shape = Shape::Object(&Object {
    members: &[
        ("tags", 1, &TEXTS),
        ("description", 3, &Shape::Text),
        ("operationId", 5, &Shape::Text),
        ("parameters", 6, &PARAMETERS),
        ("requestBody", 7, &REQUEST_BODY),
        ("responses", 8, &RESPONSES),
        ("x-kubernetes-action", 0, &Shape::Any),
        ("x-kubernetes-group-version-kind", 0, &KIND_V3),
    ],
    extensions: 13,
});

/// The operations of a path.
pub(crate) static PATH: Shape = Shape::Object(&Object {
    members: &[
        ("get", 4, &OPERATION),
        ("put", 5, &OPERATION),
        ("post", 6, &OPERATION),
        ("delete", 7, &OPERATION),
        ("patch", 10, &OPERATION),
        ("parameters", 13, &PARAMETERS),
    ],
    extensions: 14,
});
