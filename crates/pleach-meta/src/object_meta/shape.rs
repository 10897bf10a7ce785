//! The fields of `ObjectMeta`, in the order Go declares them.

use pleach_go::json::{GoStruct, GoType, STRING, always, omitempty, omitzero};

const UID: GoType = GoType::String("types.UID");
const BOOL_POINTER: GoType = GoType::Pointer(&GoType::Bool);
const STRING_MAP: GoType = GoType::Map(&STRING);

/// The `metadata` of an object.
pub static OBJECT_META: GoStruct = GoStruct {
    name: "ObjectMeta",
    package: "v1",
    fields: &[
        omitempty("name", STRING),
        omitempty("generateName", STRING),
        omitempty("namespace", STRING),
        omitempty("selfLink", STRING),
        omitempty("uid", UID),
        omitempty("resourceVersion", STRING),
        omitempty("generation", GoType::Int64),
        omitzero("creationTimestamp", GoType::Time),
        omitempty("deletionTimestamp", GoType::Pointer(&GoType::Time)),
        omitempty("deletionGracePeriodSeconds", GoType::Pointer(&GoType::Int64)),
        omitempty("labels", STRING_MAP),
        omitempty("annotations", STRING_MAP),
        omitempty("ownerReferences", OWNER_REFERENCES),
        omitempty("finalizers", GoType::Slice(&STRING)),
        omitempty("managedFields", MANAGED_FIELDS),
    ],
};

/// One of the `ownerReferences`.
pub static OWNER_REFERENCE: GoStruct = GoStruct {
    name: "OwnerReference",
    package: "v1",
    fields: &[
        always("apiVersion", STRING),
        always("kind", STRING),
        always("name", STRING),
        always("uid", UID),
        omitempty("controller", BOOL_POINTER),
        omitempty("blockOwnerDeletion", BOOL_POINTER),
    ],
};

/// `ownerReferences`
pub const OWNER_REFERENCES: GoType = GoType::Slice(&GoType::Struct(&OWNER_REFERENCE));

/// One of the `managedFields`.
pub static MANAGED_FIELDS_ENTRY: GoStruct = GoStruct {
    name: "ManagedFieldsEntry",
    package: "v1",
    fields: &[
        omitempty("manager", STRING),
        omitempty("operation", GoType::String("v1.ManagedFieldsOperationType")),
        omitempty("apiVersion", STRING),
        omitempty("time", GoType::Pointer(&GoType::Time)),
        omitempty("fieldsType", STRING),
        omitempty("fieldsV1", GoType::Raw),
        omitempty("subresource", STRING),
    ],
};

/// `managedFields`
pub const MANAGED_FIELDS: GoType = GoType::Slice(&GoType::Struct(&MANAGED_FIELDS_ENTRY));
