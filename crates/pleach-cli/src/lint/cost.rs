//! CEL cost hints: the bound that brings a rule within its cost budget.
//!
//! Found by trying: a bound is put on a list, map or string that has none, and the engine prices the
//! rule again. The largest that is enough is advised, so advice is never a guess.

use pleach_json::Value;
use pleach_meta::Path;
use pleach_schema::rules::PER_EXPRESSION;
use pleach_schema::{JSONSchemaProps, Options, SchemaContext, rule_costs, validate_schema};

use super::surprises::schemas;
use crate::catalog::Definition;
use crate::document::Document;
use crate::finding::{Finding, Level};

/// Bounds that advice suggests, the largest first.
const BOUNDS: [i64; 6] = [10_000, 1_000, 256, 64, 16, 4];
/// So many unbounded places are tried.
const CANDIDATES: usize = 24;

/// Adds advice to each rule that is too expensive.
pub(super) fn advise(findings: &mut [Finding], definition: &Definition) {
    for finding in
        findings.iter_mut().filter(|f| f.rule == "cel-cost" && f.message.contains("cost exceeds budget by"))
    {
        let Some((base, rest)) = finding.field.split_once("openAPIV3Schema") else { continue };
        let Some(schema) = schema_at(base, definition) else { continue };
        let Some((node, _)) = rest.split_once(".x-kubernetes-validations") else { continue };
        let rule = finding.field.clone();
        finding.help.push(advice(&schema, node, base.trim_end_matches('.'), &rule));
    }
}

/// A note per rule with its price.
pub(super) fn costs(document: &Document, definition: &Definition) -> Vec<Finding> {
    let note = |(field, cost): (String, u64)| {
        let share = cost as f64 * 100.0 / PER_EXPRESSION as f64;
        let text = format!("estimated cost {cost}, {share:.2} % of the budget of one expression");
        Finding::new(Level::Note, "cel-cost", text).at(document, &field)
    };
    prices(definition).into_iter().map(note).collect()
}

/// The estimated cost of each rule, by its field.
pub(crate) fn prices(definition: &Definition) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    for (path, schema) in schemas(definition) {
        let base = path.trim_end_matches(".openAPIV3Schema");
        let context =
            SchemaContext { path: Path::new(base), status_enabled: false, options: Options::CREATE };
        out.extend(rule_costs(schema, &context));
    }
    out
}

fn schema_at(base: &str, definition: &Definition) -> Option<Value> {
    let spec = &definition.crd.spec;
    let validation = if base == "spec.validation." {
        spec.validation.as_ref()
    } else {
        let (index, _) = base.strip_prefix("spec.versions[")?.split_once(']')?;
        spec.versions().get(index.parse::<usize>().ok()?)?.schema.as_ref()
    };
    Some(validation?.open_api_v3_schema.as_ref()?.to_value())
}

/// An unbounded place: the steps to it and the keyword that bounds it.
struct Candidate {
    steps: Vec<String>,
    keyword: &'static str,
}

impl Candidate {
    fn shown(&self) -> String {
        let mut out = String::new();
        let mut steps = self.steps.iter();
        while let Some(step) = steps.next() {
            match step.as_str() {
                "properties" => {
                    out.push('.');
                    out.push_str(steps.next().map_or("", String::as_str));
                }
                "items" => out.push_str("[*]"),
                _ => out.push_str("[key]"),
            }
        }
        if out.is_empty() { ".".to_owned() } else { out }
    }

    fn bound(&self, schema: &mut Value, bound: i64) {
        let mut at = schema;
        for step in &self.steps {
            let Some(below) = at.get_mut(step) else { return };
            at = below;
        }
        if let Some(node) = at.as_object_mut() {
            node.insert(self.keyword, bound);
        }
    }
}

fn advice(schema: &Value, node: &str, base: &str, rule: &str) -> String {
    let steps = steps_of(schema, node);
    let mut candidates = Vec::new();
    collect(schema, &mut Vec::new(), &steps, &mut candidates);
    candidates.truncate(CANDIDATES);
    let fits = |change: &dyn Fn(&mut Value)| {
        let mut changed = schema.clone();
        change(&mut changed);
        !is_too_dear(&changed, base, rule)
    };
    let mut best: Option<(i64, &Candidate)> = None;
    for candidate in &candidates {
        let enough = BOUNDS.iter().find(|bound| fits(&|schema| candidate.bound(schema, **bound)));
        if let Some(bound) = enough
            && best.is_none_or(|(found, _)| *bound > found)
        {
            best = Some((*bound, candidate));
        }
    }
    if let Some((bound, candidate)) = best {
        return format!(
            "{}: {bound} on {} brings it within the budget",
            candidate.keyword,
            candidate.shown()
        );
    }
    let together = BOUNDS.iter().find(|bound| {
        fits(&|schema| candidates.iter().for_each(|candidate| candidate.bound(schema, **bound)))
    });
    match together {
        Some(bound) if !candidates.is_empty() => {
            let list: Vec<String> =
                candidates.iter().map(|c| format!("{} on {}", c.keyword, c.shown())).collect();
            format!("no single bound is enough; with {bound} for each of these it fits: {}", list.join(", "))
        }
        _ => "no bound brings it within the budget: the rule must become simpler".to_owned(),
    }
}

fn is_too_dear(schema: &Value, base: &str, rule: &str) -> bool {
    let Ok(props) = JSONSchemaProps::from_value(schema) else { return true };
    let context = SchemaContext { path: Path::new(base), status_enabled: false, options: Options::CREATE };
    validate_schema(&props, &context)
        .iter()
        .any(|error| error.field == rule && error.detail.contains("cost exceeds"))
}

/// The steps that a printed path takes through a schema.
fn steps_of(schema: &Value, path: &str) -> Vec<String> {
    let (mut at, mut rest, mut out) = (schema, path, Vec::new());
    while !rest.is_empty() {
        let (name, after) = if let Some(inner) = rest.strip_prefix('[') {
            match inner.split_once(']') {
                Some(found) => found,
                None => break,
            }
        } else {
            let dotted = rest.strip_prefix('.').unwrap_or(rest);
            dotted.split_at(dotted.find(['.', '[']).unwrap_or(dotted.len()))
        };
        let Some(below) = at.get(name) else { break };
        out.push(name.to_owned());
        (at, rest) = (below, after);
    }
    out
}

/// The unbounded places on the way to the rule, at it and below it.
fn collect(node: &Value, at: &mut Vec<String>, rule: &[String], out: &mut Vec<Candidate>) {
    if out.len() >= CANDIDATES {
        return;
    }
    let related = at.iter().zip(rule).all(|(a, b)| a == b);
    if !related {
        return;
    }
    let unbounded = |keyword: &str| node.get(keyword).is_none();
    let keyword = match node.get("type").and_then(Value::as_str) {
        Some("array") if unbounded("maxItems") => Some("maxItems"),
        Some("object") if node.get("additionalProperties").is_some() && unbounded("maxProperties") => {
            Some("maxProperties")
        }
        Some("string") if unbounded("maxLength") && unbounded("enum") => Some("maxLength"),
        _ => None,
    };
    if let Some(keyword) = keyword {
        out.push(Candidate { steps: at.clone(), keyword });
    }
    pleach_json::grow_stack(|| {
        for keyword in ["items", "additionalProperties"] {
            if let Some(below) = node.get(keyword).filter(|below| below.as_object().is_some()) {
                at.push(keyword.to_owned());
                collect(below, at, rule, out);
                at.pop();
            }
        }
        for (name, below) in
            node.get("properties").and_then(Value::as_object).into_iter().flat_map(pleach_json::Map::iter)
        {
            at.extend(["properties".to_owned(), name.to_string()]);
            collect(below, at, rule, out);
            at.truncate(at.len() - 2);
        }
    });
}
