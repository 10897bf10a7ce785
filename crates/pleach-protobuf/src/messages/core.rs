//! Messages of the core group, `events.k8s.io` and `coordination.k8s.io`.

use super::meta::OBJECT_META;
use super::{
    Bool, Bytes, Int, Message, MicroTime, Text, Time, each, map, one, part, plain, pointer, text, texts,
};

pub(super) static CONFIG_MAP: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        map(2, "data", Text),
        map(3, "binaryData", Bytes),
        pointer(4, "immutable", Bool),
    ],
};

pub(super) static SECRET: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        map(2, "data", Bytes),
        text(3, "type"),
        map(4, "stringData", Text),
        pointer(5, "immutable", Bool),
    ],
};

pub(super) static SERVICE_ACCOUNT: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        each(2, "secrets", &OBJECT_REFERENCE),
        each(3, "imagePullSecrets", &LOCAL_REFERENCE),
        pointer(4, "automountServiceAccountToken", Bool),
    ],
};

static LOCAL_REFERENCE: Message = Message { fields: &[text(1, "name")] };

static OBJECT_REFERENCE: Message = Message {
    fields: &[
        text(1, "kind"),
        text(2, "namespace"),
        text(3, "name"),
        text(4, "uid"),
        text(5, "apiVersion"),
        text(6, "resourceVersion"),
        text(7, "fieldPath"),
    ],
};

pub(super) static NAMESPACE: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        part(2, "spec", &NAMESPACE_SPEC),
        part(3, "status", &NAMESPACE_STATUS),
    ],
};

static NAMESPACE_SPEC: Message = Message { fields: &[texts(1, "finalizers")] };

static NAMESPACE_STATUS: Message =
    Message { fields: &[text(1, "phase"), each(2, "conditions", &NAMESPACE_CONDITION)] };

static NAMESPACE_CONDITION: Message = Message {
    fields: &[
        text(1, "type"),
        text(2, "status"),
        plain(4, "lastTransitionTime", Time),
        text(5, "reason"),
        text(6, "message"),
    ],
};

pub(super) static LEASE: Message =
    Message { fields: &[part(1, "metadata", &OBJECT_META), part(2, "spec", &LEASE_SPEC)] };

static LEASE_SPEC: Message = Message {
    fields: &[
        pointer(1, "holderIdentity", Text),
        pointer(2, "leaseDurationSeconds", Int),
        pointer(3, "acquireTime", MicroTime),
        pointer(4, "renewTime", MicroTime),
        pointer(5, "leaseTransitions", Int),
        pointer(6, "strategy", Text),
        pointer(7, "preferredHolder", Text),
    ],
};

static EVENT_SOURCE: Message = Message { fields: &[text(1, "component"), text(2, "host")] };

static EVENT_SERIES: Message =
    Message { fields: &[plain(1, "count", Int), plain(2, "lastObservedTime", MicroTime)] };

pub(super) static CORE_EVENT: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        part(2, "involvedObject", &OBJECT_REFERENCE),
        text(3, "reason"),
        text(4, "message"),
        part(5, "source", &EVENT_SOURCE),
        plain(6, "firstTimestamp", Time),
        plain(7, "lastTimestamp", Time),
        plain(8, "count", Int),
        text(9, "type"),
        plain(10, "eventTime", MicroTime),
        one(11, "series", &EVENT_SERIES),
        text(12, "action"),
        one(13, "related", &OBJECT_REFERENCE),
        text(14, "reportingComponent"),
        text(15, "reportingInstance"),
    ],
};

pub(super) static EVENT: Message = Message {
    fields: &[
        part(1, "metadata", &OBJECT_META),
        plain(2, "eventTime", MicroTime),
        one(3, "series", &EVENT_SERIES),
        text(4, "reportingController"),
        text(5, "reportingInstance"),
        text(6, "action"),
        text(7, "reason"),
        part(8, "regarding", &OBJECT_REFERENCE),
        one(9, "related", &OBJECT_REFERENCE),
        text(10, "note"),
        text(11, "type"),
        part(12, "deprecatedSource", &EVENT_SOURCE),
        plain(13, "deprecatedFirstTimestamp", Time),
        plain(14, "deprecatedLastTimestamp", Time),
        plain(15, "deprecatedCount", Int),
    ],
};
