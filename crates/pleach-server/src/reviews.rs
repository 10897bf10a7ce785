//! Access reviews and SelfSubjectReview.
//!
//! They are answered by the authorizer that decides about requests. Nothing is stored.

mod access;
mod selectors;
mod validate;

use std::sync::Arc;

use http::Response;
use pleach_auth::ResourceAttributes;
use pleach_engine::catalog::ServedKind;
use pleach_engine::kind::Kind;
use pleach_engine::kinds::authentication::{SELF_SUBJECT_REVIEW, TOKEN_REVIEW};
use pleach_engine::kinds::authorization::{
    LOCAL_SUBJECT_ACCESS_REVIEW, SELF_SUBJECT_ACCESS_REVIEW, SELF_SUBJECT_RULES_REVIEW, SUBJECT_ACCESS_REVIEW,
};
use pleach_engine::options::Context;
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};
use pleach_engine::unstored;
use pleach_engine::webhooks::user_info;
use pleach_json::{Value, json};
use pleach_work::Constant;

use crate::app::{App, Call};
use crate::body::Body;
use crate::outcome::Outcome;
use crate::request_body::Unread;
use crate::resource::{agree_on_unstored, error_format, unstored_body};
use crate::{options, respond, service_account};

/// The groups of the reviews.
pub const GROUPS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// A kind of review.
#[derive(Clone, Copy)]
pub struct Review {
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
    decoded_as: &'static Constant<Kind>,
}

/// Makes the table of reviews, a line each.
macro_rules! reviews {
    ($($group:literal $plural:literal $kind:literal $namespaced:literal $decoded_as:ident;)*) => {
        [$(Review {
            group: $group, plural: $plural, kind: $kind, namespaced: $namespaced, decoded_as: &$decoded_as,
        }),*]
    };
}

static REVIEWS: [Review; 6] = reviews! {
    "authentication.k8s.io" "selfsubjectreviews" "SelfSubjectReview" false SELF_SUBJECT_REVIEW;
    "authentication.k8s.io" "tokenreviews" "TokenReview" false TOKEN_REVIEW;
    "authorization.k8s.io" "localsubjectaccessreviews" "LocalSubjectAccessReview" true LOCAL_SUBJECT_ACCESS_REVIEW;
    "authorization.k8s.io" "selfsubjectaccessreviews" "SelfSubjectAccessReview" false SELF_SUBJECT_ACCESS_REVIEW;
    "authorization.k8s.io" "selfsubjectrulesreviews" "SelfSubjectRulesReview" false SELF_SUBJECT_RULES_REVIEW;
    "authorization.k8s.io" "subjectaccessreviews" "SubjectAccessReview" false SUBJECT_ACCESS_REVIEW;
};

/// The kinds of the reviews, in the order of the table.
static SERVED: Constant<Vec<Arc<ServedKind>>> = Constant::new(|| {
    let served = |review: &Review| {
        let kind: &Kind = review.decoded_as;
        Arc::new(ServedKind::from(kind.clone()))
    };
    REVIEWS.iter().map(served).collect()
});

impl Review {
    fn served(&self) -> Arc<ServedKind> {
        let at = REVIEWS.iter().position(|review| review.plural == self.plural);
        SERVED[at.expect("a review of the table")].clone()
    }
}

/// The review a path asks for.
pub fn find(info: &ResourceAttributes<'_>) -> Option<Review> {
    REVIEWS
        .iter()
        .find(|review| review.group == info.group && info.version == "v1" && review.plural == info.resource)
        .copied()
}

/// Serves a review.
pub async fn serve(app: &App, call: &Call<'_>, review: Review, body: &mut Unread) -> Response<Body> {
    let mut context = call.context();
    let answer = match routed(call, review).and_then(|()| agree_on_unstored(call)) {
        Ok(format) => answer(app, call, review, body, &mut context).await.map(|answer| (answer, format)),
        Err(rejection) => Err(rejection),
    };
    let mut response = match answer {
        Ok((answer, format)) => respond::value(Outcome::Created, &answer, &format),
        Err(rejection) => respond::rejection(rejection, &error_format(call)),
    };
    respond::add_warnings(response.headers_mut(), &context.warnings);
    response
}

/// Reviews are created in their collection and nothing else.
fn routed(call: &Call<'_>, review: Review) -> Result<(), Rejection> {
    let Some(info) = &call.attributes.resource else { return Err(Rejection::UnknownPath) };
    if call.is_named || !info.subresource.is_empty() || info.namespace.is_empty() == review.namespaced {
        return Err(Rejection::UnknownPath);
    }
    if call.method == http::Method::POST { Ok(()) } else { Err(Rejection::UnknownMethod) }
}

async fn answer(
    app: &App,
    call: &Call<'_>,
    review: Review,
    body: &mut Unread,
    context: &mut Context,
) -> Result<Value, Rejection> {
    let kind: &Kind = review.decoded_as;
    let api_version = format!("{}/v1", review.group);
    let body = unstored_body(call, &api_version, review.kind, body).await?;
    let options = options::write_options(call.query, "CreateOptions")?;
    let mut asked = unstored::decode(kind, &body, &options, context)?;
    let namespace = call.attributes.resource.as_ref().map_or("", |resource| resource.namespace);
    let sent = asked.at(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
    if review.namespaced && !sent.is_empty() && sent != namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Rejection::BadRequest(why.into()));
    }
    let (engine, user) = (&app.engine, &call.attributes.user);
    let managed_fields = unstored::managed_fields(&asked, &api_version, "", &engine.now(), &options, context);
    let namespace = if review.namespaced { namespace } else { "" };
    if let Some(members) = asked.as_object_mut() {
        members.insert("apiVersion", api_version.as_str());
        members.insert("kind", review.kind);
    }
    let target = Target {
        kind: review.served(),
        version: 0,
        namespace: review.namespaced.then(|| namespace.into()),
        name: None,
        subresource: Subresource::None,
    };
    let admitted = engine.admit_unstored(&target, asked, &options, context).await?;
    match review.kind {
        "TokenReview" => service_account::check_token_review(&admitted.object)?,
        "SelfSubjectReview" => {}
        "SelfSubjectRulesReview" => drop(access::namespace_of_rules(&admitted.object)?),
        kind => {
            let managed_fields = managed_fields.clone();
            let review = access::AccessReview { kind, namespace, managed_fields };
            validate::check(&review, &admitted.object)?;
        }
    }
    engine.validate_unstored(&target, &admitted, &options, context).await?;
    let asked = admitted.object;
    match review.kind {
        "TokenReview" => {
            let answer = service_account::answer_token_review(app, asked).await?;
            Ok(with_managed_fields(answer, managed_fields))
        }
        // The response has no field of the request.
        "SelfSubjectReview" => Ok(json!({
            "apiVersion": (api_version), "kind": (review.kind),
            "metadata": {"creationTimestamp": (engine.now())},
            "status": {"userInfo": (user_info(user))},
        })),
        "SelfSubjectRulesReview" => access::rules(engine.authorizer(), user, &asked).await,
        kind => {
            let answer = access::decide(engine.authorizer(), user, (kind, namespace), &asked).await?;
            Ok(with_managed_fields(answer, managed_fields))
        }
    }
}

/// A review as its writer gets it back.
fn with_managed_fields(mut review: Value, managed_fields: Value) -> Value {
    if let Some(Value::Object(metadata)) = review.get_mut("metadata") {
        metadata.insert("managedFields", managed_fields);
    }
    review
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
                "responseKind": {"group": "", "version": "", "kind": (review.kind)},
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
