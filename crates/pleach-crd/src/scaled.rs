//! The scale subresource: the fields that `/scale` reads from an object and writes into it.
//!
//! Paths are split at dots whatever else is in them. Where something on the way to a field is no
//! object, the messages are those of upstream's accessors.

use pleach_go::fmt::{go_type, go_v};
use pleach_json::Value;
use pleach_meta::FieldError;

use crate::Scale;

const MAP: &str = "map[string]interface{}";

impl Scale {
    /// The replicas an object asks for, if it says.
    pub fn replicas(&self, object: &Value) -> Result<Option<i64>, String> {
        int(object, &self.spec_replicas_path)
    }

    /// The replicas an object has, if it says.
    pub fn status_replicas(&self, object: &Value) -> Result<Option<i64>, String> {
        int(object, &self.status_replicas_path)
    }

    /// The label selector of an object with `/scale`, if it has one.
    pub fn selector<'a>(&self, object: &'a Value) -> Result<Option<&'a str>, String> {
        let Some(path) = self.label_selector_path.as_ref().filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        match nested(object, path)? {
            None => Ok(None),
            Some(Value::String(selector)) => Ok(Some(selector)),
            Some(other) => Err(accessor_error(path, other, "string")),
        }
    }

    /// Writes the replicas an object shall have.
    pub fn set_replicas(&self, object: &mut Value, replicas: i64) -> Result<(), String> {
        let mut at = object;
        for (i, key) in keys(&self.spec_replicas_path).enumerate() {
            let Value::Object(members) = at else {
                let way = head(&self.spec_replicas_path, i);
                return Err(format!("value cannot be set because {way} is not a {MAP}"));
            };
            at = members.get_or_insert_with(key, Value::object);
        }
        *at = Value::Int(replicas);
        Ok(())
    }

    /// The errors of the numbers and the selector of an object; with `only_status`, of its status.
    pub fn check(&self, object: &Value, only_status: bool) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if !only_status {
            errors.extend(check_replicas(&self.spec_replicas_path, self.replicas(object)));
        }
        errors.extend(check_replicas(&self.status_replicas_path, self.status_replicas(object)));
        if let Some(path) = &self.label_selector_path
            && let Err(error) = self.selector(object)
        {
            errors.push(FieldError::invalid(path, "", error));
        }
        errors
    }
}

/// An accessor that fails returns nothing, which for a number is 0: upstream reports that.
fn check_replicas(path: &str, found: Result<Option<i64>, String>) -> Option<FieldError> {
    let (value, detail) = match found {
        Err(error) => (0, error),
        Ok(Some(replicas)) if replicas < 0 => (replicas, "should be a non-negative integer".to_owned()),
        Ok(Some(replicas)) if replicas > i64::from(i32::MAX) => {
            (replicas, "should be less than or equal to 2147483647".to_owned())
        }
        Ok(_) => return None,
    };
    Some(FieldError::invalid(path, value, detail))
}

fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// The first `n` keys of a path, as a path.
fn head(path: &str, n: usize) -> String {
    keys(path).take(n).flat_map(|key| [".", key]).collect()
}

fn int(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match nested(object, path)? {
        None => Ok(None),
        Some(Value::Int(int)) => Ok(Some(*int)),
        Some(other) => Err(accessor_error(path, other, "int64")),
    }
}

fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut at = object;
    for (i, key) in keys(path).enumerate() {
        at = match at {
            Value::Object(members) => match members.get(key) {
                Some(member) => member,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(accessor_error(&head(path, i + 1), other, MAP)),
        };
    }
    Ok(Some(at))
}

fn accessor_error(path: &str, found: &Value, wanted: &str) -> String {
    format!("{path} accessor error: {} is of the type {}, expected {wanted}", go_v(found), go_type(found))
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn scale() -> Scale {
        Scale {
            spec_replicas_path: ".spec.deep.replicas".into(),
            status_replicas_path: ".status.deep.replicas".into(),
            label_selector_path: Some(".status.deep.selector".into()),
        }
    }

    fn errors(object: &Value) -> Vec<String> {
        scale().check(object, false).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn errors_are_those_of_the_accessors() {
        for (object, want) in [
            (json!({}), vec![]),
            (json!({"spec": {"deep": {"replicas": 3}}}), vec![]),
            (json!({"spec": null}), vec![]),
            (json!({"spec": {"deep": null}}), vec![]),
            (
                json!({"spec": {"deep": {"replicas": -2}}}),
                vec![".spec.deep.replicas: Invalid value: -2: should be a non-negative integer"],
            ),
            (
                json!({"spec": {"deep": {"replicas": "x"}}}),
                vec![
                    ".spec.deep.replicas: Invalid value: 0: .spec.deep.replicas accessor error: x is of the \
                     type string, expected int64",
                ],
            ),
            (
                json!({"spec": {"deep": {"replicas": null}}}),
                vec![
                    ".spec.deep.replicas: Invalid value: 0: .spec.deep.replicas accessor error: <nil> is of \
                     the type <nil>, expected int64",
                ],
            ),
            (
                json!({"spec": [1, "a"]}),
                vec![
                    ".spec.deep.replicas: Invalid value: 0: .spec.deep accessor error: [1 a] is of the type \
                     []interface {}, expected map[string]interface{}",
                ],
            ),
            (
                json!({"status": {"deep": "x"}}),
                vec![
                    ".status.deep.replicas: Invalid value: 0: .status.deep.replicas accessor error: x is of \
                     the type string, expected map[string]interface{}",
                    ".status.deep.selector: Invalid value: \"\": .status.deep.selector accessor error: x is of \
                     the type string, expected map[string]interface{}",
                ],
            ),
        ] {
            assert_eq!(errors(&object), want, "{object:?}");
        }
    }

    #[test]
    fn deeply_nested_values_are_reported() {
        let deep = (0..10_000).fold(Value::Null, |inner, _| Value::from(vec![inner]));
        assert!(errors(&json!({"spec": deep}))[0].contains("[[[[<nil>]]]]"));
    }

    #[test]
    fn replicas_are_written_where_objects_lead() {
        let mut object = json!({"spec": {}});
        scale().set_replicas(&mut object, 2).unwrap();
        assert_eq!(object, json!({"spec": {"deep": {"replicas": 2}}}));
        for (mut object, want) in [
            (json!({"spec": null}), "value cannot be set because .spec is not a map[string]interface{}"),
            (
                json!({"spec": {"deep": "x"}}),
                "value cannot be set because .spec.deep is not a map[string]interface{}",
            ),
        ] {
            assert_eq!(scale().set_replicas(&mut object, 2).unwrap_err(), want);
        }
    }
}
