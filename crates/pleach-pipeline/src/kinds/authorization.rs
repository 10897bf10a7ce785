//! Kinds of `authorization.k8s.io`: SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview and
//! SelfSubjectRulesReview. They are never stored.

use pleach_work::Constant;

use super::unstored::{Unstored, UnstoredGroup};
use crate::kind::Kind;

/// The group.
pub const GROUP: &str = "authorization.k8s.io";

static UNSTORED_GROUP: UnstoredGroup = UnstoredGroup {
    group: GROUP,
    package: "authorization",
    kinds: &[
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
    ],
    other_versions: &["authorization.k8s.io/v1beta1"],
};

/// SubjectAccessReview.
pub static SUBJECT_ACCESS_REVIEW: Constant<Kind> =
    Constant::new(|| SUBJECT_STRATEGY.kind("subjectaccessreviews"));
static SUBJECT_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_name: "authorization/v1.SubjectAccessReview" };

/// LocalSubjectAccessReview.
pub static LOCAL_SUBJECT_ACCESS_REVIEW: Constant<Kind> =
    Constant::new(|| LOCAL_STRATEGY.kind("localsubjectaccessreviews"));
static LOCAL_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_name: "authorization/v1.LocalSubjectAccessReview" };

/// SelfSubjectAccessReview.
pub static SELF_SUBJECT_ACCESS_REVIEW: Constant<Kind> =
    Constant::new(|| SELF_STRATEGY.kind("selfsubjectaccessreviews"));
static SELF_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_name: "authorization/v1.SelfSubjectAccessReview" };

/// SelfSubjectRulesReview.
pub static SELF_SUBJECT_RULES_REVIEW: Constant<Kind> =
    Constant::new(|| RULES_STRATEGY.kind("selfsubjectrulesreviews"));
static RULES_STRATEGY: Unstored =
    Unstored { group: &UNSTORED_GROUP, type_name: "authorization/v1.SelfSubjectRulesReview" };
