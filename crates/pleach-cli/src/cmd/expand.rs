//! `pleach expand`: unions rewritten as standard schemas and CEL rules.

use std::io;

use clap::Args;

use super::convert_crd::{without_status, write_objects};
use super::skeleton::change_schemas;
use super::{Exit, Files, load_crds_with};
use crate::output::Format;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach expand with-unions.yaml | kubectl apply -f -

Exit codes: 0 done, 2 a file or the command line could not be used.";

/// Options of `pleach expand`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The CRDs; they may use `x-kubernetes-unions`.
    #[command(flatten)]
    pub files: Files,
    /// The form of the result: text is YAML.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (definitions, trouble) = load_crds_with(&options.files.files, true, terminal)?;
    let mut out = Vec::new();
    for definition in definitions {
        let mut crd = definition.crd;
        change_schemas(&mut crd, |schema, _| schema.expand());
        out.push(without_status(crd.encode(definition.api_version)));
    }
    write_objects(out, options.output, terminal)?;
    Ok(if trouble { Exit::Trouble } else { Exit::Fine })
}
