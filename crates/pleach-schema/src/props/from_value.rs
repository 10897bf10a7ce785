//! Reading a schema out of JSON, as the API server's decoder does.
//!
//! * `null` for any keyword leaves it unset.
//! * `items` and `dependencies` take anything: what is neither object nor list becomes empty.
//! * `additionalProperties` takes an object or a boolean and refuses the rest.
//! * Inside those, and inside `default`, `example` and `enum`, unknown keys go unreported.

use pleach_go::json::Decoder;
use pleach_json::{Str, Value};

use super::{
    ExternalDocumentation, JSONSchemaProps, SchemaBox, SchemaList, SchemaMap, SchemaOrArray, SchemaOrBool,
    SchemaOrStringArray, Union, ValidationRule,
};

const STRUCT: &str = "JSONSchemaProps";

/// The keywords, common ones first: they are searched from the front.
const KEYWORDS: &[&str] = &[
    "description",
    "type",
    "properties",
    "items",
    "required",
    "format",
    "enum",
    "default",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "additionalProperties",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-validations",
    "nullable",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "title",
    "example",
    "externalDocs",
    "id",
    "$schema",
    "$ref",
    "patternProperties",
    "additionalItems",
    "dependencies",
    "definitions",
    UNIONS,
];

const UNIONS: &str = "x-kubernetes-unions";
const RULE: &[&str] = &["rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"];

impl JSONSchemaProps {
    /// Decodes a schema; errors and unknown fields stay with the decoder.
    pub fn decode(decoder: &mut Decoder, value: &Value) -> Self {
        let mut out = Self::default();
        let known = if decoder.knows_extensions() { KEYWORDS } else { &KEYWORDS[..KEYWORDS.len() - 1] };
        decoder.structure(STRUCT, value, known, |d, key, v| {
            if !v.is_null() {
                keyword(d, &mut out, key, v);
            }
        });
        out
    }

    /// Reads a schema on its own, `x-kubernetes-unions` included, and drops unknown keys.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let mut decoder = Decoder::new("v1").with_extensions(true);
        let schema = Self::decode(&mut decoder, value);
        match decoder.finish() {
            (None, _) => Ok(schema),
            (Some(error), _) => Err(error),
        }
    }
}

fn schema_map(d: &mut Decoder, value: &Value, want: &str) -> Option<SchemaMap> {
    let mut members = Vec::new();
    d.map(value, want, |d, key, v| members.push((key.clone(), JSONSchemaProps::decode(d, v))));
    // Keys of a Value are sorted and unique already.
    value.as_object().map(|_| members.into_iter().collect())
}

fn schema_list(d: &mut Decoder, value: &Value) -> Option<SchemaList> {
    let want = format!("[]{}", d.go_type(STRUCT));
    d.list(value, &want, JSONSchemaProps::decode).map(Into::into)
}

fn schema_or_bool(d: &mut Decoder, value: &Value) -> Option<SchemaOrBool> {
    d.unmarshaler(|d| match value {
        Value::Object(_) => Some(SchemaOrBool::Schema(JSONSchemaProps::decode(d, value).into())),
        Value::Bool(b) => Some(SchemaOrBool::Bool(*b)),
        _ => {
            d.error("boolean or JSON schema expected");
            None
        }
    })
}

fn schema_or_array(d: &mut Decoder, value: &Value) -> SchemaOrArray {
    d.unmarshaler(|d| match value {
        Value::Object(_) => SchemaOrArray::Schema(JSONSchemaProps::decode(d, value).into()),
        Value::Array(_) => SchemaOrArray::List(schema_list(d, value).unwrap_or_default()),
        _ => SchemaOrArray::Neither,
    })
}

fn schema_or_strings(d: &mut Decoder, value: &Value) -> SchemaOrStringArray {
    d.unmarshaler(|d| match value {
        Value::Object(_) => SchemaOrStringArray {
            schema: Some(SchemaBox::new(JSONSchemaProps::decode(d, value))),
            property: None,
        },
        Value::Array(_) => SchemaOrStringArray { schema: None, property: d.strings(value) },
        _ => SchemaOrStringArray::default(),
    })
}

fn rule(d: &mut Decoder, value: &Value) -> ValidationRule {
    let mut out = ValidationRule::default();
    d.structure("ValidationRule", value, RULE, |d, key, v| match key {
        "rule" => set(&mut out.rule, d.string(v)),
        "message" => set(&mut out.message, d.string(v)),
        "messageExpression" => set(&mut out.message_expression, d.string(v)),
        "reason" => {
            out.reason = match v {
                Value::String(s) => Some(s.clone()),
                Value::Null => None,
                other => {
                    let want = d.go_type("FieldValueErrorReason");
                    d.mismatch(other, &want);
                    None
                }
            }
        }
        "fieldPath" => set(&mut out.field_path, d.string(v)),
        "optionalOldSelf" => out.optional_old_self = d.boolean(v),
        _ => unreachable!("only the keys in RULE are handed out"),
    });
    out
}

fn union(d: &mut Decoder, value: &Value) -> Union {
    let mut out = Union::default();
    d.structure("Union", value, &["discriminator", "fields"], |d, key, v| {
        if key == "discriminator" {
            set(&mut out.discriminator, d.string(v));
        } else {
            d.map(v, "map[string]string", |d, name, v| {
                out.fields.push((name.clone(), d.string(v).unwrap_or_default()));
            });
        }
    });
    out
}

fn set(field: &mut Str, text: Option<Str>) {
    if let Some(text) = text {
        *field = text;
    }
}

fn keyword(d: &mut Decoder, out: &mut JSONSchemaProps, key: &'static str, v: &Value) {
    match key {
        "type" => set(&mut out.type_, d.string(v)),
        "description" => set(&mut out.description, d.string(v)),
        "properties" => {
            let want = format!("map[string]{}", d.go_type(STRUCT));
            out.properties = schema_map(d, v, &want);
        }
        "required" => out.required = d.strings(v),
        "items" => out.items = Some(schema_or_array(d, v)),
        "additionalProperties" => out.additional_properties = schema_or_bool(d, v),
        "nullable" => out.nullable = d.boolean(v).unwrap_or_default(),
        "x-kubernetes-embedded-resource" => out.x_embedded_resource = d.boolean(v).unwrap_or_default(),
        "x-kubernetes-int-or-string" => out.x_int_or_string = d.boolean(v).unwrap_or_default(),
        "x-kubernetes-preserve-unknown-fields" => out.x_preserve_unknown_fields = d.boolean(v),
        "id" => set(&mut out.rare_mut().id, d.string(v)),
        "$schema" => {
            let url = d.go_type("JSONSchemaURL");
            set(&mut out.rare_mut().schema, d.string_type(v, &url));
        }
        "$ref" => out.rare_mut().ref_ = d.string(v),
        "title" => set(&mut out.rare_mut().title, d.string(v)),
        "default" => out.rare_mut().default = v.clone(),
        "example" => out.rare_mut().example = v.clone(),
        "externalDocs" => {
            let mut docs = ExternalDocumentation::default();
            d.structure("ExternalDocumentation", v, &["description", "url"], |d, key, v| {
                let text = d.string(v);
                set(if key == "url" { &mut docs.url } else { &mut docs.description }, text);
            });
            out.rare_mut().external_docs = Some(Box::new(docs));
        }
        "patternProperties" => {
            let want = format!("map[string]{}", d.go_type(STRUCT));
            out.rare_mut().pattern_properties = schema_map(d, v, &want);
        }
        "additionalItems" => out.rare_mut().additional_items = schema_or_bool(d, v),
        "definitions" => {
            let want = d.go_type("JSONSchemaDefinitions");
            out.rare_mut().definitions = schema_map(d, v, &want);
        }
        "dependencies" => {
            let want = d.go_type("JSONSchemaDependencies");
            let mut members = Vec::new();
            d.map(v, &want, |d, key, v| members.push((key.clone(), schema_or_strings(d, v))));
            out.rare_mut().dependencies = v.as_object().map(|_| members);
        }
        "x-kubernetes-list-type" => out.rare_mut().x_list_type = d.string(v),
        "x-kubernetes-list-map-keys" => out.rare_mut().x_list_map_keys = d.strings(v),
        "x-kubernetes-map-type" => out.rare_mut().x_map_type = d.string(v),
        "x-kubernetes-validations" => {
            let want = d.go_type("ValidationRules");
            out.rare_mut().x_validations = d.list(v, &want, rule);
        }
        UNIONS => {
            let want = format!("[]{}", d.go_type("Union"));
            out.rare_mut().x_unions = d.list(v, &want, union);
        }
        _ => value_keyword(d, out, key, v),
    }
}

fn value_keyword(d: &mut Decoder, out: &mut JSONSchemaProps, key: &'static str, v: &Value) {
    let out = out.value_mut();
    match key {
        "format" => set(&mut out.format, d.string(v)),
        "pattern" => set(&mut out.pattern, d.string(v)),
        "maximum" => out.maximum = d.float64(v),
        "exclusiveMaximum" => out.exclusive_maximum = d.boolean(v).unwrap_or_default(),
        "minimum" => out.minimum = d.float64(v),
        "exclusiveMinimum" => out.exclusive_minimum = d.boolean(v).unwrap_or_default(),
        "uniqueItems" => out.unique_items = d.boolean(v).unwrap_or_default(),
        "maxLength" => out.max_length = d.int64(v),
        "minLength" => out.min_length = d.int64(v),
        "maxItems" => out.max_items = d.int64(v),
        "minItems" => out.min_items = d.int64(v),
        "maxProperties" => out.max_properties = d.int64(v),
        "minProperties" => out.min_properties = d.int64(v),
        "multipleOf" => out.multiple_of = d.float64(v),
        "enum" => {
            let want = format!("[]{}", d.go_type("JSON"));
            out.enum_ = d.list(v, &want, |_, v| v.clone());
        }
        "allOf" => out.all_of = schema_list(d, v),
        "oneOf" => out.one_of = schema_list(d, v),
        "anyOf" => out.any_of = schema_list(d, v),
        "not" => out.not = Some(JSONSchemaProps::decode(d, v).into()),
        _ => unreachable!("only the keys in KEYWORDS are handed out"),
    }
}
