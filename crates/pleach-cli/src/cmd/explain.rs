//! `pleach explain`: the fields of a kind, as `kubectl explain` shows them, without a cluster.

use std::io;

use clap::Args;
use pleach_json::{Map, Value, grow_stack, json};
use pleach_schema::JSONSchemaProps;
use pleach_schema::props::Field;

use super::{Exit, load_crds};
use crate::catalog::{DefinedVersion, Definition};
use crate::output::{Format, write_json};
use crate::terminal::{Paint, Terminal};

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach explain widgets.yaml
  pleach explain widgets.yaml spec.parts
  pleach explain config/crd widgets.spec --recursive
  pleach explain widgets.yaml --api-version v1beta1 --output json

Exit codes: 0 explained, 1 there is no such field, 2 a file or the command line could not be used.";

/// Options of `pleach explain`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// A file, directory or glob with the CRD, or `-`.
    #[arg(value_name = "CRD")]
    pub crd: String,
    /// The field: `spec.size`; with several CRDs the resource or kind first: `widgets.spec.size`.
    #[arg(value_name = "PATH")]
    pub path: Option<String>,
    /// All fields below, by name and type only.
    #[arg(long)]
    pub recursive: bool,
    /// The version to explain; the stored one if not given.
    #[arg(long, value_name = "VERSION")]
    pub api_version: Option<String>,
    /// The form of the result.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let (definitions, trouble) = load_crds(std::slice::from_ref(&options.crd), terminal)?;
    if trouble {
        return Ok(Exit::Trouble);
    }
    let path = options.path.as_deref().unwrap_or_default().trim_matches('.');
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let named = definitions.iter().find(|definition| is_named(definition, first));
    let (definition, path) = match (named, definitions.as_slice()) {
        (Some(definition), _) => (definition, rest),
        (None, [only]) => (only, path),
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|d| d.crd.spec.names.plural.as_str()).collect();
            writeln!(terminal.err, "pleach: several CRDs: start the path with one of {}", names.join(", "))?;
            return Ok(Exit::Trouble);
        }
    };
    let version = match &options.api_version {
        Some(name) => definition.version(name.rsplit('/').next().unwrap_or(name)),
        None => definition.main_version(),
    };
    let Some(version) = version else {
        writeln!(terminal.err, "pleach: the CRD has no such version")?;
        return Ok(Exit::Trouble);
    };
    let Some(found) = version.props().field(path) else {
        writeln!(terminal.err, "pleach: field \"{path}\" does not exist")?;
        return Ok(Exit::Findings);
    };
    match options.output {
        Format::Json => write_json(&as_json(definition, version, path, &found, options.recursive), terminal)?,
        Format::Text => write_text(definition, version, path, &found, options.recursive, terminal)?,
    }
    Ok(Exit::Fine)
}

fn is_named(definition: &Definition, name: &str) -> bool {
    let names = &definition.crd.spec.names;
    !name.is_empty()
        && ([&names.plural, &names.singular, &names.kind].iter().any(|n| n.eq_ignore_ascii_case(name))
            || names.short_names().iter().any(|n| n == name))
}

/// The restrictions of a field, a line each.
fn facts(schema: &JSONSchemaProps) -> Vec<(&'static str, String)> {
    let (value, rare) = (schema.value(), schema.rare());
    let mut out: Vec<(&'static str, String)> = Vec::new();
    let json = |value: &Value| pleach_json::to_string(value);
    if !rare.default.is_null() {
        out.push(("default", json(&rare.default)));
    }
    if let Some(values) = &value.enum_ {
        out.push(("enum", values.iter().map(json).collect::<Vec<_>>().join(", ")));
    }
    if !value.format.is_empty() {
        out.push(("format", value.format.to_string()));
    }
    if !value.pattern.is_empty() {
        out.push(("pattern", value.pattern.to_string()));
    }
    let bound = |limit: Option<f64>, exclusive: bool| {
        limit.map(|n| format!("{n}{}", if exclusive { " (exclusive)" } else { "" }))
    };
    let count = |limit: Option<i64>| limit.map(|n| n.to_string());
    for (name, text) in [
        ("minimum", bound(value.minimum, value.exclusive_minimum)),
        ("maximum", bound(value.maximum, value.exclusive_maximum)),
        ("multipleOf", bound(value.multiple_of, false)),
        ("minLength", count(value.min_length)),
        ("maxLength", count(value.max_length)),
        ("minItems", count(value.min_items)),
        ("maxItems", count(value.max_items)),
        ("minProperties", count(value.min_properties)),
        ("maxProperties", count(value.max_properties)),
        ("list type", rare.x_list_type.as_ref().map(ToString::to_string)),
        ("list keys", rare.x_list_map_keys.as_ref().map(|keys| keys.join(", "))),
        ("map type", rare.x_map_type.as_ref().map(ToString::to_string)),
    ] {
        out.extend(text.map(|text| (name, text)));
    }
    for (name, set) in [
        ("nullable", schema.nullable),
        ("keeps unknown fields", schema.preserves_unknown_fields()),
        ("embedded resource", schema.x_embedded_resource),
    ] {
        if set {
            out.push((name, "true".to_owned()));
        }
    }
    for rule in schema.validations() {
        let message = if rule.message.is_empty() { String::new() } else { format!("  ({})", rule.message) };
        out.push(("rule", format!("{}{message}", rule.rule)));
    }
    out
}

fn write_text(
    definition: &Definition,
    version: &DefinedVersion,
    path: &str,
    found: &Field<'_>,
    recursive: bool,
    terminal: &mut Terminal<'_>,
) -> io::Result<()> {
    let color = terminal.color;
    let bold = |text: &str| Paint::Bold.on(color, text);
    let out = &mut *terminal.out;
    writeln!(out, "{}      {}", bold("GROUP:"), definition.crd.spec.group)?;
    writeln!(out, "{}       {}", bold("KIND:"), definition.kind())?;
    writeln!(out, "{}    {}\n", bold("VERSION:"), version.name)?;
    if let Some(name) = path.rsplit('.').next().filter(|name| !name.is_empty()) {
        let required = if found.required { " -required-" } else { "" };
        writeln!(out, "{} {name} <{}>{required}\n", bold("FIELD:"), found.schema.type_name())?;
    }
    let facts = facts(found.schema);
    if !facts.is_empty() {
        writeln!(out, "{}", bold("RESTRICTIONS:"))?;
        for (name, text) in &facts {
            writeln!(out, "    {name}: {text}")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", bold("DESCRIPTION:"))?;
    let description = match (&found.schema.description, &found.schema.element().description) {
        (own, _) if !own.is_empty() => own.as_str(),
        (_, below) if !below.is_empty() => below.as_str(),
        _ => "<empty>",
    };
    for line in wrapped(description, 76) {
        writeln!(out, "    {line}")?;
    }
    let holder = found.schema.element();
    if holder.properties().is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", bold("FIELDS:"))?;
    write_fields(holder, 2, recursive, color, out)
}

fn write_fields(
    holder: &JSONSchemaProps,
    indent: usize,
    recursive: bool,
    color: bool,
    out: &mut (dyn io::Write + Send),
) -> io::Result<()> {
    let space = " ".repeat(indent);
    for (name, field) in holder.properties() {
        let required = if holder.required().contains(name) { " -required-" } else { "" };
        writeln!(out, "{space}{}\t<{}>{required}", Paint::Bold.on(color, name), field.type_name())?;
        if recursive {
            grow_stack(|| write_fields(field.element(), indent + 2, true, color, out))?;
            continue;
        }
        let wide = 78_usize.saturating_sub(indent);
        for (fact, text) in facts(field) {
            writeln!(out, "{space}  {}", Paint::Dim.on(color, &format!("{fact}: {text}")))?;
        }
        for line in wrapped(&field.description, wide) {
            writeln!(out, "{space}  {line}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A text in lines of at most `width` characters, its own line breaks kept.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for paragraph in text.trim_end().lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                out.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        out.push(line);
    }
    out
}

fn as_json(
    definition: &Definition,
    version: &DefinedVersion,
    path: &str,
    found: &Field<'_>,
    recursive: bool,
) -> Value {
    let mut field = field_json(found.schema, found.required, recursive, true);
    if let Some(members) = field.as_object_mut() {
        members.insert("path", path);
    }
    json!({
        "group": (definition.crd.spec.group.clone()),
        "kind": (definition.kind()),
        "version": (version.name.as_str()),
        "field": field,
    })
}

fn field_json(schema: &JSONSchemaProps, required: bool, recursive: bool, with_fields: bool) -> Value {
    let mut out = Map::new();
    out.insert("type", schema.type_name());
    out.insert("required", required);
    if !schema.description.is_empty() {
        out.insert("description", schema.description.clone());
    }
    let facts = facts(schema);
    if !facts.is_empty() {
        let facts: Vec<Value> =
            facts.into_iter().map(|(name, text)| json!({"name": name, "value": text})).collect();
        out.insert("restrictions", facts);
    }
    let holder = schema.element();
    if with_fields && !holder.properties().is_empty() {
        let mut fields = Map::new();
        for (name, field) in holder.properties() {
            let required = holder.required().contains(name);
            fields.insert(name.clone(), grow_stack(|| field_json(field, required, recursive, recursive)));
        }
        out.insert("fields", fields);
    }
    out.into()
}
