//! Results of policies for objects, as text, JSON and JUnit.

use std::io;
use std::sync::Arc;

use clap::ValueEnum;
use pleach_json::{Map, Value, json};
use pleach_policy::Cost;

use super::evaluate::{Effect, ObjectResult, Outcome, PolicyMessage, PolicyResult, total};
use crate::input::Source;
use crate::output::{escape_xml, write_json};
use crate::terminal::{Paint, Terminal};

/// The form of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PolicyFormat {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
    /// For build servers: JUnit XML, a test case per object.
    Junit,
}

/// An object that was tested.
#[derive(Debug)]
pub struct Tested {
    /// The file.
    pub source: Arc<Source>,
    /// The line that it begins at.
    pub line: usize,
    /// `apiVersion`, `kind`, namespace and name.
    pub object: [String; 4],
    /// The result.
    pub result: ObjectResult,
}

impl Tested {
    /// `Pod default/web`
    fn title(&self) -> String {
        let [_, kind, namespace, name] = &self.object;
        if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
    }
}

/// How many objects are refused.
pub fn refused(tested: &[Tested]) -> usize {
    tested.iter().filter(|one| one.result.refused.is_some()).count()
}

/// Writes the results.
pub fn write(tested: &[Tested], format: PolicyFormat, terminal: &mut Terminal<'_>) -> io::Result<()> {
    match format {
        PolicyFormat::Text => write_text(tested, terminal),
        PolicyFormat::Json => write_json(&as_json(tested), terminal),
        PolicyFormat::Junit => terminal.out.write_all(junit(tested).as_bytes()),
    }
}

fn write_text(tested: &[Tested], terminal: &mut Terminal<'_>) -> io::Result<()> {
    let color = terminal.color;
    for one in tested {
        let result = &one.result;
        let verdict = match &result.refused {
            Some(_) => Paint::Red.on(color, "refused"),
            None => Paint::Green.on(color, "accepted"),
        };
        let title = Paint::Bold.on(color, &one.title());
        writeln!(
            terminal.out,
            "{title}  {}  {verdict}  ({}:{})",
            result.operation, one.source.name, one.line
        )?;
        for policy in &result.policies {
            for line in lines(policy) {
                writeln!(terminal.out, "  {line}")?;
            }
        }
        for warning in &result.warnings {
            writeln!(terminal.out, "  {}: {warning}", Paint::Yellow.on(color, "warning"))?;
        }
        if let Some(why) = &result.refused {
            writeln!(terminal.out, "  {}: {why}", Paint::Red.on(color, "error"))?;
        }
        if !result.policies.is_empty() {
            writeln!(terminal.out, "  cost {}", result.cost())?;
        }
    }
    let refused = refused(tested);
    let line = format!("{}: {refused} refused", plural(tested.len(), "object"));
    let paint = if refused > 0 { Paint::Red } else { Paint::Green };
    writeln!(terminal.out, "{}", paint.on(color, &line))
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

/// The lines about the result of a policy; the cost is in the first.
fn lines(result: &PolicyResult) -> Vec<String> {
    let mut by = result.policy.to_string();
    if let Some(binding) = &result.binding {
        by.push_str(&format!(" / {binding}"));
    }
    if let Some(params) = &result.params {
        by.push_str(&format!(" / {params}"));
    }
    let cost = cost_text(result.cost);
    match &result.outcome {
        Outcome::Messages(said) => said
            .iter()
            .enumerate()
            .map(|(i, PolicyMessage { effect, message, reason })| {
                let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                let cost = if i == 0 { format!("  [{cost}]") } else { String::new() };
                format!("{} by {by}: {message}{reason}{cost}", effect.as_str())
            })
            .collect(),
        outcome => vec![format!("{} by {by}  [{cost}]", word(outcome))],
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Skipped => "skipped",
        Outcome::Allowed => "allowed",
        Outcome::Mutated => "mutated",
        Outcome::Unchanged => "unchanged",
        Outcome::Messages(said) => {
            said.iter().map(|said| said.effect).min().unwrap_or(Effect::Ignored).as_str()
        }
    }
}

/// `cost 12: conditions 2, expressions 10`
fn cost_text(cost: Cost) -> String {
    let parts: Vec<String> = parts(cost)
        .into_iter()
        .filter(|(_, cost)| *cost > 0)
        .map(|(name, cost)| format!("{name} {cost}"))
        .collect();
    match parts.as_slice() {
        [] => "cost 0".to_owned(),
        parts => format!("cost {}: {}", total(cost), parts.join(", ")),
    }
}

fn parts(cost: Cost) -> [(&'static str, u64); 4] {
    [
        ("match conditions", cost.conditions),
        ("expressions", cost.expressions),
        ("message expressions", cost.messages),
        ("audit annotations", cost.annotations),
    ]
}

fn as_json(tested: &[Tested]) -> Value {
    let objects: Vec<Value> = tested.iter().map(object_json).collect();
    json!({"objects": objects, "total": (tested.len() as i64), "refused": (refused(tested) as i64)})
}

fn object_json(one: &Tested) -> Value {
    let [api_version, kind, namespace, name] = &one.object;
    let result = &one.result;
    let mut out = Map::new();
    out.insert("file", one.source.name.as_str());
    out.insert("line", one.line as i64);
    out.insert("apiVersion", api_version.as_str());
    out.insert("kind", kind.as_str());
    if !namespace.is_empty() {
        out.insert("namespace", namespace.as_str());
    }
    out.insert("name", name.as_str());
    out.insert("operation", result.operation);
    out.insert("accepted", result.refused.is_none());
    if let Some(why) = &result.refused {
        out.insert("message", why.as_str());
    }
    let warnings: Vec<Value> = result.warnings.iter().map(|text| Value::from(text.as_str())).collect();
    out.insert("warnings", warnings);
    out.insert("policies", result.policies.iter().map(policy_json).collect::<Vec<Value>>());
    if let Some(mutated) = &result.mutated {
        out.insert("mutated", mutated.clone());
    }
    out.insert("cost", result.cost() as i64);
    out.into()
}

fn policy_json(result: &PolicyResult) -> Value {
    let mut out = Map::new();
    let kind = if result.mutating { "MutatingAdmissionPolicy" } else { "ValidatingAdmissionPolicy" };
    out.insert("kind", kind);
    out.insert("policy", result.policy.clone());
    if let Some(binding) = &result.binding {
        out.insert("binding", binding.clone());
    }
    if let Some(params) = &result.params {
        out.insert("params", params.as_str());
    }
    out.insert("outcome", word(&result.outcome));
    if let Outcome::Messages(said) = &result.outcome {
        let said = said.iter().map(|PolicyMessage { effect, message, reason }| {
            let mut word = Map::new();
            word.insert("effect", effect.as_str());
            word.insert("message", message.as_str());
            if let Some(reason) = reason {
                word.insert("reason", reason.clone());
            }
            Value::from(word)
        });
        out.insert("messages", said.collect::<Vec<Value>>());
    }
    let cost = result.cost;
    out.insert(
        "cost",
        json!({
            "matchConditions": (cost.conditions as i64), "expressions": (cost.expressions as i64),
            "messageExpressions": (cost.messages as i64), "auditAnnotations": (cost.annotations as i64),
            "total": (total(cost) as i64),
        }),
    );
    out.into()
}

fn junit(tested: &[Tested]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let mut rest = tested;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|one| one.source.name == first.source.name).count();
        let (suite, others) = rest.split_at(same);
        rest = others;
        let (name, failures) = (escape_xml(&first.source.name), refused(suite));
        out.push_str(&format!("  <testsuite name=\"{name}\" tests=\"{same}\" failures=\"{failures}\">\n"));
        for one in suite {
            let title = escape_xml(&one.title());
            out.push_str(&format!("    <testcase name=\"{title}\" classname=\"policy: {name}\">\n"));
            let said: Vec<String> = one.result.policies.iter().flat_map(lines).collect();
            let said = escape_xml(&said.join("\n"));
            if let Some(why) = &one.result.refused {
                let why = escape_xml(why);
                out.push_str(&format!("      <failure type=\"denied\" message=\"{why}\">{said}</failure>\n"));
            } else if !said.is_empty() {
                out.push_str(&format!("      <system-out>{said}</system-out>\n"));
            }
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}
