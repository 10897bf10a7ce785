//! Answers to requests for objects: an object, a Scale or a list as it is, as a Table or as PartialObjectMetadata.

use http::Response;
use pleach_auth::Verb;
use pleach_engine::list::Listing;
use pleach_engine::object::Object;
use pleach_engine::rejection::Rejection;
use pleach_engine::shape::{self, IncludeObject};
use pleach_engine::target::Target;
use pleach_engine::write::WriteResult;
use pleach_json::{Map, Value};

use crate::accept::{Encoding, Transform};
use crate::app::{App, Call};
use crate::body::Body;
use crate::listing::{List, Shown};
use crate::outcome::Outcome;
use crate::respond::{self, ResponseFormat};
use pleach_protobuf as protobuf;

/// Whether the response to a write can have the negotiated transformation.
pub(super) fn check_shape(
    call: &Call<'_>,
    target: &Target,
    verb: &Verb,
    format: &ResponseFormat,
) -> Result<(), Rejection> {
    match format.accepted.transform {
        Transform::Partial(_) if *verb == Verb::DeleteCollection => Err(partial_of_list(target)),
        Transform::PartialList(_) if *verb != Verb::DeleteCollection => {
            Err(Rejection::Plain("content is not a list".into()))
        }
        Transform::Table(_) => include_object(call).map(drop),
        _ => Ok(()),
    }
}

/// The response to a write that may have created its object.
pub(super) fn answer_write(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    WriteResult { object, created }: WriteResult,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let code = if created { Outcome::Created } else { Outcome::Ok };
    answer(app, call, target, code, object, format)
}

/// One object in the negotiated form.
pub(super) fn answer(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    code: Outcome,
    object: Object,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    match format.accepted.transform {
        Transform::None => respond::object(code, object, format),
        Transform::Partial(version) => {
            let partial = shape::partial(&object.into_value()?, version.api_version());
            Ok(respond::value(code, &partial, format))
        }
        Transform::PartialList(_) => Err(Rejection::Plain("content is not a list".into())),
        Transform::Table(version) => {
            let value = object.into_value()?;
            let mut metadata = Map::new();
            if let Some(rv) = value.at(&["metadata", "resourceVersion"]) {
                metadata.insert("resourceVersion", rv.clone());
            }
            let include = include_object(call)?;
            let now = app.engine.now_seconds();
            let row = shape::row(&target.kind, target.version(), &value, include, version.api_version(), now);
            let columns = shape::column_definitions(&target.kind, target.version());
            let table = shape::table(columns, vec![row], version.api_version(), metadata);
            Ok(respond::value(code, &table, format))
        }
    }
}

/// A Scale in the negotiated form.
pub(super) fn answer_scale(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    scale: Value,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let value = match format.accepted.transform {
        Transform::None => scale,
        Transform::Partial(version) => shape::partial(&scale, version.api_version()),
        Transform::PartialList(_) => return Err(Rejection::Plain("content is not a list".into())),
        Transform::Table(version) => {
            let include = include_object(call)?;
            shape::scale_table(&target.kind, scale, include, version.api_version(), app.engine.now_seconds())
        }
    };
    Ok(respond::value(Outcome::Ok, &value, format))
}

/// A list in the negotiated form. Its items are transformed as they are sent.
pub(super) fn answer_list(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    listing: Listing,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let transform = format.accepted.transform;
    let metadata = list_metadata(&listing, transform == Transform::None && target.kind.is_custom());
    if format.accepted.encoding == Encoding::Protobuf
        && let Some(message) = list_message(target, transform, &metadata, &listing)?
    {
        return Ok(respond::bytes(Outcome::Ok, Encoding::Protobuf, message, format));
    }
    let items = listing.items;
    let (mut before, mut after) = (Map::new(), Map::new());
    let list = match transform {
        Transform::None => {
            before.insert("apiVersion", target.version().api_version.clone());
            after.insert("kind", target.kind.list_kind.clone());
            after.insert("metadata", metadata);
            let without: &[_] = if target.kind.is_custom() { &[] } else { &TYPE_MEMBERS };
            List { before, key: "items", items, shown: None, without, after }
        }
        Transform::Partial(_) => {
            return Err(partial_of_list(target));
        }
        Transform::PartialList(version) if items.is_empty() => {
            let list = shape::partial_list(Vec::new(), version.api_version(), metadata);
            return Ok(respond::value(Outcome::Ok, &list, format));
        }
        Transform::PartialList(version) => {
            let version = version.api_version();
            before.insert("apiVersion", version);
            after.insert("kind", "PartialObjectMetadataList");
            after.insert("metadata", metadata);
            let shown: Shown =
                Box::new(move |item| Ok(Object::Value(shape::partial(&item.into_value()?, version))));
            List { before, key: "items", items, shown: Some(shown), without: &[], after }
        }
        Transform::Table(version) => {
            let include = include_object(call)?;
            let version = version.api_version();
            let now = app.engine.now_seconds();
            before.insert("apiVersion", version);
            before.insert("columnDefinitions", shape::column_definitions(&target.kind, target.version()));
            before.insert("kind", "Table");
            before.insert("metadata", metadata);
            let (kind, at) = (target.kind.clone(), target.version);
            let shown: Shown = Box::new(move |item| {
                let item = item.into_value()?;
                Ok(Object::Value(shape::row(&kind, &kind.versions[at], &item, include, version, now)))
            });
            List { before, key: "rows", items, shown: Some(shown), without: &[], after }
        }
    };
    respond::list(list, format)
}

fn partial_of_list(target: &Target) -> Rejection {
    let go_type = if target.kind.is_custom() { "*unstructured.UnstructuredList" } else { "list" };
    Rejection::NotAcceptable(format!(
        "you requested PartialObjectMetadata, but the requested object is a list ({go_type})"
    ))
}

/// Members that items of built-in kinds lack in a list, which has them itself.
const TYPE_MEMBERS: [&str; 2] = ["apiVersion", "kind"];

/// A list in protobuf; `None` if the negotiated form has no protobuf message.
fn list_message(
    target: &Target,
    transform: Transform,
    metadata: &Map,
    listing: &Listing,
) -> Result<Option<Vec<u8>>, Rejection> {
    let kind = &target.kind;
    let items = listing.items.iter().map(Object::to_value);
    match transform {
        Transform::None => {
            let version = &target.version().api_version;
            protobuf::list(version, &kind.list_kind, &kind.kind, metadata, items)
        }
        Transform::PartialList(version) => protobuf::list(
            version.api_version(),
            "PartialObjectMetadataList",
            "PartialObjectMetadata",
            metadata,
            items,
        ),
        Transform::Partial(_) | Transform::Table(_) => Ok(None),
    }
}

/// A list's metadata; lists of custom resources always say where they continue.
fn list_metadata(listing: &Listing, always_continue: bool) -> Map {
    let mut metadata = Map::new();
    match &listing.next {
        Some(token) => {
            metadata.insert("continue", token.as_str());
        }
        None if always_continue => {
            metadata.insert("continue", "");
        }
        None => {}
    }
    if let Some(remaining) = listing.remaining {
        metadata.insert("remainingItemCount", remaining as i64);
    }
    metadata.insert("resourceVersion", listing.revision.to_string());
    metadata
}

/// The objects in the rows of a table: `includeObject`.
pub fn include_object(call: &Call<'_>) -> Result<IncludeObject, Rejection> {
    match call.query.text("includeObject") {
        "" | "Metadata" => Ok(IncludeObject::Metadata),
        "Object" => Ok(IncludeObject::Object),
        "None" => Ok(IncludeObject::None),
        other => Err(Rejection::BadRequest(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be 'Metadata', 'Object', 'None', or empty"
        ))),
    }
}
