//! The CEL environment of admission policies: which variables and types an expression has, and its compilation.

use std::sync::Arc;

use pleach_cel::types::T;
use pleach_cel::{DeclType, Declarations, Environment, ObjectType, Program, Type};
use pleach_json::Str;
use pleach_work::Constant;

use crate::kinds::webhook_configuration::match_conditions::{anything, namespace_type, request_type};

/// New expressions may use what the compatibility version has.
static NEW: Constant<Environment> = Constant::new(Environment::compatible);
/// Expressions that are stored may use everything.
static STORED: Constant<Environment> = Constant::new(Environment::stored);
/// The same with what only mutations have.
static NEW_MUTATIONS: Constant<Environment> = Constant::new(|| Environment::compatible().with_patch_types());
static STORED_MUTATIONS: Constant<Environment> = Constant::new(|| Environment::stored().with_patch_types());

/// Which expressions are compiled: new ones, or those that were accepted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are new.
    New,
    /// They are stored.
    Stored,
}

/// The result type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Conditions and validations.
    Bool,
    /// Message expressions.
    Text,
    /// Audit annotations.
    TextOrNull,
    /// Apply configurations.
    Object,
    /// JSON patches.
    JsonPatch,
    /// Variables.
    Any,
}

/// Why an expression cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// In upstream's words.
    pub detail: String,
    /// Whether it is an internal error of upstream's, not one of the expression.
    pub internal: bool,
}

/// The variables that expressions of a policy have.
///
/// The order in which values are bound: `object`, `oldObject`, `request`, `namespaceObject`, `params` if the policy has a
/// `paramKind`, `authorizer`, `authorizer.requestResource`.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Whether there is `params`.
    pub params: bool,
    /// The type of `variables`, if there is that.
    variables: Option<ObjectType>,
}

impl Scope {
    /// Without `variables`.
    pub fn new(params: bool) -> Self {
        Self { params, variables: None }
    }

    /// With `variables`, of which there are none yet.
    pub fn with_variables(params: bool) -> Self {
        Self { params, variables: Some(ObjectType::new("kubernetes.variables")) }
    }

    /// Adds a variable; it can be used by those that follow. One that could not be compiled has any type.
    pub fn add_variable(&mut self, name: &str, ty: Option<&Type>) {
        if let Some(variables) = self.variables.take() {
            let ty = ty.map_or(Type::Dyn, declared_type);
            self.variables = Some(variables.with_variable(name, DeclType::other(ty)));
        }
    }

    fn declarations(&self, authorizer: bool) -> Declarations {
        let message = |name: &'static str| DeclType::other(Type::from(T::Message(name)));
        let mut declarations = Declarations::new()
            .with("object", anything())
            .with("oldObject", anything())
            .with("request", request_type())
            .with("namespaceObject", namespace_type());
        if self.params {
            declarations = declarations.with("params", anything());
        }
        if authorizer {
            declarations = declarations
                .with("authorizer", message("kubernetes.authorization.Authorizer"))
                .with("authorizer.requestResource", message("kubernetes.authorization.ResourceCheck"));
        }
        if let Some(variables) = &self.variables {
            declarations = declarations.with("variables", DeclType::object(variables.clone(), []));
        }
        declarations
    }

    /// Compiles an expression. Its type comes with it.
    pub fn compile(
        &self,
        expression: &str,
        output: Output,
        mode: Mode,
    ) -> Result<(Program, Type), CompileError> {
        let environment: &Environment = match (mode, output) {
            (Mode::New, Output::Object | Output::JsonPatch) => &NEW_MUTATIONS,
            (Mode::Stored, Output::Object | Output::JsonPatch) => &STORED_MUTATIONS,
            (Mode::New, _) => &NEW,
            (Mode::Stored, _) => &STORED,
        };
        let invalid = |detail: String| CompileError { detail, internal: false };
        let declarations = self.declarations(output != Output::Text);
        let checked = environment
            .compile(expression, &declarations)
            .map_err(|issues| invalid(format!("compilation failed: {issues}")))?;
        let found = checked.output_type().clone();
        if !output.accepts(&found) {
            let wanted = output.wanted();
            return Err(invalid(format!("must evaluate to {wanted} but got {}", type_text(&found))));
        }
        let program = Program::new(&checked).map_err(|error| CompileError {
            detail: format!("program instantiation failed: {error}"),
            internal: true,
        })?;
        Ok((program, found))
    }
}

impl Output {
    fn accepts(self, found: &Type) -> bool {
        let is_object = |ty: &Type, name: &str| matches!(ty, Type::Object(object) if object.name == name);
        match self {
            Self::Bool => *found == Type::Bool,
            Self::Text => *found == Type::String,
            Self::TextOrNull => matches!(found, Type::String | Type::Null),
            Self::Object => is_object(found, "Object"),
            Self::JsonPatch => matches!(found, Type::List(of) if is_object(of, "JSONPatch")),
            Self::Any => true,
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Text => "string",
            Self::TextOrNull => "one of [string null_type]",
            Self::Object => "Object",
            Self::JsonPatch => "list(JSONPatch)",
            Self::Any => "any",
        }
    }
}

/// The type that a variable has for the expressions that use it: scalars, lists and maps are known.
pub(super) fn declared_type(ty: &Type) -> Type {
    match ty {
        Type::Any
        | Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => ty.clone(),
        Type::List(element) => pleach_json::grow_stack(|| Type::list(declared_type(element))),
        Type::Map(entry) => {
            pleach_json::grow_stack(|| Type::map(declared_type(&entry.0), declared_type(&entry.1)))
        }
        _ => Type::Dyn,
    }
}

/// A type as upstream's errors about results print it.
fn type_text(ty: &Type) -> String {
    let list = |types: &[Type]| types.iter().map(type_text).collect::<Vec<_>>().join(", ");
    match ty {
        Type::List(element) => format!("list({})", type_text(element)),
        Type::Map(entry) => format!("map({}, {})", type_text(&entry.0), type_text(&entry.1)),
        Type::Type(inner) => format!("type({})", type_text(inner)),
        Type::Wrapper(inner) => format!("wrapper({})", type_text(inner)),
        Type::Opaque(name, params) if !params.is_empty() => format!("{name}({})", list(params)),
        other => other.name().to_owned(),
    }
}

/// A variable of a policy that could be compiled or not.
pub type CompiledVariable = (Str, Result<Arc<Program>, CompileError>);
