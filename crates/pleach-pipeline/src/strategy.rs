//! Strategy of a kind: what its schema cannot express, as a trait whose methods have defaults.
//!
//! A built-in kind's strategy is in its folder under [`crate::kinds`] and overrides what differs from
//! [`StoredAsData`]. Custom resources have [`CustomResource`]. Nothing else in the workspace asks which kind it has
//! before it: a kind that behaves differently gets a method here.

use std::borrow::Cow;
use std::fmt::Debug;

use pleach_auth::UserInfo;
use pleach_auth::rbac::PolicyRule;
use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::NameRule;
use pleach_patch::StrategicSchema;
use pleach_schema::Schema;

use crate::error::Error;
use crate::kind::{Column, Kind, KindVersion};
use crate::kinds::api_kind::{ApiKind, Plain, Rules};
use crate::resource::Resource;
use crate::typed::Typed;
use crate::{prepare, validate};

/// The effect of a commit on the server, by the kind of the committed object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// A CRD changed: its names, its conditions and the kind that it defines follow.
    DefinitionChanged,
    /// A webhook configuration changed: the registry of webhooks follows.
    WebhooksChanged,
    /// A role or binding changed: the authorizer follows.
    RbacChanged,
    /// A LimitRange or ResourceQuota changed: which namespaces have some follows.
    LimitsChanged,
    /// An admission policy or a binding of one changed: the registry of policies follows.
    PoliciesChanged,
    /// A FlowSchema or PriorityLevelConfiguration changed: flow control follows.
    FlowControlChanged,
}

/// The user and the time of a write.
#[derive(Debug)]
pub struct Stamp<'a> {
    /// The user.
    pub user: &'a UserInfo,
    /// The time.
    pub now: &'a str,
}

/// The role of a kind for admission plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// No plugin has anything to do with the kind in particular.
    #[default]
    Other,
    /// Namespace
    Namespace,
    /// Pod
    Pod,
    /// PersistentVolumeClaim
    Claim,
    /// Node
    Node,
    /// Service
    Service,
    /// Ingress
    Ingress,
    /// CertificateSigningRequest
    CertificateRequest,
    /// PriorityClass
    PriorityClass,
    /// Event, which no quota counts.
    Event,
}

/// Parameters of admission policies that an object names, which its author must be allowed to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamAccess {
    /// All objects of a kind: the object is a policy.
    Kind {
        /// The `apiVersion` of the parameters.
        api_version: Str,
        /// Their kind.
        kind: Str,
    },
    /// An object, or those that a selector finds: the object is a binding.
    Object {
        /// Whether the policy is one that mutates.
        mutating: bool,
        /// The policy.
        policy: Str,
        /// The name; empty for a selector.
        name: Str,
        /// The namespace, or empty.
        namespace: Str,
    },
}

/// The permissions that an object grants, which its author must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// These rules: the object is a role.
    Rules {
        /// The rules.
        rules: Vec<PolicyRule>,
        /// Whether it collects the rules of other roles.
        aggregates: bool,
    },
    /// The rules of a role: the object is a binding.
    Role {
        /// The kind of the role, as the object says.
        kind: Str,
        /// Its name.
        name: Str,
    },
}

/// A subresource that discovery lists.
#[derive(Clone, Copy, Debug)]
pub struct SubresourceInfo {
    /// The path segment.
    pub name: &'static str,
    /// The kind of its objects, if not that of the resource.
    pub kind: &'static str,
    /// The group of that kind.
    pub group: &'static str,
    /// The version of that kind.
    pub version: &'static str,
    /// In alphabetical order.
    pub verbs: &'static [&'static str],
}

/// The behaviour of a kind beyond its schema. The defaults are for a built-in kind that is stored as data.
pub trait Strategy: Debug + Send + Sync + 'static {
    // ---- the kind ----

    /// Whether the kind is defined by a CRD.
    fn is_custom(&self) -> bool {
        false
    }

    /// Changes the kind that was made from the manifest, where a manifest has no field for a property.
    fn adjust(&self, kind: &mut Kind) {
        let _ = kind;
    }

    /// The columns of a table after the name, if the manifest does not say them.
    fn columns(&self) -> Option<Vec<Column>> {
        None
    }

    /// Whether the first column of a table is the name.
    fn name_is_first_column(&self) -> bool {
        true
    }

    /// The object that the cells of a table are taken from.
    fn table_object<'v>(&self, object: &'v Value) -> Cow<'v, Value> {
        Cow::Borrowed(object)
    }

    /// Whether the request for an object of this kind has the object's name as its namespace: true for namespaces.
    fn is_its_own_namespace(&self) -> bool {
        false
    }

    /// Whether upstream stores objects of the kind under keys without the API group, which some errors show.
    fn hides_group_in_keys(&self) -> bool {
        false
    }

    /// Whether published documents have `deletecollection`.
    fn deletes_collections(&self) -> bool {
        true
    }

    /// Whether there is `/finalize`.
    fn has_finalize(&self) -> bool {
        false
    }

    /// Whether there is `/token`, which issues tokens for an object of this kind.
    fn issues_tokens(&self) -> bool {
        false
    }

    /// The rules of a kind of the table; no rules for other kinds.
    fn rules(&self) -> &dyn Rules {
        &Plain
    }

    /// The kind's entry in the table of typed kinds, if it is one of those.
    fn api_kind(&self) -> Option<&ApiKind> {
        None
    }

    /// Subresources besides `/status`, `/scale` and `/finalize`.
    fn subresources(&self) -> &'static [SubresourceInfo] {
        &[]
    }

    /// Whether no webhook is called for writes of the kind, so that a bad webhook can be repaired.
    fn is_exempt_from_webhooks(&self) -> bool {
        false
    }

    /// Whether no admission policy is about writes of the kind.
    fn is_exempt_from_policies(&self) -> bool {
        false
    }

    /// The `apiVersion` that discovery's `storageVersionHash` is made from, if not that of the stored version.
    fn hashed_storage_version(&self) -> Option<&'static str> {
        None
    }

    /// The prefix of its keys in etcd, if not the plural: some kinds kept an older name.
    fn etcd_prefix(&self) -> Option<&'static str> {
        None
    }

    /// The Go file that registers the kind upstream, which some errors name.
    fn scheme(&self) -> &'static str {
        "pkg/api/legacyscheme/scheme.go:30"
    }

    /// Versions that upstream knows and does not serve.
    fn other_versions(&self) -> &'static [&'static str] {
        &[]
    }

    /// The error of a body of another kind, if it is not that no such kind is registered.
    fn other_kind_error(&self, kind: &str, found: &str) -> Option<String> {
        let _ = (kind, found);
        None
    }

    /// The group that validation errors name, given that of the object.
    fn error_group<'g>(&self, group: &'g str) -> &'g str {
        group
    }

    // ---- decode and settle ----

    /// The Go type of kinds with a manifest, in the table of [`crate::types`]: a value of another type is an error
    /// of decoding.
    fn type_name(&self, version: &KindVersion) -> Option<&'static str> {
        let _ = version;
        None
    }

    /// Whether [`Self::decode`] does all that metadata decoding and a schema would: prune, coerce, default.
    fn decodes_whole_object(&self) -> bool {
        false
    }

    /// Decodes the fields that the schema does not describe, in place. Returns the paths of unknown fields; the error is
    /// Go's.
    fn decode(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        typed: &mut Typed,
    ) -> Result<Vec<String>, String> {
        let _ = (resource, object, typed);
        Ok(Vec::new())
    }

    /// Whether unknown fields are reported in the order of the document.
    fn reports_unknown_in_document_order(&self) -> bool {
        false
    }

    /// Brings a decoded object into the form that upstream's Go type has, before field managers are tracked:
    /// defaulting functions that are no schema defaults, and fields left out where they are empty.
    fn complete(&self, object: &mut Value) {
        let _ = object;
    }

    // ---- prepare ----

    /// Whether `metadata.generation` counts changes of the spec.
    fn counts_generations(&self, version: &KindVersion) -> bool {
        version.status
    }

    /// Removes fields of features that are off, and fields that are not stored.
    fn drop_disabled_fields(&self, object: &mut Value) {
        let _ = object;
    }

    /// `PrepareForCreate`
    fn prepare_for_create(&self, resource: Resource<'_>, object: &mut Value, typed: &mut Typed) {
        let _ = typed;
        self.drop_disabled_fields(object);
        prepare::default_for_create(self.counts_generations(resource.version()), resource, object);
    }

    /// `PrepareForUpdate`
    fn prepare_for_update(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        typed: &mut Typed,
        old: validate::Old<'_>,
    ) {
        let _ = typed;
        self.drop_disabled_fields(object);
        prepare::default_for_update(self.counts_generations(resource.version()), resource, object, old.value);
    }

    // ---- validate ----

    /// The rule for names.
    fn name_rule(&self) -> NameRule {
        NameRule::Dns1123Subdomain
    }

    /// Whether objects are validated by their schema. If not, [`Self::validate`] does it all.
    fn validates_by_schema(&self) -> bool {
        true
    }

    /// Whether an update validates all metadata a second time, as most typed kinds do.
    fn revalidates_metadata(&self) -> bool {
        true
    }

    /// The errors of an object beyond its schema. `old` is the object it replaces.
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let _ = (object, old);
        Vec::new()
    }

    /// `Validate`: the errors of a new object. Values that it shares with `validated` are valid.
    fn validate_create(
        &self,
        resource: Resource<'_>,
        object: &Value,
        typed: &Typed,
        validated: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let _ = typed;
        validate::default_create(resource, object, validated, warnings)
    }

    /// `ValidateUpdate`: the errors of an object that replaces another.
    fn validate_update(
        &self,
        resource: Resource<'_>,
        object: &Value,
        typed: &Typed,
        old: validate::Old<'_>,
        warnings: &mut Vec<String>,
    ) -> validate::Verdict {
        let _ = typed;
        validate::default_update(resource, object, old, warnings)
    }

    // ---- write ----

    /// `AllowUnconditionalUpdate`: whether a replacement may leave out the resource version.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// `AllowCreateOnUpdate`: whether an update of an object that is not there creates it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// The permissions that the object grants, if its author must have them. `old` is the object it replaces.
    fn grant(&self, object: &Value, old: Option<&Value>) -> Option<Grant> {
        let _ = (object, old);
        None
    }

    /// The effect of a commit.
    fn after_commit(&self) -> Effect {
        Effect::None
    }

    // ---- admission ----

    /// The kind's role for admission plugins.
    fn role(&self) -> Role {
        Role::Other
    }

    /// Whether objects run containers themselves: Pods.
    fn runs_containers(&self) -> bool {
        false
    }

    // ---- delete ----

    /// Whether an object of this name must not be deleted.
    fn is_protected(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Whether an object without finalizers goes at once.
    fn is_deleted_at_once(&self) -> bool {
        true
    }

    /// Whether dependents are orphaned if a delete does not say otherwise.
    fn orphans_dependents_by_default(&self) -> bool {
        false
    }

    /// Marks an object for deletion in the kind's own way; false if it has none.
    fn mark_for_deletion(&self, object: &mut Value, now: &str) -> bool {
        let _ = (object, now);
        false
    }

    /// Whether something besides `metadata.finalizers` holds an object that is being deleted.
    fn is_held(&self, object: &Value) -> bool {
        let _ = object;
        false
    }

    /// `ReturnDeletedObject`: whether a delete returns the object.
    fn return_deleted_object(&self) -> bool {
        false
    }

    /// Whether the endpoint itself checks the preconditions of a delete, in the words of the store.
    fn checks_preconditions_like_the_store(&self, object: &Value) -> bool {
        let _ = object;
        false
    }

    /// Whether errors about preconditions of a delete name the resource, not the kind.
    fn names_resource_in_precondition_errors(&self) -> bool {
        false
    }

    /// The strategy by which `deletecollection` deletes objects, if it is another.
    fn in_collections(&self) -> Option<&'static dyn Strategy> {
        None
    }

    // ---- convert ----

    /// An object with the field names of another version; `typed` is its typed form, if that is known. A borrowed
    /// object means that only `apiVersion` differs.
    fn convert<'v>(
        &self,
        object: &'v Value,
        typed: &Typed,
        to: &KindVersion,
    ) -> Result<Cow<'v, Value>, Error> {
        let _ = (typed, to);
        Ok(Cow::Borrowed(object))
    }

    // ---- patch and server-side apply ----

    /// Which lists a strategic merge patch merges.
    fn strategic_schema(&self) -> StrategicSchema {
        StrategicSchema::new().with_metadata()
    }

    /// The schema for field ownership, if not that of the version.
    fn apply_schema(&self, version: &KindVersion) -> Option<&'static Schema> {
        let _ = version;
        None
    }

    /// The fields that upstream's Go type always writes, although no manager owns them: structs without `omitempty`.
    fn always_written(&self, version: &KindVersion) -> Option<&'static Value> {
        let _ = version;
        None
    }

    /// Whether a status update may change metadata.
    fn status_changes_metadata(&self) -> bool {
        false
    }
}

/// The strategy of a built-in kind that a manifest says everything about.
#[derive(Debug)]
pub struct StoredAsData;

impl Strategy for StoredAsData {}

/// The strategy of custom resources.
#[derive(Debug)]
pub struct CustomResource;

impl Strategy for CustomResource {
    fn is_custom(&self) -> bool {
        true
    }

    fn counts_generations(&self, _: &KindVersion) -> bool {
        true
    }

    fn revalidates_metadata(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}
