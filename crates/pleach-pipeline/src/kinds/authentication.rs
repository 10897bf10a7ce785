//! Kinds of `authentication.k8s.io` that are never stored: TokenRequest, TokenReview and SelfSubjectReview.

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

static TOKEN_REQUEST_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_name: "authentication/v1.TokenRequest" };
static TOKEN_REVIEW_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_name: "authentication/v1.TokenReview" };
static SELF_SUBJECT_REVIEW_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_name: "authentication/v1.SelfSubjectReview" };

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
