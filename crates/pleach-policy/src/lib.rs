//! Admission policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings.
//!
//! A policy is compiled once from its stored object ([`Policy::read`]), a binding likewise ([`Binding::read`]). What is
//! left for a request is matching ([`MatchResources`]), evaluation ([`Policy::validate`]) and mutation
//! ([`Policy::mutate`]). Nothing here waits, reads a store or a clock: objects, parameters and the authorizer are
//! handed in, by the engine for requests and by the command line for files.
//!
//! Behaviour and texts are those of kube-apiserver's admission plugins of the same names.

mod authorizer;
mod binding;
mod evaluate;
mod matching;
pub mod messages;
mod mutate;
mod native;
mod policy;
mod reinvocation;
mod request;
mod rules;
mod variables;

pub use authorizer::RequestAuthorizer;
pub use binding::{Action, Binding, NO_PARAMS, ParamChoice, ParamRef};
pub use evaluate::{Annotation, Condition, Cost, Decision, Denial, Input, Validated};
pub use matching::MatchResources;
pub use mutate::{Mutated, MutationError, PatchType};
pub use policy::{
    Expression, FailurePolicy, Mutation, ParamKind, Policy, Validation, compiled_on_this_thread,
};
pub use reinvocation::{InvocationKey, Reinvocations};
pub use request::{
    AdmissionRequest, GroupVersion, Operation, admission_request, condition_request, namespace_object,
    user_info,
};
pub use rules::{Rule, selects_namespace, selects_object, texts};

/// The error of expressions that together cost too much.
pub const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
/// The cost limit of all match conditions of one policy or webhook.
pub const CONDITIONS_BUDGET: i64 = 2_500_000;

#[cfg(test)]
mod tests;
