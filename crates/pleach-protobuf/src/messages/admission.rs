//! Messages of `admissionregistration.k8s.io`.

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::{
    Bytes, FieldType, Int, Message, Rule, Text, each, field, one, part, plain, pointer, text, texts,
};

pub(super) static MUTATING_CONFIGURATION: Message =
    Message { fields: &[part(1, "metadata", &OBJECT_META), each(2, "webhooks", &MUTATING_WEBHOOK)] };

pub(super) static VALIDATING_CONFIGURATION: Message =
    Message { fields: &[part(1, "metadata", &OBJECT_META), each(2, "webhooks", &VALIDATING_WEBHOOK)] };

static MUTATING_WEBHOOK: Message = Message {
    fields: &[
        text(1, "name"),
        part(2, "clientConfig", &CLIENT_CONFIG),
        each(3, "rules", &RULE_WITH_OPERATIONS),
        pointer(4, "failurePolicy", Text),
        one(5, "namespaceSelector", &LABEL_SELECTOR),
        pointer(6, "sideEffects", Text),
        pointer(7, "timeoutSeconds", Int),
        texts(8, "admissionReviewVersions"),
        pointer(9, "matchPolicy", Text),
        pointer(10, "reinvocationPolicy", Text),
        one(11, "objectSelector", &LABEL_SELECTOR),
        each(12, "matchConditions", &MATCH_CONDITION),
    ],
};

static VALIDATING_WEBHOOK: Message = Message {
    fields: &[
        text(1, "name"),
        part(2, "clientConfig", &CLIENT_CONFIG),
        each(3, "rules", &RULE_WITH_OPERATIONS),
        pointer(4, "failurePolicy", Text),
        one(5, "namespaceSelector", &LABEL_SELECTOR),
        pointer(6, "sideEffects", Text),
        pointer(7, "timeoutSeconds", Int),
        texts(8, "admissionReviewVersions"),
        pointer(9, "matchPolicy", Text),
        one(10, "objectSelector", &LABEL_SELECTOR),
        each(11, "matchConditions", &MATCH_CONDITION),
    ],
};

pub(super) static CLIENT_CONFIG: Message = Message {
    fields: &[one(1, "service", &SERVICE_REFERENCE), plain(2, "caBundle", Bytes), pointer(3, "url", Text)],
};

static SERVICE_REFERENCE: Message = Message {
    fields: &[text(1, "namespace"), text(2, "name"), pointer(3, "path", Text), pointer(4, "port", Int)],
};

static RULE_WITH_OPERATIONS: Message =
    Message { fields: &[texts(1, "operations"), field(2, "", FieldType::Message(&RULE), Rule::Inline)] };

static RULE: Message = Message {
    fields: &[
        texts(1, "apiGroups"),
        texts(2, "apiVersions"),
        texts(3, "resources"),
        pointer(4, "scope", Text),
    ],
};

static MATCH_CONDITION: Message = Message { fields: &[text(1, "name"), text(2, "expression")] };
