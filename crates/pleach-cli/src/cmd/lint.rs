//! `pleach lint`: errors and warnings about CRDs.

use std::io;

use clap::Args;

use super::{Exit, Files, FindingOptions, Loaded, finish, load};
use crate::finding::{Finding, Fix, Report};
use crate::lint::{Depth, fix, lint};
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach lint config/crd
  pleach lint --fix config/crd/widgets.yaml
  kustomize build config/crd | pleach lint -
  pleach lint --output sarif config/crd > lint.sarif

Exit codes: 0 accepted, 1 findings, 2 a file or the command line could not be used.";

/// How often a file is repaired and read again.
const PASSES: usize = 8;

/// Options of `pleach lint`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The files to lint; objects that are no CRDs are skipped.
    #[command(flatten)]
    pub files: Files,
    /// How findings are shown.
    #[command(flatten)]
    pub findings: FindingOptions,
    /// Apply safe fixes to the files.
    #[arg(long)]
    pub fix: bool,
    /// Tell the estimated cost of every CEL rule.
    #[arg(long)]
    pub costs: bool,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let mut loaded = load(&options.files.files, terminal)?;
    let mut reports = check(&loaded, options, terminal);
    // A fix may reveal problems that the next round fixes.
    for _ in 0..if options.fix { PASSES } else { 0 } {
        let (repaired, mut trouble) = repair(&reports, terminal)?;
        if repaired == 0 {
            loaded.trouble |= trouble;
            break;
        }
        trouble |= loaded.trouble;
        loaded = load(&options.files.files, terminal)?;
        loaded.trouble |= trouble;
        reports = check(&loaded, options, terminal);
    }
    if reports.is_empty() && !loaded.trouble {
        writeln!(terminal.err, "pleach: no CustomResourceDefinition in {}", options.files.files.join(", "))?;
    }
    finish(&reports, loaded.trouble, "lint", options.findings, terminal)
}

fn check(loaded: &Loaded, options: &Options, terminal: &mut Terminal<'_>) -> Vec<Report> {
    let depth = Depth { advice: true, costs: options.costs };
    loaded.check(|document| document.is_crd().then(|| lint(document, depth)), terminal)
}

/// Writes the fixes into the files; says how many there were, and whether a file could not be written.
fn repair(reports: &[Report], terminal: &mut Terminal<'_>) -> io::Result<(usize, bool)> {
    let (mut repaired, mut trouble) = (0, false);
    let mut rest = reports;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|report| report.source.name == first.source.name).count();
        let (of_file, others) = rest.split_at(same);
        rest = others;
        let findings = of_file.iter().flat_map(|report| &report.findings);
        let fixes: Vec<&Fix> = findings.filter_map(|finding: &Finding| finding.fix.as_ref()).collect();
        if fixes.is_empty() {
            continue;
        }
        let Some(path) = &first.source.path else {
            writeln!(terminal.err, "pleach: standard input cannot be repaired: name a file")?;
            trouble = true;
            continue;
        };
        let (text, applied) = fix::apply(&first.source.text, &fixes);
        match std::fs::write(path, text) {
            Ok(()) => {
                repaired += applied;
                writeln!(terminal.err, "{}: {applied} repaired", first.source.name)?;
            }
            Err(error) => {
                trouble = true;
                writeln!(terminal.err, "pleach: {}: {error}", first.source.name)?;
            }
        }
    }
    Ok((repaired, trouble))
}
