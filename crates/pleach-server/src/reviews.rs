//! Questions about oneself: who am I, and what may I do?
//!
//! Everybody who is authenticated may do everything here, so the answers are short; they are given
//! in the forms that `kubectl auth` asks for. Nothing is stored.

use http::{Response, StatusCode};
use pleach_engine::rejection::Rejection;
use pleach_json::{Map, Value, json};

use crate::app::Call;
use crate::body::Body;
use crate::request_info::ResourcePath;
use crate::respond::{self, Look};

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

const REVIEWS: [Review; 5] = [
    Review {
        group: "authentication.k8s.io",
        plural: "selfsubjectreviews",
        kind: "SelfSubjectReview",
        namespaced: false,
    },
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
pub fn find(info: &ResourcePath<'_>) -> Option<Review> {
    REVIEWS
        .iter()
        .find(|review| review.group == info.group && info.version == "v1" && review.plural == info.resource)
        .copied()
}

/// Answers a review.
pub fn answer(call: &Call, review: Review, body: &[u8]) -> Response<Body> {
    let look = Look { pretty: call.pretty(), ..Look::plain() };
    if call.method != http::Method::POST {
        let subject = pleach_engine::rejection::Subject {
            group: review.group.into(),
            resource: review.plural.into(),
            name: "".into(),
        };
        let verb = crate::app::verb(&call.method, "", false).into();
        return respond::rejection(Rejection::MethodNotAllowed { subject, verb }, &look);
    }
    let asked = match parse(call, body) {
        Ok(asked) => asked,
        Err(rejection) => return respond::rejection(rejection, &look),
    };
    let status = match review.kind {
        "SelfSubjectReview" => json!({
            "userInfo": {
                "username": (call.user.name.clone()),
                "groups": (texts(&call.user.groups))
            }
        }),
        "SelfSubjectRulesReview" => json!({
            "incomplete": false,
            "nonResourceRules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
            "resourceRules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        }),
        _ => json!({"allowed": true, "reason": "every authenticated user may do everything"}),
    };
    let mut out = Map::new();
    out.insert("apiVersion", format!("{}/v1", review.group));
    out.insert("kind", review.kind);
    out.insert("metadata", json!({}));
    if let Some(spec) = asked.get("spec") {
        out.insert("spec", spec.clone());
    }
    out.insert("status", status);
    respond::value(StatusCode::CREATED, &out.into(), &look)
}

fn parse(call: &Call, body: &[u8]) -> Result<Value, Rejection> {
    let media = call.header(http::header::CONTENT_TYPE).unwrap_or_default();
    match media.split(';').next().unwrap_or_default().trim() {
        "application/yaml" => pleach_yaml::parse(body)
            .map_err(|error| Rejection::BadRequest(error.to_string())),
        "" | "application/json" => {
            pleach_json::parse(body).map_err(|error| Rejection::BadRequest(error.to_string()))
        }
        "application/vnd.kubernetes.protobuf" => crate::protobuf::object(body)
            .ok_or_else(|| Rejection::BadRequest("the body of the request is no message of this kind".into())),
        _ => Err(Rejection::UnsupportedMediaType("the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf".into())),
    }
}

fn texts(list: &[pleach_json::Str]) -> Vec<Value> {
    list.iter().map(|text| Value::String(text.clone())).collect()
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
