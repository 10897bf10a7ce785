//! MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

mod decode;
pub mod match_conditions;
mod validate;

pub(crate) use validate::{check_choice, check_rule};

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_patch::StrategicSchema;

use crate::columns::{AGE_DESCRIPTION, column};
use crate::kind::{Cell, Column, KindVersion};
use crate::resource::Resource;
use crate::strategy::{Effect, Strategy};
use crate::typed::Typed;

/// The API group.
pub const GROUP: &str = "admissionregistration.k8s.io";
/// The resource of mutating webhooks.
pub const MUTATING: &str = "mutatingwebhookconfigurations";
/// The resource of validating webhooks.
pub const VALIDATING: &str = "validatingwebhookconfigurations";

/// The strategy of both kinds.
#[derive(Debug)]
pub struct WebhookConfiguration;

impl Strategy for WebhookConfiguration {
    fn columns(&self) -> Option<Vec<Column>> {
        const WEBHOOKS: &str = "Webhooks indicates the number of webhooks registered in this configuration";
        Some(vec![
            column("Webhooks", "integer", WEBHOOKS, Cell::Count(&["webhooks"])),
            column("Age", "string", AGE_DESCRIPTION, Cell::Age),
        ])
    }

    fn is_exempt_from_webhooks(&self) -> bool {
        true
    }

    fn decode(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        _: &mut Typed,
    ) -> Result<Vec<String>, String> {
        decode::decode_configuration(&resource.kind.kind, object)
    }

    fn reports_unknown_in_document_order(&self) -> bool {
        true
    }

    fn counts_generations(&self, _: &KindVersion) -> bool {
        true
    }

    fn revalidates_metadata(&self) -> bool {
        false
    }

    fn validates_by_schema(&self) -> bool {
        false
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::validate(object, old)
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn after_commit(&self) -> Effect {
        Effect::WebhooksChanged
    }

    fn strategic_schema(&self) -> StrategicSchema {
        let schema = StrategicSchema::new().with_metadata();
        schema.merge_list("webhooks", "name").merge_list("webhooks.matchConditions", "name")
    }
}
