//! The protobuf messages of the built-in kinds: numbers, names and shapes of their fields.
//!
//! The numbers are the public API's, which never change; new fields get new ones.

/// The fields of a message.
pub(crate) type Message = &'static [Field];

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u64,
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Text that JSON leaves out when it is empty.
    Text,
    /// Text that is there or not, empty or not.
    TextPointer,
    /// A number that JSON leaves out when it is 0.
    Int,
    /// A number that is there or not.
    IntPointer,
    Bool,
    /// Bytes, which JSON has as base64 and leaves out when there are none.
    Bytes,
    Time,
    MicroTime,
    One(Message),
    /// A message whose fields JSON has among those around it.
    Inline(Message),
    Many(Message),
    Texts,
    TextByKey,
    BytesByKey,
    FieldsV1,
}

use Shape::{
    Bool, Bytes, BytesByKey, FieldsV1, Inline, Int, IntPointer, Many, MicroTime, One, Text, TextByKey,
    TextPointer, Texts, Time,
};

const fn f(number: u64, name: &'static str, shape: Shape) -> Field {
    Field { number, name, shape }
}

/// The message of a kind.
pub(crate) fn message(api_version: &str, kind: &str) -> Option<Message> {
    Some(match (api_version, kind) {
        ("v1", "ConfigMap") => CONFIG_MAP,
        ("v1", "Secret") => SECRET,
        ("v1", "ServiceAccount") => SERVICE_ACCOUNT,
        ("v1", "Namespace") => NAMESPACE,
        ("v1", "Event") => CORE_EVENT,
        ("events.k8s.io/v1", "Event") => EVENT,
        ("coordination.k8s.io/v1", "Lease") => LEASE,
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration") => MUTATING_CONFIGURATION,
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") => VALIDATING_CONFIGURATION,
        ("authentication.k8s.io/v1", "SelfSubjectReview") => METADATA_ONLY,
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview") => SELF_ACCESS_REVIEW,
        ("authorization.k8s.io/v1", "SubjectAccessReview" | "LocalSubjectAccessReview") => ACCESS_REVIEW,
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => RULES_REVIEW,
        // Options name the group and version of the kind they are for.
        (_, "DeleteOptions") => DELETE_OPTIONS,
        _ => return None,
    })
}

const OBJECT_META: Message = &[
    f(1, "name", Text),
    f(2, "generateName", Text),
    f(3, "namespace", Text),
    f(4, "selfLink", Text),
    f(5, "uid", Text),
    f(6, "resourceVersion", Text),
    f(7, "generation", Int),
    f(8, "creationTimestamp", Time),
    f(9, "deletionTimestamp", Time),
    f(10, "deletionGracePeriodSeconds", IntPointer),
    f(11, "labels", TextByKey),
    f(12, "annotations", TextByKey),
    f(13, "ownerReferences", Many(OWNER_REFERENCE)),
    f(14, "finalizers", Texts),
    f(17, "managedFields", Many(MANAGED_FIELDS_ENTRY)),
];

const OWNER_REFERENCE: Message = &[
    f(1, "kind", Text),
    f(3, "name", Text),
    f(4, "uid", Text),
    f(5, "apiVersion", Text),
    f(6, "controller", Bool),
    f(7, "blockOwnerDeletion", Bool),
];

const MANAGED_FIELDS_ENTRY: Message = &[
    f(1, "manager", Text),
    f(2, "operation", Text),
    f(3, "apiVersion", Text),
    f(4, "time", Time),
    f(6, "fieldsType", Text),
    f(7, "fieldsV1", FieldsV1),
    f(8, "subresource", Text),
];

const OBJECT_REFERENCE: Message = &[
    f(1, "kind", Text),
    f(2, "namespace", Text),
    f(3, "name", Text),
    f(4, "uid", Text),
    f(5, "apiVersion", Text),
    f(6, "resourceVersion", Text),
    f(7, "fieldPath", Text),
];

const METADATA_ONLY: Message = &[f(1, "metadata", One(OBJECT_META))];

const CONFIG_MAP: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(2, "data", TextByKey),
    f(3, "binaryData", BytesByKey),
    f(4, "immutable", Bool),
];

const SECRET: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(2, "data", BytesByKey),
    f(3, "type", Text),
    f(4, "stringData", TextByKey),
    f(5, "immutable", Bool),
];

const SERVICE_ACCOUNT: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(2, "secrets", Many(OBJECT_REFERENCE)),
    f(3, "imagePullSecrets", Many(&[f(1, "name", Text)])),
    f(4, "automountServiceAccountToken", Bool),
];

const NAMESPACE: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(2, "spec", One(&[f(1, "finalizers", Texts)])),
    f(3, "status", One(&[f(1, "phase", Text), f(2, "conditions", Many(CONDITION))])),
];

const CONDITION: Message = &[
    f(1, "type", Text),
    f(2, "status", Text),
    f(4, "lastTransitionTime", Time),
    f(5, "reason", Text),
    f(6, "message", Text),
];

const LEASE: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(
        2,
        "spec",
        One(&[
            f(1, "holderIdentity", TextPointer),
            f(2, "leaseDurationSeconds", IntPointer),
            f(3, "acquireTime", MicroTime),
            f(4, "renewTime", MicroTime),
            f(5, "leaseTransitions", IntPointer),
            f(6, "strategy", TextPointer),
            f(7, "preferredHolder", TextPointer),
        ]),
    ),
];

const MUTATING_CONFIGURATION: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(
        2,
        "webhooks",
        Many(&[
            f(1, "name", Text),
            f(2, "clientConfig", One(CLIENT_CONFIG)),
            f(3, "rules", Many(RULE)),
            f(4, "failurePolicy", TextPointer),
            f(5, "namespaceSelector", One(LABEL_SELECTOR)),
            f(6, "sideEffects", TextPointer),
            f(7, "timeoutSeconds", IntPointer),
            f(8, "admissionReviewVersions", Texts),
            f(9, "matchPolicy", TextPointer),
            f(10, "reinvocationPolicy", TextPointer),
            f(11, "objectSelector", One(LABEL_SELECTOR)),
            f(12, "matchConditions", Many(MATCH_CONDITION)),
        ]),
    ),
];

const VALIDATING_CONFIGURATION: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(
        2,
        "webhooks",
        Many(&[
            f(1, "name", Text),
            f(2, "clientConfig", One(CLIENT_CONFIG)),
            f(3, "rules", Many(RULE)),
            f(4, "failurePolicy", TextPointer),
            f(5, "namespaceSelector", One(LABEL_SELECTOR)),
            f(6, "sideEffects", TextPointer),
            f(7, "timeoutSeconds", IntPointer),
            f(8, "admissionReviewVersions", Texts),
            f(9, "matchPolicy", TextPointer),
            f(10, "objectSelector", One(LABEL_SELECTOR)),
            f(11, "matchConditions", Many(MATCH_CONDITION)),
        ]),
    ),
];

const CLIENT_CONFIG: Message = &[
    f(
        1,
        "service",
        One(&[
            f(1, "namespace", Text),
            f(2, "name", Text),
            f(3, "path", TextPointer),
            f(4, "port", IntPointer),
        ]),
    ),
    f(2, "caBundle", Bytes),
    f(3, "url", TextPointer),
];

const RULE: Message = &[
    f(1, "operations", Texts),
    f(
        2,
        "",
        Inline(&[
            f(1, "apiGroups", Texts),
            f(2, "apiVersions", Texts),
            f(3, "resources", Texts),
            f(4, "scope", TextPointer),
        ]),
    ),
];

const LABEL_SELECTOR: Message = &[
    f(1, "matchLabels", TextByKey),
    f(2, "matchExpressions", Many(&[f(1, "key", Text), f(2, "operator", Text), f(3, "values", Texts)])),
];

const MATCH_CONDITION: Message = &[f(1, "name", Text), f(2, "expression", Text)];

const EVENT_SOURCE: Message = &[f(1, "component", Text), f(2, "host", Text)];

const EVENT_SERIES: Message = &[f(1, "count", Int), f(2, "lastObservedTime", MicroTime)];

const CORE_EVENT: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(2, "involvedObject", One(OBJECT_REFERENCE)),
    f(3, "reason", Text),
    f(4, "message", Text),
    f(5, "source", One(EVENT_SOURCE)),
    f(6, "firstTimestamp", Time),
    f(7, "lastTimestamp", Time),
    f(8, "count", Int),
    f(9, "type", Text),
    f(10, "eventTime", MicroTime),
    f(11, "series", One(EVENT_SERIES)),
    f(12, "action", Text),
    f(13, "related", One(OBJECT_REFERENCE)),
    f(14, "reportingComponent", Text),
    f(15, "reportingInstance", Text),
];

const EVENT: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(2, "eventTime", MicroTime),
    f(3, "series", One(EVENT_SERIES)),
    f(4, "reportingController", Text),
    f(5, "reportingInstance", Text),
    f(6, "action", Text),
    f(7, "reason", Text),
    f(8, "regarding", One(OBJECT_REFERENCE)),
    f(9, "related", One(OBJECT_REFERENCE)),
    f(10, "note", Text),
    f(11, "type", Text),
    f(12, "deprecatedSource", One(EVENT_SOURCE)),
    f(13, "deprecatedFirstTimestamp", Time),
    f(14, "deprecatedLastTimestamp", Time),
    f(15, "deprecatedCount", Int),
];

const RESOURCE_ATTRIBUTES: Message = &[
    f(1, "namespace", Text),
    f(2, "verb", Text),
    f(3, "group", Text),
    f(4, "version", Text),
    f(5, "resource", Text),
    f(6, "subresource", Text),
    f(7, "name", Text),
];

const NON_RESOURCE_ATTRIBUTES: Message = &[f(1, "path", Text), f(2, "verb", Text)];

const SELF_ACCESS_REVIEW: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(
        2,
        "spec",
        One(&[
            f(1, "resourceAttributes", One(RESOURCE_ATTRIBUTES)),
            f(2, "nonResourceAttributes", One(NON_RESOURCE_ATTRIBUTES)),
        ]),
    ),
];

const ACCESS_REVIEW: Message = &[
    f(1, "metadata", One(OBJECT_META)),
    f(
        2,
        "spec",
        One(&[
            f(1, "resourceAttributes", One(RESOURCE_ATTRIBUTES)),
            f(2, "nonResourceAttributes", One(NON_RESOURCE_ATTRIBUTES)),
            f(3, "user", Text),
            f(4, "groups", Texts),
            f(6, "uid", Text),
        ]),
    ),
];

const RULES_REVIEW: Message =
    &[f(1, "metadata", One(OBJECT_META)), f(2, "spec", One(&[f(1, "namespace", Text)]))];

const DELETE_OPTIONS: Message = &[
    f(1, "gracePeriodSeconds", IntPointer),
    f(2, "preconditions", One(&[f(1, "uid", TextPointer), f(2, "resourceVersion", TextPointer)])),
    f(3, "orphanDependents", Bool),
    f(4, "propagationPolicy", TextPointer),
    f(5, "dryRun", Texts),
];
