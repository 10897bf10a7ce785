//! Kubernetes protobuf: objects of built-in kinds, CustomResourceDefinitions, statuses and metadata, read and written.
//!
//! A message is wrapped in the `runtime.Unknown` envelope behind the magic `k8s\0`. What is in it is described by one
//! table (`messages.rs`), by which it is read into the object that its JSON would be (`read.rs`) and written from it
//! (`write.rs`). Custom resources have no protobuf form.

mod go_name;
mod messages;
mod read;
mod wire;
mod write;

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use pleach_json::{Map, Value};
use pleach_meta::Status;
use pleach_pipeline::body::Unreadable;

use messages::{DELETE_OPTIONS, LIST_META, Message, STATUS, message};
pub use wire::WireError;
use wire::{Content, Reader, Writer, utf8};

const MAGIC: &[u8; 4] = b"k8s\0";

/// Whether a kind has a protobuf form.
pub fn has_message(api_version: &str, kind: &str) -> bool {
    message(api_version, kind).is_some()
}

/// The content of an envelope.
struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

/// Opens an envelope.
fn open(body: &[u8]) -> Result<Envelope<'_>, WireError> {
    if body.is_empty() {
        return Err("empty data".into());
    }
    let Some(unknown) = body.strip_prefix(MAGIC.as_slice()) else {
        return Err(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".into()
        );
    };
    if unknown.is_empty() {
        return Err("empty body".into());
    }
    let mut envelope = Envelope { api_version: "", kind: "", raw: &[] };
    let mut reader = Reader(unknown);
    while let Some((number, content)) = reader.field()? {
        match (number, content) {
            (1, Content::Bytes(bytes)) => {
                let mut type_meta = Reader(bytes);
                while let Some((number, content)) = type_meta.field()? {
                    match (number, content) {
                        (1, Content::Bytes(text)) => envelope.api_version = utf8(text)?,
                        (2, Content::Bytes(text)) => envelope.kind = utf8(text)?,
                        (1, content) => return Err(wire::wrong_type(&content, "APIVersion")),
                        (2, content) => return Err(wire::wrong_type(&content, "Kind")),
                        _ => {}
                    }
                }
            }
            (2, Content::Bytes(bytes)) => envelope.raw = bytes,
            (1, content) => return Err(wire::wrong_type(&content, "TypeMeta")),
            (2, content) => return Err(wire::wrong_type(&content, "Raw")),
            _ => {}
        }
    }
    Ok(envelope)
}

/// The version and kind of the object in an envelope.
pub fn type_meta(body: &[u8]) -> Result<(&str, &str), WireError> {
    open(body).map(|envelope| (envelope.api_version, envelope.kind))
}

/// The object in a body for a path of this kind. One of another kind is returned without its fields: it is refused
/// for what it is.
pub fn object(body: &[u8], api_version: &str, kind: &str) -> Result<Value, Unreadable> {
    let envelope = open(body).map_err(Unreadable::Body)?;
    let Some(message) = message(api_version, kind) else {
        return Err(Unreadable::Object("Object 'Kind' is missing in 'object has no kind field '".into()));
    };
    let found = (
        if envelope.api_version.is_empty() { api_version } else { envelope.api_version },
        if envelope.kind.is_empty() { kind } else { envelope.kind },
    );
    let mut object = if found == (api_version, kind) {
        read::read(envelope.raw, message).map_err(Unreadable::Object)?
    } else {
        Map::new()
    };
    object.insert("apiVersion", found.0);
    object.insert("kind", found.1);
    Ok(object.into())
}

/// The object in a body of any kind that has a message.
pub fn any_object(body: &[u8]) -> Option<Value> {
    let envelope = open(body).ok()?;
    object(body, envelope.api_version, envelope.kind).ok()
}

/// The content of an answer: an object, a list or a `Status`, as its JSON would be.
pub fn answer(body: &[u8]) -> Option<Value> {
    let envelope = open(body).ok()?;
    let (api_version, kind) = (envelope.api_version, envelope.kind);
    let mut answer = match kind.strip_suffix("List").and_then(|kind| message(api_version, kind)) {
        Some(item) => read_list(envelope.raw, item)?,
        None => return object(body, api_version, kind).ok(),
    };
    answer.insert("apiVersion", api_version);
    answer.insert("kind", kind);
    Some(answer.into())
}

/// Metadata and items of a list, as [`list`] writes them.
fn read_list(raw: &[u8], item: &'static Message) -> Option<Map> {
    let (mut list, mut items) = (Map::new(), Vec::new());
    let mut reader = Reader(raw);
    while let Some((number, content)) = reader.field().ok()? {
        match (number, content) {
            (1, Content::Bytes(metadata)) => {
                list.insert("metadata", read::read(metadata, *LIST_META).ok()?);
            }
            (2, Content::Bytes(bytes)) => items.push(Value::from(read::read(bytes, item).ok()?)),
            _ => {}
        }
    }
    list.insert("items", items);
    Some(list)
}

/// The options in the body of a deletion, whatever version they say they are of.
pub fn delete_options(body: &[u8]) -> Result<Value, WireError> {
    let envelope = open(body)?;
    let mut options = match envelope.kind {
        "" | "DeleteOptions" => read::read(envelope.raw, *DELETE_OPTIONS)?,
        _ => Map::new(),
    };
    options.insert("apiVersion", envelope.api_version);
    options.insert("kind", envelope.kind);
    Ok(options.into())
}

/// Writes an envelope, with the magic, around what `message` writes.
fn enclose<E>(
    api_version: &str,
    kind: &str,
    message: impl FnOnce(&mut Writer) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let mut out = Writer::default();
    // Content encoding and type, which Go writes empty.
    out.bytes(4, b"");
    out.bytes(3, b"");
    let before = out.len();
    message(&mut out)?;
    out.close(2, before);
    let before = out.len();
    out.bytes(2, kind.as_bytes());
    out.bytes(1, api_version.as_bytes());
    out.close(1, before);
    out.put(MAGIC);
    Ok(out.finish())
}

fn write_object(object: &Map, message: &'static Message) -> Vec<u8> {
    let text = |key: &str| object.get_str(key).unwrap_or_default();
    let written = enclose(text("apiVersion"), text("kind"), |out| {
        write::write(out, object, message);
        Ok::<(), Infallible>(())
    });
    written.unwrap_or_else(|never| match never {})
}

/// An object in its envelope; `None` if its kind has no protobuf form.
pub fn encode(object: &Value) -> Option<Vec<u8>> {
    let object = object.as_object()?;
    let text = |key: &str| object.get_str(key).unwrap_or_default();
    let message = message(text("apiVersion"), text("kind"))?;
    Some(write_object(object, message))
}

/// A `Status`; `resume` is where a list goes on that has expired.
pub fn status(status: &Status, resume: Option<&str>) -> Vec<u8> {
    let mut value = status.to_value();
    if let (Some(token), Some(members)) = (resume, value.as_object_mut()) {
        let mut metadata = Map::new();
        metadata.insert("continue", token);
        members.insert("metadata", metadata);
    }
    value.as_object().map(|members| write_object(members, *STATUS)).unwrap_or_default()
}

/// A list: `{1 metadata, 2 items}`, of what items of this version and kind have of the objects; `None` if they have no
/// protobuf form.
pub fn list<E>(
    api_version: &str,
    list_kind: &str,
    item_kind: &str,
    metadata: &Map,
    items: impl DoubleEndedIterator<Item = Result<Value, E>>,
) -> Result<Option<Vec<u8>>, E> {
    let Some(item) = message(api_version, item_kind) else { return Ok(None) };
    let written = enclose(api_version, list_kind, |out| {
        for object in items.rev() {
            let object = object?;
            let before = out.len();
            if let Some(members) = object.as_object() {
                write::write(out, members, item);
            }
            out.close(2, before);
        }
        let before = out.len();
        write::write(out, metadata, *LIST_META);
        out.close(1, before);
        Ok(())
    });
    written.map(Some)
}

/// The type and the object of an event, as [`event`] writes it; `None` if it is none, or its object has no message.
pub fn read_event(frame: &[u8]) -> Option<(&str, Value)> {
    let mut reader = Reader(frame.get(4..)?);
    let (mut event_type, mut object) = ("", None);
    while let Some((number, content)) = reader.field().ok()? {
        match (number, content) {
            (1, Content::Bytes(text)) => event_type = utf8(text).ok()?,
            (2, Content::Bytes(extension)) => {
                let Ok(Some((1, Content::Bytes(bytes)))) = Reader(extension).field() else { return None };
                object = answer(bytes);
            }
            _ => {}
        }
    }
    Some((event_type, object?))
}

/// An event of a watch: its length in four bytes, its type and its object, which has an envelope.
pub fn event(event_type: &str, object: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(1, object);
    out.close(2, 0);
    out.bytes(1, event_type.as_bytes());
    let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
    out.put(&length.to_be_bytes());
    out.finish()
}
