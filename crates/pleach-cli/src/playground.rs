//! The engine for web pages: a request in JSON, a response in JSON. The web console's playground uses it, in the browser
//! through WebAssembly or of the server.
//!
//! | `op` | members | answer |
//! |---|---|---|
//! | `check` | `crds`, `objects`: texts in YAML or JSON; `old`: stored objects, whose new forms are checked as updates | findings with their places, objects as they would be stored, costs of rules |
//! | `diff` | `old`, `new`: texts of CRDs | changes, the worst first, with objects that show them |
//! | `sample` | `crd`, `version`, `extent`: `minimal` or `full` | an object in YAML |
//! | `merge` | `base`, `mine`, `theirs`: texts of an object; `crd`, `theirsAt`, `statusIsTheirs` | the object with the changes of both in YAML, conflicts, fields that only `theirs` changed |
//! | `costs` | `crd` | costs of rules and why it is not structural, without the rest of `check` |
//! | `openapi`, `skeleton`, `expand` | `crd` | the document in JSON, the CRD in YAML |
//!
//! Places are offsets in UTF-16, as JavaScript counts. No state, no files, no clock.

use std::collections::HashMap;

use pleach_json::{Map, Value, json};
use pleach_schema::rules::PER_EXPRESSION;
use pleach_schema::skeleton::skel;

use crate::catalog::{Catalog, DefinedVersion, Definition, Lookup};
use crate::cmd::convert_crd::without_status;
use crate::cmd::skeleton::change_schemas;
use crate::cmd::{diff as diff_command, openapi, render, validate};
use crate::diff::diff;
use crate::document::{self, Document};
use crate::finding::{Finding, Level};
use crate::input::Source;
use crate::lint::{self, Depth};
use crate::merge;
use crate::sample::{self, Extent};

/// So many findings of one object are shown.
const MOST_FINDINGS: usize = 500;
/// So many findings of a text are shown.
const MOST_FINDINGS_OF_TEXT: usize = 5_000;
/// So many objects of a text are checked.
const MOST_OBJECTS: usize = 1_000;

/// Handles a request. Errors of the request itself are in `error`.
pub fn answer(question: &[u8]) -> Vec<u8> {
    let answer = match pleach_json::parse(question) {
        Ok(question) => ask(&question),
        Err(error) => Err(error.to_string()),
    };
    let value = answer.unwrap_or_else(|error| json!({"error": (error.as_str())}));
    pleach_json::to_vec(&value)
}

fn ask(question: &Value) -> Result<Value, String> {
    match text(question, "op") {
        "check" => Ok(check(text(question, "crds"), text(question, "objects"), text(question, "old"))),
        "diff" => {
            let (old, new) = (one_crd(text(question, "old"))?, one_crd(text(question, "new"))?);
            let changes: Vec<Value> = diff(&old, &new).iter().map(diff_command::change_json).collect();
            Ok(json!({"changes": changes}))
        }
        "sample" => sample_of(question),
        "merge" => merge_of(question),
        "costs" => one_crd(text(question, "crd")).map(|definition| crd_json(&definition)),
        "openapi" => {
            let definition = one_crd(text(question, "crd"))?;
            let edition = pleach_openapi::Edition::V3;
            let made = openapi::document(std::slice::from_ref(&definition), None, edition);
            let made = made.ok_or("no version is served")?;
            Ok(json!({"json": (String::from_utf8_lossy(&made).as_ref())}))
        }
        "skeleton" => changed(question, |schema| *schema = skel(schema)),
        "expand" => changed(question, pleach_schema::JSONSchemaProps::expand),
        other => Err(format!("unknown op {other:?}")),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn read(text: &str) -> (std::sync::Arc<Source>, Vec<Document>, Vec<Finding>) {
    document::read(Source::new("", None, text))
}

/// The first CRD of a text.
fn one_crd(text: &str) -> Result<Definition, String> {
    let (_, documents, findings) = read(text);
    match documents.iter().find(|document| document.is_crd()) {
        Some(document) => Definition::read_with(&document.value, true),
        None => Err(findings.first().map_or_else(|| "no CRD".to_owned(), |finding| finding.message.clone())),
    }
}

fn changed(
    question: &Value,
    mut change: impl FnMut(&mut pleach_schema::JSONSchemaProps),
) -> Result<Value, String> {
    let definition = one_crd(text(question, "crd"))?;
    let mut crd = definition.crd;
    change_schemas(&mut crd, |schema, _| change(schema));
    let yaml = pleach_yaml::to_yaml(&without_status(crd.encode(definition.api_version)));
    Ok(json!({"yaml": (yaml.as_str())}))
}

fn sample_of(question: &Value) -> Result<Value, String> {
    let definition = one_crd(text(question, "crd"))?;
    let version = match text(question, "version") {
        "" => definition.main_version(),
        name => definition.version(name),
    };
    let version = version.ok_or("no such version")?;
    let extent = if text(question, "extent") == "full" { Extent::Full } else { Extent::Minimal };
    let made = sample::sample(&definition, version, extent);
    let errors: Vec<Value> = made.errors.iter().map(|error| Value::from(error.to_string())).collect();
    let left_out: Vec<Value> = made
        .left_out
        .iter()
        .map(|left| json!({"field": (left.field.as_str()), "why": (left.why.as_str())}))
        .collect();
    let yaml = pleach_yaml::to_yaml(&made.object);
    Ok(json!({"yaml": (yaml.as_str()), "errors": errors, "leftOut": left_out}))
}

/// Merges the changes of two writers to an object. Managed fields are left out: the server keeps them.
fn merge_of(question: &Value) -> Result<Value, String> {
    let [base, mine, theirs] = ["base", "mine", "theirs"].map(|name| one_object(text(question, name)));
    let (base, mine, theirs) = (base?, mine?, theirs?);
    let crd = text(question, "crd");
    let definition = if crd.is_empty() { None } else { Some(one_crd(crd)?) };
    let (_, version) = mine
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .rsplit_once('/')
        .unwrap_or_default();
    let version = definition.as_ref().and_then(|definition| definition.version(version));
    let theirs_at = question.get("theirsAt").and_then(Value::as_array).map_or(&[][..], |fields| fields);
    let theirs_at: Vec<&str> = theirs_at.iter().filter_map(Value::as_str).collect();
    let status_is_theirs = question.get("statusIsTheirs").and_then(Value::as_bool).unwrap_or(false);
    let schema = version.map(DefinedVersion::props);
    let merged = merge::merge([&base, &mine, &theirs], schema, &theirs_at, status_is_theirs);
    let yaml = |value: &Value| pleach_yaml::to_yaml(value).trim_end().to_owned();
    let yaml_of = |value: &Option<Value>| Value::from(value.as_ref().map(yaml));
    let conflicts = merged.conflicts.iter().map(|conflict| {
        json!({
            "field": (conflict.field.as_str()),
            "base": (yaml_of(&conflict.base)),
            "mine": (yaml_of(&conflict.mine)),
            "theirs": (yaml_of(&conflict.theirs)),
        })
    });
    let taken = merged
        .taken
        .iter()
        .map(|(field, value)| json!({"field": (field.as_str()), "theirs": (yaml_of(value))}));
    Ok(json!({
        "yaml": (pleach_yaml::to_yaml(&merged.object).as_str()),
        "conflicts": (conflicts.collect::<Vec<_>>()),
        "taken": (taken.collect::<Vec<_>>()),
    }))
}

/// The only object of a text, without managed fields.
fn one_object(text: &str) -> Result<Value, String> {
    let (_, documents, findings) = read(text);
    if let Some(finding) = findings.first() {
        return Err(finding.message.clone());
    }
    let [document] = &documents[..] else { return Err("the text must have one object".to_owned()) };
    let mut object = document.value.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok(object)
}

/// All there is to say about CRDs and objects. Either text may hold both. Objects that are among the old ones are
/// updates of these.
fn check(crds: &str, objects: &str, old: &str) -> Value {
    let mut catalog = Catalog::default();
    let texts = [("crds", read(crds)), ("objects", read(objects))];
    for (_, (_, documents, _)) in &texts {
        for document in documents.iter().filter(|document| document.is_crd()) {
            if let Ok(definition) = Definition::read_with(&document.value, true) {
                catalog.add(definition);
            }
        }
    }
    let (_, mut old, _) = read(old);
    old.truncate(MOST_OBJECTS);
    let old: HashMap<validate::Identity, &Document> =
        old.iter().map(|old| (validate::identity(old), old)).collect();
    let mut out = Map::new();
    for (name, (source, documents, unreadable)) in &texts {
        let offsets = Offsets::of(&source.text);
        let mut unreadable: Vec<Value> = unreadable
            .iter()
            .take(MOST_FINDINGS)
            .map(|finding| finding_json(finding, &source.text, &offsets))
            .collect();
        if documents.len() > MOST_OBJECTS {
            let message = format!("only the first {MOST_OBJECTS} of {} objects are checked", documents.len());
            let finding = Finding::new(Level::Note, "too-many", message);
            unreadable.push(finding_json(&finding, &source.text, &offsets));
        }
        let mut left = MOST_FINDINGS_OF_TEXT;
        let documents = documents.iter().take(MOST_OBJECTS);
        let documents: Vec<Value> =
            documents.map(|document| checked(document, &catalog, &old, &offsets, &mut left)).collect();
        out.insert(*name, json!({"unreadable": unreadable, "documents": documents}));
    }
    out.into()
}

/// The findings about a document, of which so many are `left` for its text, and the object as it would be stored.
fn checked(
    document: &Document,
    catalog: &Catalog,
    old: &HashMap<validate::Identity, &Document>,
    offsets: &Offsets,
    left: &mut usize,
) -> Value {
    let mut out = Map::new();
    out.insert("title", document.title());
    if let Some(namespace) = document.value.at(&["metadata", "namespace"]).and_then(Value::as_str) {
        out.insert("namespace", namespace);
    }
    let findings = if document.is_crd() {
        if let Ok(definition) = Definition::read_with(&document.value, true) {
            out.insert("crd", crd_json(&definition));
        }
        lint::lint(document, Depth { advice: true, costs: false })
    } else {
        if let Lookup::Found(_, version) = catalog.lookup(document)
            && let Ok(rendered) = render::render(document, version)
        {
            out.insert("stored", pleach_yaml::to_yaml(&rendered.value));
            let rendered = render::as_json(document, &rendered);
            for key in ["changes", "defaultsNotApplied"] {
                out.insert(key, rendered.get(key).cloned().unwrap_or_default());
            }
        }
        validate::object_findings(document, catalog, old)
    };
    let text = &document.source.text;
    let shown = findings.iter().take(MOST_FINDINGS.min(*left));
    let shown: Vec<Value> = shown.map(|finding| finding_json(finding, text, offsets)).collect();
    *left -= shown.len();
    out.insert("findings", shown);
    out.into()
}

fn crd_json(definition: &Definition) -> Value {
    let violations = match definition.crd.structural_violations() {
        Ok(violations) => violations.iter().map(|error| Value::from(error.to_string())).collect(),
        Err(message) => vec![Value::from(message)],
    };
    let costs: Vec<Value> = lint::prices(definition)
        .into_iter()
        .map(|(field, cost)| json!({"field": (field.as_str()), "cost": (cost as f64)}))
        .collect();
    let versions: Vec<Value> =
        definition.versions.iter().map(|version| Value::from(version.name.as_str())).collect();
    json!({
        "name": (definition.crd.meta().name()),
        "kind": (definition.kind()),
        "versions": versions,
        "structuralViolations": violations,
        "costs": costs,
        "costBudget": (PER_EXPRESSION as f64),
    })
}

fn finding_json(finding: &Finding, text: &str, offsets: &Offsets) -> Value {
    let mut out = Map::new();
    out.insert("level", finding.level.as_str());
    out.insert("rule", finding.rule);
    out.insert("field", finding.field.as_str());
    out.insert("message", finding.message.as_str());
    let help = finding.help.iter().map(|help| Value::from(help.as_str()));
    out.insert("help", help.collect::<Vec<_>>());
    if let Some(span) = &finding.span {
        out.insert("from", offsets.utf16(text, span.start));
        out.insert("to", offsets.utf16(text, span.end));
    }
    out.into()
}

/// Offsets of a text in units of UTF-16.
struct Offsets {
    /// The units before every [`STRIDE`]th byte; none for a text in ASCII, where they are the bytes.
    before: Vec<usize>,
}

/// The bytes between two offsets that are known.
const STRIDE: usize = 1024;

impl Offsets {
    fn of(text: &str) -> Self {
        pleach_work::charge((text.len() / 16) as u64);
        if text.is_ascii() {
            return Self { before: Vec::new() };
        }
        let mut units = 0;
        let count = |stride: &[u8]| {
            let before = units;
            units += stride.iter().map(|byte| units_at(*byte)).sum::<usize>();
            before
        };
        Self { before: text.as_bytes().chunks(STRIDE).map(count).collect() }
    }

    /// An offset in bytes as one in units of UTF-16.
    fn utf16(&self, text: &str, offset: usize) -> i64 {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let Some(last) = self.before.len().checked_sub(1) else { return offset as i64 };
        let stride = (offset / STRIDE).min(last);
        let behind = &text.as_bytes()[stride * STRIDE..offset];
        pleach_work::charge(1 + (behind.len() / 16) as u64);
        (self.before[stride] + behind.iter().map(|byte| units_at(*byte)).sum::<usize>()) as i64
    }
}

/// The units of UTF-16 of the character that begins with a byte; none inside of a character.
fn units_at(byte: u8) -> usize {
    match byte {
        0x80..0xc0 => 0,
        0xf0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1}
              color: {type: string, default: red}
            x-kubernetes-validations:
            - rule: self.size < 10
";

    fn asked(question: Value) -> Value {
        pleach_json::parse(&answer(&pleach_json::to_vec(&question))).unwrap()
    }

    #[test]
    fn objects_are_checked_and_shown_as_stored() {
        let object = "# ä😀\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 0, shape: round}\n";
        let checked = asked(json!({"op": "check", "crds": CRD, "objects": object}));
        let crd = &checked.at(&["crds", "documents"]).unwrap().as_array().unwrap()[0];
        assert_eq!(crd.at(&["crd", "costs"]).unwrap().as_array().unwrap().len(), 1, "{crd:?}");
        let widget = &checked.at(&["objects", "documents"]).unwrap().as_array().unwrap()[0];
        let stored = widget.get("stored").and_then(Value::as_str).unwrap();
        assert!(stored.contains("color: red") && !stored.contains("shape"), "{stored}");
        let findings = widget.get("findings").unwrap().as_array().unwrap();
        let messages: Vec<&str> = findings.iter().map(|finding| text(finding, "message")).collect();
        assert_eq!(
            messages,
            [
                "unknown field \"spec.shape\"",
                "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            ]
        );
        let from = findings[0].get("from").and_then(Value::as_int).unwrap() as usize;
        let units: Vec<u16> = object.encode_utf16().collect();
        assert_eq!(String::from_utf16(&units[from..from + 5]).unwrap(), "shape");
    }

    #[test]
    fn offsets_count_units_of_utf16() {
        let text = "aä€😀\n".repeat(1_000);
        let offsets = Offsets::of(&text);
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            assert_eq!(offsets.utf16(&text, at), text[..at].encode_utf16().count() as i64, "{at}");
        }
        assert_eq!(offsets.utf16(&text, 2), 1, "inside of a character: its begin");
        assert_eq!(Offsets::of("abc").utf16("abc", 7), 3);
    }

    #[test]
    fn the_work_of_many_findings_grows_with_the_text() {
        let object = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, ä: b}\nspec: {size: 0}\n";
        let steps = |objects: usize| {
            let text = vec![object; objects].join("---\n");
            let question = json!({"op": "check", "crds": CRD, "objects": (text.as_str())});
            let (checked, steps) = pleach_work::measure(|| asked(question));
            let documents = checked.at(&["objects", "documents"]).unwrap().as_array().unwrap().len();
            assert_eq!(documents, objects.min(MOST_OBJECTS));
            let unreadable = checked.at(&["objects", "unreadable"]).unwrap().as_array().unwrap();
            assert_eq!(unreadable.len(), usize::from(objects > MOST_OBJECTS));
            steps
        };
        let (few, many) = (steps(100), steps(1_000));
        assert!(many <= 12 * few, "{few} {many}");
        steps(2_000);
    }

    #[test]
    fn an_update_is_checked_against_the_old_object() {
        let crd = CRD.replace("self.size < 10", "self.size >= oldSelf.size");
        let object = |size: &str| {
            format!(
                "apiVersion: example.com/v1\nkind: Widget\n\
                 metadata: {{name: a, namespace: b, resourceVersion: '1'}}\nspec: {{size: {size}}}\n"
            )
        };
        for (old, new, errors) in
            [("", object("0"), 1), (&object("0"), object("0"), 0), (&object("5"), object("4"), 1)]
        {
            let question =
                json!({"op": "check", "crds": (crd.as_str()), "objects": (new.as_str()), "old": old});
            let checked = asked(question);
            let widget = &checked.at(&["objects", "documents"]).unwrap().as_array().unwrap()[0];
            assert_eq!(
                widget.get("findings").unwrap().as_array().unwrap().len(),
                errors,
                "{old} {new}: {widget:?}"
            );
            assert_eq!(text(widget, "namespace"), "b");
        }
    }

    #[test]
    fn samples_differences_and_documents_are_made() {
        let sample = asked(json!({"op": "sample", "crd": CRD, "extent": "full"}));
        assert!(text(&sample, "yaml").contains("size: 1"), "{sample:?}");
        let narrower = CRD.replace("minimum: 1", "minimum: 5");
        let changes = asked(json!({"op": "diff", "old": CRD, "new": (narrower.as_str())}));
        let first = &changes.get("changes").unwrap().as_array().unwrap()[0];
        assert_eq!(text(first, "severity"), "breaking");
        let costs = asked(json!({"op": "costs", "crd": CRD}));
        assert_eq!(costs.get("costs").unwrap().as_array().unwrap().len(), 1, "{costs:?}");
        for op in ["openapi", "skeleton", "expand"] {
            assert!(asked(json!({"op": op, "crd": CRD})).get("error").is_none(), "{op}");
        }
    }

    #[test]
    fn changes_of_two_writers_are_merged() {
        let object = |size: i64, color: &str, version: &str| {
            json!({"apiVersion": "example.com/v1", "kind": "Widget",
                "metadata": {"name": "a", "resourceVersion": version, "managedFields": [{"manager": version}]},
                "spec": {"size": size, "color": color, "large": 9_007_199_254_740_993_i64}})
            .to_string()
        };
        let (base, theirs) = (object(1, "red", "1"), object(2, "green", "5"));
        let mine = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 3, color: red, large: 9007199254740993}\n";
        let question = json!({"op": "merge", "crd": CRD, "base": (base.as_str()), "mine": mine, "theirs": (theirs.as_str())});
        let merged = asked(question);
        let yaml = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\n  resourceVersion: \"5\"\n\
                    spec:\n  color: green\n  large: 9007199254740993\n  size: 3\n";
        assert_eq!(text(&merged, "yaml"), yaml);
        let conflicts = json!([{"field": "spec.size", "base": "1", "mine": "3", "theirs": "2"}]);
        assert_eq!(merged.get("conflicts"), Some(&conflicts));
        assert_eq!(merged.get("taken"), Some(&json!([{"field": "spec.color", "theirs": "green"}])));
        let wrong = asked(
            json!({"op": "merge", "base": (base.as_str()), "mine": "a: [", "theirs": (theirs.as_str())}),
        );
        assert!(!text(&wrong, "error").is_empty(), "{wrong:?}");
    }

    #[test]
    fn questions_may_be_wrong() {
        assert!(String::from_utf8(answer(b"{")).unwrap().contains("error"));
        for question in
            [json!({"op": "x"}), json!({"op": "sample", "crd": "a: [", "version": "v9"}), json!([])]
        {
            assert!(asked(question.clone()).get("error").is_some(), "{question:?}");
        }
        let nothing = asked(json!({"op": "check"}));
        assert!(nothing.get("error").is_none());
    }
}
