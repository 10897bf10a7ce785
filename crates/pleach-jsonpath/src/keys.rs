//! Dotted paths, for scale subresources and selectable fields.

use pleach_json::{Str, Value};

/// The field names of a path like `.spec.replicas`.
///
/// Dots always separate: there are no brackets, quotes or escapes. Looking up allocates nothing.
///
/// ```
/// use pleach_json::json;
/// use pleach_jsonpath::KeyPath;
///
/// let path = KeyPath::new(".spec.replicas");
/// assert_eq!(path.get(&json!({"spec": {"replicas": 3}})), Some(&json!(3)));
/// assert_eq!(path.get(&json!({"spec": 1})), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyPath(Box<[Str]>);

impl KeyPath {
    /// Splits a path at its dots. A dot in front is dropped.
    pub fn new(path: &str) -> Self {
        Self(path.strip_prefix('.').unwrap_or(path).split('.').map(Str::from).collect())
    }

    /// The names.
    pub fn keys(&self) -> &[Str] {
        &self.0
    }

    /// The value at the path; `None` when a name is missing or a parent is not an object.
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, key| value.get(key))
    }

    /// The value at the path, mutable.
    ///
    /// ```
    /// use pleach_json::json;
    /// let mut object = json!({"spec": {"replicas": 3}});
    /// *pleach_jsonpath::KeyPath::new(".spec.replicas").get_mut(&mut object).unwrap() = json!(5);
    /// assert_eq!(object, json!({"spec": {"replicas": 5}}));
    /// ```
    pub fn get_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.0.iter().try_fold(value, |value, key| value.get_mut(key))
    }

    /// Sets the value at the path, creating parent objects. `false`, and no change, when a parent
    /// exists and is not an object.
    ///
    /// ```
    /// use pleach_json::json;
    /// use pleach_jsonpath::KeyPath;
    ///
    /// let mut object = json!({"kind": "X"});
    /// assert!(KeyPath::new(".spec.replicas").set(&mut object, json!(2)));
    /// assert_eq!(object, json!({"kind": "X", "spec": {"replicas": 2}}));
    /// assert!(!KeyPath::new(".kind.x").set(&mut object, json!(2)));
    /// ```
    pub fn set(&self, value: &mut Value, new: Value) -> bool {
        let Some((last, above)) = self.0.split_last() else { return false };
        let mut seen = Some(&*value);
        for key in above {
            match seen {
                Some(Value::Object(map)) => seen = map.get(key),
                Some(_) => return false,
                None => break,
            }
        }
        if !matches!(seen, None | Some(Value::Object(_))) {
            return false;
        }
        let mut current = value;
        for key in above {
            let Value::Object(map) = current else { return false };
            current = map.get_or_insert_with(key, Value::object);
        }
        let Value::Object(map) = current else { return false };
        map.insert(last.clone(), new);
        true
    }
}
