//! Subresources of Pods that are no objects: `binding`, `eviction`, `log`, `exec`, `attach`, `portforward`, `proxy`; and
//! `bindings` beside Pods.
//!
//! Nothing runs Pods here. Logs and commands have the answers that a server gives for a Pod that is on no Node, or on one
//! whose kubelet does not answer.

use std::sync::Arc;

use http::Response;
use pleach_auth::{ResourceAttributes, Verb};
use pleach_engine::catalog::ServedKind;
use pleach_engine::kinds::pod::requests::{BINDING, EVICTION, container_of};
use pleach_engine::options::{Context, DeleteOptions, Format, Freshness};
use pleach_engine::rejection::{Rejection, Subject};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::unstored;
use pleach_json::{Map, Value, json};
use pleach_meta::{FieldError, Reason, Status};

use crate::app::{App, Call};
use crate::body::Body;
use crate::options;
use crate::outcome::Outcome;
use crate::query::Query;
use crate::request_body::Unread;
use crate::resource::{error_format, unstored_body};
use crate::respond;

/// The resource beside Pods that takes Bindings.
const BINDINGS: &str = "bindings";

/// Whether a path is one of these.
pub fn is_served(app: &App, info: &ResourceAttributes<'_>) -> bool {
    let is_request = matches!(
        info.subresource,
        "binding" | "eviction" | "log" | "exec" | "attach" | "portforward" | "proxy"
    );
    let is_bindings = info.group.is_empty() && info.resource == BINDINGS && info.subresource.is_empty();
    (is_request || is_bindings) && kind(app, info).is_some()
}

/// The kind that runs containers, if the path is below it or beside it.
fn kind(app: &App, info: &ResourceAttributes<'_>) -> Option<Arc<ServedKind>> {
    let plural = if info.resource == BINDINGS { "pods" } else { info.resource };
    let kind = app.engine.catalog().get(info.group, plural)?;
    (kind.strategy.runs_containers() && kind.version(info.version).is_some()).then_some(kind)
}

/// The entry of `bindings` in the resource list of the core group.
pub fn bindings_resource() -> Value {
    json!({
        "name": (BINDINGS), "singularName": "binding", "namespaced": true, "kind": "Binding", "verbs": ["create"],
    })
}

/// The entry of `bindings` in the aggregated discovery document.
pub fn aggregated_bindings() -> Value {
    json!({
        "resource": (BINDINGS), "responseKind": {"group": "", "version": "", "kind": "Binding"},
        "scope": "Namespaced", "singularResource": "binding", "verbs": ["create"],
    })
}

/// Serves such a request.
pub async fn serve(
    app: &App,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    body: &mut Unread,
) -> Response<Body> {
    let mut context = call.context();
    let format = error_format(call);
    let mut response = match answer(app, call, info, body, &mut context).await {
        Ok(Answer::Done) => {
            let done = Status {
                code: 201,
                success: true,
                reason: Reason::None,
                message: String::new(),
                details: None,
            };
            respond::status(&done, &format)
        }
        Ok(Answer::Nothing) => respond::empty(Outcome::NoContent),
        Err(rejection) => respond::rejection(rejection, &format),
    };
    respond::add_warnings(response.headers_mut(), &context.warnings);
    response
}

enum Answer {
    /// A `Status` of success.
    Done,
    /// No content.
    Nothing,
}

async fn answer(
    app: &App,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    body: &mut Unread,
    context: &mut Context,
) -> Result<Answer, Rejection> {
    let kind = kind(app, info).ok_or(Rejection::UnknownPath)?;
    let version = kind.version(info.version).ok_or(Rejection::UnknownPath)?;
    if info.namespace.is_empty() || info.subresource.is_empty() && call.is_named {
        return Err(Rejection::UnknownPath);
    }
    let mut target = Target {
        namespace: Some(info.namespace.into()),
        name: call.is_named.then(|| info.name.as_ref().into()),
        subresource: Subresource::None,
        version,
        kind,
    };
    let verb = &call.attributes.verb;
    let writes = matches!(info.subresource, "" | "binding" | "eviction");
    match info.subresource {
        _ if writes && *verb != Verb::Create => Err(Rejection::UnknownMethod),
        "" | "binding" => bind(app, call, target, body, context).await,
        "eviction" => {
            target.subresource = Subresource::Eviction;
            evict(app, call, &target, body, context).await
        }
        "log" if *verb != Verb::Get => Err(Rejection::UnknownMethod),
        "log" => stream(app, call, &target, "log", call.query.get("container").unwrap_or_default()).await,
        "proxy" => {
            target.subresource = Subresource::Proxy;
            connect(app, call, &target, context).await?;
            proxy(app, &target).await
        }
        _ if !matches!(verb, Verb::Get | Verb::Create) => Err(Rejection::UnknownMethod),
        subresource => {
            target.subresource = match subresource {
                "attach" => Subresource::Attach,
                "portforward" => Subresource::PortForward,
                _ => Subresource::Exec,
            };
            let options = connect(app, call, &target, context).await?;
            target.subresource = Subresource::None;
            stream(app, call, &target, subresource, text(&options, &["container"])).await
        }
    }
}

/// Admission of a connection. Its options come back as admission left them.
async fn connect(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    context: &mut Context,
) -> Result<Value, Rejection> {
    let options = connection_options(call.query, call.attributes.path, target.subresource)?;
    app.engine.admit_connection(target, options, context).await
}

/// The options of a connection, from its query; of a proxy, from its path.
fn connection_options(query: &Query, path: &str, subresource: Subresource) -> Result<Value, Rejection> {
    let (kind, flags): (&str, &[&str]) = match subresource {
        Subresource::Attach => ("PodAttachOptions", &["stdin", "stdout", "stderr", "tty"]),
        Subresource::PortForward => ("PodPortForwardOptions", &[]),
        Subresource::Proxy => ("PodProxyOptions", &[]),
        _ => ("PodExecOptions", &["stdin", "stdout", "stderr", "tty"]),
    };
    let mut options = Map::new();
    options.insert("apiVersion", "v1");
    options.insert("kind", kind);
    for flag in flags {
        if query.switch(flag) == Some(true) {
            options.insert(*flag, true);
        }
    }
    if !flags.is_empty() && !query.text("container").is_empty() {
        options.insert("container", query.text("container"));
    }
    // /api/v1/namespaces/<namespace>/pods/<name>/proxy/<path>
    if subresource == Subresource::Proxy
        && let Some(path) = path.splitn(9, '/').nth(8)
    {
        options.insert("path", format!("/{path}"));
    }
    if subresource == Subresource::Exec {
        let command: Vec<Value> = query.all("command").map(Value::from).collect();
        if !command.is_empty() {
            options.insert("command", command);
        }
    }
    if subresource == Subresource::PortForward {
        let mut ports: Vec<Value> = Vec::new();
        for port in query.all("ports").flat_map(|list| list.split(',')) {
            let port = pleach_go::strconv::parse_int32(port).map_err(Rejection::BadRequest)?;
            ports.push(i64::from(port).into());
        }
        if !ports.is_empty() {
            options.insert("ports", ports);
        }
    }
    Ok(options.into())
}

async fn bind(
    app: &App,
    call: &Call<'_>,
    mut target: Target,
    body: &mut Unread,
    context: &mut Context,
) -> Result<Answer, Rejection> {
    let body = unstored_body(call, "v1", &BINDING.kind, body).await?;
    let options = options::write_options(call.query, "CreateOptions")?;
    let binding = unstored::decode(&BINDING, &body, &options, context)?;
    check_namespace(&target, &binding)?;
    if target.name.is_none() {
        let name = text(&binding, &["metadata", "name"]);
        if name.is_empty() {
            return Err(Rejection::BadRequest("Name parameter required.".into()));
        }
        target.name = Some(name.into());
    }
    target.subresource = Subresource::Binding;
    app.engine.bind(&target, binding, &options, context).await?;
    Ok(Answer::Done)
}

async fn evict(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
) -> Result<Answer, Rejection> {
    let body = unstored_body(call, "policy/v1", &EVICTION.kind, body).await?;
    let options = options::write_options(call.query, "CreateOptions")?;
    let older = match &body.format {
        Format::Json => pleach_json::member(&body.bytes, "apiVersion") == Some(b"\"policy/v1beta1\""),
        Format::Read(Ok(value)) => text(value, &["apiVersion"]) == "policy/v1beta1",
        _ => false,
    };
    let eviction = unstored::decode_version(&EVICTION, usize::from(older), &body, &options, context)?;
    check_namespace(target, &eviction)?;
    let mut deletion = match eviction.get("deleteOptions").filter(|value| !value.is_null()) {
        Some(given) => options::delete_options(given)?,
        None => DeleteOptions::default(),
    };
    if deletion.ignore_store_read_error {
        let why = "can not be set for pod eviction, try after removing the option";
        let path = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential";
        let subject =
            Subject { group: "policy".into(), resource: "Eviction".into(), name: target.name().into() };
        return Err(Rejection::Invalid { subject, errors: vec![FieldError::invalid(path, true, why)] });
    }
    deletion.dry_run |= options.dry_run;
    app.engine.evict(target, eviction, &deletion, &options, context).await?;
    Ok(Answer::Done)
}

/// Logs, commands and forwarded ports.
async fn stream(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    subresource: &str,
    container: &str,
) -> Result<Answer, Rejection> {
    if subresource == "log" {
        check_log_options(call, target)?;
    }
    let pod = app.engine.get(target, Freshness::Latest).await?.into_value()?;
    if subresource != "portforward" {
        container_of(&pod, container).map_err(Rejection::BadRequest)?;
    }
    let node = text(&pod, &["spec", "nodeName"]);
    if node.is_empty() {
        return if subresource == "log" {
            Ok(Answer::Nothing)
        } else {
            Err(Rejection::BadRequest(format!("pod {} does not have a host assigned", target.name())))
        };
    }
    Err(unreachable_node(app, node).await?)
}

/// The error about a Node whose kubelet a request needs.
async fn unreachable_node(app: &App, name: &str) -> Result<Rejection, Rejection> {
    let missing = Subject { resource: "nodes".into(), name: name.into(), ..Subject::default() };
    let Some(kind) = app.engine.catalog().get("", "nodes") else { return Ok(Rejection::NotFound(missing)) };
    let version = kind.storage;
    let target =
        Target { kind, version, namespace: None, name: Some(name.into()), subresource: Subresource::None };
    let node = match app.engine.get(&target, Freshness::Latest).await {
        Ok(node) => node.into_value()?,
        Err(rejection @ Rejection::NotFound(_)) => return Ok(rejection),
        Err(rejection) => return Err(rejection),
    };
    let addresses = node.at(&["status", "addresses"]).and_then(Value::as_array).map_or(0, |all| all.len());
    Ok(if addresses == 0 {
        Rejection::Plain("no preferred addresses found; known addresses: []".into())
    } else {
        Rejection::internal(format!("error dialing backend: no kubelet is running on node {name}"))
    })
}

async fn proxy(app: &App, target: &Target) -> Result<Answer, Rejection> {
    app.engine.get(target, Freshness::Latest).await?;
    Err(Rejection::BadRequest("address not allowed".into()))
}

/// `ValidatePodLogOptions`
fn check_log_options(call: &Call<'_>, target: &Target) -> Result<(), Rejection> {
    let mut errors = Vec::new();
    let number = |name: &str| -> Result<Option<i64>, Rejection> {
        let Some(text) = call.query.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        pleach_go::strconv::parse_int(text).map(Some).map_err(Rejection::BadRequest)
    };
    if let Some(lines) = number("tailLines")?.filter(|lines| *lines < 0) {
        errors.push(FieldError::invalid("tailLines", lines, "must be greater than or equal to 0"));
    }
    if let Some(bytes) = number("limitBytes")?.filter(|bytes| *bytes < 1) {
        errors.push(FieldError::invalid("limitBytes", bytes, "must be greater than 0"));
    }
    let seconds = number("sinceSeconds")?;
    if seconds.is_some() && call.query.get("sinceTime").is_some_and(|time| !time.is_empty()) {
        let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        errors.push(FieldError::forbidden("[]", why));
    } else if let Some(seconds) = seconds.filter(|seconds| *seconds < 1) {
        errors.push(FieldError::invalid("sinceSeconds", seconds, "must be greater than 0"));
    }
    if call.query.get("stream").is_some_and(|stream| stream != "All" && !stream.is_empty()) {
        errors.push(FieldError::forbidden("stream", "may not be specified"));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let subject =
        Subject { resource: "PodLogOptions".into(), name: target.name().into(), ..Subject::default() };
    Err(Rejection::Invalid { subject, errors })
}

fn check_namespace(target: &Target, object: &Value) -> Result<(), Rejection> {
    let namespace = text(object, &["metadata", "namespace"]);
    if !namespace.is_empty() && Some(namespace) != target.namespace.as_deref() {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Rejection::BadRequest(why.into()));
    }
    Ok(())
}

fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    value.at(path).and_then(Value::as_str).unwrap_or_default()
}
