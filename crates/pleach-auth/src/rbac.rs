//! Role-based access control: an authorizer that decides by roles and bindings it holds in memory.
//!
//! Bindings are indexed by the users and groups they name, so a decision costs as much as the bindings of one user,
//! however many there are. The owner of the authorizer tells it of every change ([`RbacAuthorizer::set_role`],
//! [`RbacAuthorizer::set_binding`]); it never reads a store itself.

mod coverage;
mod index;
mod rule;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use pleach_json::Str;

pub use self::coverage::{describe_missing, missing_rules};
pub use self::index::{Binding, RoleKey, Subject, SubjectKind};
pub use self::rule::PolicyRule;

use self::index::{Applied, Bound, Index, Search};
use crate::answer::Answer;
use crate::attributes::Attributes;
use crate::authorizer::{Authorizer, Decision, NonResourceRule, ResourceRule, Rules};
use crate::user::{MASTERS, UserInfo};

/// How many texts are compared while the index is held.
const AT_ONCE: u64 = 10_000;
/// The steps that each text of a list of rules is charged: it is held in several forms until it is sent.
const LISTED: u64 = 100;

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
    /// The rules by role, those of ClusterRoleBindings first.
    pub roles: Vec<Arc<[PolicyRule]>>,
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

    /// The roles that exist.
    pub fn roles(&self) -> Vec<RoleKey> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.existing_roles().cloned().collect()
    }

    /// The namespaces and names of bindings; the namespace of ClusterRoleBindings is empty.
    pub fn bindings(&self) -> Vec<(Str, Str)> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.binding_names().cloned().collect()
    }

    /// The rules of a user in a namespace; without one, from ClusterRoleBindings only.
    pub fn own_rules(&self, user: &UserInfo, namespace: &str) -> OwnRules {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let mut own = OwnRules::default();
        let mut missing = HashSet::new();
        for Applied { rules, role, .. } in index.applying(user, namespace) {
            match rules {
                Some(rules) => own.roles.push(rules.clone()),
                None if missing.insert(role) => own.missing.push(role.clone()),
                None => {}
            }
        }
        own
    }

    fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        let user = &*attributes.user;
        let namespace = attributes.resource.as_ref().map_or("", |resource| resource.namespace);
        let search = {
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            index.search(user, namespace, attributes, AT_ONCE)
        };
        let (allowing, lacks_role) = match search {
            Search::Allowed(bound) => (Some(bound), false),
            Search::NotAllowed { lacks_role } => (None, lacks_role),
            Search::TooMuch => (self.search_on(attributes, namespace), true),
        };
        if let Some(bound) = allowing {
            return Decision::allow(bound.binding.reason(user));
        }
        if !lacks_role {
            return Decision::no_opinion("");
        }
        Decision::no_opinion(missing_roles(&self.own_rules(user, namespace).missing, true))
    }

    /// The first binding that allows a request, for users with many rules: others may use the index meanwhile, and the
    /// work is charged.
    fn search_on(&self, attributes: &Attributes<'_>, namespace: &str) -> Option<Arc<Bound>> {
        let candidates = {
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            index.roles_applying(&attributes.user, namespace)
        };
        let allowing = candidates.into_iter().find(|candidate| {
            pleach_work::charge(candidate.work);
            let rules = candidate.rules.as_deref().unwrap_or_default();
            rules.iter().any(|rule| rule.allows(attributes))
        });
        allowing.map(|candidate| candidate.bound)
    }
}

impl OwnRules {
    /// The rules.
    pub fn rules(&self) -> impl Iterator<Item = &PolicyRule> + Clone {
        self.roles.iter().flat_map(|rules| rules.iter())
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
        pleach_work::charge(own.missing.len() as u64 * LISTED);
        let mut rules = Rules { evaluation_error: missing_roles(&own.missing, false), ..Rules::default() };
        let texts = |list: &[Str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        for rule in own.rules() {
            // The same rule may be bound many times.
            pleach_work::charge(rule.work() * LISTED);
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
