//! A watch on the wire: one JSON document or protobuf message per event, as long as client, server and kind last.
//!
//! A frame is worked out once for all watchers that want the same (see the engine's event cache).
//! The initial state is not copied: each object is sent from where it is stored.
//! A client that does not read fills its small queue; the engine's watch then falls behind and ends
//! with an error the client knows, and no event is skipped.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use pleach_engine::object::Object;
use pleach_engine::options::Context;
use pleach_engine::rejection::Rejection;
use pleach_engine::shape::{self, IncludeObject};
use pleach_engine::target::Target;
use pleach_engine::watch::{Item, WatchEvent, WatchStream};
use pleach_json::{Map, Value};
use pleach_meta::Status;
use pleach_meta::selector::FieldSelector;
use pleach_store::Revision;
use tokio::time::{Instant, sleep_until};

use crate::accept::{Accepted, Encoding, MetaVersion, Transform};
use crate::app::{App, Call};
use crate::body::Body;
use crate::cbor;
use crate::chunk::{Chunk, Stored};
use crate::flow_control::Place;
use crate::metrics::Watched;
use crate::options;
use crate::outcome::Outcome;
use crate::resource::include_object;
use crate::respond::status_json;
use crate::watch_queue::{self, Sender};
use crate::websocket::{self, Messages};
use pleach_protobuf as protobuf;

/// How often a client that requested bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long before its end a watch says where to go on.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Watches without a timeout end after this and up to twice this, so that they do not all end at once.
const SHORTEST: u64 = 1800;
/// No watch lasts longer, whatever a client asks for: some ten years, which clocks can add to the present.
const LONGEST: u64 = 10 * 366 * 24 * 3600;

/// Opens a watch and responds with its stream. The form of the stream is negotiated last.
pub async fn open(
    app: &Arc<App>,
    call: &Call<'_>,
    mut target: Target,
    accepted: Result<Accepted, Rejection>,
    context: &mut Context,
    place: Option<Arc<Place>>,
) -> Result<Response<Body>, Rejection> {
    let _ = context;
    let (mut options, timeout) = options::watch_options(call.query, app.engine.gates().watch_list)?;
    if let Some(name) = target.name.take() {
        pin_name(&mut options.fields, &name)?;
    }
    let bookmarks = options.bookmarks;
    let opened = app.engine.watch(&target, options).await?;
    let shape = Shape::new(call, accepted?)?;
    let media_type = match shape.encoding {
        Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Encoding::Cbor => cbor::SEQUENCE,
        Encoding::Json | Encoding::Yaml => "application/json",
    };
    let (frames, body) = watch_queue::queue();
    match opened {
        Err(status) => {
            // The stream begins and ends with the error.
            frames.first(shape.error(&status).into());
        }
        Ok(stream) => {
            let timeout =
                timeout.unwrap_or_else(|| SHORTEST + app.engine.random_below(SHORTEST)).min(LONGEST);
            let deadline = Instant::now() + Duration::from_secs(timeout);
            let watched = Watched::of(&target);
            app.metrics.watch_began(&watched);
            let run = Run { app: app.clone(), watched, shape, bookmarks, deadline, frames, place };
            tokio::spawn(run.run(stream));
        }
    }
    if websocket::is_requested(&call.headers) {
        return Ok(websocket::response(&call.headers, body, shape.messages()));
    }
    let mut response = Response::new(Body::events(body));
    *response.status_mut() = Outcome::Ok.code();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// The path named an object: only that one is watched.
fn pin_name(fields: &mut FieldSelector, name: &str) -> Result<(), Rejection> {
    match fields.requires_exact_match("metadata.name") {
        Some(given) if given != name => {
            Err(Rejection::BadRequest("fieldSelector metadata.name doesn't match requested name".into()))
        }
        Some(_) => Ok(()),
        None => {
            *fields =
                FieldSelector::parse(&format!("metadata.name={name}")).map_err(Rejection::BadRequest)?;
            Ok(())
        }
    }
}

/// The form of events.
#[derive(Clone, Copy)]
struct Shape {
    encoding: Encoding,
    transform: Transform,
    include: IncludeObject,
}

impl Shape {
    fn new(call: &Call<'_>, accepted: Accepted) -> Result<Self, Rejection> {
        let include = match accepted.transform {
            Transform::Table(_) => include_object(call)?,
            _ => IncludeObject::Metadata,
        };
        let transform = match accepted.transform {
            Transform::PartialList(_) => {
                return Err(Rejection::NotAcceptable(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*unstructured.Unstructured)".into(),
                ));
            }
            other => other,
        };
        Ok(Self { encoding: accepted.encoding, transform, include })
    }

    /// The key of frames in the cache; `None` for frames that are not shared.
    fn key(self) -> Option<u8> {
        let transform = match self.transform {
            Transform::None => 0,
            Transform::Partial(MetaVersion::V1) => 1,
            Transform::Partial(MetaVersion::V1beta1) => 2,
            // Ages in a table depend on the moment, its columns on whether it is the first.
            Transform::Table(_) | Transform::PartialList(_) => return None,
        };
        Some(match self.encoding {
            Encoding::Json | Encoding::Yaml => transform,
            Encoding::Protobuf => transform + 3,
            Encoding::Cbor => transform + 6,
        })
    }

    /// How events are sent over a WebSocket.
    fn messages(self) -> Messages {
        match self.encoding {
            Encoding::Json | Encoding::Yaml => Messages::Text,
            Encoding::Protobuf => Messages::BinaryWithoutLength,
            Encoding::Cbor => Messages::Binary,
        }
    }

    /// The frame of an object.
    fn event(self, event_type: &str, object: &Value) -> Bytes {
        if self.encoding == Encoding::Protobuf
            && let Some(message) = protobuf::encode(object)
        {
            return protobuf::event(event_type, &message).into();
        }
        if self.encoding == Encoding::Cbor {
            return cbor::event(event_type, object).into();
        }
        event(event_type, &pleach_json::to_vec(object))
    }

    fn error(self, status: &Status) -> Bytes {
        if self.encoding == Encoding::Protobuf {
            return protobuf::event("ERROR", &protobuf::status(status, None)).into();
        }
        if self.encoding == Encoding::Cbor {
            return cbor::event("ERROR", &status.to_value()).into();
        }
        event("ERROR", &status_json(status, None))
    }
}

/// A watch that is being served.
struct Run {
    app: Arc<App>,
    watched: Watched,
    shape: Shape,
    bookmarks: bool,
    deadline: Instant,
    frames: Sender,
    /// The seats of the request, until the objects are sent that were there when the watch began.
    place: Option<Arc<Place>>,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.app.metrics.watch_ended(&self.watched);
        // The panic hook has written it to the log; the client sees its stream end.
        if std::thread::panicking() {
            self.app.metrics.panicked();
        }
    }
}

impl Run {
    async fn run(mut self, mut stream: WatchStream) {
        let mut stopping = self.app.stopping();
        let mut first_table = true;
        let mut last_sent = Revision(0);
        let last_bookmark = self.deadline.checked_sub(LAST_BOOKMARK).unwrap_or(self.deadline);
        let mut next_bookmark = (Instant::now() + BOOKMARK_EVERY).min(last_bookmark);
        // They wait from one event to the next, so that an event does not make and register them anew.
        let stopped = async { drop(stopping.wait_for(|stop| *stop).await) };
        let (closed, ended, bookmark_due) =
            (self.frames.closed(), sleep_until(self.deadline), sleep_until(next_bookmark));
        tokio::pin!(stopped, closed, ended, bookmark_due);
        loop {
            if self.place.is_some() && !stream.is_beginning() {
                self.place = None;
            }
            let item = tokio::select! {
                biased;
                () = &mut stopped => return,
                () = &mut closed => return,
                item = stream.next() => item,
                () = &mut ended => return,
                () = &mut bookmark_due, if self.bookmarks => {
                    next_bookmark += BOOKMARK_EVERY;
                    if next_bookmark > last_bookmark && Instant::now() < last_bookmark {
                        next_bookmark = last_bookmark;
                    }
                    bookmark_due.as_mut().reset(next_bookmark);
                    let Some(revision) = stream.progress().filter(|revision| *revision > last_sent) else { continue };
                    last_sent = revision;
                    let frame = self.bookmark(stream.target(), revision, false, &mut first_table);
                    if self.frames.send(frame.into()).await.is_err() {
                        return;
                    }
                    continue;
                }
            };
            let frame = match item {
                None => return,
                Some(Item::Event(event)) => self.frame(stream.target(), &event, &mut first_table),
                Some(Item::InitialEnd(revision)) => {
                    if !self.bookmarks {
                        continue;
                    }
                    last_sent = revision;
                    Ok(self.bookmark(stream.target(), revision, true, &mut first_table).into())
                }
                Some(Item::Failed(status)) => {
                    let _ = self.frames.send(self.shape.error(&status).into()).await;
                    return;
                }
            };
            match frame {
                Ok(frame) => {
                    if self.frames.send(frame).await.is_err() {
                        return;
                    }
                }
                Err(rejection) => {
                    let _ = self.frames.send(self.shape.error(&rejection.into_status()).into()).await;
                    return;
                }
            }
        }
    }

    fn frame(&self, target: &Target, event: &WatchEvent, first_table: &mut bool) -> Result<Chunk, Rejection> {
        let event_type = event.change.as_str();
        // An object of the initial state is sent as it is stored: watchers share it with the store.
        if self.shape.transform == Transform::None
            && self.shape.encoding == Encoding::Json
            && let Some(Object::Stored(record)) = event.initial()
        {
            return Ok(Chunk::Stored(Stored::within(record, ADDED, EVENT_END)));
        }
        if let Some(key) = self.shape.key() {
            event.frame(key, |object| self.encode(event_type, object)).map(Chunk::from)
        } else {
            let value = event.object()?.into_value()?;
            let table = self.table(target, &value, self.shape.include, first_table);
            Ok(self.shape.event(event_type, &table).into())
        }
    }

    fn encode(&self, event_type: &str, object: &Object) -> Result<Bytes, Rejection> {
        match self.shape.transform {
            Transform::Partial(version) => {
                let partial = shape::partial(&object.to_value()?, version.api_version());
                Ok(self.shape.event(event_type, &partial))
            }
            _ if self.shape.encoding != Encoding::Json => {
                Ok(self.shape.event(event_type, &object.to_value()?))
            }
            _ => {
                let mut json = Vec::with_capacity(2048);
                object.write_json(&mut json);
                Ok(event(event_type, &json))
            }
        }
    }

    fn table(&self, target: &Target, value: &Value, include: IncludeObject, first_table: &mut bool) -> Value {
        let Transform::Table(version) = self.shape.transform else { return Value::Null };
        let kind_version = target.version();
        let now = self.app.engine.now_seconds();
        let row = shape::row(&target.kind, kind_version, value, include, version.api_version(), now);
        let columns = if std::mem::take(first_table) {
            shape::column_definitions(&target.kind, kind_version)
        } else {
            Value::Null
        };
        let mut metadata = Map::new();
        if let Some(rv) = value.at(&["metadata", "resourceVersion"]) {
            metadata.insert("resourceVersion", rv.clone());
        }
        shape::table(columns, vec![row], version.api_version(), metadata)
    }

    /// An object of the kind with nothing but a resource version.
    fn bookmark(
        &self,
        target: &Target,
        revision: Revision,
        initial_end: bool,
        first_table: &mut bool,
    ) -> Bytes {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion", revision.to_string());
        if initial_end {
            let mut annotations = Map::new();
            annotations.insert("k8s.io/initial-events-end", "true");
            metadata.insert("annotations", annotations);
        }
        let mut object = Map::new();
        object.insert("apiVersion", target.version().api_version.clone());
        object.insert("kind", target.kind.kind.clone());
        object.insert("metadata", metadata);
        let object = Value::from(object);
        let shown = match self.shape.transform {
            Transform::Partial(version) => shape::partial(&object, version.api_version()),
            Transform::Table(_) => {
                // The row carries the annotation even if no objects were requested.
                let include = if initial_end && self.shape.include == IncludeObject::None {
                    IncludeObject::Metadata
                } else {
                    self.shape.include
                };
                self.table(target, &object, include, first_table)
            }
            _ => object,
        };
        self.shape.event("BOOKMARK", &shown)
    }
}

/// The bytes before an object of the initial state.
const ADDED: &[u8] = b"{\"type\":\"ADDED\",\"object\":";
const EVENT_END: &[u8] = b"}\n";

/// `{"type":…,"object":…}` and a newline.
fn event(event_type: &str, object: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(object.len() + 40);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event_type.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(EVENT_END);
    out.into()
}
