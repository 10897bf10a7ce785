//! `CertificateApproval`, `CertificateSigning`, `CertificateSubjectRestriction`: which users may approve and sign certificate
//! signing requests, and which subjects they may have.

use std::pin::Pin;

use pleach_auth::{Attributes, ResourceAttributes, Verb};
use pleach_go::strconv::quote;
use pleach_json::Value;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Operation, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::kinds::certificate_request;
use crate::target::Subresource;

pub(super) struct CertificateApproval;
pub(super) struct CertificateSigning;
pub(super) struct CertificateSubjectRestriction;

fn is_write(attributes: &AdmissionAttributes<'_>, operation: Operation, subresource: Subresource) -> bool {
    attributes.operation() == operation
        && attributes.target.subresource == subresource
        && attributes.target.kind.strategy.role() == Role::CertificateRequest
}

fn signer_of(object: &Value) -> &str {
    object.at(&["spec", "signerName"]).and_then(Value::as_str).unwrap_or_default()
}

/// Whether the user may do something to the requests of a signer, or of all signers of its domain.
async fn may(engine: &Engine, attributes: &AdmissionAttributes<'_>, verb: &str, signer: &str) -> bool {
    let domain = format!("{}/*", signer.split('/').next().unwrap_or_default());
    for name in [signer, &domain] {
        let asked = Attributes {
            user: attributes.user.clone(),
            verb: Verb::of(verb),
            path: "",
            resource: Some(ResourceAttributes {
                group: certificate_request::GROUP,
                version: "*",
                resource: "signers",
                name: name.into(),
                ..ResourceAttributes::default()
            }),
        };
        if engine.authorizer.authorize(&asked).get().await.is_allowed() {
            return true;
        }
    }
    false
}

impl Plugin for CertificateApproval {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        is_write(attributes, Operation::Update, Subresource::Approval)
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let (attributes, Some(old)) = (write.attributes, write.old) else { return Ok(()) };
            if !self.handles(write.engine, attributes)
                || may(write.engine, attributes, "approve", signer_of(old)).await
            {
                return Ok(());
            }
            let signer = quote(signer_of(old));
            Err(attributes
                .forbid(old, format!("user not permitted to approve requests with signerName {signer}")))
        })
    }
}

impl Plugin for CertificateSigning {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        is_write(attributes, Operation::Update, Subresource::Status)
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let attributes = write.attributes;
            let (Some(old), Some(new)) = (write.old, write.object) else { return Ok(()) };
            // Only the certificate and the conditions are the signer's.
            let signs = ["certificate", "conditions"]
                .iter()
                .any(|key| new.at(&["status", key]) != old.at(&["status", key]));
            if !signs
                || !self.handles(write.engine, attributes)
                || may(write.engine, attributes, "sign", signer_of(old)).await
            {
                return Ok(());
            }
            let signer = quote(signer_of(old));
            Err(attributes
                .forbid(old, format!("user not permitted to sign requests with signerName {signer}")))
        })
    }
}

impl Plugin for CertificateSubjectRestriction {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        is_write(attributes, Operation::Create, Subresource::None)
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let Some(object) = write.object else { return Ok(()) };
            let signer = "kubernetes.io/kube-apiserver-client";
            if !self.handles(write.engine, write.attributes) || signer_of(object) != signer {
                return Ok(());
            }
            if certificate_request::organizations(object).iter().any(|name| name == "system:masters") {
                let why = format!("use of {signer} signer with system:masters group is not allowed");
                return Err(write.attributes.forbid(object, why));
            }
            Ok(())
        })
    }
}
