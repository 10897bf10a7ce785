//! A policy, as it is stored: selectors parsed and expressions compiled, once per change.

use std::cell::Cell;

use pleach_cel::Program;
use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::kinds::admission_policy::expressions::{CompileError, Mode, Output, Scope};

use crate::matching::MatchResources;

/// A ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
#[derive(Debug)]
pub struct Policy {
    /// Its name.
    pub name: Str,
    /// The failure policy.
    pub failure: FailurePolicy,
    /// The kind of its parameters.
    pub param_kind: Option<ParamKind>,
    /// Which writes it is about.
    pub constraints: MatchResources,
    /// Conditions.
    pub conditions: Vec<Expression>,
    /// Variables by name, in order.
    pub variables: Vec<(Str, Expression)>,
    /// The validations of a validating policy.
    pub validations: Vec<Validation>,
    /// Audit annotations by key.
    pub annotations: Vec<(Str, Expression)>,
    /// The mutations of a mutating policy.
    pub mutations: Vec<Mutation>,
    /// Whether it runs again if the object is changed after it.
    pub reinvokes: bool,
}

/// The failure policy: the decision if an expression fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It is refused.
    Fail,
    /// The request continues.
    Ignore,
}

/// The kind of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamKind {
    /// Group and version.
    pub api_version: Str,
    /// The kind.
    pub kind: Str,
}

impl ParamKind {
    /// Its group and version.
    pub fn group_version(&self) -> (&str, &str) {
        self.api_version.rsplit_once('/').unwrap_or(("", &self.api_version))
    }

    /// The error of a policy whose parameters have a kind that is not served.
    pub fn not_found(&self) -> String {
        let (group, version) = self.group_version();
        format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={}'", self.kind)
    }
}

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    /// As errors quote it.
    pub source: Str,
    /// The error is why it cannot be evaluated.
    pub program: Result<Program, CompileError>,
}

/// An entry of `validations`.
#[derive(Debug)]
pub struct Validation {
    /// The expression that must be true.
    pub expression: Expression,
    /// The message of a denial, made by an expression.
    pub message_expression: Option<Expression>,
    /// The message of a denial.
    pub message: Str,
    /// The reason of a denial, if one is given.
    pub reason: Option<Str>,
}

/// An entry of `mutations`.
#[derive(Debug)]
pub enum Mutation {
    /// An apply configuration.
    Apply(Expression),
    /// A JSON patch.
    JsonPatch(Expression),
}

impl Mutation {
    /// The expression.
    pub fn expression(&self) -> &Expression {
        match self {
            Self::Apply(expression) | Self::JsonPatch(expression) => expression,
        }
    }
}

impl Policy {
    /// Reads and compiles a policy that was validated before.
    pub fn read(object: &Value) -> Self {
        let empty = Value::object();
        let spec = object.get("spec").unwrap_or(&empty);
        let text = |value: &Value, key: &str| -> Str {
            value.get(key).and_then(Value::as_str).unwrap_or_default().into()
        };
        let items = |key: &str| spec.get(key).and_then(Value::as_array).into_iter().flatten();
        let param_kind = spec
            .get("paramKind")
            .map(|kind| ParamKind { api_version: text(kind, "apiVersion"), kind: text(kind, "kind") });
        let plain = Scope::new(param_kind.is_some());
        let conditions = items("matchConditions")
            .map(|condition| Expression::compile(&plain, text(condition, "expression").trim(), Output::Bool));
        let conditions = conditions.collect();
        let mut scope = Scope::with_variables(param_kind.is_some());
        let mut variables = Vec::new();
        for variable in items("variables") {
            let (name, source) = (text(variable, "name"), text(variable, "expression"));
            let compiled = scope.compile(&source, Output::Any, Mode::Stored);
            scope.add_variable(&name, compiled.as_ref().ok().map(|(_, ty)| ty));
            variables.push((name, Expression { source, program: compiled.map(|(program, _)| program) }));
        }
        let compile = |source: &str, output| Expression::compile(&scope, source, output);
        let validations = items("validations").map(|validation| {
            let by_expression = text(validation, "messageExpression");
            Validation {
                expression: compile(&text(validation, "expression"), Output::Bool),
                message_expression: Some(by_expression)
                    .filter(|source| !source.trim().is_empty())
                    .map(|source| compile(&source, Output::Text)),
                message: text(validation, "message"),
                reason: validation.get("reason").and_then(Value::as_str).map(Str::from),
            }
        });
        let annotations = items("auditAnnotations").map(|annotation| {
            let source = text(annotation, "valueExpression");
            (text(annotation, "key"), compile(source.trim(), Output::TextOrNull))
        });
        let mutations = items("mutations").map(|mutation| {
            let source = |key: &str| mutation.get(key).map(|patch| text(patch, "expression"));
            let source = |key: &str| source(key).unwrap_or_default();
            if text(mutation, "patchType") == "JSONPatch" {
                Mutation::JsonPatch(compile(source("jsonPatch").trim(), Output::JsonPatch))
            } else {
                Mutation::Apply(compile(source("applyConfiguration").trim(), Output::Object))
            }
        });
        Self {
            name: ObjectMeta::of(object).name().into(),
            failure: match text(spec, "failurePolicy").as_str() {
                "Ignore" => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
            constraints: MatchResources::read(spec.get("matchConstraints").unwrap_or(&empty)),
            conditions,
            validations: validations.collect(),
            annotations: annotations.collect(),
            mutations: mutations.collect(),
            reinvokes: text(spec, "reinvocationPolicy") == "IfNeeded",
            variables,
            param_kind,
        }
    }
}

thread_local! {
    static COMPILED: Cell<usize> = const { Cell::new(0) };
}

/// How many expressions of policies this thread has compiled, for tests that count them.
#[doc(hidden)]
pub fn compiled_on_this_thread() -> usize {
    COMPILED.get()
}

impl Expression {
    fn compile(scope: &Scope, source: &str, output: Output) -> Self {
        COMPILED.set(COMPILED.get() + 1);
        let program = scope.compile(source, output, Mode::Stored).map(|(program, _)| program);
        Self { source: source.into(), program }
    }
}
