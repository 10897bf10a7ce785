//! The resource handler: finds kind and verb, and returns the engine's result in the negotiated form.

mod answer;
mod media_types;
mod request_body;
mod verbs;

use std::sync::Arc;

use http::Response;
use pleach_auth::{ResourceAttributes, Verb};
use pleach_engine::audit;
use pleach_engine::catalog::ServedKind;
use pleach_engine::options::Context;
use pleach_engine::rejection::{Rejection, Subject};
use pleach_engine::target::{Subresource, Target};
use pleach_meta::names::check_path_segment_name;

pub use self::answer::include_object;
use self::media_types::{PRODUCED, PRODUCED_BY_LISTS, agree, patch_type, response_format};
pub use self::media_types::{agree_on_unstored, body_format, error_format};
pub use self::request_body::unstored_body;
use crate::accept::Accepted;
use crate::app::{App, Call};
use crate::body::Body;
use crate::flow_control::Place;
use crate::metrics::Labels;
use crate::request_body::Unread;
use crate::watching;
use crate::{respond, reviews};

/// The audit annotation of requests for deprecated versions.
const DEPRECATED: &str = "k8s.io/deprecated";

/// Serves a request for objects.
pub async fn serve(
    app: &Arc<App>,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    body: &mut Unread,
    labels: &mut Labels,
    place: Option<&Arc<Place>>,
) -> Response<Body> {
    let verb = &call.attributes.verb;
    let Some((kind, version)) = find(app, info, verb) else { return unknown(app, call, info) };
    labels.set(verb, &kind, version, info.subresource);
    let mut context = call.context();
    context.warnings.extend(kind.versions[version].deprecation.iter().map(ToString::to_string));
    if !context.warnings.is_empty() {
        audit::annotate(DEPRECATED, || "true".into());
    }
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
        Box::pin(watch(app, call, target, &mut context, place)).await
    } else {
        let mutating = !verb.is_read_only();
        if mutating {
            body.receive().await;
            app.yield_when_crowded().await;
        }
        one(app, call, info, target, body, &mut context).await
    };
    respond::add_warnings(response.headers_mut(), &context.warnings);
    response
}

/// The 404 of a path without a kind: within groups of built-in kinds it has their form.
fn unknown(app: &App, call: &Call<'_>, info: &ResourceAttributes<'_>) -> Response<Body> {
    if let Some(kind) = app.engine.catalog().get(info.group, info.resource)
        && !kind.is_custom()
        && kind.is_namespaced()
        && kind.version(info.version).is_some()
        && info.namespace.is_empty()
        && info.subresource.is_empty()
        && !call.is_named
    {
        // The collection of all namespaces is there to be read.
        return respond::rejection(Rejection::UnknownMethod, &error_format(call));
    }
    let built_in = |kind: &Arc<ServedKind>| !kind.is_custom();
    if info.group.is_empty()
        || reviews::GROUPS.contains(&info.group)
        || app.engine.catalog().group(info.group).iter().any(built_in)
    {
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
    // The collection of all namespaces can only be read. Of a built-in kind it is a path with other methods.
    let is_collection = !kind.is_custom() && info.name.is_empty();
    let is_read = matches!(verb, Verb::List | Verb::Watch);
    if kind.is_namespaced() && info.namespace.is_empty() && !is_read && !is_collection {
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
    // Checked before the write: a write that was made must not be reported as failed.
    if !verb.is_read_only()
        && let Err(rejection) = answer::check_shape(call, &target, verb, &format)
    {
        return respond::rejection(rejection, &error_format(call));
    }
    // The future of a request is moved several times before it runs, and is as large as its largest
    // branch: all but the smallest are kept elsewhere.
    let answer = match verb {
        Verb::Get => verbs::get(app, call, &target, &format).await,
        Verb::List => Box::pin(verbs::list(app, call, &target, &format)).await,
        Verb::Create => Box::pin(verbs::create(app, call, &target, body, context, &format)).await,
        Verb::Update => Box::pin(verbs::update(app, call, &target, body, context, &format)).await,
        Verb::Patch => Box::pin(verbs::patch(app, call, &target, body, context, &format)).await,
        Verb::Delete => Box::pin(verbs::delete(app, call, &target, body, context, &format)).await,
        _ => Box::pin(verbs::delete_collection(app, call, &target, body, context, &format)).await,
    };
    answer.unwrap_or_else(|rejection| respond::rejection(rejection, &error_format(call)))
}

/// Decided before anything is read: the subresource, whether it has the verb, the type of a patch, and
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

fn subresource(target: &Target, info: &ResourceAttributes<'_>) -> Result<Subresource, Rejection> {
    let version = target.version();
    match info.subresource {
        "" => Ok(Subresource::None),
        "status" if version.status => Ok(Subresource::Status),
        "scale" if version.scale.is_some() => Ok(Subresource::Scale),
        "finalize" if target.kind.strategy.has_finalize() => Ok(Subresource::Finalize),
        name if target.kind.strategy.subresources().iter().any(|known| known.name == name) => match name {
            "approval" => Ok(Subresource::Approval),
            "ephemeralcontainers" => Ok(Subresource::EphemeralContainers),
            "resize" => Ok(Subresource::Resize),
            _ => Err(Rejection::UnknownPath),
        },
        _ if !target.kind.is_custom() => Err(Rejection::UnknownPath),
        _ => Err(Rejection::NotFound(target.subject())),
    }
}

fn is_supported(target: &Target, verb: &Verb) -> bool {
    // Paths of built-in kinds have the methods they are registered with.
    let registered = match verb {
        _ if target.kind.is_custom() => true,
        Verb::Create => target.name.is_none(),
        Verb::Update | Verb::Patch => target.name.is_some(),
        _ => true,
    };
    let is_of_all_namespaces = target.kind.is_namespaced() && target.namespace.is_none();
    let registered = registered && (!is_of_all_namespaces || matches!(verb, Verb::List | Verb::Watch));
    match target.subresource {
        _ if !registered => false,
        Subresource::None => *verb != Verb::NONE,
        Subresource::Finalize => *verb == Verb::Update,
        Subresource::Status
        | Subresource::Scale
        | Subresource::Approval
        | Subresource::EphemeralContainers
        | Subresource::Resize => matches!(verb, Verb::Get | Verb::Update | Verb::Patch),
        // Served before: their objects are not stored.
        Subresource::Binding
        | Subresource::Eviction
        | Subresource::Token
        | Subresource::Attach
        | Subresource::Exec
        | Subresource::PortForward
        | Subresource::Proxy => false,
    }
}

async fn watch(
    app: &Arc<App>,
    call: &Call<'_>,
    target: Target,
    context: &mut Context,
    place: Option<&Arc<Place>>,
) -> Response<Body> {
    let opened = match media_types::agree_on_stream(call, &target) {
        Ok(stream) => watching::open(app, call, target, stream, context, place.cloned()).await,
        Err(rejection) => Err(rejection),
    };
    opened.unwrap_or_else(|rejection| respond::rejection(rejection, &error_format(call)))
}
