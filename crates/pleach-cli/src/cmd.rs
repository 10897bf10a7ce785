//! The commands: one file each, and their common parts.

pub mod completions;
pub mod convert_crd;
pub mod diff;
pub mod expand;
pub mod explain;
pub mod lint;
pub mod man;
pub mod openapi;
pub mod policy;
pub mod rbac;
pub mod render;
pub mod sample;
pub mod skeleton;
pub mod structuralize;
pub mod validate;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use rayon::prelude::*;

use crate::catalog::Definition;
use crate::document::{self, Document};
use crate::finding::{Counts, Finding, Report};
use crate::input::{self, Failure, Found, Source};
use crate::output::{self, FindingFormat};
use crate::progress::watch;
use crate::terminal::Terminal;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing to complain about.
    Fine,
    /// There are findings.
    Findings,
    /// The command line or a file could not be used.
    Trouble,
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Trouble => 2,
        }
    }
}

/// Files to work on.
#[derive(Clone, Debug, Default, Args)]
pub struct Files {
    /// Files, directories (all .yaml, .yml and .json below them), globs, or `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
}

/// How findings are shown, and which of them count.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct FindingOptions {
    /// The form of the findings.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: FindingFormat,
    /// Exit with 1 also when there are only warnings.
    #[arg(long)]
    pub deny_warnings: bool,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The texts, each with its objects and the findings about the rest of it.
    pub texts: Vec<(Arc<Source>, Vec<Document>, Vec<Finding>)>,
    /// Whether something could not be read at all.
    pub trouble: bool,
}

impl Loaded {
    /// All objects.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.texts.iter().flat_map(|(_, documents, _)| documents)
    }

    /// The reports of texts that could not be read wholly.
    pub fn unreadable(&self) -> impl Iterator<Item = Report> {
        self.texts.iter().filter(|(.., findings)| !findings.is_empty()).map(|(source, _, findings)| Report {
            source: Arc::clone(source),
            title: String::new(),
            findings: findings.clone(),
        })
    }

    /// A report per object that `check` has an opinion on, and per text that could not be read
    /// wholly, in the order of the texts. Objects are checked on all cores.
    pub fn check(
        &self,
        check: impl Fn(&Document) -> Option<Vec<Finding>> + Sync,
        terminal: &mut Terminal<'_>,
    ) -> Vec<Report> {
        let one = |document: &Document, done: &AtomicUsize| {
            let findings = check(document);
            document.forget_places();
            done.fetch_add(1, Ordering::Relaxed);
            findings.map(|findings| Report {
                source: Arc::clone(&document.source),
                title: document.title(),
                findings,
            })
        };
        let of_text = |text: &(Arc<Source>, Vec<Document>, Vec<Finding>), done: &AtomicUsize| {
            let (source, documents, unreadable) = text;
            let mut reports: Vec<Report> = documents.par_iter().filter_map(|d| one(d, done)).collect();
            if !unreadable.is_empty() {
                let findings = unreadable.clone();
                reports.push(Report { source: Arc::clone(source), title: String::new(), findings });
            }
            reports
        };
        watch("checking objects", self.documents().count(), terminal, |done| {
            self.texts.par_iter().flat_map_iter(|text| of_text(text, done)).collect()
        })
    }
}

/// Reads all files, on all cores. Files that cannot be read are reported on standard error.
pub fn load(files: &[String], terminal: &mut Terminal<'_>) -> io::Result<Loaded> {
    let (found, failures) = input::find(files);
    let mut out = Loaded::default();
    complain(&failures, &mut out, terminal)?;
    // Standard input comes first, because only one thread can have it.
    let stdin = if found.contains(&Found::Stdin) { Some(Found::Stdin.read(terminal.input)) } else { None };
    let mut stdin = stdin;
    let files = found.iter().filter(|found| **found != Found::Stdin).count();
    let read = |found: &Found, done: &AtomicUsize| -> Option<Result<_, Failure>> {
        if *found == Found::Stdin {
            return None;
        }
        let read = found.read(&mut io::empty()).map(document::read);
        done.fetch_add(1, Ordering::Relaxed);
        Some(read)
    };
    let texts: Vec<Option<Result<_, Failure>>> = watch("reading files", files, terminal, |done| {
        found.par_iter().map(|found| read(found, done)).collect()
    });
    let mut failures = Vec::new();
    for text in texts {
        let text = match text {
            Some(text) => text,
            None => match stdin.take() {
                Some(source) => source.map(document::read),
                None => continue,
            },
        };
        match text {
            Ok(text) => out.texts.push(text),
            Err(failure) => failures.push(failure),
        }
    }
    complain(&failures, &mut out, terminal)?;
    Ok(out)
}

fn complain(failures: &[Failure], out: &mut Loaded, terminal: &mut Terminal<'_>) -> io::Result<()> {
    out.trouble |= !failures.is_empty();
    failures.iter().try_for_each(|failure| writeln!(terminal.err, "pleach: {failure}"))
}

/// Reads the CRDs of files; other objects are left out, CRDs that cannot be decoded are reported.
pub(crate) fn load_crds(
    files: &[String],
    terminal: &mut Terminal<'_>,
) -> io::Result<(Vec<Definition>, bool)> {
    load_crds_with(files, false, terminal)
}

/// The same for CRDs that may use `x-kubernetes-unions`.
pub(crate) fn load_crds_with(
    files: &[String],
    unions: bool,
    terminal: &mut Terminal<'_>,
) -> io::Result<(Vec<Definition>, bool)> {
    let loaded = load(files, terminal)?;
    let mut trouble = loaded.trouble;
    let mut definitions = Vec::new();
    for report in loaded.unreadable() {
        trouble = true;
        for finding in &report.findings {
            let text = output::text::finding_text(finding, &report.source, "", false);
            writeln!(terminal.err, "{text}")?;
        }
    }
    for document in loaded.documents().filter(|document| document.is_crd()) {
        match Definition::read_with(&document.value, unions) {
            Ok(definition) => definitions.push(definition),
            Err(error) => {
                trouble = true;
                let (line, _) =
                    document.source.position(document.locate("kind").underlined(&document.source.text).start);
                writeln!(terminal.err, "pleach: {}:{line}: {error}", document.source.name)?;
            }
        }
    }
    if definitions.is_empty() && !trouble {
        trouble = true;
        writeln!(terminal.err, "pleach: no CustomResourceDefinition in {}", files.join(", "))?;
    }
    Ok((definitions, trouble))
}

/// Writes the findings and says how the command ended.
pub(crate) fn finish(
    reports: &[Report],
    trouble: bool,
    command: &str,
    options: FindingOptions,
    terminal: &mut Terminal<'_>,
) -> io::Result<Exit> {
    output::write(reports, command, options.output, terminal)?;
    let counts = Counts::of(reports);
    Ok(if trouble {
        Exit::Trouble
    } else if counts.errors > 0 || options.deny_warnings && counts.warnings > 0 {
        Exit::Findings
    } else {
        Exit::Fine
    })
}
