//! Validation of `successPolicy`.

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{int_at, items};
use crate::kinds::jobs::indexes;

const MOST_RULES: i64 = 20;
const MOST_BYTES: usize = 64 * 1024;

/// The policy of a Job's spec.
pub(super) fn validate(policy: &Value, spec: &Value, indexed: bool, path: &str, errors: &mut Errors) {
    if !indexed {
        errors.push(FieldError::invalid(path, dump(policy), "requires indexed completion mode"));
        return;
    }
    let rules = items(policy, "rules");
    let at = format!("{path}.rules");
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(at.as_str(), why));
    }
    if rules.len() as i64 > MOST_RULES {
        errors.push(FieldError::too_many(at.as_str(), rules.len() as i64, MOST_RULES));
    }
    for (i, one) in rules.iter().enumerate() {
        rule(one, int_at(spec, &["completions"]), &format!("{at}[{i}]"), errors);
    }
}

fn rule(rule: &Value, completions: i64, path: &str, errors: &mut Errors) {
    let written = rule.get("succeededIndexes").and_then(Value::as_str);
    let count = rule.get("succeededCount").and_then(Value::as_int);
    if written.is_none() && count.is_none() {
        let why = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push(FieldError::required(path, why));
    }
    let mut total = 0;
    if let Some(written) = written {
        let at = format!("{path}.succeededIndexes");
        if written.len() > MOST_BYTES {
            errors.push(FieldError::too_long(at.as_str(), MOST_BYTES as i64));
        }
        match indexes::total(written, completions) {
            Ok(number) => total = number,
            Err(why) => {
                let why = format!("error parsing succeededIndexes: {why}");
                errors.push(FieldError::invalid(at, written, why));
            }
        }
    }
    if let Some(count) = count {
        let at = format!("{path}.succeededCount");
        checks::non_negative(rule.get("succeededCount"), &at, errors);
        if count > completions {
            let why =
                format!("must be less than or equal to {completions} (the number of specified completions)");
            errors.push(FieldError::invalid(at.as_str(), count, why));
        }
        if written.is_some() && count > total {
            let why = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            errors.push(FieldError::invalid(at, count, why));
        }
    }
}

/// A policy as Go writes the internal type as JSON.
pub(super) fn dump(policy: &Value) -> BadValue {
    let show = |value: Option<&Value>| pleach_json::to_string(value.unwrap_or(&Value::Null));
    let one = |rule: &Value| {
        format!(
            "{{\"SucceededIndexes\":{},\"SucceededCount\":{}}}",
            show(rule.get("succeededIndexes")),
            show(rule.get("succeededCount"))
        )
    };
    let rules: Vec<String> = items(policy, "rules").iter().map(one).collect();
    BadValue::Raw(format!("{{\"Rules\":[{}]}}", rules.join(",")))
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn rules_have_counts_or_indexes() {
        for (rule, want) in [
            (json!({"succeededIndexes": "0,2-3", "succeededCount": 3}), &[][..]),
            (
                json!({}),
                &[
                    "p.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified",
                ],
            ),
            (
                json!({"succeededIndexes": "3-1"}),
                &[
                    "p.rules[0].succeededIndexes: Invalid value: \"3-1\": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1",
                ],
            ),
            (
                json!({"succeededIndexes": "1", "succeededCount": 5}),
                &[
                    "p.rules[0].succeededCount: Invalid value: 5: must be less than or equal to 4 (the number of specified completions)",
                    "p.rules[0].succeededCount: Invalid value: 5: must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)",
                ],
            ),
        ] {
            let mut errors = Errors::new();
            validate(&json!({"rules": [rule]}), &json!({"completions": 4}), true, "p", &mut errors);
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, want);
        }
    }
}
