//! Fault rules and the log of requests over HTTP: those of a world, and of `pleach chaos`.

use std::time::Duration;

use bytes::Bytes;
use pleach_go::time::parse_std_duration;
use pleach_json::{Map, Value};
use pleach_server::outcome::Outcome;
use pleach_server::query::Query;
use pleach_world::{RequestQuery, Script, Selector, audit_log, parse_rules, recording};

use crate::local_server::{Answer, json, text};

/// Answers a request about rules or the log; `None` if it is about something else.
pub(crate) fn answer(
    script: &Script,
    method: &str,
    parts: &[&str],
    query: &str,
    body: &Bytes,
) -> Option<Result<Answer, String>> {
    let has = |parameter: &str| query.split('&').any(|part| part == parameter);
    let done = || Ok(json(&Map::new().into()));
    Some(match (method, parts) {
        ("GET", ["faults"]) => Ok(json(&rules(script))),
        ("POST", ["faults"]) => parse_rules(body).map_err(|error| error.to_string()).map(|rules| {
            let numbers = rules.into_iter().map(|rule| Value::from(script.add_rule(rule) as i64));
            json(&numbers.collect::<Vec<_>>().into())
        }),
        ("DELETE", ["faults"]) => {
            script.clear_rules();
            done()
        }
        ("DELETE", ["faults", number]) => match number.parse() {
            Ok(number) if script.remove_rule(number) => done(),
            Ok(number) => Err(format!("there is no rule {number}")),
            Err(_) => Err(format!("{number:?} is no number of a rule")),
        },
        ("GET", ["requests"]) => {
            request_query(query).and_then(|asked| asked.find(&script.requests())).map(|requests| {
                let values = requests.iter().map(|request| request.to_value(has("answers=true")));
                json(&values.collect::<Vec<_>>().into())
            })
        }
        ("DELETE", ["requests"]) => {
            script.clear_requests();
            done()
        }
        ("GET", ["transcript"]) => {
            request_query(query).and_then(|asked| asked.find(&script.requests())).map(|requests| {
                text(Outcome::Ok, requests.iter().map(|request| request.line() + "\n").collect())
            })
        }
        ("GET", ["recording"]) => {
            let name =
                query.split('&').find_map(|part| part.strip_prefix("name=")).unwrap_or("recorded/test");
            Ok(json(&recording(name, &script.requests())))
        }
        ("GET", ["audit"]) => Ok(text(Outcome::Ok, audit_log(&script.requests()))),
        _ => return None,
    })
}

/// Which requests of the log a query asks for.
fn request_query(query: &str) -> Result<RequestQuery, String> {
    let query = Query::parse(Some(query));
    let text = |name| query.get(name).unwrap_or_default().to_owned();
    let texts = |name| {
        let parts = query.get(name).unwrap_or_default().split(',').filter(|part| !part.is_empty());
        parts.map(ToOwned::to_owned).collect()
    };
    let after_event = query
        .get("afterEvent")
        .map(|number| number.parse().map_err(|_| format!("afterEvent is a number, and not {number:?}")));
    Ok(RequestQuery {
        selector: Selector {
            user_agent: text("userAgent"),
            user: text("user"),
            verbs: texts("verbs"),
            resources: texts("resources"),
            ..Selector::default()
        },
        writes: query.get("writes") == Some("true"),
        after_event: after_event.transpose()?,
    })
}

/// The rules with their numbers and how often each has happened.
fn rules(script: &Script) -> Value {
    let rules = script.rules().into_iter().map(|(number, rule, happened)| {
        let mut map = Map::new();
        map.insert("number", number as i64);
        map.insert("fault", rule.action.to_string());
        map.insert("happened", happened as i64);
        Value::from(map)
    });
    rules.collect::<Vec<_>>().into()
}

/// How long a server that restarts is away, from `{"away": "2s"}`.
pub(crate) fn away(input: &Value) -> Result<Duration, String> {
    let Some(text) = input.get("away").and_then(Value::as_str) else { return Ok(Duration::ZERO) };
    parse_std_duration(text).map_err(|error| format!("away: {error}"))
}
