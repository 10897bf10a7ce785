//! `pleach validate`: errors and warnings about objects.

use std::collections::HashMap;
use std::io;

use clap::{Args, ValueEnum};
use pleach_json::Value;
use pleach_schema::Record;

use super::{Exit, Files, FindingOptions, finish, load};
use crate::catalog::{Catalog, Definition, Lookup};
use crate::document::Document;
use crate::finding::{Finding, Level, Report};
use crate::lint::{Depth, lint};
use crate::locate::field_of_decode_error;
use crate::object;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach validate --crds config/crd config/samples
  pleach validate --crds config/crd --field-validation strict -
  pleach validate --crds config/crd --old before.yaml after.yaml
  pleach validate --crds config/crd --output junit manifests/ > report.xml

Exit codes: 0 accepted, 1 findings, 2 a file or the command line could not be used.";

/// The handling of unknown and repeated fields, as in the API's `fieldValidation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FieldValidation {
    /// Nothing is said.
    Ignore,
    /// A warning.
    Warn,
    /// An error, as kubectl asks for.
    #[default]
    Strict,
}

/// Options of `pleach validate`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The objects; CRDs among them are checked and count as known kinds.
    #[command(flatten)]
    pub files: Files,
    /// Files, directories or globs with the CRDs; may be given more than once.
    #[arg(long, value_name = "PATH")]
    pub crds: Vec<String>,
    /// The stored objects: objects of the same kind and name are checked as updates.
    #[arg(long, value_name = "FILE")]
    pub old: Vec<String>,
    /// How to handle unknown and repeated fields.
    #[arg(long, value_enum, default_value_t)]
    pub field_validation: FieldValidation,
    /// Objects whose kind has no CRD here are errors, not warnings.
    #[arg(long)]
    pub require_crds: bool,
    /// How findings are shown.
    #[command(flatten)]
    pub findings: FindingOptions,
}

/// The server reads no request that is larger.
const MAX_REQUEST: usize = 3 * 1024 * 1024;

/// The identity of an object.
pub(crate) type Identity = (String, String, String, String);

pub(crate) fn identity(document: &Document) -> Identity {
    let group = document.api_version().rsplit_once('/').map_or("", |(group, _)| group);
    let namespace = document.value.at(&["metadata", "namespace"]).and_then(Value::as_str);
    let namespace = namespace.filter(|n| !n.is_empty()).unwrap_or("default");
    (group.to_owned(), document.kind().to_owned(), namespace.to_owned(), document.name().to_owned())
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let of_crds = load(&options.crds, terminal)?;
    let of_old = load(&options.old, terminal)?;
    let loaded = load(&options.files.files, terminal)?;
    let trouble = of_crds.trouble || of_old.trouble || loaded.trouble;
    let mut reports: Vec<Report> = of_crds.check(
        |document| {
            let findings = document.is_crd().then(|| crd_findings(document))?;
            (!findings.is_empty()).then_some(findings)
        },
        terminal,
    );
    reports.extend(of_old.unreadable());
    let mut catalog = Catalog::default();
    for document in of_crds.documents().chain(loaded.documents()).filter(|d| d.is_crd()) {
        if let Ok(definition) = Definition::read(&document.value) {
            catalog.add(definition);
        }
    }
    let old: HashMap<Identity, &Document> = of_old.documents().map(|d| (identity(d), d)).collect();
    let check = Check {
        field_validation: options.field_validation,
        require_crds: options.require_crds,
        expects_old: !options.old.is_empty(),
        catalog: &catalog,
        old: &old,
    };
    reports.extend(loaded.check(|document| Some(check.findings(document)), terminal));
    finish(&reports, trouble, "validate", options.findings, terminal)
}

/// The server's findings about a CRD that objects are checked against.
fn crd_findings(document: &Document) -> Vec<Finding> {
    let mut findings = lint(document, Depth { advice: false, costs: false });
    findings.retain(|finding| finding.level == Level::Error);
    if let Some(first) = findings.first_mut() {
        first.help.push("the server would refuse this CRD; pleach lint says more".to_owned());
    }
    findings
}

/// The server's findings about an object: a new one, or the new form of one of the old objects.
pub(crate) fn object_findings(
    document: &Document,
    catalog: &Catalog,
    old: &HashMap<Identity, &Document>,
) -> Vec<Finding> {
    let field_validation = FieldValidation::Warn;
    let check = Check { field_validation, require_crds: true, expects_old: false, catalog, old };
    check.findings(document)
}

struct Check<'a> {
    field_validation: FieldValidation,
    require_crds: bool,
    expects_old: bool,
    catalog: &'a Catalog,
    old: &'a HashMap<Identity, &'a Document>,
}

impl Check<'_> {
    fn findings(&self, document: &Document) -> Vec<Finding> {
        if document.is_crd() {
            return crd_findings(document);
        }
        if document.kind().is_empty() || document.api_version().is_empty() {
            let missing = if document.kind().is_empty() { "Kind" } else { "apiVersion" };
            let text = format!("Object '{missing}' is missing");
            return vec![Finding::new(Level::Error, "no-kind", text).at(document, "")];
        }
        let version = match self.catalog.lookup(document) {
            Lookup::Found(_, version) => version,
            other => return vec![self.undefined(document, &other)],
        };
        let mut findings = self.duplicates(document);
        if document.len() > MAX_REQUEST && pleach_json::to_vec(&document.value).len() > MAX_REQUEST {
            let text = format!("Request entity too large: limit is {MAX_REQUEST}");
            findings.push(Finding::new(Level::Error, "too-large", text).at(document, "kind"));
            return findings;
        }
        if let Some(warning) = &version.deprecation {
            let finding = Finding::new(Level::Warning, "deprecated", warning.clone());
            findings.push(finding.at(document, "apiVersion"));
        }
        let decoded = match object::decode(version, document.value.clone(), Record::Unknown) {
            Ok(decoded) => decoded,
            Err(error) => {
                let field = field_of_decode_error(&error).map(|field| format!("metadata.{field}"));
                let field = field.unwrap_or_else(|| "metadata".to_owned());
                findings.push(Finding::new(Level::Error, "decode", error).at(document, &field));
                return findings;
            }
        };
        findings.extend(self.unknown(document, &decoded.unknown));
        let mut value = decoded.value;
        let old = if self.old.is_empty() { None } else { self.old.get(&identity(document)).copied() };
        let verdict = match old {
            None => object::create(version, &mut value),
            Some(old) => match object::decode(version, old.value.clone(), Record::Nothing) {
                Ok(mut old) => object::update(version, &mut value, &mut old.value),
                Err(error) => {
                    findings.push(Finding::new(Level::Error, "decode", format!("the old object: {error}")));
                    return findings;
                }
            },
        };
        for (i, error) in verdict.errors.iter().enumerate() {
            // The server checks metadata more than once; its message says everything once.
            pleach_work::charge(i as u64);
            if !verdict.errors[..i].contains(error) {
                findings.push(Finding::of(error, "invalid", document, &error.field));
            }
        }
        for warning in verdict.warnings {
            findings.push(Finding::new(Level::Warning, "server-warning", warning).at(document, "metadata"));
        }
        if self.expects_old && old.is_none() {
            let text = "no old object of this kind and name: checked as a new one";
            findings.push(Finding::new(Level::Note, "no-old", text).at(document, "metadata.name"));
        }
        findings
    }

    fn undefined(&self, document: &Document, lookup: &Lookup<'_>) -> Finding {
        let (api_version, kind) = (document.api_version(), document.kind());
        let text = format!("no matches for kind \"{kind}\" in version \"{api_version}\"");
        match lookup {
            Lookup::OtherVersion(others) => Finding::new(Level::Error, "no-crd", text)
                .help(format!("the CRD serves {}", others.join(", "))),
            Lookup::NotServed => Finding::new(Level::Error, "no-crd", text)
                .help("the CRD has this version, but does not serve it"),
            _ => {
                let level = if self.require_crds { Level::Error } else { Level::Warning };
                Finding::new(level, "no-crd", text)
                    .help("no CRD was given for it with --crds: it was not checked")
            }
        }
        .at(document, "kind")
    }

    fn level(&self) -> Option<Level> {
        match self.field_validation {
            FieldValidation::Ignore => None,
            FieldValidation::Warn => Some(Level::Warning),
            FieldValidation::Strict => Some(Level::Error),
        }
    }

    fn duplicates(&self, document: &Document) -> Vec<Finding> {
        let Some(level) = self.level() else { return Vec::new() };
        let say = |duplicate: &pleach_yaml::DuplicateKey| {
            let message = format!("line {}: key {} already set in map", duplicate.line, duplicate.key);
            let mut finding = Finding::new(level, "duplicate-key", message);
            finding.span = document.line_span(duplicate.line);
            finding
        };
        document.duplicates.iter().map(say).collect()
    }

    fn unknown(&self, document: &Document, paths: &[String]) -> Vec<Finding> {
        let Some(level) = self.level() else { return Vec::new() };
        let say = |path: &String| {
            let text = format!("unknown field \"{path}\"");
            Finding::new(level, "unknown-field", text).at_key(document, path)
        };
        paths.iter().map(say).collect()
    }
}
