//! `pleach diff`: changes for users between two CRDs.

use std::io;

use clap::Args;
use pleach_json::{Map, Value, json};

use super::{Exit, load_crds};
use crate::diff::{Change, Severity, diff};
use crate::output::{Format, write_json};
use crate::terminal::{Paint, Terminal};

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach diff old/widgets.yaml new/widgets.yaml
  pleach diff config/crd.released config/crd
  git show HEAD:config/crd/widgets.yaml | pleach diff - config/crd/widgets.yaml

Exit codes: 0 nothing breaks, 1 breaking changes, 2 a file or the command line could not be used.";

/// Options of `pleach diff`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The CRDs before.
    #[arg(value_name = "OLD")]
    pub old: String,
    /// The CRDs after; CRDs of the same name are compared.
    #[arg(value_name = "NEW")]
    pub new: String,
    /// Only breaking changes.
    #[arg(long)]
    pub breaking: bool,
    /// The form of the result.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (old, trouble) = load_crds(std::slice::from_ref(&options.old), terminal)?;
    let (new, more) = load_crds(std::slice::from_ref(&options.new), terminal)?;
    let mut results: Vec<(String, Vec<Change>)> = Vec::new();
    for before in &old {
        let name = before.crd.meta().name().to_owned();
        let after = new.iter().find(|d| d.crd.meta().name() == name);
        let after = after.or(if old.len() == 1 && new.len() == 1 { new.first() } else { None });
        let mut changes = match after {
            Some(after) => diff(before, after),
            None => vec![Change {
                severity: Severity::Breaking,
                rule: "crd-removed",
                version: String::new(),
                path: String::new(),
                message: "the CRD is gone, and all its objects with it".into(),
                witness: None,
            }],
        };
        changes.retain(|change| !options.breaking || change.severity == Severity::Breaking);
        results.push((name, changes));
    }
    for after in
        new.iter().filter(|after| !old.iter().any(|b| b.crd.meta().name() == after.crd.meta().name()))
    {
        if old.len() != 1 || new.len() != 1 {
            results.push((
                after.crd.meta().name().to_owned(),
                vec![Change {
                    severity: Severity::Safe,
                    rule: "crd-added",
                    version: String::new(),
                    path: String::new(),
                    message: "a new CRD".into(),
                    witness: None,
                }],
            ));
        }
    }
    match options.output {
        Format::Json => write_json(&as_json(&results), terminal)?,
        Format::Text => {
            for (name, changes) in &results {
                write_text(name, changes, terminal)?;
            }
        }
    }
    let breaks = results.iter().flat_map(|(_, changes)| changes).any(|c| c.severity == Severity::Breaking);
    Ok(if trouble || more {
        Exit::Trouble
    } else if breaks {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

fn write_text(name: &str, changes: &[Change], terminal: &mut Terminal<'_>) -> io::Result<()> {
    let color = terminal.color;
    let out = &mut *terminal.out;
    writeln!(out, "{}", Paint::Bold.on(color, name))?;
    if changes.is_empty() {
        writeln!(out, "  no changes")?;
    }
    for change in changes {
        let paint = match change.severity {
            Severity::Breaking => Paint::Red,
            Severity::Caution => Paint::Yellow,
            Severity::Safe => Paint::Green,
        };
        let word = paint.on(color, &format!("{:8}", change.severity.as_str()));
        let place = match (change.version.is_empty(), change.path.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!("{} ", change.version),
            (false, false) => format!("{} {} ", change.version, change.path),
        };
        writeln!(out, "  {word} {place}[{}]: {}", change.rule, change.message)?;
        if let Some(witness) = &change.witness {
            writeln!(out, "           accepted before:")?;
            for line in pleach_yaml::to_yaml(&witness.object).lines() {
                writeln!(out, "             {}", Paint::Dim.on(color, line))?;
            }
            writeln!(out, "           now: {}", witness.answer)?;
        }
    }
    Ok(())
}

fn as_json(results: &[(String, Vec<Change>)]) -> Value {
    let crds: Vec<Value> = results
        .iter()
        .map(|(name, changes)| {
            let changes: Vec<Value> = changes.iter().map(change_json).collect();
            json!({"name": (name.as_str()), "changes": changes})
        })
        .collect();
    json!({"crds": crds})
}

/// A change in JSON.
pub(crate) fn change_json(change: &Change) -> Value {
    let mut out = Map::new();
    out.insert("severity", change.severity.as_str());
    out.insert("rule", change.rule);
    out.insert("message", change.message.as_str());
    for (key, text) in [("version", &change.version), ("path", &change.path)] {
        if !text.is_empty() {
            out.insert(key, text.as_str());
        }
    }
    if let Some(witness) = &change.witness {
        out.insert("witness", json!({"object": (witness.object.clone()), "now": (witness.answer.as_str())}));
    }
    out.into()
}
