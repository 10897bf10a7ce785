//! Type unification.
//!
//! A type parameter of an overload becomes a fresh variable (`_var0`) at every call; its substitution
//! is recorded and widened if it was too narrow. A failed attempt is rolled back.

use crate::types::{T, Type};
use pleach_json::Str;
use std::collections::HashMap;
use std::sync::Arc;

/// Substitutions of type variables.
#[derive(Debug, Default)]
pub(super) struct Unifier {
    solved: HashMap<Str, Type>,
    /// The undo log of the current attempt.
    undo: Vec<(Str, Option<Type>)>,
    count: usize,
}

impl Unifier {
    /// A new variable.
    pub(super) fn fresh(&mut self) -> Type {
        let name = format!("_var{}", self.count);
        self.count += 1;
        Type::Param(name.into())
    }

    /// Instantiates a constant type: parameters become the variables in `fresh`, which grows.
    pub(super) fn instantiate(&mut self, ty: T, fresh: &mut Vec<(&'static str, Type)>) -> Type {
        match ty {
            T::Param(name) => {
                if let Some((_, var)) = fresh.iter().find(|(n, _)| *n == name) {
                    return var.clone();
                }
                let var = self.fresh();
                fresh.push((name, var.clone()));
                var
            }
            T::List(element) => Type::list(self.instantiate(*element, fresh)),
            T::Map(key, value) => Type::map(self.instantiate(*key, fresh), self.instantiate(*value, fresh)),
            T::Type(inner) => Type::type_of(self.instantiate(*inner, fresh)),
            T::Optional(inner) => Type::optional(self.instantiate(*inner, fresh)),
            other => other.into(),
        }
    }

    /// Whether a value of type `from` is assignable to `to`; unifies variables of both.
    pub(super) fn is_assignable(&mut self, from: &Type, to: &Type) -> bool {
        self.are_assignable(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    /// The same for each of a list of arguments; all or nothing.
    pub(super) fn are_assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        self.undo.clear();
        if from.len() == to.len() && self.assign_all(from, to) {
            return true;
        }
        while let Some((name, before)) = self.undo.pop() {
            match before {
                Some(ty) => self.solved.insert(name, ty),
                None => self.solved.remove(&name),
            };
        }
        false
    }

    fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        from.iter().zip(to).all(|(from, to)| self.assign(from, to))
    }

    fn assign(&mut self, from: &Type, to: &Type) -> bool {
        pleach_work::charge(1);
        if let Type::Param(name) = to {
            match self.valid_substitution(from, name, to) {
                Substitution::Valid => return true,
                Substitution::Contradicts => return false,
                Substitution::Impossible => {}
            }
        }
        if let Type::Param(name) = from {
            return matches!(self.valid_substitution(to, name, from), Substitution::Valid);
        }
        if is_dyn_or_error(from) || is_dyn_or_error(to) {
            return true;
        }
        match (from, to) {
            (Type::Wrapper(from), Type::Wrapper(to)) => from == to,
            (Type::Wrapper(inner), other) | (other, Type::Wrapper(inner)) => {
                **inner == *other || *other == Type::Null
            }
            (Type::Null, other) | (other, Type::Null) => {
                matches!(
                    other,
                    Type::Null | Type::Duration | Type::Timestamp | Type::Object(_) | Type::Opaque(..)
                )
            }
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(from), Type::List(to)) => self.assign(from, to),
            (Type::Map(from), Type::Map(to)) => self.assign(&from.0, &to.0) && self.assign(&from.1, &to.1),
            (Type::Opaque(a, from), Type::Opaque(b, to)) => {
                a == b && from.len() == to.len() && self.assign_all(from, to)
            }
            _ => from == to,
        }
    }

    /// Whether `ty` is a valid substitution of the variable `var` (called `name`).
    fn valid_substitution(&mut self, ty: &Type, name: &Str, var: &Type) -> Substitution {
        if ty == var {
            return Substitution::Valid;
        }
        if let Some(known) = self.solved.get(name).cloned() {
            if ty.is_equivalent(&known) {
                return Substitution::Valid;
            }
            if !self.assign(ty, &known) {
                return Substitution::Contradicts;
            }
            let wider = most_general(ty.clone(), known);
            if !self.occurs_in(&wider, var) {
                self.solve(name, wider);
            }
            return Substitution::Valid;
        }
        if self.occurs_in(ty, var) {
            return Substitution::Impossible;
        }
        self.solve(name, ty.clone());
        Substitution::Valid
    }

    fn solve(&mut self, name: &Str, ty: Type) {
        let before = self.solved.insert(name.clone(), ty);
        self.undo.push((name.clone(), before));
    }

    /// The occurs check: whether `var` is in `ty`, substitutions included.
    fn occurs_in(&self, ty: &Type, var: &Type) -> bool {
        pleach_work::charge(1);
        match ty {
            Type::Param(name) => ty == var || self.solved.get(name).is_some_and(|ty| self.occurs_in(ty, var)),
            Type::List(inner) | Type::Type(inner) => self.occurs_in(inner, var),
            Type::Map(entry) => self.occurs_in(&entry.0, var) || self.occurs_in(&entry.1, var),
            Type::Opaque(_, params) => params.iter().any(|ty| self.occurs_in(ty, var)),
            _ => false,
        }
    }

    /// The type with substitutions applied; unsolved variables become dyn if `to_dyn`.
    pub(super) fn substitute(&self, ty: &Type, to_dyn: bool) -> Type {
        self.substituted(ty, to_dyn).unwrap_or_else(|| ty.clone())
    }

    /// Applies substitutions to all types; unsolved variables become dyn. Many nodes share a type.
    pub(super) fn substitute_all(&self, types: &[Type]) -> Vec<Type> {
        let mut known: HashMap<(u8, usize), Type> = HashMap::new();
        let of = |ty: &Type| {
            let place = match ty {
                Type::List(inner) => (0, Arc::as_ptr(inner).addr()),
                Type::Type(inner) => (1, Arc::as_ptr(inner).addr()),
                Type::Map(entry) => (2, Arc::as_ptr(entry).addr()),
                _ => return self.substitute(ty, true),
            };
            known.entry(place).or_insert_with(|| self.substitute(ty, true)).clone()
        };
        types.iter().map(of).collect()
    }

    /// The same; `None` if nothing changes.
    fn substituted(&self, ty: &Type, to_dyn: bool) -> Option<Type> {
        pleach_work::charge(1);
        match ty {
            Type::Param(name) => match self.solved.get(name) {
                Some(solution) => Some(self.substitute(solution, to_dyn)),
                None => to_dyn.then_some(Type::Dyn),
            },
            Type::List(inner) => self.substituted(inner, to_dyn).map(Type::list),
            Type::Type(inner) => self.substituted(inner, to_dyn).map(Type::type_of),
            Type::Map(entry) => {
                match (self.substituted(&entry.0, to_dyn), self.substituted(&entry.1, to_dyn)) {
                    (None, None) => None,
                    (key, value) => Some(Type::map(
                        key.unwrap_or_else(|| entry.0.clone()),
                        value.unwrap_or_else(|| entry.1.clone()),
                    )),
                }
            }
            Type::Opaque(name, params) => {
                let changed: Vec<_> = params.iter().map(|ty| self.substituted(ty, to_dyn)).collect();
                if changed.iter().all(Option::is_none) {
                    return None;
                }
                let params: Arc<[Type]> = changed
                    .into_iter()
                    .zip(params.iter())
                    .map(|(changed, ty)| changed.unwrap_or_else(|| ty.clone()))
                    .collect();
                Some(Type::Opaque(name.clone(), params))
            }
            _ => None,
        }
    }
}

/// Whether a type is a valid substitution.
enum Substitution {
    Valid,
    /// The variable is bound to another type.
    Contradicts,
    /// The type contains the variable.
    Impossible,
}

fn is_dyn_or_error(ty: &Type) -> bool {
    matches!(ty, Type::Dyn | Type::Any | Type::Error)
}

/// The more general of two compatible types.
pub(super) fn most_general(a: Type, b: Type) -> Type {
    if is_equal_or_less_specific(&a, &b) { a } else { b }
}

fn is_equal_or_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Param(_), _) | (Type::Type(_), Type::Type(_)) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(a), Type::List(b)) => is_equal_or_less_specific(a, b),
        (Type::Map(a), Type::Map(b)) => {
            is_equal_or_less_specific(&a.0, &b.0) && is_equal_or_less_specific(&a.1, &b.1)
        }
        (Type::Opaque(a, ap), Type::Opaque(b, bp)) => {
            a == b
                && ap.len() == bp.len()
                && ap.iter().zip(bp.iter()).all(|(a, b)| is_equal_or_less_specific(a, b))
        }
        _ => a.is_equivalent(b),
    }
}

/// Whether a type has more than `budget` parts.
pub(super) fn is_larger_than(ty: &Type, budget: usize) -> bool {
    fn walk(ty: &Type, budget: &mut usize) -> bool {
        if *budget == 0 {
            return true;
        }
        *budget -= 1;
        pleach_work::charge(1);
        match ty {
            Type::List(inner) | Type::Type(inner) => walk(inner, budget),
            Type::Map(entry) => walk(&entry.0, budget) || walk(&entry.1, budget),
            Type::Opaque(_, params) => params.iter().any(|ty| walk(ty, budget)),
            _ => false,
        }
    }
    walk(ty, &mut { budget })
}
