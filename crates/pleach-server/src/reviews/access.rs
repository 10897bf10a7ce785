//! SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview and SelfSubjectRulesReview: the
//! authorizer's decisions.

use std::borrow::Cow;
use std::sync::Arc;

use pleach_auth::{
    Attributes, Authorizer, NonResourceRule, ResourceAttributes, ResourceRule, Rules, UserInfo, Verb,
};
use pleach_engine::rejection::Rejection;
use pleach_json::{Map, Str, Value, json};

use super::selectors;

/// An access review: its kind and where it was created.
pub(super) struct AccessReview<'a> {
    /// The kind.
    pub kind: &'a str,
    /// The namespace of a local review.
    pub namespace: &'a str,
    /// The managed fields that a stored object would have: they are shown in an error.
    pub managed_fields: Value,
}

/// Answers a valid access review, of a kind and in a namespace.
pub(super) async fn decide(
    authorizer: &dyn Authorizer,
    user: &Arc<UserInfo>,
    (kind, namespace): (&str, &str),
    asked: &Value,
) -> Result<Value, Rejection> {
    let empty = Value::object();
    let spec = asked.get("spec").unwrap_or(&empty);
    let user = if kind == "SelfSubjectAccessReview" { user.clone() } else { subject(spec) };
    let selectors = selectors::as_texts(spec.get("resourceAttributes"));
    let decision = authorizer.authorize(&attributes(spec, user, &selectors)).get().await;
    let mut status = Map::new();
    status.insert("allowed", decision.is_allowed());
    if decision.verdict == pleach_auth::Verdict::Deny {
        status.insert("denied", true);
    }
    if !decision.reason.is_empty() {
        status.insert("reason", decision.reason.as_ref());
    }
    let ignored = selectors::evaluation_error(spec.get("resourceAttributes"));
    let errors = decision.error.iter().map(Str::as_str).chain([ignored.as_str()]);
    let errors: Vec<&str> = errors.filter(|error| !error.is_empty()).collect();
    if !errors.is_empty() {
        status.insert("evaluationError", errors.join("; "));
    }
    let mut metadata = Map::new();
    if !namespace.is_empty() {
        metadata.insert("namespace", namespace);
    }
    let mut out = Map::new();
    out.insert("apiVersion", "authorization.k8s.io/v1");
    out.insert("kind", kind);
    out.insert("metadata", metadata);
    out.insert("spec", spec.clone());
    out.insert("status", status);
    Ok(out.into())
}

/// The namespace that a rules review is about.
pub(super) fn namespace_of_rules(asked: &Value) -> Result<&str, Rejection> {
    let namespace = asked.at(&["spec", "namespace"]).and_then(Value::as_str).unwrap_or_default();
    if namespace.is_empty() {
        return Err(Rejection::BadRequest("no namespace on request".into()));
    }
    Ok(namespace)
}

/// Answers a rules review.
pub(super) async fn rules(
    authorizer: &dyn Authorizer,
    user: &UserInfo,
    asked: &Value,
) -> Result<Value, Rejection> {
    let namespace = namespace_of_rules(asked)?;
    let rules = authorizer.rules_for(user, namespace).get().await;
    Ok(json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "metadata": {}, "spec": {}, "status": (rules_status(&rules)),
    }))
}

/// The user that a review names, taken as it is.
fn subject(spec: &Value) -> Arc<UserInfo> {
    let texts = |value: Option<&Value>| -> Vec<Str> {
        let values = value.and_then(Value::as_array).into_iter().flatten();
        values.filter_map(Value::as_str).map(Str::from).collect()
    };
    let extra = spec.get("extra").and_then(Value::as_object).into_iter().flat_map(Map::iter);
    Arc::new(UserInfo {
        name: text(spec, "user").into(),
        uid: text(spec, "uid").into(),
        groups: texts(spec.get("groups")),
        // Keys are compared in small letters.
        extra: extra.map(|(key, values)| (Str::from(key.to_lowercase()), texts(Some(values)))).collect(),
    })
}

/// The request that a valid review asks about.
fn attributes<'a>(spec: &'a Value, user: Arc<UserInfo>, selectors: &'a (String, String)) -> Attributes<'a> {
    if let Some(asked) = spec.get("resourceAttributes").filter(|asked| !asked.is_null()) {
        let resource = ResourceAttributes {
            group: text(asked, "group"),
            version: text(asked, "version"),
            resource: text(asked, "resource"),
            subresource: text(asked, "subresource"),
            namespace: text(asked, "namespace"),
            name: Cow::Borrowed(text(asked, "name")),
            field_selector: &selectors.0,
            label_selector: &selectors.1,
        };
        return Attributes { user, verb: Verb::of(text(asked, "verb")), path: "", resource: Some(resource) };
    }
    let asked = spec.get("nonResourceAttributes");
    let member = |key: &str| asked.map_or("", |asked| text(asked, key));
    Attributes { user, verb: Verb::of(member("verb")), path: member("path"), resource: None }
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

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
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
        let selectors = (String::new(), String::new());
        let found = attributes(&asked, user(), &selectors);
        let resource = found.resource.unwrap();
        assert_eq!(found.verb, Verb::Other("use".into()));
        assert_eq!((resource.group, resource.resource, resource.subresource), ("g", "foos", "status"));
        assert_eq!((resource.namespace, &*resource.name), ("ns", "x"));
        let asked = json!({"nonResourceAttributes": {"path": "/x", "verb": "get"}});
        let found = attributes(&asked, user(), &selectors);
        assert_eq!((found.path, found.verb, found.resource), ("/x", Verb::Get, None));
    }

    #[test]
    fn the_subject_of_a_review_is_taken_as_it_is() {
        let spec = json!({"user": "bob", "groups": ["dev"], "uid": "1", "extra": {"K": ["v"]}});
        let extra = vec![(Str::from("k"), vec![Str::from("v")])];
        let want = UserInfo { name: "bob".into(), uid: "1".into(), groups: vec!["dev".into()], extra };
        assert_eq!(*subject(&spec), want);
    }
}
