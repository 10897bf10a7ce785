//! Which policies that mutate run again in the second round.

use std::collections::HashSet;

use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;

/// Policy, binding, and namespace and name of the parameters.
pub type InvocationKey = (Str, Str, Str, Str);

/// Policies with `reinvocationPolicy: IfNeeded` that ran.
#[derive(Debug, Default)]
pub struct Reinvocations {
    /// Invocations since the object was changed.
    invoked: HashSet<InvocationKey>,
    /// Invocations after which the object was changed.
    again: HashSet<InvocationKey>,
}

impl Reinvocations {
    /// Names an invocation.
    pub fn key(policy: &str, binding: &str, params: Option<&Value>) -> InvocationKey {
        let meta = params.map(ObjectMeta::of);
        let text = |text: Option<&str>| text.unwrap_or_default().into();
        (
            policy.into(),
            binding.into(),
            text(meta.map(ObjectMeta::namespace)),
            text(meta.map(ObjectMeta::name)),
        )
    }

    /// The object was changed: policies that ran before run again.
    pub fn changed(&mut self) {
        self.again.extend(self.invoked.drain());
    }

    /// A policy ran that runs again if the object is changed after it.
    pub fn invoked(&mut self, key: InvocationKey) {
        self.invoked.insert(key);
    }

    /// Whether a policy runs again.
    pub fn runs_again(&self, key: &InvocationKey) -> bool {
        self.again.contains(key)
    }
}
