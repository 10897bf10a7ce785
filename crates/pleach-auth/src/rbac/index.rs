//! The index of roles and bindings: finds the bindings of a user without a scan.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use pleach_json::Str;

use super::rule::PolicyRule;
use crate::attributes::Attributes;
use crate::user::UserInfo;

/// The name of a role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoleKey {
    /// The namespace of a Role; none for a ClusterRole.
    pub namespace: Option<Str>,
    /// The name.
    pub name: Str,
}

impl RoleKey {
    /// The error of a binding whose role does not exist.
    pub fn not_found(&self) -> String {
        let kind = if self.namespace.is_some() { "role" } else { "clusterrole" };
        format!("{kind}.rbac.authorization.k8s.io {} not found", quoted(&self.name))
    }
}

/// The kinds of subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// A user by name.
    User,
    /// The members of a group.
    Group,
    /// A service account.
    ServiceAccount,
}

/// A subject of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The kind.
    pub kind: SubjectKind,
    /// The namespace of a service account; empty for that of the binding.
    pub namespace: Str,
    /// The name.
    pub name: Str,
}

/// A RoleBinding or ClusterRoleBinding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The namespace; empty for a ClusterRoleBinding.
    pub namespace: Str,
    /// The name.
    pub name: Str,
    /// The role.
    pub role: RoleKey,
    /// The subjects.
    pub subjects: Vec<Subject>,
}

impl Binding {
    /// The user name of a service account that is a subject; none if it has no namespace.
    fn account(&self, subject: &Subject) -> Option<Str> {
        let namespace = if subject.namespace.is_empty() { &self.namespace } else { &subject.namespace };
        (!namespace.is_empty()).then(|| format!("system:serviceaccount:{namespace}:{}", subject.name).into())
    }

    fn is_subject(&self, subject: &Subject, user: &UserInfo, is_in: &impl Fn(&str) -> bool) -> bool {
        match subject.kind {
            SubjectKind::User => subject.name == user.name,
            SubjectKind::Group => is_in(&subject.name),
            SubjectKind::ServiceAccount => self.account(subject).is_some_and(|name| name == user.name),
        }
    }

    /// Why a request of a user is allowed by this binding.
    pub(super) fn reason(&self, user: &UserInfo) -> String {
        // An access review names as many groups as it likes.
        let subject = if user.groups.len() > FEW_GROUPS {
            let groups: HashSet<&str> = user.groups.iter().map(Str::as_str).collect();
            self.subjects.iter().find(|subject| self.is_subject(subject, user, &|name| groups.contains(name)))
        } else {
            self.subjects.iter().find(|subject| self.is_subject(subject, user, &|name| user.is_in(name)))
        };
        let subject = subject.map_or_else(String::new, |subject| match subject.kind {
            SubjectKind::User => format!("User {}", quoted(&subject.name)),
            SubjectKind::Group => format!("Group {}", quoted(&subject.name)),
            SubjectKind::ServiceAccount => {
                let namespace =
                    if subject.namespace.is_empty() { &self.namespace } else { &subject.namespace };
                format!("ServiceAccount {}", quoted(&format!("{}/{namespace}", subject.name)))
            }
        });
        let role = if self.role.namespace.is_some() { "Role" } else { "ClusterRole" };
        let role = format!("{role} {}", quoted(&self.role.name));
        if self.namespace.is_empty() {
            format!("RBAC: allowed by ClusterRoleBinding {} of {role} to {subject}", quoted(&self.name))
        } else {
            let name = quoted(&format!("{}/{}", self.name, self.namespace));
            format!("RBAC: allowed by RoleBinding {name} of {role} to {subject}")
        }
    }
}

/// A text as Go's `%q` writes it.
pub(super) fn quoted(text: &str) -> String {
    pleach_go::strconv::quote(text)
}

/// The most groups that are searched one by one.
const FEW_GROUPS: usize = 16;

/// A role that exists, or that a binding names.
struct RoleSlot {
    key: RoleKey,
    rules: Option<Arc<[PolicyRule]>>,
    /// How much there is to compare in the rules.
    work: u64,
    /// How many bindings name it.
    bindings: usize,
}

pub(super) struct Bound {
    pub(super) binding: Binding,
    role: usize,
}

/// The bindings of one namespace, or of the whole cluster, by the subjects they name.
#[derive(Default)]
struct Scope {
    users: HashMap<Str, Vec<Arc<Bound>>>,
    groups: HashMap<Str, Vec<Arc<Bound>>>,
}

impl Scope {
    /// The bindings that apply to a user. One may come several times.
    fn of<'a>(&'a self, user: &'a UserInfo) -> impl Iterator<Item = &'a Arc<Bound>> {
        let by_group = user.groups.iter().filter_map(|group| self.groups.get(group)).flatten();
        self.users.get(&user.name).into_iter().flatten().chain(by_group)
    }

    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }
}

/// A binding that applies to a user.
pub(super) struct Applied<'a> {
    /// The rules of its role; none if that does not exist.
    pub(super) rules: Option<&'a Arc<[PolicyRule]>>,
    /// The role.
    pub(super) role: &'a RoleKey,
}

/// All roles and bindings.
#[derive(Default)]
pub(super) struct Index {
    roles: HashMap<RoleKey, usize>,
    slots: Vec<RoleSlot>,
    free: Vec<usize>,
    /// By namespace and name.
    bindings: HashMap<(Str, Str), Arc<Bound>>,
    cluster: Scope,
    namespaces: HashMap<Str, Scope>,
}

impl Index {
    pub(super) fn role(&self, key: &RoleKey) -> Option<Arc<[PolicyRule]>> {
        self.roles.get(key).and_then(|at| self.slots[*at].rules.clone())
    }

    /// The roles that exist.
    pub(super) fn existing_roles(&self) -> impl Iterator<Item = &RoleKey> {
        self.slots.iter().filter(|slot| slot.rules.is_some()).map(|slot| &slot.key)
    }

    /// The namespaces and names of bindings.
    pub(super) fn binding_names(&self) -> impl Iterator<Item = &(Str, Str)> {
        self.bindings.keys()
    }

    pub(super) fn set_role(&mut self, key: RoleKey, rules: Option<Arc<[PolicyRule]>>) {
        if rules.is_none() && !self.roles.contains_key(&key) {
            return;
        }
        let at = self.slot(key);
        self.slots[at].work = rules.iter().flat_map(|rules| rules.iter()).map(PolicyRule::work).sum();
        self.slots[at].rules = rules;
        self.free_if_unused(at);
    }

    /// The slot of a role, made if there is none.
    fn slot(&mut self, key: RoleKey) -> usize {
        if let Some(at) = self.roles.get(&key) {
            return *at;
        }
        let slot = RoleSlot { key: key.clone(), rules: None, work: 0, bindings: 0 };
        let at = if let Some(at) = self.free.pop() {
            self.slots[at] = slot;
            at
        } else {
            self.slots.push(slot);
            self.slots.len() - 1
        };
        self.roles.insert(key, at);
        at
    }

    fn free_if_unused(&mut self, at: usize) {
        let slot = &self.slots[at];
        if slot.rules.is_none() && slot.bindings == 0 {
            self.roles.remove(&slot.key);
            self.free.push(at);
        }
    }

    pub(super) fn set_binding(&mut self, namespace: Str, name: Str, binding: Option<Binding>) {
        let key = (namespace, name);
        if let Some(old) = self.bindings.remove(&key) {
            self.unlink(&old);
        }
        let Some(binding) = binding else { return };
        let role = self.slot(binding.role.clone());
        self.slots[role].bindings += 1;
        let bound = Arc::new(Bound { binding, role });
        self.link(&bound);
        self.bindings.insert(key, bound);
    }

    fn link(&mut self, bound: &Arc<Bound>) {
        let Bound { binding, .. } = &**bound;
        let scope = if binding.namespace.is_empty() {
            &mut self.cluster
        } else {
            self.namespaces.entry(binding.namespace.clone()).or_default()
        };
        for (of_users, name) in subject_keys(binding) {
            let map = if of_users { &mut scope.users } else { &mut scope.groups };
            map.entry(name).or_default().push(bound.clone());
        }
    }

    fn unlink(&mut self, bound: &Arc<Bound>) {
        let Bound { binding, role } = &**bound;
        let scope = if binding.namespace.is_empty() {
            Some(&mut self.cluster)
        } else {
            self.namespaces.get_mut(&binding.namespace)
        };
        if let Some(scope) = scope {
            for (of_users, name) in subject_keys(binding) {
                let map = if of_users { &mut scope.users } else { &mut scope.groups };
                if let Some(list) = map.get_mut(&name) {
                    list.retain(|other| !Arc::ptr_eq(other, bound));
                    if list.is_empty() {
                        map.remove(&name);
                    }
                }
            }
            if scope.is_empty() && !binding.namespace.is_empty() {
                self.namespaces.remove(&binding.namespace);
            }
        }
        self.slots[*role].bindings -= 1;
        self.free_if_unused(*role);
    }

    /// The bindings that may count for a request: ClusterRoleBindings first.
    fn bindings_of<'a>(
        &'a self,
        user: &'a UserInfo,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Bound>> {
        let scope = if namespace.is_empty() { None } else { self.namespaces.get(namespace) };
        self.cluster.of(user).chain(scope.into_iter().flat_map(|scope| scope.of(user)))
    }

    /// Looks for the first binding with a rule that allows a request, if there is not much to compare.
    pub(super) fn search(
        &self,
        user: &UserInfo,
        namespace: &str,
        attributes: &Attributes<'_>,
        most: u64,
    ) -> Search {
        let mut work = 0;
        let mut lacks_role = false;
        for bound in self.bindings_of(user, namespace) {
            let slot = &self.slots[bound.role];
            work += 1 + slot.work;
            if work > most {
                return Search::TooMuch;
            }
            lacks_role |= slot.rules.is_none();
            let rules = slot.rules.as_deref().unwrap_or_default();
            if rules.iter().any(|rule| rule.allows(attributes)) {
                return Search::Allowed(bound.clone());
            }
        }
        Search::NotAllowed { lacks_role }
    }

    /// The bindings that apply to a user with the rules of their roles, each role once, in the order of a search.
    pub(super) fn roles_applying(&self, user: &UserInfo, namespace: &str) -> Vec<Candidate> {
        let mut seen = HashSet::new();
        let bindings = self.bindings_of(user, namespace).filter(|bound| seen.insert(bound.role));
        let candidates = bindings.map(|bound| {
            let slot = &self.slots[bound.role];
            Candidate { bound: bound.clone(), rules: slot.rules.clone(), work: 1 + slot.work }
        });
        candidates.collect()
    }

    /// All bindings that apply to a user, each once, by scope and name.
    pub(super) fn applying<'a>(
        &'a self,
        user: &'a UserInfo,
        namespace: &str,
    ) -> impl Iterator<Item = Applied<'a>> {
        let mut all: Vec<&Arc<Bound>> = self.bindings_of(user, namespace).collect();
        all.sort_by_key(|bound| (&bound.binding.namespace, &bound.binding.name));
        all.dedup_by(|a, b| Arc::ptr_eq(a, b));
        all.into_iter().map(|bound| {
            let slot = &self.slots[bound.role];
            Applied { rules: slot.rules.as_ref(), role: &slot.key }
        })
    }
}

/// The result of a search for a binding.
pub(super) enum Search {
    /// The binding that allows the request.
    Allowed(Arc<Bound>),
    /// None does.
    NotAllowed {
        /// Whether the role of one of the bindings does not exist.
        lacks_role: bool,
    },
    /// There is so much to compare that it is not done while others wait for the index.
    TooMuch,
}

/// A binding that may allow a request.
pub(super) struct Candidate {
    pub(super) bound: Arc<Bound>,
    /// The rules of its role; none if that does not exist.
    pub(super) rules: Option<Arc<[PolicyRule]>>,
    /// How much there is to compare.
    pub(super) work: u64,
}

/// Whether a subject is a user, and the name it is known by; each once.
fn subject_keys(binding: &Binding) -> BTreeSet<(bool, Str)> {
    let keys = binding.subjects.iter().filter_map(|subject| match subject.kind {
        SubjectKind::User => Some((true, subject.name.clone())),
        SubjectKind::Group => Some((false, subject.name.clone())),
        SubjectKind::ServiceAccount => binding.account(subject).map(|name| (true, name)),
    });
    keys.collect()
}
