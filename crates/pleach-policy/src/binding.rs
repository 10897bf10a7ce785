//! A binding of a policy, as it is stored.

use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::selector::LabelSelector;

use crate::matching::{MatchResources, selector};
use crate::rules::texts;

/// A ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding.
#[derive(Debug)]
pub struct Binding {
    /// Its name.
    pub name: Str,
    /// The policy that it binds.
    pub policy: Str,
    /// `matchResources`, which narrows the policy.
    pub resources: Option<MatchResources>,
    /// Where parameters are.
    pub params: Option<ParamRef>,
    /// The validation actions for denied requests.
    pub actions: Vec<Action>,
}

/// An action of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The request is refused.
    Deny,
    /// The answer has a warning.
    Warn,
    /// The request has an audit annotation.
    Audit,
}

impl Action {
    /// The name in bindings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "Deny",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
        }
    }
}

/// `paramRef`
#[derive(Debug)]
pub struct ParamRef {
    /// Which objects.
    pub choice: ParamChoice,
    /// Their namespace; none for that of the request.
    pub namespace: Option<Str>,
    /// Whether a request is refused if there are none.
    pub deny_if_missing: bool,
}

/// The error of a binding whose parameters must exist and do not.
pub const NO_PARAMS: &str = "no params found for policy binding with `Deny` parameterNotFoundAction";

impl ParamRef {
    /// The namespace that the parameters are in, which is none if their kind has none. The error is the binding's.
    pub fn namespace_for(
        &self,
        namespaced: bool,
        request_namespace: &str,
    ) -> Result<Option<Str>, &'static str> {
        match &self.namespace {
            Some(_) if !namespaced => {
                Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
            }
            _ if !namespaced => Ok(None),
            Some(namespace) => Ok(Some(namespace.clone())),
            None if request_namespace.is_empty() => {
                Err("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
            }
            None => Ok(Some(request_namespace.into())),
        }
    }
}

/// Which objects are parameters.
#[derive(Debug)]
pub enum ParamChoice {
    /// One of this name.
    Name(Str),
    /// The parameters with these labels.
    Selector(LabelSelector),
}

impl Binding {
    /// Reads a binding that was validated before.
    pub fn read(object: &Value) -> Self {
        let text = |path: &[&str]| object.at(path).and_then(Value::as_str).unwrap_or_default();
        let spec = object.get("spec");
        let actions = spec.into_iter().flat_map(|spec| texts(spec, "validationActions"));
        let params = spec.and_then(|spec| spec.get("paramRef")).map(|reference| {
            let member = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
            ParamRef {
                choice: match member("name") {
                    "" => ParamChoice::Selector(selector(reference.get("selector"))),
                    name => ParamChoice::Name(name.into()),
                },
                namespace: Some(member("namespace")).filter(|text| !text.is_empty()).map(Str::from),
                deny_if_missing: member("parameterNotFoundAction") == "Deny",
            }
        });
        Self {
            name: ObjectMeta::of(object).name().into(),
            policy: text(&["spec", "policyName"]).into(),
            resources: spec.and_then(|spec| spec.get("matchResources")).map(MatchResources::read),
            params,
            actions: actions
                .filter_map(|action| match action {
                    "Deny" => Some(Action::Deny),
                    "Warn" => Some(Action::Warn),
                    "Audit" => Some(Action::Audit),
                    _ => None,
                })
                .collect(),
        }
    }
}
