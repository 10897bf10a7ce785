//! TokenRequest: `POST …/serviceaccounts/<name>/token` issues a token.

use http::Response;
use http::header::USER_AGENT;
use pleach_auth::{ResourceAttributes, Verb};
use pleach_engine::kinds::authentication::{GROUP, TOKEN_REQUEST};
use pleach_engine::options::{Context, WriteOptions};
use pleach_engine::rejection::{Rejection, Subject};
use pleach_engine::unstored;
use pleach_go::time::Timestamp;
use pleach_json::{Map, Value, json};
use pleach_meta::{FieldError, GroupVersion};

use super::{Account, BoundObject, TokenIssuer, find, texts, uid_of};
use crate::app::{App, Call};
use crate::body::Body;
use crate::options;
use crate::outcome::Outcome;
use crate::request_body::Unread;
use crate::resource::{error_format, unstored_body};
use crate::respond;

const API_VERSION: &str = "authentication.k8s.io/v1";
/// Seconds.
const DEFAULT_EXPIRATION: i64 = 3_600;
const MIN_EXPIRATION: i64 = 600;
const MAX_EXPIRATION: i64 = 1 << 32;

/// Whether a path is that of token requests.
pub fn is_served(app: &App, info: &ResourceAttributes<'_>) -> bool {
    info.subresource == "token"
        && app.token_issuer().is_some()
        && app
            .engine
            .catalog()
            .get(info.group, info.resource)
            .is_some_and(|kind| kind.strategy.issues_tokens())
}

/// Serves a token request.
pub async fn serve(
    app: &App,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    body: &mut Unread,
) -> Response<Body> {
    let mut context = Context {
        user: call.attributes.user.clone(),
        user_agent: call.header(USER_AGENT).unwrap_or_default().into(),
        warnings: Vec::new(),
    };
    let format = error_format(call);
    let mut response = match answer(app, call, info, body, &mut context).await {
        Ok(answer) => respond::value(Outcome::Created, &answer, &format),
        Err(rejection) => respond::rejection(rejection, &format),
    };
    respond::add_warnings(response.headers_mut(), &context.warnings);
    response
}

async fn answer(
    app: &App,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    body: &mut Unread,
    context: &mut Context,
) -> Result<Value, Rejection> {
    if call.attributes.verb != Verb::Create {
        return Err(Rejection::UnknownMethod);
    }
    let issuer = app.token_issuer().ok_or(Rejection::UnknownPath)?;
    let body = unstored_body(call, API_VERSION, &TOKEN_REQUEST.kind, body).await?;
    let options = options::write_options(call.query, "CreateOptions")?;
    let mut request = unstored::decode(&TOKEN_REQUEST, &body, &options, context)?;
    let (namespace, name) = (info.namespace, info.name.as_ref());
    let engine = &app.engine;
    let sent = |key: &str| request.at(&["metadata", key]).and_then(Value::as_str).unwrap_or_default();
    if !sent("namespace").is_empty() && sent("namespace") != namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Rejection::BadRequest(why.into()));
    }
    let missing = |resource: &str, name: &str| {
        Rejection::NotFound(Subject { resource: resource.into(), name: name.into(), ..Subject::default() })
    };
    if find(engine, "namespaces", None, namespace).await?.is_none() {
        return Err(missing("namespaces", namespace));
    }
    let subject = Subject { group: GROUP.into(), resource: "TokenRequest".into(), name: name.into() };
    if !sent("name").is_empty() && sent("name") != name {
        let why = "must match the service account name if specified";
        let errors = vec![FieldError::invalid("metadata.name", sent("name"), why)];
        return Err(Rejection::Invalid { subject, errors });
    }
    let account = find(engine, "serviceaccounts", Some(namespace), name).await?;
    let account = account.ok_or_else(|| missing("serviceaccounts", name))?;
    let uid = uid_of(&account);
    if !sent("uid").is_empty() && sent("uid") != uid {
        let why = format!(
            "the UID in the token request ({}) does not match the UID of the service account ({uid})",
            sent("uid")
        );
        return Err(Rejection::Conflict { subject, why });
    }
    let spec = request.get("spec").cloned().unwrap_or_default();
    let seconds = spec.get("expirationSeconds").and_then(Value::as_int).unwrap_or(DEFAULT_EXPIRATION);
    check_expiration(seconds)?;
    let bound = bound_objects(engine, &spec, namespace, name).await?;
    let audiences = match texts(spec.get("audiences")) {
        none if none.is_empty() => issuer.audiences().to_vec(),
        audiences => audiences,
    };
    let seconds = shortened(issuer, seconds, context);
    let issued = engine.now_seconds();
    let account = Account { namespace, name, uid };
    let token = issuer.issue(&account, &audiences, issued, issued + seconds, &bound)?;
    complete(&mut request, &account, seconds, &engine.now(), &options, context);
    let audiences: Vec<Value> = audiences.into_iter().map(Value::from).collect();
    let expires = Timestamp::from_seconds(issued + seconds).to_rfc3339();
    if let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("audiences", audiences);
    }
    if let Some(members) = request.as_object_mut() {
        members.insert("apiVersion", API_VERSION);
        members.insert("status", json!({"token": (token), "expirationTimestamp": (expires)}));
    }
    Ok(request)
}

/// Fills in what a request leaves to the server.
fn complete(
    request: &mut Value,
    account: &Account<'_>,
    seconds: i64,
    now: &str,
    options: &WriteOptions,
    context: &Context,
) {
    if let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("expirationSeconds", seconds);
    }
    let managed = unstored::managed_fields(request, API_VERSION, "token", now, options, context);
    let metadata = request.get_mut("metadata").and_then(Value::as_object_mut).map(std::mem::take);
    let mut metadata: Map = metadata.unwrap_or_default();
    metadata.insert("name", account.name);
    metadata.insert("namespace", account.namespace);
    metadata.insert("uid", account.uid);
    metadata.insert("creationTimestamp", now);
    metadata.insert("managedFields", managed);
    if let Some(members) = request.as_object_mut() {
        members.insert("metadata", metadata);
    }
}

fn check_expiration(seconds: i64) -> Result<(), Rejection> {
    let why = match seconds {
        ..MIN_EXPIRATION => "may not specify a duration less than 10 minutes",
        MIN_EXPIRATION..=MAX_EXPIRATION => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let subject = Subject { group: GROUP.into(), resource: "TokenRequest".into(), name: "".into() };
    let errors = vec![FieldError::invalid("spec.expirationSeconds", seconds, why)];
    Err(Rejection::Invalid { subject, errors })
}

/// No longer than the server allows, with a warning.
fn shortened(issuer: &TokenIssuer, seconds: i64, context: &mut Context) -> i64 {
    match issuer.max_expiration {
        Some(most) if most < seconds => {
            context.warn(format!("requested expiration of {seconds} seconds shortened to {most} seconds"));
            most
        }
        _ => seconds,
    }
}

/// The objects that a request binds its token to: none, a Secret, a Node, or a Pod with its node.
async fn bound_objects(
    engine: &pleach_engine::Engine,
    spec: &Value,
    namespace: &str,
    account: &str,
) -> Result<Vec<BoundObject>, Rejection> {
    let Some(reference) = spec.get("boundObjectRef").filter(|reference| !reference.is_null()) else {
        return Ok(Vec::new());
    };
    let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, api_version, name) = (text("kind"), text("apiVersion"), text("name"));
    let version = GroupVersion::parse(api_version).unwrap_or_default();
    let known = BINDABLE.iter().find(|bindable| bindable.kind == kind && version.group.is_empty());
    let Some(Bindable { claim, plural, namespaced, .. }) = known else {
        let why =
            format!("cannot bind token to object of type {}/{}, Kind={kind}", version.group, version.version);
        return Err(Rejection::BadRequest(why));
    };
    if name.is_empty() {
        return Err(Rejection::BadRequest("Name parameter required.".into()));
    }
    let subject =
        |resource: &str| Subject { resource: resource.into(), name: name.into(), ..Subject::default() };
    let object = find(engine, plural, namespaced.then_some(namespace), name).await?;
    let object = object.ok_or_else(|| Rejection::NotFound(subject(plural)))?;
    let uid = uid_of(&object);
    if !text("uid").is_empty() && text("uid") != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
            text("uid")
        );
        return Err(Rejection::Conflict { subject: subject(kind), why });
    }
    let mut bound = vec![BoundObject { claim, name: name.to_owned(), uid: uid.to_owned() }];
    let of_pod = |field: &str| object.at(&["spec", field]).and_then(Value::as_str).unwrap_or_default();
    if *claim == "pod" {
        if of_pod("serviceAccountName") != account {
            return Err(Rejection::BadRequest(format!(
                "cannot bind token for serviceaccount \"{account}\" to pod running with different serviceaccount name."
            )));
        }
        let node = of_pod("nodeName");
        if !node.is_empty() {
            let found = find(engine, "nodes", None, node).await?;
            let uid = found.as_ref().map(uid_of).unwrap_or_default().to_owned();
            bound.push(BoundObject { claim: "node", name: node.to_owned(), uid });
        }
    }
    Ok(bound)
}

/// A kind of objects that tokens can be bound to.
struct Bindable {
    kind: &'static str,
    claim: &'static str,
    plural: &'static str,
    namespaced: bool,
}

const BINDABLE: [Bindable; 3] = [
    Bindable { kind: "Node", claim: "node", plural: "nodes", namespaced: false },
    Bindable { kind: "Pod", claim: "pod", plural: "pods", namespaced: true },
    Bindable { kind: "Secret", claim: "secret", plural: "secrets", namespaced: true },
];
