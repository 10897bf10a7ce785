//! [`JsonPath`]: a parsed template.

use crate::error::{FindError, ParseError};
use crate::eval::{Eval, Item};
use crate::format;
use crate::node::{Part, Step};
use crate::parse::parse;
use pleach_json::{Str, Value};

/// A JSONPath template: text with actions in braces.
///
/// ```
/// use pleach_json::json;
/// use pleach_jsonpath::JsonPath;
///
/// let pods = json!({"items": [{"name": "a", "ready": true}, {"name": "b", "ready": false}]});
/// let path = JsonPath::parse("{range .items[?(@.ready==true)]}{.name}{'\\n'}{end}")?;
/// assert_eq!(path.print(&pods, false)?, "a\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonPath {
    template: Box<str>,
    parts: Vec<Part>,
    /// The field names, if the template is only `{.name.name}`.
    keys: Option<Box<[Str]>>,
}

/// A missing value.
static NULL: Value = Value::Null;

impl JsonPath {
    /// Parses a template.
    pub fn parse(template: &str) -> Result<Self, ParseError> {
        let parts = parse(template)?;
        let keys = keys(&parts);
        Ok(Self { template: template.into(), parts, keys })
    }

    /// Parses a template or a bare path: `.spec.x`, `spec.x`, `{spec.x}` and `{.spec.x}` are the same.
    ///
    /// ```
    /// let path = pleach_jsonpath::JsonPath::parse_relaxed("spec.replicas")?;
    /// assert_eq!(path.as_str(), "{.spec.replicas}");
    /// # Ok::<(), pleach_jsonpath::ParseError>(())
    /// ```
    pub fn parse_relaxed(path: &str) -> Result<Self, ParseError> {
        if path.is_empty() {
            return Self::parse(path);
        }
        let inside = path.strip_prefix('{').and_then(|path| path.strip_suffix('}')).unwrap_or(path);
        let name = match inside.strip_prefix('.') {
            Some("") | None => inside,
            Some(name) => name,
        };
        if name.is_empty() || name.contains(['{', '}']) {
            return Err(ParseError::new(
                "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
            ));
        }
        Self::parse(&format!("{{.{name}}}"))
    }

    /// The template.
    pub fn as_str(&self) -> &str {
        &self.template
    }

    /// The field names, if the template is only `{.spec.replicas}`.
    ///
    /// ```
    /// use pleach_jsonpath::JsonPath;
    /// assert_eq!(JsonPath::parse("{.spec.replicas}")?.keys().map(<[_]>::len), Some(2));
    /// assert!(JsonPath::parse("{.items[0]}")?.keys().is_none());
    /// # Ok::<(), pleach_jsonpath::ParseError>(())
    /// ```
    pub fn keys(&self) -> Option<&[Str]> {
        self.keys.as_deref()
    }

    /// The values each part of the template finds: one list per text, action and round of a `range`.
    ///
    /// ```
    /// use pleach_json::json;
    /// use pleach_jsonpath::JsonPath;
    ///
    /// let object = json!({"list": [1, 2, 3]});
    /// let path = JsonPath::parse("{.list[1:]}")?;
    /// assert_eq!(path.find_results(&object, false)?, [[&json!(2), &json!(3)]]);
    ///
    /// let missing = JsonPath::parse("{.other}")?;
    /// assert_eq!(missing.find_results(&object, false).unwrap_err().to_string(), "other is not found");
    /// assert!(missing.find_results(&object, true)?[0].is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_results<'a>(
        &'a self,
        data: &'a Value,
        allow_missing_keys: bool,
    ) -> Result<Vec<Vec<&'a Value>>, FindError> {
        let results = self.results(data, allow_missing_keys)?;
        let values = |items: Vec<Item<'a>>| items.into_iter().map(|item| item.unwrap_or(&NULL)).collect();
        Ok(results.into_iter().map(values).collect())
    }

    fn results<'a>(&'a self, data: &'a Value, allow: bool) -> Result<Vec<Vec<Item<'a>>>, FindError> {
        Eval::new(&self.parts, allow).run(data)
    }

    /// The first value of the first part, for printer columns: missing keys are allowed, and an error
    /// is `None`. Does not allocate for `{.name.name}`.
    ///
    /// ```
    /// use pleach_json::json;
    /// use pleach_jsonpath::JsonPath;
    ///
    /// let object = json!({"items": [{"n": 1}, {"n": 2}]});
    /// assert_eq!(JsonPath::parse("{.items[*].n}")?.first(&object), Some(&json!(1)));
    /// assert_eq!(JsonPath::parse("{.items[5].n}")?.first(&object), None);
    /// # Ok::<(), pleach_jsonpath::ParseError>(())
    /// ```
    pub fn first<'a>(&'a self, data: &'a Value) -> Option<&'a Value> {
        if let Some(keys) = &self.keys {
            return keys.iter().try_fold(data, |value, key| value.get(key));
        }
        let results = self.results(data, true).ok()?;
        let first = *results.first()?.first()?;
        Some(first.unwrap_or(&NULL))
    }

    /// The template filled in: strings as they are, numbers as Go prints them, objects and arrays as
    /// JSON, results of one action separated by blanks.
    ///
    /// ```
    /// use pleach_json::json;
    /// let path = pleach_jsonpath::JsonPath::parse("names: {.items[*].n} all: {.items}")?;
    /// let object = json!({"items": [{"n": "a"}, {"n": "b"}]});
    /// assert_eq!(path.print(&object, false)?, r#"names: a b all: [{"n":"a"},{"n":"b"}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn print(&self, data: &Value, allow_missing_keys: bool) -> Result<String, FindError> {
        let mut out = String::new();
        for items in self.results(data, allow_missing_keys)? {
            for (at, item) in items.into_iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                format::print(item, &mut out);
            }
        }
        Ok(out)
    }
}

fn keys(parts: &[Part]) -> Option<Box<[Str]>> {
    let [Part::Action(steps)] = parts else { return None };
    if steps.is_empty() {
        return None;
    }
    let key = |step: &Step| match step {
        Step::Field(name) => Some(name.clone()),
        _ => None,
    };
    steps.iter().map(key).collect()
}

/// One value as a table cell of type string shows it: like [`JsonPath::print`], but null is
/// `<no value>`.
///
/// ```
/// use pleach_json::json;
/// use pleach_jsonpath::print_value;
/// assert_eq!(print_value(&json!(1000000.0)), "1e+06");
/// assert_eq!(print_value(&json!({"a": [1, "<"]})), r#"{"a":[1,"\u003c"]}"#);
/// assert_eq!(print_value(&json!(null)), "<no value>");
/// ```
pub fn print_value(value: &Value) -> String {
    let mut out = String::new();
    format::print((!value.is_null()).then_some(value), &mut out);
    out
}
