//! Writing a schema as JSON, as the API server's encoder does.
//!
//! Empty is omitted, with these exceptions: `items` that are neither schema nor list come out as
//! `null`, so do `dependencies` of that kind, and a pointer to an empty string (`$ref`,
//! `x-kubernetes-list-type`) is written. So are empty `dependencies`.

use pleach_json::{Map, Str, Value, grow_stack};

use super::{JSONSchemaProps, SchemaMap, SchemaOrArray, SchemaOrBool, ValidationRule};

/// Collects the members that are not empty; sorted once at the end.
struct Members(Vec<(Str, Value)>);

impl Members {
    fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        self.0.push((Str::new_static(key), value.into()));
    }

    fn text(&mut self, key: &'static str, text: &Str) {
        if !text.is_empty() {
            self.put(key, text.clone());
        }
    }

    fn flag(&mut self, key: &'static str, flag: bool) {
        if flag {
            self.put(key, true);
        }
    }

    fn int(&mut self, key: &'static str, number: Option<i64>) {
        if let Some(number) = number {
            self.put(key, number);
        }
    }

    fn float(&mut self, key: &'static str, number: Option<f64>) {
        if let Some(number) = number {
            self.put(key, float(number));
        }
    }

    fn texts(&mut self, key: &'static str, list: Option<&Vec<Str>>) {
        if let Some(list) = list.filter(|list| !list.is_empty()) {
            self.put(key, texts(list));
        }
    }

    fn schemas(&mut self, key: &'static str, list: &[JSONSchemaProps]) {
        if !list.is_empty() {
            self.put(key, schemas(list));
        }
    }

    fn map(&mut self, key: &'static str, map: Option<&SchemaMap>) {
        if let Some(map) = map.filter(|map| !map.is_empty()) {
            let members: Vec<_> =
                map.iter().map(|(name, schema)| (name.clone(), schema.to_value())).collect();
            self.put(key, Map::from(members));
        }
    }

    fn or_bool(&mut self, key: &'static str, value: Option<&SchemaOrBool>) {
        match value {
            Some(SchemaOrBool::Schema(schema)) => self.put(key, schema.to_value()),
            Some(SchemaOrBool::Bool(allows)) => self.put(key, *allows),
            None => {}
        }
    }
}

/// A float field as JSON: an integral one reads back as an integer.
fn float(number: f64) -> Value {
    if number.fract() == 0.0
        && number.abs() < 9_007_199_254_740_992.0
        && !(number == 0.0 && number.is_sign_negative())
    {
        Value::Int(number as i64)
    } else {
        Value::Float(number)
    }
}

fn texts(list: &[Str]) -> Value {
    list.iter().map(|text| Value::from(text.clone())).collect::<Vec<_>>().into()
}

fn schemas(list: &[JSONSchemaProps]) -> Value {
    list.iter().map(JSONSchemaProps::to_value).collect::<Vec<_>>().into()
}

impl JSONSchemaProps {
    /// The schema as JSON.
    pub fn to_value(&self) -> Value {
        grow_stack(|| self.members())
    }

    fn members(&self) -> Value {
        let mut out = Members(Vec::new());
        out.text("type", &self.type_);
        out.text("description", &self.description);
        out.map("properties", self.properties.as_ref());
        out.texts("required", self.required.as_ref());
        match &self.items {
            Some(SchemaOrArray::Schema(schema)) => out.put("items", schema.to_value()),
            Some(SchemaOrArray::List(list)) if !list.is_empty() => out.put("items", schemas(list)),
            Some(_) => out.put("items", Value::Null),
            None => {}
        }
        out.or_bool("additionalProperties", self.additional_properties.as_ref());
        out.flag("nullable", self.nullable);
        out.flag("x-kubernetes-embedded-resource", self.x_embedded_resource);
        out.flag("x-kubernetes-int-or-string", self.x_int_or_string);
        if let Some(preserve) = self.x_preserve_unknown_fields {
            out.put("x-kubernetes-preserve-unknown-fields", preserve);
        }
        if self.value.is_some() {
            self.value_members(&mut out);
        }
        if self.rare.is_some() {
            self.rare_members(&mut out);
        }
        Map::from(out.0).into()
    }

    fn value_members(&self, out: &mut Members) {
        let value = self.value();
        out.text("format", &value.format);
        out.text("pattern", &value.pattern);
        out.float("maximum", value.maximum);
        out.flag("exclusiveMaximum", value.exclusive_maximum);
        out.float("minimum", value.minimum);
        out.flag("exclusiveMinimum", value.exclusive_minimum);
        out.flag("uniqueItems", value.unique_items);
        out.int("maxLength", value.max_length);
        out.int("minLength", value.min_length);
        out.int("maxItems", value.max_items);
        out.int("minItems", value.min_items);
        out.int("maxProperties", value.max_properties);
        out.int("minProperties", value.min_properties);
        out.float("multipleOf", value.multiple_of);
        if let Some(values) = value.enum_.as_ref().filter(|values| !values.is_empty()) {
            out.put("enum", values.clone());
        }
        out.schemas("allOf", self.all_of());
        out.schemas("oneOf", self.one_of());
        out.schemas("anyOf", self.any_of());
        if let Some(not) = self.not() {
            out.put("not", not.to_value());
        }
    }

    fn rare_members(&self, out: &mut Members) {
        let rare = self.rare();
        out.text("id", &rare.id);
        out.text("$schema", &rare.schema);
        if let Some(reference) = &rare.ref_ {
            out.put("$ref", reference.clone());
        }
        out.text("title", &rare.title);
        if !rare.default.is_null() {
            out.put("default", rare.default.clone());
        }
        if !rare.example.is_null() {
            out.put("example", rare.example.clone());
        }
        if let Some(docs) = &rare.external_docs {
            let mut members = Members(Vec::new());
            members.text("description", &docs.description);
            members.text("url", &docs.url);
            out.put("externalDocs", Map::from(members.0));
        }
        out.map("patternProperties", rare.pattern_properties.as_ref());
        out.or_bool("additionalItems", rare.additional_items.as_ref());
        out.map("definitions", rare.definitions.as_ref());
        // Empty ones too, which Go leaves out: validation, which comes later, refuses them all.
        if let Some(dependencies) = &rare.dependencies {
            let members: Vec<_> = dependencies
                .iter()
                .map(|(name, dependency)| {
                    let list = dependency.property.as_ref().filter(|list| !list.is_empty());
                    let value = match (list, &dependency.schema) {
                        (Some(list), _) => texts(list),
                        (None, Some(schema)) => schema.to_value(),
                        (None, None) => Value::Null,
                    };
                    (name.clone(), value)
                })
                .collect();
            out.put("dependencies", Map::from(members));
        }
        if let Some(list_type) = &rare.x_list_type {
            out.put("x-kubernetes-list-type", list_type.clone());
        }
        out.texts("x-kubernetes-list-map-keys", rare.x_list_map_keys.as_ref());
        if let Some(map_type) = &rare.x_map_type {
            out.put("x-kubernetes-map-type", map_type.clone());
        }
        if !self.validations().is_empty() {
            let rules: Vec<Value> = self.validations().iter().map(ValidationRule::to_value).collect();
            out.put("x-kubernetes-validations", rules);
        }
        if !self.unions().is_empty() {
            let unions: Vec<Value> = self.unions().iter().map(super::Union::to_value).collect();
            out.put("x-kubernetes-unions", unions);
        }
    }
}

impl ValidationRule {
    /// The rule as JSON.
    pub fn to_value(&self) -> Value {
        let mut out = Members(Vec::new());
        out.put("rule", self.rule.clone());
        out.text("message", &self.message);
        out.text("messageExpression", &self.message_expression);
        if let Some(reason) = &self.reason {
            out.put("reason", reason.clone());
        }
        out.text("fieldPath", &self.field_path);
        if let Some(optional) = self.optional_old_self {
            out.put("optionalOldSelf", optional);
        }
        Map::from(out.0).into()
    }
}

impl super::Union {
    /// The union as JSON.
    pub fn to_value(&self) -> Value {
        let mut out = Members(Vec::new());
        out.text("discriminator", &self.discriminator);
        if !self.fields.is_empty() {
            let fields = self.fields.iter().map(|(name, value)| (name.clone(), value.clone().into()));
            out.put("fields", fields.collect::<Map>());
        }
        Map::from(out.0).into()
    }
}
