//! Specs as Go prints upstream's internal structs: exported names in the order of their declaration, every field.
//! Errors about a whole spec quote this text, and specs that print alike are equal.

use std::fmt::Write as _;

use pleach_json::Value;

/// How a field is printed.
enum Shape {
    /// As JSON; the zero value of its Go type if it is absent.
    Plain(&'static str),
    /// A pointer to a scalar, or a list of texts: `null` if it is absent.
    Pointer,
    /// A struct.
    Struct(&'static [Field]),
    /// A pointer to a struct: `null` if it is absent.
    Optional(&'static [Field]),
    /// A list of structs: `null` if it is empty.
    List(&'static [Field]),
}

/// A field: its name in Go, its JSON name, its shape.
type Field = (&'static str, &'static str, Shape);

const NAME: &[Field] = &[("Name", "name", Shape::Plain("\"\""))];

const FLOW_SCHEMA_SPEC: &[Field] = &[
    ("PriorityLevelConfiguration", "priorityLevelConfiguration", Shape::Struct(NAME)),
    ("MatchingPrecedence", "matchingPrecedence", Shape::Plain("0")),
    ("DistinguisherMethod", "distinguisherMethod", Shape::Optional(METHOD)),
    ("Rules", "rules", Shape::List(RULES)),
];

const METHOD: &[Field] = &[("Type", "type", Shape::Plain("\"\""))];

const RULES: &[Field] = &[
    (
        "Subjects",
        "subjects",
        Shape::List(&[
            ("Kind", "kind", Shape::Plain("\"\"")),
            ("User", "user", Shape::Optional(NAME)),
            ("Group", "group", Shape::Optional(NAME)),
            (
                "ServiceAccount",
                "serviceAccount",
                Shape::Optional(&[
                    ("Namespace", "namespace", Shape::Plain("\"\"")),
                    ("Name", "name", Shape::Plain("\"\"")),
                ]),
            ),
        ]),
    ),
    (
        "ResourceRules",
        "resourceRules",
        Shape::List(&[
            ("Verbs", "verbs", Shape::Pointer),
            ("APIGroups", "apiGroups", Shape::Pointer),
            ("Resources", "resources", Shape::Pointer),
            ("ClusterScope", "clusterScope", Shape::Plain("false")),
            ("Namespaces", "namespaces", Shape::Pointer),
        ]),
    ),
    (
        "NonResourceRules",
        "nonResourceRules",
        Shape::List(&[
            ("Verbs", "verbs", Shape::Pointer),
            ("NonResourceURLs", "nonResourceURLs", Shape::Pointer),
        ]),
    ),
];

const PRIORITY_LEVEL_SPEC: &[Field] = &[
    ("Type", "type", Shape::Plain("\"\"")),
    (
        "Limited",
        "limited",
        Shape::Optional(&[
            ("NominalConcurrencyShares", "nominalConcurrencyShares", Shape::Plain("0")),
            (
                "LimitResponse",
                "limitResponse",
                Shape::Struct(&[
                    ("Type", "type", Shape::Plain("\"\"")),
                    (
                        "Queuing",
                        "queuing",
                        Shape::Optional(&[
                            ("Queues", "queues", Shape::Plain("0")),
                            ("HandSize", "handSize", Shape::Plain("0")),
                            ("QueueLengthLimit", "queueLengthLimit", Shape::Plain("0")),
                        ]),
                    ),
                ]),
            ),
            ("LendablePercent", "lendablePercent", Shape::Pointer),
            ("BorrowingLimitPercent", "borrowingLimitPercent", Shape::Pointer),
        ]),
    ),
    (
        "Exempt",
        "exempt",
        Shape::Optional(&[
            ("NominalConcurrencyShares", "nominalConcurrencyShares", Shape::Pointer),
            ("LendablePercent", "lendablePercent", Shape::Pointer),
        ]),
    ),
];

/// The spec of a FlowSchema.
pub(super) fn flow_schema_spec(spec: &Value) -> String {
    printed(spec, FLOW_SCHEMA_SPEC)
}

/// The spec of a PriorityLevelConfiguration.
pub(super) fn priority_level_spec(spec: &Value) -> String {
    printed(spec, PRIORITY_LEVEL_SPEC)
}

/// A distinguisher method.
pub(super) fn method(method: &Value) -> String {
    printed(method, METHOD)
}

fn printed(object: &Value, fields: &[Field]) -> String {
    let mut out = String::from("{");
    for (i, (name, key, shape)) in fields.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let value = object.get(key).filter(|value| !value.is_null());
        let _ = write!(out, "{comma}\"{name}\":{}", field(value, shape));
    }
    out.push('}');
    out
}

fn field(value: Option<&Value>, shape: &Shape) -> String {
    let absent = Value::Null;
    match (shape, value) {
        (Shape::Plain(zero), None) => (*zero).to_owned(),
        (Shape::Pointer | Shape::Optional(_) | Shape::List(_), None) => "null".to_owned(),
        (Shape::Pointer | Shape::List(_), Some(Value::Array(list))) if list.is_empty() => "null".to_owned(),
        (Shape::Plain(_) | Shape::Pointer, Some(value)) => pleach_json::to_string(value),
        (Shape::Struct(fields), value) => printed(value.unwrap_or(&absent), fields),
        (Shape::Optional(fields), Some(value)) => printed(value, fields),
        (Shape::List(fields), Some(value)) => {
            let items = value.as_array().into_iter().flat_map(|items| items.iter());
            let items: Vec<String> = items.map(|item| printed(item, fields)).collect();
            format!("[{}]", items.join(","))
        }
    }
}
