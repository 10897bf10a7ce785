//! Authorization: attributes of a request in, a decision out.

use std::borrow::Cow;
use std::sync::Arc;

use pleach_json::Str;

use crate::answer::Answer;
use crate::attributes::Attributes;
use crate::user::UserInfo;

/// Whether a request is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Allow,
    /// It is not, whatever other authorizers would say.
    Deny,
    /// No opinion: the next authorizer decides.
    NoOpinion,
}

/// A verdict and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason, for access reviews and for the message of a 403; may be empty.
    pub reason: Cow<'static, str>,
    /// Why an authorizer could not decide. A request that is not allowed is answered with a 500 then.
    pub error: Option<Str>,
}

impl Decision {
    /// The request is allowed.
    pub fn allow(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { verdict: Verdict::Allow, reason: reason.into(), error: None }
    }

    /// The request is denied.
    pub fn deny(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { verdict: Verdict::Deny, reason: reason.into(), error: None }
    }

    /// Nothing allows the request.
    pub fn no_opinion(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { verdict: Verdict::NoOpinion, reason: reason.into(), error: None }
    }

    /// The decision that a failure of an authorizer makes.
    pub fn failed(verdict: Verdict, error: impl Into<Str>) -> Self {
        Self { verdict, reason: Cow::Borrowed(""), error: Some(error.into()) }
    }

    /// Whether the request is allowed. Without an opinion it is not.
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}

/// A rule about resources, for `SelfSubjectRulesReview`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// Verbs, `*` for all.
    pub verbs: Vec<String>,
    /// API groups, `*` for all.
    pub api_groups: Vec<String>,
    /// Resources and subresources, `*` for all.
    pub resources: Vec<String>,
    /// Names; empty for all.
    pub resource_names: Vec<String>,
}

/// A rule about other paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NonResourceRule {
    /// Verbs, `*` for all.
    pub verbs: Vec<String>,
    /// Paths; `*` at the end of one stands for all that begin so.
    pub urls: Vec<String>,
}

/// All that a user may do in a namespace, as far as an authorizer can list it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// For resources.
    pub resource: Vec<ResourceRule>,
    /// For other paths.
    pub non_resource: Vec<NonResourceRule>,
    /// Whether there may be more.
    pub incomplete: bool,
    /// The evaluation error; empty for none.
    pub evaluation_error: String,
}

impl Rules {
    /// Everything.
    pub fn everything() -> Self {
        let all = || vec!["*".to_owned()];
        Self {
            resource: vec![ResourceRule {
                verbs: all(),
                api_groups: all(),
                resources: all(),
                resource_names: Vec::new(),
            }],
            non_resource: vec![NonResourceRule { verbs: all(), urls: all() }],
            incomplete: false,
            evaluation_error: String::new(),
        }
    }
}

/// Decides whether requests are allowed.
///
/// It is called between authentication and routing, by access reviews, and whenever a request needs another permission
/// on its way.
pub trait Authorizer: Send + Sync + 'static {
    /// Whether a request is allowed.
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision>;

    /// The rules of a user in a namespace.
    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> Answer<'a, Rules>;
}

impl<T: Authorizer + ?Sized> Authorizer for Arc<T> {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
        (**self).authorize(attributes)
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> Answer<'a, Rules> {
        (**self).rules_for(user, namespace)
    }
}

/// Allows everything: for engines without users.
pub struct AlwaysAllow;

impl Authorizer for AlwaysAllow {
    fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> Answer<'a, Decision> {
        Answer::Now(Decision::allow(""))
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> Answer<'a, Rules> {
        Answer::Now(Rules::everything())
    }
}

/// Authorizers in the order they are called: the first with an opinion decides.
pub struct AuthorizerUnion(pub Vec<Box<dyn Authorizer>>);

impl AuthorizerUnion {
    async fn from<'a>(&'a self, at: usize, attributes: &'a Attributes<'a>, mut notes: Notes) -> Decision {
        for authorizer in &self.0[at..] {
            let decision = authorizer.authorize(attributes).get().await;
            if decision.verdict != Verdict::NoOpinion {
                return decision;
            }
            notes.add(decision);
        }
        notes.into_decision()
    }
}

impl Authorizer for AuthorizerUnion {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
        let mut notes = Notes::default();
        for (at, authorizer) in self.0.iter().enumerate() {
            match authorizer.authorize(attributes) {
                Answer::Now(decision) if decision.verdict == Verdict::NoOpinion => notes.add(decision),
                Answer::Now(decision) => return Answer::Now(decision),
                Answer::Later(answer) => {
                    return Answer::later(async move {
                        let decision = answer.await;
                        if decision.verdict != Verdict::NoOpinion {
                            return decision;
                        }
                        notes.add(decision);
                        self.from(at + 1, attributes, notes).await
                    });
                }
            }
        }
        Answer::Now(notes.into_decision())
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> Answer<'a, Rules> {
        Answer::later(async move {
            let mut all = Rules::default();
            for authorizer in &self.0 {
                let rules = authorizer.rules_for(user, namespace).get().await;
                all.resource.extend(rules.resource);
                all.non_resource.extend(rules.non_resource);
                all.incomplete |= rules.incomplete;
                if !rules.evaluation_error.is_empty() {
                    if !all.evaluation_error.is_empty() {
                        all.evaluation_error.push_str(", ");
                    }
                    all.evaluation_error.push_str(&rules.evaluation_error);
                }
            }
            all
        })
    }
}

/// The reasons and errors of authorizers without an opinion.
#[derive(Default)]
struct Notes {
    reasons: Vec<String>,
    errors: Vec<Str>,
}

impl Notes {
    fn add(&mut self, decision: Decision) {
        if !decision.reason.is_empty() {
            self.reasons.push(decision.reason.into_owned());
        }
        if let Some(error) = decision.error.filter(|error| !self.errors.contains(error)) {
            self.errors.push(error);
        }
    }

    fn into_decision(self) -> Decision {
        let error = match self.errors.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            several => Some(format!("[{}]", several.join(", ")).into()),
        };
        Decision { error, ..Decision::no_opinion(self.reasons.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::Verb;

    struct Says {
        decision: Decision,
        later: bool,
    }

    impl Authorizer for Says {
        fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> Answer<'a, Decision> {
            let decision = self.decision.clone();
            if self.later { Answer::later(async move { decision }) } else { Answer::Now(decision) }
        }

        fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> Answer<'a, Rules> {
            Answer::Now(Rules { incomplete: self.later, ..Rules::default() })
        }
    }

    #[tokio::test]
    async fn the_first_with_an_opinion_decides() {
        let attributes =
            Attributes { user: UserInfo::anonymous(), verb: Verb::Get, path: "/x", resource: None };
        let (yes, no, none) = (Decision::allow("yes"), Decision::deny("no"), Decision::no_opinion("none"));
        let failed = |error: &str| Decision::failed(Verdict::NoOpinion, error);
        let (gone, lost) = (failed("gone"), failed("lost"));
        for (decisions, want) in [
            (vec![&none, &yes, &no], yes.clone()),
            (vec![&none, &no, &yes], no.clone()),
            (vec![&none, &none], Decision::no_opinion("none\nnone")),
            (vec![], Decision::no_opinion("")),
            (vec![&gone, &yes], yes.clone()),
            (vec![&gone, &none, &gone], Decision { error: Some("gone".into()), ..none.clone() }),
            (vec![&gone, &lost], Decision::failed(Verdict::NoOpinion, "[gone, lost]")),
            (vec![&gone, &Decision::failed(Verdict::Deny, "x")], Decision::failed(Verdict::Deny, "x")),
        ] {
            for later in [false, true] {
                let says = |decision: &&Decision| -> Box<dyn Authorizer> {
                    Box::new(Says { decision: (*decision).clone(), later })
                };
                let union = AuthorizerUnion(decisions.iter().map(says).collect());
                assert_eq!(union.authorize(&attributes).get().await, want, "{later}");
                let rules = union.rules_for(&attributes.user, "").get().await;
                assert_eq!(rules.incomplete, later && !decisions.is_empty());
            }
        }
    }

    #[test]
    fn without_an_opinion_a_request_is_not_allowed() {
        assert!(Decision::allow("").is_allowed());
        assert!(!Decision::deny("").is_allowed() && !Decision::no_opinion("").is_allowed());
    }
}
