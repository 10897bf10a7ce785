//! The Go types of the API as data: one table for decoding and encoding, server-side apply, strategic merge patches,
//! protobuf and published documents.
//!
//! The table is a text that `scripts/kind-types` writes from the API's Go modules and OpenAPI documents. A type is
//! parsed when it is first used, so kinds that are not used cost nothing.

mod decoding;

use std::collections::HashMap;
use std::sync::OnceLock;

use pleach_go::json::Omit;
use pleach_json::Value;

pub use decoding::{blank, check, go_root, go_struct, zero};

static TABLE: &str = include_str!("table.txt");

/// A struct.
#[derive(Debug)]
pub struct TypeDef {
    /// `core/v1.Pod`
    pub name: &'static str,
    /// Owned as a whole in server-side apply.
    pub atomic: bool,
    /// In the order of declaration.
    pub fields: Vec<FieldDef>,
    /// The names of the fields.
    pub keys: Vec<&'static str>,
}

/// A field of a struct.
#[derive(Debug)]
pub struct FieldDef {
    /// The JSON key; for an embedded struct its name in Go.
    pub name: &'static str,
    /// Its type.
    pub ty: TypeExpr,
    /// When it is left out.
    pub omit: Omit,
    /// The protobuf field number, 0 if it has none.
    pub number: u32,
    /// Its fields are among those of the struct around it.
    pub embedded: bool,
    /// The keys of a list that is a map in server-side apply.
    pub list_keys: Vec<&'static str>,
    /// A list that is a set in server-side apply.
    pub set: bool,
    /// A map or struct that is owned as a whole.
    pub atomic: bool,
    /// A struct that is owned field by field although its type is owned as a whole elsewhere.
    pub granular: bool,
    /// The merge key of strategic merge patches.
    pub merge_key: Option<&'static str>,
    /// The patch strategy: `merge`, `replace`, `retainKeys`, `merge,retainKeys`.
    pub patch: &'static str,
    /// The published default, as JSON.
    pub default: Option<&'static str>,
    /// Published as required.
    pub required: bool,
}

/// A type as a field has it.
#[derive(Clone, Debug)]
pub enum TypeExpr {
    /// A string; its Go type's name.
    String(&'static str),
    /// `bool`
    Bool,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `float64`
    Float64,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// `resource.Quantity`
    Quantity,
    /// `intstr.IntOrString`
    IntOrString,
    /// Any JSON.
    Raw,
    /// `[]byte`
    Bytes,
    /// A named list of strings, which protobuf has as a message.
    Texts,
    /// `map[string]T`
    Map(Box<TypeExpr>),
    /// `[]T`
    List(Box<TypeExpr>),
    /// `*T`
    Pointer(Box<TypeExpr>),
    /// `JSONSchemaPropsOrBool`
    SchemaOrBool,
    /// `JSONSchemaPropsOrArray`
    SchemaOrList,
    /// `JSONSchemaPropsOrStringArray`
    SchemaOrTexts,
    /// A struct of the table.
    Struct(&'static str),
}

impl FieldDef {
    /// Whether a value is left out of the encoding: `omitempty`. A pointer is left out if it is null.
    pub fn leaves_out(&self, value: &Value) -> bool {
        self.omit != Omit::Never
            && match (&self.ty, value) {
                (_, Value::Null) => true,
                (TypeExpr::Pointer(_), _) => false,
                (_, Value::Bool(value)) => !value,
                (_, Value::Int(value)) => *value == 0,
                (_, Value::Float(value)) => *value == 0.0,
                (_, Value::String(value)) => value.is_empty(),
                (_, Value::Array(items)) => items.is_empty(),
                (_, Value::Object(members)) => members.is_empty(),
            }
    }
}

impl TypeExpr {
    /// The name that Go gives the type in errors of decoding, pointers left out. `package` is that of structs.
    pub fn go_name(&self, package: &str) -> String {
        match self {
            Self::String(name) => (*name).to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Float64 => "float64".to_owned(),
            Self::Time | Self::MicroTime => "string".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Texts => "[]string".to_owned(),
            Self::Raw => format!("{package}.JSON"),
            Self::Map(of) => format!("map[string]{}", of.go_name(package)),
            Self::List(of) => format!("[]{}", of.go_name(package)),
            Self::Pointer(to) => to.go_name(package),
            Self::SchemaOrBool => format!("{package}.JSONSchemaPropsOrBool"),
            Self::SchemaOrList => format!("{package}.JSONSchemaPropsOrArray"),
            Self::SchemaOrTexts => format!("{package}.JSONSchemaPropsOrStringArray"),
            Self::Struct(name) => format!("{package}.{}", name.rsplit('.').next().unwrap_or(name)),
        }
    }

    fn parse(text: &'static str) -> Self {
        if let Some(rest) = text.strip_prefix('*') {
            return Self::Pointer(Box::new(Self::parse(rest)));
        }
        if let Some(rest) = text.strip_prefix("[]") {
            return Self::List(Box::new(Self::parse(rest)));
        }
        if let Some(rest) = text.strip_prefix("{}") {
            return Self::Map(Box::new(Self::parse(rest)));
        }
        match text {
            "string" => Self::String("string"),
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "float64" => Self::Float64,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "quantity" => Self::Quantity,
            "intorstring" => Self::IntOrString,
            "raw" => Self::Raw,
            "bytes" => Self::Bytes,
            "texts" => Self::Texts,
            "schemaorbool" => Self::SchemaOrBool,
            "schemaorlist" => Self::SchemaOrList,
            "schemaortexts" => Self::SchemaOrTexts,
            _ => match text.strip_prefix("string:") {
                Some(name) => Self::String(name),
                None => Self::Struct(text),
            },
        }
    }

    /// A type that Go's `omitempty` never leaves out.
    fn is_never_empty(&self) -> bool {
        matches!(self, Self::Time | Self::MicroTime | Self::Quantity | Self::IntOrString | Self::Struct(_))
    }
}

struct Entry {
    text: &'static str,
    parsed: OnceLock<TypeDef>,
}

fn index() -> &'static HashMap<&'static str, Entry> {
    static INDEX: OnceLock<HashMap<&'static str, Entry>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = HashMap::new();
        let mut rest = TABLE;
        while !rest.is_empty() {
            // A type's text ends before the next line that is not indented.
            let end = rest.as_bytes().windows(2).position(|pair| pair[0] == b'\n' && pair[1] != b'\t');
            let (text, after) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            let name = text.split([' ', '\n']).next().unwrap_or_default();
            index.insert(name, Entry { text, parsed: OnceLock::new() });
            rest = after;
        }
        index
    })
}

/// The struct of that name: `core/v1.Pod`.
pub fn get(name: &str) -> Option<&'static TypeDef> {
    let entry = index().get(name)?;
    Some(entry.parsed.get_or_init(|| parse(entry.text)))
}

/// The struct of a kind, or of another body with `apiVersion` and `kind`.
pub fn of_kind(api_version: &str, kind: &str) -> Option<&'static TypeDef> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let package = match group.split_once('.') {
        None if group.is_empty() => "core",
        None if group != "core" => group,
        Some((package, "k8s.io" | "authorization.k8s.io")) if package != "core" => package,
        _ => return None,
    };
    let def = get(&format!("{package}/{version}.{kind}"))?;
    def.fields.iter().any(|field| field.name == "apiVersion" && field.number == 0).then_some(def)
}

/// All names in the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    index().keys().copied()
}

fn parse(text: &'static str) -> TypeDef {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default();
    let (name, atomic) = heading.split_once(' ').map_or((heading, false), |(name, _)| (name, true));
    let fields: Vec<FieldDef> = lines.map(field).collect();
    let keys = fields.iter().map(|field| field.name).collect();
    TypeDef { name, atomic, fields, keys }
}

fn field(line: &'static str) -> FieldDef {
    let mut parts = line.trim_start().split('\t');
    let mut next = || parts.next().unwrap_or_default();
    let (name, ty, omit, number) = (next(), TypeExpr::parse(next()), next(), next());
    let embedded = name.starts_with('@');
    let mut field = FieldDef {
        name: name.trim_start_matches('@'),
        omit: match omit {
            "z" => Omit::Zero,
            "e" if !ty.is_never_empty() => Omit::Empty,
            _ => Omit::Never,
        },
        ty,
        number: number.parse().unwrap_or_default(),
        embedded,
        list_keys: Vec::new(),
        set: false,
        atomic: false,
        granular: false,
        merge_key: None,
        patch: "",
        default: None,
        required: false,
    };
    for option in parts {
        match option.split_once('=') {
            Some(("list", keys)) => field.list_keys = keys.split(',').collect(),
            Some(("key", key)) => field.merge_key = Some(key),
            Some(("patch", strategy)) => field.patch = strategy,
            Some(("default", value)) => field.default = Some(value),
            _ => match option {
                "set" => field.set = true,
                "atomic" => field.atomic = true,
                "granular" => field.granular = true,
                "required" => field.required = true,
                _ => {}
            },
        }
    }
    field
}

impl TypeDef {
    /// The field of that JSON key, not of embedded structs.
    pub fn field(&self, key: &str) -> Option<&FieldDef> {
        self.fields.iter().find(|field| field.name == key)
    }

    /// The fields as JSON has them, embedded structs opened; with the names of the embedded structs, outermost first and
    /// joined by dots.
    pub fn flat(&self) -> Vec<(String, &'static FieldDef)>
    where
        Self: 'static,
    {
        let this: &'static Self = get(self.name).expect("a type of the table");
        let mut out = Vec::new();
        for field in &this.fields {
            match (&field.ty, field.embedded) {
                (TypeExpr::Struct(name), true) => {
                    let inner = get(name).into_iter().flat_map(Self::flat);
                    let named = |inside: &str| match inside {
                        "" => field.name.to_owned(),
                        inside => format!("{}.{inside}", field.name),
                    };
                    out.extend(inner.map(|(inside, inner)| (named(&inside), inner)));
                }
                _ => out.push((String::new(), field)),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_whole() {
        fn check(ty: &TypeExpr) {
            match ty {
                TypeExpr::Struct(name) => assert!(get(name).is_some(), "{name} is missing"),
                TypeExpr::Map(of) | TypeExpr::List(of) | TypeExpr::Pointer(of) => check(of),
                _ => {}
            }
        }
        for name in names() {
            let def = get(name).unwrap();
            let may_be_empty = ["Source", "SubresourceStatus"].iter().any(|end| name.ends_with(end));
            assert!(!def.fields.is_empty() || may_be_empty, "{name} has fields");
            def.fields.iter().for_each(|field| check(&field.ty));
            let mut numbers: Vec<u32> = def.fields.iter().map(|f| f.number).filter(|n| *n != 0).collect();
            numbers.sort_unstable();
            assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{name} has a number twice");
            assert!(go_struct(name).is_some());
        }
    }

    #[test]
    fn kinds_are_found_by_their_api_version() {
        let name = |api_version, kind| of_kind(api_version, kind).map(|def| def.name);
        for (api_version, kind, want) in [
            ("v1", "Pod", Some("core/v1.Pod")),
            ("apps/v1", "Deployment", Some("apps/v1.Deployment")),
            ("rbac.authorization.k8s.io/v1", "Role", Some("rbac/v1.Role")),
            ("meta.k8s.io/v1", "PartialObjectMetadata", Some("meta/v1.PartialObjectMetadata")),
            ("v1", "Container", None),
            ("core/v1", "Pod", None),
            ("core.k8s.io/v1", "Pod", None),
            ("apps.example.com/v1", "Deployment", None),
            ("apps/v2", "Deployment", None),
        ] {
            assert_eq!(name(api_version, kind), want, "{api_version} {kind}");
        }
    }

    #[test]
    fn embedded_structs_are_opened() {
        let volume = get("core/v1.Volume").unwrap().flat();
        assert_eq!(volume[0].0, "");
        let embedded = |fields: &[(String, &FieldDef)], name: &str| -> Option<String> {
            fields.iter().find(|(_, field)| field.name == name).map(|(embedded, _)| embedded.clone())
        };
        assert_eq!(embedded(&volume, "emptyDir").as_deref(), Some("VolumeSource"));
        let rule = get("admissionregistration/v1.NamedRuleWithOperations").unwrap().flat();
        assert_eq!(embedded(&rule, "operations").as_deref(), Some("RuleWithOperations"));
        assert_eq!(embedded(&rule, "resources").as_deref(), Some("RuleWithOperations.Rule"));
    }
}
