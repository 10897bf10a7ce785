//! The context of a rule in its schema: the type of `self`, how many of it there can be, and
//! whether `oldSelf` can be correlated.

use pleach_cel::cost::{Container, RuleLocation};
use pleach_cel::{DeclKind, DeclType};
use pleach_meta::Path;

use crate::cel_types::written;
use crate::props::JSONSchemaProps;

/// The place of a node in the structural part of a schema.
#[derive(Debug)]
pub(crate) struct RuleContext<'a> {
    /// The type of `self`; `None` if it is unknown.
    decl: Option<DeclType>,
    /// The way from the node whose type was built on its own: it names the types.
    origin: Option<(&'a RuleContext<'a>, TypeStep)>,
    /// How many nodes of this kind an object can hold; `None` if some list or map has no limit.
    cardinality: Option<u64>,
    /// The list (or map) nearest to the root in which old values cannot be correlated.
    uncorrelatable: Option<String>,
    /// The node above, and how this one is found in it.
    above: Option<(&'a RuleContext<'a>, Step)>,
}

/// A step from a value to one inside it.
#[derive(Debug)]
enum Step {
    Field(pleach_json::Str),
    /// An item or a value; the keyword bounds how many there are.
    Each {
        keyword: &'static str,
        most: Option<u64>,
    },
}

#[derive(Debug)]
enum TypeStep {
    Field(pleach_json::Str),
    Index,
    Element,
}

impl<'a> RuleContext<'a> {
    /// The root of a schema.
    pub(crate) fn root(schema: &JSONSchemaProps) -> Self {
        Self {
            decl: written::decl_type(schema, true),
            origin: None,
            cardinality: Some(1),
            uncorrelatable: None,
            above: None,
        }
    }

    /// A property of the node `parent`, whose context this is.
    pub(crate) fn property<'b>(
        &'b self,
        parent: &JSONSchemaProps,
        parent_path: &Path<'_>,
        name: &str,
        child: &JSONSchemaProps,
    ) -> RuleContext<'b>
    where
        'a: 'b,
    {
        let mut typed = None;
        if let Some(DeclKind::Object(object)) = self.decl.as_ref().map(DeclType::kind)
            && let Some(escaped) = pleach_cel::names::escape(name)
            && let Some(field) = object.field(&escaped)
        {
            typed = Some((field.decl.clone(), TypeStep::Field(escaped)));
        }
        let correlatable = matches!(parent.map_type(), "" | "granular" | "atomic");
        let step = Step::Field(name.into());
        self.child(parent, child, step, typed, (!correlatable).then_some(parent_path))
    }

    /// The additional properties of the node `parent`, whose context this is.
    pub(crate) fn additional_properties<'b>(
        &'b self,
        parent: &JSONSchemaProps,
        parent_path: &Path<'_>,
        child: &JSONSchemaProps,
    ) -> RuleContext<'b>
    where
        'a: 'b,
    {
        let typed = match self.decl.as_ref().map(DeclType::kind) {
            Some(DeclKind::Map(value)) => Some((value.as_ref().clone(), TypeStep::Element)),
            _ => None,
        };
        let correlatable = matches!(parent.map_type(), "" | "granular" | "atomic");
        let step = Step::Each { keyword: "maxProperties", most: most_elements(parent) };
        self.child(parent, child, step, typed, (!correlatable).then_some(parent_path))
    }

    /// The items of the node `parent`, whose context this is.
    pub(crate) fn items<'b>(
        &'b self,
        parent: &JSONSchemaProps,
        parent_path: &Path<'_>,
        child: &JSONSchemaProps,
    ) -> RuleContext<'b>
    where
        'a: 'b,
    {
        let typed = match self.decl.as_ref().map(DeclType::kind) {
            Some(DeclKind::List(item, _)) => Some((item.as_ref().clone(), TypeStep::Index)),
            _ => None,
        };
        let step = Step::Each { keyword: "maxItems", most: most_elements(parent) };
        self.child(parent, child, step, typed, (parent.list_type() != "map").then_some(parent_path))
    }

    fn child<'b>(
        &'b self,
        parent: &JSONSchemaProps,
        child: &JSONSchemaProps,
        step: Step,
        typed: Option<(DeclType, TypeStep)>,
        uncorrelatable: Option<&Path<'_>>,
    ) -> RuleContext<'b>
    where
        'a: 'b,
    {
        let (decl, origin) = match typed {
            Some((decl, step)) => (Some(decl), Some((self, step))),
            // Below a node without a type, types start anew; only a node that can use one builds it.
            None if needs_type(child) => (written::decl_type(child, child.x_embedded_resource), None),
            None => (None, None),
        };
        RuleContext {
            decl,
            origin,
            cardinality: self.cardinality.and_then(|n| Some(n.saturating_mul(most_elements(parent)?))),
            uncorrelatable: self.uncorrelatable.clone().or_else(|| uncorrelatable.map(ToString::to_string)),
            above: Some((self, step)),
        }
    }

    /// The context of a node on which the cost of its rules depends.
    pub(crate) fn surroundings(&self, decl: &DeclType) -> RuleLocation {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some((above, step)) = &at.above {
            steps.push(step);
            at = above;
        }
        let mut out = RuleLocation { unbounded: unbounded_runs(decl), ..RuleLocation::default() };
        for step in steps.into_iter().rev() {
            match step {
                Step::Field(name) => {
                    out.place.push_str(if out.place.is_empty() { "" } else { "." });
                    out.place.push_str(name);
                }
                Step::Each { keyword, most } => {
                    out.within.push(Container { place: out.place.clone(), keyword, most: *most });
                    out.place.push_str("[*]");
                }
            }
        }
        out
    }

    /// The type of `self`.
    pub(crate) fn decl(&self) -> Option<&DeclType> {
        self.decl.as_ref()
    }

    /// The list or map in which old values cannot be found, if the node is below one.
    pub(crate) fn uncorrelatable(&self) -> Option<&str> {
        self.uncorrelatable.as_deref()
    }

    /// How many times a rule at this node can run for one object.
    pub(crate) fn cardinality(&self, decl: &DeclType) -> u64 {
        self.cardinality.unwrap_or_else(|| unbounded_runs(decl))
    }

    /// The name of this node's type as errors of the checker print it. Upstream gives every node
    /// with rules a name of its own; here they are parts of one.
    pub(crate) fn type_name(&self) -> String {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some((parent, step)) = &at.origin {
            steps.push(step);
            at = parent;
        }
        let mut out = String::from(written::SELF_TYPE);
        for step in steps.into_iter().rev() {
            out.push('.');
            out.push_str(match step {
                TypeStep::Field(name) => name,
                TypeStep::Index => "@idx",
                TypeStep::Element => "@elem",
            });
        }
        out
    }
}

/// How many nodes of this type there can be where no list or map is bounded.
fn unbounded_runs(decl: &DeclType) -> u64 {
    pleach_cel::decl::MAX_REQUEST_SIZE / (decl.min_serialized_size() + 1)
}

/// Whether a node or one below it has rules; nodes without never ask for a type.
fn needs_type(schema: &JSONSchemaProps) -> bool {
    !schema.validations().is_empty()
}

/// How many children a node can have; `None` is no limit.
fn most_elements(schema: &JSONSchemaProps) -> Option<u64> {
    let limit = match schema.type_.as_str() {
        "array" => schema.value().max_items,
        "object" if schema.additional_properties.is_some() => schema.value().max_properties,
        _ => return Some(1),
    };
    limit.map(|limit| u64::try_from(limit).unwrap_or(0))
}
