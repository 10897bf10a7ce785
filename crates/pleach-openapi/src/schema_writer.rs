//! Writes schemas as JSON directly from their CRD's properties.
//!
//! Schemas are most of a document, and building values only to write them costs more than all the rest.
//! The order of keywords is that of `shape`; other keywords are extensions and follow in alphabetical
//! order. Schemas with non-structural keywords ([`is_writable`]) are written as values.

use pleach_json::{Map, Str, Value, grow_stack, write_string, write_to};
use pleach_schema::{JSONSchemaProps, SchemaMap, SchemaOrArray, SchemaOrBool};
use pleach_work::Constant;

use crate::Edition;
use crate::shape::{Entry, v2, v3};

/// Writes one keyword, if the schema has it.
type Write = fn(&mut Writer<'_>, &[u8], &JSONSchemaProps);

/// Every keyword a published schema can have.
const KEYWORDS: &[(&str, Write)] = &[
    ("$ref", |out, key, node| out.optional(key, node.rare().ref_.as_ref())),
    ("additionalProperties", |out, key, node| match &node.additional_properties {
        Some(SchemaOrBool::Schema(schema)) => out.schema(key, schema),
        Some(SchemaOrBool::Bool(allows)) => out.plain(key, if *allows { b"true" } else { b"false" }),
        None => {}
    }),
    ("allOf", |out, key, node| out.schemas(key, node.all_of())),
    ("anyOf", |out, key, node| out.schemas(key, node.any_of())),
    ("default", |out, key, node| out.value(key, &node.rare().default)),
    ("description", |out, key, node| out.text(key, &node.description)),
    ("enum", |out, key, node| out.values(key, node.value().enum_.as_deref())),
    ("example", |out, key, node| out.value(key, &node.rare().example)),
    ("exclusiveMaximum", |out, key, node| out.flag(key, node.value().exclusive_maximum)),
    ("exclusiveMinimum", |out, key, node| out.flag(key, node.value().exclusive_minimum)),
    ("externalDocs", |out, key, node| {
        if let Some(docs) = &node.rare().external_docs {
            out.open(key);
            out.bytes.push(b'{');
            out.text(b"\"description\":", &docs.description);
            out.text(b"\"url\":", &docs.url);
            out.bytes.push(b'}');
        }
    }),
    ("format", |out, key, node| out.text(key, &node.value().format)),
    ("items", |out, key, node| {
        if let Some(items) = node.items() {
            out.schema(key, items);
        }
    }),
    ("maxItems", |out, key, node| out.int(key, node.value().max_items)),
    ("maxLength", |out, key, node| out.int(key, node.value().max_length)),
    ("maxProperties", |out, key, node| out.int(key, node.value().max_properties)),
    ("maximum", |out, key, node| out.number(key, node.value().maximum)),
    ("minItems", |out, key, node| out.int(key, node.value().min_items)),
    ("minLength", |out, key, node| out.int(key, node.value().min_length)),
    ("minProperties", |out, key, node| out.int(key, node.value().min_properties)),
    ("minimum", |out, key, node| out.number(key, node.value().minimum)),
    ("multipleOf", |out, key, node| out.number(key, node.value().multiple_of)),
    ("not", |out, key, node| {
        if let Some(not) = node.not() {
            out.schema(key, not);
        }
    }),
    ("nullable", |out, key, node| out.flag(key, node.nullable)),
    ("oneOf", |out, key, node| out.schemas(key, node.one_of())),
    ("pattern", |out, key, node| out.text(key, &node.value().pattern)),
    ("properties", |out, key, node| out.map(key, node.properties.as_ref())),
    ("required", |out, key, node| out.texts(key, node.required())),
    ("title", |out, key, node| out.text(key, &node.rare().title)),
    ("type", |out, key, node| out.text(key, &node.type_)),
    ("uniqueItems", |out, key, node| out.flag(key, node.value().unique_items)),
    ("x-kubernetes-embedded-resource", |out, key, node| out.flag(key, node.x_embedded_resource)),
    ("x-kubernetes-group-version-kind", |out, key, _| out.mark(key, "x-kubernetes-group-version-kind")),
    ("x-kubernetes-int-or-string", |out, key, node| out.flag(key, node.x_int_or_string)),
    ("x-kubernetes-list-map-keys", |out, key, node| out.texts(key, node.list_map_keys())),
    ("x-kubernetes-list-type", |out, key, node| out.optional(key, node.rare().x_list_type.as_ref())),
    ("x-kubernetes-map-type", |out, key, node| out.optional(key, node.rare().x_map_type.as_ref())),
    ("x-kubernetes-preserve-unknown-fields", |out, key, node| {
        if let Some(preserve) = node.x_preserve_unknown_fields {
            out.plain(key, if preserve { b"true" } else { b"false" });
        }
    }),
    ("x-kubernetes-selectable-fields", |out, key, _| out.mark(key, "x-kubernetes-selectable-fields")),
    ("x-kubernetes-unions", |out, key, node| {
        let unions: Vec<Value> = node.unions().iter().map(pleach_schema::props::Union::to_value).collect();
        out.values(key, Some(&unions));
    }),
    ("x-kubernetes-validations", |out, key, node| {
        let rules: Vec<Value> =
            node.validations().iter().map(pleach_schema::props::ValidationRule::to_value).collect();
        out.values(key, Some(&rules));
    }),
];

/// Keywords in the order they are written, each as `"key":`.
type Order = Vec<(Vec<u8>, Write)>;

static V2: Constant<Order> = Constant::new(|| order(v2::SCHEMA_MEMBERS));
static V3: Constant<Order> = Constant::new(|| order(v3::SCHEMA_MEMBERS));

fn order(members: &[Entry]) -> Order {
    let rank = |name: &str| members.iter().position(|(known, ..)| *known == name).unwrap_or(members.len());
    let mut ranked: Vec<&(&str, Write)> = KEYWORDS.iter().collect();
    ranked.sort_by_key(|(name, _)| (rank(name), *name));
    ranked.into_iter().map(|(name, write)| (format!("\"{name}\":").into_bytes(), *write)).collect()
}

/// Whether a schema has no keywords but those of structural schemas.
pub(crate) fn is_writable(edition: Edition, schema: &JSONSchemaProps) -> bool {
    !schema.any_node(&mut |node| {
        let rare = node.rare();
        !rare.id.is_empty()
            || !rare.schema.is_empty()
            || rare.pattern_properties.is_some()
            || rare.additional_items.is_some()
            || rare.definitions.is_some()
            || rare.dependencies.is_some()
            || matches!(&node.items, Some(SchemaOrArray::List(_)))
            // Siblings of a reference have an order of their own in v3.
            || (edition == Edition::V3
                && rare.ref_.is_some()
                && *node != reference(rare.ref_.clone()))
    })
}

fn reference(to: Option<Str>) -> JSONSchemaProps {
    let mut out = JSONSchemaProps::default();
    out.rare_mut().ref_ = to;
    out
}

/// Writes a schema; `marks` are members of its root only.
pub(crate) fn write(edition: Edition, schema: &JSONSchemaProps, marks: &Map, out: &mut Vec<u8>) {
    let order = match edition {
        Edition::V2 => &*V2,
        Edition::V3 => &*V3,
    };
    Writer { bytes: out, order, marks: Some(marks) }.node(schema);
}

struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    order: &'static Order,
    /// Only at the root.
    marks: Option<&'a Map>,
}

impl Writer<'_> {
    fn node(&mut self, node: &JSONSchemaProps) {
        let order = self.order;
        self.bytes.push(b'{');
        for (key, write) in order {
            write(self, key, node);
        }
        self.bytes.push(b'}');
    }

    fn child(&mut self, node: &JSONSchemaProps) {
        let marks = self.marks.take();
        grow_stack(|| self.node(node));
        self.marks = marks;
    }

    /// Starts a member: a comma, unless it is the first, and its key.
    fn open(&mut self, key: &[u8]) {
        if self.bytes.last() != Some(&b'{') {
            self.bytes.push(b',');
        }
        self.bytes.extend_from_slice(key);
    }

    fn plain(&mut self, key: &[u8], text: &[u8]) {
        self.open(key);
        self.bytes.extend_from_slice(text);
    }

    fn flag(&mut self, key: &[u8], flag: bool) {
        if flag {
            self.plain(key, b"true");
        }
    }

    fn text(&mut self, key: &[u8], text: &str) {
        if !text.is_empty() {
            self.open(key);
            write_string(text, self.bytes);
        }
    }

    /// A string that is written even if empty.
    fn optional(&mut self, key: &[u8], text: Option<&Str>) {
        if let Some(text) = text {
            self.open(key);
            write_string(text, self.bytes);
        }
    }

    fn int(&mut self, key: &[u8], number: Option<i64>) {
        if let Some(number) = number {
            self.value(key, &Value::Int(number));
        }
    }

    /// A number in either notation.
    fn number(&mut self, key: &[u8], number: Option<f64>) {
        let Some(number) = number else { return };
        let is_int = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        let is_negative_zero = number == 0.0 && number.is_sign_negative();
        if is_int && !is_negative_zero {
            self.value(key, &Value::Int(number as i64));
        } else {
            self.value(key, &Value::Float(number));
        }
    }

    fn value(&mut self, key: &[u8], value: &Value) {
        if !value.is_null() {
            self.open(key);
            write_to(value, self.bytes);
        }
    }

    fn mark(&mut self, key: &[u8], name: &str) {
        if let Some(value) = self.marks.and_then(|marks| marks.get(name)) {
            self.value(key, value);
        }
    }

    fn schema(&mut self, key: &[u8], schema: &JSONSchemaProps) {
        self.open(key);
        self.child(schema);
    }

    fn schemas(&mut self, key: &[u8], list: &[JSONSchemaProps]) {
        self.list(key, list, Self::child);
    }

    fn texts(&mut self, key: &[u8], list: &[Str]) {
        self.list(key, list, |out, text| write_string(text, out.bytes));
    }

    fn values(&mut self, key: &[u8], list: Option<&[Value]>) {
        self.list(key, list.unwrap_or_default(), |out, value| write_to(value, out.bytes));
    }

    /// A list, unless it is empty.
    fn list<T>(&mut self, key: &[u8], list: &[T], write: impl Fn(&mut Self, &T)) {
        if list.is_empty() {
            return;
        }
        self.open(key);
        self.bytes.push(b'[');
        for (i, item) in list.iter().enumerate() {
            if i > 0 {
                self.bytes.push(b',');
            }
            write(self, item);
        }
        self.bytes.push(b']');
    }

    fn map(&mut self, key: &[u8], map: Option<&SchemaMap>) {
        let Some(map) = map.filter(|map| !map.is_empty()) else { return };
        self.open(key);
        self.bytes.push(b'{');
        for (name, schema) in map.iter() {
            if self.bytes.last() != Some(&b'{') {
                self.bytes.push(b',');
            }
            write_string(name, self.bytes);
            self.bytes.push(b':');
            self.child(schema);
        }
        self.bytes.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::document::schema_shape;
    use crate::json as long_way;

    /// A schema written both ways, if possible.
    fn both_ways(edition: Edition, schema: &Value, marks: &Value) -> Option<(String, String)> {
        let props = JSONSchemaProps::from_value(schema).unwrap();
        let marks = marks.as_object().cloned().unwrap_or_default();
        if !is_writable(edition, &props) {
            return None;
        }
        let (mut short, mut long) = (Vec::new(), Vec::new());
        write(edition, &props, &marks, &mut short);
        let mut value = props.to_value();
        for (key, mark) in marks.iter() {
            value.as_object_mut().unwrap().insert(key.clone(), mark.clone());
        }
        long_way::write(schema_shape(edition), &value, &mut long);
        Some((String::from_utf8(short).unwrap(), String::from_utf8(long).unwrap()))
    }

    #[test]
    fn direct_and_value_encodings_agree() {
        let everything = json!({
            "type": "object", "description": "d <&> \"q\"", "title": "t", "format": "f", "pattern": "^a$",
            "default": {"b": [1, null], "a": "x"}, "example": 1.5, "nullable": true, "uniqueItems": true,
            "maximum": 10.0, "minimum": (-0.5), "multipleOf": 1e30, "exclusiveMaximum": true,
            "exclusiveMinimum": true, "maxLength": 1, "minLength": 0, "maxItems": 3, "minItems": 2,
            "maxProperties": 4, "minProperties": 0, "enum": ["a", 1, null], "required": ["b", "a"],
            "externalDocs": {"url": "u", "description": "d"},
            "items": {"type": "string"}, "properties": {"b": {}, "a": {"type": "integer"}},
            "additionalProperties": {"type": "boolean"},
            "allOf": [{"not": {"type": "string"}}], "anyOf": [{"required": ["x"]}], "oneOf": [{}, {}],
            "not": {"enum": [true]}, "x-kubernetes-embedded-resource": true,
            "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "x-kubernetes-map-type": "atomic",
            "x-kubernetes-validations": [{"rule": "true", "message": "m"}],
        });
        let gvk = json!({"x-kubernetes-group-version-kind": [{"group": "g", "kind": "K", "version": "v1"}],
            "x-kubernetes-selectable-fields": [{"fieldPath": "spec.a"}]});
        let refers = json!({"properties": {"metadata": {"allOf": [{"$ref": "#/x"}], "description": "d"}}});
        for (schema, marks, why) in [
            (json!({}), json!({}), "nothing"),
            (everything.clone(), json!({}), "every keyword"),
            (everything.clone(), gvk.clone(), "every keyword and what roots have"),
            (json!({"properties": {"a": {"properties": {"b": everything}}}}), gvk, "only roots are marked"),
            (json!({"additionalProperties": false, "properties": {}}), json!({}), "a flag; an empty map"),
            (json!({"maximum": 9_007_199_254_740_993_i64, "minimum": (-0.0)}), json!({}), "odd numbers"),
            (refers, json!({}), "a reference"),
        ] {
            for edition in [Edition::V2, Edition::V3] {
                // Keywords that v2 lacks are dropped before.
                let mut schema = JSONSchemaProps::from_value(&schema).unwrap();
                if edition == Edition::V2 {
                    schema.each_structural_node(&mut |node| {
                        node.nullable = false;
                        let value = node.value_mut();
                        (value.all_of, value.any_of, value.one_of, value.not) = (None, None, None, None);
                    });
                }
                let (short, long) = both_ways(edition, &schema.to_value(), &marks).expect(why);
                assert_eq!(short, long, "{why} ({edition:?})");
            }
        }
    }

    #[test]
    fn non_structural_schemas_are_written_as_values() {
        for (schema, why) in [
            (json!({"patternProperties": {"a": {}}}), "no place in the order"),
            (json!({"properties": {"a": {"items": [{}, {}]}}}), "a list of items, further down"),
            (json!({"$ref": "#/x", "title": "t"}), "something beside a reference"),
            (json!({"allOf": [{"id": "i"}]}), "in a junctor"),
        ] {
            assert!(both_ways(Edition::V3, &schema, &json!({})).is_none(), "{why}");
        }
    }
}
