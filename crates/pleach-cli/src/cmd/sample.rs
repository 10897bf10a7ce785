//! `pleach sample`: example objects that validate.

use std::io;

use clap::Args;
use pleach_json::{Value, json};

use super::{Exit, Files, load_crds};
use crate::output::{Format, write_json};
use crate::sample::{Extent, LeftOut, Sample, sample};
use crate::terminal::{Paint, Terminal};

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach sample widgets.yaml
  pleach sample --minimal config/crd > samples.yaml
  pleach sample --full --api-version v1beta1 widgets.yaml

Exit codes: 0 all samples are valid, 1 some could not be made valid, 2 a file or the command line could not be used.";

/// Options of `pleach sample`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The CRDs.
    #[command(flatten)]
    pub files: Files,
    /// Only the minimal object.
    #[arg(long, conflicts_with = "full")]
    pub minimal: bool,
    /// Only the object that shows every field.
    #[arg(long)]
    pub full: bool,
    /// The version; the stored one if not given.
    #[arg(long, value_name = "VERSION")]
    pub api_version: Option<String>,
    /// The form of the result.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (definitions, mut trouble) = load_crds(&options.files.files, terminal)?;
    let mut extents = vec![Extent::Minimal, Extent::Full];
    if options.minimal {
        extents = vec![Extent::Minimal];
    } else if options.full {
        extents = vec![Extent::Full];
    }
    let (mut results, mut invalid, mut first) = (Vec::new(), false, true);
    for definition in &definitions {
        let version = match &options.api_version {
            Some(name) => definition.version(name.rsplit('/').next().unwrap_or(name)),
            None => definition.main_version(),
        };
        let Some(version) = version else {
            trouble = true;
            writeln!(terminal.err, "pleach: {}: no such version", definition.crd.meta().name())?;
            continue;
        };
        for extent in &extents {
            let Sample { object, errors, left_out } = sample(definition, version, *extent);
            invalid |= !errors.is_empty();
            let word = if *extent == Extent::Minimal { "minimal" } else { "full" };
            for error in &errors {
                writeln!(terminal.err, "pleach: {word} {}: not valid yet: {error}", definition.kind())?;
            }
            if options.output == Format::Json {
                let errors: Vec<Value> = errors.iter().map(|e| Value::from(e.to_string())).collect();
                let left_out: Vec<Value> = left_out
                    .iter()
                    .map(|field| json!({"field": field.field.as_str(), "why": field.why.as_str()}))
                    .collect();
                results
                    .push(json!({"extent": word, "object": object, "errors": errors, "leftOut": left_out}));
                continue;
            }
            if !first {
                writeln!(terminal.out, "---")?;
            }
            first = false;
            let mut heading = format!("# {word} {}", definition.kind());
            if !left_out.is_empty() {
                heading.push_str(", without what does not go with the rest:");
            }
            for LeftOut { field, why } in &left_out {
                let why = why
                    .strip_prefix(field.as_str())
                    .map_or(why.as_str(), |rest| rest.trim_start_matches(": "));
                heading.push_str(&format!("\n#   {field}: {}", why.replace('\n', " ")));
            }
            for line in heading.lines() {
                writeln!(terminal.out, "{}", Paint::Dim.on(terminal.color, line))?;
            }
            terminal.out.write_all(pleach_yaml::to_yaml(&object).as_bytes())?;
        }
    }
    if options.output == Format::Json {
        write_json(&json!({"samples": results}), terminal)?;
    }
    Ok(if trouble {
        Exit::Trouble
    } else if invalid {
        Exit::Findings
    } else {
        Exit::Fine
    })
}
