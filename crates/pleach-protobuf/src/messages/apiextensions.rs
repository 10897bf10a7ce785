//! Messages of `apiextensions.k8s.io`, in both versions: CustomResourceDefinition and its schema.

use super::admission::CLIENT_CONFIG;
use super::meta::OBJECT_META;
use super::{
    Bool, Double, FieldType, Int, Json, Message, Text, Time, each, many, map, one, part, plain, pointer,
    text, texts,
};

pub(super) static DEFINITION_V1: Message = Message {
    fields: &[part(1, "metadata", &OBJECT_META), part(2, "spec", &SPEC_V1), part(3, "status", &STATUS)],
};

pub(super) static DEFINITION_V1BETA1: Message = Message {
    fields: &[part(1, "metadata", &OBJECT_META), part(2, "spec", &SPEC_V1BETA1), part(3, "status", &STATUS)],
};

static SPEC_V1: Message = Message {
    fields: &[
        text(1, "group"),
        part(3, "names", &NAMES),
        text(4, "scope"),
        each(7, "versions", &VERSION_V1),
        one(9, "conversion", &CONVERSION_V1),
        plain(10, "preserveUnknownFields", Bool),
    ],
};

static SPEC_V1BETA1: Message = Message {
    fields: &[
        text(1, "group"),
        text(2, "version"),
        part(3, "names", &NAMES),
        text(4, "scope"),
        one(5, "validation", &VALIDATION),
        one(6, "subresources", &SUBRESOURCES),
        each(7, "versions", &VERSION_V1BETA1),
        each(8, "additionalPrinterColumns", &COLUMN_V1BETA1),
        one(9, "conversion", &CONVERSION_V1BETA1),
        pointer(10, "preserveUnknownFields", Bool),
        each(11, "selectableFields", &SELECTABLE_FIELD),
    ],
};

static NAMES: Message = Message {
    fields: &[
        text(1, "plural"),
        text(2, "singular"),
        texts(3, "shortNames"),
        text(4, "kind"),
        text(5, "listKind"),
        texts(6, "categories"),
    ],
};

static VERSION_V1: Message = Message {
    fields: &[
        text(1, "name"),
        plain(2, "served", Bool),
        plain(3, "storage", Bool),
        one(4, "schema", &VALIDATION),
        one(5, "subresources", &SUBRESOURCES),
        each(6, "additionalPrinterColumns", &COLUMN_V1),
        plain(7, "deprecated", Bool),
        pointer(8, "deprecationWarning", Text),
        each(9, "selectableFields", &SELECTABLE_FIELD),
    ],
};

static VERSION_V1BETA1: Message = Message {
    fields: &[
        text(1, "name"),
        plain(2, "served", Bool),
        plain(3, "storage", Bool),
        one(4, "schema", &VALIDATION),
        one(5, "subresources", &SUBRESOURCES),
        each(6, "additionalPrinterColumns", &COLUMN_V1BETA1),
        plain(7, "deprecated", Bool),
        pointer(8, "deprecationWarning", Text),
        each(9, "selectableFields", &SELECTABLE_FIELD),
    ],
};

static VALIDATION: Message = Message { fields: &[one(1, "openAPIV3Schema", &JSON_SCHEMA_PROPS)] };

static SUBRESOURCES: Message =
    Message { fields: &[one(1, "status", &SUBRESOURCE_STATUS), one(2, "scale", &SUBRESOURCE_SCALE)] };

static SUBRESOURCE_STATUS: Message = Message { fields: &[] };

static SUBRESOURCE_SCALE: Message = Message {
    fields: &[
        text(1, "specReplicasPath"),
        text(2, "statusReplicasPath"),
        pointer(3, "labelSelectorPath", Text),
    ],
};

static COLUMN_V1: Message = Message {
    fields: &[
        text(1, "name"),
        text(2, "type"),
        text(3, "format"),
        text(4, "description"),
        plain(5, "priority", Int),
        text(6, "jsonPath"),
    ],
};

static COLUMN_V1BETA1: Message = Message {
    fields: &[
        text(1, "name"),
        text(2, "type"),
        text(3, "format"),
        text(4, "description"),
        plain(5, "priority", Int),
        text(6, "JSONPath"),
    ],
};

static SELECTABLE_FIELD: Message = Message { fields: &[text(1, "jsonPath")] };

static CONVERSION_V1: Message =
    Message { fields: &[text(1, "strategy"), one(2, "webhook", &WEBHOOK_CONVERSION)] };

static WEBHOOK_CONVERSION: Message =
    Message { fields: &[one(2, "clientConfig", &CLIENT_CONFIG), texts(3, "conversionReviewVersions")] };

static CONVERSION_V1BETA1: Message = Message {
    fields: &[
        text(1, "strategy"),
        one(2, "webhookClientConfig", &CLIENT_CONFIG),
        texts(3, "conversionReviewVersions"),
    ],
};

static STATUS: Message = Message {
    fields: &[
        each(1, "conditions", &CONDITION),
        part(2, "acceptedNames", &NAMES),
        texts(3, "storedVersions"),
        plain(4, "observedGeneration", Int),
    ],
};

static CONDITION: Message = Message {
    fields: &[
        text(1, "type"),
        text(2, "status"),
        plain(3, "lastTransitionTime", Time),
        text(4, "reason"),
        text(5, "message"),
        plain(6, "observedGeneration", Int),
    ],
};

static EXTERNAL_DOCUMENTATION: Message = Message { fields: &[text(1, "description"), text(2, "url")] };

static VALIDATION_RULE: Message = Message {
    fields: &[
        text(1, "rule"),
        text(2, "message"),
        text(3, "messageExpression"),
        pointer(4, "reason", Text),
        text(5, "fieldPath"),
        pointer(6, "optionalOldSelf", Bool),
    ],
};

pub(crate) static JSON_SCHEMA_PROPS: Message = Message {
    fields: &[
        text(1, "id"),
        text(2, "$schema"),
        pointer(3, "$ref", Text),
        text(4, "description"),
        text(5, "type"),
        text(6, "format"),
        text(7, "title"),
        pointer(8, "default", Json),
        pointer(9, "maximum", Double),
        plain(10, "exclusiveMaximum", Bool),
        pointer(11, "minimum", Double),
        plain(12, "exclusiveMinimum", Bool),
        pointer(13, "maxLength", Int),
        pointer(14, "minLength", Int),
        text(15, "pattern"),
        pointer(16, "maxItems", Int),
        pointer(17, "minItems", Int),
        plain(18, "uniqueItems", Bool),
        pointer(19, "multipleOf", Double),
        many(20, "enum", Json),
        pointer(21, "maxProperties", Int),
        pointer(22, "minProperties", Int),
        texts(23, "required"),
        pointer(24, "items", FieldType::SchemaOrList),
        many(25, "allOf", FieldType::Message(&JSON_SCHEMA_PROPS)),
        many(26, "oneOf", FieldType::Message(&JSON_SCHEMA_PROPS)),
        many(27, "anyOf", FieldType::Message(&JSON_SCHEMA_PROPS)),
        pointer(28, "not", FieldType::Message(&JSON_SCHEMA_PROPS)),
        map(29, "properties", FieldType::Message(&JSON_SCHEMA_PROPS)),
        pointer(30, "additionalProperties", FieldType::SchemaOrBool),
        map(31, "patternProperties", FieldType::Message(&JSON_SCHEMA_PROPS)),
        map(32, "dependencies", FieldType::SchemaOrTexts),
        pointer(33, "additionalItems", FieldType::SchemaOrBool),
        map(34, "definitions", FieldType::Message(&JSON_SCHEMA_PROPS)),
        one(35, "externalDocs", &EXTERNAL_DOCUMENTATION),
        pointer(36, "example", Json),
        plain(37, "nullable", Bool),
        pointer(38, "x-kubernetes-preserve-unknown-fields", Bool),
        plain(39, "x-kubernetes-embedded-resource", Bool),
        plain(40, "x-kubernetes-int-or-string", Bool),
        texts(41, "x-kubernetes-list-map-keys"),
        pointer(42, "x-kubernetes-list-type", Text),
        pointer(43, "x-kubernetes-map-type", Text),
        each(44, "x-kubernetes-validations", &VALIDATION_RULE),
    ],
};
