//! Questions about oneself: who am I, and what may I do?
//!
//! Everybody who is authenticated may do everything here, so the answers are short; they are given
//! in the forms that `kubectl auth` asks for. Nothing is stored.

use http::{Response, StatusCode};
use pleach_engine::options::Unreadable;
use pleach_engine::rejection::Rejection;
use pleach_json::{Map, Value, json};

use crate::accept::Encoding;
use crate::app::Call;
use crate::body::Body;
use crate::protobuf;
use crate::request_info::ResourcePath;
use crate::resource::{body_format, error_format};
use crate::respond;

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
    let format = error_format(call);
    if call.method != http::Method::POST {
        let subject = pleach_engine::rejection::Subject {
            group: review.group.into(),
            resource: review.plural.into(),
            name: "".into(),
        };
        let verb = crate::app::verb(&call.method, "", false).into();
        return respond::rejection(Rejection::MethodNotAllowed { subject, verb }, &format);
    }
    let asked = match parse(call, review, body) {
        Ok(asked) => asked,
        Err(rejection) => return respond::rejection(rejection, &format),
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
    respond::value(StatusCode::CREATED, &out.into(), &format)
}

fn parse(call: &Call, review: Review, body: &[u8]) -> Result<Value, Rejection> {
    let read = match body_format(call)? {
        Encoding::Yaml => pleach_yaml::parse(body).map_err(|error| error.to_string()),
        Encoding::Json => pleach_json::parse(body).map_err(|error| error.to_string()),
        Encoding::Protobuf => {
            let read = protobuf::object(body, &format!("{}/v1", review.group), review.kind);
            read.map_err(|(Unreadable::Body(error) | Unreadable::Object(error))| error)
        }
    };
    read.map_err(Rejection::BadRequest)
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
