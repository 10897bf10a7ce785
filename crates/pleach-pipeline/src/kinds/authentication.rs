//! Kinds of `authentication.k8s.io` that are never stored: TokenRequest, TokenReview and SelfSubjectReview.

use pleach_go::json::{GoStruct, GoType, STRING, always, omitempty};
use pleach_meta::object_meta::OBJECT_META;
use pleach_work::Constant;

use super::unstored::{Unstored, UnstoredGroup};
use crate::kind::Kind;

/// The group.
pub const GROUP: &str = "authentication.k8s.io";

static UNSTORED_GROUP: UnstoredGroup = UnstoredGroup {
    group: GROUP,
    package: "authentication",
    kinds: &["SelfSubjectReview", "TokenRequest", "TokenReview"],
    other_versions: &["authentication.k8s.io/v1alpha1", "authentication.k8s.io/v1beta1"],
};

/// TokenRequest: asks for a token of a service account.
pub static TOKEN_REQUEST: Constant<Kind> = Constant::new(|| TOKEN_REQUEST_STRATEGY.kind("tokenrequests"));

/// TokenReview: asks for the user of a token.
pub static TOKEN_REVIEW: Constant<Kind> = Constant::new(|| TOKEN_REVIEW_STRATEGY.kind("tokenreviews"));

/// SelfSubjectReview: asks for the user of the request.
pub static SELF_SUBJECT_REVIEW: Constant<Kind> =
    Constant::new(|| SELF_SUBJECT_REVIEW_STRATEGY.kind("selfsubjectreviews"));

static TOKEN_REQUEST_STRATEGY: Unstored = Unstored { group: &UNSTORED_GROUP, type_: &TOKEN_REQUEST_TYPE };
static TOKEN_REVIEW_STRATEGY: Unstored = Unstored { group: &UNSTORED_GROUP, type_: &TOKEN_REVIEW_TYPE };
static SELF_SUBJECT_REVIEW_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_: &SELF_SUBJECT_REVIEW_TYPE };

const STRINGS: GoType = GoType::Slice(&STRING);
const INT64: GoType = GoType::Int64;

static TOKEN_REQUEST_TYPE: GoStruct = GoStruct {
    name: "TokenRequest",
    package: "v1",
    fields: &[
        omitempty("kind", STRING),
        omitempty("apiVersion", STRING),
        omitempty("metadata", GoType::Struct(&OBJECT_META)),
        always("spec", GoType::Struct(&TOKEN_REQUEST_SPEC)),
        omitempty("status", GoType::Struct(&TOKEN_REQUEST_STATUS)),
    ],
};

static TOKEN_REQUEST_SPEC: GoStruct = GoStruct {
    name: "TokenRequestSpec",
    package: "v1",
    fields: &[
        always("audiences", STRINGS),
        always("expirationSeconds", GoType::Pointer(&INT64)),
        always("boundObjectRef", GoType::Pointer(&GoType::Struct(&BOUND_OBJECT_REFERENCE))),
    ],
};

static BOUND_OBJECT_REFERENCE: GoStruct = GoStruct {
    name: "BoundObjectReference",
    package: "v1",
    fields: &[
        omitempty("kind", STRING),
        omitempty("apiVersion", STRING),
        omitempty("name", STRING),
        omitempty("uid", GoType::String("types.UID")),
    ],
};

static TOKEN_REQUEST_STATUS: GoStruct = GoStruct {
    name: "TokenRequestStatus",
    package: "v1",
    fields: &[always("token", STRING), always("expirationTimestamp", GoType::Time)],
};

static TOKEN_REVIEW_TYPE: GoStruct = GoStruct {
    name: "TokenReview",
    package: "v1",
    fields: &[
        omitempty("kind", STRING),
        omitempty("apiVersion", STRING),
        omitempty("metadata", GoType::Struct(&OBJECT_META)),
        always("spec", GoType::Struct(&TOKEN_REVIEW_SPEC)),
        omitempty("status", GoType::Struct(&TOKEN_REVIEW_STATUS)),
    ],
};

static TOKEN_REVIEW_SPEC: GoStruct = GoStruct {
    name: "TokenReviewSpec",
    package: "v1",
    fields: &[omitempty("token", STRING), omitempty("audiences", STRINGS)],
};

static TOKEN_REVIEW_STATUS: GoStruct = GoStruct {
    name: "TokenReviewStatus",
    package: "v1",
    fields: &[
        omitempty("authenticated", GoType::Bool),
        omitempty("user", GoType::Struct(&USER_INFO)),
        omitempty("audiences", STRINGS),
        omitempty("error", STRING),
    ],
};

static USER_INFO: GoStruct = GoStruct {
    name: "UserInfo",
    package: "v1",
    fields: &[
        omitempty("username", STRING),
        omitempty("uid", STRING),
        omitempty("groups", STRINGS),
        omitempty("extra", GoType::Map(&STRINGS)),
    ],
};

static SELF_SUBJECT_REVIEW_TYPE: GoStruct = GoStruct {
    name: "SelfSubjectReview",
    package: "v1",
    fields: &[
        omitempty("kind", STRING),
        omitempty("apiVersion", STRING),
        omitempty("metadata", GoType::Struct(&OBJECT_META)),
        omitempty("status", GoType::Struct(&SELF_SUBJECT_REVIEW_STATUS)),
    ],
};

static SELF_SUBJECT_REVIEW_STATUS: GoStruct = GoStruct {
    name: "SelfSubjectReviewStatus",
    package: "v1",
    fields: &[omitempty("userInfo", GoType::Struct(&USER_INFO))],
};

#[cfg(test)]
mod tests {
    use pleach_json::{Hints, Value, json, to_vec};

    use super::*;
    use crate::body::{Body, FieldValidation, Format};
    use crate::decode::decode;
    use crate::resource::Resource;

    fn read(kind: &Kind, body: &Value, validation: FieldValidation) -> Result<Value, String> {
        let body = Body { bytes: to_vec(body).into(), format: Format::Json };
        let decoded = decode(Resource::new(kind, 0), &body, validation, Hints::default(), &mut Vec::new());
        decoded.map(crate::settle::Settled::into_value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_token_request_may_leave_everything_out() {
        let spec = json!({"audiences": null, "expirationSeconds": null, "boundObjectRef": null});
        for body in [json!({}), json!({"spec": null}), json!({"kind": "TokenRequest", "spec": {}})] {
            let read = read(&TOKEN_REQUEST, &body, FieldValidation::Warn).unwrap();
            assert_eq!(read.get("spec"), Some(&spec), "{body:?}");
        }
    }

    #[test]
    fn unknown_fields_and_wrong_types_are_refused_as_upstream_does() {
        let unknown = json!({"spec": {"token": "x", "audience": "a"}});
        assert_eq!(
            read(&TOKEN_REVIEW, &unknown, FieldValidation::Strict).unwrap_err(),
            "TokenReview in version \"v1\" cannot be handled as a TokenReview: strict decoding error: unknown field \"spec.audience\""
        );
        let wrong = json!({"spec": {"expirationSeconds": "x"}});
        assert_eq!(
            read(&TOKEN_REQUEST, &wrong, FieldValidation::Warn).unwrap_err(),
            "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: json: cannot unmarshal string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64"
        );
    }
}
