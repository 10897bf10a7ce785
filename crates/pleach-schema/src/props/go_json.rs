//! A schema as it prints inside an error message: the API server's internal struct, which has no
//! JSON names, written by Go's `encoding/json` with all its fields.

use pleach_json::{Str, Value, grow_stack};

use super::{JSONSchemaProps, SchemaMap, SchemaOrArray, SchemaOrBool, ValidationRule};

/// The text of the internal struct.
pub(crate) fn go_json(schema: &JSONSchemaProps) -> String {
    let mut out = Writer(String::new());
    out.schema(schema);
    out.0
}

/// The text of the internal struct of `items`.
pub(crate) fn go_json_items(items: &SchemaOrArray) -> String {
    let mut out = Writer(String::new());
    out.items(items);
    out.0
}

impl ValidationRule {
    /// The rule as it prints inside an error message.
    pub fn go_json(&self) -> String {
        let mut out = Writer(String::new());
        out.rule(self);
        out.0
    }
}

struct Writer(String);

impl Writer {
    /// Starts a field; the first one opens the struct.
    fn field(&mut self, name: &str) {
        self.0.push(if name == "ID" { '{' } else { ',' });
        self.key(name);
    }

    fn key(&mut self, name: &str) {
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    fn json(&mut self, value: &Value) {
        self.0.push_str(&pleach_json::to_string(value));
    }

    fn text(&mut self, text: &Str) {
        if text.is_empty() {
            self.0.push_str("\"\"");
        } else {
            self.json(&Value::String(text.clone()));
        }
    }

    fn flag(&mut self, flag: bool) {
        self.0.push_str(if flag { "true" } else { "false" });
    }

    fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.0.push_str("null"),
        }
    }

    fn int(&mut self, value: Option<i64>) {
        self.optional(value, |out, i| out.0.push_str(&i.to_string()));
    }

    fn float(&mut self, value: Option<f64>) {
        self.optional(value, |out, f| out.json(&Value::Float(f)));
    }

    fn list<'a, T: 'a>(
        &mut self,
        list: Option<impl IntoIterator<Item = &'a T>>,
        mut write: impl FnMut(&mut Self, &'a T),
    ) {
        self.optional(list, |out, list| {
            out.0.push('[');
            for (i, item) in list.into_iter().enumerate() {
                if i > 0 {
                    out.0.push(',');
                }
                write(out, item);
            }
            out.0.push(']');
        });
    }

    fn texts(&mut self, list: Option<&Vec<Str>>) {
        self.list(list, Self::text);
    }

    fn schemas(&mut self, list: Option<&[JSONSchemaProps]>) {
        self.list(list, Self::schema);
    }

    fn map<'a, T: 'a>(
        &mut self,
        map: Option<impl IntoIterator<Item = &'a (Str, T)>>,
        mut write: impl FnMut(&mut Self, &'a T),
    ) {
        self.optional(map, |out, map| {
            out.0.push('{');
            for (i, (name, value)) in map.into_iter().enumerate() {
                if i > 0 {
                    out.0.push(',');
                }
                out.text(name);
                out.0.push(':');
                write(out, value);
            }
            out.0.push('}');
        });
    }

    fn schema_map(&mut self, map: Option<&SchemaMap>) {
        self.map(map.map(|map| map.iter()), Self::schema);
    }

    fn items(&mut self, items: &SchemaOrArray) {
        self.0.push('{');
        self.key("Schema");
        self.optional(items.schema(), Self::schema);
        self.0.push(',');
        self.key("JSONSchemas");
        self.schemas(match items {
            SchemaOrArray::List(list) => Some(list.as_slice()),
            SchemaOrArray::Neither | SchemaOrArray::Schema(_) => None,
        });
        self.0.push('}');
    }

    fn or_bool(&mut self, value: &SchemaOrBool) {
        self.0.push('{');
        self.key("Allows");
        self.flag(value.allows());
        self.0.push(',');
        self.key("Schema");
        self.optional(value.schema(), Self::schema);
        self.0.push('}');
    }

    fn rule(&mut self, rule: &ValidationRule) {
        self.0.push('{');
        self.key("Rule");
        self.text(&rule.rule);
        for (name, text) in [("Message", &rule.message), ("MessageExpression", &rule.message_expression)] {
            self.field(name);
            self.text(text);
        }
        self.field("Reason");
        self.optional(rule.reason.as_ref(), Self::text);
        self.field("FieldPath");
        self.text(&rule.field_path);
        self.field("OptionalOldSelf");
        self.optional(rule.optional_old_self, Self::flag);
        self.0.push('}');
    }

    fn schema(&mut self, schema: &JSONSchemaProps) {
        grow_stack(|| {
            self.generic(schema);
            self.value(schema);
            self.structure(schema);
            self.rare(schema);
            self.0.push('}');
        });
    }

    fn generic(&mut self, schema: &JSONSchemaProps) {
        let (value, rare) = (schema.value(), schema.rare());
        self.field("ID");
        self.text(&rare.id);
        self.field("Schema");
        self.text(&rare.schema);
        self.field("Ref");
        self.optional(rare.ref_.as_ref(), Self::text);
        self.field("Description");
        self.text(&schema.description);
        self.field("Type");
        self.text(&schema.type_);
        self.field("Nullable");
        self.flag(schema.nullable);
        self.field("Format");
        self.text(&value.format);
        self.field("Title");
        self.text(&rare.title);
        self.field("Default");
        self.json(&rare.default);
    }

    fn value(&mut self, schema: &JSONSchemaProps) {
        let value = schema.value();
        self.field("Maximum");
        self.float(value.maximum);
        self.field("ExclusiveMaximum");
        self.flag(value.exclusive_maximum);
        self.field("Minimum");
        self.float(value.minimum);
        self.field("ExclusiveMinimum");
        self.flag(value.exclusive_minimum);
        self.field("MaxLength");
        self.int(value.max_length);
        self.field("MinLength");
        self.int(value.min_length);
        self.field("Pattern");
        self.text(&value.pattern);
        self.field("MaxItems");
        self.int(value.max_items);
        self.field("MinItems");
        self.int(value.min_items);
        self.field("UniqueItems");
        self.flag(value.unique_items);
        self.field("MultipleOf");
        self.float(value.multiple_of);
        self.field("Enum");
        self.list(value.enum_.as_ref(), Self::json);
        self.field("MaxProperties");
        self.int(value.max_properties);
        self.field("MinProperties");
        self.int(value.min_properties);
        self.field("Required");
        self.texts(schema.required.as_ref());
    }

    fn structure(&mut self, schema: &JSONSchemaProps) {
        let (value, rare) = (schema.value(), schema.rare());
        self.field("Items");
        self.optional(schema.items.as_ref(), Self::items);
        for (name, list) in [("AllOf", &value.all_of), ("OneOf", &value.one_of), ("AnyOf", &value.any_of)] {
            self.field(name);
            self.schemas(list.as_ref().map(|list| list.as_slice()));
        }
        self.field("Not");
        self.optional(schema.not(), Self::schema);
        self.field("Properties");
        self.schema_map(schema.properties.as_ref());
        self.field("AdditionalProperties");
        self.optional(schema.additional_properties.as_ref(), Self::or_bool);
        self.field("PatternProperties");
        self.schema_map(rare.pattern_properties.as_ref());
        self.field("Dependencies");
        self.map(rare.dependencies.as_ref(), |out, dependency| {
            out.0.push('{');
            out.key("Schema");
            out.optional(dependency.schema.as_deref(), Self::schema);
            out.0.push(',');
            out.key("Property");
            out.texts(dependency.property.as_ref());
            out.0.push('}');
        });
        self.field("AdditionalItems");
        self.optional(rare.additional_items.as_ref(), Self::or_bool);
        self.field("Definitions");
        self.schema_map(rare.definitions.as_ref());
    }

    fn rare(&mut self, schema: &JSONSchemaProps) {
        let rare = schema.rare();
        self.field("ExternalDocs");
        self.optional(rare.external_docs.as_deref(), |out, docs| {
            out.0.push('{');
            out.key("Description");
            out.text(&docs.description);
            out.0.push(',');
            out.key("URL");
            out.text(&docs.url);
            out.0.push('}');
        });
        self.field("Example");
        self.json(&rare.example);
        self.field("XPreserveUnknownFields");
        self.optional(schema.x_preserve_unknown_fields, Self::flag);
        self.field("XEmbeddedResource");
        self.flag(schema.x_embedded_resource);
        self.field("XIntOrString");
        self.flag(schema.x_int_or_string);
        self.field("XListMapKeys");
        self.texts(rare.x_list_map_keys.as_ref());
        self.field("XListType");
        self.optional(rare.x_list_type.as_ref(), Self::text);
        self.field("XMapType");
        self.optional(rare.x_map_type.as_ref(), Self::text);
        self.field("XValidations");
        self.list(rare.x_validations.as_ref(), Self::rule);
    }
}
