//! Type checking of ValidatingAdmissionPolicies: their expressions compiled with the types of the kinds that the policy
//! matches. What it finds is a warning in the policy's status and changes nothing about the policy.
//!
//! Only validations and their message expressions are checked. `authorizer.requestResource` is not declared, so its use
//! is a warning, as upstream.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pleach_cel::types::T;
use pleach_cel::{DeclType, Declarations, Environment, ObjectType, Type};
use pleach_json::{Str, Value, json};
use pleach_work::{Constant, charge};

use super::expressions::declared_type;
use crate::cel_type::object_type;
use crate::kind::Kind;
use crate::kinds::fields::{items, text};
use crate::kinds::webhook_configuration::match_conditions::{anything, namespace_type, request_type};

/// Policies of more kinds are checked for the first that are found.
const MOST_KINDS: usize = 10;
/// The most text in the warnings about a policy: an object has room for it, beside many expressions.
const MOST_TEXT: usize = 512 * 1024;

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

/// The kinds that a policy names, of those that there are, in the order of group, version and kind.
pub fn matched_kinds(policy: &Value, all: &[&Kind]) -> Vec<MatchedKind> {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, kind) in all.iter().enumerate() {
        by_name.entry(&kind.plural).or_default().push(i);
        if kind.singular != kind.plural {
            by_name.entry(&kind.singular).or_default().push(i);
        }
    }
    charge(10 * all.len() as u64);
    let constraints = policy.at(&["spec", "matchConstraints"]);
    let rules = constraints.map(|constraints| items(constraints, "resourceRules")).unwrap_or_default();
    let mut found: BTreeMap<(Str, Str, Str), Option<DeclType>> = BTreeMap::new();
    for rule in rules {
        let matched = NamedResources::of(rule).first_of(all, &by_name);
        for (kind, version) in &matched {
            let name = (kind.group.clone(), kind.versions[*version].name.clone(), kind.kind.clone());
            found.entry(name).or_insert_with(|| object_type(kind, *version));
        }
        if matched.len() == MOST_KINDS {
            break;
        }
    }
    let known = found.into_iter().filter_map(|((group, version, kind), object)| {
        Some(MatchedKind { group, version, kind, object: object? })
    });
    known.collect()
}

/// The resources that a rule of a policy names: each of its resources in each of its versions and groups. They are in
/// the order in which kinds are looked for, and as often there as they are named.
///
/// Their number is the product of three lists, so they are never listed.
#[derive(Debug, Default)]
struct NamedResources<'a> {
    groups: Vec<&'a str>,
    versions: Vec<&'a str>,
    resources: Vec<&'a str>,
}

impl<'a> NamedResources<'a> {
    /// A rule with a wildcard for groups or versions names none; other wildcards and subresources are left out.
    fn of(rule: &'a Value) -> Self {
        let sorted = |key: &str| {
            let mut texts: Vec<&str> = items(rule, key).iter().filter_map(Value::as_str).collect();
            texts.sort_unstable();
            charge(10 * texts.len() as u64);
            texts
        };
        let (groups, versions) = (sorted("apiGroups"), sorted("apiVersions"));
        if groups.iter().chain(&versions).any(|text| text.contains('*')) {
            return Self::default();
        }
        let mut resources = sorted("resources");
        resources.retain(|resource| !resource.contains(['*', '/']));
        Self { groups, versions, resources }
    }

    /// The first kinds that are named, with the version, as a REST mapper finds them: by plural or singular, and in any
    /// group if the core group is named.
    fn first_of<'k>(&self, all: &[&'k Kind], by_name: &HashMap<&str, Vec<usize>>) -> Vec<(&'k Kind, usize)> {
        let places = |texts: &[&str], lower: bool| {
            let mut places: HashMap<String, Vec<usize>> = HashMap::new();
            for (i, text) in texts.iter().enumerate() {
                let text = if lower { text.to_lowercase() } else { (*text).to_owned() };
                let places = places.entry(text).or_default();
                // The first are enough.
                if places.len() < MOST_KINDS {
                    places.push(i);
                }
            }
            charge(10 * texts.len() as u64);
            places
        };
        let (groups, versions, resources) =
            (places(&self.groups, true), places(&self.versions, false), places(&self.resources, true));
        let of = |places: &HashMap<String, Vec<usize>>, name: &str| -> Vec<usize> {
            places.get(name).cloned().unwrap_or_default()
        };
        let both = |mut some: Vec<usize>, more: Vec<usize>| {
            some.extend(more);
            some.sort_unstable();
            some
        };
        let kinds: BTreeSet<usize> =
            resources.keys().filter_map(|name| by_name.get(name.as_str())).flatten().copied().collect();
        let mut found = Vec::new();
        for i in kinds {
            charge(100);
            let kind = all[i];
            let in_group = if kind.group.is_empty() { Vec::new() } else { of(&groups, &kind.group) };
            let in_group = both(of(&groups, ""), in_group);
            let singular =
                if kind.singular == kind.plural { Vec::new() } else { of(&resources, &kind.singular) };
            let named = both(of(&resources, &kind.plural), singular);
            let mut in_version: Vec<(usize, usize)> = Vec::new();
            for (version, served) in kind.versions.iter().enumerate() {
                let is_first = || kind.versions[..version].iter().all(|v| !v.served || v.name != served.name);
                if served.served && versions.contains_key(served.name.as_str()) && is_first() {
                    in_version.extend(of(&versions, &served.name).into_iter().map(|place| (place, version)));
                }
            }
            in_version.sort_unstable();
            let places = in_group.iter().flat_map(|group| {
                let named = &named;
                in_version.iter().flat_map(move |(place, version)| {
                    named.iter().map(move |resource| ((*group, *place, *resource, i), (kind, *version)))
                })
            });
            found.extend(places.take(MOST_KINDS));
        }
        found.sort_unstable_by_key(|(place, _)| *place);
        found.truncate(MOST_KINDS);
        found.into_iter().map(|(_, kind)| kind).collect()
    }
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

/// `status.typeChecking.expressionWarnings` of a policy. `params` is the type of its parameters, if that is known.
/// They end after 512 KiB of text.
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
    let mut left = MOST_TEXT;
    for (i, validation) in items(spec, "validations").iter().enumerate() {
        for key in ["expression", "messageExpression"] {
            let expression = text(validation, key);
            if key == "messageExpression" && expression.is_empty() {
                continue;
            }
            let found: Vec<String> =
                scopes.iter().filter_map(|(kind, scope)| warning(kind, scope, expression)).collect();
            if !found.is_empty() {
                let length: usize = found.iter().map(|text| text.len() + 1).sum();
                match left.checked_sub(length) {
                    Some(less) => left = less,
                    None => return warnings,
                }
                let field = format!("spec.validations[{i}].{key}");
                warnings.push(json!({"fieldRef": field, "warning": (found.join("\n"))}));
            }
        }
    }
    warnings
}

fn warning(kind: &str, scope: &Declarations, expression: &str) -> Option<String> {
    let issues = STORED.compile(expression, scope).err()?;
    let text = format!("{kind}: {issues}\n");
    charge(text.len() as u64);
    Some(text)
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
    use crate::gates::Gates;

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

    /// The names of the kinds that a policy with these rules matches.
    fn matched(rules: &[[&[&str]; 3]], all: &[&Kind]) -> Vec<String> {
        let list = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>();
        let rules: Vec<Value> = rules
            .iter()
            .map(|[groups, versions, resources]| {
                json!({"apiGroups": (list(groups)), "apiVersions": (list(versions)), "resources": (list(resources))})
            })
            .collect();
        let policy = json!({"spec": {"matchConstraints": {"resourceRules": rules}}});
        let kinds = matched_kinds(&policy, all);
        kinds.iter().map(|kind| format!("{}/{}/{}", kind.group, kind.version, kind.kind)).collect()
    }

    #[test]
    fn kinds_are_found_by_group_version_and_resource() {
        let all: Vec<Kind> = crate::kinds::all(Gates::default()).collect();
        let all: Vec<&Kind> = all.iter().collect();
        let check = |rules: &[[&[&str]; 3]], want: &[&str]| assert_eq!(matched(rules, &all), want);
        check(&[[&["*"], &["v1"], &["pods"]], [&["apps"], &["*"], &["deployments"]]], &[]);
        check(
            &[[&["apps"], &["v2", "v1"], &["Deployments", "deployments/status", "*"]]],
            &["apps/v1/Deployment"],
        );
        check(&[[&["", "apps"], &["v1"], &["pod", "deployments"]]], &["/v1/Pod", "apps/v1/Deployment"]);
        check(&[[&[""], &["v1"], &["deployment"]]], &["apps/v1/Deployment"]);
        check(&[[&["batch"], &["v1"], &["pods"]], [&["batch"], &["v1"], &["jobs"]]], &["batch/v1/Job"]);
        // A kind that is named ten times is all that is looked for.
        let often = ["pods"; 10];
        check(
            &[
                [&[""], &["v1"], &["services"]],
                [&[""], &["v1"], &often],
                [&["apps"], &["v1"], &["deployments"]],
            ],
            &["/v1/Pod", "/v1/Service"],
        );
    }

    #[test]
    fn rules_of_three_long_lists_take_linear_work() {
        let all: Vec<Kind> = crate::kinds::all(Gates::default()).collect();
        let all: Vec<&Kind> = all.iter().collect();
        let steps = |n: usize| {
            let texts: Vec<String> = (0..n).map(|i| format!("a{i}")).collect();
            let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            texts.extend(["", "v1", "pods"]);
            let (found, steps) = pleach_work::measure(|| matched(&[[&texts, &texts, &texts]], &all));
            assert_eq!(found, ["/v1/Pod"]);
            steps
        };
        let (few, many) = (steps(1_000), steps(10_000));
        assert!(many <= 12 * few, "{few} {many}");
    }

    #[test]
    fn warnings_have_a_bounded_length() {
        let expression = format!("{} > 1", "object.spec.replica + ".repeat(15) + "1");
        let validations = vec![json!({"expression": (expression.as_str())}); 2_000];
        let found = expression_warnings(&policy(validations.into()), &[kind("Foo")], None);
        let length: usize = found.iter().map(|warning| text(warning, "warning").len()).sum();
        assert!((MOST_TEXT / 2..=MOST_TEXT).contains(&length), "{length} in {}", found.len());
    }
}
