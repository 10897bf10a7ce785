//! ServiceAccounts: references to Secrets are names only.

use pleach_json::{Map, Str, Value};
use pleach_patch::StrategicSchema;

use crate::columns::age_text;
use crate::kind::{Column, KindVersion};
use crate::omitempty::remove_empty_in_list;
use crate::strategy::Strategy;

/// The API group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "serviceaccounts";

/// The strategy of ServiceAccounts.
#[derive(Debug)]
pub struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn type_name(&self, _: &KindVersion) -> Option<&'static str> {
        Some("core/v1.ServiceAccount")
    }

    fn issues_tokens(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Vec<Column>> {
        Some(vec![age_text()])
    }

    fn complete(&self, object: &mut Value) {
        for list in ["imagePullSecrets", "secrets"] {
            remove_empty_in_list(object, list);
        }
    }

    fn drop_disabled_fields(&self, object: &mut Value) {
        let is_name = |key: &Str| key == "name";
        let has_more = |reference: &Map| !reference.keys().all(is_name);
        let references = object.get("secrets").and_then(Value::as_array);
        let changes = references.is_some_and(|list| list.iter().filter_map(Value::as_object).any(has_more));
        if changes && let Some(Value::Array(references)) = object.get_mut("secrets") {
            let references = references.iter_mut().filter_map(Value::as_object_mut);
            references.for_each(|reference| reference.retain(|key, _| is_name(key)));
        }
    }

    fn return_deleted_object(&self) -> bool {
        true
    }

    fn strategic_schema(&self) -> StrategicSchema {
        StrategicSchema::new().with_metadata().merge_list("secrets", "name")
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn references_have_names_only() {
        let mut object = json!({"imagePullSecrets": [], "secrets": [{"name": "a", "namespace": ""}, {"name": "b", "kind": "x"}]});
        ServiceAccount.complete(&mut object);
        assert_eq!(object, json!({"secrets": [{"name": "a"}, {"name": "b", "kind": "x"}]}));
        ServiceAccount.drop_disabled_fields(&mut object);
        assert_eq!(object, json!({"secrets": [{"name": "a"}, {"name": "b"}]}));
    }
}
