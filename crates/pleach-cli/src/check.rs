//! Checks of CRDs and objects as text, for tests of CRD authors: the server's errors.
//!
//! Texts may be JSON or YAML. A text without findings is valid; the findings are the server's messages.

use pleach_schema::Record;

use crate::catalog::{Catalog, Definition, Lookup};
use crate::document::{self, Document};
use crate::finding::{Finding, Level};
use crate::input::Source;
use crate::lint::{Depth, lint};
use crate::object;

fn read(text: &str) -> (Vec<Document>, Vec<String>) {
    let source = Source::new("", None, text);
    let (_, documents, findings) = document::read(source);
    let mut wrong: Vec<String> = findings.into_iter().map(|finding| finding.message).collect();
    if documents.is_empty() && wrong.is_empty() {
        wrong.push("no document".to_owned());
    }
    (documents, wrong)
}

/// Why a server would refuse the CRDs in a text.
pub fn check_crd(crds: &str) -> Vec<String> {
    let (documents, mut out) = read(crds);
    for document in &documents {
        if document.is_crd() {
            let findings = lint(document, Depth { advice: false, costs: false });
            out.extend(findings.into_iter().filter(|f| f.level == Level::Error).map(|f: Finding| f.message));
        } else {
            out.push(format!("{} is no CustomResourceDefinition", document.title()));
        }
    }
    out
}

/// Why a server with these CRDs would refuse the objects in a text, or drop fields of them.
pub fn check_object(crds: &str, objects: &str) -> Vec<String> {
    let mut catalog = Catalog::default();
    let (documents, mut out) = read(crds);
    for document in &documents {
        match Definition::read(&document.value) {
            Ok(definition) => catalog.add(definition),
            Err(error) => out.push(error),
        }
    }
    let (documents, wrong) = read(objects);
    out.extend(wrong);
    for document in &documents {
        let Lookup::Found(_, version) = catalog.lookup(document) else {
            let (kind, api_version) = (document.kind(), document.api_version());
            out.push(format!("no matches for kind \"{kind}\" in version \"{api_version}\""));
            continue;
        };
        match object::decode(version, document.value.clone(), Record::Unknown) {
            Ok(mut decoded) => {
                out.extend(decoded.unknown.iter().map(|path| format!("unknown field \"{path}\"")));
                let verdict = object::create(version, &mut decoded.value);
                out.extend(verdict.errors.iter().map(ToString::to_string));
            }
            Err(error) => out.push(error),
        }
    }
    out
}
