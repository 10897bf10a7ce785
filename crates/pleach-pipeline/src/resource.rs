//! The endpoint of a request: a kind in a version, and a subresource.

use crate::kind::{Kind, KindVersion};

/// The part of an object that a request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Subresource {
    /// The object itself.
    #[default]
    None,
    /// `/status`
    Status,
    /// `/scale`
    Scale,
    /// `/finalize`, for namespaces.
    Finalize,
    /// `/approval`, for certificate signing requests.
    Approval,
    /// `/ephemeralcontainers`, for Pods.
    EphemeralContainers,
    /// `/resize`, for Pods.
    Resize,
    /// `/binding`, for Pods: its objects are not stored.
    Binding,
    /// `/eviction`, for Pods: its objects are not stored.
    Eviction,
    /// `/token`, for service accounts: its objects are not stored.
    Token,
    /// `/attach`, for Pods: a connection.
    Attach,
    /// `/exec`, for Pods: a connection.
    Exec,
    /// `/portforward`, for Pods: a connection.
    PortForward,
    /// `/proxy`, for Pods: a connection.
    Proxy,
}

impl Subresource {
    /// The path segment; empty for none.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::Token => "token",
            Self::Attach => "attach",
            Self::Exec => "exec",
            Self::PortForward => "portforward",
            Self::Proxy => "proxy",
        }
    }
}

/// A kind in the version of a request, and the subresource that the request is for.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'a> {
    /// The kind.
    pub kind: &'a Kind,
    /// The index of its version.
    pub version: usize,
    /// The subresource.
    pub subresource: Subresource,
}

impl<'a> Resource<'a> {
    /// The resource itself, without a subresource.
    pub fn new(kind: &'a Kind, version: usize) -> Self {
        Self { kind, version, subresource: Subresource::None }
    }

    /// The version.
    pub fn version(&self) -> &'a KindVersion {
        &self.kind.versions[self.version]
    }
}
