//! ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings.

pub mod expressions;
pub mod type_check;
mod validate;

use std::fmt::Write as _;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, column};
use crate::kind::{Cell, Column};
use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{ADDED, default_to, each_mut, items, member, object_mut, text};
use crate::resource::Subresource;
use crate::strategy::{Effect, ParamAccess};

/// The API group.
pub const GROUP: &str = "admissionregistration.k8s.io";
/// The resource of policies that validate.
pub const VALIDATING_POLICIES: &str = "validatingadmissionpolicies";
/// The resource of their bindings.
pub const VALIDATING_BINDINGS: &str = "validatingadmissionpolicybindings";
/// The resource of policies that mutate.
pub const MUTATING_POLICIES: &str = "mutatingadmissionpolicies";
/// The resource of their bindings.
pub const MUTATING_BINDINGS: &str = "mutatingadmissionpolicybindings";

/// Whether a `kind` is that of a policy, not of a binding.
pub fn is_policy(kind: &str) -> bool {
    matches!(kind, "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy")
}

/// Names that end so belong to policies from files.
const STATIC_SUFFIX: &str = ".static.k8s.io";

/// The rules of a policy.
#[derive(Debug)]
pub struct Policy {
    /// Whether it mutates.
    pub mutating: bool,
}

/// The rules of a binding.
#[derive(Debug)]
pub struct Binding {
    /// Whether it is of a policy that mutates.
    pub mutating: bool,
}

/// Rules of ValidatingAdmissionPolicies.
pub static VALIDATING_POLICY: Policy = Policy { mutating: false };
/// Rules of MutatingAdmissionPolicies.
pub static MUTATING_POLICY: Policy = Policy { mutating: true };
/// Rules of ValidatingAdmissionPolicyBindings.
pub static VALIDATING_BINDING: Binding = Binding { mutating: false };
/// Rules of MutatingAdmissionPolicyBindings.
pub static MUTATING_BINDING: Binding = Binding { mutating: true };

impl Rules for Policy {
    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        set_missing(spec, "failurePolicy", "Fail");
        default_match_resources(spec, "matchConstraints");
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::policy(object, old, self.mutating)
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        validate::status(object)
    }

    fn status_changes_metadata(&self) -> bool {
        false
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, _: Subresource) {
        // Upstream's status strategy takes nothing of the metadata but managed fields.
        let managed = object.at(&["metadata", "managedFields"]).cloned();
        let version = object.at(&["metadata", "resourceVersion"]).cloned();
        if let (Some(metadata), Some(members)) = (old.get("metadata"), object.as_object_mut()) {
            members.insert("metadata", metadata.clone());
        }
        let metadata = member(object, "metadata");
        for (key, value) in [("managedFields", managed), ("resourceVersion", version)] {
            match value {
                Some(value) => metadata.insert(key, value),
                None => metadata.remove(key),
            };
        }
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        static_name_warning(object)
    }

    fn columns(&self) -> Vec<Column> {
        let kind = |object: &Value, _: i64| match object.at(&["spec", "paramKind"]) {
            Some(kind) => format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")).into(),
            None => "<unset>".into(),
        };
        let count = if self.mutating {
            let about = "Mutation indicates the number of mutations rules defined in this configuration";
            column("Mutations", "integer", about, Cell::Computed(|object, _| count(object, "mutations")))
        } else {
            let about = "Validations indicates the number of validation rules defined in this configuration";
            column("Validations", "integer", about, Cell::Computed(|object, _| count(object, "validations")))
        };
        let about = "ParamKind specifies the kind of resources used to parameterize this policy";
        vec![count, column("ParamKind", "string", about, Cell::Computed(kind)), age_text()]
    }

    fn is_admission_configuration(&self) -> bool {
        true
    }

    fn after_commit(&self) -> Effect {
        Effect::PoliciesChanged
    }

    fn param_access(&self, object: &Value, old: Option<&Value>) -> Option<ParamAccess> {
        let kind = object.at(&["spec", "paramKind"])?;
        if old.and_then(|old| old.at(&["spec", "paramKind"])) == Some(kind) {
            return None;
        }
        Some(ParamAccess::Kind {
            api_version: text(kind, "apiVersion").into(),
            kind: text(kind, "kind").into(),
        })
    }
}

impl Rules for Binding {
    fn default(&self, object: &mut Value) {
        default_match_resources(member(object, "spec"), "matchResources");
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        validate::binding(object, self.mutating)
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        static_name_warning(object)
    }

    fn columns(&self) -> Vec<Column> {
        let policy = "PolicyName indicates the policy definition which the policy binding binded to";
        let reference = "ParamRef indicates the param resource which sets the configuration param";
        let shown = |object: &Value, _: i64| param_ref(object.at(&["spec", "paramRef"])).into();
        vec![
            column("PolicyName", "string", policy, Cell::Text(&["spec", "policyName"])),
            column("ParamRef", "string", reference, Cell::Computed(shown)),
            age_text(),
        ]
    }

    fn is_admission_configuration(&self) -> bool {
        true
    }

    fn after_commit(&self) -> Effect {
        Effect::PoliciesChanged
    }

    fn param_access(&self, object: &Value, old: Option<&Value>) -> Option<ParamAccess> {
        let reference = object.at(&["spec", "paramRef"])?;
        let policy = object.at(&["spec", "policyName"]);
        let is_same = |key: &str, value: Option<&Value>| old.and_then(|old| old.at(&["spec", key])) == value;
        if old.is_some() && is_same("paramRef", Some(reference)) && is_same("policyName", policy) {
            return None;
        }
        Some(ParamAccess::Object {
            mutating: self.mutating,
            policy: policy.and_then(Value::as_str).unwrap_or_default().into(),
            name: text(reference, "name").into(),
            namespace: text(reference, "namespace").into(),
        })
    }
}

/// Sets defaults of absent fields. An empty text counts as present.
fn set_missing(members: &mut Map, key: &str, value: &str) {
    if members.get(key).is_none_or(Value::is_null) {
        pleach_work::charge(ADDED);
        members.insert(key, value);
    }
}

fn default_match_resources(spec: &mut Map, key: &str) {
    let Some(resources) = object_mut(spec, key) else { return };
    set_missing(resources, "matchPolicy", "Equivalent");
    for selector in ["namespaceSelector", "objectSelector"] {
        default_to(resources, selector, Value::object());
    }
    for rules in ["resourceRules", "excludeResourceRules"] {
        each_mut(resources, rules, |rule| set_missing(rule, "scope", "*"));
    }
}

fn count(object: &Value, key: &str) -> Value {
    Value::Int(object.get("spec").map_or(0, |spec| items(spec, key).len()) as i64)
}

fn static_name_warning(object: &Value) -> Vec<String> {
    if !ObjectMeta::of(object).name().ends_with(STATIC_SUFFIX) {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: names ending with {STATIC_SUFFIX:?} are reserved for static manifest-based configurations and cannot be managed via the API"
    )]
}

/// How a table shows the parameters of a binding.
fn param_ref(reference: Option<&Value>) -> String {
    let Some(reference) = reference else { return "<unset>".to_owned() };
    let (namespace, name) = (text(reference, "namespace"), text(reference, "name"));
    if name.is_empty() {
        return reference.get("selector").map_or_else(|| "<unset>".to_owned(), selector_text);
    }
    if namespace.is_empty() { format!("*/{name}") } else { format!("{namespace}/{name}") }
}

/// A label selector as Go prints it.
fn selector_text(selector: &Value) -> String {
    let mut out = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(Map::iter)
    {
        _ = write!(out, "{key}: {},", value.as_str().unwrap_or_default());
    }
    out.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for requirement in items(selector, "matchExpressions") {
        let values = items(requirement, "values").iter().filter_map(Value::as_str).collect::<Vec<_>>();
        let (key, operator) = (text(requirement, "key"), text(requirement, "operator"));
        let values = values.join(" ");
        _ = write!(out, "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},");
    }
    out.push_str("},}");
    out
}
