//! Auditing: events about requests (`audit.k8s.io/v1` Event), by a policy, to a log and a webhook.
//!
//! Upstream's place in the chain: after authentication and before impersonation. Without a policy nothing here runs.

pub mod log;
pub mod policy;
pub mod webhook;

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, USER_AGENT};
use http::{Method, Response};
use pleach_auth::{Attributes, UserInfo, Verb};
use pleach_engine::webhooks::user_info;
use pleach_json::{Map, Value, json, to_vec};
use pleach_work::{Meter, run_metered};

use self::log::AuditLog;
use self::policy::{Audited, Level, Policy, Stage};
use self::webhook::AuditWebhook;
use crate::app::{Call, REQUEST_STEPS};
use crate::body::Body;
use crate::cbor;
use crate::cpu::CpuGuard;
use crate::outcome;
use crate::query::Query;

/// Longer responses are sent without being recorded: a list may be as large as the store.
const MOST_RECORDED: usize = 4 << 20;
/// The most bytes of events that wait for the log, and for the webhook. Each may hold a body of 3 MiB.
const MOST_WAITING: usize = 64 << 20;

/// The annotations of the authorization decision.
pub const DECISION: &str = "authorization.k8s.io/decision";
/// The constraint of an impersonation, which is a field of the event and none of its annotations.
pub const CONSTRAINT: &str = "impersonationConstraint";
/// The reason of the decision.
pub const REASON: &str = "authorization.k8s.io/reason";

/// Records requests.
pub struct Audit {
    policy: Policy,
    log: Option<AuditLog>,
    webhook: Option<AuditWebhook>,
}

/// The audit state of a request.
pub struct Record {
    audit: Arc<Audit>,
    audited: Audited,
    user: Arc<UserInfo>,
    /// The event as far as it is known.
    event: Map,
    is_watch: bool,
}

/// The source of a request and its id.
pub struct Origin<'a> {
    /// The URL's path and query.
    pub uri: &'a http::Uri,
    /// The `Audit-ID`.
    pub id: &'a http::HeaderValue,
    /// The address of the client.
    pub peer: Option<SocketAddr>,
}

impl Audit {
    /// Records requests by a policy in a log and a webhook.
    pub fn new(policy: Policy, log: Option<AuditLog>, webhook: Option<AuditWebhook>) -> Arc<Self> {
        Arc::new(Self { policy, log, webhook })
    }

    /// Begins to record a request, if the policy says so.
    pub fn begin(self: &Arc<Self>, call: &mut Call<'_>, origin: &Origin<'_>) -> Option<Record> {
        let audited = self.policy.evaluate(&call.attributes)?;
        let event = first_fields(&audited, &call.attributes, &call.headers, origin);
        if audited.level == Level::RequestResponse {
            // The response is read here before it is sent.
            call.headers.remove(ACCEPT_ENCODING);
        }
        let is_watch = call.attributes.verb == Verb::Watch;
        let user = call.attributes.user.clone();
        let record = Record { audit: self.clone(), audited, user, event, is_watch };
        record.emit(Stage::RequestReceived, Map::new());
        Some(record)
    }

    /// Records a request whose credentials were refused. `has_certificate`: the client showed one.
    pub fn unauthorized(
        self: &Arc<Self>,
        attributes: &Attributes<'_>,
        headers: &HeaderMap,
        origin: &Origin<'_>,
        has_certificate: bool,
    ) {
        let Some(audited) = self.policy.evaluate(attributes) else { return };
        let event = first_fields(&audited, attributes, headers, origin);
        let user = attributes.user.clone();
        let record = Record { audit: self.clone(), audited, user, event, is_watch: false };
        let message = attempted(headers, origin.uri, has_certificate);
        let status = json!({"metadata": {}, "message": (message), "code": 401});
        let mut more = Map::new();
        more.insert("responseStatus", status);
        record.emit(Stage::ResponseStarted, more);
    }

    fn write(&self, mut line: Vec<u8>) {
        if let Some(webhook) = &self.webhook {
            webhook.send(line.clone());
        }
        if let Some(log) = &self.log {
            line.push(b'\n');
            log.write(line);
        }
    }
}

impl Record {
    /// Whether the body of the request is kept for the event.
    pub fn keeps_body(&self, method: &Method) -> bool {
        self.audited.level >= Level::Request || *method == Method::POST
    }

    /// Whether the event has the object of the request.
    pub fn has_request_object(&self) -> bool {
        self.audited.level >= Level::Request
    }

    /// Ends the record of a request with its response. Bodies are decoded again under `cpu`, within the budget of a
    /// request: an event lacks an object that takes more.
    pub async fn finish(
        mut self,
        call: &Call<'_>,
        sent: Option<Bytes>,
        mut annotations: Map,
        mut response: Response<Body>,
        panicked: bool,
        cpu: &CpuGuard,
    ) -> Response<Body> {
        let cpu = cpu.detached();
        if !Arc::ptr_eq(&call.attributes.user, &self.user) {
            self.event.insert("impersonatedUser", user_info(&call.attributes.user));
        }
        if let Some(constraint) = annotations.remove(CONSTRAINT) {
            self.event.insert("authenticationMetadata", json!({(CONSTRAINT): (constraint)}));
        }
        if !annotations.is_empty() {
            self.event.insert("annotations", annotations);
        }
        if let Some(bytes) = sent.filter(|_| !outcome::is_undecoded(response.status())) {
            match metered(&cpu, || decoded(&bytes, &call.headers, call.cbor)).await {
                Some(Some(object)) => {
                    self.name_object(&object);
                    if self.audited.level >= Level::Request {
                        self.event.insert("requestObject", self.cleaned(object));
                    }
                }
                Some(None) => {}
                None => self.note_truncated(),
            }
        }
        let code = response.status().as_u16();
        let mut status = json!({"metadata": {}, "code": (i64::from(code))});
        let is_error = response.status().is_client_error() || response.status().is_server_error();
        let streams = self.is_watch && !is_error;
        if !streams && (is_error || self.audited.level == Level::RequestResponse) {
            let (parts, body) = response.into_parts();
            let (body, bytes) = body.read(MOST_RECORDED).await;
            let object = match bytes {
                Some(bytes) => metered(&cpu, || decoded(&bytes, &parts.headers, call.cbor)).await,
                None => None,
            };
            response = Response::from_parts(parts, body);
            if object.is_none() {
                self.note_truncated();
            }
            if let Some(object) = object.flatten() {
                if object.get("kind").and_then(Value::as_str) == Some("Status") {
                    status = object.clone();
                    if let Some(members) = status.as_object_mut() {
                        members.remove("apiVersion");
                        members.remove("kind");
                    }
                }
                if self.audited.level == Level::RequestResponse {
                    self.event.insert("responseObject", self.cleaned(object));
                }
            }
        }
        self.event.insert("responseStatus", status);
        let stage = match (panicked, streams) {
            (true, _) => Stage::Panic,
            (false, true) => Stage::ResponseStarted,
            (false, false) => Stage::ResponseComplete,
        };
        // An event is never lost: if the server stops meanwhile, the line is made without a meter.
        let line = match metered(&cpu, || self.line(stage, &Map::new())).await {
            Some(line) => line,
            None => self.line(stage, &Map::new()),
        };
        if let Some(line) = line {
            self.audit.write(line);
        }
        if streams && !panicked {
            response.body_mut().hold(Arc::new(CompleteOnDrop(self)));
        }
        response
    }

    /// Notes that the event lacks the response, as upstream does when it shortens events.
    fn note_truncated(&mut self) {
        if let Value::Object(annotations) = self.event.get_or_insert_with("annotations", Value::object) {
            annotations.insert("audit.k8s.io/truncated", "true");
        }
    }

    /// A request that creates an object has no name in its path.
    fn name_object(&mut self, object: &Value) {
        let Some(reference) = self.event.get_mut("objectRef").and_then(Value::as_object_mut) else { return };
        for key in ["name", "namespace", "uid", "resourceVersion"] {
            let found = object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or_default();
            if !found.is_empty() && reference.get(key).is_none() {
                reference.insert(key, found);
            }
        }
    }

    fn cleaned(&self, mut object: Value) -> Value {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| self.audited.omit_managed_fields) {
            metadata.remove("managedFields");
        }
        object
    }

    fn emit(&self, stage: Stage, more: Map) {
        if let Some(line) = self.line(stage, &more) {
            self.audit.write(line);
        }
    }

    /// The event of a stage, if the policy has it.
    fn line(&self, stage: Stage, more: &Map) -> Option<Vec<u8>> {
        if !self.audited.has(stage) {
            return None;
        }
        let mut event = self.event.clone();
        event.insert("stage", stage.as_str());
        event.insert("stageTimestamp", now());
        for (key, value) in more.iter() {
            event.insert(key.clone(), value.clone());
        }
        Some(to_vec(&Value::from(event)))
    }
}

/// A watch is complete when its body is dropped.
struct CompleteOnDrop(Record);

impl Drop for CompleteOnDrop {
    fn drop(&mut self) {
        self.0.emit(Stage::ResponseComplete, Map::new());
    }
}

/// The message of an event about refused credentials: their kinds, as upstream lists them.
fn attempted(headers: &HeaderMap, uri: &http::Uri, has_certificate: bool) -> String {
    let authorization = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let authorization = String::from_utf8_lossy(authorization);
    let credentials = |scheme: &str| {
        let parts = authorization.trim().split_once(' ');
        parts.filter(|(first, _)| first.eq_ignore_ascii_case(scheme)).map(|(_, rest)| rest)
    };
    let has_colon = |text: &str| STANDARD.decode(text).is_ok_and(|bytes| bytes.contains(&b':'));
    let query = Query::parse(uri.query());
    let methods = [
        ("basic", credentials("basic").is_some_and(has_colon)),
        ("bearer", credentials("bearer").is_some()),
        ("access_token", !query.text("access_token").trim().is_empty()),
        ("x509", has_certificate),
    ];
    let methods: Vec<&str> = methods.iter().filter(|(_, is_used)| *is_used).map(|(name, _)| *name).collect();
    if methods.is_empty() {
        return "Authentication failed, no credentials provided".to_owned();
    }
    format!("Authentication failed, attempted: {}", methods.join(", "))
}

/// The parts of an event that are known before a request is handled.
fn first_fields(
    audited: &Audited,
    attributes: &Attributes<'_>,
    headers: &HeaderMap,
    origin: &Origin<'_>,
) -> Map {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut event = Map::new();
    event.insert("kind", "Event");
    event.insert("apiVersion", "audit.k8s.io/v1");
    event.insert("level", audited.level.as_str());
    event.insert("auditID", origin.id.to_str().unwrap_or_default());
    event.insert("requestURI", origin.uri.path_and_query().map_or("/", |uri| uri.as_str()));
    event.insert("verb", attributes.verb.as_str());
    event.insert("user", user_info(&attributes.user));
    let mut sources: Vec<String> =
        text("x-forwarded-for").split(',').map(|ip| ip.trim().to_owned()).collect();
    sources.push(text("x-real-ip").trim().to_owned());
    sources.retain(|ip| ip.parse::<std::net::IpAddr>().is_ok());
    let peer = origin.peer.map(|peer| peer.ip().to_string());
    sources.extend(peer.filter(|peer| sources.last() != Some(peer)));
    event.insert("sourceIPs", sources.into_iter().map(Value::from).collect::<Vec<_>>());
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !agent.is_empty() {
        event.insert("userAgent", agent.chars().take(1024).collect::<String>());
    }
    if let Some(resource) = &attributes.resource {
        let mut reference = Map::new();
        for (key, value) in [
            ("resource", resource.resource),
            ("namespace", resource.namespace),
            ("name", &*resource.name),
            ("apiGroup", resource.group),
            ("apiVersion", resource.version),
            ("subresource", resource.subresource),
        ] {
            if !value.is_empty() {
                reference.insert(key, value);
            }
        }
        event.insert("objectRef", reference);
    }
    event.insert("requestReceivedTimestamp", now());
    event
}

/// Computes with the budget of a request, on threads for long computations if it takes long; none if that is not enough.
async fn metered<R>(cpu: &Arc<CpuGuard>, work: impl FnOnce() -> R) -> Option<R> {
    let meter = Meter::new(REQUEST_STEPS).supervisor(cpu.clone());
    run_metered(meter, async { work() }).await.ok()
}

/// The object in a body, in any encoding that the server reads: `cbor` behind its gate only.
fn decoded(bytes: &Bytes, headers: &HeaderMap, cbor: bool) -> Option<Value> {
    if bytes.is_empty() {
        return None;
    }
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if media.contains("protobuf") {
        return pleach_protobuf::any_object(bytes);
    }
    if media.contains("cbor") {
        return if cbor { cbor::read(bytes).ok() } else { None };
    }
    if media.contains("yaml") {
        return pleach_yaml::parse(bytes).ok();
    }
    pleach_json::parse(bytes).ok()
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::CpuLanes;

    #[test]
    fn events_of_refused_credentials_say_which_kinds_were_tried() {
        for (header, uri, has_certificate, want) in [
            ("", "/api", false, "no credentials provided"),
            ("Bearer x", "/api", false, "attempted: bearer"),
            ("bearer x", "/api?access_token=t", true, "attempted: bearer, access_token, x509"),
            ("Basic dTpw", "/api", false, "attempted: basic"),
            ("Basic dXA=", "/api", false, "no credentials provided"),
            ("Bearer", "/api", true, "attempted: x509"),
        ] {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, header.parse().unwrap())]);
            let found = attempted(&headers, &uri.parse().unwrap(), has_certificate);
            assert_eq!(found, format!("Authentication failed, {want}"), "{header} {uri}");
        }
    }

    #[tokio::test]
    async fn bodies_take_the_work_of_a_request_at_most() {
        let cpu = Arc::new(CpuGuard::new(Arc::new(CpuLanes::new(1)), None));
        let endless = || loop {
            pleach_work::charge(1);
        };
        let ended: Option<()> = metered(&cpu, endless).await;
        assert_eq!(ended, None);
        assert_eq!(metered(&cpu, || 7).await, Some(7));
    }

    #[test]
    fn cbor_is_read_behind_its_gate_only() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, http::HeaderValue::from_static("application/cbor"));
        let body = Bytes::from_static(&[0xa1, 0x61, b'a', 0x01]);
        assert_eq!(decoded(&body, &headers, false), None);
        assert_eq!(decoded(&body, &headers, true), Some(json!({"a": 1})));
    }
}
