//! Messages of `meta/v1`: metadata, lists, statuses, options, selectors.

use super::{
    Bool, FieldType, Int, Json, Message, Text, Time, each, many, map, one, part, plain, pointer, text, texts,
};

pub(crate) static OBJECT_META: Message = Message {
    fields: &[
        text(1, "name"),
        text(2, "generateName"),
        text(3, "namespace"),
        text(4, "selfLink"),
        text(5, "uid"),
        text(6, "resourceVersion"),
        plain(7, "generation", Int),
        plain(8, "creationTimestamp", Time),
        pointer(9, "deletionTimestamp", Time),
        pointer(10, "deletionGracePeriodSeconds", Int),
        map(11, "labels", Text),
        map(12, "annotations", Text),
        each(13, "ownerReferences", &OWNER_REFERENCE),
        texts(14, "finalizers"),
        each(17, "managedFields", &MANAGED_FIELDS_ENTRY),
    ],
};

static OWNER_REFERENCE: Message = Message {
    fields: &[
        text(1, "kind"),
        text(3, "name"),
        text(4, "uid"),
        text(5, "apiVersion"),
        pointer(6, "controller", Bool),
        pointer(7, "blockOwnerDeletion", Bool),
    ],
};

static MANAGED_FIELDS_ENTRY: Message = Message {
    fields: &[
        text(1, "manager"),
        text(2, "operation"),
        text(3, "apiVersion"),
        pointer(4, "time", Time),
        text(6, "fieldsType"),
        pointer(7, "fieldsV1", Json),
        text(8, "subresource"),
    ],
};

pub(crate) static LIST_META: Message = Message {
    fields: &[
        text(1, "selfLink"),
        text(2, "resourceVersion"),
        text(3, "continue"),
        pointer(4, "remainingItemCount", Int),
    ],
};

pub(crate) static STATUS: Message = Message {
    fields: &[
        part(1, "metadata", &LIST_META),
        text(2, "status"),
        text(3, "message"),
        text(4, "reason"),
        one(5, "details", &STATUS_DETAILS),
        plain(6, "code", Int),
    ],
};

static STATUS_DETAILS: Message = Message {
    fields: &[
        text(1, "name"),
        text(2, "group"),
        text(3, "kind"),
        each(4, "causes", &STATUS_CAUSE),
        plain(5, "retryAfterSeconds", Int),
        text(6, "uid"),
    ],
};

static STATUS_CAUSE: Message = Message { fields: &[text(1, "reason"), text(2, "message"), text(3, "field")] };

pub(crate) static DELETE_OPTIONS: Message = Message {
    fields: &[
        pointer(1, "gracePeriodSeconds", Int),
        one(2, "preconditions", &PRECONDITIONS),
        pointer(3, "orphanDependents", Bool),
        pointer(4, "propagationPolicy", Text),
        texts(5, "dryRun"),
        pointer(6, "ignoreStoreReadErrorWithClusterBreakingPotential", Bool),
    ],
};

static PRECONDITIONS: Message =
    Message { fields: &[pointer(1, "uid", Text), pointer(2, "resourceVersion", Text)] };

pub(crate) static PARTIAL_OBJECT_METADATA: Message = Message { fields: &[part(1, "metadata", &OBJECT_META)] };

pub(super) static LABEL_SELECTOR: Message =
    Message { fields: &[map(1, "matchLabels", Text), each(2, "matchExpressions", &SELECTOR_REQUIREMENT)] };

pub(super) static SELECTOR_REQUIREMENT: Message =
    Message { fields: &[text(1, "key"), text(2, "operator"), many(3, "values", FieldType::Text)] };
