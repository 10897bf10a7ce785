//! The schemas that documents publish for the table's types: one for each type, which others refer to.

use std::collections::BTreeMap;

use pleach_go::json::Omit;
use pleach_json::{Map, Value, json};

use super::schema::struct_schema;
use super::{FieldDef, TypeDef, TypeExpr, get};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// The published schema of a type, and those of the types it refers to, by name; none if the table has no such type.
///
/// They do not depend on the version of OpenAPI: a `$ref` is a full name and may have siblings, defaults are given, and
/// a `type` beside a `oneOf` is what versions without `oneOf` say.
pub fn published(name: &'static str) -> Option<(Value, Vec<(String, Value)>)> {
    let mut components = Components::default();
    let own = components.of_struct(get(name)?);
    Some((own, components.made.into_iter().collect()))
}

#[derive(Default)]
struct Components {
    made: BTreeMap<String, Value>,
}

impl Components {
    /// A reference to a type that is published under a name of its own.
    fn reference(&mut self, name: String, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.made.contains_key(&name) {
            // Known before it is made: types may refer to themselves.
            self.made.insert(name.clone(), Value::Null);
            let made = make(self);
            self.made.insert(name.clone(), made);
        }
        json!({"$ref": name})
    }

    fn of_struct(&mut self, def: &'static TypeDef) -> Value {
        let mut schema = struct_schema(def, |field| self.of_field(field));
        if schema.get("properties").and_then(Value::as_object).is_some_and(Map::is_empty) {
            schema.remove("properties");
        }
        schema.into()
    }

    fn of_field(&mut self, field: &'static FieldDef) -> Value {
        let mut schema = self.of_type(&field.ty);
        let Some(members) = schema.as_object_mut() else { return schema };
        let given = field.default.and_then(|text| pleach_json::parse(text.as_bytes()).ok());
        let is_struct = matches!(field.ty, TypeExpr::Struct(_));
        let zero = if is_struct || field.omit == Omit::Never { zero(&field.ty) } else { None };
        if let Some(default) = given.or(zero) {
            members.insert("default", default);
        }
        if matches!(field.ty, TypeExpr::List(_)) {
            let list_type = match field {
                _ if field.set => "set",
                _ if field.list_keys.is_empty() => "atomic",
                _ => "map",
            };
            members.insert("x-kubernetes-list-type", list_type);
        }
        if !field.list_keys.is_empty() {
            let keys: Vec<Value> = field.list_keys.iter().map(|key| Value::from(*key)).collect();
            members.insert("x-kubernetes-list-map-keys", keys);
        }
        if field.atomic || field.granular {
            let owned = if field.atomic { "atomic" } else { "granular" };
            members.insert("x-kubernetes-map-type", owned);
        }
        if let Some(key) = field.merge_key {
            members.insert("x-kubernetes-patch-merge-key", key);
        }
        if !field.patch.is_empty() {
            members.insert("x-kubernetes-patch-strategy", field.patch);
        }
        schema
    }

    fn of_type(&mut self, ty: &'static TypeExpr) -> Value {
        match ty {
            TypeExpr::String(_) => json!({"type": "string"}),
            TypeExpr::Bytes => json!({"type": "string", "format": "byte"}),
            TypeExpr::Bool => json!({"type": "boolean"}),
            TypeExpr::Int32 => json!({"type": "integer", "format": "int32"}),
            TypeExpr::Int64 => json!({"type": "integer", "format": "int64"}),
            TypeExpr::Float64 => json!({"type": "number", "format": "double"}),
            TypeExpr::Time => json!({"$ref": (format!("{META}.Time"))}),
            TypeExpr::MicroTime => self.reference(
                format!("{META}.MicroTime"),
                |_| json!({"type": "string", "format": "date-time"}),
            ),
            TypeExpr::Quantity => self.reference(
                QUANTITY.to_owned(),
                |_| json!({"type": "string", "oneOf": [{"type": "string"}, {"type": "number"}]}),
            ),
            TypeExpr::IntOrString => self.reference(
                INT_OR_STRING.to_owned(),
                |_| json!({"type": "string", "format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}),
            ),
            TypeExpr::Raw => self.reference(RAW.to_owned(), |_| json!({"type": "object"})),
            TypeExpr::Texts => json!({"type": "array", "items": {"type": "string", "default": ""}}),
            TypeExpr::Map(of) => json!({"type": "object", "additionalProperties": (self.of_element(of))}),
            TypeExpr::List(of) => json!({"type": "array", "items": (self.of_element(of))}),
            TypeExpr::Pointer(to) => self.of_type(to),
            // CRDs have a description of their own.
            TypeExpr::SchemaOrBool | TypeExpr::SchemaOrList | TypeExpr::SchemaOrTexts => Value::object(),
            TypeExpr::Struct(name) => match get(name) {
                Some(def) => self.reference(component_name(name), |components| components.of_struct(def)),
                None => json!({"type": "object"}),
            },
        }
    }

    /// An element of a list or map, which is never left out.
    fn of_element(&mut self, ty: &'static TypeExpr) -> Value {
        let mut schema = self.of_type(ty);
        if let (Some(members), Some(zero)) = (schema.as_object_mut(), zero(ty)) {
            members.insert("default", zero);
        }
        schema
    }
}

/// The value of a field without pointer before it is set, as it is published.
fn zero(ty: &TypeExpr) -> Option<Value> {
    match ty {
        TypeExpr::String(_) => Some("".into()),
        TypeExpr::Bool => Some(false.into()),
        TypeExpr::Int32 | TypeExpr::Int64 | TypeExpr::Float64 => Some(0.into()),
        TypeExpr::Struct(_) => Some(Value::object()),
        _ => None,
    }
}

/// `core/v1.Pod` as documents name it.
fn component_name(name: &str) -> String {
    let (package, short) = name.split_once('.').unwrap_or(("", name));
    let package = package.replace('/', ".");
    match package.split('.').next() {
        Some("meta") => format!("{META}.{short}"),
        Some("apiregistration") => format!("io.k8s.kube-aggregator.pkg.apis.{package}.{short}"),
        _ => format!("io.k8s.api.{package}.{short}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_refer_to_each_other_by_name() {
        let (own, others) = published("core/v1.Pod").unwrap();
        let spec = json!({"$ref": "io.k8s.api.core.v1.PodSpec", "default": {}});
        assert_eq!(own.at(&["properties", "spec"]), Some(&spec));
        let find = |name: &str| &others.iter().find(|(known, _)| known == name).unwrap().1;
        let container = find("io.k8s.api.core.v1.Container");
        let ports = json!({
            "type": "array",
            "items": {"$ref": "io.k8s.api.core.v1.ContainerPort", "default": {}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
            "x-kubernetes-patch-merge-key": "containerPort",
            "x-kubernetes-patch-strategy": "merge",
        });
        assert_eq!(container.at(&["properties", "ports"]), Some(&ports));
        assert_eq!(container.get("required"), Some(&json!(["name"])));
        let name = json!({"type": "string", "default": ""});
        assert_eq!(container.at(&["properties", "name"]), Some(&name), "never left out");
        assert_eq!(container.at(&["properties", "image"]), Some(&json!({"type": "string"})));
        assert!(others.iter().all(|(name, schema)| !schema.is_null() && name.starts_with("io.k8s.")));
        assert!(published("core/v1.Nothing").is_none());
    }
}
