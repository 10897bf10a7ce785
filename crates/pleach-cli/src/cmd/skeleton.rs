//! `pleach skeleton`: the part of a schema that pruning uses.

use std::io;
use std::sync::Arc;

use clap::Args;
use pleach_meta::Path;
use pleach_schema::JSONSchemaProps;
use pleach_schema::skeleton::{polymorphic_objects, skel};

use super::convert_crd::{without_status, write_objects};
use super::{Exit, Files, load_crds};
use crate::output::Format;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach skeleton widgets.yaml

Exit codes: 0 done, 1 some object is both a struct and a map, 2 a file or the command line could not be used.";

/// Options of `pleach skeleton`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The CRDs.
    #[command(flatten)]
    pub files: Files,
    /// The form of the result: text is YAML.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (definitions, trouble) = load_crds(&options.files.files, terminal)?;
    let (mut out, mut mixed) = (Vec::new(), false);
    for definition in definitions {
        let mut crd = definition.crd;
        let name = crd.meta().name().to_owned();
        let mut notes = Vec::new();
        change_schemas(&mut crd, |schema, at| {
            let skeleton = skel(schema);
            notes.extend(polymorphic_objects(&skeleton, &Path::new(at)));
            *schema = skeleton;
        });
        for place in notes {
            mixed = true;
            writeln!(
                terminal.err,
                "pleach: {name}: {place}: named and free members in one object: it cannot be pruned"
            )?;
        }
        out.push(without_status(crd.encode(definition.api_version)));
    }
    write_objects(out, options.output, terminal)?;
    Ok(if trouble {
        Exit::Trouble
    } else if mixed {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// Changes all schemas of a CRD; each comes with its path in the internal form.
pub(crate) fn change_schemas(crd: &mut pleach_crd::Crd, mut change: impl FnMut(&mut JSONSchemaProps, &str)) {
    let mut one = |validation: &mut pleach_crd::Validation, at: &str| {
        if let Some(schema) = &mut validation.open_api_v3_schema {
            change(Arc::make_mut(schema), at);
        }
    };
    if let Some(validation) = &mut crd.spec.validation {
        one(validation, "spec.validation.openAPIV3Schema");
    }
    for (i, version) in crd.spec.versions.iter_mut().flatten().enumerate() {
        if let Some(validation) = &mut version.schema {
            one(validation, &format!("spec.versions[{i}].schema.openAPIV3Schema"));
        }
    }
}
