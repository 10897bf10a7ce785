//! Decoding of roles and bindings by upstream's Go types, and the defaults of bindings.

use pleach_go::json::{Decoder, GoField, GoStruct, GoType, STRING, always, omitempty};
use pleach_json::Value;

use super::GROUP;

const STRINGS: GoType = GoType::Slice(&STRING);

/// Decodes a role in place; the paths of unknown fields come back.
pub(super) fn role(namespaced: bool, value: &mut Value) -> Result<Vec<String>, String> {
    decode(value, if namespaced { &ROLE } else { &CLUSTER_ROLE })
}

/// Decodes a binding in place; the paths of unknown fields come back.
pub(super) fn binding(namespaced: bool, value: &mut Value) -> Result<Vec<String>, String> {
    decode(value, if namespaced { &ROLE_BINDING } else { &CLUSTER_ROLE_BINDING })
}

fn decode(value: &mut Value, shape: &'static GoStruct) -> Result<Vec<String>, String> {
    let mut decoder = Decoder::noting_unknown("").with_literal_numbers();
    decoder.decode(value, &GoType::Struct(shape))?;
    Ok(decoder.into_unknown())
}

/// `SetDefaults`: API groups of the role and of users and groups.
pub(super) fn default_binding(object: &mut Value) {
    let is_empty = |value: &Value| value.get("apiGroup").and_then(Value::as_str).is_none_or(str::is_empty);
    let fill = |value: &mut Value| {
        if let Some(members) = value.as_object_mut() {
            members.insert("apiGroup", GROUP);
        }
    };
    if object.get("roleRef").is_some_and(is_empty)
        && let Some(role) = object.get_mut("roleRef")
    {
        fill(role);
    }
    let lacks = |subject: &Value| {
        is_empty(subject) && matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group"))
    };
    let subjects = object.get("subjects").and_then(Value::as_array);
    if subjects.is_some_and(|list| list.iter().any(lacks))
        && let Some(Value::Array(subjects)) = object.get_mut("subjects")
    {
        subjects.iter_mut().filter(|subject| lacks(subject)).for_each(fill);
    }
}

const KIND: GoField = omitempty("kind", STRING);
const API_VERSION: GoField = omitempty("apiVersion", STRING);
/// Decoded before.
const METADATA: GoField = omitempty("metadata", GoType::Raw);
const RULES: GoField = always("rules", GoType::Slice(&RULE));

static ROLE: GoStruct =
    GoStruct { name: "Role", package: "v1", fields: &[KIND, API_VERSION, METADATA, RULES] };

static CLUSTER_ROLE: GoStruct = GoStruct {
    name: "ClusterRole",
    package: "v1",
    fields: &[
        KIND,
        API_VERSION,
        METADATA,
        RULES,
        omitempty("aggregationRule", GoType::Pointer(&AGGREGATION_RULE)),
    ],
};

static RULE: GoType = GoType::Struct(&GoStruct {
    name: "PolicyRule",
    package: "v1",
    fields: &[
        always("verbs", STRINGS),
        omitempty("apiGroups", STRINGS),
        omitempty("resources", STRINGS),
        omitempty("resourceNames", STRINGS),
        omitempty("nonResourceURLs", STRINGS),
    ],
});

static AGGREGATION_RULE: GoType = GoType::Struct(&GoStruct {
    name: "AggregationRule",
    package: "v1",
    fields: &[omitempty("clusterRoleSelectors", GoType::Slice(&LABEL_SELECTOR))],
});

static LABEL_SELECTOR: GoType = GoType::Struct(&GoStruct {
    name: "LabelSelector",
    package: "v1",
    fields: &[
        omitempty("matchLabels", GoType::Map(&STRING)),
        omitempty(
            "matchExpressions",
            GoType::Slice(&GoType::Struct(&GoStruct {
                name: "LabelSelectorRequirement",
                package: "v1",
                fields: &[
                    always("key", STRING),
                    always("operator", GoType::String("v1.LabelSelectorOperator")),
                    omitempty("values", STRINGS),
                ],
            })),
        ),
    ],
});

const SUBJECTS: GoField = omitempty("subjects", GoType::Slice(&SUBJECT));
const ROLE_REF: GoField = always(
    "roleRef",
    GoType::Struct(&GoStruct {
        name: "RoleRef",
        package: "v1",
        fields: &[always("apiGroup", STRING), always("kind", STRING), always("name", STRING)],
    }),
);

static SUBJECT: GoType = GoType::Struct(&GoStruct {
    name: "Subject",
    package: "v1",
    fields: &[
        always("kind", STRING),
        omitempty("apiGroup", STRING),
        always("name", STRING),
        omitempty("namespace", STRING),
    ],
});

static ROLE_BINDING: GoStruct = GoStruct {
    name: "RoleBinding",
    package: "v1",
    fields: &[KIND, API_VERSION, METADATA, SUBJECTS, ROLE_REF],
};

static CLUSTER_ROLE_BINDING: GoStruct = GoStruct {
    name: "ClusterRoleBinding",
    package: "v1",
    fields: &[KIND, API_VERSION, METADATA, SUBJECTS, ROLE_REF],
};
