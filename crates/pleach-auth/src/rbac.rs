//! Role-based access control: an authorizer that decides by roles and bindings it holds in memory.
//!
//! Bindings are indexed by the users and groups they name, so a decision costs as much as the bindings of one user,
//! however many there are. The owner of the authorizer tells it of every change ([`RbacAuthorizer::set_role`],
//! [`RbacAuthorizer::set_binding`]); it never reads a store itself.

mod coverage;
mod index;
mod rule;

use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use pleach_json::Str;

pub use self::coverage::{describe_missing, missing_rules};
pub use self::index::{Binding, RoleKey, Subject, SubjectKind};
pub use self::rule::PolicyRule;

use self::index::{Applied, Index};
use crate::answer::Answer;
use crate::attributes::Attributes;
use crate::authorizer::{Authorizer, Decision, NonResourceRule, ResourceRule, Rules};
use crate::user::{MASTERS, UserInfo};

/// Members of `system:masters` are allowed everything, before any other authorizer is called.
pub struct PrivilegedGroup;

impl Authorizer for PrivilegedGroup {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
        Answer::Now(if attributes.user.is_in(MASTERS) {
            Decision::allow("")
        } else {
            Decision::no_opinion("")
        })
    }

    /// Nothing: these users have the rules of the role that the group is bound to.
    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> Answer<'a, Rules> {
        Answer::Now(Rules::default())
    }
}

/// Decides by roles and bindings.
#[derive(Default)]
pub struct RbacAuthorizer {
    index: RwLock<Index>,
}

/// The rules that a user has, and the roles that the user's bindings name and that do not exist.
#[derive(Debug, Default)]
pub struct OwnRules {
    /// The rules, ClusterRoleBindings first.
    pub rules: Vec<PolicyRule>,
    /// Roles that do not exist, each once.
    pub missing: Vec<RoleKey>,
}

impl RbacAuthorizer {
    /// Sets the rules of a role; none if it was deleted.
    pub fn set_role(&self, key: RoleKey, rules: Option<Vec<PolicyRule>>) {
        self.index.write().unwrap_or_else(PoisonError::into_inner).set_role(key, rules.map(Arc::from));
    }

    /// Sets a binding by its namespace, which is empty for ClusterRoleBindings, and name; none if it was deleted.
    pub fn set_binding(&self, namespace: &str, name: &str, binding: Option<Binding>) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.set_binding(namespace.into(), name.into(), binding);
    }

    /// The rules of a role, if it exists.
    pub fn role(&self, key: &RoleKey) -> Option<Arc<[PolicyRule]>> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).role(key)
    }

    /// The rules of a user in a namespace; without one, from ClusterRoleBindings only.
    pub fn own_rules(&self, user: &UserInfo, namespace: &str) -> OwnRules {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let mut own = OwnRules::default();
        for Applied { rules, role, .. } in index.applying(user, namespace) {
            match rules {
                Some(rules) => own.rules.extend(rules.iter().cloned()),
                None if !own.missing.contains(role) => own.missing.push(role.clone()),
                None => {}
            }
        }
        own
    }

    fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let user = &*attributes.user;
        let namespace = attributes.resource.as_ref().map_or("", |resource| resource.namespace);
        if let Some(binding) = index.first_allowing(user, namespace, attributes) {
            return Decision::allow(binding.reason(user));
        }
        drop(index);
        Decision::no_opinion(missing_roles(&self.own_rules(user, namespace).missing, true))
    }
}

/// The errors about roles that do not exist.
fn missing_roles(missing: &[RoleKey], with_prefix: bool) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = missing.iter().map(RoleKey::not_found).collect();
    let mut out = if with_prefix { "RBAC: ".to_owned() } else { String::new() };
    let _ = match texts.as_slice() {
        [only] => write!(out, "{only}"),
        several => write!(out, "[{}]", several.join(", ")),
    };
    out
}

impl Authorizer for RbacAuthorizer {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
        Answer::Now(self.decide(attributes))
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> Answer<'a, Rules> {
        let own = self.own_rules(user, namespace);
        let mut rules = Rules { evaluation_error: missing_roles(&own.missing, false), ..Rules::default() };
        let texts = |list: &[Str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        for rule in own.rules {
            if !rule.resources.is_empty() {
                rules.resource.push(ResourceRule {
                    verbs: texts(&rule.verbs),
                    api_groups: texts(&rule.api_groups),
                    resources: texts(&rule.resources),
                    resource_names: texts(&rule.resource_names),
                });
            }
            if !rule.non_resource_urls.is_empty() {
                rules.non_resource.push(NonResourceRule {
                    verbs: texts(&rule.verbs),
                    urls: texts(&rule.non_resource_urls),
                });
            }
        }
        Answer::Now(rules)
    }
}

#[cfg(test)]
mod tests;
