//! The checks of `pleach lint`: errors of a CRD, and behaviour that will surprise its users.
//!
//! Errors are the server's, from its own checks. Each has its place in the file, the reason for the rule, and advice.
//! Warnings are about CRDs that the server accepts and that behave in unexpected ways.

mod cost;
mod explain;
pub(crate) mod fix;
mod place;
mod surprises;

use pleach_crd::{ApiVersion, strategy, validate_create};
use pleach_schema::formats::Compat;

use crate::catalog::Definition;
use crate::document::Document;
use crate::finding::{Finding, Level};
use crate::locate::field_of_decode_error;
pub(crate) use cost::prices;
pub(crate) use place::place;

/// Which parts to look at.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Explain, advise, warn. Without it, only the server's own words.
    pub advice: bool,
    /// Tell the estimated cost of every rule.
    pub costs: bool,
}

/// All findings about a CRD.
pub fn lint(document: &Document, depth: Depth) -> Vec<Finding> {
    let definition = match Definition::read(&document.value) {
        Ok(definition) => definition,
        Err(error) => {
            let field = field_of_decode_error(&error).unwrap_or("kind").to_owned();
            return vec![Finding::new(Level::Error, "decode", error).at(document, &field)];
        }
    };
    let mut findings = verdict(document, &definition);
    if depth.costs {
        findings.extend(cost::costs(document, &definition));
    }
    if depth.advice {
        explain::explain(&mut findings, document, definition.api_version);
        cost::advise(&mut findings, &definition);
        findings.extend(surprises::surprises(document, &definition));
        if definition.api_version == ApiVersion::V1beta1 {
            findings.push(
                Finding::new(
                    Level::Warning,
                    "v1beta1",
                    "apiextensions.k8s.io/v1beta1 CustomResourceDefinition: Kubernetes has not served this version \
                     since 1.22",
                )
                .at(document, "apiVersion")
                .help("pleach convert-crd writes the CRD as apiextensions.k8s.io/v1"),
            );
        }
    }
    findings
}

/// The server's errors and warnings about a new CRD in `v1`.
pub fn verdict(document: &Document, definition: &Definition) -> Vec<Finding> {
    let mut findings = Vec::new();
    for duplicate in document.duplicates.iter() {
        let text = format!("line {}: key {} already set in map", duplicate.line, duplicate.key);
        let mut finding = Finding::new(Level::Warning, "duplicate-key", text);
        finding.span = document.line_span(duplicate.line);
        findings.push(finding);
    }
    for path in &definition.unknown {
        findings.push(
            Finding::new(Level::Warning, "unknown-field", format!("unknown field \"{path}\""))
                .at_key(document, path),
        );
    }
    let mut crd = definition.crd.clone();
    if let Some(metadata) = crd.metadata.as_object_mut() {
        // A request for a CRD has no namespace, so its object loses the one it has.
        metadata.remove("namespace");
    }
    strategy::prepare_for_create(&mut crd);
    for error in validate_create(&crd, ApiVersion::V1) {
        let place = place(&error.field, definition.api_version);
        findings.push(Finding::of(&error, "invalid", document, &place));
    }
    for warning in pleach_crd::warnings(&crd, None, Compat::DEFAULT) {
        let place = surprises::place_of_format(&warning, definition);
        let mut finding = Finding::new(Level::Warning, "unknown-format", warning);
        if let Some(place) = place {
            finding = finding.at(document, &place);
        }
        findings.push(finding);
    }
    findings
}
