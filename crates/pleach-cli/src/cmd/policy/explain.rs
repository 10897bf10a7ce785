//! `pleach policy explain`: the highest cost of the expressions of policies, by part.
//!
//! Bounds are those of the schema of the first kind that a policy names. Without one, or if an expression does not fit it,
//! sizes are unknown and costs have no bound. The server does not estimate: it stops an evaluation that exceeds its limit.

use std::io;

use clap::Args;
use pleach_cel::cost::{Explanation, Part};
use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{DeclType, Declarations, Environment, Type};
use pleach_json::{Map, Value, grow_stack, json};
use pleach_pipeline::gates::Gates;
use pleach_pipeline::kind::Kind;
use pleach_pipeline::kinds::admission_policy;
use pleach_pipeline::kinds::admission_policy::type_check::{declarations, matched_kinds, param_type};
use pleach_pipeline::{compile, kinds};

use crate::catalog::Definition;
use crate::cmd::{Exit, Files, load};
use crate::output::{Format, write_json};
use crate::terminal::{Paint, Terminal};

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach policy explain policies/
  pleach policy explain --crds config/crd policies/
  pleach policy explain --output json policies/limits.yaml

Exit codes: 0 explained, 1 an expression cannot be compiled, 2 a file or the command line could not be used.";

/// Options of `pleach policy explain`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The policies; CRDs among the files define kinds.
    #[command(flatten)]
    pub files: Files,
    /// Files, directories or globs with CRDs; may be given more than once.
    #[arg(long, value_name = "PATH")]
    pub crds: Vec<String>,
    /// How many levels of parts are shown.
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub depth: usize,
    /// The form of the result.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// An expression and its cost.
struct Priced {
    field: String,
    source: String,
    /// The error is why it cannot be compiled.
    cost: Result<Explanation, String>,
}

/// A policy with its expressions.
struct Explained {
    kind: String,
    name: String,
    /// The kind whose schema has the bounds.
    about: Option<String>,
    expressions: Vec<Priced>,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let of_crds = load(&options.crds, terminal)?;
    let loaded = load(&options.files.files, terminal)?;
    if of_crds.trouble || loaded.trouble {
        return Ok(Exit::Trouble);
    }
    let mut all: Vec<Kind> = kinds::all(Gates::default()).collect();
    for document in of_crds.documents().chain(loaded.documents()).filter(|document| document.is_crd()) {
        match Definition::read(&document.value) {
            Ok(definition) => all.push(compile::kind_named(&definition.crd, &definition.crd.spec.names)),
            Err(error) => {
                writeln!(terminal.err, "pleach: {}: {error}", document.source.name)?;
                return Ok(Exit::Trouble);
            }
        }
    }
    let all: Vec<&Kind> = all.iter().collect();
    let policies = loaded.documents().filter(|document| admission_policy::is_policy(document.kind()));
    let explained: Vec<Explained> = policies.map(|document| explain(&document.value, &all)).collect();
    if explained.is_empty() {
        writeln!(terminal.err, "pleach: no admission policy in {}", options.files.files.join(", "))?;
        return Ok(Exit::Trouble);
    }
    match options.output {
        Format::Json => {
            let policies: Vec<Value> = explained.iter().map(|one| as_json(one, options.depth)).collect();
            write_json(&json!({"policies": policies, "limit": (PER_CALL_LIMIT as i64)}), terminal)?;
        }
        Format::Text => write_text(&explained, options.depth, terminal)?,
    }
    let fine = explained.iter().flat_map(|one| &one.expressions).all(|priced| priced.cost.is_ok());
    Ok(if fine { Exit::Fine } else { Exit::Findings })
}

fn explain(policy: &Value, all: &[&Kind]) -> Explained {
    let text = |value: &Value, key: &str| -> String {
        value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let empty = Value::object();
    let spec = policy.get("spec").unwrap_or(&empty);
    let first = matched_kinds(policy, all).into_iter().next();
    let about = first.as_ref().map(|kind| format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind));
    let unknown = || DeclType::other(Type::Dyn);
    let object = first.map_or_else(unknown, |kind| kind.object);
    let scope = |object: &DeclType| {
        let scope = declarations(spec, object, param_type(policy, all).as_ref());
        scope.with("authorizer.requestResource", unknown())
    };
    // What fits only some of several kinds is priced without a schema.
    let scope = [scope(&object), scope(&unknown())];
    let (environment, mutations) = (Environment::stored(), Environment::stored().with_patch_types());
    let mut expressions = Vec::new();
    for (list, keys) in [
        ("matchConditions", ["expression", ""]),
        ("variables", ["expression", ""]),
        ("validations", ["expression", "messageExpression"]),
        ("auditAnnotations", ["valueExpression", ""]),
    ] {
        let items = spec.get(list).and_then(Value::as_array).into_iter().flatten();
        for (i, item) in items.enumerate() {
            for key in keys.into_iter().filter(|key| item.get(key).is_some()) {
                let field = format!("spec.{list}[{i}].{key}");
                expressions.push(price(&environment, &scope, field, text(item, key)));
            }
        }
    }
    let items = spec.get("mutations").and_then(Value::as_array).into_iter().flatten();
    for (i, item) in items.enumerate() {
        for key in ["applyConfiguration", "jsonPatch"] {
            let Some(patch) = item.get(key) else { continue };
            let field = format!("spec.mutations[{i}].{key}.expression");
            expressions.push(price(&mutations, &scope, field, text(patch, "expression")));
        }
    }
    let name = policy.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default().to_owned();
    Explained { kind: text(policy, "kind"), name, about, expressions }
}

fn price(environment: &Environment, scopes: &[Declarations; 2], field: String, source: String) -> Priced {
    let [typed, untyped] = scopes.each_ref().map(|scope| environment.compile(&source, scope));
    let cost = typed.or(untyped).map(|checked| checked.explain_cost());
    Priced { field, source, cost: cost.map_err(|issues| issues.to_string()) }
}

/// Larger costs come of sizes that are not known.
const BOUNDED: u64 = u64::MAX / 1_000;

/// A cost as people read it.
fn number(cost: u64) -> String {
    if cost > BOUNDED {
        return "without bound".to_owned();
    }
    let digits = cost.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn write_text(explained: &[Explained], depth: usize, terminal: &mut Terminal<'_>) -> io::Result<()> {
    let color = terminal.color;
    for one in explained {
        let title = Paint::Bold.on(color, &format!("{} {}", one.kind, one.name));
        let about = one.about.as_deref().unwrap_or("objects of any kind");
        writeln!(terminal.out, "{title}, with the bounds of {about}")?;
        for priced in &one.expressions {
            match &priced.cost {
                Err(why) => {
                    writeln!(terminal.out, "  {}: {}", priced.field, Paint::Red.on(color, "not compiled"))?;
                    for line in why.lines() {
                        writeln!(terminal.out, "    {line}")?;
                    }
                }
                Ok(cost) => {
                    let max = cost.estimate.max;
                    let paint = if max <= PER_CALL_LIMIT { Paint::Green } else { Paint::Yellow };
                    let limit = number(PER_CALL_LIMIT);
                    let shown = if max > BOUNDED {
                        format!("without bound; {limit} are allowed")
                    } else {
                        format!("at most {} of {limit}", number(max))
                    };
                    let shown = paint.on(color, &shown);
                    writeln!(terminal.out, "  {}: {shown}", priced.field)?;
                    write_part(&cost.root, 2, depth, terminal)?;
                }
            }
        }
        writeln!(terminal.out)?;
    }
    Ok(())
}

fn write_part(part: &Part, indent: usize, depth: usize, terminal: &mut Terminal<'_>) -> io::Result<()> {
    if depth == 0 || part.total == 0 {
        return Ok(());
    }
    let times = if part.times > 1 { format!(", {} times", number(part.times)) } else { String::new() };
    let bounds: Vec<String> = part.bounds.iter().map(bound_text).collect();
    let bounds = if bounds.is_empty() { String::new() } else { format!("  ({})", bounds.join(", ")) };
    writeln!(
        terminal.out,
        "{}{}  {}{times}{bounds}",
        "  ".repeat(indent),
        part.what,
        Paint::Dim.on(terminal.color, &number(part.total))
    )?;
    for inner in &part.parts {
        grow_stack(|| write_part(inner, indent + 1, depth - 1, terminal))?;
    }
    Ok(())
}

fn bound_text(bound: &pleach_cel::cost::Bound) -> String {
    let path =
        if bound.path.is_empty() { "object".to_owned() } else { format!("object.{}", bound.path.join(".")) };
    let implied = if bound.implied { ", by the size of requests" } else { "" };
    format!("{} {} of {path}{implied}", bound.keyword, number(bound.value))
}

fn as_json(one: &Explained, depth: usize) -> Value {
    let expressions: Vec<Value> = one
        .expressions
        .iter()
        .map(|priced| {
            let mut out = Map::new();
            out.insert("field", priced.field.as_str());
            out.insert("expression", priced.source.as_str());
            match &priced.cost {
                Ok(cost) => {
                    out.insert("min", cost_json(cost.estimate.min));
                    out.insert("max", cost_json(cost.estimate.max));
                    out.insert("parts", part_json(&cost.root, depth));
                }
                Err(why) => drop(out.insert("error", why.as_str())),
            }
            out.into()
        })
        .collect();
    let mut out = Map::new();
    out.insert("kind", one.kind.as_str());
    out.insert("name", one.name.as_str());
    if let Some(about) = &one.about {
        out.insert("boundsOf", about.as_str());
    }
    out.insert("expressions", expressions);
    out.into()
}

/// A cost; null if it has no bound.
fn cost_json(cost: u64) -> Value {
    i64::try_from(cost).ok().filter(|_| cost <= BOUNDED).map_or(Value::Null, Value::Int)
}

fn part_json(part: &Part, depth: usize) -> Value {
    let parts: Vec<Value> = match depth {
        0 | 1 => Vec::new(),
        depth => part.parts.iter().map(|inner| grow_stack(|| part_json(inner, depth - 1))).collect(),
    };
    json!({"what": (part.what.as_str()), "total": (cost_json(part.total)), "times": (cost_json(part.times)), "parts": parts})
}
