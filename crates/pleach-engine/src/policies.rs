//! The admission policies there are: compiled once per change, and found by the resources that they name.
//!
//! Looked up on every write; without policies that costs one atomic load, and a policy that names other resources costs
//! nothing.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pleach_json::{Str, Value};
use pleach_policy::{Binding, Policy};
use pleach_store::{Key, RangeQuery, Revision};

use crate::admission::AdmissionAttributes;
use crate::engine::Engine;
use crate::keys;
use crate::kinds::admission_policy::{
    GROUP, MUTATING_BINDINGS, MUTATING_POLICIES, VALIDATING_BINDINGS, VALIDATING_POLICIES,
};
use crate::record::Record;
use crate::rejection::Rejection;

/// How many objects are kept parsed for policies, and how many bytes of JSON all of them have.
const MOST_PARSED: usize = 4096;
const MOST_PARSED_BYTES: usize = 2 << 20;

/// Objects that are kept parsed.
#[derive(Default)]
struct Parsed {
    objects: HashMap<Key, ParsedObject>,
    /// The keys, those first that were put in first.
    order: VecDeque<Key>,
    bytes: usize,
}

struct ParsedObject {
    revision: Revision,
    value: Arc<Value>,
    bytes: usize,
}

impl Parsed {
    /// Drops the object that was put in first.
    fn drop_first(&mut self) {
        let first = self.order.pop_front().and_then(|key| self.objects.remove(&key));
        self.bytes -= first.map_or(0, |first| first.bytes);
    }
}

/// A policy and its bindings, in the order of their names.
pub(crate) struct BoundPolicy {
    pub(crate) policy: Arc<Policy>,
    pub(crate) bindings: Vec<Arc<Binding>>,
}

/// Policies of one kind.
#[derive(Default)]
pub(crate) struct PolicySet {
    /// Policies with bindings, in the order of their names.
    bound: Vec<BoundPolicy>,
    /// Indexes of policies that may match a resource, including those that match any.
    by_resource: BTreeMap<Str, Vec<usize>>,
    /// Indexes of policies that may match any resource.
    about_all: Vec<usize>,
}

/// All policies.
#[derive(Default)]
pub(crate) struct Policies {
    pub(crate) validating: PolicySet,
    pub(crate) mutating: PolicySet,
}

/// The policies there are now.
#[derive(Default)]
pub(crate) struct Registry {
    any: AtomicBool,
    policies: RwLock<Arc<Policies>>,
    /// The state that was read last. Locked while policies are read, so that an older state never replaces a newer one.
    read: tokio::sync::Mutex<ReadState>,
    parsed: Mutex<Parsed>,
}

#[derive(Default)]
struct ReadState {
    /// The state of the store that policies are at least as new as.
    at: Revision,
    compiled: HashMap<Key, (Revision, Arc<Policy>)>,
    bindings: HashMap<Key, (Revision, Arc<Binding>)>,
}

impl Registry {
    /// The policies, if there are any.
    pub(crate) fn get(&self) -> Option<Arc<Policies>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        Some(self.policies.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Whether there is any policy or binding, also one that has no effect.
    pub(crate) async fn knows_any(&self) -> bool {
        let read = self.read.lock().await;
        !read.compiled.is_empty() || !read.bindings.is_empty()
    }

    /// A parsed object that is as new as a record, if it is kept.
    pub(crate) fn parsed(&self, key: &Key, revision: Revision) -> Option<Arc<Value>> {
        let parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = parsed.objects.get(key).filter(|known| known.revision == revision);
        known.map(|known| Arc::clone(&known.value))
    }

    /// Keeps a parsed object.
    pub(crate) fn keep(&self, key: &Key, revision: Revision, value: &Arc<Value>) {
        let bytes = value.extent(MOST_PARSED_BYTES).bytes;
        if bytes > MOST_PARSED_BYTES / 4 {
            return;
        }
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        parsed.bytes += bytes;
        let object = ParsedObject { revision, value: Arc::clone(value), bytes };
        match parsed.objects.insert(key.clone(), object) {
            Some(earlier) => parsed.bytes -= earlier.bytes,
            None => parsed.order.push_back(key.clone()),
        }
        while parsed.objects.len() > MOST_PARSED || parsed.bytes > MOST_PARSED_BYTES {
            parsed.drop_first();
        }
    }
}

impl PolicySet {
    fn new(policies: BTreeMap<Str, Arc<Policy>>, bindings: Vec<Arc<Binding>>) -> Self {
        let mut of: HashMap<Str, Vec<Arc<Binding>>> = HashMap::new();
        for binding in bindings {
            of.entry(binding.policy.clone()).or_default().push(binding);
        }
        let mut set = Self::default();
        for (name, policy) in policies {
            let Some(mut bindings) = of.remove(&name) else { continue };
            bindings.sort_by(|a, b| a.name.cmp(&b.name));
            set.bound.push(BoundPolicy { policy, bindings });
        }
        for (at, bound) in set.bound.iter().enumerate() {
            match bound.policy.constraints.resources() {
                None => set.about_all.push(at),
                Some(resources) => {
                    for resource in resources {
                        set.by_resource.entry(resource.into()).or_default().push(at);
                    }
                }
            }
        }
        for about in set.by_resource.values_mut() {
            about.extend(&set.about_all);
            about.sort_unstable();
            about.dedup();
        }
        set
    }

    /// The policies that may be about a resource, in the order of their names.
    pub(crate) fn about(&self, resource: &str) -> impl Iterator<Item = &BoundPolicy> {
        let about = self.by_resource.get(resource).unwrap_or(&self.about_all);
        about.iter().map(|at| &self.bound[*at])
    }

    /// Whether any policy may be about a write, before its object is known.
    pub(crate) fn any_concerns(&self, attributes: &AdmissionAttributes<'_>) -> bool {
        let target = attributes.target;
        if target.kind.strategy.is_exempt_from_policies() {
            return false;
        }
        let mut about = self.about(&target.kind.plural).peekable();
        if about.peek().is_none() {
            return false;
        }
        let (own, others) = (attributes.group_version(), attributes.equivalents());
        about.any(|bound| {
            let (operation, subresource) = (attributes.operation(), target.subresource.as_str());
            bound.policy.constraints.concerns(operation, (own, &others), &target.kind.plural, subresource)
        })
    }
}

impl Engine {
    /// Reads policies and bindings anew.
    pub(crate) async fn load_policies(&self) -> Result<(), Rejection> {
        self.load_policies_since(Revision(u64::MAX)).await
    }

    /// Reads policies and bindings anew if they were last read before a change. Policies that have not changed are not
    /// compiled again.
    pub(crate) async fn load_policies_since(&self, changed: Revision) -> Result<(), Rejection> {
        let mut state = self.policies.read.lock().await;
        if state.at >= changed {
            return Ok(());
        }
        let mut oldest = Revision(u64::MAX);
        let (mut compiled, mut bindings) = (HashMap::new(), HashMap::new());
        let mut policies = Policies::default();
        for (of_policies, of_bindings, set) in [
            (VALIDATING_POLICIES, VALIDATING_BINDINGS, &mut policies.validating),
            (MUTATING_POLICIES, MUTATING_BINDINGS, &mut policies.mutating),
        ] {
            let read = self.read_all(of_policies, &mut oldest, &state.compiled, Policy::read).await?;
            let named = read.iter().map(|(_, (_, policy))| (policy.name.clone(), Arc::clone(policy)));
            let named = named.collect();
            let read_bindings =
                self.read_all(of_bindings, &mut oldest, &state.bindings, Binding::read).await?;
            let all = read_bindings.iter().map(|(_, (_, binding))| Arc::clone(binding)).collect();
            *set = PolicySet::new(named, all);
            compiled.extend(read);
            bindings.extend(read_bindings);
        }
        let any = !policies.validating.bound.is_empty() || !policies.mutating.bound.is_empty();
        *self.policies.policies.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policies);
        self.policies.any.store(any, Ordering::Release);
        *state = ReadState { at: oldest, compiled, bindings };
        Ok(())
    }

    /// Whether a key is that of a policy or binding.
    pub(crate) fn is_policy(key: &Key) -> bool {
        matches!(
            keys::split(key),
            Some((
                GROUP,
                VALIDATING_POLICIES | VALIDATING_BINDINGS | MUTATING_POLICIES | MUTATING_BINDINGS,
                _
            ))
        )
    }

    async fn read_all<T>(
        &self,
        plural: &str,
        oldest: &mut Revision,
        known: &HashMap<Key, (Revision, Arc<T>)>,
        read: impl Fn(&Value) -> T,
    ) -> Result<Vec<(Key, (Revision, Arc<T>))>, Rejection> {
        let query = RangeQuery::prefix(keys::prefix(GROUP, plural, None));
        let range = self.store.range(query).await.map_err(Rejection::from_store)?;
        *oldest = range.revision.min(*oldest);
        let mut all = Vec::with_capacity(range.items.len());
        for item in range.items {
            let same = known.get(&item.key).filter(|(revision, _)| *revision == item.revision);
            let made = match same {
                Some((_, made)) => Arc::clone(made),
                None => match Record::open(item.value, item.revision).and_then(|record| record.parse()) {
                    Ok(object) => Arc::new(read(&object)),
                    Err(error) => {
                        // It has no effect, and can be deleted.
                        tracing::error!(key = %item.key, %error, "cannot decode an admission policy or binding");
                        continue;
                    }
                },
            };
            all.push((item.key, (item.revision, made)));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsed_objects_are_kept_up_to_a_number_of_bytes() {
        let registry = Registry::default();
        let object = |bytes: usize| Arc::new(Value::from("x".repeat(bytes)));
        let key = |n: usize| Key::new(format!("k{n}"));
        let kept = |n: usize| registry.parsed(&key(n), Revision(1)).is_some();
        registry.keep(&key(0), Revision(1), &object(MOST_PARSED_BYTES / 2));
        assert!(!kept(0), "it would take the place of too many others");
        for n in 1..=100 {
            registry.keep(&key(n), Revision(1), &object(MOST_PARSED_BYTES / 10));
            assert!(kept(n), "{n}");
            let all: usize = (1..=n).filter(|n| kept(*n)).count();
            assert!(all >= n.min(9) && all <= 10, "{all} are kept");
        }
        assert!(registry.parsed(&key(100), Revision(2)).is_none(), "another revision is another object");
    }
}
