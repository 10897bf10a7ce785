//! Impersonation: a request that acts as another user, if its own user may do so.
//!
//! Five modes are tried in upstream's order: as the node of a pod, as any node, as a service account, as any other user
//! (these four are constrained: the user also needs a right to impersonate for this request), and the classic one. The
//! first that succeeds counts; if none does, the first refusal is the answer. For each user the mode that worked last
//! is tried first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use pleach_auth::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED};
use pleach_auth::{Attributes, Authorizer, ResourceAttributes, UserInfo, Verb};
use pleach_engine::audit;
use pleach_engine::rejection::Rejection;
use pleach_go::strconv::quote;
use pleach_go::url::unescape_path;
use pleach_json::Str;
use pleach_meta::check_domain_prefixed_path;
use pleach_meta::field_error::aggregate;
use pleach_meta::names::{is_dns1123_label, is_dns1123_subdomain};

use crate::audit::CONSTRAINT;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// How many users' last modes are remembered.
const REMEMBERED: usize = 1024;

/// A kind of impersonation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImpersonationMode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Classic,
}

const MODES: [ImpersonationMode; 5] = [
    ImpersonationMode::AssociatedNode,
    ImpersonationMode::ArbitraryNode,
    ImpersonationMode::ServiceAccount,
    ImpersonationMode::UserInfo,
    ImpersonationMode::Classic,
];

impl ImpersonationMode {
    /// The verb of the right to be the other user; none for the classic mode, which has no constraint.
    fn constraint(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("impersonate:associated-node"),
            Self::ArbitraryNode => Some("impersonate:arbitrary-node"),
            Self::ServiceAccount => Some("impersonate:serviceaccount"),
            Self::UserInfo => Some("impersonate:user-info"),
            Self::Classic => None,
        }
    }
}

/// The kind of impersonation that was last allowed for each user.
#[derive(Default)]
pub struct LastModes(Mutex<HashMap<Str, ImpersonationMode>>);

impl LastModes {
    fn get(&self, user: &UserInfo) -> Option<ImpersonationMode> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&user.name).copied()
    }

    fn set(&self, user: &UserInfo, mode: ImpersonationMode) {
        let mut modes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if modes.len() >= REMEMBERED {
            modes.clear();
        }
        modes.insert(user.name.clone(), mode);
    }
}

/// Whether a request has impersonation headers.
pub fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("impersonate-"))
}

/// The user that a request acts as; none if its headers name no user. The error is the refusal.
pub async fn impersonated(
    authorizer: &dyn Authorizer,
    last: &LastModes,
    headers: &HeaderMap,
    attributes: &Attributes<'_>,
) -> Result<Option<Arc<UserInfo>>, Rejection> {
    let Some(wanted) = wanted(headers)? else { return Ok(None) };
    let check = Check { authorizer, attributes, wanted: &wanted };
    let remembered = last.get(&attributes.user);
    let mut first = None;
    let others = MODES.into_iter().filter(|mode| Some(*mode) != remembered);
    for mode in remembered.into_iter().chain(others) {
        match check.by(mode).await {
            Ok(None) => {}
            Ok(Some(user)) => {
                last.set(&attributes.user, mode);
                if let Some(constraint) = mode.constraint() {
                    audit::annotate(CONSTRAINT, || constraint.into());
                }
                return Ok(Some(Arc::new(user)));
            }
            Err(refusal) => {
                first.get_or_insert(refusal);
            }
        }
    }
    Err(first.unwrap_or_else(|| Rejection::internal("all impersonation modes failed")))
}

/// The user that the headers name.
fn wanted(headers: &HeaderMap) -> Result<Option<UserInfo>, Rejection> {
    let all = |name: &str| -> Vec<Str> { headers.get_all(name).iter().map(text).collect() };
    let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let mut extra: Vec<(Str, Vec<Str>)> = Vec::new();
    let mut names: Vec<&str> = headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    for name in names {
        let Some(key) = name.strip_prefix(EXTRA) else { continue };
        let (key, values) = (unescaped(key), all(name));
        match extra.iter_mut().find(|(other, _)| *other == key) {
            Some((_, list)) => list.extend(values),
            None => extra.push((key, values)),
        }
    }
    extra.sort();
    let user = UserInfo { name: first(USER), uid: first(UID), groups: all(GROUP), extra };
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user.uid.is_empty() && user.groups.is_empty() && user.extra.is_empty() {
        return Ok(None);
    }
    Err(Rejection::BadRequest(format!("requested {} without impersonating a user name", go_syntax(&user))))
}

fn text(value: &http::HeaderValue) -> Str {
    String::from_utf8_lossy(value.as_bytes()).into()
}

/// A key of extra; one that cannot be decoded stays as it is.
fn unescaped(key: &str) -> Str {
    unescape_path(key).map_or_else(|_| key.into(), |bytes| String::from_utf8_lossy(&bytes).as_ref().into())
}

/// A user as Go's `%#v` writes it.
fn go_syntax(user: &UserInfo) -> String {
    let list = |texts: &[Str]| {
        let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
        if texts.is_empty() {
            "[]string(nil)".to_owned()
        } else {
            format!("[]string{{{}}}", texts.join(", "))
        }
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let entries = user.extra.iter().map(|(key, values)| format!("{}:{}", quote(key), list(values)));
        format!("map[string][]string{{{}}}", entries.collect::<Vec<_>>().join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:{}, UID:{}, Groups:{}, Extra:{extra}}}",
        quote(&user.name),
        quote(&user.uid),
        list(&user.groups)
    )
}

/// The namespace and name of a service account's user name.
pub fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (is_dns1123_label(namespace) && is_dns1123_subdomain(name)).then_some((namespace, name))
}

fn node(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| is_dns1123_subdomain(name))
}

/// One attempt to impersonate.
struct Check<'a> {
    authorizer: &'a dyn Authorizer,
    attributes: &'a Attributes<'a>,
    wanted: &'a UserInfo,
}

impl Check<'_> {
    /// The user, none if the mode is not for such users, or the refusal.
    async fn by(&self, mode: ImpersonationMode) -> Result<Option<UserInfo>, Rejection> {
        let wanted = self.wanted;
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (node(&wanted.name), service_account(&wanted.name));
        match mode {
            ImpersonationMode::AssociatedNode => {
                if !only_name || !node.is_some_and(|node| self.runs_on(node)) {
                    return Ok(None);
                }
                self.constrained("associated-node").await?;
                self.may_be("associated-node", "nodes", "", "*", "").await?;
                Ok(Some(as_node(wanted)))
            }
            ImpersonationMode::ArbitraryNode => {
                let Some(node) = node.filter(|_| only_name) else { return Ok(None) };
                self.constrained("arbitrary-node").await?;
                self.may_be("arbitrary-node", "nodes", "", node, "").await?;
                Ok(Some(as_node(wanted)))
            }
            ImpersonationMode::ServiceAccount => {
                let Some((namespace, name)) = account.filter(|_| only_name) else { return Ok(None) };
                self.constrained("serviceaccount").await?;
                self.may_be("serviceaccount", "serviceaccounts", namespace, name, "").await?;
                Ok(Some(with_groups(wanted)))
            }
            ImpersonationMode::UserInfo => {
                if node.is_some() || account.is_some() {
                    return Ok(None);
                }
                self.by_user_info().await?;
                Ok(Some(with_groups(wanted)))
            }
            ImpersonationMode::Classic => {
                self.classic().await?;
                Ok(Some(with_groups(wanted)))
            }
        }
    }

    /// Whether the user is a pod's service account on that node.
    fn runs_on(&self, node: &str) -> bool {
        let user = &self.attributes.user;
        let on = user.extra.iter().find(|(key, _)| key == NODE_NAME);
        service_account(&user.name).is_some()
            && on.is_some_and(|(_, names)| matches!(names.as_slice(), [name] if name == node))
    }

    async fn by_user_info(&self) -> Result<(), Rejection> {
        const MODE: &str = "user-info";
        let wanted = self.wanted;
        self.constrained(MODE).await?;
        self.may_be(MODE, "users", "", &wanted.name, "").await?;
        if !wanted.uid.is_empty() {
            self.may_be(MODE, "uids", "", &wanted.uid, "").await?;
        }
        let refused = |resource: &str, name: &str, why: &str| {
            let verb = "impersonate:user-info";
            Rejection::forbidden(&self.attributes_of(verb, AUTHENTICATION, resource, "", "", name), why)
        };
        for (group, why) in [
            ("", "impersonating the empty string group is not allowed"),
            (MASTERS, "impersonating the system:masters group is not allowed"),
        ] {
            if wanted.is_in(group) {
                return Err(refused("groups", group, why));
            }
        }
        for group in &wanted.groups {
            self.may_be(MODE, "groups", "", group, "").await?;
        }
        for (key, values) in &wanted.extra {
            if let Some(why) = extra_problem(key, values) {
                return Err(refused("userextras", "", &why));
            }
        }
        for (key, values) in &wanted.extra {
            for value in values {
                self.may_be(MODE, "userextras", "", value, key).await?;
            }
        }
        Ok(())
    }

    async fn classic(&self) -> Result<(), Rejection> {
        let wanted = self.wanted;
        match service_account(&wanted.name) {
            Some((namespace, name)) => {
                self.may("impersonate", "", "serviceaccounts", "", namespace, name).await?;
            }
            None => self.may("impersonate", "", "users", "", "", &wanted.name).await?,
        }
        if !wanted.uid.is_empty() {
            self.may("impersonate", AUTHENTICATION, "uids", "", "", &wanted.uid).await?;
        }
        for group in &wanted.groups {
            self.may("impersonate", "", "groups", "", "", group).await?;
        }
        for (key, values) in &wanted.extra {
            for value in values {
                self.may("impersonate", AUTHENTICATION, "userextras", key, "", value).await?;
            }
        }
        Ok(())
    }

    /// The right to impersonate in a mode for this request.
    async fn constrained(&self, mode: &str) -> Result<(), Rejection> {
        let verb = format!("impersonate-on:{mode}:{}", self.attributes.verb);
        let attributes = Attributes { verb: Verb::of(&verb), ..self.attributes.clone() };
        self.ask(&attributes).await
    }

    /// The permission to impersonate a user, group, uid or extra value with a verb.
    async fn may_be(
        &self,
        mode: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        subresource: &str,
    ) -> Result<(), Rejection> {
        let verb = format!("impersonate:{mode}");
        self.may(&verb, AUTHENTICATION, resource, subresource, namespace, name).await
    }

    async fn may(
        &self,
        verb: &str,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), Rejection> {
        let attributes = self.attributes_of(verb, group, resource, subresource, namespace, name);
        self.ask(&attributes).await
    }

    fn attributes_of<'a>(
        &self,
        verb: &str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> Attributes<'a> {
        let name = Cow::Borrowed(name);
        Attributes {
            user: self.attributes.user.clone(),
            verb: Verb::of(verb),
            path: "",
            resource: Some(ResourceAttributes {
                group,
                version: "v1",
                resource,
                subresource,
                namespace,
                name,
                ..ResourceAttributes::default()
            }),
        }
    }

    async fn ask(&self, attributes: &Attributes<'_>) -> Result<(), Rejection> {
        let decision = self.authorizer.authorize(attributes).get().await;
        if decision.is_allowed() { Ok(()) } else { Err(Rejection::forbidden(attributes, &decision.reason)) }
    }
}

fn as_node(wanted: &UserInfo) -> UserInfo {
    let groups = vec![Str::new_static("system:nodes"), Str::new_static(AUTHENTICATED)];
    UserInfo { groups, ..wanted.clone() }
}

/// The user with the groups that the server adds.
fn with_groups(wanted: &UserInfo) -> UserInfo {
    let mut user = wanted.clone();
    if user.groups.is_empty()
        && let Some((namespace, _)) = service_account(&wanted.name)
    {
        let own = format!("system:serviceaccounts:{namespace}");
        user.groups = vec![Str::new_static("system:serviceaccounts"), own.into()];
    }
    let more = if user.name == ANONYMOUS {
        UNAUTHENTICATED
    } else if user.is_in(UNAUTHENTICATED) {
        return user;
    } else {
        AUTHENTICATED
    };
    if !user.is_in(more) {
        user.groups.push(Str::new_static(more));
    }
    user
}

/// Why an extra attribute cannot be impersonated in a constrained mode, whatever the rights.
fn extra_problem(key: &str, values: &[Str]) -> Option<String> {
    let errors = check_domain_prefixed_path(key, "extra.key");
    if !errors.is_empty() {
        let why = aggregate(&errors);
        return Some(format!("impersonating an invalid key in extra is not allowed: {why}"));
    }
    let has_empty = values.iter().any(Str::is_empty);
    has_empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

#[cfg(test)]
mod tests {
    use pleach_auth::{Answer, Decision};

    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn headers_name_a_user() {
        assert_eq!(wanted(&headers(&[("accept", "x")])).unwrap(), None);
        let user = wanted(&headers(&[
            (USER, "bob"),
            (GROUP, "a,b"),
            (UID, "1"),
            ("impersonate-extra-acme.io%2ffoo", "v"),
        ]));
        let user = user.unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("bob", "1"));
        assert_eq!(user.groups, ["a,b"]);
        assert_eq!(user.extra, [(Str::from("acme.io/foo"), vec![Str::from("v")])]);
        let error = wanted(&headers(&[(GROUP, "g")])).unwrap_err().to_string();
        assert_eq!(
            error,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, Extra:map[string][]string(nil)} without impersonating a user name"
        );
    }

    /// Allows requests for users, and for resources and names in a list; notes what it is asked.
    #[derive(Default)]
    struct Grants {
        allowed: Vec<(&'static str, &'static str)>,
        asked: Mutex<Vec<String>>,
    }

    impl Authorizer for Grants {
        fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
            let resource = attributes.resource.as_ref().unwrap();
            let asked = match resource.subresource {
                "" => resource.resource.to_owned(),
                sub => format!("{}/{sub}", resource.resource),
            };
            self.asked.lock().unwrap().push(format!("{asked} {}", resource.name));
            let is_constrained = attributes.verb.as_str().starts_with("impersonate");
            let granted = (asked.as_str(), &*resource.name);
            let is_general =
                matches!(asked.as_str(), "foos" | "users") && attributes.verb.as_str() != "impersonate";
            Answer::Now(if is_constrained && (is_general || self.allowed.contains(&granted)) {
                Decision::allow("")
            } else {
                Decision::no_opinion("")
            })
        }

        fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> Answer<'a, pleach_auth::Rules> {
            Answer::Now(pleach_auth::Rules::default())
        }
    }

    /// The refusal, if there is one, and what was asked about groups and extra attributes.
    async fn constrained(
        allowed: &[(&'static str, &'static str)],
        list: &[(&'static str, &str)],
    ) -> (String, Vec<String>) {
        let grants = Grants { allowed: allowed.to_vec(), ..Grants::default() };
        let resource = ResourceAttributes { resource: "foos", ..ResourceAttributes::default() };
        let attributes = Attributes {
            user: UserInfo::authenticated("ann", []),
            verb: Verb::List,
            path: "",
            resource: Some(resource),
        };
        let mut headers = headers(list);
        headers.insert(USER, "bob".parse().unwrap());
        let found = impersonated(&grants, &LastModes::default(), &headers, &attributes).await;
        let mut asked = grants.asked.into_inner().unwrap();
        asked.retain(|asked| asked.starts_with("groups") || asked.starts_with("userextras"));
        (found.err().map(|refusal| refusal.to_string()).unwrap_or_default(), asked)
    }

    #[tokio::test]
    async fn constrained_impersonation_refuses_some_groups_and_extra_whatever_the_rights() {
        const BAD: &str = "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ";
        let cases: [(&[(&str, &str)], &str); 6] = [
            (
                &[(GROUP, "g"), (GROUP, "system:masters")],
                "impersonating the system:masters group is not allowed",
            ),
            (
                &[(GROUP, "system:masters"), (GROUP, "")],
                "impersonating the empty string group is not allowed",
            ),
            (
                &[("impersonate-extra-a.io%2fa", "v"), ("impersonate-extra-k", "v")],
                &format!("{BAD}\"k\": must be a domain-prefixed path (such as \"acme.io/foo\")"),
            ),
            (&[("impersonate-extra-a_%2fk", "v")], &format!("{BAD}\"a_\": a lowercase RFC 1123 subdomain")),
            (&[("impersonate-extra-a.io%2f%20", "v")], &format!("{BAD}\" \": Invalid path (regex")),
            (
                &[("impersonate-extra-a.io%2fk", "v"), ("impersonate-extra-a.io%2fk", "")],
                "impersonating the empty string value in extra is not allowed",
            ),
        ];
        for (list, want) in cases {
            let (refusal, asked) = constrained(&[], list).await;
            assert!(refusal.contains(want), "{list:?}: {refusal}");
            let classic = list.iter().filter(|(name, _)| *name == GROUP).count().min(1);
            assert!(asked.len() <= classic, "no right is asked about: {asked:?}");
        }
    }

    #[tokio::test]
    async fn each_group_and_extra_attribute_needs_a_right_of_its_own() {
        let four = [(GROUP, "a"), (GROUP, "b"), (GROUP, "c"), (GROUP, "d")];
        let each = [("groups", "a"), ("groups", "b"), ("groups", "c"), ("groups", "d")];
        assert_eq!(constrained(&each, &four).await.0, "");
        for allowed in [&each[..3], &[("groups", "*")]] {
            let (refusal, _) = constrained(allowed, &four).await;
            assert!(refusal.contains("groups"), "{allowed:?}: {refusal}");
        }
        let extra = [("impersonate-extra-a.io%2fk", "v"); 4];
        let (refusal, _) = constrained(&[("userextras/*", "*")], &extra).await;
        assert!(refusal.contains("userextras"), "{refusal}");
    }

    #[tokio::test]
    async fn a_pod_may_be_allowed_to_act_as_its_own_node_only() {
        let node = |name: &str| vec![(Str::new_static(NODE_NAME), vec![Str::from(name)])];
        let account = UserInfo::authenticated("system:serviceaccount:ns:agent", []);
        let of = |user: &UserInfo, extra| Arc::new(UserInfo { extra, ..user.clone() });
        let ann = UserInfo::authenticated("ann", []);
        for (user, wanted, want, why) in [
            (of(&account, node("n1")), "system:node:n1", true, "its node"),
            (of(&account, node("n1")), "system:node:n2", false, "another node"),
            (of(&account, Vec::new()), "system:node:n1", false, "the token is bound to no node"),
            (of(&ann, node("n1")), "system:node:n1", false, "no service account"),
        ] {
            let grants = Grants { allowed: vec![("nodes", "*")], ..Grants::default() };
            let resource = ResourceAttributes { resource: "foos", ..ResourceAttributes::default() };
            let attributes = Attributes { user, verb: Verb::List, path: "", resource: Some(resource) };
            let found =
                impersonated(&grants, &LastModes::default(), &headers(&[(USER, wanted)]), &attributes).await;
            let found = found.ok().flatten();
            assert_eq!(found.is_some(), want, "{why}");
            if let Some(found) = found {
                assert_eq!(found.name, wanted);
                assert_eq!(found.groups, ["system:nodes", "system:authenticated"]);
            }
        }
    }

    #[test]
    fn groups_that_the_server_adds() {
        let user = |name: &str, groups: &[&str]| UserInfo {
            name: name.into(),
            groups: groups.iter().map(|group| Str::from(*group)).collect(),
            ..UserInfo::default()
        };
        for (wanted, want) in [
            (user("bob", &[]), &["system:authenticated"][..]),
            (user("bob", &["a"]), &["a", "system:authenticated"]),
            (user("bob", &["system:unauthenticated"]), &["system:unauthenticated"]),
            (user("system:anonymous", &[]), &["system:unauthenticated"]),
            (
                user("system:serviceaccount:ns:x", &[]),
                &["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
            ),
            (user("system:serviceaccount:ns:x", &["g"]), &["g", "system:authenticated"]),
        ] {
            assert_eq!(with_groups(&wanted).groups, want, "{wanted:?}");
        }
    }
}
