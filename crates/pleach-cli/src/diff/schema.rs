//! Changes between the schemas of a version, node by node.

use pleach_json::{Value, grow_stack};
use pleach_schema::{JSONSchemaProps, SchemaOrBool};

use super::values::{candidates, twice};
use super::witness::{Edit, Step, Witnesses, display};
use super::{Change, Severity, Witness};
use crate::sample::{Extent, value};

/// Adds all changes between the two schemas.
pub(super) fn compare(witnesses: &Witnesses<'_>, out: &mut Vec<Change>) {
    let mut walk = Walk { witnesses, steps: Vec::new(), out };
    walk.node(witnesses.old_version.props(), witnesses.new_version.props());
}

struct Walk<'a> {
    witnesses: &'a Witnesses<'a>,
    steps: Vec<Step>,
    out: &'a mut Vec<Change>,
}

impl Walk<'_> {
    fn add(&mut self, severity: Severity, rule: &'static str, message: String) {
        self.out.push(Change {
            severity,
            rule,
            version: self.witnesses.old_version.name.to_string(),
            path: display(&self.steps),
            message,
            witness: None,
        });
    }

    /// A breaking change of this node's values, with an object that shows it if one is found.
    fn breaking(&mut self, rule: &'static str, message: String, tries: Vec<Value>, edit: Edit) {
        self.add(Severity::Breaking, rule, message);
        self.witness(|witnesses, steps| witnesses.refused(steps, tries, edit));
    }

    /// Looks for an object that shows the change that was added last.
    fn witness(&mut self, find: impl FnOnce(&Witnesses<'_>, &[Step]) -> Option<Witness>) {
        let witness = find(self.witnesses, &self.steps);
        if let Some(change) = self.out.last_mut() {
            change.witness = witness;
        }
    }

    fn node(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        if old == new {
            return;
        }
        if self.types(old, new) {
            self.values(old, new);
            self.lists(old, new);
            self.rules(old, new);
            grow_stack(|| self.children(old, new));
        }
    }

    /// The type; `false` if the rest cannot be compared.
    fn types(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) -> bool {
        let name = |s: &JSONSchemaProps| {
            if s.x_int_or_string {
                "int-or-string".to_owned()
            } else if s.type_.is_empty() {
                "any".to_owned()
            } else {
                s.type_.to_string()
            }
        };
        let (from, to) = (name(old), name(new));
        if from != to {
            let wider = to == "any"
                || from == "integer" && matches!(to.as_str(), "number" | "int-or-string")
                || from == "string" && to == "int-or-string";
            let text = format!("the type changes from {from} to {to}");
            if wider {
                self.add(Severity::Safe, "type-widened", text);
            } else {
                self.breaking("type-changed", text, candidates(old, new), whole(new));
            }
            return wider && to != "any";
        }
        if old.nullable && !new.nullable {
            self.breaking(
                "nullable-removed",
                "null is no longer allowed".into(),
                vec![Value::Null],
                taken(new, &["nullable"]),
            );
            // Without a witness nothing is refused: the null is dropped.
            if let Some(change) = self.out.last_mut().filter(|change| change.witness.is_none()) {
                change.severity = Severity::Caution;
                change.message = "null is dropped now".into();
            }
        } else if new.nullable && !old.nullable {
            self.add(Severity::Safe, "nullable-added", "null is allowed now".into());
        }
        if old.preserves_unknown_fields() && !new.preserves_unknown_fields() {
            self.add(Severity::Breaking, "prunes-unknown-fields", "unknown fields are pruned now".into());
            self.witness(|witnesses, steps| witnesses.pruned(steps, "kept".into()));
        } else if new.preserves_unknown_fields() && !old.preserves_unknown_fields() {
            self.add(Severity::Safe, "keeps-unknown-fields", "unknown fields are kept now".into());
        }
        if !old.x_embedded_resource && new.x_embedded_resource {
            let text = "it must be a whole resource now, with apiVersion, kind and metadata".to_owned();
            self.breaking("embedded-resource", text, candidates(old, new), whole(new));
        }
        true
    }

    fn values(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let (a, b) = (old.value(), new.value());
        self.enums(old, new);
        let up = |from: Option<f64>, to: Option<f64>| (from, to);
        let counts = |from: Option<i64>, to: Option<i64>| (from.map(|n| n as f64), to.map(|n| n as f64));
        for (keyword, (from, to), upper) in [
            ("maximum", up(a.maximum, b.maximum), true),
            ("minimum", up(a.minimum, b.minimum), false),
            ("maxLength", counts(a.max_length, b.max_length), true),
            ("minLength", counts(a.min_length, b.min_length), false),
            ("maxItems", counts(a.max_items, b.max_items), true),
            ("minItems", counts(a.min_items, b.min_items), false),
            ("maxProperties", counts(a.max_properties, b.max_properties), true),
            ("minProperties", counts(a.min_properties, b.min_properties), false),
        ] {
            if from == to {
                continue;
            }
            let narrowed = match (from, to) {
                (None, Some(_)) => true,
                (Some(from), Some(to)) => (to < from) == upper,
                _ => false,
            };
            let shown = |n: Option<f64>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
            let text = format!("{keyword} changes from {} to {}", shown(from), shown(to));
            if narrowed {
                self.breaking("bound-narrowed", text, candidates(old, new), taken(new, &[keyword]));
            } else {
                self.add(Severity::Safe, "bound-widened", text);
            }
        }
        for (keyword, had, has) in [
            ("exclusiveMaximum", a.exclusive_maximum, b.exclusive_maximum),
            ("exclusiveMinimum", a.exclusive_minimum, b.exclusive_minimum),
            ("uniqueItems", a.unique_items, b.unique_items),
        ] {
            match (had, has) {
                (false, true) => {
                    self.breaking(
                        "bound-narrowed",
                        format!("{keyword} is new"),
                        candidates(old, new),
                        taken(new, &[keyword]),
                    );
                }
                (true, false) => self.add(Severity::Safe, "bound-widened", format!("{keyword} is gone")),
                _ => {}
            }
        }
        if a.multiple_of != b.multiple_of {
            match (a.multiple_of, b.multiple_of) {
                (_, None) => self.add(Severity::Safe, "bound-widened", "multipleOf is gone".into()),
                (Some(from), Some(to)) if (from / to).fract() == 0.0 => {
                    self.add(
                        Severity::Safe,
                        "bound-widened",
                        format!("multipleOf changes from {from} to {to}"),
                    );
                }
                (_, Some(to)) => {
                    self.breaking(
                        "bound-narrowed",
                        format!("multipleOf is {to} now"),
                        candidates(old, new),
                        taken(new, &["multipleOf"]),
                    );
                }
            }
        }
        for (rule, gone, word, from, to) in [
            ("pattern-changed", "pattern-removed", "pattern", &a.pattern, &b.pattern),
            ("format-changed", "format-removed", "format", &a.format, &b.format),
        ] {
            if from == to {
                continue;
            }
            if to.is_empty() {
                self.add(Severity::Safe, gone, format!("the {word} {from} is gone"));
            } else {
                let text = if from.is_empty() {
                    format!("the {word} {to} is new")
                } else {
                    format!("the {word} changes from {from} to {to}")
                };
                self.breaking(rule, text, candidates(old, new), taken(new, &[word]));
            }
        }
        self.defaults(old, new);
        if (&a.all_of, &a.any_of, &a.one_of, &a.not) != (&b.all_of, &b.any_of, &b.one_of, &b.not) {
            let text = "allOf, anyOf, oneOf or not changes".to_owned();
            let had = a.all_of.is_some() || a.any_of.is_some() || a.one_of.is_some() || a.not.is_some();
            let has = b.all_of.is_some() || b.any_of.is_some() || b.one_of.is_some() || b.not.is_some();
            if had && !has {
                self.add(Severity::Safe, "junctor-removed", text);
            } else {
                self.breaking(
                    "junctor-changed",
                    text,
                    candidates(old, new),
                    taken(new, &["allOf", "anyOf", "oneOf", "not"]),
                );
            }
        }
    }

    fn enums(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        match (&old.value().enum_, &new.value().enum_) {
            (None, Some(values)) => {
                let text = format!("only {} are allowed now", list(values));
                self.breaking("enum-narrowed", text, candidates(old, new), taken(new, &["enum"]));
            }
            (Some(_), None) => self.add(Severity::Safe, "enum-removed", "any value is allowed now".into()),
            (Some(from), Some(to)) => {
                let missing = |a: &[Value], b: &[Value]| -> Vec<Value> {
                    a.iter().filter(|v| !b.contains(v)).cloned().collect()
                };
                let (gone, added) = (missing(from, to), missing(to, from));
                if !gone.is_empty() {
                    self.breaking(
                        "enum-narrowed",
                        format!("no longer allowed: {}", list(&gone)),
                        gone,
                        taken(new, &["enum"]),
                    );
                }
                if !added.is_empty() {
                    self.add(Severity::Safe, "enum-widened", format!("allowed now too: {}", list(&added)));
                }
            }
            (None, None) => {}
        }
    }

    fn defaults(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let (from, to) = (old.default_value(), new.default_value());
        if from == to {
            return;
        }
        let text = match (from.is_null(), to.is_null()) {
            (true, _) => format!(
                "the default {to} is new: objects without the field have it from now on, stored ones too"
            ),
            (_, true) => format!("the default {from} is gone: objects without the field stay without"),
            _ => format!("the default changes from {from} to {to}"),
        };
        self.add(Severity::Caution, "default-changed", text);
    }

    fn lists(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let name = |s: &JSONSchemaProps| {
            if s.list_type().is_empty() { "atomic".to_owned() } else { s.list_type().to_owned() }
        };
        let (from, to) = (name(old), name(new));
        if old.type_ == "array" && (from != to || old.list_map_keys() != new.list_map_keys()) {
            let keys = new.list_map_keys().join(", ");
            let text = if from == to {
                format!("the keys of the list are {keys} now")
            } else {
                format!("the list type changes from {from} to {to}")
            };
            if to == "atomic" {
                self.add(
                    Severity::Caution,
                    "list-type-changed",
                    format!("{text}: server-side apply replaces it as a whole"),
                );
            } else {
                self.breaking(
                    "list-type-changed",
                    format!("{text}: entries must be unique"),
                    twice(old, new),
                    taken(new, &["x-kubernetes-list-type", "x-kubernetes-list-map-keys"]),
                );
            }
        }
        if old.map_type() != new.map_type() {
            let text = format!(
                "the map type changes from {:?} to {:?}: server-side apply merges differently",
                old.map_type(),
                new.map_type()
            );
            self.add(Severity::Caution, "map-type-changed", text);
        }
    }

    fn rules(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        for rule in new.validations() {
            if !old.validations().iter().any(|r| r.rule == rule.rule) {
                let text = format!("the rule {:?} is new", rule.rule.as_str());
                let rules = old
                    .validations()
                    .iter()
                    .chain([rule])
                    .map(pleach_schema::props::ValidationRule::to_value);
                let edit = vec![("x-kubernetes-validations", Some(rules.collect::<Vec<_>>().into()))];
                self.breaking("rule-added", text, candidates(old, new), edit);
            }
        }
        for rule in old.validations() {
            if !new.validations().iter().any(|r| r.rule == rule.rule) {
                self.add(
                    Severity::Safe,
                    "rule-removed",
                    format!("the rule {:?} is gone", rule.rule.as_str()),
                );
            }
        }
    }

    fn children(&mut self, old: &JSONSchemaProps, new: &JSONSchemaProps) {
        let at_root = self.steps.is_empty();
        let own = |name: &str| at_root && ["apiVersion", "kind", "metadata"].contains(&name);
        for (name, property) in old.properties() {
            if own(name) {
                continue;
            }
            self.steps.push(Step::Property(name.clone()));
            match new.property(name) {
                Some(other) => self.node(property, other),
                None if new.preserves_unknown_fields() => {
                    self.add(
                        Severity::Caution,
                        "field-undeclared",
                        "the field is kept, but nothing checks it any more".into(),
                    );
                }
                None => match new.additional_properties() {
                    Some(other) => self.node(property, other),
                    None => {
                        self.add(
                            Severity::Breaking,
                            "field-removed",
                            "the field is gone: it is pruned, or refused by strict clients".into(),
                        );
                        self.witness(|witnesses, steps| witnesses.dropped(steps, property));
                    }
                },
            }
            self.steps.pop();
        }
        for (name, _) in
            new.properties().iter().filter(|(name, _)| old.property(name).is_none() && !own(name))
        {
            self.steps.push(Step::Property(name.clone()));
            self.add(Severity::Safe, "field-added", "a new field".into());
            self.steps.pop();
        }
        for name in new.required().iter().filter(|name| !old.required().contains(name)) {
            if new.property(name).is_some_and(|p| !p.default_value().is_null()) {
                continue;
            }
            self.steps.push(Step::Property(name.clone()));
            self.add(Severity::Breaking, "required-added", "the field is required now".into());
            let all = old.required().iter().chain([name]).map(|name| Value::from(name.clone()));
            let all: Value = all.collect::<Vec<_>>().into();
            self.witness(|witnesses, steps| witnesses.without(steps, all));
            self.steps.pop();
        }
        for name in old.required().iter().filter(|name| !new.required().contains(name)) {
            self.steps.push(Step::Property(name.clone()));
            self.add(Severity::Safe, "required-removed", "the field is no longer required".into());
            self.steps.pop();
        }
        if let (Some(a), Some(b)) = (old.items(), new.items()) {
            self.steps.push(Step::Item);
            self.node(a, b);
            self.steps.pop();
        }
        match (&old.additional_properties, &new.additional_properties) {
            (Some(SchemaOrBool::Schema(a)), Some(SchemaOrBool::Schema(b))) => {
                self.steps.push(Step::Member);
                self.node(a, b);
                self.steps.pop();
            }
            (Some(a), None | Some(SchemaOrBool::Bool(false)))
                if a.allows() && !new.preserves_unknown_fields() =>
            {
                self.add(Severity::Breaking, "map-closed", "free keys are pruned now".into());
                let kept = match a {
                    SchemaOrBool::Schema(of_members) => value(of_members, Extent::Minimal, 0),
                    SchemaOrBool::Bool(_) => "kept".into(),
                };
                self.witness(|witnesses, steps| witnesses.pruned(steps, kept));
            }
            _ => {}
        }
    }
}

/// Keywords as the new schema has them.
fn taken(new: &JSONSchemaProps, keywords: &[&'static str]) -> Edit {
    let new = new.to_value();
    keywords.iter().map(|keyword| (*keyword, new.get(keyword).cloned())).collect()
}

/// Everything as the new schema has it.
fn whole(new: &JSONSchemaProps) -> Edit {
    let mut keywords: Vec<&'static str> =
        vec!["type", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource"];
    keywords.extend([
        "items",
        "properties",
        "additionalProperties",
        "required",
        "enum",
        "pattern",
        "format",
        "default",
    ]);
    keywords.extend([
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "x-kubernetes-validations",
    ]);
    taken(new, &keywords)
}

fn list(values: &[Value]) -> String {
    values.iter().map(pleach_json::to_string).collect::<Vec<_>>().join(", ")
}
