//! Messages of `rbac.authorization.k8s.io`.

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::{Message, each, one, part, text, texts};

pub(super) static ROLE: Message =
    Message { fields: &[part(1, "metadata", &OBJECT_META), each(2, "rules", &POLICY_RULE)] };

pub(super) static CLUSTER_ROLE: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        each(2, "rules", &POLICY_RULE),
        one(3, "aggregationRule", &AGGREGATION_RULE),
    ],
};

static POLICY_RULE: Message = Message {
    fields: &[
        texts(1, "verbs"),
        texts(2, "apiGroups"),
        texts(3, "resources"),
        texts(4, "resourceNames"),
        texts(5, "nonResourceURLs"),
    ],
};

static AGGREGATION_RULE: Message = Message { fields: &[each(1, "clusterRoleSelectors", &LABEL_SELECTOR)] };

/// Of both kinds of bindings.
pub(super) static BINDING: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        each(2, "subjects", &SUBJECT),
        part(3, "roleRef", &ROLE_REFERENCE),
    ],
};

static SUBJECT: Message =
    Message { fields: &[text(1, "kind"), text(2, "apiGroup"), text(3, "name"), text(4, "namespace")] };

static ROLE_REFERENCE: Message = Message { fields: &[text(1, "apiGroup"), text(2, "kind"), text(3, "name")] };
