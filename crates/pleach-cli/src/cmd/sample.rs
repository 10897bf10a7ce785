//! `pleach sample`: example objects that validate.

use std::io;

use clap::Args;
use pleach_json::{Value, json};

use super::{Exit, Files, load_crds};
use crate::output::{Format, write_json};
use crate::sample::{Extent, sample};
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
    /// Only the object with no more than what must be there.
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
            let (object, errors) = sample(definition, version, *extent);
            invalid |= !errors.is_empty();
            let word = if *extent == Extent::Minimal { "minimal" } else { "full" };
            for error in &errors {
                writeln!(terminal.err, "pleach: {word} {}: not valid yet: {error}", definition.kind())?;
            }
            if options.output == Format::Json {
                let errors: Vec<Value> = errors.iter().map(|e| Value::from(e.to_string())).collect();
                results.push(json!({"extent": word, "object": object, "errors": errors}));
                continue;
            }
            if !first {
                writeln!(terminal.out, "---")?;
            }
            first = false;
            let heading = format!("# {word} {}", definition.kind());
            writeln!(terminal.out, "{}", Paint::Dim.on(terminal.color, &heading))?;
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
