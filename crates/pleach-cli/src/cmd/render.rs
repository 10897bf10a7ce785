//! `pleach render`: objects as the server would store them.

use std::collections::BTreeMap;
use std::io;

use clap::Args;
use pleach_json::{Map, Value, grow_stack, json};
use pleach_schema::{Record, Settled};

use super::{Exit, Files, load};
use crate::catalog::{Catalog, DefinedVersion, Definition, Lookup};
use crate::document::Document;
use crate::object;
use crate::output::{Format, write_json};
use crate::terminal::{Paint, Terminal};

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach render --crds config/crd widget.yaml
  pleach render --crds config/crd --diff widget.yaml
  cat widget.yaml | pleach render --crds config/crd --output json -

Exit codes: 0 rendered, 1 the server would refuse an object, 2 a file or the command line could not be used.";

/// Options of `pleach render`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The objects; CRDs among them count as known kinds.
    #[command(flatten)]
    pub files: Files,
    /// Files, directories or globs with the CRDs; may be given more than once.
    #[arg(long, value_name = "PATH")]
    pub crds: Vec<String>,
    /// Show the changes, with a reason on each line.
    #[arg(long)]
    pub diff: bool,
    /// The form of the result.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// An object before and after.
pub(crate) struct Rendered {
    pub(crate) value: Value,
    reasons: BTreeMap<String, String>,
    withheld: Vec<(String, String)>,
    refused: Vec<String>,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let of_crds = load(&options.crds, terminal)?;
    let loaded = load(&options.files.files, terminal)?;
    let mut trouble = of_crds.trouble || loaded.trouble;
    let mut catalog = Catalog::default();
    for document in of_crds.documents().chain(loaded.documents()).filter(|d| d.is_crd()) {
        if let Ok(definition) = Definition::read(&document.value) {
            catalog.add(definition);
        }
    }
    for report in of_crds.unreadable().chain(loaded.unreadable()) {
        trouble = true;
        for finding in &report.findings {
            let text = crate::output::text::finding_text(finding, &report.source, "", false);
            writeln!(terminal.err, "{text}")?;
        }
    }
    let (mut results, mut refused, mut first) = (Vec::new(), false, true);
    for document in loaded.documents().filter(|document| !document.is_crd()) {
        let title = document.title();
        let Lookup::Found(_, version) = catalog.lookup(document) else {
            trouble = true;
            let name = &document.source.name;
            writeln!(terminal.err, "pleach: {name}: {title}: no CRD was given for this kind with --crds")?;
            continue;
        };
        let rendered = match render(document, version) {
            Ok(rendered) => rendered,
            Err(error) => {
                refused = true;
                writeln!(terminal.err, "pleach: {}: {title}: {error}", document.source.name)?;
                continue;
            }
        };
        for error in &rendered.refused {
            refused = true;
            writeln!(
                terminal.err,
                "pleach: {}: {title}: the server would refuse it: {error}",
                document.source.name
            )?;
        }
        match options.output {
            Format::Json => results.push(as_json(document, &rendered)),
            Format::Text => {
                if !first {
                    writeln!(terminal.out, "---")?;
                }
                first = false;
                if options.diff {
                    write_diff(document, &rendered, terminal)?;
                } else {
                    terminal.out.write_all(pleach_yaml::to_yaml(&rendered.value).as_bytes())?;
                }
            }
        }
    }
    if options.output == Format::Json {
        write_json(&json!({"objects": results}), terminal)?;
    }
    Ok(if trouble {
        Exit::Trouble
    } else if refused {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// An object as it would be stored, with the changes.
pub(crate) fn render(document: &Document, version: &DefinedVersion) -> Result<Rendered, String> {
    let decoded = object::decode(version, document.value.clone(), Record::Everything)?;
    let mut reasons = reasons(&decoded.settled, &decoded.unknown);
    if version.status {
        reasons.insert("status".to_owned(), "dropped: status is written through /status only".to_owned());
    }
    let withheld = decoded.settled.defaults.withheld.iter();
    let withheld = withheld.map(|w| (w.path.clone(), w.reason.to_string())).collect();
    let mut judged = decoded.value.clone();
    let verdict = object::create(version, &mut judged);
    let mut value = decoded.value;
    object::prepare_for_create(version, &mut value);
    let refused = verdict.errors.iter().map(ToString::to_string).collect();
    Ok(Rendered { value, reasons, withheld, refused })
}

fn reasons(settled: &Settled, unknown: &[String]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut say = |paths: &[String], why: &str| {
        for path in paths {
            out.insert(path.clone(), why.to_owned());
        }
    };
    say(unknown, "dropped: metadata has no such field");
    say(&settled.nulls_dropped, "null dropped: the field is not nullable");
    say(&settled.pruned, "pruned: not in the schema");
    say(&settled.unknown_metadata, "dropped: metadata has no such field");
    for default in &settled.defaults.applied {
        out.insert(default.path.clone(), "default".to_owned());
    }
    for (path, why) in
        [("metadata.namespace", "the namespace of the request"), ("metadata.generation", "set by the server")]
    {
        out.insert(path.to_owned(), why.to_owned());
    }
    out
}

/// A line of a diff.
struct Line {
    mark: char,
    text: String,
    reason: String,
}

/// Both objects as one text, with marks where they differ.
struct Diff<'a> {
    reasons: &'a BTreeMap<String, String>,
    lines: Vec<Line>,
}

impl Diff<'_> {
    fn reason(&self, path: &str, otherwise: &str) -> String {
        self.reasons.get(path).map_or_else(|| otherwise.to_owned(), Clone::clone)
    }

    /// A member or item as a whole; the reason stands on its first line.
    fn whole(&mut self, mark: char, value: &Value, indent: usize, reason: &str) {
        for (i, text) in pleach_yaml::to_yaml(value).lines().enumerate() {
            let reason = if i == 0 { reason.to_owned() } else { String::new() };
            self.lines.push(Line { mark, text: format!("{}{text}", " ".repeat(indent)), reason });
        }
    }

    fn object(&mut self, before: &Map, after: &Map, path: &str, indent: usize) {
        let mut keys: Vec<&pleach_json::Str> = before.keys().chain(after.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let below = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
            let member = |value: &Value| {
                let mut map = Map::new();
                map.insert(key.clone(), value.clone());
                Value::from(map)
            };
            match (before.get(key), after.get(key)) {
                (Some(old), None) => {
                    let reason = self.reason(&below, "dropped by the server");
                    self.whole('-', &member(old), indent, &reason);
                }
                (None, Some(new)) => {
                    let reason = self.reason(&below, "set by the server");
                    self.whole('+', &member(new), indent, &reason);
                }
                (Some(old), Some(new)) if old == new => self.whole(' ', &member(old), indent, ""),
                (Some(Value::Object(old)), Some(Value::Object(new)))
                    if !old.is_empty() && !new.is_empty() =>
                {
                    self.whole(' ', &member(&Value::Null), indent, "");
                    if let Some(line) = self.lines.last_mut() {
                        line.text = line.text.trim_end_matches(" null").to_owned();
                    }
                    grow_stack(|| self.object(old, new, &below, indent + 2));
                }
                (Some(Value::Array(old)), Some(Value::Array(new)))
                    if old.len() == new.len() && !old.is_empty() =>
                {
                    self.whole(' ', &member(&Value::Null), indent, "");
                    if let Some(line) = self.lines.last_mut() {
                        line.text = line.text.trim_end_matches(" null").to_owned();
                    }
                    grow_stack(|| self.items(old, new, &below, indent));
                }
                (Some(old), Some(new)) => {
                    let reason = self.reason(&below, "changed by the server");
                    self.whole('-', &member(old), indent, "");
                    self.whole('+', &member(new), indent, &reason);
                }
                (None, None) => {}
            }
        }
    }

    fn items(&mut self, before: &[Value], after: &[Value], path: &str, indent: usize) {
        for (i, (old, new)) in before.iter().zip(after).enumerate() {
            let below = format!("{path}[{i}]");
            let item = |value: &Value| Value::from(vec![value.clone()]);
            match (old, new) {
                _ if old == new => self.whole(' ', &item(old), indent, ""),
                (Value::Object(a), Value::Object(b)) if !a.is_empty() && !b.is_empty() => {
                    let first = self.lines.len();
                    self.object(a, b, &below, indent + 2);
                    if let Some(line) = self.lines.get_mut(first) {
                        line.text.replace_range(indent..=indent, "-");
                    }
                }
                _ => {
                    let reason = self.reason(&below, "changed by the server");
                    self.whole('-', &item(old), indent, "");
                    self.whole('+', &item(new), indent, &reason);
                }
            }
        }
    }
}

fn write_diff(document: &Document, rendered: &Rendered, terminal: &mut Terminal<'_>) -> io::Result<()> {
    let mut diff = Diff { reasons: &rendered.reasons, lines: Vec::new() };
    if let (Value::Object(before), Value::Object(after)) = (&document.value, &rendered.value) {
        diff.object(before, after, "", 0);
    }
    let color = terminal.color;
    for Line { mark, text, reason } in &diff.lines {
        let line = format!("{mark} {text}");
        let line = match mark {
            '-' => Paint::Red.on(color, &line),
            '+' => Paint::Green.on(color, &line),
            _ => line,
        };
        let reason = if reason.is_empty() { String::new() } else { format!("  # {reason}") };
        writeln!(terminal.out, "{line}{}", Paint::Dim.on(color, &reason))?;
    }
    for (path, reason) in &rendered.withheld {
        let line = format!("  # {path}: default not applied: {reason}");
        writeln!(terminal.out, "{}", Paint::Dim.on(color, &line))?;
    }
    Ok(())
}

/// An object as it would be stored, and why.
pub(crate) fn as_json(document: &Document, rendered: &Rendered) -> Value {
    let list = |pairs: &mut dyn Iterator<Item = (&String, &String)>| -> Vec<Value> {
        pairs.map(|(path, reason)| json!({"path": (path.as_str()), "reason": (reason.as_str())})).collect()
    };
    let changes = list(&mut rendered.reasons.iter().filter(|(path, _)| {
        let (before, after) = (at(&document.value, path), at(&rendered.value, path));
        before != after
    }));
    let withheld = list(&mut rendered.withheld.iter().map(|(path, reason)| (path, reason)));
    let refused: Vec<Value> = rendered.refused.iter().map(|e| Value::from(e.as_str())).collect();
    json!({
        "file": (document.source.name.as_str()),
        "object": (rendered.value.clone()),
        "changes": changes,
        "defaultsNotApplied": withheld,
        "errors": refused,
    })
}

/// The value at a path as settling prints it.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut at = value;
    for step in path.split('.') {
        let (name, indices) = step.split_once('[').unwrap_or((step, ""));
        at = at.get(name)?;
        for index in indices.split(['[', ']']).filter(|index| !index.is_empty()) {
            at = at.as_array()?.get(index.parse::<usize>().ok()?)?;
        }
    }
    Some(at)
}
