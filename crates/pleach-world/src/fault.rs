//! Scripted faults: the requests that a rule matches, and their effect. [`crate::fault_rules`] parses them.

use std::fmt;
use std::time::Duration;

use crate::request_log::LoggedRequest;

/// Which requests a rule is about. Empty parts match every request; `*` at the end of a text matches any rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The user.
    pub user: String,
    /// Verbs, as in RBAC rules.
    pub verbs: Vec<String>,
    /// The API group; `None` for any.
    pub group: Option<String>,
    /// Resources, with their subresources: `pods`, `pods/status`.
    pub resources: Vec<String>,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The URL of a webhook. With it, the rule is about calls of webhooks and not about requests.
    pub webhook: String,
}

impl Selector {
    /// Whether it is about a request.
    pub fn matches(&self, request: &LoggedRequest) -> bool {
        let any = |patterns: &[String], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, text))
        };
        self.webhook.is_empty()
            && matches(&self.user_agent, &request.user_agent)
            && matches(&self.user, &request.user)
            && any(&self.verbs, &request.verb)
            && self.group.as_ref().is_none_or(|group| *group == request.group)
            && any(&self.resources, &request.resource)
            && matches(&self.namespace, &request.namespace)
            && matches(&self.name, &request.name)
    }

    /// Whether it is about calls of a webhook at this URL.
    pub fn matches_webhook(&self, url: &str) -> bool {
        !self.webhook.is_empty() && matches(&self.webhook, url)
    }
}

/// Whether a text is the pattern, begins with it (if it ends in `*`), or the pattern is empty.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern.is_empty() || pattern == text,
    }
}

/// The effect on a request, or on the call of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An error is answered: instead of the answer, or after the request was carried out.
    Error {
        /// The status code.
        code: u16,
        /// Whether the request is carried out all the same.
        after_commit: bool,
    },
    /// The request waits.
    Delay(Duration),
    /// The connection is cut without an answer.
    Reset {
        /// Whether the request is carried out all the same.
        after_commit: bool,
    },
    /// There is no answer, until the client gives up.
    NoAnswer {
        /// Whether the request is carried out all the same.
        after_commit: bool,
    },
    /// The server restarts and is away for this long: the request and all watches are cut.
    Restart(Duration),
    /// Each event of a watch waits.
    DelayEvents(Duration),
    /// Events of a watch wait until the rule is removed.
    HoldEvents,
    /// A watch ends, without an error, after this many events.
    CutEvents(u64),
    /// Bookmarks of a watch are left out.
    WithholdBookmarks,
    /// A list that may be of any age (`resourceVersion=0`) is the one of this many revisions ago.
    StaleList(u64),
}

impl Action {
    /// Whether it can happen to the call of a webhook.
    pub fn is_for_webhooks(&self) -> bool {
        matches!(self, Self::Error { .. } | Self::Delay(_) | Self::Reset { .. } | Self::NoAnswer { .. })
    }

    /// Whether the events of a watch change by it.
    pub(crate) fn is_about_events(&self) -> bool {
        matches!(self, Self::DelayEvents(_) | Self::HoldEvents | Self::CutEvents(_) | Self::WithholdBookmarks)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = |after: bool| if after { "after" } else { "before" };
        match self {
            Self::Error { code, after_commit } => {
                write!(f, "error {code} {} the commit", when(*after_commit))
            }
            Self::Delay(by) => write!(f, "delay {by:?}"),
            Self::Reset { after_commit } => write!(f, "reset {} the commit", when(*after_commit)),
            Self::NoAnswer { after_commit } => write!(f, "no answer {} the commit", when(*after_commit)),
            Self::Restart(away) => write!(f, "restart, away for {away:?}"),
            Self::DelayEvents(by) => write!(f, "delay events {by:?}"),
            Self::HoldEvents => f.write_str("hold events"),
            Self::CutEvents(count) => write!(f, "cut after {count} events"),
            Self::WithholdBookmarks => f.write_str("withhold bookmarks"),
            Self::StaleList(revisions) => write!(f, "list of {revisions} revisions ago"),
        }
    }
}

/// A fault and the requests that it happens to.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The requests.
    pub selector: Selector,
    /// How many of them are let through first.
    pub skip: u64,
    /// How many it happens to at most.
    pub times: u64,
    /// The probability with which it happens to one of them, from the world's seed.
    pub probability: f64,
    /// The effect.
    pub action: Action,
}

impl Rule {
    /// A rule that is always about all requests of a selector.
    pub fn new(selector: Selector, action: Action) -> Self {
        Self { selector, skip: 0, times: u64::MAX, probability: 1.0, action }
    }

    /// The same for at most so many requests.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_beginnings() {
        for (pattern, text, want) in
            [("", "a", true), ("a", "a", true), ("a", "ab", false), ("a*", "ab", true), ("*", "", true)]
        {
            assert_eq!(matches(pattern, text), want, "{pattern} {text}");
        }
    }

    #[test]
    fn a_rule_is_about_requests_or_about_webhooks() {
        let of_webhooks = Selector { webhook: "https://127.0.0.1:*".into(), ..Selector::default() };
        assert!(of_webhooks.matches_webhook("https://127.0.0.1:9443/validate"));
        assert!(!of_webhooks.matches_webhook("https://hooks.example.com/"));
        assert!(!of_webhooks.matches(&LoggedRequest::default()));
        assert!(Selector::default().matches(&LoggedRequest::default()));
        assert!(!Selector::default().matches_webhook("https://127.0.0.1:9443/validate"));
    }
}
