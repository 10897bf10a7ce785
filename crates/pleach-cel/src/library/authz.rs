//! The authorization library. Its types exist in rules of CRDs, but without a variable of such a type;
//! match conditions of webhooks have an `authorizer`.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{Authz, CelValue, Fault, Opaque};
use pleach_meta::names::{is_dns1123_label, is_dns1123_subdomain};

/// Authorization checks.
pub(super) static LIBRARY: Library = Library { name: "authz", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "allowed",
        call: Some(allowed),
        overloads: &[Overload::member(
            "decision_allowed",
            &[T::Message("kubernetes.authorization.Decision")],
            T::Bool,
        )
        .since(27)],
    },
    Function {
        name: "check",
        call: Some(check),
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
        call: Some(no_text),
        overloads: &[Overload::member(
            "decision_error",
            &[T::Message("kubernetes.authorization.Decision")],
            T::String,
        )
        .since(27)],
    },
    Function {
        name: "errored",
        call: Some(never),
        overloads: &[Overload::member(
            "decision_errored",
            &[T::Message("kubernetes.authorization.Decision")],
            T::Bool,
        )
        .since(27)],
    },
    Function {
        name: "fieldSelector",
        call: Some(narrow),
        overloads: &[Overload::member(
            "authorizer_fieldselector",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )],
    },
    Function {
        name: "group",
        call: Some(group),
        overloads: &[Overload::member(
            "authorizer_group",
            &[T::Message("kubernetes.authorization.Authorizer"), T::String],
            T::Message("kubernetes.authorization.GroupCheck"),
        )
        .since(27)],
    },
    Function {
        name: "labelSelector",
        call: Some(narrow),
        overloads: &[Overload::member(
            "authorizer_labelselector",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )],
    },
    Function {
        name: "name",
        call: Some(narrow),
        overloads: &[Overload::member(
            "resourcecheck_name",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
    Function {
        name: "namespace",
        call: Some(narrow),
        overloads: &[Overload::member(
            "resourcecheck_namespace",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
    Function {
        name: "path",
        call: Some(path),
        overloads: &[Overload::member(
            "authorizer_path",
            &[T::Message("kubernetes.authorization.Authorizer"), T::String],
            T::Message("kubernetes.authorization.PathCheck"),
        )
        .since(27)],
    },
    Function {
        name: "reason",
        call: Some(no_text),
        overloads: &[Overload::member(
            "decision_reason",
            &[T::Message("kubernetes.authorization.Decision")],
            T::String,
        )
        .since(27)],
    },
    Function {
        name: "resource",
        call: Some(resource),
        overloads: &[Overload::member(
            "groupcheck_resource",
            &[T::Message("kubernetes.authorization.GroupCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
    Function {
        name: "serviceAccount",
        call: Some(service_account),
        overloads: &[Overload::member(
            "authorizer_serviceaccount",
            &[T::Message("kubernetes.authorization.Authorizer"), T::String, T::String],
            T::Message("kubernetes.authorization.Authorizer"),
        )
        .since(27)],
    },
    Function {
        name: "subresource",
        call: Some(narrow),
        overloads: &[Overload::member(
            "resourcecheck_subresource",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

fn own(value: &CelValue<'_>) -> Option<Authz> {
    match value {
        CelValue::Opaque(value) => match &**value {
            Opaque::Authz(authz) => Some(*authz),
            _ => None,
        },
        _ => None,
    }
}

fn step<'v>(authz: Authz) -> CelValue<'v> {
    CelValue::opaque(Opaque::Authz(authz))
}

fn path<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(path)] if let Some(Authz::Authorizer(may)) = own(of) => {
            if path.as_str().is_empty() {
                return Err(Fault::fixed("path must not be empty"));
            }
            Ok(step(Authz::Path(may)))
        }
        _ => call.no_such_overload(args),
    }
}

fn group<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(_)] if let Some(Authz::Authorizer(may)) = own(of) => {
            Ok(step(Authz::Group(may)))
        }
        _ => call.no_such_overload(args),
    }
}

/// Another user, without any permissions.
fn service_account<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(namespace), CelValue::String(name)]
            if let Some(Authz::Authorizer(_)) = own(of) =>
        {
            if !is_dns1123_subdomain(name.as_str()) {
                return Err(Fault::fixed("Invalid service account name"));
            }
            if !is_dns1123_label(namespace.as_str()) {
                return Err(Fault::fixed("Invalid service account namespace"));
            }
            Ok(step(Authz::Authorizer(false)))
        }
        _ => call.no_such_overload(args),
    }
}

fn resource<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(resource)] if let Some(Authz::Group(may)) = own(of) => {
            if resource.as_str().is_empty() {
                return Err(Fault::fixed("resource must not be empty"));
            }
            Ok(step(Authz::Resource(may)))
        }
        _ => call.no_such_overload(args),
    }
}

/// Narrows the check.
fn narrow<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(_)] if let Some(Authz::Resource(may)) = own(of) => {
            Ok(step(Authz::Resource(may)))
        }
        _ => call.no_such_overload(args),
    }
}

fn check<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(_)] if let Some(Authz::Path(may) | Authz::Resource(may)) = own(of) => {
            Ok(step(Authz::Decision(may)))
        }
        _ => call.no_such_overload(args),
    }
}

fn allowed<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of] if let Some(Authz::Decision(may)) = own(of) => Ok(CelValue::Bool(may)),
        _ => call.no_such_overload(args),
    }
}

/// There are never errors.
fn never<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of] if let Some(Authz::Decision(_)) = own(of) => Ok(CelValue::Bool(false)),
        _ => call.no_such_overload(args),
    }
}

/// There are never reasons.
fn no_text<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of] if let Some(Authz::Decision(_)) = own(of) => Ok(CelValue::string("")),
        _ => call.no_such_overload(args),
    }
}
