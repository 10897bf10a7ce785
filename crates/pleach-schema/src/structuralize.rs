//! Proposes the structural form of a schema that is not structural.
//!
//! The core is built as [`crate::skeleton`] builds it: every field that is named anywhere gets a
//! place outside of junctors. Where the skeleton would leave a type open the core takes the one that
//! is declared outside of junctors, or else the only one that is declared, or else the one the other
//! keywords apply to; each guess is a [`Note`]. The junctors stay as value validation, with types
//! and other structural keywords taken out where they agree with the core.
//!
//! Constructs that a structural schema cannot express are obstacles. With obstacles there is no proposal:
//! one that means something else would be worse than none.

mod nested;
mod types;

use std::collections::BTreeMap;

use pleach_json::{Str, grow_stack};
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::props::{JSONSchemaProps, SchemaList, SchemaOrArray, SchemaOrBool};
use crate::structural::Structural;
use types::Decision;

/// A structural schema, and notes for its author.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The structural schema.
    pub schema: JSONSchemaProps,
    /// Where it differs from the original.
    pub notes: Vec<Note>,
}

/// Something that changed on the way to the structural form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub path: String,
    /// The description.
    pub text: String,
}

/// Proposes the structural form of `schema`, or returns the obstacles.
pub fn structuralize(schema: &JSONSchemaProps, path: &Path<'_>) -> Result<Proposal, Vec<FieldError>> {
    let mut builder = Builder {
        places: vec![(0, path.to_string())],
        notes: Vec::new(),
        noted: 0,
        obstacles: FieldErrors::default(),
    };
    let root = Source { schema, place: 0, inside: false };
    let mut core = builder.core(&[root], Level::Root, 0);
    if !core.unions().is_empty() && core.type_.is_empty() {
        core.type_ = "object".into();
    }
    let Builder { notes, mut obstacles, .. } = builder;
    if obstacles.is_empty() {
        match Structural::of(&core) {
            Ok(structural) => obstacles.extend(structural.violations(path)),
            Err(error) => obstacles.push(FieldError::invalid(path, "", error)),
        }
    }
    if obstacles.is_empty() { Ok(Proposal { schema: core, notes }) } else { Err(obstacles.into_vec()) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Below,
}

/// A schema that describes the place that is being built.
#[derive(Clone, Copy)]
struct Source<'a> {
    schema: &'a JSONSchemaProps,
    /// The place of the schema in the original.
    place: usize,
    /// Whether that is inside a junctor.
    inside: bool,
}

struct Builder {
    /// Places in the original by number: the place above, and the step from there. The first is
    /// the root and its own parent.
    places: Vec<(usize, String)>,
    notes: Vec<Note>,
    /// Bytes in the notes.
    noted: usize,
    obstacles: FieldErrors,
}

impl Builder {
    fn below(&mut self, place: usize, step: String) -> usize {
        self.places.push((place, step));
        self.places.len() - 1
    }

    fn path(&self, place: usize) -> String {
        let mut steps = Vec::new();
        let mut at = place;
        while at != 0 {
            steps.push(self.places[at].1.as_str());
            at = self.places[at].0;
        }
        steps.push(self.places[0].1.as_str());
        steps.reverse();
        let text = steps.concat();
        text.strip_prefix('.').unwrap_or(&text).to_owned()
    }

    /// Adds a note. Notes are bounded, because paths can be long.
    fn note(&mut self, place: usize, text: impl Into<String>) {
        if self.noted < 1 << 20 {
            let (path, text) = (self.path(place), text.into());
            self.noted += path.len() + text.len();
            self.notes.push(Note { path, text });
        }
    }

    fn obstacle(&mut self, place: usize, keyword: &str, detail: impl Into<String>) {
        if !self.obstacles.is_full() {
            let path = self.path(place);
            self.obstacles.push(FieldError::forbidden(Path::new(&path).child(keyword), detail));
        }
    }

    /// Builds the structural schema of one place from all schemas that speak about it.
    fn core(&mut self, sources: &[Source<'_>], level: Level, place: usize) -> JSONSchemaProps {
        let mut parts = Vec::with_capacity(sources.len());
        for source in sources {
            self.collect(*source, &mut parts);
        }
        let spine = parts.iter().find(|part| !part.inside).copied();
        let mut out = spine.map_or_else(JSONSchemaProps::default, |spine| shallow(spine.schema));
        if let Some(spine) = spine {
            self.unsupported(spine, &mut out);
        }
        match types::decide(self, &parts, level == Level::Root, place) {
            Decision::Type(type_) => out.type_ = type_,
            Decision::IntOrString => {
                out.type_ = Str::default();
                out.x_int_or_string = true;
            }
            Decision::Anything => {
                out.type_ = Str::default();
                out.x_preserve_unknown_fields = Some(true);
            }
        }
        grow_stack(|| self.children(&parts, level, place, &mut out));
        if let Some(spine) = spine {
            self.junctors(spine, &mut out);
        }
        out
    }

    /// A schema and all that its junctors add.
    fn collect<'a>(&mut self, source: Source<'a>, parts: &mut Vec<Source<'a>>) {
        parts.push(source);
        let schema = source.schema;
        let dependencies = schema.rare().dependencies.iter().flatten();
        let dependent = dependencies.filter_map(|(name, d)| Some((name, d.schema.as_deref()?)));
        let nested = steps("allOf", schema.all_of())
            .chain(steps("anyOf", schema.any_of()))
            .chain(steps("oneOf", schema.one_of()))
            .chain(schema.not().map(|not| (".not".to_owned(), not)))
            .chain(dependent.map(|(name, schema)| (format!(".dependencies[{name}]"), schema)));
        for (step, schema) in nested {
            let place = self.below(source.place, step);
            grow_stack(|| self.collect(Source { schema, place, inside: true }, parts));
        }
    }

    fn children(&mut self, parts: &[Source<'_>], level: Level, place: usize, out: &mut JSONSchemaProps) {
        let mut by_name: BTreeMap<&Str, Vec<Source<'_>>> = BTreeMap::new();
        let (mut items, mut additional) = (Vec::new(), Vec::new());
        let mut free = None;
        for part in parts {
            for (name, schema) in part.schema.properties() {
                let place = self.below(part.place, format!(".properties[{name}]"));
                by_name.entry(name).or_default().push(Source { schema, place, inside: part.inside });
            }
            if let Some(schema) = part.schema.items() {
                let place = self.below(part.place, ".items".to_owned());
                items.push(Source { schema, place, inside: part.inside });
            }
            match &part.schema.additional_properties {
                Some(SchemaOrBool::Schema(schema)) => {
                    let place = self.below(part.place, ".additionalProperties".to_owned());
                    additional.push(Source { schema, place, inside: part.inside });
                }
                Some(SchemaOrBool::Bool(allows)) if !part.inside => free = Some(*allows),
                _ => {}
            }
        }
        let named = !by_name.is_empty();
        if named {
            let mut properties = Vec::with_capacity(by_name.len());
            for (name, sources) in by_name {
                let place = self.below(place, format!(".properties[{name}]"));
                properties.push((name.clone(), self.core(&sources, Level::Below, place)));
            }
            out.properties = Some(properties.into_iter().collect());
        }
        if !items.is_empty() {
            let place = self.below(place, ".items".to_owned());
            out.items = Some(self.core(&items, Level::Below, place).into());
        } else if out.type_ == "array" {
            self.note(place, "items have no schema: any item is kept");
            out.items = Some(anything().into());
        }
        self.free_members(place, level, named, free, &additional, out);
    }

    /// `additionalProperties`: a structural object is a struct or a map, and the root is a struct.
    fn free_members(
        &mut self,
        place: usize,
        level: Level,
        named: bool,
        free: Option<bool>,
        additional: &[Source<'_>],
        out: &mut JSONSchemaProps,
    ) {
        if !additional.is_empty() {
            if named {
                self.obstacle(
                    place,
                    "additionalProperties",
                    "an object cannot have both named and free members",
                );
            } else if level == Level::Root {
                self.obstacle(place, "additionalProperties", "must not be used at the root");
            } else {
                let below = self.below(place, ".additionalProperties".to_owned());
                out.additional_properties = Some(self.core(additional, Level::Below, below).into());
            }
            return;
        }
        match free {
            Some(true) if named || level == Level::Root => {
                out.x_preserve_unknown_fields = Some(true);
                self.note(
                    place,
                    "additionalProperties: true becomes x-kubernetes-preserve-unknown-fields: true",
                );
            }
            Some(false) if named || level == Level::Root => {
                self.note(
                    place,
                    "additionalProperties: false is left out: unknown fields are pruned instead",
                );
            }
            Some(allows) => out.additional_properties = Some(SchemaOrBool::Bool(allows)),
            None => {}
        }
    }

    /// Keywords that no CRD may use: dropped where nothing is lost, replaced where possible.
    fn unsupported(&mut self, source: Source<'_>, out: &mut JSONSchemaProps) {
        let (schema, place) = (source.schema, source.place);
        let rare = schema.rare();
        for (keyword, used) in [("id", !rare.id.is_empty()), ("$schema", !rare.schema.is_empty())] {
            if used {
                self.note(place, format!("{keyword} is left out"));
            }
        }
        if rare.definitions.is_some() {
            self.note(place, "definitions are left out");
        }
        if schema.value().unique_items {
            if schema.items().is_some_and(|items| types::is_scalar(&items.type_)) {
                out.value_mut().unique_items = false;
                out.rare_mut().x_list_type = Some("set".into());
                self.note(place, "uniqueItems becomes x-kubernetes-list-type: set");
            } else {
                self.obstacle(place, "uniqueItems", "only lists of scalars can be sets");
            }
        }
    }

    /// The junctors of a place outside of junctors, as value validation of what was built for it.
    fn junctors(&mut self, source: Source<'_>, out: &mut JSONSchemaProps) {
        let built = self.nested_junctors(source, out);
        let Some(built) = built else { return };
        let value = out.value_mut();
        (value.all_of, value.any_of) = (built.all_of, built.any_of);
        (value.one_of, value.not) = (built.one_of, built.not);
    }
}

/// A list of nested schemas with the steps to them.
fn steps<'a>(
    keyword: &'static str,
    list: &'a [JSONSchemaProps],
) -> impl Iterator<Item = (String, &'a JSONSchemaProps)> {
    list.iter().enumerate().map(move |(i, schema)| (format!(".{keyword}[{i}]"), schema))
}

/// A schema without the schemas below it, and without keywords that no CRD may use.
fn shallow(schema: &JSONSchemaProps) -> JSONSchemaProps {
    let (value, rare) = (schema.value(), schema.rare());
    let mut out = JSONSchemaProps {
        type_: schema.type_.clone(),
        description: schema.description.clone(),
        required: schema.required.clone(),
        nullable: schema.nullable,
        x_embedded_resource: schema.x_embedded_resource,
        x_int_or_string: schema.x_int_or_string,
        x_preserve_unknown_fields: schema.x_preserve_unknown_fields.filter(|preserve| *preserve),
        ..JSONSchemaProps::default()
    };
    if schema.value.is_some() {
        *out.value_mut() = crate::props::ValueProps {
            format: value.format.clone(),
            pattern: value.pattern.clone(),
            enum_: value.enum_.clone(),
            all_of: None,
            one_of: None,
            any_of: None,
            not: None,
            ..*value
        };
    }
    if schema.rare.is_some() {
        *out.rare_mut() = crate::props::RareProps {
            title: rare.title.clone(),
            default: rare.default.clone(),
            example: rare.example.clone(),
            external_docs: rare.external_docs.clone(),
            x_list_type: rare.x_list_type.clone(),
            x_list_map_keys: rare.x_list_map_keys.clone(),
            x_map_type: rare.x_map_type.clone(),
            x_validations: rare.x_validations.clone(),
            x_unions: rare.x_unions.clone(),
            ..crate::props::RareProps::default()
        };
    }
    out
}

/// A schema that keeps any value.
fn anything() -> JSONSchemaProps {
    JSONSchemaProps { x_preserve_unknown_fields: Some(true), ..JSONSchemaProps::default() }
}

/// The nested schemas of a list, or `None` where there are none.
fn some_list(list: Vec<JSONSchemaProps>) -> Option<SchemaList> {
    (!list.is_empty()).then(|| list.into())
}

/// Whether `items` is a list of schemas, which has no structural form.
fn is_list(items: Option<&SchemaOrArray>) -> bool {
    items.is_some_and(|items| !items.list().is_empty())
}

#[cfg(test)]
mod tests;
