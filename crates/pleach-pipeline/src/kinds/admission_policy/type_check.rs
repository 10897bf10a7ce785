//! Type checking of ValidatingAdmissionPolicies: their expressions compiled with the types of the kinds that the policy
//! matches. What it finds is a warning in the policy's status and changes nothing about the policy.
//!
//! Only validations and their message expressions are checked. `authorizer.requestResource` is not declared, so its use
//! is a warning, as upstream.

use std::collections::BTreeMap;

use pleach_cel::types::T;
use pleach_cel::{DeclType, Declarations, Environment, ObjectType, Type};
use pleach_json::{Str, Value, json};
use pleach_work::Constant;

use super::expressions::declared_type;
use crate::cel_type::object_type;
use crate::kind::Kind;
use crate::kinds::fields::{items, text};
use crate::kinds::webhook_configuration::match_conditions::{anything, namespace_type, request_type};

/// Policies of more kinds are checked for the first that are found.
const MOST_KINDS: usize = 10;

static STORED: Constant<Environment> = Constant::new(Environment::stored);

/// A kind that a policy matches.
#[derive(Clone, Debug)]
pub struct MatchedKind {
    /// The API group.
    pub group: Str,
    /// The version.
    pub version: Str,
    /// The kind.
    pub kind: Str,
    /// The type of its objects.
    pub object: DeclType,
}

/// A group, version and resource that a policy names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NamedResource<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
}

/// The kinds that a policy names, of those that there are, in the order of group, version and kind.
pub fn matched_kinds(policy: &Value, all: &[&Kind]) -> Vec<MatchedKind> {
    let mut found: BTreeMap<(Str, Str, Str), Option<DeclType>> = BTreeMap::new();
    'rules: for rule in named_resources(policy) {
        let mut count = 0;
        for named in rule {
            for (kind, version) in all.iter().filter_map(|kind| Some((*kind, named.version_of(kind)?))) {
                let name = (kind.group.clone(), kind.versions[version].name.clone(), kind.kind.clone());
                found.entry(name).or_insert_with(|| object_type(kind, version));
                count += 1;
                if count == MOST_KINDS {
                    break 'rules;
                }
            }
        }
    }
    let known = found.into_iter().filter_map(|((group, version, kind), object)| {
        Some(MatchedKind { group, version, kind, object: object? })
    });
    known.collect()
}

/// The type of a policy's parameters, if it has any and their kind is among those that there are.
pub fn param_type(policy: &Value, all: &[&Kind]) -> Option<DeclType> {
    let kind = policy.at(&["spec", "paramKind"])?;
    let (api_version, name) = (text(kind, "apiVersion"), text(kind, "kind"));
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = all.iter().find(|kind| kind.group == group && kind.kind == name)?;
    let version = kind.versions.iter().position(|v| v.served && v.api_version == api_version)?;
    object_type(kind, version)
}

impl NamedResource<'_> {
    /// The version in which a kind is named, as a REST mapper finds it: by plural or singular, and in any group if the
    /// core group is named.
    fn version_of(&self, kind: &Kind) -> Option<usize> {
        let resource = self.resource.to_lowercase();
        if kind.plural != resource && kind.singular != resource {
            return None;
        }
        if !self.group.is_empty() && kind.group != self.group.to_lowercase() {
            return None;
        }
        kind.versions.iter().position(|v| v.served && v.name == self.version)
    }
}

/// The resources that each rule of a policy names, in the order in which kinds are looked for. A rule with a wildcard
/// for groups or versions names none; other wildcards and subresources are left out.
fn named_resources(policy: &Value) -> Vec<Vec<NamedResource<'_>>> {
    let constraints = policy.at(&["spec", "matchConstraints"]);
    let rules = constraints.map(|constraints| items(constraints, "resourceRules")).unwrap_or_default();
    rules.iter().map(of_rule).collect()
}

fn of_rule(rule: &Value) -> Vec<NamedResource<'_>> {
    let sorted = |key: &str| {
        let mut texts: Vec<&str> = items(rule, key).iter().filter_map(Value::as_str).collect();
        texts.sort_unstable();
        texts
    };
    let (groups, versions, mut resources) = (sorted("apiGroups"), sorted("apiVersions"), sorted("resources"));
    if groups.iter().chain(&versions).any(|text| text.contains('*')) {
        return Vec::new();
    }
    resources.retain(|resource| !resource.contains(['*', '/']));
    let mut named = Vec::new();
    for group in groups {
        for version in &versions {
            named.extend(resources.iter().map(|resource| NamedResource { group, version, resource }));
        }
    }
    named
}

/// `status.typeChecking.expressionWarnings` of a policy. `params` is the type of its parameters, if that is known.
pub fn expression_warnings(policy: &Value, kinds: &[MatchedKind], params: Option<&DeclType>) -> Vec<Value> {
    let empty = Value::object();
    let spec = policy.get("spec").unwrap_or(&empty);
    let scopes: Vec<(String, Declarations)> = kinds
        .iter()
        .map(|kind| {
            let name = format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind);
            (name, declarations(spec, &kind.object, params))
        })
        .collect();
    let mut warnings = Vec::new();
    for (i, validation) in items(spec, "validations").iter().enumerate() {
        for key in ["expression", "messageExpression"] {
            let expression = text(validation, key);
            if key == "messageExpression" && expression.is_empty() {
                continue;
            }
            let found: Vec<String> =
                scopes.iter().filter_map(|(kind, scope)| warning(kind, scope, expression)).collect();
            if !found.is_empty() {
                let field = format!("spec.validations[{i}].{key}");
                warnings.push(json!({"fieldRef": field, "warning": (found.join("\n"))}));
            }
        }
    }
    warnings
}

fn warning(kind: &str, scope: &Declarations, expression: &str) -> Option<String> {
    let issues = STORED.compile(expression, scope).err()?;
    Some(format!("{kind}: {issues}\n"))
}

/// The variables of expressions about a kind. `object` is the first: bounds of costs are its own.
pub fn declarations(spec: &Value, object: &DeclType, params: Option<&DeclType>) -> Declarations {
    let mut declarations = Declarations::new()
        .with("object", object.clone())
        .with("oldObject", object.clone())
        .with("namespaceObject", namespace_type())
        .with("request", request_type());
    if spec.get("paramKind").is_some() {
        declarations = declarations.with("params", params.cloned().unwrap_or_else(anything));
    }
    let authorizer = Type::from(T::Message("kubernetes.authorization.Authorizer"));
    let declarations = declarations.with("authorizer", DeclType::other(authorizer));
    let with = |variables: &ObjectType| {
        declarations.clone().with("variables", DeclType::object(variables.clone(), []))
    };
    let mut variables = ObjectType::new("kubernetes.variables");
    for variable in items(spec, "variables") {
        let checked = STORED.compile(text(variable, "expression"), &with(&variables));
        let ty = checked.map_or(Type::Dyn, |checked| declared_type(checked.output_type()));
        variables = variables.with_variable(text(variable, "name"), DeclType::other(ty));
    }
    with(&variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &'static str) -> MatchedKind {
        let spec = ObjectType::new(format!("{name}1.spec"))
            .with_field("replicas", DeclType::integer())
            .with_field("title", DeclType::string(None, None));
        let object = ObjectType::new(format!("{name}1")).with_field("spec", DeclType::object(spec, []));
        let object = DeclType::object(object, []);
        MatchedKind { group: "g".into(), version: "v1".into(), kind: name.into(), object }
    }

    fn policy(validations: Value) -> Value {
        json!({"spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "variables": [{"name": "n", "expression": "object.spec.replicas"}, {"name": "bad", "expression": "object.x"}],
            "validations": (validations),
        }})
    }

    #[track_caller]
    fn check(validations: Value, want: &[(&str, &str)]) {
        let found = expression_warnings(&policy(validations), &[kind("Foo")], None);
        let text = |warning: &Value, key: &str| warning.get(key).and_then(Value::as_str).unwrap().to_owned();
        let found: Vec<(String, String)> =
            found.iter().map(|w| (text(w, "fieldRef"), text(w, "warning"))).collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(f, w)| (f.as_str(), w.as_str())).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn fields_and_types_are_those_of_the_matched_kind() {
        check(json!([{"expression": "object.spec.replicas > 1 && variables.n > 1"}]), &[]);
        check(json!([{"expression": "params.data.x == 1 && variables.bad.y"}]), &[]);
        check(
            json!([
                {"expression": "true"},
                {"expression": "object.spec.replica > 1", "messageExpression": "variables.n + 'x'"},
            ]),
            &[
                (
                    "spec.validations[1].expression",
                    "g/v1, Kind=Foo: ERROR: <input>:1:12: undefined field 'replica'\n | object.spec.replica > 1\n | ...........^\n",
                ),
                (
                    "spec.validations[1].messageExpression",
                    "g/v1, Kind=Foo: ERROR: <input>:1:13: found no matching overload for '_+_' applied to '(int, string)'\n | variables.n + 'x'\n | ............^\n",
                ),
            ],
        );
    }

    #[test]
    fn warnings_of_several_kinds_are_in_one_text() {
        let policy = policy(json!([{"expression": "object.a"}]));
        let found = expression_warnings(&policy, &[kind("Bar"), kind("Foo")], None);
        let text = found[0].get("warning").and_then(Value::as_str).unwrap();
        assert_eq!(text.matches("undefined field 'a'").count(), 2);
        assert!(text.contains("^\n\ng/v1, Kind=Foo: "), "{text}");
    }

    #[test]
    fn rules_with_wildcards_name_nothing() {
        let rule = |groups: &str, resources: &[&str]| {
            let resources: Vec<Value> = resources.iter().map(|text| Value::from(*text)).collect();
            json!({"apiGroups": [groups], "apiVersions": ["v2", "v1"], "resources": (resources)})
        };
        let policy = json!({"spec": {"matchConstraints": {"resourceRules": [
            (rule("*", &["foos"])), (rule("g", &["foos", "*", "bars/status", "bars"])),
        ]}}});
        let named = named_resources(&policy);
        assert!(named[0].is_empty());
        let named: Vec<String> = named[1].iter().map(|n| format!("{}/{}", n.version, n.resource)).collect();
        assert_eq!(named, ["v1/bars", "v1/foos", "v2/bars", "v2/foos"]);
    }
}
