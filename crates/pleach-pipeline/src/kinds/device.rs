//! Columns of the kinds of `resource.k8s.io`: device classes, claims, templates of claims and slices.

use pleach_json::Value;

use super::api_kind::Rules;
use crate::columns::{age_text, column, computed};
use crate::kind::{Cell, Column};

/// The rules of DeviceClasses and ResourceClaimTemplates.
#[derive(Debug)]
pub struct AgeOnly;

impl Rules for AgeOnly {
    fn columns(&self) -> Vec<Column> {
        vec![age_text()]
    }
}

/// The rules of ResourceClaims.
#[derive(Debug)]
pub struct ResourceClaim;

impl Rules for ResourceClaim {
    fn columns(&self) -> Vec<Column> {
        vec![computed("State", "string", |object, _| state(object).into()), age_text()]
    }
}

/// Whether a claim is deleted, allocated and reserved; `pending` if it is none of it.
fn state(claim: &Value) -> String {
    let mut states = Vec::new();
    if claim.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null()) {
        states.push("deleted");
    }
    if claim.at(&["status", "allocation"]).is_none_or(Value::is_null) {
        if claim.at(&["metadata", "deletionTimestamp"]).is_none_or(Value::is_null) {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if claim.at(&["status", "reservedFor"]).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        {
            states.push("reserved");
        }
    }
    states.join(",")
}

/// The rules of ResourceSlices.
#[derive(Debug)]
pub struct ResourceSlice;

impl Rules for ResourceSlice {
    fn columns(&self) -> Vec<Column> {
        let text = |name, path| column(name, "string", "", Cell::Text(path));
        vec![
            text("Node", &["spec", "nodeName"]),
            text("Driver", &["spec", "driver"]),
            text("Pool", &["spec", "pool", "name"]),
            age_text(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn state_of_a_claim() {
        let allocated = json!({"allocation": {}, "reservedFor": [{"name": "a"}]});
        for (claim, expected) in [
            (json!({}), "pending"),
            (json!({"status": {"allocation": {}}}), "allocated"),
            (json!({"status": (allocated.clone())}), "allocated,reserved"),
            (
                json!({"metadata": {"deletionTimestamp": "x"}, "status": (allocated)}),
                "deleted,allocated,reserved",
            ),
        ] {
            assert_eq!(state(&claim), expected, "{claim:?}");
        }
    }
}
