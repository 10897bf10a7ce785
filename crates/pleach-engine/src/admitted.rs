//! How a write passes those who are asked about it: what they see of it, and what it takes from them.

use pleach_json::Value;

use crate::engine::Engine;
use crate::managed::{self, scale as owners};
use crate::options::Context;
use crate::prepare;
use crate::recent::Live;
use crate::rejection::Rejection;
use crate::scale;
use crate::webhooks::Question;
use crate::write::{AFTER_ADMISSION, Intent, align_namespace, dedup_owner_references};

impl Engine {
    /// A new object as those leave it who may change it, and whether they did.
    pub(crate) async fn mutated_new(
        &self,
        question: &Question<'_>,
        value: Value,
        context: &mut Context,
    ) -> Result<(Value, bool), Rejection> {
        self.mutated_object(question, value, None, context).await
    }

    /// A draft as those leave it who may change it, and whether they did.
    pub(crate) async fn mutated(
        &self,
        question: &Question<'_>,
        intent: &dyn Intent,
        mut draft: Value,
        live: &Live,
        context: &mut Context,
    ) -> Result<(Value, bool), Rejection> {
        let Some((endpoint, paths)) = intent.scale() else {
            return self.mutated_object(question, draft, Some(live), context).await;
        };
        let shown = owners::with_owners(endpoint, paths, &draft)?;
        let managed = shown.at(&["metadata", "managedFields"]).cloned();
        let was = owners::with_owners(endpoint, paths, live)?;
        let (scale, changed) = self.mutate(question, Some(shown), Some(&was), context).await?;
        let mut scale = scale.unwrap_or_default();
        if changed {
            managed::keep_readable(&mut scale, managed, context);
            scale::check_type(&scale).map_err(Rejection::Plain)?;
            let replicas = scale::read_replicas(&scale).map_err(Rejection::Plain)?;
            paths.set_replicas(&mut draft, replicas).map_err(Rejection::Plain)?;
            if let Some(version) = scale.at(&["metadata", "resourceVersion"]) {
                prepare::metadata_mut(&mut draft).insert("resourceVersion", version.clone());
            }
        }
        Ok((draft, false))
    }

    async fn mutated_object(
        &self,
        question: &Question<'_>,
        draft: Value,
        old: Option<&Value>,
        context: &mut Context,
    ) -> Result<(Value, bool), Rejection> {
        let managed = draft.at(&["metadata", "managedFields"]).cloned();
        let (draft, changed) = self.mutate(question, Some(draft), old, context).await?;
        let mut draft = draft.unwrap_or_default();
        if changed {
            if old.is_none() && draft.get("metadata").is_some_and(|metadata| metadata.as_object().is_none()) {
                return Err(Rejection::internal("system metadata was not initialized"));
            }
            managed::keep_readable(&mut draft, managed, context);
            dedup_owner_references(&mut draft, AFTER_ADMISSION, context);
            align_namespace(question.target(), &mut draft)?;
        }
        Ok((draft, changed))
    }

    /// Asks those who say yes or no about a draft.
    pub(crate) async fn approved(
        &self,
        question: &Question<'_>,
        intent: &dyn Intent,
        draft: &Value,
        live: &Live,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        let Some((_, paths)) = intent.scale() else {
            return self.approve(question, Some(draft), Some(live), context).await;
        };
        let (shown, was) = (scale::from_object(paths, draft)?, scale::from_object_or(paths, live, 0)?);
        self.approve(question, Some(&shown), Some(&was), context).await
    }
}
