//! TokenRequest: `POST …/serviceaccounts/<name>/token` issues a token.

use http::Response;
use pleach_auth::{ResourceAttributes, Verb};
use pleach_engine::kinds::authentication::{GROUP, TOKEN_REQUEST};
use pleach_engine::options::{Context, WriteOptions};
use pleach_engine::rejection::{Rejection, Subject};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, unstored};
use pleach_go::time::Timestamp;
use pleach_json::{Map, Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::{FieldError, GroupVersion};

use super::{Account, BoundObject, TokenIssuer, Validity, find, texts, uid_of};
use crate::app::{App, Call};
use crate::body::Body;
use crate::options;
use crate::outcome::Outcome;
use crate::request_body::Unread;
use crate::resource::{agree_on_unstored, error_format, unstored_body};
use crate::respond;

const API_VERSION: &str = "authentication.k8s.io/v1";
/// Seconds.
const DEFAULT_EXPIRATION: i64 = 3_600;
const MIN_EXPIRATION: i64 = 600;
const MAX_EXPIRATION: i64 = 1 << 32;
/// The expiration that kubelets ask for. A token of a Pod with it, for this server, is good for much longer, since
/// clients may not read the file of the token again.
const POD_EXPIRATION: i64 = 3_607;
const EXTENDED_EXPIRATION: i64 = 365 * 24 * 60 * 60;

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
    let mut context = call.context();
    let answer = match routed(call, info).and_then(|()| agree_on_unstored(call)) {
        Ok(format) => answer(app, call, info, body, &mut context).await.map(|answer| (answer, format)),
        Err(rejection) => Err(rejection),
    };
    let mut response = match answer {
        Ok((answer, format)) => respond::value(Outcome::Created, &answer, &format),
        Err(rejection) => respond::rejection(rejection, &error_format(call)),
    };
    respond::add_warnings(response.headers_mut(), &context.warnings);
    response
}

/// Tokens are created for an account of a namespace.
fn routed(call: &Call<'_>, info: &ResourceAttributes<'_>) -> Result<(), Rejection> {
    if info.namespace.is_empty() {
        return Err(Rejection::UnknownPath);
    }
    if call.attributes.verb == Verb::Create { Ok(()) } else { Err(Rejection::UnknownMethod) }
}

async fn answer(
    app: &App,
    call: &Call<'_>,
    info: &ResourceAttributes<'_>,
    body: &mut Unread,
    context: &mut Context,
) -> Result<Value, Rejection> {
    let issuer = app.token_issuer().ok_or(Rejection::UnknownPath)?;
    let engine = &app.engine;
    let kind = engine.catalog().get(info.group, info.resource).ok_or(Rejection::UnknownPath)?;
    let (namespace, name) = (info.namespace, info.name.as_ref());
    let target = Target {
        version: kind.storage,
        kind,
        namespace: Some(namespace.into()),
        name: Some(name.into()),
        subresource: Subresource::Token,
    };
    let body = unstored_body(call, API_VERSION, &TOKEN_REQUEST.kind, body).await?;
    let options = options::write_options(call.query, "CreateOptions")?;
    let mut request = unstored::decode(&TOKEN_REQUEST, &body, &options, context)?;
    let sent = request.at(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
    if !sent.is_empty() && sent != namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Rejection::BadRequest(why.into()));
    }
    fill_in(&mut request, namespace, &engine.now(), &options, context);
    let mut admitted = engine.admit_unstored(&target, request, &options, context).await?;
    let account = account(engine, &admitted.object, namespace, name).await?;
    complete(&mut admitted.object, issuer, uid_of(&account), &target, &engine.now());
    let seconds = expiration(&admitted.object);
    check_expiration(seconds)?;
    engine.validate_unstored(&target, &admitted, &options, context).await?;

    let mut request = admitted.object;
    let spec = request.get("spec").cloned().unwrap_or_default();
    let bound = bound_objects(engine, &spec, namespace, name).await?;
    let audiences = texts(spec.get("audiences"));
    let seconds = shortened(issuer, seconds, context);
    let issued = engine.now_seconds();
    let is_of_pod = bound.iter().any(|object| object.claim == "pod");
    let is_own = audiences.iter().all(|audience| issuer.audiences().contains(audience));
    let extended = (is_of_pod && is_own && seconds == POD_EXPIRATION).then_some(EXTENDED_EXPIRATION);
    let validity = Validity {
        issued,
        expires: issued + extended.unwrap_or(seconds),
        warn_after: extended.map(|_| issued + seconds),
    };
    let account = Account { namespace, name, uid: uid_of(&account) };
    let token = issuer.issue(&account, &audiences, &validity, &bound)?;
    let expires = Timestamp::from_seconds(issued + seconds).to_rfc3339();
    if let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("expirationSeconds", seconds);
    }
    if let Some(members) = request.as_object_mut() {
        members.insert("apiVersion", API_VERSION);
        members.insert("status", json!({"token": (token), "expirationTimestamp": (expires)}));
    }
    Ok(request)
}

/// The account that a request is about, if the request's metadata fits it.
async fn account(engine: &Engine, request: &Value, namespace: &str, name: &str) -> Result<Value, Rejection> {
    let subject = || Subject { group: GROUP.into(), resource: "TokenRequest".into(), name: name.into() };
    let meta = ObjectMeta::of(request);
    if !meta.name().is_empty() && meta.name() != name {
        let why = "must match the service account name if specified";
        let errors = vec![FieldError::invalid("metadata.name", meta.name(), why)];
        return Err(Rejection::Invalid { subject: subject(), errors });
    }
    let account = find(engine, "serviceaccounts", Some(namespace), name).await?;
    let account = account.ok_or_else(|| {
        let resource = "serviceaccounts".into();
        Rejection::NotFound(Subject { resource, name: name.into(), ..Subject::default() })
    })?;
    let uid = uid_of(&account);
    if !meta.uid().is_empty() && meta.uid() != uid {
        let why = format!(
            "the UID in the token request ({}) does not match the UID of the service account ({uid})",
            meta.uid()
        );
        return Err(Rejection::Conflict { subject: subject(), why });
    }
    Ok(account)
}

fn expiration(request: &Value) -> i64 {
    request.at(&["spec", "expirationSeconds"]).and_then(Value::as_int).unwrap_or(DEFAULT_EXPIRATION)
}

/// Fills in the fields that a request has before admission: the default of its spec, its namespace, managed fields.
fn fill_in(request: &mut Value, namespace: &str, now: &str, options: &WriteOptions, context: &Context) {
    let seconds = expiration(request);
    if let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("expirationSeconds", seconds);
    }
    let managed = unstored::managed_fields(request, API_VERSION, "token", now, options, context);
    change_metadata(request, |metadata| {
        metadata.insert("namespace", namespace);
        metadata.insert("managedFields", managed);
    });
    if let Some(members) = request.as_object_mut() {
        members.insert("apiVersion", API_VERSION);
        members.insert("kind", TOKEN_REQUEST.kind.as_str());
    }
}

/// Fills in what a request leaves to the server.
fn complete(request: &mut Value, issuer: &TokenIssuer, uid: &str, target: &Target, now: &str) {
    change_metadata(request, |metadata| {
        metadata.insert("name", target.name());
        metadata.insert("namespace", target.namespace.clone().unwrap_or_default());
        metadata.insert("uid", uid);
        metadata.insert("creationTimestamp", now);
    });
    if texts(request.at(&["spec", "audiences"])).is_empty()
        && let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut)
    {
        let own: Vec<Value> = issuer.audiences().iter().map(|text| Value::from(text.as_str())).collect();
        spec.insert("audiences", own);
    }
    if let Some(members) = request.as_object_mut() {
        members.insert("status", json!({"token": "", "expirationTimestamp": null}));
    }
}

fn change_metadata(request: &mut Value, change: impl FnOnce(&mut Map)) {
    let metadata = request.get_mut("metadata").and_then(Value::as_object_mut).map(std::mem::take);
    let mut metadata: Map = metadata.unwrap_or_default();
    change(&mut metadata);
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
    engine: &Engine,
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
    let of_pod = |field: &str| object.at(&["spec", field]).and_then(Value::as_str).unwrap_or_default();
    if *claim == "pod" && of_pod("serviceAccountName") != account {
        return Err(Rejection::BadRequest(format!(
            "cannot bind token for serviceaccount \"{account}\" to pod running with different serviceaccount name."
        )));
    }
    if !text("uid").is_empty() && text("uid") != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
            text("uid")
        );
        return Err(Rejection::Conflict { subject: subject(kind), why });
    }
    let mut bound = vec![BoundObject { claim, name: name.to_owned(), uid: uid.to_owned() }];
    if *claim == "pod" {
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
