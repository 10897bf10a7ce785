//! Admission: an ordered chain of plugins that may change or refuse a write.
//!
//! Plugins have upstream's names and order. A plugin is a module here and its line in the table of `plugins.rs`. Every write
//! goes through the chain: create, update, patch, apply, delete, collections, subresources, and deletions by
//! background controllers. Plugins get the [`AdmissionAttributes`] of a write.
//!
//! The mutating phase comes before validation by the schema, the validating phase after it. Writes whose object
//! no plugin handles pay for one load per plugin.

mod attributes;
mod certificates;
mod classes;
mod default_toleration_seconds;
mod limit_ranger;
mod limited_namespaces;
mod metrics;
mod mutating_policy;
mod mutating_webhook;
mod namespace_lifecycle;
mod param_access;
mod params;
mod plugins;
mod pod_security;
mod pods;
mod policies;
mod priority;
mod resource_quota;
mod service_account;
mod storage;
mod validating_policy;
mod validating_webhook;
mod webhooks;

use std::pin::Pin;

use pleach_auth::Answer;
use pleach_json::Value;

pub(crate) use self::attributes::{
    AdmissionAttributes, AdmissionRequest, GroupVersion, Operation, RequestOptions,
};
pub(crate) use self::limited_namespaces::LimitedNamespaces;
pub use self::metrics::AdmissionMetrics;
use self::mutating_webhook::Reinvocations;
pub use self::plugins::AdmissionPlugins;
use crate::engine::Engine;
use crate::options::Context;
use crate::rejection::Rejection;

/// The result of a plugin.
pub(crate) type Verdict = Result<(), Rejection>;

/// An admission plugin. The defaults of its methods do nothing.
pub(crate) trait Plugin: Send + Sync {
    /// Decides by the attributes alone, before all plugins that look at the object.
    fn admit_attributes<'a>(
        &'a self,
        _engine: &'a Engine,
        _attributes: &'a AdmissionAttributes<'a>,
    ) -> Answer<'a, Verdict> {
        Answer::Now(Ok(()))
    }

    /// Whether the object of a write is to be shown to the plugin, in any phase.
    fn handles(&self, _engine: &Engine, _attributes: &AdmissionAttributes<'_>) -> bool {
        false
    }

    /// The mutating phase: may change the object.
    fn admit<'a>(&'a self, _write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async { Ok(()) })
    }

    /// The validating phase: sees the object as it will be stored.
    fn validate<'a>(&'a self, _write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async { Ok(()) })
    }
}

/// A write in the mutating phase.
pub(crate) struct Mutation<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) attributes: &'a AdmissionAttributes<'a>,
    /// The object as the plugins before left it; none if it is deleted.
    pub(crate) object: &'a mut Option<Value>,
    /// The object as it is stored; none if it is new.
    pub(crate) old: Option<&'a Value>,
    pub(crate) state: &'a mut MutationState,
    pub(crate) warnings: &'a mut Vec<String>,
}

/// State of the mutating phase between its first round and the reinvocation.
#[derive(Default)]
pub(crate) struct MutationState {
    /// A plugin changed the object.
    pub(crate) changed: bool,
    /// This is the second round.
    pub(crate) reinvoking: bool,
    /// A second round is wanted.
    pub(crate) reinvoke: bool,
    pub(crate) webhooks: Reinvocations,
    pub(crate) policies: pleach_policy::Reinvocations,
    /// A webhook changed the object in the first round.
    pub(crate) webhooks_changed: bool,
    /// A policy changed the object in the second round.
    pub(crate) policies_changed: bool,
}

/// A write in the validating phase.
pub(crate) struct Validation<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) attributes: &'a AdmissionAttributes<'a>,
    /// The object as it will be stored; none if it is deleted.
    pub(crate) object: Option<&'a Value>,
    /// The object as it is stored; none if it is new.
    pub(crate) old: Option<&'a Value>,
    pub(crate) warnings: &'a mut Vec<String>,
}

impl Engine {
    /// Begins admission: asks the plugins that decide by attributes alone. Returns the attributes if a plugin
    /// handles the object.
    pub(crate) async fn begin_admission<'a, 'w>(
        &self,
        attributes: &'a AdmissionAttributes<'w>,
    ) -> Result<Option<&'a AdmissionAttributes<'w>>, Rejection> {
        for plugin in self.admission.enabled() {
            // Not `Answer::get`: its future would hold the verdict of every plugin.
            match plugin.admit_attributes(self, attributes) {
                Answer::Now(verdict) => verdict?,
                Answer::Later(verdict) => verdict.await?,
            }
        }
        let handled = self.admission.enabled().any(|plugin| plugin.handles(self, attributes));
        Ok(handled.then_some(attributes))
    }

    /// The mutating phase. Returns the object, and whether a plugin changed it.
    pub(crate) async fn mutating_admission(
        &self,
        attributes: &AdmissionAttributes<'_>,
        mut object: Option<Value>,
        old: Option<&Value>,
        context: &mut Context,
    ) -> Result<(Option<Value>, bool), Rejection> {
        let mut state = MutationState::default();
        for reinvoking in [false, true] {
            if reinvoking && !state.reinvoke {
                break;
            }
            state.reinvoking = reinvoking;
            for plugin in self.admission.enabled() {
                let mutation = Mutation {
                    engine: self,
                    attributes,
                    object: &mut object,
                    old,
                    state: &mut state,
                    warnings: &mut context.warnings,
                };
                plugin.admit(mutation).await?;
            }
        }
        Ok((object, state.changed))
    }

    /// The validating phase.
    pub(crate) async fn validating_admission(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        for plugin in self.admission.enabled() {
            let warnings = &mut context.warnings;
            plugin.validate(Validation { engine: self, attributes, object, old, warnings }).await?;
        }
        Ok(())
    }
}
