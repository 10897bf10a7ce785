//! `pleach structuralize`: a structural schema proposed for one that is not.

use std::io;

use clap::Args;
use pleach_json::{Value, json};
use pleach_meta::Path;
use pleach_schema::structuralize::structuralize;

use super::convert_crd::{without_status, write_objects};
use super::skeleton::change_schemas;
use super::{Exit, Files, load_crds};
use crate::output::{Format, write_json};
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach structuralize old.yaml > new.yaml
  pleach structuralize --patch old.yaml
  kubectl patch crd widgets.example.com --type json -p \"$(pleach structuralize --patch old.yaml)\"

Exit codes: 0 proposed, 1 something stands in the way, 2 a file or the command line could not be used.";

/// Options of `pleach structuralize`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The CRDs.
    #[command(flatten)]
    pub files: Files,
    /// Print a JSON patch instead of the CRD.
    #[arg(long)]
    pub patch: bool,
    /// The form of the result: text is YAML.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (definitions, trouble) = load_crds(&options.files.files, terminal)?;
    if options.patch && definitions.len() > 1 {
        writeln!(terminal.err, "pleach: --patch is for one CRD, and there are {}", definitions.len())?;
        return Ok(Exit::Trouble);
    }
    let (mut out, mut patch, mut obstacles) = (Vec::new(), Vec::new(), false);
    for definition in definitions {
        let version = definition.api_version;
        let before = without_status(definition.crd.encode(version));
        let mut crd = definition.crd;
        let name = crd.meta().name().to_owned();
        let mut said: Vec<String> = Vec::new();
        change_schemas(&mut crd, |schema, at| match structuralize(schema, &Path::new(at)) {
            Ok(proposal) => {
                said.extend(proposal.notes.iter().map(|note| format!("note: {}: {}", note.path, note.text)));
                *schema = proposal.schema;
            }
            Err(errors) => {
                obstacles = true;
                said.extend(errors.iter().map(|error| format!("cannot be decided: {error}")));
            }
        });
        for line in said {
            writeln!(terminal.err, "pleach: {name}: {line}")?;
        }
        let after = without_status(crd.encode(version));
        replacements(&before, &after, "", &mut patch);
        out.push(after);
    }
    if options.patch {
        write_json(&Value::from(patch), terminal)?;
    } else {
        write_objects(out, options.output, terminal)?;
    }
    Ok(if trouble {
        Exit::Trouble
    } else if obstacles {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// The schemas that differ, as operations of a JSON patch.
fn replacements(before: &Value, after: &Value, path: &str, out: &mut Vec<Value>) {
    if before == after {
        return;
    }
    let whole = path.ends_with("/openAPIV3Schema");
    match (before, after) {
        (Value::Object(a), Value::Object(b)) if !whole => {
            for (key, value) in a {
                if let Some(other) = b.get(key) {
                    replacements(
                        value,
                        other,
                        &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")),
                        out,
                    );
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() && !whole => {
            for (i, (value, other)) in a.iter().zip(b.iter()).enumerate() {
                replacements(value, other, &format!("{path}/{i}"), out);
            }
        }
        _ => out.push(json!({"op": "replace", "path": path, "value": (after.clone())})),
    }
}
