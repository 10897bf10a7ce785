//! Authorization checks. The types exist in rules of a CRD, but no variable has one of them.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Authorization checks. The types exist in rules of a CRD, but no variable has one of them.
pub(super) static LIBRARY: Library = Library { name: "authz", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "allowed",
        call: None,
        overloads: &[Overload::member(
            "decision_allowed",
            &[T::Message("kubernetes.authorization.Decision")],
            T::Bool,
        )
        .since(27)],
    },
    Function {
        name: "check",
        call: None,
        overloads: &[
            Overload::member(
                "pathcheck_check",
                &[T::Message("kubernetes.authorization.PathCheck"), T::String],
                T::Message("kubernetes.authorization.Decision"),
            )
            .since(27)
            .cost(StaticCost::AuthzCheck),
            Overload::member(
                "resourcecheck_check",
                &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
                T::Message("kubernetes.authorization.Decision"),
            )
            .since(27)
            .cost(StaticCost::AuthzCheck),
        ],
    },
    Function {
        name: "error",
        call: None,
        overloads: &[Overload::member(
            "decision_error",
            &[T::Message("kubernetes.authorization.Decision")],
            T::String,
        )
        .since(27)],
    },
    Function {
        name: "errored",
        call: None,
        overloads: &[Overload::member(
            "decision_errored",
            &[T::Message("kubernetes.authorization.Decision")],
            T::Bool,
        )
        .since(27)],
    },
    Function {
        name: "fieldSelector",
        call: None,
        overloads: &[Overload::member(
            "authorizer_fieldselector",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )],
    },
    Function {
        name: "group",
        call: None,
        overloads: &[Overload::member(
            "authorizer_group",
            &[T::Message("kubernetes.authorization.Authorizer"), T::String],
            T::Message("kubernetes.authorization.GroupCheck"),
        )
        .since(27)],
    },
    Function {
        name: "labelSelector",
        call: None,
        overloads: &[Overload::member(
            "authorizer_labelselector",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )],
    },
    Function {
        name: "name",
        call: None,
        overloads: &[Overload::member(
            "resourcecheck_name",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
    Function {
        name: "namespace",
        call: None,
        overloads: &[Overload::member(
            "resourcecheck_namespace",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
    Function {
        name: "path",
        call: None,
        overloads: &[Overload::member(
            "authorizer_path",
            &[T::Message("kubernetes.authorization.Authorizer"), T::String],
            T::Message("kubernetes.authorization.PathCheck"),
        )
        .since(27)],
    },
    Function {
        name: "reason",
        call: None,
        overloads: &[Overload::member(
            "decision_reason",
            &[T::Message("kubernetes.authorization.Decision")],
            T::String,
        )
        .since(27)],
    },
    Function {
        name: "resource",
        call: None,
        overloads: &[Overload::member(
            "groupcheck_resource",
            &[T::Message("kubernetes.authorization.GroupCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
    Function {
        name: "serviceAccount",
        call: None,
        overloads: &[Overload::member(
            "authorizer_serviceaccount",
            &[T::Message("kubernetes.authorization.Authorizer"), T::String, T::String],
            T::Message("kubernetes.authorization.Authorizer"),
        )
        .since(27)],
    },
    Function {
        name: "subresource",
        call: None,
        overloads: &[Overload::member(
            "resourcecheck_subresource",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
];
