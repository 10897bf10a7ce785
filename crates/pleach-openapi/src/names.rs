//! Names of schemas and operations.

use crate::Resource;

/// The package of the API machinery types.
pub(crate) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
/// The package of the scale type.
pub(crate) const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

impl Resource<'_> {
    /// The name of a schema of this group and version: the group reversed, the version, the kind.
    /// Built-in types are named by their Go package.
    pub(crate) fn schema_name(&self, kind: &str) -> String {
        let (group, version) = (self.group, self.version);
        if !self.built_in {
            let parts: Vec<&str> = group.rsplit('.').collect();
            return format!("{}.{version}.{kind}", parts.join("."));
        }
        match group {
            "" => format!("io.k8s.api.core.{version}.{kind}"),
            "apiextensions.k8s.io" => {
                format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}")
            }
            "apiregistration.k8s.io" => {
                format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.{version}.{kind}")
            }
            _ => format!("io.k8s.api.{}.{version}.{kind}", package(group)),
        }
    }

    /// `/apis/g/v`, or `/api/v1`.
    pub(crate) fn base_path(&self) -> String {
        match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }

    /// `stableExampleCom_v1`
    pub(crate) fn tag(&self) -> String {
        let group = camel(self.group_word());
        let mut letters = group.chars();
        let first: String = letters.next().map(|c| c.to_lowercase().collect()).unwrap_or_default();
        format!("{first}{}_{}", letters.as_str(), self.version)
    }

    /// `listStableExampleComV1NamespacedFoo` of `list` and `NamespacedFoo`.
    pub(crate) fn operation_id(&self, verb: &str, rest: &str) -> String {
        format!("{verb}{}{}{rest}", camel(self.group_word()), camel(self.version))
    }

    fn group_word(&self) -> &str {
        match self.group {
            "" => "core",
            group => group.strip_suffix(".k8s.io").unwrap_or(group),
        }
    }

    /// ` a Foo`, ` an Apple`; a plural noun has no article.
    pub(crate) fn with_article(&self) -> String {
        let kind = self.kind;
        let plural = kind.ends_with('s') && !kind.ends_with("ss");
        let article = match kind.as_bytes().first() {
            _ if plural => "",
            Some(b'A' | b'E' | b'I' | b'O' | b'U' | b'a' | b'e' | b'i' | b'o' | b'u') => "an ",
            _ => "a ",
        };
        format!(" {article}{kind}")
    }
}

/// The Go package of a built-in group.
fn package(group: &str) -> &str {
    group.split('.').next().unwrap_or(group)
}

/// `stable.example.com` as `StableExampleCom`.
fn camel(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        let (first, rest) = part.split_at(1);
        out.push_str(&first.to_ascii_uppercase());
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::foo;

    #[test]
    fn names_follow_group_and_version() {
        let foo = foo();
        assert_eq!(foo.schema_name("Foo"), "com.example.stable.v1.Foo");
        assert_eq!(foo.tag(), "stableExampleCom_v1");
        assert_eq!(foo.operation_id("list", "NamespacedFoo"), "listStableExampleComV1NamespacedFoo");
        let dashed = Resource { group: "paths-in-v2.example.com", version: "v1beta1", ..foo };
        assert_eq!(dashed.tag(), "pathsInV2ExampleCom_v1beta1", "a dash starts a word");
        let core = Resource { group: "", built_in: true, kind: "Namespace", ..foo };
        assert_eq!(core.schema_name("Namespace"), "io.k8s.api.core.v1.Namespace");
        assert_eq!(core.operation_id("read", "Namespace"), "readCoreV1Namespace");
        assert_eq!(core.base_path(), "/api/v1");
    }

    #[test]
    fn articles() {
        for (kind, want, why) in [
            ("Foo", " a Foo", "a consonant"),
            ("Apple", " an Apple", "a vowel"),
            ("Foos", " Foos", "one s at the end is a plural"),
            ("Class", " a Class", "two are not"),
        ] {
            assert_eq!(Resource { kind, ..foo() }.with_article(), want, "{why}");
        }
    }
}
