//! `pods/binding` and `pods/eviction`: requests that change or delete a Pod and are not stored themselves.

use pleach_json::{InternedObjects, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::selector::label::LabelSelector;
use pleach_store::{Commit, Expect, StoreError};

use crate::admission::{AdmissionAttributes, RequestOptions};
use crate::engine::Engine;
use crate::kinds::disruption_budget::{self, Refusal};
use crate::kinds::pod::requests;
use crate::options::{Context, DeleteOptions, WriteOptions};
use crate::record::encode;
use crate::rejection::{Rejection, Subject};
use crate::target::{Subresource, Target};
use crate::write::{check_uid, conflict};

/// How often a change is tried again after a conflict.
const CONFLICT_RETRIES: usize = 64;

impl Engine {
    /// Assigns a Pod to the Node that a Binding names. `target` is the Pod's `/binding`.
    pub async fn bind(
        &self,
        target: &Target,
        binding: Value,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        let admitted = self.admit_body(target, binding, options, context, |binding| {
            if ObjectMeta::of(binding).name() != target.name() {
                return Err(Rejection::BadRequest(
                    "name in URL does not match name in Binding object".into(),
                ));
            }
            requests::binding_error(binding).map_or(Ok(()), |error| Err(Rejection::Plain(error)))
        });
        let binding = admitted.await?;
        let pod = Target { subresource: Subresource::None, ..target.clone() };
        let (meta, now) = (ObjectMeta::of(&binding), self.now());
        let uid = (!meta.uid().is_empty()).then(|| meta.uid());
        let bound = self.modify(&pod, options.dry_run, |object| {
            check_uid(&pod, &pod.key_of(pod.name()), uid, object, options.dry_run)?;
            let version = meta.resource_version();
            if !version.is_empty() && version != ObjectMeta::of(object).resource_version() {
                return Err(conflict(&pod));
            }
            requests::bind(object, &binding, &now).map_err(|why| Rejection::Conflict {
                subject: Subject { resource: "pods/binding".into(), ..pod.subject() },
                why,
            })
        });
        bound.await.map(drop)
    }

    /// Deletes a Pod, if its PodDisruptionBudget allows it. `target` is the Pod's `/eviction`, `deletion` the options in
    /// the Eviction.
    pub async fn evict(
        &self,
        target: &Target,
        eviction: Value,
        deletion: &DeleteOptions,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        let admitted = self.admit_body(target, eviction, options, context, |eviction| {
            if ObjectMeta::of(eviction).name() != target.name() {
                return Err(Rejection::BadRequest(
                    "name in URL does not match name in Eviction object".into(),
                ));
            }
            Ok(())
        });
        admitted.await?;
        let pod = Target { subresource: Subresource::None, ..target.clone() };
        for _ in 0..CONFLICT_RETRIES {
            let object = self.pod(&pod).await?;
            if !requests::ignores_budgets(&object) {
                return self.evict_within_budget(&pod, &object, deletion, context).await;
            }
            let mut deletion = deletion.clone();
            let own_version = deletion.resource_version.is_some();
            if !requests::has_ended(&object) && !own_version {
                deletion.resource_version = Some(ObjectMeta::of(&object).resource_version().into());
            }
            match self.mark_and_delete(&pod, &deletion, context).await {
                Err(Rejection::Conflict { .. }) if !own_version && deletion.uid.is_none() => {}
                done => return done,
            }
        }
        Err(conflict(&pod))
    }

    /// Admission of a body that is not stored: mutating, then `validate`, then validating.
    async fn admit_body(
        &self,
        target: &Target,
        mut body: Value,
        options: &WriteOptions,
        context: &mut Context,
        validate: impl Fn(&Value) -> Result<(), Rejection>,
    ) -> Result<Value, Rejection> {
        let attributes =
            AdmissionAttributes::new(target, target.name(), RequestOptions::Create(options), context);
        let admission = self.begin_admission(&attributes).await?;
        if admission.is_some() {
            let (mutated, ..) = self.mutating_admission(&attributes, Some(body), None, context).await?;
            body = mutated.unwrap_or_default();
        }
        validate(&body)?;
        if admission.is_some() {
            self.validating_admission(&attributes, Some(&body), None, context).await?;
        }
        Ok(body)
    }

    async fn pod(&self, target: &Target) -> Result<Value, Rejection> {
        let record = self.stored(&target.key_of(target.name())).await?;
        record.ok_or_else(|| Rejection::NotFound(target.subject()))?.parse()
    }

    async fn evict_within_budget(
        &self,
        pod: &Target,
        object: &Value,
        deletion: &DeleteOptions,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        let namespace = pod.namespace.as_deref();
        let labels = ObjectMeta::of(object).labels();
        let (mut matching, mut several) = (None, false);
        let budgets =
            self.each_object(disruption_budget::GROUP, disruption_budget::PLURAL, namespace, |budget| {
                let selector = LabelSelector::from_object(budget.at(&["spec", "selector"]));
                if selector.is_ok_and(|selector| selector.matches(labels)) {
                    several |= matching.replace(budget).is_some();
                }
                Ok(())
            });
        budgets.await?;
        let Some(budget) = &matching else { return self.mark_and_delete(pod, deletion, context).await };
        if several {
            return Err(Rejection::Plain(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
                    .into(),
            ));
        }
        let name = ObjectMeta::of(budget).name().to_owned();
        if requests::is_ready(object) || !disruption_budget::lets_unhealthy_go(budget) {
            self.disrupt(pod, &name, deletion.dry_run).await?;
            return self.mark_and_delete(pod, deletion, context).await;
        }
        // A Pod that is not ready does not count; it must still be so when it is deleted.
        let checked = DeleteOptions {
            resource_version: Some(ObjectMeta::of(object).resource_version().into()),
            ..deletion.clone()
        };
        match self.mark_and_delete(pod, &checked, context).await {
            Err(Rejection::Conflict { .. }) if deletion.resource_version.is_none() => {
                Err(not_processed(&name))
            }
            done => done,
        }
    }

    /// Takes one disruption from a budget.
    async fn disrupt(&self, pod: &Target, name: &str, dry_run: bool) -> Result<(), Rejection> {
        let Some(kind) = self.catalog.get(disruption_budget::GROUP, disruption_budget::PLURAL) else {
            return Ok(());
        };
        let version = kind.storage;
        let budget = Target {
            kind,
            version,
            namespace: pod.namespace.clone(),
            name: Some(name.into()),
            subresource: Subresource::None,
        };
        let now = self.now();
        let disrupted = self.modify(&budget, dry_run, |object| {
            disruption_budget::disrupt(object, pod.name(), &now).map_err(|refusal| match refusal {
                Refusal::NotProcessed => not_processed(name),
                Refusal::NotAllowed(why) => too_many(why, 0),
                Refusal::Forbidden(why) => Rejection::Forbidden {
                    subject: Subject {
                        group: disruption_budget::GROUP.into(),
                        resource: "poddisruptionbudget".into(),
                        name: name.into(),
                    },
                    why: why.into(),
                    cause: None,
                },
            })
        });
        disrupted.await.map(drop)
    }

    /// Sets the condition of an evicted Pod and deletes it.
    async fn mark_and_delete(
        &self,
        pod: &Target,
        deletion: &DeleteOptions,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        let mut deletion = deletion.clone();
        if !deletion.dry_run {
            let now = self.now();
            let marked = self.modify(pod, false, |object| {
                crate::delete::check_preconditions(pod, &deletion, object)?;
                requests::mark_evicted(object, &now);
                Ok(())
            });
            let marked = marked.await?;
            if deletion.resource_version.is_some() {
                deletion.resource_version = Some(ObjectMeta::of(&marked).resource_version().into());
            }
        }
        self.delete_without_admission(pod, &deletion, context).await
    }

    /// Changes a stored object without a field manager, as upstream's subresources do. Returns the changed object.
    pub(crate) async fn modify(
        &self,
        target: &Target,
        dry_run: bool,
        how: impl Fn(&mut Value) -> Result<(), Rejection>,
    ) -> Result<Value, Rejection> {
        let value = self.modify_quietly(target, dry_run, how).await?;
        if !dry_run {
            self.committed(target, target.name()).await;
        }
        Ok(value)
    }

    /// The same without a post-commit reconcile.
    pub(crate) async fn modify_quietly(
        &self,
        target: &Target,
        dry_run: bool,
        how: impl Fn(&mut Value) -> Result<(), Rejection>,
    ) -> Result<Value, Rejection> {
        let key = target.key_of(target.name());
        for _ in 0..CONFLICT_RETRIES {
            let record = self.stored(&key).await?.ok_or_else(|| Rejection::NotFound(target.subject()))?;
            let mut value = record.parse()?;
            how(&mut value)?;
            if dry_run {
                return Ok(value);
            }
            let bytes = encode(&mut value, record.fingerprint(), &InternedObjects::default());
            match self.store.commit(Commit::put(key.clone(), Expect::At(record.revision), bytes)).await {
                Ok(revision) => {
                    crate::prepare::metadata_mut(&mut value)
                        .insert("resourceVersion", revision.0.to_string());
                    return Ok(value);
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(Rejection::from_store(error)),
            }
        }
        Err(conflict(target))
    }
}

/// 429: a budget does not allow the eviction.
fn too_many(why: String, retry_after_seconds: i32) -> Rejection {
    Rejection::DisruptionBudget { why, retry_after_seconds }
}

fn not_processed(budget: &str) -> Rejection {
    too_many(format!("The disruption budget {budget} is still being processed by the server."), 10)
}
