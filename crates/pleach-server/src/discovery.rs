//! Discovery: which groups, versions and resources there are, in the old documents and the new one.
//!
//! Documents are made from the catalog on request. Methods other than GET get the same
//! answer, as upstream gives it.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use pleach_engine::catalog::ServedKind;
use pleach_engine::kind::{Kind, KindVersion};
use pleach_engine::kinds::{self, authentication::TOKEN_REQUEST};
use pleach_engine::rejection::Rejection;
use pleach_json::{Map, Str, Value};
use pleach_meta::group_version::compare_kube_aware_versions;
use sha2::{Digest as _, Sha256, Sha512};

use crate::accept::{Encoding, Endpoint, clauses, negotiate};
use crate::app::{App, Call};
use crate::body::Body;
use crate::outcome::Outcome;
use crate::request_info::PathKind;
use crate::respond::{self, ResponseFormat};
use pleach_protobuf as protobuf;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// The form before v1.33, which has the same fields.
const AGGREGATED_BETA: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const AGGREGATED_MESSAGE: &str =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Built-in kinds list theirs in alphabetical order.
const VERBS_BUILT_IN: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Verbs of built-in kinds whose collections cannot be deleted.
const VERBS_SINGLE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
const VERBS_TERMINATING: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];
const VERBS_SUBRESOURCE: [&str; 3] = ["get", "patch", "update"];

/// Serves `/api`, `/apis` and the paths below.
pub fn serve(app: &App, call: &Call<'_>) -> Response<Body> {
    let pretty = call.pretty();
    let accept = call.accept();
    let root = matches!(call.kind, PathKind::Groups | PathKind::CoreVersions);
    let beta = !app.engine.gates().no_beta_discovery;
    if root && let Some(form) = wants_aggregated(accept.as_deref(), beta) {
        return aggregated(app, call, call.kind == PathKind::CoreVersions, form);
    }
    let plain = ResponseFormat { pretty, ..ResponseFormat::plain() };
    let Some(accepted) = negotiate(accept.as_deref(), Endpoint::Plain) else {
        let text = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
        return respond::rejection(Rejection::NotAcceptable(text.into()), &plain);
    };
    let format = ResponseFormat {
        accepted,
        pretty: pretty || accepted.pretty,
        gzip: respond::reads_gzip(&call.headers),
    };
    let document = match call.kind {
        PathKind::CoreVersions => Some(core_versions()),
        PathKind::Groups => Some(group_list(app)),
        PathKind::Group(group) => group_document(app, group),
        PathKind::GroupVersion(group, version) => resource_list(app, group, version),
        PathKind::Resource | PathKind::Other => None,
    };
    match document {
        Some(document) => respond::value(Outcome::Ok, &document, &format),
        None => respond::page_not_found(),
    }
}

/// The paths there are.
pub fn root(app: &App, call: &Call<'_>) -> Response<Body> {
    let mut paths: Vec<String> = vec!["/api".into(), "/api/v1".into(), "/apis".into(), "/apis/".into()];
    for (group, versions) in served_groups(app) {
        if group.is_empty() {
            continue;
        }
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    for path in ["/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"] {
        paths.push(path.into());
    }
    let mut document = Map::new();
    document.insert("paths", paths.into_iter().map(Value::from).collect::<Vec<_>>());
    respond::value(
        Outcome::Ok,
        &document.into(),
        &ResponseFormat { pretty: call.pretty(), ..ResponseFormat::plain() },
    )
}

/// The served versions of each group, best first. Review APIs have no kinds and are always there.
fn served_groups(app: &App) -> BTreeMap<Str, Vec<Str>> {
    let mut groups: BTreeMap<Str, Vec<Str>> = BTreeMap::new();
    for group in crate::reviews::GROUPS {
        groups.insert(group.into(), vec!["v1".into()]);
    }
    for kind in app.engine.catalog().all().iter().filter(|kind| kind.established) {
        let versions = groups.entry(kind.group.clone()).or_default();
        for version in kind.versions.iter().filter(|version| version.served) {
            if !versions.contains(&version.name) {
                versions.push(version.name.clone());
            }
        }
    }
    groups.retain(|_, versions| !versions.is_empty());
    for versions in groups.values_mut() {
        versions.sort_by(|a, b| compare_kube_aware_versions(b, a));
    }
    groups
}

/// Groups in the order of their priority: built-in ones first, then by name.
fn ordered_groups(app: &App) -> Vec<(Str, Vec<Str>)> {
    let mut groups: Vec<(Str, Vec<Str>)> =
        served_groups(app).into_iter().filter(|(group, _)| !group.is_empty()).collect();
    let rank =
        |group: &str| kinds::GROUPS.iter().position(|known| *known == group).unwrap_or(kinds::GROUPS.len());
    groups.sort_by_key(|(group, _)| rank(group));
    groups
}

fn core_versions() -> Value {
    let mut address = Map::new();
    address.insert("clientCIDR", "0.0.0.0/0");
    address.insert("serverAddress", "");
    let mut out = Map::new();
    out.insert("kind", "APIVersions");
    out.insert("versions", vec![Value::from("v1")]);
    out.insert("serverAddressByClientCIDRs", vec![Value::from(address)]);
    out.into()
}

fn group(name: &str, versions: &[Str]) -> Map {
    let entry = |version: &Str| {
        let mut out = Map::new();
        out.insert("groupVersion", format!("{name}/{version}"));
        out.insert("version", version.clone());
        Value::from(out)
    };
    let mut out = Map::new();
    out.insert("name", name);
    out.insert("versions", versions.iter().map(entry).collect::<Vec<_>>());
    if let Some(first) = versions.first() {
        out.insert("preferredVersion", entry(first));
    }
    out
}

fn group_list(app: &App) -> Value {
    let groups: Vec<Value> =
        ordered_groups(app).iter().map(|(name, versions)| group(name, versions).into()).collect();
    let mut out = Map::new();
    out.insert("kind", "APIGroupList");
    out.insert("apiVersion", "v1");
    out.insert("groups", groups);
    out.into()
}

fn group_document(app: &App, name: &str) -> Option<Value> {
    let groups = served_groups(app);
    let versions = groups.get(name).filter(|_| !name.is_empty())?;
    let mut out = group(name, versions);
    out.insert("kind", "APIGroup");
    out.insert("apiVersion", "v1");
    Some(out.into())
}

fn established(app: &App, group: &str) -> Vec<Arc<ServedKind>> {
    let mut kinds = app.engine.catalog().group(group);
    kinds.retain(|kind| kind.established);
    kinds
}

fn served_version<'a>(kind: &'a Kind, version: &str) -> Option<&'a KindVersion> {
    kind.versions.iter().find(|v| v.served && v.name == version)
}

fn verbs(kind: &Kind) -> &'static [&'static str] {
    if kind.terminating {
        &VERBS_TERMINATING
    } else if kind.is_custom() {
        &VERBS
    } else if kind.strategy.deletes_collections() {
        &VERBS_BUILT_IN
    } else {
        &VERBS_SINGLE
    }
}

fn texts(list: &[impl AsRef<str>]) -> Vec<Value> {
    list.iter().map(|text| Value::from(text.as_ref())).collect()
}

fn resource_list(app: &App, group: &str, version: &str) -> Option<Value> {
    let mut resources: Vec<Value> = Vec::new();
    let mut found = false;
    for kind in established(app, group) {
        if let Some(served) = served_version(&kind, version) {
            found = true;
            if kind.strategy.runs_containers() {
                resources.insert(0, crate::pod_requests::bindings_resource());
            }
            resources.extend(api_resources(&kind, served));
        }
    }
    if let Some(reviews) = crate::reviews::resources(group, version) {
        found = true;
        resources.extend(reviews);
    }
    // A group-version stays as long as something of its group serves it.
    if !found {
        return None;
    }
    let mut out = Map::new();
    out.insert("kind", "APIResourceList");
    if !group.is_empty() {
        out.insert("apiVersion", "v1");
    }
    out.insert(
        "groupVersion",
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") },
    );
    out.insert("resources", resources);
    Some(out.into())
}

/// A kind's entries in a resource list: itself, then its subresources.
fn api_resources(kind: &Kind, version: &KindVersion) -> Vec<Value> {
    let entry = |name: String, singular: &str| {
        let mut out = Map::new();
        out.insert("name", name);
        out.insert("singularName", singular);
        out.insert("namespaced", kind.is_namespaced());
        out.insert("kind", kind.kind.clone());
        out
    };
    let mut main = entry(kind.plural.to_string(), &kind.singular);
    main.insert("verbs", texts(verbs(kind)));
    if !kind.short_names.is_empty() {
        main.insert("shortNames", texts(&kind.short_names));
    }
    if !kind.categories.is_empty() {
        main.insert("categories", texts(&kind.categories));
    }
    if kind.storage_version().served {
        main.insert("storageVersionHash", storage_version_hash(kind));
    }
    let mut subresources: Vec<(String, Map)> = Vec::new();
    if version.status {
        let mut status = entry(format!("{}/status", kind.plural), "");
        status.insert("verbs", texts(&VERBS_SUBRESOURCE));
        subresources.push(("status".into(), status));
    }
    if version.scale.is_some() {
        let mut scale = entry(format!("{}/scale", kind.plural), "");
        scale.insert("group", "autoscaling");
        scale.insert("version", "v1");
        scale.insert("kind", "Scale");
        scale.insert("verbs", texts(&VERBS_SUBRESOURCE));
        subresources.push(("scale".into(), scale));
    }
    if kind.strategy.issues_tokens() {
        let mut token = entry(format!("{}/token", kind.plural), "");
        token.insert("group", TOKEN_REQUEST.group.clone());
        token.insert("version", "v1");
        token.insert("kind", TOKEN_REQUEST.kind.clone());
        token.insert("verbs", texts(&["create"]));
        subresources.push(("token".into(), token));
    }
    for more in kind.strategy.subresources() {
        let mut sub = entry(format!("{}/{}", kind.plural, more.name), "");
        sub.insert("kind", more.kind);
        if !more.group.is_empty() && more.group != kind.group.as_str() {
            sub.insert("group", more.group);
            sub.insert("version", more.version);
        }
        sub.insert("verbs", texts(more.verbs));
        subresources.push((more.name.into(), sub));
    }
    if !kind.is_custom() {
        subresources.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let mut out = vec![main.into()];
    out.extend(subresources.into_iter().map(|(_, subresource)| Value::from(subresource)));
    out
}

/// Eight bytes that change when the stored version does.
fn storage_version_hash(kind: &Kind) -> String {
    use base64::Engine as _;
    let own = kind.strategy.hashed_storage_version();
    let stored = own.unwrap_or(&kind.storage_version().api_version);
    let hash = Sha256::digest(format!("{stored}/{}", kind.kind).as_bytes());
    base64::engine::general_purpose::STANDARD.encode(&hash[..8])
}

/// A form of the aggregated document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AggregatedForm {
    Json,
    JsonBeta,
    Protobuf,
}

/// The form of the aggregated document, if one of the clauses asks for it in a version there is. `beta` is whether
/// v2beta1 is served: as JSON, which is what its clients ask for.
fn wants_aggregated(accept: Option<&str>, beta: bool) -> Option<AggregatedForm> {
    clauses(accept.unwrap_or_default()).iter().find_map(|clause| {
        let form = match (clause.main, clause.sub, clause.parameter("v")) {
            ("application", "json", "v2") => AggregatedForm::Json,
            ("application", "json", "v2beta1") if beta => AggregatedForm::JsonBeta,
            ("application", "vnd.kubernetes.protobuf", "v2") => AggregatedForm::Protobuf,
            _ => return None,
        };
        let is_asked_for = clause.parameter("g") == "apidiscovery.k8s.io"
            && clause.parameter("as") == "APIGroupDiscoveryList";
        is_asked_for.then_some(form)
    })
}

/// All groups, versions and resources in one document.
fn aggregated(app: &App, call: &Call<'_>, core: bool, form: AggregatedForm) -> Response<Body> {
    let groups = if core { vec![(Str::default(), vec![Str::from("v1")])] } else { ordered_groups(app) };
    let items: Vec<Value> = groups
        .iter()
        .map(|(group, versions)| {
            let versions: Vec<Value> =
                versions.iter().map(|version| aggregated_version(app, group, version)).collect();
            let mut metadata = Map::new();
            if !group.is_empty() {
                metadata.insert("name", group.clone());
            }
            let mut out = Map::new();
            out.insert("metadata", metadata);
            out.insert("versions", versions);
            out.into()
        })
        .collect();
    let mut document = Map::new();
    document.insert("kind", "APIGroupDiscoveryList");
    let (version, media_type) = match form {
        AggregatedForm::JsonBeta => ("apidiscovery.k8s.io/v2beta1", AGGREGATED_BETA),
        AggregatedForm::Json | AggregatedForm::Protobuf => ("apidiscovery.k8s.io/v2", AGGREGATED),
    };
    document.insert("apiVersion", version);
    document.insert("metadata", Value::object());
    document.insert("items", items);
    let document = Value::from(document);
    let message = (form == AggregatedForm::Protobuf).then(|| protobuf::encode(&document)).flatten();
    let media_type = if message.is_some() { AGGREGATED_MESSAGE } else { media_type };
    let encoding = if form == AggregatedForm::Protobuf { Encoding::Protobuf } else { Encoding::Json };
    let bytes = message.unwrap_or_else(|| pleach_json::to_vec(&document));
    let etag = format!("\"{}\"", hex_upper(&Sha512::digest(&bytes)));
    let unchanged = call.header(IF_NONE_MATCH).is_some_and(|given| given == etag);
    let format = ResponseFormat { gzip: respond::reads_gzip(&call.headers), ..ResponseFormat::plain() };
    let mut response = if unchanged {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = Outcome::NotModified.code();
        response
    } else {
        respond::bytes(Outcome::Ok, encoding, bytes, &format)
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(ETAG, HeaderValue::try_from(etag).expect("hexadecimal digits are a header value"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}

fn hex_upper(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

fn aggregated_version(app: &App, group: &str, version: &str) -> Value {
    let mut resources: Vec<Value> = Vec::new();
    for kind in established(app, group) {
        if let Some(served) = served_version(&kind, version) {
            if kind.strategy.runs_containers() {
                resources.insert(0, crate::pod_requests::aggregated_bindings());
            }
            resources.push(aggregated_resource(&kind, served));
        }
    }
    resources.extend(crate::reviews::aggregated(group, version));
    let mut out = Map::new();
    out.insert("version", version);
    out.insert("freshness", "Current");
    out.insert("resources", resources);
    out.into()
}

/// A kind in the aggregated document. Built-in kinds of the group and version that list them have neither there.
fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    let mut out = Map::new();
    out.insert("group", group);
    out.insert("version", version);
    out.insert("kind", kind);
    out.into()
}

fn aggregated_resource(kind: &Kind, version: &KindVersion) -> Value {
    let mut out = Map::new();
    out.insert("resource", kind.plural.clone());
    let (group, version_name) =
        if kind.is_custom() { (kind.group.as_str(), version.name.as_str()) } else { ("", "") };
    out.insert("responseKind", response_kind(group, version_name, &kind.kind));
    out.insert("scope", if kind.is_namespaced() { "Namespaced" } else { "Cluster" });
    out.insert("singularResource", kind.singular.clone());
    out.insert("verbs", texts(verbs(kind)));
    if !kind.short_names.is_empty() {
        out.insert("shortNames", texts(&kind.short_names));
    }
    if !kind.categories.is_empty() {
        out.insert("categories", texts(&kind.categories));
    }
    let mut subresources: Vec<Value> = Vec::new();
    let mut add = |name: &str, response: Value, verbs: &[&str]| {
        let mut sub = Map::new();
        sub.insert("subresource", name);
        sub.insert("responseKind", response);
        sub.insert("verbs", texts(verbs));
        subresources.push(sub.into());
    };
    if version.status {
        add("status", response_kind(group, version_name, &kind.kind), &VERBS_SUBRESOURCE);
    }
    if version.scale.is_some() {
        add("scale", response_kind("autoscaling", "v1", "Scale"), &VERBS_SUBRESOURCE);
    }
    if kind.strategy.issues_tokens() {
        add("token", response_kind(&TOKEN_REQUEST.group, "v1", &TOKEN_REQUEST.kind), &["create"]);
    }
    for more in kind.strategy.subresources() {
        let is_same = more.group.is_empty() || more.group == kind.group.as_str();
        let (group, version) = if is_same { ("", "") } else { (more.group, more.version) };
        add(more.name, response_kind(group, version, more.kind), more.verbs);
    }
    if !subresources.is_empty() {
        if !kind.is_custom() {
            let name = |sub: &Value| sub.get("subresource").and_then(Value::as_str).map(str::to_owned);
            subresources.sort_by_key(name);
        }
        out.insert("subresources", subresources);
    }
    out.into()
}
