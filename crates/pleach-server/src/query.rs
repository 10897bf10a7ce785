//! Query strings, read as Go reads them: pairs that cannot be decoded are dropped, and the first
//! value of a parameter counts.

use pleach_go::url::parse_query;

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Parses the text after the question mark.
    pub fn parse(text: Option<&str>) -> Self {
        let pairs = parse_query(text.unwrap_or_default()).collect();
        Self { pairs }
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value, or the empty text.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A switch: `false` and `0` are off, anything else that is given is on.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !(value.eq_ignore_ascii_case("false") || value == "0"))
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_go_reads_them() {
        let query = Query::parse(Some("a=1&a=2&b=%ZZ&c=x%3Dy;d=1&e&f=a+b&&watch=0"));
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.get("b"), None, "a broken escape drops the pair");
        assert_eq!(query.get("c"), None, "a semicolon drops the pair");
        assert_eq!(query.get("e"), Some(""));
        assert_eq!(query.get("f"), Some("a b"));
        assert_eq!(query.switch("watch"), Some(false));
        assert_eq!(query.switch("e"), Some(true));
        assert_eq!(query.switch("none"), None);
    }
}
