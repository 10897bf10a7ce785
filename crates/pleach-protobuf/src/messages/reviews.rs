//! Messages of `authentication.k8s.io` and `authorization.k8s.io`.

use super::meta::{OBJECT_META, SELECTOR_REQUIREMENT};
use super::{Bool, FieldType, Message, each, map, one, part, plain, pointer, text, texts};

pub(super) static SELF_REVIEW: Message =
    Message { fields: &[part(1, "metadata", &OBJECT_META), part(2, "status", &SELF_REVIEW_STATUS)] };

static SELF_REVIEW_STATUS: Message = Message { fields: &[part(1, "userInfo", &USER_INFO)] };

static USER_INFO: Message = Message {
    fields: &[text(1, "username"), text(2, "uid"), texts(3, "groups"), map(4, "extra", FieldType::TextList)],
};

pub(super) static TOKEN_REQUEST: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        part(2, "spec", &TOKEN_REQUEST_SPEC),
        part(3, "status", &TOKEN_REQUEST_STATUS),
    ],
};

static TOKEN_REQUEST_SPEC: Message = Message {
    fields: &[
        texts(1, "audiences"),
        one(3, "boundObjectRef", &BOUND_OBJECT_REFERENCE),
        pointer(4, "expirationSeconds", FieldType::Int),
    ],
};

static BOUND_OBJECT_REFERENCE: Message =
    Message { fields: &[text(1, "kind"), text(2, "apiVersion"), text(3, "name"), text(4, "uid")] };

static TOKEN_REQUEST_STATUS: Message =
    Message { fields: &[text(1, "token"), plain(2, "expirationTimestamp", FieldType::Time)] };

pub(super) static TOKEN_REVIEW: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        part(2, "spec", &TOKEN_REVIEW_SPEC),
        part(3, "status", &TOKEN_REVIEW_STATUS),
    ],
};

static TOKEN_REVIEW_SPEC: Message = Message { fields: &[text(1, "token"), texts(2, "audiences")] };

static TOKEN_REVIEW_STATUS: Message = Message {
    fields: &[
        plain(1, "authenticated", Bool),
        part(2, "user", &USER_INFO),
        text(3, "error"),
        texts(4, "audiences"),
    ],
};

pub(super) static SELF_ACCESS_REVIEW: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        part(2, "spec", &SELF_ACCESS_SPEC),
        part(3, "status", &ACCESS_STATUS),
    ],
};

static SELF_ACCESS_SPEC: Message = Message {
    fields: &[
        one(1, "resourceAttributes", &RESOURCE_ATTRIBUTES),
        one(2, "nonResourceAttributes", &NON_RESOURCE_ATTRIBUTES),
    ],
};

pub(super) static ACCESS_REVIEW: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        part(2, "spec", &ACCESS_SPEC),
        part(3, "status", &ACCESS_STATUS),
    ],
};

static ACCESS_SPEC: Message = Message {
    fields: &[
        one(1, "resourceAttributes", &RESOURCE_ATTRIBUTES),
        one(2, "nonResourceAttributes", &NON_RESOURCE_ATTRIBUTES),
        text(3, "user"),
        texts(4, "groups"),
        map(5, "extra", FieldType::TextList),
        text(6, "uid"),
    ],
};

static RESOURCE_ATTRIBUTES: Message = Message {
    fields: &[
        text(1, "namespace"),
        text(2, "verb"),
        text(3, "group"),
        text(4, "version"),
        text(5, "resource"),
        text(6, "subresource"),
        text(7, "name"),
        one(8, "fieldSelector", &SELECTOR_ATTRIBUTES),
        one(9, "labelSelector", &SELECTOR_ATTRIBUTES),
    ],
};

static SELECTOR_ATTRIBUTES: Message =
    Message { fields: &[text(1, "rawSelector"), each(2, "requirements", &SELECTOR_REQUIREMENT)] };

static NON_RESOURCE_ATTRIBUTES: Message = Message { fields: &[text(1, "path"), text(2, "verb")] };

static ACCESS_STATUS: Message = Message {
    fields: &[
        plain(1, "allowed", Bool),
        text(2, "reason"),
        text(3, "evaluationError"),
        plain(4, "denied", Bool),
    ],
};

pub(super) static RULES_REVIEW: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        part(2, "spec", &RULES_SPEC),
        part(3, "status", &RULES_STATUS),
    ],
};

static RULES_SPEC: Message = Message { fields: &[text(1, "namespace")] };

static RULES_STATUS: Message = Message {
    fields: &[
        each(1, "resourceRules", &RESOURCE_RULE),
        each(2, "nonResourceRules", &NON_RESOURCE_RULE),
        plain(3, "incomplete", Bool),
        text(4, "evaluationError"),
    ],
};

static RESOURCE_RULE: Message = Message {
    fields: &[texts(1, "verbs"), texts(2, "apiGroups"), texts(3, "resources"), texts(4, "resourceNames")],
};

static NON_RESOURCE_RULE: Message = Message { fields: &[texts(1, "verbs"), texts(2, "nonResourceURLs")] };
