//! The attributes of a write, for admission plugins, and the `AdmissionRequest` that webhooks and CEL
//! conditions see.

use std::sync::Arc;

use pleach_auth::UserInfo;
use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
pub(crate) use pleach_policy::{AdmissionRequest, GroupVersion, Operation};

use crate::kind::Kind;
use crate::kinds::authentication::{self, TOKEN_REQUEST};
use crate::kinds::pod::requests::{BINDING, EVICTION};
use crate::options::{Context, DeleteOptions, WriteOptions};
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};

/// The options of a write. Patches are updates, as upstream has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestOptions<'a> {
    /// `CreateOptions`
    Create(&'a WriteOptions),
    /// `UpdateOptions`
    Update(&'a WriteOptions),
    /// `DeleteOptions`
    Delete(&'a DeleteOptions),
    /// A connection has none.
    Connect,
}

impl RequestOptions<'_> {
    /// The options as an object.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Create(options) => options.to_value("CreateOptions"),
            Self::Update(options) => options.to_value("UpdateOptions"),
            Self::Delete(options) => options.to_value(),
            Self::Connect => Value::Null,
        }
    }
}

/// The attributes of a write: upstream's `admission.Attributes` without the objects, which change on the way.
#[derive(Debug)]
pub(crate) struct AdmissionAttributes<'a> {
    /// Kind, version, namespace and subresource.
    pub(crate) target: &'a Target,
    /// The name of the object, as far as it is known; empty for each object of a collection.
    pub(crate) name: Str,
    /// The options; their variant is the operation.
    pub(crate) options: RequestOptions<'a>,
    /// The user.
    pub(crate) user: Arc<UserInfo>,
}

impl<'a> AdmissionAttributes<'a> {
    /// The attributes of a write to an object of that name.
    pub(crate) fn new(
        target: &'a Target,
        name: &str,
        options: RequestOptions<'a>,
        context: &Context,
    ) -> Self {
        Self { target, name: name.into(), options, user: context.user.clone() }
    }

    /// The operation.
    pub(crate) fn operation(&self) -> Operation {
        match self.options {
            RequestOptions::Create(_) => Operation::Create,
            RequestOptions::Update(_) => Operation::Update,
            RequestOptions::Delete(_) => Operation::Delete,
            RequestOptions::Connect => Operation::Connect,
        }
    }

    /// Whether nothing will be written.
    pub(crate) fn dry_run(&self) -> bool {
        match self.options {
            RequestOptions::Create(options) | RequestOptions::Update(options) => options.dry_run,
            RequestOptions::Delete(options) => options.dry_run,
            RequestOptions::Connect => false,
        }
    }

    /// A refusal of the write of an object: its subject has the name or `generateName` of the object.
    pub(crate) fn forbid(&self, object: &Value, why: impl Into<String>) -> Rejection {
        let meta = ObjectMeta::of(object);
        let names = [self.name.as_str(), meta.name(), meta.generate_name()];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown");
        Rejection::Forbidden { subject: self.target.kind.subject(name), why: why.into(), cause: None }
    }

    /// Group, version and kind of the object of the request.
    pub(crate) fn object_kind(&self) -> (&'a str, &'a str, &'a str) {
        let (group, version) = self.group_version();
        match self.target.subresource {
            Subresource::Scale => ("autoscaling", "v1", "Scale"),
            Subresource::Binding => ("", "v1", "Binding"),
            Subresource::Eviction => ("policy", "v1", "Eviction"),
            Subresource::Token => (authentication::GROUP, "v1", "TokenRequest"),
            Subresource::Attach => ("", "v1", "PodAttachOptions"),
            Subresource::Exec => ("", "v1", "PodExecOptions"),
            Subresource::PortForward => ("", "v1", "PodPortForwardOptions"),
            Subresource::Proxy => ("", "v1", "PodProxyOptions"),
            _ => (group, version, self.target.kind.kind.as_str()),
        }
    }

    /// The kind of the objects of a subresource that are not stored.
    pub(crate) fn unstored_kind(&self) -> Option<&'static Kind> {
        match self.target.subresource {
            Subresource::Binding => Some(&BINDING),
            Subresource::Eviction => Some(&EVICTION),
            Subresource::Token => Some(&TOKEN_REQUEST),
            _ => None,
        }
    }

    /// Whether the object of the request has no fields that the server knows: a Scale, or the options of a connection.
    pub(crate) fn is_untyped(&self) -> bool {
        self.target.subresource == Subresource::Scale || self.operation() == Operation::Connect
    }

    /// The group and version of the request.
    pub(crate) fn group_version(&self) -> GroupVersion<'a> {
        group_version(&self.target.version().api_version)
    }

    /// The other groups and versions in which the resource is served, in the order of its CRD.
    pub(crate) fn equivalents(&self) -> Vec<GroupVersion<'a>> {
        let versions = self.target.kind.versions.iter().enumerate();
        let others = versions.filter(|(at, version)| *at != self.target.version && version.served);
        others.map(|(_, version)| group_version(&version.api_version)).collect()
    }

    /// The attributes together with the objects. `options` are the attributes' as a value.
    pub(crate) fn request<'r>(
        &'r self,
        object: Option<&'r Value>,
        old: Option<&'r Value>,
        options: &'r Value,
    ) -> AdmissionRequest<'r> {
        let target = self.target;
        let (group, version) = self.group_version();
        let is_new = self.operation() == Operation::Create && target.subresource == Subresource::None;
        // A generated name is known late; one that was given stays, also where a policy or webhook replaces it.
        let name = match object {
            Some(object) if is_new && self.name.is_empty() => ObjectMeta::of(object).name(),
            _ => &self.name,
        };
        AdmissionRequest {
            operation: self.operation(),
            group,
            version,
            resource: &target.kind.plural,
            subresource: target.subresource.as_str(),
            object_type: self.object_kind(),
            name: name.into(),
            // A namespace is in itself.
            namespace: match &target.namespace {
                Some(namespace) => namespace,
                None if target.kind.strategy.is_its_own_namespace() => name,
                None => "",
            },
            object,
            old,
            options,
            dry_run: self.dry_run(),
            user: &self.user,
        }
    }
}

/// The group and version of an `apiVersion`.
pub(crate) fn group_version(api_version: &str) -> GroupVersion<'_> {
    api_version.split_once('/').unwrap_or(("", api_version))
}
