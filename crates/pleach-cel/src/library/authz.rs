//! The authorization library. Its types exist in rules of CRDs, but without a variable of such a type; admission
//! policies and match conditions of webhooks have an `authorizer`.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{Authz, AuthzDecision, CelValue, CheckedResource, Fault, Opaque};
use pleach_json::Str;
use pleach_meta::names::{is_dns1123_label, is_dns1123_subdomain};
use std::sync::Arc;

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
        call: Some(error),
        overloads: &[Overload::member(
            "decision_error",
            &[T::Message("kubernetes.authorization.Decision")],
            T::String,
        )
        .since(27)],
    },
    Function {
        name: "errored",
        call: Some(errored),
        overloads: &[Overload::member(
            "decision_errored",
            &[T::Message("kubernetes.authorization.Decision")],
            T::Bool,
        )
        .since(27)],
    },
    Function {
        name: "fieldSelector",
        call: Some(field_selector),
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
        call: Some(label_selector),
        overloads: &[Overload::member(
            "authorizer_labelselector",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )],
    },
    Function {
        name: "name",
        call: Some(name),
        overloads: &[Overload::member(
            "resourcecheck_name",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
    Function {
        name: "namespace",
        call: Some(namespace),
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
        call: Some(reason),
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
        call: Some(subresource),
        overloads: &[Overload::member(
            "resourcecheck_subresource",
            &[T::Message("kubernetes.authorization.ResourceCheck"), T::String],
            T::Message("kubernetes.authorization.ResourceCheck"),
        )
        .since(27)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

fn own<'x>(value: &'x CelValue<'_>) -> Option<&'x Authz> {
    match value {
        CelValue::Opaque(value) => match &**value {
            Opaque::Authz(authz) => Some(authz),
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
        [of, CelValue::String(path)] if let Some(Authz::Authorizer(user)) = own(of) => {
            if path.as_str().is_empty() {
                return Err(Fault::fixed("path must not be empty"));
            }
            Ok(step(Authz::Path(user.clone(), path.as_str().into())))
        }
        _ => call.no_such_overload(args),
    }
}

fn group<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(group)] if let Some(Authz::Authorizer(user)) = own(of) => {
            Ok(step(Authz::Group(user.clone(), group.as_str().into())))
        }
        _ => call.no_such_overload(args),
    }
}

/// The permissions of a service account instead of the user's.
fn service_account<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(namespace), CelValue::String(name)]
            if let Some(Authz::Authorizer(user)) = own(of) =>
        {
            if !is_dns1123_subdomain(name.as_str()) {
                return Err(Fault::fixed("Invalid service account name"));
            }
            if !is_dns1123_label(namespace.as_str()) {
                return Err(Fault::fixed("Invalid service account namespace"));
            }
            Ok(step(Authz::Authorizer(user.service_account(namespace.as_str(), name.as_str()))))
        }
        _ => call.no_such_overload(args),
    }
}

fn resource<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [of, CelValue::String(resource)] if let Some(Authz::Group(user, group)) = own(of) => {
            if resource.as_str().is_empty() {
                return Err(Fault::fixed("resource must not be empty"));
            }
            let resource = resource.as_str().into();
            let resource = CheckedResource { group: group.clone(), resource, ..CheckedResource::default() };
            Ok(step(Authz::Resource(user.clone(), Arc::new(resource))))
        }
        _ => call.no_such_overload(args),
    }
}

/// Narrows the check of a resource.
fn narrow<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    set: impl FnOnce(&mut CheckedResource, Str),
) -> Outcome<'v> {
    match args {
        [of, CelValue::String(text)] if let Some(Authz::Resource(user, resource)) = own(of) => {
            let mut resource = (**resource).clone();
            set(&mut resource, text.as_str().into());
            Ok(step(Authz::Resource(user.clone(), Arc::new(resource))))
        }
        _ => call.no_such_overload(args),
    }
}

fn field_selector<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    narrow(call, args, |resource, text| resource.field_selector = text)
}

fn label_selector<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    narrow(call, args, |resource, text| resource.label_selector = text)
}

fn name<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    narrow(call, args, |resource, text| resource.name = text)
}

fn namespace<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    narrow(call, args, |resource, text| resource.namespace = text)
}

fn subresource<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    narrow(call, args, |resource, text| resource.subresource = text)
}

fn check<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let decision = match args {
        [of, CelValue::String(verb)] => match own(of) {
            Some(Authz::Path(user, path)) => user.check(verb.as_str(), Some(path), None),
            Some(Authz::Resource(user, resource)) => user.check(verb.as_str(), None, Some(resource)),
            _ => return call.no_such_overload(args),
        },
        _ => return call.no_such_overload(args),
    };
    Ok(step(Authz::Decision(Arc::new(decision))))
}

/// A property of a decision.
fn of_decision<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    get: impl FnOnce(&AuthzDecision) -> CelValue<'v>,
) -> Outcome<'v> {
    match args {
        [of] if let Some(Authz::Decision(decision)) = own(of) => Ok(get(decision)),
        _ => call.no_such_overload(args),
    }
}

fn allowed<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    of_decision(call, args, |decision| CelValue::Bool(decision.allowed))
}

fn errored<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    of_decision(call, args, |decision| CelValue::Bool(decision.error.is_some()))
}

fn error<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    of_decision(call, args, |decision| CelValue::string(decision.error.clone().unwrap_or_default()))
}

fn reason<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    of_decision(call, args, |decision| CelValue::string(decision.reason.clone()))
}
