//! `JSONSchemaProps`: a schema as a CRD carries it, in the one form this project holds in memory.
//!
//! `apiextensions.k8s.io/v1` and `v1beta1` have the same schema type, so the version only matters
//! for the texts of decode errors. Keywords that CRDs may not use (`$ref`, `definitions`, …) are
//! kept too: `walk` reports them, and a non-structural schema of an old
//! CRD still validates objects.
//!
//! Most nodes have a type, a description and perhaps properties. Everything else sits behind two
//! boxes, [`ValueProps`] and [`RareProps`], read through [`JSONSchemaProps::value`] and
//! [`JSONSchemaProps::rare`], which give the empty one where there is none.
//!
//! An absent list is not an empty one: `required: []` at the root of `metadata` is an error where
//! no `required` is none. `default: null` however is the same as no default, in Go as here.

mod containers;
mod explain;
mod from_value;
mod go_json;
mod to_value;
#[cfg(test)]
mod wire_tests;

pub use containers::{SchemaBox, SchemaList, SchemaMap, SchemaOrArray, SchemaOrBool};
pub use explain::Field;
pub(crate) use go_json::{go_json, go_json_items};

use pleach_json::{Str, Value};

/// A schema.
#[derive(Clone, Default, Debug)]
pub struct JSONSchemaProps {
    /// `type`; empty is absent.
    pub type_: Str,
    /// `description`
    pub description: Str,
    /// `properties`
    pub properties: Option<SchemaMap>,
    /// `required`
    pub required: Option<Vec<Str>>,
    /// `items`
    pub items: Option<SchemaOrArray>,
    /// `additionalProperties`
    pub additional_properties: Option<SchemaOrBool>,
    /// `nullable`
    pub nullable: bool,
    /// `x-kubernetes-embedded-resource`
    pub x_embedded_resource: bool,
    /// `x-kubernetes-int-or-string`
    pub x_int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub x_preserve_unknown_fields: Option<bool>,
    pub(crate) value: Option<Box<ValueProps>>,
    pub(crate) rare: Option<Box<RareProps>>,
}

/// Value validation, except `required`.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct ValueProps {
    /// `format`
    pub format: Str,
    /// `pattern`
    pub pattern: Str,
    /// `maximum`
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: bool,
    /// `minimum`
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: bool,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `maxLength`
    pub max_length: Option<i64>,
    /// `minLength`
    pub min_length: Option<i64>,
    /// `maxItems`
    pub max_items: Option<i64>,
    /// `minItems`
    pub min_items: Option<i64>,
    /// `maxProperties`
    pub max_properties: Option<i64>,
    /// `minProperties`
    pub min_properties: Option<i64>,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `enum`
    pub enum_: Option<Vec<Value>>,
    /// `allOf`
    pub all_of: Option<SchemaList>,
    /// `oneOf`
    pub one_of: Option<SchemaList>,
    /// `anyOf`
    pub any_of: Option<SchemaList>,
    /// `not`
    pub not: Option<SchemaBox>,
}

/// The parts that few nodes have.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct RareProps {
    /// `id`
    pub id: Str,
    /// `$schema`
    pub schema: Str,
    /// `$ref`
    pub ref_: Option<Str>,
    /// `title`
    pub title: Str,
    /// `default`; null is absent.
    pub default: Value,
    /// `example`; null is absent.
    pub example: Value,
    /// `externalDocs`
    pub external_docs: Option<Box<ExternalDocumentation>>,
    /// `patternProperties`
    pub pattern_properties: Option<SchemaMap>,
    /// `additionalItems`
    pub additional_items: Option<SchemaOrBool>,
    /// `definitions`
    pub definitions: Option<SchemaMap>,
    /// `dependencies`, sorted by name
    pub dependencies: Option<Vec<(Str, SchemaOrStringArray)>>,
    /// `x-kubernetes-list-type`
    pub x_list_type: Option<Str>,
    /// `x-kubernetes-list-map-keys`
    pub x_list_map_keys: Option<Vec<Str>>,
    /// `x-kubernetes-map-type`
    pub x_map_type: Option<Str>,
    /// `x-kubernetes-validations`
    pub x_validations: Option<Vec<ValidationRule>>,
    /// `x-kubernetes-unions`, which stock Kubernetes does not know.
    pub x_unions: Option<Vec<Union>>,
}

/// `externalDocs`
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct ExternalDocumentation {
    /// `description`
    pub description: Str,
    /// `url`
    pub url: Str,
}

/// A member of `dependencies`.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct SchemaOrStringArray {
    /// The schema form.
    pub schema: Option<SchemaBox>,
    /// The list form.
    pub property: Option<Vec<Str>>,
}

/// One rule of `x-kubernetes-validations`.
#[derive(Clone, Default, Debug, PartialEq, Eq, Hash)]
pub struct ValidationRule {
    /// The CEL expression.
    pub rule: Str,
    /// The message when it is false.
    pub message: Str,
    /// A CEL expression that evaluates to the message.
    pub message_expression: Str,
    /// The reason of the error.
    pub reason: Option<Str>,
    /// Which field the error is about, relative to the node.
    pub field_path: Str,
    /// Whether `oldSelf` is optional.
    pub optional_old_self: Option<bool>,
}

/// One union of `x-kubernetes-unions`: a set of fields that exclude each other.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Union {
    /// The name of the discriminator, the field that names the member that is set; empty if there is none.
    pub discriminator: Str,
    /// The members with their discriminator values, sorted by field name.
    pub fields: Vec<(Str, Str)>,
}

static NO_VALUE: ValueProps = ValueProps {
    format: Str::new_static(""),
    pattern: Str::new_static(""),
    maximum: None,
    exclusive_maximum: false,
    minimum: None,
    exclusive_minimum: false,
    unique_items: false,
    max_length: None,
    min_length: None,
    max_items: None,
    min_items: None,
    max_properties: None,
    min_properties: None,
    multiple_of: None,
    enum_: None,
    all_of: None,
    one_of: None,
    any_of: None,
    not: None,
};

static NO_RARE: RareProps = RareProps {
    id: Str::new_static(""),
    schema: Str::new_static(""),
    ref_: None,
    title: Str::new_static(""),
    default: Value::Null,
    example: Value::Null,
    external_docs: None,
    pattern_properties: None,
    additional_items: None,
    definitions: None,
    dependencies: None,
    x_list_type: None,
    x_list_map_keys: None,
    x_map_type: None,
    x_validations: None,
    x_unions: None,
};

impl JSONSchemaProps {
    /// A schema with nothing but a type.
    pub fn of_type(type_: &str) -> Self {
        Self { type_: type_.into(), ..Self::default() }
    }

    /// The restrictions of values.
    pub fn value(&self) -> &ValueProps {
        self.value.as_deref().unwrap_or(&NO_VALUE)
    }

    /// The restrictions of values, for changes.
    pub fn value_mut(&mut self) -> &mut ValueProps {
        self.value.get_or_insert_default()
    }

    /// Drops value validation, except `required`.
    pub fn clear_value(&mut self) {
        self.value = None;
    }

    /// The rare keywords.
    pub fn rare(&self) -> &RareProps {
        self.rare.as_deref().unwrap_or(&NO_RARE)
    }

    /// The rare keywords, open to change.
    pub fn rare_mut(&mut self) -> &mut RareProps {
        self.rare.get_or_insert_default()
    }

    /// The properties, sorted by name.
    pub fn properties(&self) -> &[(Str, JSONSchemaProps)] {
        self.properties.as_deref().map_or(&[], |map| map)
    }

    /// The property `name`.
    pub fn property(&self, name: &str) -> Option<&JSONSchemaProps> {
        self.properties.as_ref()?.get(name)
    }

    /// The required names.
    pub fn required(&self) -> &[Str] {
        self.required.as_deref().unwrap_or_default()
    }

    /// The schema of items, if `items` is a schema.
    pub fn items(&self) -> Option<&JSONSchemaProps> {
        self.items.as_ref()?.schema()
    }

    /// The schema of additional properties, if `additionalProperties` is a schema.
    pub fn additional_properties(&self) -> Option<&JSONSchemaProps> {
        self.additional_properties.as_ref()?.schema()
    }

    /// The default; null is none.
    pub fn default_value(&self) -> &Value {
        &self.rare().default
    }

    /// Whether `x-kubernetes-preserve-unknown-fields` is true.
    pub fn preserves_unknown_fields(&self) -> bool {
        self.x_preserve_unknown_fields == Some(true)
    }

    /// The `allOf` schemas.
    pub fn all_of(&self) -> &[JSONSchemaProps] {
        self.value().all_of.as_deref().map_or(&[], |list| list)
    }

    /// The `anyOf` schemas.
    pub fn any_of(&self) -> &[JSONSchemaProps] {
        self.value().any_of.as_deref().map_or(&[], |list| list)
    }

    /// The `oneOf` schemas.
    pub fn one_of(&self) -> &[JSONSchemaProps] {
        self.value().one_of.as_deref().map_or(&[], |list| list)
    }

    /// The `not` schema.
    pub fn not(&self) -> Option<&JSONSchemaProps> {
        self.value().not.as_deref()
    }

    /// The rules of `x-kubernetes-validations`.
    pub fn validations(&self) -> &[ValidationRule] {
        self.rare().x_validations.as_deref().unwrap_or_default()
    }

    /// The schema as it prints inside an error message.
    pub fn go_json(&self) -> String {
        go_json::go_json(self)
    }

    /// The unions of `x-kubernetes-unions`.
    pub fn unions(&self) -> &[Union] {
        self.rare().x_unions.as_deref().unwrap_or_default()
    }

    /// `x-kubernetes-list-type`; empty is absent.
    pub fn list_type(&self) -> &str {
        self.rare().x_list_type.as_deref().unwrap_or_default()
    }

    /// `x-kubernetes-list-map-keys`
    pub fn list_map_keys(&self) -> &[Str] {
        self.rare().x_list_map_keys.as_deref().unwrap_or_default()
    }

    /// `x-kubernetes-map-type`; empty is absent.
    pub fn map_type(&self) -> &str {
        self.rare().x_map_type.as_deref().unwrap_or_default()
    }

    /// Every schema directly below this one, in the order the API server walks them:
    /// additionalProperties, properties, not, allOf, oneOf, anyOf, definitions, items, dependencies,
    /// then the two it does not walk, patternProperties and additionalItems.
    pub fn children(&self) -> impl Iterator<Item = &JSONSchemaProps> {
        let rare = self.rare();
        self.additional_properties()
            .into_iter()
            .chain(self.properties().iter().map(|(_, p)| p))
            .chain(self.not())
            .chain(self.all_of())
            .chain(self.one_of())
            .chain(self.any_of())
            .chain(rare.definitions.iter().flat_map(|m| m.iter().map(|(_, p)| p)))
            .chain(self.items.iter().flat_map(SchemaOrArray::schemas))
            .chain(rare.dependencies.iter().flatten().filter_map(|(_, d)| d.schema.as_deref()))
            .chain(rare.pattern_properties.iter().flat_map(|m| m.iter().map(|(_, p)| p)))
            .chain(rare.additional_items.as_ref().and_then(SchemaOrBool::schema))
    }

    /// Whether `test` holds for this node or any below it.
    pub fn any_node(&self, test: &mut dyn FnMut(&JSONSchemaProps) -> bool) -> bool {
        test(self) || pleach_json::grow_stack(|| self.children().any(|child| child.any_node(test)))
    }
}

impl PartialEq for JSONSchemaProps {
    fn eq(&self, other: &Self) -> bool {
        self.type_ == other.type_
            && self.description == other.description
            && self.required == other.required
            && self.nullable == other.nullable
            && self.x_embedded_resource == other.x_embedded_resource
            && self.x_int_or_string == other.x_int_or_string
            && self.x_preserve_unknown_fields == other.x_preserve_unknown_fields
            && self.value() == other.value()
            && self.rare() == other.rare()
            && self.properties == other.properties
            && self.items == other.items
            && self.additional_properties == other.additional_properties
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_small() {
        assert!(size_of::<JSONSchemaProps>() <= 168, "{}", size_of::<JSONSchemaProps>());
    }

    #[test]
    fn an_empty_box_is_no_box() {
        let mut boxed = JSONSchemaProps::of_type("string");
        boxed.value_mut();
        boxed.rare_mut();
        assert_eq!(boxed, JSONSchemaProps::of_type("string"));
    }
}
