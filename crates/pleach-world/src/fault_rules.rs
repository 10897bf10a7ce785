//! Reads fault rules: a list in YAML or JSON.

use std::fmt;
use std::time::Duration;

use pleach_go::time::parse_std_duration;
use pleach_json::{Map, Value};

use crate::fault::{Action, Rule, Selector};

/// The fields of which a rule has one.
const FAULTS: &str = "error, errorAfterCommit, delay, reset, noAnswer, restart, delayEvents, holdEvents, cutEvents, \
                      withholdBookmarks or staleList";

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
            "reset" => Action::Reset { after_commit: is_after(name, value)? },
            "noAnswer" => Action::NoAnswer { after_commit: is_after(name, value)? },
            "restart" => Action::Restart(duration(name, value)?),
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
    let action = action.ok_or_else(|| format!("a rule has a fault: {FAULTS}"))?;
    if !selector.webhook.is_empty() && !action.is_for_webhooks() {
        return Err(format!("{action} cannot happen to the call of a webhook"));
    }
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
            "webhook" => selector.webhook = text()?,
            _ => return Err(format!("unknown field \"match.{name}\"")),
        }
    }
    Ok(selector)
}

fn count(name: &str, value: &Value) -> Result<u64, String> {
    value.as_int().and_then(|number| u64::try_from(number).ok()).ok_or_else(|| format!("{name} is a count"))
}

fn is_after(name: &str, value: &Value) -> Result<bool, String> {
    match value.as_str() {
        Some("before") => Ok(false),
        Some("after") => Ok(true),
        _ => Err(format!("{name} is before or after")),
    }
}

fn code(value: &Value) -> Result<u16, String> {
    let code = value.as_int().and_then(|number| u16::try_from(number).ok());
    code.filter(|code| (400..600).contains(code))
        .ok_or_else(|| "an error is a status code from 400 to 599".into())
}

fn duration(name: &str, value: &Value) -> Result<Duration, String> {
    let text = value.as_str().ok_or_else(|| format!("{name} is a duration such as 100ms"))?;
    parse_std_duration(text).map_err(|error| format!("{name}: {error}"))
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
- {match: {webhook: 'https://hooks.example.com/*'}, noAnswer: before}
- restart: 2s
";
        let rules = parse_rules(rules.as_bytes()).unwrap();
        assert_eq!(rules.len(), 5);
        assert_eq!(rules[0].action, Action::Error { code: 409, after_commit: false });
        assert_eq!((rules[0].skip, rules[0].times), (1, 3));
        assert_eq!(rules[1].action, Action::CutEvents(2));
        assert_eq!(rules[2].action, Action::Delay(Duration::from_millis(50)));
        assert_eq!(rules[3].action, Action::NoAnswer { after_commit: false });
        assert_eq!(rules[4].action, Action::Restart(Duration::from_secs(2)));
        for (text, expected) in [
            ("a: b", "rules are a list"),
            ("- {error: 200}", "rule 1: an error is a status code from 400 to 599"),
            ("- {error: 500, delay: 1s}", "rule 1: a rule has one fault"),
            ("- {match: {verb: get}, error: 500}", "rule 1: unknown field \"match.verb\""),
            ("- {reset: maybe}", "rule 1: reset is before or after"),
            ("- {noAnswer: true}", "rule 1: noAnswer is before or after"),
            (
                "- {match: {webhook: '*'}, cutEvents: 1}",
                "rule 1: cut after 1 events cannot happen to the call of a webhook",
            ),
            ("- {delay: 1}", "rule 1: delay is a duration such as 100ms"),
            ("- {probability: 2, error: 500}", "rule 1: probability is a number from 0 to 1"),
        ] {
            assert_eq!(parse_rules(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
