//! What must hold before an object is let in, beyond its own kind's rules.

use memchr::memmem::Finder;
use pleach_json::Value;
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::status::StatusCause;
use pleach_work::Constant;

use crate::engine::Engine;
use crate::keys;
use crate::kinds::namespace;
use crate::rejection::{Rejection, Subject};
use crate::target::Target;

/// Only a namespace that is being deleted has this member, so most are never parsed.
static MARK: Constant<Finder<'static>> = Constant::new(|| Finder::new(b"\"deletionTimestamp\":"));

/// A namespaced object needs a namespace that exists and is not going away.
pub(crate) async fn namespace_lifecycle(
    engine: &Engine,
    target: &Target,
    value: &Value,
) -> Result<(), Rejection> {
    if !engine.admission.namespace_lifecycle {
        return Ok(());
    }
    let Some(namespace) = &target.namespace else { return Ok(()) };
    let Some(record) = engine.stored(&keys::namespace(namespace)).await? else {
        return Err(Rejection::NotFound(Subject {
            group: "".into(),
            resource: namespace::PLURAL.into(),
            name: namespace.clone(),
        }));
    };
    let marked = MARK.find(record.json()).is_some();
    if !marked || !ObjectMeta::of(&record.parse()?).is_terminating() {
        return Ok(());
    }
    Err(Rejection::Forbidden {
        subject: target.kind.subject(ObjectMeta::of(value).name()),
        why: format!("unable to create new content in namespace {namespace} because it is being terminated"),
        cause: Some(StatusCause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        }),
    })
}

/// Some namespaces stay.
pub(crate) fn protect_namespaces(target: &Target) -> Result<(), Rejection> {
    if target.kind.strategy.is_protected(target.name()) {
        return Err(Rejection::Forbidden {
            subject: target.subject(),
            why: "this namespace may not be deleted".into(),
            cause: None,
        });
    }
    Ok(())
}
