//! The type checker.
//!
//! Infers a type for every node and resolves every name, or reports errors. After an error the node has
//! the type `!error!`, which is assignable to everything, so that one mistake is reported once.
//!
//! Odd: whether `a.b.c(x)` is a call of the function `a.b.c` or of `c` with a receiver depends on the
//! declarations; [`Checked::reference`] has the result. A list of mixed types is `list(dyn)` here;
//! [`validate`] refuses it afterwards.
//!
//! Nodes can have two parents (`optMap`), so types are memoized.

mod format;
mod unify;
mod validate;

use crate::ast::{Ast, Expr, ExprId, Literal, MapEntry, StructField};
use crate::checked::{Checked, Reference};
use crate::decl::{Declarations, ObjectType};
use crate::environment::Environment;
use crate::function::{Overload, operators};
use crate::issues::{Issue, Issues, SourceLines};
use crate::message::{self, Message};
use crate::types::Type;
use pleach_json::{Str, grow_stack};
use std::sync::Arc;
use unify::Unifier;

/// Larger types are refused: types double in size along chains of `map`.
const MAX_TYPE_SIZE: usize = 500;

/// After this many issues those of shared nodes are not repeated.
const MAX_ISSUES: usize = 1_000;

/// Checks `ast`.
pub(crate) fn check(
    ast: Ast,
    environment: &Environment,
    declarations: &Declarations,
) -> Result<Checked, Issues> {
    let mut checker = Checker {
        environment,
        declarations,
        scopes: Vec::new(),
        unifier: Unifier::default(),
        types: vec![None; ast.len()],
        references: vec![None; ast.len()],
        places: SourceLines::of(ast.source()),
        issues: Vec::new(),
        ast: &ast,
    };
    checker.check(ast.root());
    let Checker { unifier, types, references, issues, places, .. } = checker;
    if !issues.is_empty() {
        return Err(Issues::new(ast.source().into(), issues));
    }
    let types: Vec<Type> = types.into_iter().map(|ty| ty.map_or(Type::Dyn, |(ty, ..)| ty)).collect();
    let types = unifier.substitute_all(&types);
    let checked = Checked { ast, types, references, declarations: declarations.clone() };
    let issues = validate::validate(&checked, environment.minor(), &places);
    if issues.is_empty() { Ok(checked) } else { Err(Issues::new(checked.ast.source().into(), issues)) }
}

struct Checker<'a> {
    ast: &'a Ast,
    environment: &'a Environment,
    declarations: &'a Declarations,
    /// Variables of enclosing comprehensions, innermost last.
    scopes: Vec<(Str, Type)>,
    unifier: Unifier,
    /// The types of checked nodes, with the issues found below them.
    types: Vec<Option<(Type, usize, usize)>>,
    references: Vec<Option<Reference>>,
    places: SourceLines,
    issues: Vec<Issue>,
}

impl Checker<'_> {
    fn error(&mut self, at: ExprId, message: impl Into<String>) {
        self.error_at(self.ast.offset(at), message);
    }

    fn error_at(&mut self, offset: u32, message: impl Into<String>) {
        self.issues.push(self.places.issue(offset, message));
    }

    fn undeclared(&mut self, at: ExprId, name: &str) -> Type {
        self.error(at, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    fn mismatch(&mut self, at: ExprId, expected: &Type, found: &Type) {
        self.error(at, format!("expected type '{expected}' but found '{found}'"));
    }

    /// The type of a node, checked now if it has not been.
    fn check(&mut self, id: ExprId) -> Type {
        if let Some((known, from, to)) = self.types[id.index()].clone() {
            // Issues below are reported for every parent.
            if self.issues.len() < MAX_ISSUES {
                self.issues.extend_from_within(from..to);
            }
            return known;
        }
        let before = self.issues.len();
        let mut ty = grow_stack(|| self.infer(id));
        if unify::is_larger_than(&ty, MAX_TYPE_SIZE) {
            self.error(id, "type of expression is too complex");
            ty = Type::Error;
        }
        self.types[id.index()] = Some((ty.clone(), before, self.issues.len()));
        ty
    }

    /// The type of a node that has been checked.
    fn known(&self, id: ExprId) -> Type {
        self.types[id.index()].as_ref().map_or(Type::Error, |(ty, ..)| ty.clone())
    }

    fn infer(&mut self, id: ExprId) -> Type {
        let ast = self.ast;
        match ast.expr(id) {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => match self.lookup(name) {
                Some((ty, reference)) => {
                    self.references[id.index()] = Some(reference);
                    ty
                }
                None => self.undeclared(id, name),
            },
            Expr::Select { operand, field, test_only } => self.select(id, *operand, field, *test_only),
            Expr::Call { target, function, args } => self.call(id, *target, function, args),
            Expr::List { elements, optional } => self.list(elements, optional),
            Expr::Map(entries) => self.map(entries),
            Expr::Struct { name, fields } => self.structure(id, name, fields),
            Expr::Comprehension(_) => self.comprehension(id),
        }
    }

    /// Resolves a name. A leading dot makes no difference: there is one namespace.
    fn lookup(&self, name: &str) -> Option<(Type, Reference)> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some((name, ty)) = self.scopes.iter().rev().find(|(n, _)| n == name) {
            return Some((ty.clone(), Reference::Variable(name.clone())));
        }
        if let Some(decl) = self.declarations.get(name) {
            return Some((decl.cel_type(), Reference::Variable(name.into())));
        }
        if let Some(ty) = self.environment.type_name(name) {
            return Some((Type::type_of(ty.clone()), Reference::TypeName(ty)));
        }
        if self.environment.has_patch_types() && message::is_patch_type(name) {
            let ty = Type::Object(Arc::new(ObjectType::new(name)));
            return Some((Type::type_of(ty.clone()), Reference::TypeName(ty)));
        }
        if name == message::NULL_VALUE {
            return Some((Type::Int, Reference::Constant(0)));
        }
        let message = Message::find(name)?;
        Some((Type::type_of(message.ty.into()), Reference::MessageType(message.name)))
    }

    fn select(&mut self, id: ExprId, operand: ExprId, field: &Str, test_only: bool) -> Type {
        if !test_only && let Some(name) = self.qualified_name(id) {
            // A dotted name is a type, or `authorizer.requestResource`.
            if let Some((ty, reference)) = self.lookup(&name) {
                self.references[id.index()] = Some(reference);
                return ty;
            }
        }
        let ty = self.field(id, operand, field, false);
        if test_only { Type::Bool } else { ty }
    }

    /// `a.b.c` as one name, if the node is that. Long chains are never names.
    fn qualified_name(&self, id: ExprId) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = id;
        loop {
            match self.ast.expr(at) {
                Expr::Ident(name) => {
                    parts.push(name.as_str());
                    break;
                }
                Expr::Select { operand, field, test_only: false } if parts.len() < 16 => {
                    parts.push(field);
                    at = *operand;
                }
                _ => return None,
            }
        }
        parts.reverse();
        Some(parts.join("."))
    }

    /// The type of `operand.field`; an optional if the operand is one.
    fn field(&mut self, id: ExprId, operand: ExprId, field: &str, optional: bool) -> Type {
        let operand = self.check(operand);
        let operand = self.unifier.substitute(&operand, false);
        let target = operand.unwrap_optional().clone();
        let found = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(object) => match self.environment.field(object, field) {
                Some(field) => field.decl.cel_type(),
                None if self.environment.has_patch_types() && message::is_patch_type(&object.name) => {
                    // Odd: a field that there is not has any type.
                    message::patch_field(&object.name, field).map_or(Type::Dyn, Type::from)
                }
                // Library types have no field declarations.
                None if object.is_opaque() => {
                    self.error(id, format!("unexpected failed resolution of '{}'", object.name));
                    Type::Error
                }
                None => {
                    self.error(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Param(_) => {
                // An unsolved type variable becomes dyn.
                self.unifier.is_assignable(&target, &Type::Dyn);
                Type::Dyn
            }
            Type::Dyn | Type::Any | Type::Error => Type::Dyn,
            other => {
                self.error(id, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        let found = self.unifier.substitute(&found, false);
        if optional || operand.as_optional().is_some() { Type::optional(found) } else { found }
    }

    fn call(&mut self, id: ExprId, target: Option<ExprId>, function: &Str, args: &[ExprId]) -> Type {
        if function == operators::OPT_SELECT && target.is_none() {
            return self.optional_select(id, args);
        }
        for arg in args {
            self.check(*arg);
        }
        let Some(target) = target else {
            let name = function.strip_prefix('.').unwrap_or(function);
            return match self.environment.function(name) {
                Some((name, overloads)) => self.resolve(id, name, overloads, None, args),
                None => self.undeclared(id, function),
            };
        };
        if let Some(prefix) = self.qualified_name(target) {
            let name = format!("{}.{function}", prefix.strip_prefix('.').unwrap_or(&prefix));
            if let Some((name, overloads)) = self.environment.function(&name) {
                return self.resolve(id, name, overloads, None, args);
            }
        }
        self.check(target);
        match self.environment.function(function) {
            Some((name, overloads)) => self.resolve(id, name, overloads, Some(target), args),
            None => self.undeclared(id, function),
        }
    }

    /// `operand.?field`
    fn optional_select(&mut self, id: ExprId, args: &[ExprId]) -> Type {
        let [operand, field] = args else { return Type::Error };
        self.check(*field);
        let Expr::Literal(Literal::String(name)) = self.ast.expr(*field) else { return Type::Error };
        let name = name.clone();
        let ty = self.field(id, *operand, &name, true);
        if let Some((_, overloads)) = self.environment.function(operators::OPT_SELECT) {
            self.references[id.index()] = Some(Reference::Overloads(overloads.to_vec()));
        }
        ty
    }

    /// Finds the overloads that accept the arguments; their common result is the call's type.
    fn resolve(
        &mut self,
        id: ExprId,
        name: &str,
        overloads: &[&'static Overload],
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> Type {
        let all: Vec<ExprId> = target.iter().chain(args).copied().collect();
        let arg_types: Vec<Type> = all.iter().map(|arg| self.known(*arg)).collect();
        if name == operators::AND || name == operators::OR {
            return self.logical(id, overloads, &all, &arg_types);
        }
        let (mut result, mut matching) = (None, Vec::new());
        for overload in overloads.iter().filter(|o| o.member == target.is_some()) {
            let mut fresh = Vec::new();
            let mut instance =
                |unifier: &mut Unifier, ty: crate::types::T| unifier.instantiate(ty, &mut fresh);
            let params: Vec<Type> =
                overload.params.iter().map(|ty| instance(&mut self.unifier, *ty)).collect();
            let output = instance(&mut self.unifier, overload.result);
            if !self.unifier.are_assignable(&arg_types, &params) {
                continue;
            }
            matching.push(*overload);
            let output = self.unifier.substitute(&output, false);
            result = Some(match result {
                None => output,
                Some(Type::Dyn) => Type::Dyn,
                Some(same) if same.is_equivalent(&output) => same,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let shown: Vec<String> =
                arg_types.iter().map(|ty| self.unifier.substitute(ty, true).to_string()).collect();
            let applied = match target {
                Some(_) => format!("{}.({})", shown[0], shown[1..].join(", ")),
                None => format!("({})", shown.join(", ")),
            };
            self.error(id, format!("found no matching overload for '{name}' applied to '{applied}'"));
            return Type::Error;
        };
        self.references[id.index()] = Some(Reference::Overloads(matching));
        result
    }

    /// `&&` and `||`: every operand must be a bool; each that is not is reported.
    fn logical(
        &mut self,
        id: ExprId,
        overloads: &[&'static Overload],
        args: &[ExprId],
        types: &[Type],
    ) -> Type {
        let mut ty = Type::Bool;
        for (arg, found) in args.iter().zip(types) {
            if !self.unifier.is_assignable(found, &Type::Bool) {
                self.mismatch(*arg, &Type::Bool, found);
                ty = Type::Error;
            }
        }
        self.references[id.index()] = Some(Reference::Overloads(overloads.to_vec()));
        ty
    }

    fn list(&mut self, elements: &[ExprId], optional: &[u32]) -> Type {
        let mut common = None;
        for (i, element) in elements.iter().enumerate() {
            let mut ty = self.check(*element);
            // The positions are ascending.
            if optional.binary_search(&(i as u32)).is_ok() {
                ty = self.unwrap_optional_entry(*element, ty);
            }
            common = Some(self.join(common, ty));
        }
        Type::list(common.unwrap_or_else(|| self.unifier.fresh()))
    }

    fn map(&mut self, entries: &[MapEntry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.check(entry.key);
            keys = Some(self.join(keys, key));
            let mut value = self.check(entry.value);
            if entry.optional {
                value = self.unwrap_optional_entry(entry.value, value);
            }
            values = Some(self.join(values, value));
        }
        let keys = keys.unwrap_or_else(|| self.unifier.fresh());
        let values = values.unwrap_or_else(|| self.unifier.fresh());
        Type::map(keys, values)
    }

    /// The value type of an entry marked with `?`.
    fn unwrap_optional_entry(&mut self, at: ExprId, ty: Type) -> Type {
        if let Some(inner) = ty.as_optional() {
            return inner.clone();
        }
        if ty != Type::Dyn {
            self.mismatch(at, &Type::optional(ty.clone()), &ty);
        }
        ty
    }

    /// The common type; dyn if there is none.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if !self.unifier.is_assignable(&previous, &current) {
            return Type::Dyn;
        }
        unify::most_general(previous, current)
    }

    /// `Name{field: value}`
    fn structure(&mut self, id: ExprId, name: &Str, fields: &[StructField]) -> Type {
        let name = name.strip_prefix('.').unwrap_or(name);
        // Odd: these two are types, but cannot be constructed here.
        let known = if matches!(name, "timestamp" | "duration") { None } else { self.lookup(name) };
        let Some((ty, _)) = known else { return self.undeclared(id, name) };
        let message = Message::find(name);
        let patch = self.environment.has_patch_types() && message::is_patch_type(name);
        let (made, shown) = match (&ty, message) {
            (_, Some(message)) => (message.ty.into(), name),
            (Type::Type(inner), None) if patch => ((**inner).clone(), name),
            (Type::Type(inner), None) if **inner == Type::Null => (Type::Null, "google.protobuf.NullValue"),
            (Type::Type(inner), None) => {
                self.error(id, format!("'{}' is not a message type", inner.name()));
                (Type::Error, name)
            }
            (ty, None) => {
                self.error(id, format!("'{}' is not a type", ty.name()));
                (Type::Error, name)
            }
        };
        for field in fields {
            let mut found = self.check(field.value);
            let known = match message {
                Some(message) => Some(message.field(&field.name)),
                None => patch.then(|| message::patch_field(name, &field.name)),
            };
            let expected = match known {
                Some(Some(ty)) => ty.into(),
                Some(None) if patch => {
                    let name = &field.name;
                    let error =
                        format!("expected type of field '{name}' is '' but provided type is '{found}'");
                    self.error_at(field.offset, error);
                    Type::Error
                }
                Some(None) => {
                    self.error_at(field.offset, format!("undefined field '{}'", field.name));
                    Type::Error
                }
                None => {
                    self.error_at(field.offset, format!("unexpected failed resolution of '{shown}'"));
                    Type::Error
                }
            };
            if field.optional {
                found = self.unwrap_optional_entry(field.value, found);
            }
            if !self.unifier.is_assignable(&expected, &found) {
                let name = &field.name;
                self.error_at(
                    field.offset,
                    format!("expected type of field '{name}' is '{expected}' but provided type is '{found}'"),
                );
            }
        }
        made
    }

    fn comprehension(&mut self, id: ExprId) -> Type {
        let ast = self.ast;
        let Expr::Comprehension(fold) = ast.expr(id) else { return Type::Error };
        let range = self.check(fold.range);
        let accu = self.check(fold.init);
        let range = self.unifier.substitute(&range, false);
        let (first, second) = match &range {
            Type::List(element) if fold.iter_var2.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Error),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn | Type::Any | Type::Error | Type::Param(_) => {
                self.unifier.is_assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = "cannot be range of a comprehension (must be list, map, or dynamic)";
                self.error(fold.range, format!("expression of type '{other}' {message}"));
                (Type::Error, Type::Error)
            }
        };
        let outer = self.scopes.len();
        self.scopes.push((fold.accu_var.clone(), accu.clone()));
        self.scopes.push((fold.iter_var.clone(), first));
        self.scopes.extend(fold.iter_var2.iter().map(|name| (name.clone(), second.clone())));
        let cond = self.check(fold.cond);
        self.assert(fold.cond, &Type::Bool, &cond);
        let step = self.check(fold.step);
        self.assert(fold.step, &accu, &step);
        self.scopes.truncate(outer + 1);
        let result = self.check(fold.result);
        self.scopes.truncate(outer);
        self.unifier.substitute(&result, false)
    }

    fn assert(&mut self, at: ExprId, expected: &Type, found: &Type) {
        if !self.unifier.is_assignable(expected, found) {
            self.mismatch(at, expected, found);
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
