//! Kinds of `authorization.k8s.io`: SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview and
//! SelfSubjectRulesReview. They are never stored.

use pleach_go::json::{GoStruct, GoType, STRING, always, omitempty};
use pleach_meta::object_meta::OBJECT_META;
use pleach_work::Constant;

use super::unstored::{Unstored, UnstoredGroup};
use crate::kind::Kind;

static GROUP: UnstoredGroup = UnstoredGroup {
    group: "authorization.k8s.io",
    package: "authorization",
    kinds: &[
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
    ],
    other_versions: &["authorization.k8s.io/v1beta1"],
};

macro_rules! review {
    ($constant:ident, $strategy:ident, $type:ident, $kind:literal, $plural:literal, $spec:ident, $status:ident) => {
        #[doc = concat!($kind, ".")]
        pub static $constant: Constant<Kind> = Constant::new(|| $strategy.kind($plural));
        static $strategy: Unstored = Unstored { group: &GROUP, type_: &$type };
        static $type: GoStruct = GoStruct {
            name: $kind,
            package: "v1",
            fields: &[
                omitempty("kind", STRING),
                omitempty("apiVersion", STRING),
                omitempty("metadata", GoType::Struct(&OBJECT_META)),
                always("spec", GoType::Struct(&$spec)),
                omitempty("status", GoType::Struct(&$status)),
            ],
        };
    };
}

review!(
    SUBJECT_ACCESS_REVIEW,
    SUBJECT_STRATEGY,
    SUBJECT_TYPE,
    "SubjectAccessReview",
    "subjectaccessreviews",
    SUBJECT_SPEC,
    ACCESS_STATUS
);
review!(
    LOCAL_SUBJECT_ACCESS_REVIEW,
    LOCAL_STRATEGY,
    LOCAL_TYPE,
    "LocalSubjectAccessReview",
    "localsubjectaccessreviews",
    SUBJECT_SPEC,
    ACCESS_STATUS
);
review!(
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_STRATEGY,
    SELF_TYPE,
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    SELF_SPEC,
    ACCESS_STATUS
);
review!(
    SELF_SUBJECT_RULES_REVIEW,
    RULES_STRATEGY,
    RULES_TYPE,
    "SelfSubjectRulesReview",
    "selfsubjectrulesreviews",
    RULES_SPEC,
    RULES_STATUS
);

const STRINGS: GoType = GoType::Slice(&STRING);

static SUBJECT_SPEC: GoStruct = GoStruct {
    name: "SubjectAccessReviewSpec",
    package: "v1",
    fields: &[
        omitempty("resourceAttributes", GoType::Pointer(&GoType::Struct(&RESOURCE_ATTRIBUTES))),
        omitempty("nonResourceAttributes", GoType::Pointer(&GoType::Struct(&NON_RESOURCE_ATTRIBUTES))),
        omitempty("user", STRING),
        omitempty("groups", STRINGS),
        omitempty("extra", GoType::Map(&STRINGS)),
        omitempty("uid", STRING),
    ],
};

static SELF_SPEC: GoStruct = GoStruct {
    name: "SelfSubjectAccessReviewSpec",
    package: "v1",
    fields: &[
        omitempty("resourceAttributes", GoType::Pointer(&GoType::Struct(&RESOURCE_ATTRIBUTES))),
        omitempty("nonResourceAttributes", GoType::Pointer(&GoType::Struct(&NON_RESOURCE_ATTRIBUTES))),
    ],
};

static RESOURCE_ATTRIBUTES: GoStruct = GoStruct {
    name: "ResourceAttributes",
    package: "v1",
    fields: &[
        omitempty("namespace", STRING),
        omitempty("verb", STRING),
        omitempty("group", STRING),
        omitempty("version", STRING),
        omitempty("resource", STRING),
        omitempty("subresource", STRING),
        omitempty("name", STRING),
        omitempty("fieldSelector", GoType::Pointer(&GoType::Struct(&FIELD_SELECTOR))),
        omitempty("labelSelector", GoType::Pointer(&GoType::Struct(&LABEL_SELECTOR))),
    ],
};

static FIELD_SELECTOR: GoStruct = GoStruct {
    name: "FieldSelectorAttributes",
    package: "v1",
    fields: &[
        omitempty("rawSelector", STRING),
        omitempty("requirements", GoType::Slice(&GoType::Struct(&FIELD_REQUIREMENT))),
    ],
};

static LABEL_SELECTOR: GoStruct = GoStruct {
    name: "LabelSelectorAttributes",
    package: "v1",
    fields: &[
        omitempty("rawSelector", STRING),
        omitempty("requirements", GoType::Slice(&GoType::Struct(&LABEL_REQUIREMENT))),
    ],
};

static FIELD_REQUIREMENT: GoStruct = GoStruct {
    name: "FieldSelectorRequirement",
    package: "v1",
    fields: &[
        always("key", STRING),
        always("operator", GoType::String("v1.FieldSelectorOperator")),
        omitempty("values", STRINGS),
    ],
};

static LABEL_REQUIREMENT: GoStruct = GoStruct {
    name: "LabelSelectorRequirement",
    package: "v1",
    fields: &[
        always("key", STRING),
        always("operator", GoType::String("v1.LabelSelectorOperator")),
        omitempty("values", STRINGS),
    ],
};

static NON_RESOURCE_ATTRIBUTES: GoStruct = GoStruct {
    name: "NonResourceAttributes",
    package: "v1",
    fields: &[omitempty("path", STRING), omitempty("verb", STRING)],
};

static ACCESS_STATUS: GoStruct = GoStruct {
    name: "SubjectAccessReviewStatus",
    package: "v1",
    fields: &[
        always("allowed", GoType::Bool),
        omitempty("denied", GoType::Bool),
        omitempty("reason", STRING),
        omitempty("evaluationError", STRING),
    ],
};

static RULES_SPEC: GoStruct =
    GoStruct { name: "SelfSubjectRulesReviewSpec", package: "v1", fields: &[omitempty("namespace", STRING)] };

static RULES_STATUS: GoStruct = GoStruct {
    name: "SubjectRulesReviewStatus",
    package: "v1",
    fields: &[
        always("resourceRules", GoType::Slice(&GoType::Struct(&RESOURCE_RULE))),
        always("nonResourceRules", GoType::Slice(&GoType::Struct(&NON_RESOURCE_RULE))),
        always("incomplete", GoType::Bool),
        omitempty("evaluationError", STRING),
    ],
};

static RESOURCE_RULE: GoStruct = GoStruct {
    name: "ResourceRule",
    package: "v1",
    fields: &[
        always("verbs", STRINGS),
        omitempty("apiGroups", STRINGS),
        omitempty("resources", STRINGS),
        omitempty("resourceNames", STRINGS),
    ],
};

static NON_RESOURCE_RULE: GoStruct = GoStruct {
    name: "NonResourceRule",
    package: "v1",
    fields: &[always("verbs", STRINGS), omitempty("nonResourceURLs", STRINGS)],
};
