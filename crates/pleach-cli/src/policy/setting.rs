//! The setting of an evaluation: kinds, policies with their bindings, parameters, namespaces, roles.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pleach_auth::rbac::{PrivilegedGroup, RbacAuthorizer, RoleKey};
use pleach_auth::{Authorizer, AuthorizerUnion};
use pleach_json::{Str, Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::gates::Gates;
use pleach_pipeline::kind::Kind;
use pleach_pipeline::kinds::admission_policy as kinds;
use pleach_pipeline::kinds::{self as built_in, rbac};
use pleach_pipeline::resource::Resource;
use pleach_pipeline::{compile, offline};
use pleach_policy::{Binding, NO_PARAMS, ParamChoice, ParamKind, ParamRef, Policy};
use pleach_schema::Record;

use crate::document::Document;

/// A policy and its bindings, in the order of their names.
#[derive(Debug)]
pub struct BoundPolicy {
    /// The policy.
    pub policy: Policy,
    /// Its bindings.
    pub bindings: Vec<Binding>,
}

/// A parameter; none stands for null.
pub type Param<'a> = Option<&'a Value>;

/// Kind with its group, namespace and name of an object.
type Identity = (String, Str, Str);

/// Everything but the objects that are tested.
pub struct Setting {
    kinds: HashMap<(Str, Str), Arc<Kind>>,
    /// Policies that validate, in the order of their names.
    pub validating: Vec<BoundPolicy>,
    /// Policies that mutate, likewise.
    pub mutating: Vec<BoundPolicy>,
    objects: BTreeMap<Identity, (Arc<Kind>, usize, Value)>,
    /// Decides for `authorizer` in expressions: roles and bindings among the files, and `system:masters`.
    pub authorizer: Arc<dyn Authorizer>,
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("policies", &self.names()).finish_non_exhaustive()
    }
}

/// Why a document cannot be used.
#[derive(Debug)]
pub struct Refused<'d> {
    /// The document.
    pub document: &'d Document,
    /// The server's words.
    pub why: String,
}

/// A group of policies and bindings that is being read.
#[derive(Default)]
struct Bound {
    policies: BTreeMap<Str, Policy>,
    bindings: BTreeMap<Str, Binding>,
}

impl Bound {
    fn join(self) -> Vec<BoundPolicy> {
        let mut bound: BTreeMap<Str, BoundPolicy> = self
            .policies
            .into_iter()
            .map(|(name, policy)| (name, BoundPolicy { policy, bindings: Vec::new() }))
            .collect();
        for binding in self.bindings.into_values() {
            if let Some(policy) = bound.get_mut(&binding.policy) {
                policy.bindings.push(binding);
            }
        }
        bound.into_values().collect()
    }
}

impl Setting {
    /// Reads documents. Those that the server would refuse are left out and come back.
    pub fn read<'d>(documents: impl Iterator<Item = &'d Document>) -> (Self, Vec<Refused<'d>>) {
        let documents: Vec<&Document> = documents.collect();
        let mut kinds = HashMap::new();
        for kind in built_in::all(Gates::default()) {
            kinds.insert((kind.group.clone(), kind.kind.clone()), Arc::new(kind));
        }
        let mut refused = Vec::new();
        for document in documents.iter().filter(|document| document.is_crd()) {
            match crate::catalog::Definition::read(&document.value) {
                Ok(definition) => {
                    let kind = compile::kind_named(&definition.crd, &definition.crd.spec.names);
                    kinds.insert((kind.group.clone(), kind.kind.clone()), Arc::new(kind));
                }
                Err(why) => refused.push(Refused { document, why }),
            }
        }
        let mut setting = Self {
            kinds,
            validating: Vec::new(),
            mutating: Vec::new(),
            objects: BTreeMap::new(),
            authorizer: Arc::new(PrivilegedGroup),
        };
        let (mut validating, mut mutating) = (Bound::default(), Bound::default());
        let roles = RbacAuthorizer::default();
        for document in documents.iter().copied().filter(|document| !document.is_crd()) {
            let (kind, version, value) = match setting.created(document) {
                Ok(created) => created,
                Err(why) => {
                    refused.push(Refused { document, why });
                    continue;
                }
            };
            let name: Str = ObjectMeta::of(&value).name().into();
            match (kind.group.as_str(), kind.plural.as_str()) {
                (kinds::GROUP, kinds::VALIDATING_POLICIES) => {
                    validating.policies.insert(name, Policy::read(&value));
                }
                (kinds::GROUP, kinds::MUTATING_POLICIES) => {
                    mutating.policies.insert(name, Policy::read(&value));
                }
                (kinds::GROUP, kinds::VALIDATING_BINDINGS) => {
                    validating.bindings.insert(name, Binding::read(&value));
                }
                (kinds::GROUP, kinds::MUTATING_BINDINGS) => {
                    mutating.bindings.insert(name, Binding::read(&value));
                }
                (rbac::GROUP, plural) => add_role(&roles, plural, &value),
                _ => {
                    let identity = identity(&kind, &value);
                    setting.objects.insert(identity, (kind, version, value));
                }
            }
        }
        (setting.validating, setting.mutating) = (validating.join(), mutating.join());
        setting.authorizer =
            Arc::new(AuthorizerUnion(vec![Box::new(PrivilegedGroup), Box::new(Arc::new(roles))]));
        (setting, refused)
    }

    /// An object of a file as the server would store it.
    fn created(&self, document: &Document) -> Result<(Arc<Kind>, usize, Value), String> {
        let (kind, version) = self.kind_of(&document.value)?;
        let resource = Resource::new(&kind, version);
        let decoded = offline::decode(resource, document.value.clone(), Record::Unknown)?;
        if let Some(unknown) = decoded.strict.first() {
            return Err(format!("unknown field \"{unknown}\""));
        }
        let mut value = decoded.value.into_value();
        let verdict = offline::create(resource, &mut value);
        if verdict.errors.is_empty() {
            return Ok((kind, version, value));
        }
        let errors: Vec<String> = verdict.errors.iter().map(ToString::to_string).collect();
        Err(errors.join("; "))
    }

    /// The kind of an object and the version that it is written in. The error is kubectl's.
    pub fn kind_of(&self, object: &Value) -> Result<(Arc<Kind>, usize), String> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let found = self.kinds.get(&(Str::from(group), Str::from(kind))).and_then(|kind| {
            let served = |v: &pleach_pipeline::kind::KindVersion| v.served && v.api_version == api_version;
            Some((Arc::clone(kind), kind.versions.iter().position(served)?))
        });
        found.ok_or_else(|| format!("no matches for kind \"{kind}\" in version \"{api_version}\""))
    }

    /// Policies that have no binding: the server never evaluates them.
    pub fn unbound(&self) -> impl Iterator<Item = &Policy> {
        let all = self.validating.iter().chain(&self.mutating);
        all.filter(|bound| bound.bindings.is_empty()).map(|bound| &bound.policy)
    }

    /// The names of all policies.
    pub fn names(&self) -> Vec<&str> {
        self.validating.iter().chain(&self.mutating).map(|bound| bound.policy.name.as_str()).collect()
    }

    /// The namespace that an object is in. One that no file has is made up.
    pub fn namespace(&self, name: &str) -> Option<Value> {
        if name.is_empty() {
            return None;
        }
        let key = ("Namespace.".to_owned(), Str::default(), Str::from(name));
        let known = self.objects.get(&key).map(|(.., value)| value.clone());
        Some(known.unwrap_or_else(|| {
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
            })
        }))
    }

    /// The kind that a policy's parameters have. The error is the server's.
    pub fn param_kind(&self, kind: &ParamKind) -> Result<Arc<Kind>, String> {
        let (group, version) = kind.group_version();
        let found = self.kinds.get(&(group.into(), kind.kind.clone()));
        let found = found.filter(|kind| kind.versions.iter().any(|v| v.served && v.name == version));
        found.cloned().ok_or_else(|| kind.not_found())
    }

    /// The parameters of a binding. The error is the server's.
    pub fn params(
        &self,
        kind: Option<&Arc<Kind>>,
        reference: Option<&ParamRef>,
        request_namespace: &str,
    ) -> Result<Vec<Param<'_>>, &'static str> {
        let (Some(kind), Some(reference)) = (kind, reference) else { return Ok(vec![None]) };
        let namespace = reference.namespace_for(kind.is_namespaced(), request_namespace)?.unwrap_or_default();
        let of_kind = self.objects.iter().filter(|((_, in_namespace, _), (of, ..))| {
            of.group == kind.group && of.kind == kind.kind && *in_namespace == namespace
        });
        let chosen = of_kind.filter(|((.., name), (.., value))| match &reference.choice {
            ParamChoice::Name(wanted) => name == wanted,
            ParamChoice::Selector(selector) => selector.matches(ObjectMeta::of(value).labels()),
        });
        let params: Vec<Param<'_>> = chosen.map(|(_, (.., value))| Some(value)).collect();
        if params.is_empty() && reference.deny_if_missing { Err(NO_PARAMS) } else { Ok(params) }
    }
}

fn identity(kind: &Kind, value: &Value) -> Identity {
    let meta = ObjectMeta::of(value);
    (format!("{}.{}", kind.kind, kind.group), meta.namespace().into(), meta.name().into())
}

fn add_role(roles: &RbacAuthorizer, plural: &str, value: &Value) {
    let meta = ObjectMeta::of(value);
    let namespace = || Some(Str::from(meta.namespace()));
    match plural {
        rbac::ROLES | rbac::CLUSTER_ROLES => {
            let namespace = if plural == rbac::ROLES { namespace() } else { None };
            roles.set_role(RoleKey { namespace, name: meta.name().into() }, Some(rbac::rules(value)));
        }
        _ => roles.set_binding(meta.namespace(), meta.name(), rbac::binding(value)),
    }
}
