//! Messages of discovery, old and aggregated.

use super::meta::{LIST_META, OBJECT_META};
use super::{Bool, FieldType, Message, each, one, part, plain, pointer, text, texts};

pub(super) static VERSIONS: Message =
    Message { fields: &[texts(1, "versions"), each(2, "serverAddressByClientCIDRs", &SERVER_ADDRESS)] };

static SERVER_ADDRESS: Message = Message { fields: &[text(1, "clientCIDR"), text(2, "serverAddress")] };

pub(super) static GROUP_LIST: Message = Message { fields: &[each(1, "groups", &GROUP)] };

pub(super) static GROUP: Message = Message {
    fields: &[
        text(1, "name"),
        each(2, "versions", &GROUP_VERSION),
        part(3, "preferredVersion", &GROUP_VERSION),
        each(4, "serverAddressByClientCIDRs", &SERVER_ADDRESS),
    ],
};

static GROUP_VERSION: Message = Message { fields: &[text(1, "groupVersion"), text(2, "version")] };

pub(super) static RESOURCE_LIST: Message =
    Message { fields: &[text(1, "groupVersion"), each(2, "resources", &RESOURCE)] };

static RESOURCE: Message = Message {
    fields: &[
        text(1, "name"),
        plain(2, "namespaced", Bool),
        text(3, "kind"),
        pointer(4, "verbs", FieldType::TextList),
        texts(5, "shortNames"),
        text(6, "singularName"),
        texts(7, "categories"),
        text(8, "group"),
        text(9, "version"),
        text(10, "storageVersionHash"),
    ],
};

pub(super) static AGGREGATED: Message =
    Message { fields: &[part(1, "metadata", &LIST_META), each(2, "items", &AGGREGATED_GROUP)] };

static AGGREGATED_GROUP: Message =
    Message { fields: &[part(1, "metadata", &OBJECT_META), each(2, "versions", &AGGREGATED_VERSION)] };

static AGGREGATED_VERSION: Message = Message {
    fields: &[text(1, "version"), each(2, "resources", &AGGREGATED_RESOURCE), text(3, "freshness")],
};

static AGGREGATED_RESOURCE: Message = Message {
    fields: &[
        text(1, "resource"),
        one(2, "responseKind", &GROUP_VERSION_KIND),
        text(3, "scope"),
        text(4, "singularResource"),
        texts(5, "verbs"),
        texts(6, "shortNames"),
        texts(7, "categories"),
        each(8, "subresources", &AGGREGATED_SUBRESOURCE),
    ],
};

static AGGREGATED_SUBRESOURCE: Message = Message {
    fields: &[
        text(1, "subresource"),
        one(2, "responseKind", &GROUP_VERSION_KIND),
        each(3, "acceptedTypes", &GROUP_VERSION_KIND),
        texts(4, "verbs"),
    ],
};

static GROUP_VERSION_KIND: Message =
    Message { fields: &[text(1, "group"), text(2, "version"), text(3, "kind")] };
