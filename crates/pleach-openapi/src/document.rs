//! Document fragments and their assembly.

use std::cmp::Ordering;

use pleach_json::{Value, write_string};

use crate::proto::{self, Writer};
use crate::shape::Shape;
use crate::shared::Needed;
use crate::{Edition, Form, Resource, json, operations, parameters, schema, shape, shared as definitions};

/// An encoded member of a document, or several that are always adjacent: in JSON with its key and
/// without a comma, in protobuf as a whole field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The sort key.
    pub key: String,
    /// The encoded bytes.
    pub bytes: Vec<u8>,
}

/// The contribution of a kind, or of the shared types, to a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// Members of `paths`.
    pub paths: Vec<Member>,
    /// Members of `definitions` or `components.schemas`.
    pub schemas: Vec<Member>,
}

/// The parts of a document around the members.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The title of the document.
    pub title: &'a str,
    /// The API version in `info`.
    pub version: &'a str,
}

/// A part of an assembled document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section<'a> {
    /// Bytes between members.
    Text(&'a [u8]),
    /// The path of this index among those given.
    Path(usize),
    /// The schema of this index among those given.
    Schema(usize),
}

/// The fragment of one served version of a kind.
pub fn fragment(resource: &Resource<'_>, edition: Edition, form: Form) -> Fragment {
    let paths =
        written(operations::paths(resource, edition), path_shape(edition), paths_number(edition), form);
    Fragment { paths: joined(paths, form), schemas: schemas(resource, edition, form) }
}

fn schemas(resource: &Resource<'_>, edition: Edition, form: Form) -> Vec<Member> {
    let made = schema::schemas(resource, edition);
    if form == Form::Protobuf {
        let values = made.into_iter().map(|(name, schema)| (name, schema.into_value())).collect();
        return written(values, schema_shape(edition), 1, form);
    }
    let write = |(key, schema): (String, schema::Published)| {
        let mut bytes = Vec::new();
        write_string(&key, &mut bytes);
        bytes.push(b':');
        schema.write(edition, &mut bytes);
        Member { key, bytes }
    };
    made.into_iter().map(write).collect()
}

/// Merges the path of an object and those below it into one member: no other path sorts between them.
fn joined(paths: Vec<Member>, form: Form) -> Vec<Member> {
    let mut out: Vec<Member> = Vec::with_capacity(paths.len());
    for path in paths {
        match out.last_mut() {
            Some(object) if object.key.ends_with("/{name}") && path.key.starts_with(&object.key) => {
                if form == Form::Json {
                    object.bytes.push(b',');
                }
                object.bytes.extend_from_slice(&path.bytes);
            }
            _ => out.push(path),
        }
    }
    out
}

/// The fragment of the shared types.
pub fn shared(edition: Edition, form: Form, needed: Needed) -> Fragment {
    let schemas = written(definitions::schemas(edition, needed), schema_shape(edition), 1, form);
    Fragment { paths: Vec::new(), schemas }
}

fn path_shape(edition: Edition) -> &'static Shape {
    match edition {
        Edition::V2 => &shape::v2::PATH,
        Edition::V3 => &shape::v3::PATH,
    }
}

/// The table that schemas are written with.
pub(crate) fn schema_shape(edition: Edition) -> &'static Shape {
    match edition {
        Edition::V2 => &shape::v2::SCHEMA,
        Edition::V3 => &shape::v3::SCHEMA,
    }
}

/// The protobuf field of a path among paths.
fn paths_number(edition: Edition) -> u32 {
    match edition {
        Edition::V2 => 2,
        Edition::V3 => 1,
    }
}

fn written(members: Vec<(String, Value)>, shape: &'static Shape, number: u32, form: Form) -> Vec<Member> {
    let write = |(key, value): (String, Value)| {
        let bytes = match form {
            Form::Json => {
                let mut out = Vec::new();
                write_string(&key, &mut out);
                out.push(b':');
                json::write(shape, &value, &mut out);
                out
            }
            Form::Protobuf => {
                let mut writer = Writer::default();
                writer.named(number, &key, shape, &value);
                writer.finish()
            }
        };
        Member { key, bytes }
    };
    members.into_iter().map(write).collect()
}

/// Assembles a document: calls `emit` with each of its parts in turn. `paths` and `schemas` are the
/// lengths of the members, in document order.
pub fn assemble(
    edition: Edition,
    form: Form,
    frame: Frame<'_>,
    paths: &[usize],
    schemas: &[usize],
    emit: &mut dyn FnMut(Section<'_>),
) {
    match form {
        Form::Json => assemble_json(edition, frame, paths.len(), schemas.len(), emit),
        Form::Protobuf => assemble_protobuf(edition, frame, paths, schemas, emit),
    }
}

fn assemble_json(
    edition: Edition,
    frame: Frame<'_>,
    paths: usize,
    schemas: usize,
    emit: &mut dyn FnMut(Section<'_>),
) {
    let mut head = Vec::new();
    head.extend_from_slice(match edition {
        Edition::V2 => br#"{"swagger":"2.0","info":{"title":"#,
        Edition::V3 => br#"{"openapi":"3.0.0","info":{"title":"#,
    });
    write_string(frame.title, &mut head);
    head.extend_from_slice(br#","version":"#);
    write_string(frame.version, &mut head);
    head.extend_from_slice(br#"},"paths":{"#);
    emit(Section::Text(&head));
    separated(paths, Section::Path, emit);
    emit(Section::Text(match edition {
        Edition::V2 => br#"},"definitions":{"#,
        Edition::V3 => br#"},"components":{"schemas":{"#,
    }));
    separated(schemas, Section::Schema, emit);
    if edition == Edition::V3 {
        emit(Section::Text(b"}}}"));
        return;
    }
    let mut tail = br#"},"parameters":{"#.to_vec();
    for (i, member) in
        written(parameters::v2_shared(), &shape::v2::PARAMETER, 1, Form::Json).iter().enumerate()
    {
        if i > 0 {
            tail.push(b',');
        }
        tail.extend_from_slice(&member.bytes);
    }
    tail.extend_from_slice(
        br#"},"securityDefinitions":{"BearerToken":{"description":"Bearer Token authentication","type":"apiKey","name":"authorization","in":"header"}},"security":[{"BearerToken":[]}]}"#,
    );
    emit(Section::Text(&tail));
}

fn separated(count: usize, section: impl Fn(usize) -> Section<'static>, emit: &mut dyn FnMut(Section<'_>)) {
    for i in 0..count {
        if i > 0 {
            emit(Section::Text(b","));
        }
        emit(section(i));
    }
}

fn assemble_protobuf(
    edition: Edition,
    frame: Frame<'_>,
    paths: &[usize],
    schemas: &[usize],
    emit: &mut dyn FnMut(Section<'_>),
) {
    let mut info = Vec::new();
    proto::text(1, frame.title, &mut info);
    let (version, paths_field) = match edition {
        Edition::V2 => (2, 8),
        Edition::V3 => (6, 4),
    };
    proto::text(version, frame.version, &mut info);
    let mut out = Vec::new();
    proto::text(1, if edition == Edition::V2 { "2.0" } else { "3.0.0" }, &mut out);
    proto::frame(2, &[&info], &mut out);
    proto::head(paths_field, paths.iter().sum(), &mut out);
    emit(Section::Text(&out));
    (0..paths.len()).for_each(|i| emit(Section::Path(i)));
    out.clear();
    let length: usize = schemas.iter().sum();
    match edition {
        Edition::V2 => proto::head(9, length, &mut out),
        Edition::V3 => {
            let mut inner = Vec::new();
            proto::head(1, length, &mut inner);
            proto::head(5, inner.len() + length, &mut out);
            out.extend(inner);
        }
    }
    emit(Section::Text(&out));
    (0..schemas.len()).for_each(|i| emit(Section::Schema(i)));
    if edition == Edition::V3 {
        return;
    }
    out.clear();
    let shared = written(parameters::v2_shared(), &shape::v2::PARAMETER, 1, Form::Protobuf);
    let shared: Vec<&[u8]> = shared.iter().map(|member| member.bytes.as_slice()).collect();
    proto::frame(10, &shared, &mut out);
    // security: [{BearerToken: []}]
    let mut pair = Vec::new();
    proto::text(1, "BearerToken", &mut pair);
    proto::frame(2, &[], &mut pair);
    let mut requirement = Vec::new();
    proto::frame(1, &[&pair], &mut requirement);
    proto::frame(12, &[&requirement], &mut out);
    // securityDefinitions
    let mut key = Vec::new();
    for (number, text) in
        [(1, "apiKey"), (2, "authorization"), (3, "header"), (4, "Bearer Token authentication")]
    {
        proto::text(number, text, &mut key);
    }
    let mut choice = Vec::new();
    proto::frame(2, &[&key], &mut choice);
    let mut pair = Vec::new();
    proto::text(1, "BearerToken", &mut pair);
    proto::frame(2, &[&choice], &mut pair);
    let mut definitions = Vec::new();
    proto::frame(1, &[&pair], &mut definitions);
    proto::frame(13, &[&definitions], &mut out);
    emit(Section::Text(&out));
}

impl Member {
    /// The order of members in a document.
    pub fn order(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A namespaced custom resource without a schema.
    pub(crate) fn foo() -> Resource<'static> {
        Resource {
            group: "stable.example.com",
            version: "v1",
            plural: "foos",
            kind: "Foo",
            list_kind: "FooList",
            namespaced: true,
            status: false,
            scale: false,
            selectable_fields: &[],
            schema: None,
            types: None,
            preserve_unknown_fields: false,
            built_in: false,
            deletes_collections: true,
        }
    }

    fn whole(edition: Edition, form: Form) -> Vec<u8> {
        let fragment = fragment(&foo(), edition, form);
        let lengths = |members: &[Member]| members.iter().map(|m| m.bytes.len()).collect::<Vec<_>>();
        let mut out = Vec::new();
        assemble(
            edition,
            form,
            Frame { title: "t", version: "v" },
            &lengths(&fragment.paths),
            &lengths(&fragment.schemas),
            &mut |section| {
                out.extend_from_slice(match section {
                    Section::Text(text) => text,
                    Section::Path(i) => &fragment.paths[i].bytes,
                    Section::Schema(i) => &fragment.schemas[i].bytes,
                });
            },
        );
        out
    }

    #[test]
    fn documents_are_json() {
        for edition in [Edition::V2, Edition::V3] {
            let document = pleach_json::parse(&whole(edition, Form::Json)).unwrap();
            let path = "/apis/stable.example.com/v1/namespaces/{namespace}/foos/{name}";
            let id = document.at(&["paths", path, "get", "operationId"]).and_then(Value::as_str);
            assert_eq!(id, Some("readStableExampleComV1NamespacedFoo"), "{edition:?}");
        }
    }

    #[test]
    fn protobuf_messages_have_their_lengths() {
        for edition in [Edition::V2, Edition::V3] {
            let bytes = whole(edition, Form::Protobuf);
            let mut rest = bytes.as_slice();
            let mut fields = Vec::new();
            while !rest.is_empty() {
                let tag = varint(&mut rest);
                let length = varint(&mut rest) as usize;
                fields.push(tag >> 3);
                rest = &rest[length..];
            }
            let want: &[u64] = match edition {
                Edition::V2 => &[1, 2, 8, 9, 10, 12, 13],
                Edition::V3 => &[1, 2, 4, 5],
            };
            assert_eq!(fields, want, "{edition:?}");
        }
    }

    fn varint(rest: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = rest[0];
            *rest = &rest[1..];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }
}
