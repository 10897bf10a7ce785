//! `pleach convert-crd`: a CRD as `v1` or as `v1beta1`.

use std::io;

use clap::{Args, ValueEnum};
use pleach_crd::ApiVersion;
use pleach_json::{Value, json};

use super::{Exit, Files, load_crds};
use crate::output::{Format, write_json};
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach convert-crd old-crd.yaml > crd.yaml
  pleach convert-crd --to v1beta1 crd.yaml

Exit codes: 0 converted, 1 the server would not take the result, 2 a file or the command line could not be used.";

/// A version of CRDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// `apiextensions.k8s.io/v1`
    #[default]
    V1,
    /// `apiextensions.k8s.io/v1beta1`
    V1beta1,
}

/// Options of `pleach convert-crd`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The CRDs.
    #[command(flatten)]
    pub files: Files,
    /// The version to write.
    #[arg(long, value_enum, default_value_t)]
    pub to: To,
    /// The form of the result: text is YAML.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (definitions, trouble) = load_crds(&options.files.files, terminal)?;
    let to = match options.to {
        To::V1 => ApiVersion::V1,
        To::V1beta1 => ApiVersion::V1beta1,
    };
    let (mut out, mut refused) = (Vec::new(), false);
    for definition in &definitions {
        let mut crd = definition.crd.clone();
        if to == ApiVersion::V1 && crd.spec.preserves_unknown_fields() {
            keep_unknown_fields(&mut crd);
        }
        out.push(without_status(crd.encode(to)));
        pleach_crd::strategy::prepare_for_create(&mut crd);
        for error in pleach_crd::validate_create(&crd, to) {
            refused = true;
            writeln!(terminal.err, "pleach: {}: the server would refuse it: {error}", crd.meta().name())?;
        }
    }
    write_objects(out, options.output, terminal)?;
    Ok(if trouble {
        Exit::Trouble
    } else if refused {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// `v1` has no `preserveUnknownFields`: each schema says it at its root instead.
fn keep_unknown_fields(crd: &mut pleach_crd::Crd) {
    crd.spec.preserve_unknown_fields = Some(false);
    let own = crd.spec.versions.iter_mut().flatten().map(|version| &mut version.schema);
    for validation in own.chain([&mut crd.spec.validation]).flatten() {
        let schema = validation.open_api_v3_schema.get_or_insert_default();
        let schema = std::sync::Arc::make_mut(schema);
        schema.x_preserve_unknown_fields = Some(true);
        if schema.type_.is_empty() {
            schema.type_ = "object".into();
        }
    }
    // A version without any schema must have one in v1.
    let spec = &mut crd.spec;
    if spec.validation.is_none() {
        for version in spec.versions.iter_mut().flatten().filter(|version| version.schema.is_none()) {
            let mut schema = pleach_schema::JSONSchemaProps::of_type("object");
            schema.x_preserve_unknown_fields = Some(true);
            version.schema = Some(pleach_crd::Validation::of(schema));
        }
    }
}

/// A CRD as authors write it.
pub(crate) fn without_status(mut crd: Value) -> Value {
    if let Some(members) = crd.as_object_mut() {
        members.remove("status");
    }
    crd
}

/// Writes objects as a YAML stream or a JSON list.
pub(crate) fn write_objects(
    objects: Vec<Value>,
    format: Format,
    terminal: &mut Terminal<'_>,
) -> io::Result<()> {
    if format == Format::Json {
        return match <[Value; 1]>::try_from(objects) {
            Ok([only]) => write_json(&only, terminal),
            Err(items) => write_json(&json!({"apiVersion": "v1", "kind": "List", "items": items}), terminal),
        };
    }
    for (i, object) in objects.iter().enumerate() {
        if i > 0 {
            writeln!(terminal.out, "---")?;
        }
        terminal.out.write_all(pleach_yaml::to_yaml(object).as_bytes())?;
    }
    Ok(())
}
