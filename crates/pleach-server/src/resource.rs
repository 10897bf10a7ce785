//! Requests for objects: which kind, which verb, and the engine's answer in the form asked for.

use std::sync::Arc;

use http::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use pleach_auth::{ResourceAttributes, Verb};
use pleach_engine::catalog::ServedKind;
use pleach_engine::delete::Deleted;
use pleach_engine::list::Listing;
use pleach_engine::object::Object;
use pleach_engine::options::{Body as RequestBody, Context, Format, PatchType};
use pleach_engine::rejection::{Rejection, Subject};
use pleach_engine::shape::{self, IncludeObject};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::write::Done;
use pleach_json::{Map, Value};
use pleach_meta::names::check_path_segment_name;
use pleach_meta::{Reason, Status, StatusDetails};

use crate::accept::{
    Accepted, Encoding, Endpoint, Transform, is_produced, negotiate_error, negotiate_object,
};
use crate::app::{App, Call, too_many_requests};
use crate::body::Body;
use crate::listing::{List, Shown};
use crate::metrics::Labels;
use crate::options;
use crate::outcome::Outcome;
use crate::protobuf;
use crate::request_body::Unread;
use crate::respond::{self, ResponseFormat};
use crate::watching;

const ACCEPTED: &str = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
/// What paths of built-in kinds produce.
const PRODUCED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const PRODUCED_BY_LISTS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
const ACCEPTED_STREAMS: &str = "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Serves a request for objects.
pub async fn serve(
    app: &Arc<App>,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    body: &mut Unread,
    labels: &mut Labels,
) -> Response<Body> {
    let verb = &call.attributes.verb;
    let Some((kind, version)) = find(app, info, verb) else { return unknown(app, call, info) };
    labels.set(verb, &kind, version, info.subresource);
    let mut context = Context {
        user: call.attributes.user.clone(),
        user_agent: call.header(USER_AGENT).unwrap_or_default().into(),
        warnings: kind.versions[version].deprecation.iter().map(ToString::to_string).collect(),
    };
    let target = Target {
        namespace: (kind.is_namespaced() && !info.namespace.is_empty()).then(|| info.namespace.into()),
        name: call.is_named.then(|| info.name.as_ref().into()),
        subresource: Subresource::None,
        version,
        kind,
    };
    if let Some(problem) = check_path_segment_name(target.name()).first() {
        let text = format!("Name parameter invalid: \"{}\": {problem}", target.name());
        return respond::rejection(Rejection::BadRequest(text), &error_format(call));
    }
    let mut response = if *verb == Verb::Watch {
        Box::pin(watch(app, call, target, &mut context)).await
    } else {
        let mutating = !verb.is_read_only();
        // A client that sends its body slowly takes no place meanwhile.
        if mutating && app.has_place(mutating, &call.attributes.user) {
            body.receive().await;
        }
        match app.admit(mutating, &call.attributes.user) {
            Some(place) => {
                if mutating {
                    app.yield_when_crowded().await;
                }
                let mut response = place.clone().hold(one(app, call, info, target, body, &mut context)).await;
                response.body_mut().hold(place);
                response
            }
            None => too_many_requests(),
        }
    };
    respond::add_warnings(response.headers_mut(), &context.warnings);
    response
}

/// The answer for a path that leads nowhere: where built-in kinds are served, it is theirs.
fn unknown(app: &App, call: &Call<'_>, info: &ResourceAttributes<'_>) -> Response<Body> {
    let built_in = |kind: &Arc<ServedKind>| !kind.is_custom() && kind.version(info.version).is_some();
    if info.group.is_empty() || app.engine.catalog().group(info.group).iter().any(built_in) {
        return respond::rejection(Rejection::UnknownPath, &error_format(call));
    }
    respond::page_not_found()
}

/// The kind and version that a path names, if they are served there.
fn find(app: &App, info: &ResourceAttributes<'_>, verb: &Verb) -> Option<(Arc<ServedKind>, usize)> {
    let kind = app.engine.catalog().get(info.group, info.resource)?;
    let names_itself = kind.strategy.is_its_own_namespace();
    if !kind.is_namespaced() && !info.namespace.is_empty() && !names_itself {
        return None;
    }
    if kind.is_namespaced() && info.namespace.is_empty() && !matches!(verb, Verb::List | Verb::Watch) {
        return None;
    }
    let version = kind.version(info.version)?;
    kind.versions[version].served.then_some((kind, version))
}

async fn one(
    app: &Arc<App>,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    mut target: Target,
    body: &mut Unread,
    context: &mut Context,
) -> Response<Body> {
    let verb = &call.attributes.verb;
    // A failure to negotiate is reported only after the path is known to exist.
    let format = match routed(call, info, &mut target) {
        Ok(accepted) => response_format(call, accepted),
        Err(rejection) => return respond::rejection(rejection, &error_format(call)),
    };
    // What cannot be shown is not done: a write that is made is not reported as failed.
    if !verb.is_read_only()
        && let Err(rejection) = check_shape(call, &target, verb, &format)
    {
        return respond::rejection(rejection, &error_format(call));
    }
    // The future of a request is moved several times before it runs, and is as large as its largest
    // branch: all but the smallest are kept elsewhere.
    let answer = match verb {
        Verb::Get => get(app, call, &target, &format).await,
        Verb::List => Box::pin(list(app, call, &target, &format)).await,
        Verb::Create => Box::pin(create(app, call, &target, body, context, &format)).await,
        Verb::Update => Box::pin(update(app, call, &target, body, context, &format)).await,
        Verb::Patch => Box::pin(patch(app, call, &target, body, context, &format)).await,
        Verb::Delete => Box::pin(delete(app, call, &target, body, context, &format)).await,
        _ => Box::pin(delete_collection(app, call, &target, body, context, &format)).await,
    };
    answer.unwrap_or_else(|rejection| respond::rejection(rejection, &error_format(call)))
}

/// Whether the response to a write can have the negotiated transformation.
fn check_shape(
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

/// What is decided before anything is looked up: the subresource, whether it has the verb, the type of a patch, and
/// the format of the response, in this order.
fn routed(
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    target: &mut Target,
) -> Result<Accepted, Rejection> {
    let verb = &call.attributes.verb;
    target.subresource = subresource(target, info)?;
    if !is_supported(target, verb) {
        if !target.kind.is_custom() {
            return Err(Rejection::UnknownMethod);
        }
        let subject = Subject { name: "".into(), ..target.subject() };
        return Err(Rejection::MethodNotAllowed { subject, verb: verb.as_str().into() });
    }
    if *verb == Verb::Patch {
        patch_type(call, target)?;
    }
    agree(call, target, if *verb == Verb::List { PRODUCED_BY_LISTS } else { PRODUCED })
}

/// Agrees on a representation of objects. Built-in kinds say first what they `produce`.
fn agree(call: &Call<'_>, target: &Target, produce: &'static str) -> Result<Accepted, Rejection> {
    let accept = call.accept();
    if !target.kind.is_custom() && !is_produced(accept.as_deref()) {
        return Err(Rejection::NotProduced(produce));
    }
    negotiate_object(accept.as_deref(), Endpoint::Objects, has_message(target))
        .ok_or_else(|| Rejection::NotAcceptable(ACCEPTED.into()))
}

/// Whether objects of the kind can be written in protobuf.
fn has_message(target: &Target) -> bool {
    !target.kind.is_custom() && protobuf::has_message(&target.version().api_version, &target.kind.kind)
}

fn response_format(call: &Call<'_>, accepted: Accepted) -> ResponseFormat {
    let gzip = respond::reads_gzip(&call.headers);
    ResponseFormat { accepted, pretty: accepted.pretty || call.pretty(), gzip }
}

/// The format of errors: negotiated anew, without transformations.
pub fn error_format(call: &Call<'_>) -> ResponseFormat {
    response_format(call, negotiate_error(call.accept().as_deref()))
}

fn subresource(target: &Target, info: &ResourceAttributes<'_>) -> Result<Subresource, Rejection> {
    let version = target.version();
    match info.subresource {
        "" => Ok(Subresource::None),
        "status" if version.status => Ok(Subresource::Status),
        "scale" if version.scale.is_some() => Ok(Subresource::Scale),
        "finalize" if target.kind.strategy.has_finalize() => Ok(Subresource::Finalize),
        _ if !target.kind.is_custom() => Err(Rejection::UnknownPath),
        _ => Err(Rejection::NotFound(target.subject())),
    }
}

fn is_supported(target: &Target, verb: &Verb) -> bool {
    match target.subresource {
        Subresource::None => *verb != Verb::NONE,
        Subresource::Finalize => *verb == Verb::Update,
        Subresource::Status | Subresource::Scale => matches!(verb, Verb::Get | Verb::Update | Verb::Patch),
    }
}

async fn get(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let freshness = options::get_options(call.query)?;
    let object = app.engine.get(target, freshness).await?;
    if target.subresource == Subresource::Scale {
        let scale = app.engine.scale_of(target, &object.into_value()?)?;
        return answer_scale(app, call, scale, format);
    }
    answer(app, call, target, Outcome::Ok, object, format)
}

async fn list(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let options = options::list_options(call.query)?;
    let listing = app.engine.list(target, &options).await?;
    answer_list(app, call, target, listing, format)
}

async fn create(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let body = request_body(call, target, body).await?;
    let options = options::write_options(call.query, "CreateOptions")?;
    let object = app.engine.create(target, &body, &options, context).await?;
    answer(app, call, target, Outcome::Created, object, format)
}

async fn update(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    if target.name.is_none() {
        return Err(Rejection::BadRequest("name must be provided".into()));
    }
    let options = options::write_options(call.query, "UpdateOptions")?;
    let body = request_body(call, target, body).await?;
    if target.subresource == Subresource::Scale {
        let scale = app.engine.update_scale(target, &body, &options, context).await?;
        return answer_scale(app, call, scale, format);
    }
    let done = app.engine.update(target, &body, &options, context).await?;
    answer_done(app, call, target, done, format)
}

async fn patch(
    app: &Arc<App>,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    if target.name.is_none() {
        return Err(Rejection::BadRequest("name must be provided".into()));
    }
    let patch_type = patch_type(call, target)?;
    let options = options::patch_options(call.query, patch_type)?;
    let bytes = body.read().await?;
    let body = RequestBody { bytes, format: Format::Json };
    if target.subresource == Subresource::Scale {
        let scale = app.engine.patch_scale(target, patch_type, &body, &options, context).await?;
        return answer_scale(app, call, scale, format);
    }
    if patch_type == PatchType::Apply {
        let done = app.engine.apply(target, &body, &options, context).await?;
        return answer_done(app, call, target, done, format);
    }
    let object = app.engine.patch(target, patch_type, &body, &options, context).await?;
    answer(app, call, target, Outcome::Ok, object, format)
}

async fn delete(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let options = delete_options(call, body).await?;
    match app.engine.delete(target, &options, context).await? {
        Deleted::Gone(uid) => {
            let status = Status {
                code: 0,
                success: true,
                reason: Reason::None,
                message: String::new(),
                details: Some(Box::new(StatusDetails {
                    name: target.name().into(),
                    group: target.kind.group.to_string(),
                    kind: target.kind.plural.to_string(),
                    uid: uid.to_string(),
                    ..StatusDetails::default()
                })),
            };
            Ok(respond::status(&status, format))
        }
        Deleted::Returned(object) => answer(app, call, target, Outcome::Ok, object, format),
        Deleted::Marked(object) => {
            let code = if options.explicit_not_orphan { Outcome::Accepted } else { Outcome::Ok };
            answer(app, call, target, code, object, format)
        }
    }
}

async fn delete_collection(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let list = options::list_options(call.query)?;
    let options = delete_options(call, body).await?;
    let listing = app.engine.delete_collection(target, &list, &options, context).await?;
    answer_list(app, call, target, listing, format)
}

async fn delete_options(
    call: &Call<'_>,
    body: &mut Unread,
) -> Result<pleach_engine::options::DeleteOptions, Rejection> {
    let format = match body_format(call) {
        // Without a body its type does not matter.
        Err(_) if call.header(CONTENT_LENGTH).is_none_or(|length| length == "0") => Encoding::Json,
        format => format?,
    };
    let bytes = body.read().await?;
    let read = match format {
        _ if bytes.is_empty() => return options::delete_options_of_query(call.query),
        Encoding::Json => pleach_json::parse(&bytes)
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}")),
        Encoding::Yaml => pleach_yaml::parse(&bytes).map_err(|error| error.to_string()),
        Encoding::Protobuf => protobuf::delete_options(&bytes),
    };
    options::delete_options(&read.map_err(Rejection::BadRequest)?)
}

/// The media type of the body, without parameters.
fn media_type<'a>(call: &'a Call<'_>) -> &'a str {
    call.header(CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

/// How a body is written, as it says itself.
pub fn body_format(call: &Call<'_>) -> Result<Encoding, Rejection> {
    let media = media_type(call);
    let known = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf];
    let found = known.into_iter().find(|encoding| media.eq_ignore_ascii_case(encoding.media_type()));
    match found {
        None if media.is_empty() => Ok(Encoding::Json),
        None => Err(Rejection::UnsupportedMediaType("the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf".into())),
        Some(format) => Ok(format),
    }
}

async fn request_body(call: &Call<'_>, target: &Target, body: &mut Unread) -> Result<RequestBody, Rejection> {
    let format = body_format(call)?;
    let bytes = body.read().await?;
    let format = match format {
        Encoding::Json => Format::Json,
        Encoding::Yaml => Format::Yaml,
        Encoding::Protobuf => {
            // A custom kind may have any name.
            let kind = if target.kind.is_custom() { "" } else { target.kind.kind.as_str() };
            Format::Read(protobuf::object(&bytes, &target.version().api_version, kind))
        }
    };
    Ok(RequestBody { bytes, format })
}

fn patch_type(call: &Call<'_>, target: &Target) -> Result<PatchType, Rejection> {
    let strategic = !target.kind.is_custom();
    match media_type(call) {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/apply-patch+yaml" => Ok(PatchType::Apply),
        "application/strategic-merge-patch+json" if strategic => Ok(PatchType::StrategicMerge),
        _ if strategic => Err(Rejection::NotConsumed),
        _ => Err(Rejection::UnsupportedMediaType("the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml".into())),
    }
}

/// What a write that may have made its object left behind, in the form asked for.
fn answer_done(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    Done { object, created }: Done,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let code = if created { Outcome::Created } else { Outcome::Ok };
    answer(app, call, target, code, object, format)
}

/// One object in the form asked for.
fn answer(
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

/// A Scale in the form asked for.
fn answer_scale(
    app: &App,
    call: &Call<'_>,
    scale: Value,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let value = match format.accepted.transform {
        Transform::None => scale,
        Transform::Partial(version) => shape::partial(&scale, version.api_version()),
        Transform::PartialList(_) => return Err(Rejection::Plain("content is not a list".into())),
        Transform::Table(version) => {
            let include = include_object(call)?;
            shape::scale_table(scale, include, version.api_version(), app.engine.now_seconds())
        }
    };
    Ok(respond::value(Outcome::Ok, &value, format))
}

/// A list in the form asked for. Its items are put into that form as they are sent.
fn answer_list(
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

/// What items of built-in kinds have not in a list, which says it for all of them.
const TYPE_MEMBERS: [&str; 2] = ["apiVersion", "kind"];

/// A list in protobuf; `None` if it is asked for as something that is none.
fn list_message(
    target: &Target,
    transform: Transform,
    metadata: &Map,
    listing: &Listing,
) -> Result<Option<Vec<u8>>, Rejection> {
    let kind = &target.kind;
    match transform {
        Transform::None => {
            let version = &target.version().api_version;
            protobuf::list(version, &kind.list_kind, &kind.kind, metadata, &listing.items)
        }
        Transform::PartialList(version) => protobuf::list(
            version.api_version(),
            "PartialObjectMetadataList",
            "PartialObjectMetadata",
            metadata,
            &listing.items,
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

/// How much of the objects goes into a table.
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

async fn watch(app: &Arc<App>, call: &Call<'_>, target: Target, context: &mut Context) -> Response<Body> {
    let listed = match agree(call, &target, PRODUCED_BY_LISTS) {
        Ok(listed) => listed,
        Err(rejection) => return respond::rejection(rejection, &error_format(call)),
    };
    // The second choice does not count: a client that would rather have YAML, which is no stream, gets none.
    let stream = negotiate_object(call.accept().as_deref(), Endpoint::Watch, has_message(&target))
        .filter(|_| listed.encoding != Encoding::Yaml)
        .ok_or_else(|| Rejection::NotAcceptable(ACCEPTED_STREAMS.into()));
    match watching::open(app, call, target, stream, context).await {
        Ok(response) => response,
        Err(rejection) => respond::rejection(rejection, &error_format(call)),
    }
}
