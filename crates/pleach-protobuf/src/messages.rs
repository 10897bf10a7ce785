//! The protobuf messages of the API: one table of numbers, names and types of fields, for reading and writing.
//!
//! The numbers are the public API's, which never change; new fields get new ones. Names are those of JSON.
//! Fields stand in the order of their numbers.

mod admission;
mod apiextensions;
mod core;
mod discovery;
mod meta;
mod rbac;
mod reviews;
mod typed;

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) fields: &'static [Field],
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// Empty for [`Rule::Inline`].
    pub(crate) name: &'static str,
    pub(crate) kind: FieldType,
    pub(crate) rule: Rule,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldType {
    Text,
    Int,
    Bool,
    Double,
    /// Bytes, which JSON has as base64.
    Bytes,
    /// `{1 seconds, 2 nanos}`; whole seconds in JSON.
    Time,
    /// The same; microseconds in JSON.
    MicroTime,
    Message(&'static Message),
    /// `{1 raw}`: a value as JSON text.
    Json,
    /// `{1 text}`: a quantity.
    Quantity,
    /// `{1 type, 2 number, 3 text}`: a number or a text.
    IntOrString,
    /// `{1 items}`: a list of texts that is a message of its own.
    TextList,
    /// `{1 allows, 2 schema}`: a boolean or a schema.
    SchemaOrBool,
    /// `{1 schema, 2 schemas}`: a schema or a list of them.
    SchemaOrList,
    /// `{1 schema, 2 texts}`: a schema or a list of texts.
    SchemaOrTexts,
}

/// How often a field occurs, and what an empty one means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Always there in Go, and always written; JSON leaves it out when it is empty, unless it is a message.
    Plain,
    /// A pointer in Go, there or not: empty is not absent.
    Pointer,
    /// A list.
    Many,
    /// A map from texts: entries are messages `{1 key, 2 value}`.
    Map,
    /// A message whose fields JSON has among those around it.
    Inline,
}

use FieldType::{Bool, Bytes, Double, Int, Json, MicroTime, Text, Time};

const fn field(number: u32, name: &'static str, kind: FieldType, rule: Rule) -> Field {
    Field { number, name, kind, rule }
}

const fn plain(number: u32, name: &'static str, kind: FieldType) -> Field {
    field(number, name, kind, Rule::Plain)
}

const fn pointer(number: u32, name: &'static str, kind: FieldType) -> Field {
    field(number, name, kind, Rule::Pointer)
}

const fn many(number: u32, name: &'static str, kind: FieldType) -> Field {
    field(number, name, kind, Rule::Many)
}

const fn map(number: u32, name: &'static str, kind: FieldType) -> Field {
    field(number, name, kind, Rule::Map)
}

/// A message that is always there.
const fn part(number: u32, name: &'static str, message: &'static Message) -> Field {
    plain(number, name, FieldType::Message(message))
}

/// A message, there or not.
const fn one(number: u32, name: &'static str, message: &'static Message) -> Field {
    pointer(number, name, FieldType::Message(message))
}

/// A list of messages.
const fn each(number: u32, name: &'static str, message: &'static Message) -> Field {
    many(number, name, FieldType::Message(message))
}

const fn text(number: u32, name: &'static str) -> Field {
    plain(number, name, Text)
}

const fn texts(number: u32, name: &'static str) -> Field {
    many(number, name, Text)
}

pub(crate) use apiextensions::JSON_SCHEMA_PROPS;
pub(crate) use meta::{DELETE_OPTIONS, LIST_META, STATUS};

/// The message of a kind; `None` for kinds that have no protobuf form.
pub(crate) fn message(api_version: &str, kind: &str) -> Option<&'static Message> {
    Some(match (api_version, kind) {
        ("v1", "ConfigMap") => &core::CONFIG_MAP,
        ("v1", "Secret") => &core::SECRET,
        ("v1", "ServiceAccount") => &core::SERVICE_ACCOUNT,
        ("v1", "Namespace") => &core::NAMESPACE,
        ("v1", "Event") => &core::CORE_EVENT,
        ("v1", "Status") => &meta::STATUS,
        ("events.k8s.io/v1", "Event") => &core::EVENT,
        ("coordination.k8s.io/v1", "Lease") => &core::LEASE,
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => &apiextensions::DEFINITION_V1,
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition") => &apiextensions::DEFINITION_V1BETA1,
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration") => {
            &admission::MUTATING_CONFIGURATION
        }
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") => {
            &admission::VALIDATING_CONFIGURATION
        }
        ("authentication.k8s.io/v1", "SelfSubjectReview") => &reviews::SELF_REVIEW,
        ("authentication.k8s.io/v1", "TokenRequest") => &reviews::TOKEN_REQUEST,
        ("authentication.k8s.io/v1", "TokenReview") => &reviews::TOKEN_REVIEW,
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview") => &reviews::SELF_ACCESS_REVIEW,
        ("authorization.k8s.io/v1", "SubjectAccessReview" | "LocalSubjectAccessReview") => {
            &reviews::ACCESS_REVIEW
        }
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => &reviews::RULES_REVIEW,
        ("rbac.authorization.k8s.io/v1", "Role") => &rbac::ROLE,
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => &rbac::CLUSTER_ROLE,
        ("rbac.authorization.k8s.io/v1", "RoleBinding" | "ClusterRoleBinding") => &rbac::BINDING,
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadata") => &meta::PARTIAL_OBJECT_METADATA,
        ("" | "v1", "APIVersions") => &discovery::VERSIONS,
        ("" | "v1", "APIResourceList") => &discovery::RESOURCE_LIST,
        ("v1", "APIGroupList") => &discovery::GROUP_LIST,
        ("v1", "APIGroup") => &discovery::GROUP,
        ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList") => &discovery::AGGREGATED,
        _ => return typed::message(pleach_pipeline::kinds::type_name(api_version, kind)?),
    })
}

/// Every kind that is stored, with its version.
#[cfg(test)]
pub(crate) const STORED: [(&str, &str); 11] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "Namespace"),
    ("v1", "Event"),
    ("events.k8s.io/v1", "Event"),
    ("coordination.k8s.io/v1", "Lease"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
];
