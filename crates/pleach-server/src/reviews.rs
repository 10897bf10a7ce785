//! Access reviews and SelfSubjectReview.
//!
//! They are answered by the authorizer that decides about requests. Nothing is stored.

use std::borrow::Cow;
use std::sync::Arc;

use http::Response;
use pleach_auth::{Attributes, NonResourceRule, ResourceAttributes, ResourceRule, Rules, UserInfo, Verb};
use pleach_engine::options::Unreadable;
use pleach_engine::rejection::{Rejection, Subject};
use pleach_engine::webhooks::user_info;
use pleach_json::{Map, Str, Value, json};
use pleach_meta::FieldError;

use crate::accept::Encoding;
use crate::app::{App, Call};
use crate::body::Body;
use crate::cbor;
use crate::outcome::Outcome;
use crate::request_body::Unread;
use crate::resource::{body_format, error_format};
use crate::{respond, service_account};
use pleach_protobuf as protobuf;

/// The groups of the reviews.
pub const GROUPS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// A kind of review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Review {
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
}

const REVIEWS: [Review; 6] = [
    Review {
        group: "authentication.k8s.io",
        plural: "selfsubjectreviews",
        kind: "SelfSubjectReview",
        namespaced: false,
    },
    Review { group: "authentication.k8s.io", plural: "tokenreviews", kind: "TokenReview", namespaced: false },
    Review {
        group: "authorization.k8s.io",
        plural: "localsubjectaccessreviews",
        kind: "LocalSubjectAccessReview",
        namespaced: true,
    },
    Review {
        group: "authorization.k8s.io",
        plural: "selfsubjectaccessreviews",
        kind: "SelfSubjectAccessReview",
        namespaced: false,
    },
    Review {
        group: "authorization.k8s.io",
        plural: "selfsubjectrulesreviews",
        kind: "SelfSubjectRulesReview",
        namespaced: false,
    },
    Review {
        group: "authorization.k8s.io",
        plural: "subjectaccessreviews",
        kind: "SubjectAccessReview",
        namespaced: false,
    },
];

/// The review a path asks for.
pub fn find(info: &ResourceAttributes<'_>) -> Option<Review> {
    REVIEWS
        .iter()
        .find(|review| review.group == info.group && info.version == "v1" && review.plural == info.resource)
        .copied()
}

/// Serves a review.
pub async fn serve(app: &App, call: &Call<'_>, review: Review, body: &mut Unread) -> Response<Body> {
    let format = error_format(call);
    if review.kind == "TokenReview" {
        return service_account::serve_token_review(app, call, body).await;
    }
    match answer(app, call, review, body).await {
        Ok(answer) => respond::value(Outcome::Created, &answer, &format),
        Err(rejection) => respond::rejection(rejection, &format),
    }
}

async fn answer(app: &App, call: &Call<'_>, review: Review, body: &mut Unread) -> Result<Value, Rejection> {
    let bytes = body.read().await?;
    if call.method != http::Method::POST {
        let subject = Subject { group: review.group.into(), resource: review.plural.into(), name: "".into() };
        let verb = call.attributes.verb.as_str().into();
        return Err(Rejection::MethodNotAllowed { subject, verb });
    }
    let asked = parse(call, review, &bytes)?;
    let empty = Value::object();
    let spec = asked.get("spec").unwrap_or(&empty);
    let (user, authorizer) = (&call.attributes.user, app.engine.authorizer());
    let status = match review.kind {
        "SelfSubjectReview" => json!({"userInfo": (user_info(user))}),
        "SelfSubjectRulesReview" => {
            if text(spec, "namespace").is_empty() {
                return Err(Rejection::BadRequest("no namespace on request".into()));
            }
            rules_status(&authorizer.rules_for(user, text(spec, "namespace")).get().await)
        }
        _ => {
            if review.namespaced {
                check_namespace(call, spec)?;
            }
            let asked = attributes(spec, user.clone())?;
            let user = if review.kind == "SelfSubjectAccessReview" { user.clone() } else { subject(spec)? };
            let decision = authorizer.authorize(&Attributes { user, ..asked }).get().await;
            let mut status = Map::new();
            status.insert("allowed", decision.is_allowed());
            if !decision.reason.is_empty() {
                status.insert("reason", decision.reason.as_ref());
            }
            status.into()
        }
    };
    let mut out = Map::new();
    out.insert("apiVersion", format!("{}/v1", review.group));
    out.insert("kind", review.kind);
    match review.kind {
        // Nothing that was sent comes back.
        "SelfSubjectReview" => {
            out.insert("metadata", json!({"creationTimestamp": (app.engine.now())}));
        }
        "SelfSubjectRulesReview" => {
            out.insert("metadata", json!({}));
            out.insert("spec", json!({}));
        }
        "LocalSubjectAccessReview" => {
            let namespace = call.attributes.resource.as_ref().map_or("", |resource| resource.namespace);
            out.insert("metadata", json!({"namespace": (namespace)}));
            out.insert("spec", without_empty_texts(spec));
        }
        _ => {
            out.insert("metadata", json!({}));
            out.insert("spec", without_empty_texts(spec));
        }
    }
    out.insert("status", status);
    Ok(out.into())
}

/// A spec as it is written again: empty texts are left out.
fn without_empty_texts(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let is_kept = |value: &Value| !value.is_null() && value.as_str() != Some("");
    if let Some(members) = spec.as_object_mut() {
        members.retain(|_, value| is_kept(value));
    }
    for attributes in ["resourceAttributes", "nonResourceAttributes"] {
        if let Some(members) = spec.get_mut(attributes).and_then(Value::as_object_mut) {
            members.retain(|_, value| is_kept(value));
        }
    }
    spec
}

/// The user that a review names.
fn subject(spec: &Value) -> Result<Arc<UserInfo>, Rejection> {
    let texts = |value: Option<&Value>| -> Vec<Str> {
        value
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Str::from)
            .collect()
    };
    let (name, groups) = (text(spec, "user"), texts(spec.get("groups")));
    if name.is_empty() && groups.is_empty() {
        return Err(invalid("spec.user", "", "at least one of user or group must be specified"));
    }
    let extra = spec.get("extra").and_then(Value::as_object);
    let extra = extra.into_iter().flat_map(Map::iter);
    Ok(Arc::new(UserInfo {
        name: name.into(),
        uid: text(spec, "uid").into(),
        groups,
        extra: extra.map(|(key, values)| (Str::from(&**key), texts(Some(values)))).collect(),
    }))
}

/// The request that a review asks about.
fn attributes(spec: &Value, user: Arc<UserInfo>) -> Result<Attributes<'_>, Rejection> {
    let member = |key: &str| spec.get(key).filter(|value| !value.is_null());
    match (member("resourceAttributes"), member("nonResourceAttributes")) {
        (Some(asked), None) => {
            let resource = ResourceAttributes {
                group: text(asked, "group"),
                version: text(asked, "version"),
                resource: text(asked, "resource"),
                subresource: text(asked, "subresource"),
                namespace: text(asked, "namespace"),
                name: Cow::Borrowed(text(asked, "name")),
            };
            let verb = Verb::of(text(asked, "verb"));
            Ok(Attributes { user, verb, path: "", resource: Some(resource) })
        }
        (None, Some(asked)) => {
            let verb = Verb::of(text(asked, "verb"));
            Ok(Attributes { user, verb, path: text(asked, "path"), resource: None })
        }
        (Some(_), Some(asked)) => {
            let shown = json!({"Path": (text(asked, "path")), "Verb": (text(asked, "verb"))});
            let why = "cannot be specified in combination with resourceAttributes";
            Err(invalid("spec.nonResourceAttributes", shown, why))
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            Err(invalid("spec.resourceAttributes", Value::Null, why))
        }
    }
}

/// A local review asks about the namespace of its URL.
fn check_namespace(call: &Call<'_>, spec: &Value) -> Result<(), Rejection> {
    let namespace = call.attributes.resource.as_ref().map_or("", |resource| resource.namespace);
    if let Some(asked) = spec.get("nonResourceAttributes").filter(|value| !value.is_null()) {
        let shown = json!({"Path": (text(asked, "path")), "Verb": (text(asked, "verb"))});
        return Err(invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"));
    }
    let asked = spec.get("resourceAttributes").map_or("", |asked| text(asked, "namespace"));
    if spec.get("resourceAttributes").is_some_and(|asked| !asked.is_null()) && asked != namespace {
        return Err(invalid("spec.resourceAttributes.namespace", asked, "must match metadata.namespace"));
    }
    Ok(())
}

/// A review of what cannot be reviewed; upstream names no kind in it.
fn invalid(path: &'static str, value: impl Into<Value>, why: &str) -> Rejection {
    let subject = Subject { group: "authorization.k8s.io".into(), ..Subject::default() };
    Rejection::Invalid { subject, errors: vec![FieldError::invalid(path, value, why)] }
}

fn rules_status(rules: &Rules) -> Value {
    let list = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
    let resource = |rule: &ResourceRule| {
        let mut out = Map::new();
        out.insert("apiGroups", list(&rule.api_groups));
        if !rule.resource_names.is_empty() {
            out.insert("resourceNames", list(&rule.resource_names));
        }
        out.insert("resources", list(&rule.resources));
        out.insert("verbs", list(&rule.verbs));
        Value::from(out)
    };
    let path =
        |rule: &NonResourceRule| json!({"nonResourceURLs": (list(&rule.urls)), "verbs": (list(&rule.verbs))});
    let mut status = json!({
        "incomplete": (rules.incomplete),
        "nonResourceRules": (rules.non_resource.iter().map(path).collect::<Vec<_>>()),
        "resourceRules": (rules.resource.iter().map(resource).collect::<Vec<_>>())
    });
    if !rules.evaluation_error.is_empty()
        && let Some(members) = status.as_object_mut()
    {
        members.insert("evaluationError", rules.evaluation_error.as_str());
    }
    status
}

fn parse(call: &Call<'_>, review: Review, body: &[u8]) -> Result<Value, Rejection> {
    let read = match body_format(call)? {
        Encoding::Yaml => pleach_yaml::parse(body).map_err(|error| error.to_string()),
        Encoding::Json => pleach_json::parse(body).map_err(|error| error.to_string()),
        Encoding::Cbor => cbor::read(body),
        Encoding::Protobuf => {
            let read = protobuf::object(body, &format!("{}/v1", review.group), review.kind);
            read.map_err(|(Unreadable::Body(error) | Unreadable::Object(error))| error)
        }
    };
    read.map_err(Rejection::BadRequest)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Entries for the old discovery documents; `None` for groups that have no reviews.
pub fn resources(group: &str, version: &str) -> Option<Vec<Value>> {
    (version == "v1" && GROUPS.contains(&group)).then(|| {
        of(group)
            .map(|review| {
                json!({
                    "name": (review.plural),
                    "singularName": (singular(review)),
                    "namespaced": (review.namespaced),
                    "kind": (review.kind),
                    "verbs": ["create"]
                })
            })
            .collect()
    })
}

/// Entries for the aggregated discovery document.
pub fn aggregated(group: &str, version: &str) -> Vec<Value> {
    if version != "v1" {
        return Vec::new();
    }
    of(group)
        .map(|review| {
            json!({
                "resource": (review.plural),
                "responseKind": {"group": (review.group), "version": "v1", "kind": (review.kind)},
                "scope": (if review.namespaced { "Namespaced" } else { "Cluster" }),
                "singularResource": (singular(review)),
                "verbs": ["create"]
            })
        })
        .collect()
}

fn of(group: &str) -> impl Iterator<Item = &'static Review> {
    REVIEWS.iter().filter(move |review| review.group == group)
}

fn singular(review: &Review) -> &'static str {
    review.plural.strip_suffix('s').unwrap_or(review.plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_ask_about_one_request() {
        let user = UserInfo::anonymous;
        let asked = json!({"resourceAttributes": {
            "group": "g", "resource": "foos", "subresource": "status", "namespace": "ns", "name": "x", "verb": "use",
        }});
        let found = attributes(&asked, user()).unwrap();
        let resource = found.resource.unwrap();
        assert_eq!(found.verb, Verb::Other("use".into()));
        assert_eq!((resource.group, resource.resource, resource.subresource), ("g", "foos", "status"));
        assert_eq!((resource.namespace, &*resource.name), ("ns", "x"));
        let asked = json!({"nonResourceAttributes": {"path": "/x", "verb": "get"}});
        let found = attributes(&asked, user()).unwrap();
        assert_eq!((found.path, found.verb, found.resource), ("/x", Verb::Get, None));
        for (spec, want) in [
            (
                json!({}),
                ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ),
            (
                json!({"resourceAttributes": {}, "nonResourceAttributes": {"path": "/x", "verb": "get"}}),
                ".authorization.k8s.io \"\" is invalid: spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be specified in combination with resourceAttributes",
            ),
        ] {
            assert_eq!(attributes(&spec, user()).unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn the_subject_of_a_review_is_taken_as_it_is() {
        let spec = json!({"user": "bob", "groups": ["dev"], "uid": "1", "extra": {"k": ["v"]}});
        let user = subject(&spec).unwrap();
        let extra = vec![(Str::from("k"), vec![Str::from("v")])];
        let want = UserInfo { name: "bob".into(), uid: "1".into(), groups: vec!["dev".into()], extra };
        assert_eq!(*user, want);
        assert!(subject(&json!({"groups": ["dev"]})).is_ok());
        assert!(subject(&json!({})).is_err());
    }
}
