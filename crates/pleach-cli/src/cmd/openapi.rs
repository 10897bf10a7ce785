//! `pleach openapi`: the documents that a server with these CRDs would publish for them.

use std::io;

use clap::Args;
use pleach_crd::Version;
use pleach_openapi::{Edition, Form, Fragment, Frame, Member, Needed, Resource, Section};

use super::{Exit, Files, load_crds};
use crate::catalog::{DefinedVersion, Definition};
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach openapi config/crd > openapi.json
  pleach openapi --v2 config/crd > swagger.json
  pleach openapi --v3 --api-version example.com/v1 config/crd

Exit codes: 0 done, 2 a file or the command line could not be used.";

/// Options of `pleach openapi`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The CRDs.
    #[command(flatten)]
    pub files: Files,
    /// Swagger 2.0.
    #[arg(long, conflicts_with = "v3")]
    pub v2: bool,
    /// OpenAPI 3.0, the default.
    #[arg(long)]
    pub v3: bool,
    /// Only this group and version, as the server publishes OpenAPI 3.0.
    #[arg(long, value_name = "GROUP/VERSION")]
    pub api_version: Option<String>,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (definitions, trouble) = load_crds(&options.files.files, terminal)?;
    let edition = if options.v2 { Edition::V2 } else { Edition::V3 };
    let Some(document) = document(&definitions, options.api_version.as_deref(), edition) else {
        if !trouble {
            writeln!(terminal.err, "pleach: no such version is served")?;
        }
        return Ok(Exit::Trouble);
    };
    terminal.out.write_all(&document)?;
    writeln!(terminal.out)?;
    Ok(if trouble { Exit::Trouble } else { Exit::Fine })
}

/// The document for some CRDs, or for one of their versions; none if it is not served.
pub(crate) fn document(
    definitions: &[Definition],
    api_version: Option<&str>,
    edition: Edition,
) -> Option<Vec<u8>> {
    let mut all = Fragment::default();
    let mut needed = Needed { scale: edition == Edition::V2, definitions: false };
    for definition in definitions {
        for (version, written) in definition.versions.iter().zip(definition.crd.spec.versions()) {
            let wanted = api_version.is_none_or(|wanted| *wanted == version.api_version);
            if version.served && wanted {
                needed.scale |= version.scale.is_some();
                let made = fragment(definition, version, written, edition);
                all.paths.extend(made.paths);
                all.schemas.extend(made.schemas);
            }
        }
    }
    if all.paths.is_empty() {
        return None;
    }
    all.schemas.extend(pleach_openapi::shared(edition, Form::Json, needed).schemas);
    Some(assemble(all, edition))
}

fn fragment(
    definition: &Definition,
    version: &DefinedVersion,
    written: &Version,
    edition: Edition,
) -> Fragment {
    let spec = &definition.crd.spec;
    let selectable: Vec<&str> = spec
        .selectable_fields_of(written)
        .iter()
        .map(|field| field.json_path.strip_prefix('.').unwrap_or(&field.json_path))
        .collect();
    let resource = Resource {
        group: &spec.group,
        version: &version.name,
        plural: &spec.names.plural,
        kind: &spec.names.kind,
        list_kind: &spec.names.list_kind,
        namespaced: spec.is_namespaced(),
        status: version.status,
        scale: version.scale.is_some(),
        selectable_fields: &selectable,
        types: None,
        schema: spec.schema_of(written).map(|schema| &**schema),
        preserve_unknown_fields: spec.preserves_unknown_fields(),
        built_in: false,
        deletes_collections: true,
    };
    pleach_openapi::fragment(&resource, edition, Form::Json)
}

/// One document of all members, in the order clients know.
fn assemble(mut all: Fragment, edition: Edition) -> Vec<u8> {
    for members in [&mut all.paths, &mut all.schemas] {
        members.sort_by(Member::order);
        members.dedup_by(|a, b| a.key == b.key);
    }
    let lengths = |members: &[Member]| members.iter().map(|m| m.bytes.len()).collect::<Vec<_>>();
    let frame = match edition {
        Edition::V2 => Frame { title: "Kubernetes", version: "v1.36.4" },
        Edition::V3 => Frame { title: "Kubernetes CRD Swagger", version: "v0.1.0" },
    };
    let mut out = Vec::new();
    pleach_openapi::assemble(
        edition,
        Form::Json,
        frame,
        &lengths(&all.paths),
        &lengths(&all.schemas),
        &mut |section| {
            out.extend_from_slice(match section {
                Section::Text(text) => text,
                Section::Path(i) => &all.paths[i].bytes,
                Section::Schema(i) => &all.schemas[i].bytes,
            });
        },
    );
    out
}
