//! `NamespaceLifecycle`: objects need a namespace that exists and is not being deleted, and some namespaces
//! cannot be deleted.

use memchr::memmem::Finder;
use pleach_auth::Answer;
use pleach_json::Str;
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::status::StatusCause;
use pleach_work::Constant;

use super::{AdmissionAttributes, Operation, Plugin, Verdict};
use crate::engine::Engine;
use crate::keys;
use crate::kinds;
use crate::record::Record;
use crate::rejection::{Rejection, Subject};

pub(super) struct NamespaceLifecycle;

/// Only a namespace that is being deleted has this member, so most are never parsed.
static DELETING: Constant<Finder<'static>> = Constant::new(|| Finder::new(b"\"deletionTimestamp\":"));

impl Plugin for NamespaceLifecycle {
    fn admit_attributes<'a>(
        &'a self,
        engine: &'a Engine,
        attributes: &'a AdmissionAttributes<'a>,
    ) -> Answer<'a, Verdict> {
        match (attributes.operation(), &attributes.target.namespace) {
            (Operation::Delete, _) => Answer::Now(check_deletion(attributes)),
            (Operation::Create, _) if is_local_review(attributes) => Answer::Now(Ok(())),
            (Operation::Create, Some(namespace)) => {
                let key = keys::namespace(namespace);
                match engine.try_stored(&key) {
                    Some(found) => Answer::Now(found.and_then(|found| check(attributes, namespace, found))),
                    None => Answer::later(async move {
                        let found = engine.stored(&key).await?;
                        check(attributes, namespace, found)
                    }),
                }
            }
            _ => Answer::Now(Ok(())),
        }
    }
}

/// Whether it is a LocalSubjectAccessReview: rights in a namespace may be asked about before it exists.
fn is_local_review(attributes: &AdmissionAttributes<'_>) -> bool {
    let kind = &attributes.target.kind;
    kind.group == kinds::authorization::GROUP && kind.kind == "LocalSubjectAccessReview"
}

fn check_deletion(attributes: &AdmissionAttributes<'_>) -> Verdict {
    let target = attributes.target;
    if target.kind.strategy.is_protected(target.name()) {
        return Err(Rejection::Forbidden {
            subject: target.subject(),
            why: "this namespace may not be deleted".into(),
            cause: None,
        });
    }
    Ok(())
}

/// Whether a new object may be in a namespace, given the namespace as it is stored.
fn check(attributes: &AdmissionAttributes<'_>, namespace: &Str, found: Option<Record>) -> Verdict {
    let Some(record) = found else {
        return Err(Rejection::NotFound(Subject {
            group: "".into(),
            resource: kinds::namespace::PLURAL.into(),
            name: namespace.clone(),
        }));
    };
    if DELETING.find(record.json()).is_none() || !ObjectMeta::of(&record.parse()?).is_terminating() {
        return Ok(());
    }
    Err(Rejection::Forbidden {
        subject: attributes.target.kind.subject(&attributes.name),
        why: format!("unable to create new content in namespace {namespace} because it is being terminated"),
        cause: Some(StatusCause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        }),
    })
}
