//! LimitRanges.

use pleach_json::{Map, Value};

use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{each_mut, member, submember};

/// The rules of LimitRanges.
#[derive(Debug)]
pub struct LimitRange;

impl Rules for LimitRange {
    fn default(&self, object: &mut Value) {
        each_mut(member(object, "spec"), "limits", |limit| {
            if limit.get_str("type") != Some("Container") {
                return;
            }
            for (target, sources) in [("default", &["max"][..]), ("defaultRequest", &["default", "min"])] {
                for source in sources {
                    let Some(Value::Object(source)) = limit.get(source).cloned() else { continue };
                    fill(submember(limit, target), &source);
                }
            }
            for key in ["default", "defaultRequest"] {
                if limit.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
                    limit.remove(key);
                }
            }
        });
    }
}

fn fill(target: &mut Map, source: &Map) {
    for (key, value) in source {
        if !target.contains_key(key) {
            target.insert(key.clone(), value.clone());
        }
    }
}
