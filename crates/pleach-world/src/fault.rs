//! Scripted faults: the requests that a rule matches, and their effect.

use std::fmt;
use std::time::Duration;

use pleach_json::{Map, Value};

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
}

impl Selector {
    /// Whether it is about a request.
    pub fn matches(&self, request: &LoggedRequest) -> bool {
        let any = |patterns: &[String], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, text))
        };
        matches(&self.user_agent, &request.user_agent)
            && matches(&self.user, &request.user)
            && any(&self.verbs, &request.verb)
            && self.group.as_ref().is_none_or(|group| *group == request.group)
            && any(&self.resources, &request.resource)
            && matches(&self.namespace, &request.namespace)
            && matches(&self.name, &request.name)
    }
}

/// Whether a text is the pattern, begins with it (if it ends in `*`), or the pattern is empty.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern.is_empty() || pattern == text,
    }
}

/// The effect on a request.
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

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = |after: bool| if after { "after" } else { "before" };
        match self {
            Self::Error { code, after_commit } => {
                write!(f, "error {code} {} the commit", when(*after_commit))
            }
            Self::Delay(by) => write!(f, "delay {by:?}"),
            Self::Reset { after_commit } => write!(f, "reset {} the commit", when(*after_commit)),
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

/// Why rules cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError(String);

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RuleError {}

/// Reads rules: a list in YAML or JSON.
pub fn parse_rules(text: &[u8]) -> Result<Vec<Rule>, RuleError> {
    let value = pleach_yaml::parse(text).map_err(|error| RuleError(error.to_string()))?;
    let rules = value.as_array().ok_or_else(|| RuleError("rules are a list".into()))?;
    let numbered = rules.iter().enumerate();
    numbered
        .map(|(number, rule)| {
            parse_rule(rule).map_err(|error| RuleError(format!("rule {}: {error}", number + 1)))
        })
        .collect()
}

fn parse_rule(value: &Value) -> Result<Rule, String> {
    let map = value.as_object().ok_or("a rule is an object")?;
    let (mut selector, mut action) = (Selector::default(), None);
    let (mut skip, mut times, mut probability) = (0, u64::MAX, 1.0);
    for (name, value) in map.iter() {
        let parsed = match name.as_str() {
            "match" => {
                selector = parse_selector(value)?;
                continue;
            }
            "skip" => {
                skip = count(name, value)?;
                continue;
            }
            "times" => {
                times = count(name, value)?;
                continue;
            }
            "probability" => {
                let number = value.as_number().filter(|number| (0.0..=1.0).contains(number));
                probability = number.ok_or("probability is a number from 0 to 1")?;
                continue;
            }
            "error" => Action::Error { code: code(value)?, after_commit: false },
            "errorAfterCommit" => Action::Error { code: code(value)?, after_commit: true },
            "delay" => Action::Delay(duration(name, value)?),
            "reset" => match value.as_str() {
                Some("before") => Action::Reset { after_commit: false },
                Some("after") => Action::Reset { after_commit: true },
                _ => return Err("reset is before or after".into()),
            },
            "delayEvents" => Action::DelayEvents(duration(name, value)?),
            "holdEvents" if value.as_bool() == Some(true) => Action::HoldEvents,
            "cutEvents" => Action::CutEvents(count(name, value)?),
            "withholdBookmarks" if value.as_bool() == Some(true) => Action::WithholdBookmarks,
            "staleList" => Action::StaleList(count(name, value)?),
            "holdEvents" | "withholdBookmarks" => return Err(format!("{name} is true")),
            _ => return Err(format!("unknown field {name:?}")),
        };
        if action.replace(parsed).is_some() {
            return Err("a rule has one fault".into());
        }
    }
    let action = action.ok_or("a rule has a fault: error, errorAfterCommit, delay, reset, delayEvents, holdEvents, cutEvents, withholdBookmarks or staleList")?;
    Ok(Rule { selector, skip, times, probability, action })
}

fn parse_selector(value: &Value) -> Result<Selector, String> {
    let map: &Map = value.as_object().ok_or("match is an object")?;
    let mut selector = Selector::default();
    for (name, value) in map.iter() {
        let text = || value.as_str().map(ToOwned::to_owned).ok_or_else(|| format!("match.{name} is a text"));
        let texts = || {
            let list = value.as_array().ok_or_else(|| format!("match.{name} is a list of texts"))?;
            list.iter()
                .map(|item| item.as_str().map(ToOwned::to_owned))
                .collect::<Option<Vec<String>>>()
                .ok_or_else(|| format!("match.{name} is a list of texts"))
        };
        match name.as_str() {
            "userAgent" => selector.user_agent = text()?,
            "user" => selector.user = text()?,
            "verbs" => selector.verbs = texts()?,
            "group" => selector.group = Some(text()?),
            "resources" => selector.resources = texts()?,
            "namespace" => selector.namespace = text()?,
            "name" => selector.name = text()?,
            _ => return Err(format!("unknown field \"match.{name}\"")),
        }
    }
    Ok(selector)
}

fn count(name: &str, value: &Value) -> Result<u64, String> {
    value.as_int().and_then(|number| u64::try_from(number).ok()).ok_or_else(|| format!("{name} is a count"))
}

fn code(value: &Value) -> Result<u16, String> {
    let code = value.as_int().and_then(|number| u16::try_from(number).ok());
    code.filter(|code| (400..600).contains(code))
        .ok_or_else(|| "an error is a status code from 400 to 599".into())
}

fn duration(name: &str, value: &Value) -> Result<Duration, String> {
    let text = value.as_str().ok_or_else(|| format!("{name} is a duration such as 100ms"))?;
    let nanoseconds = pleach_go::time::parse_duration(text)?;
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| format!("{name} is negative"))
}

/// The reason of a status code.
pub(crate) fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_or_refused() {
        let rules = "
- match: {userAgent: 'manager/*', verbs: [update, patch], resources: [deployments/status], group: apps}
  error: 409
  skip: 1
  times: 3
- match: {verbs: [watch]}
  cutEvents: 2
- delay: 50ms
  probability: 0.25
";
        let rules = parse_rules(rules.as_bytes()).unwrap();
        assert_eq!(rules.len(), 3);
        assert_eq!(rules[0].action, Action::Error { code: 409, after_commit: false });
        assert_eq!((rules[0].skip, rules[0].times), (1, 3));
        assert_eq!(rules[1].action, Action::CutEvents(2));
        assert_eq!(rules[2].action, Action::Delay(Duration::from_millis(50)));
        for (text, expected) in [
            ("a: b", "rules are a list"),
            ("- {error: 200}", "rule 1: an error is a status code from 400 to 599"),
            ("- {error: 500, delay: 1s}", "rule 1: a rule has one fault"),
            ("- {match: {verb: get}, error: 500}", "rule 1: unknown field \"match.verb\""),
            ("- {reset: maybe}", "rule 1: reset is before or after"),
            ("- {delay: 1}", "rule 1: delay is a duration such as 100ms"),
            ("- {probability: 2, error: 500}", "rule 1: probability is a number from 0 to 1"),
        ] {
            assert_eq!(parse_rules(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn patterns_match_beginnings() {
        for (pattern, text, want) in
            [("", "a", true), ("a", "a", true), ("a", "ab", false), ("a*", "ab", true), ("*", "", true)]
        {
            assert_eq!(matches(pattern, text), want, "{pattern} {text}");
        }
    }
}
