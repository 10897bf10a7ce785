//! Configuration files of kube-apiserver (`apiserver.config.k8s.io`): YAML or JSON, decoded strictly into a struct.

use pleach_go::json::{Decoder, GoStruct, GoType};
use pleach_go::strconv::quote;
use pleach_json::Value;

/// The API group of configuration files.
const GROUP: &str = "apiserver.config.k8s.io";

/// Reads a file of a kind in one of these versions of its group. Unknown fields and values of a wrong type are errors;
/// missing fields have their zero values afterwards.
pub fn read(text: &str, kind: &str, versions: &[&str], shape: &'static GoStruct) -> Result<Value, String> {
    let mut value = crate::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let named = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (found, version) = (named("kind"), named("apiVersion"));
    let is_known = version
        .strip_prefix(GROUP)
        .and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|version| versions.contains(&version));
    if found != kind || !is_known {
        return Err(format!(
            "no kind {} is registered for version {}, expected {kind} in {GROUP}/{}",
            quote(found),
            quote(version),
            versions.first().copied().unwrap_or_default()
        ));
    }
    let mut decoder = Decoder::new(shape.package);
    decoder.value(&mut value, &GoType::Struct(shape));
    match decoder.finish() {
        (Some(error), _) => Err(error),
        (None, unknown) if unknown.is_empty() => Ok(value),
        (None, unknown) => {
            let unknown: Vec<String> =
                unknown.iter().map(|path| format!("unknown field {}", quote(path))).collect();
            Err(format!("strict decoding error: {}", unknown.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_go::json::{STRING, always};

    use super::*;

    static SHAPE: GoStruct = GoStruct {
        name: "Things",
        package: "v1",
        fields: &[always("apiVersion", STRING), always("kind", STRING), always("a", STRING)],
    };

    #[test]
    fn files_are_decoded_strictly() {
        let read = |text: &str| read(text, "Things", &["v1", "v1beta1"], &SHAPE);
        let good = read("apiVersion: apiserver.config.k8s.io/v1beta1\nkind: Things\n").unwrap();
        assert_eq!(good.get("a").and_then(Value::as_str), Some(""));
        for (text, want) in [
            ("kind: Things", "no kind \"Things\" is registered for version \"\""),
            (
                "{apiVersion: apiserver.config.k8s.io/v2, kind: Things}",
                "version \"apiserver.config.k8s.io/v2\"",
            ),
            ("{apiVersion: apiserver.config.k8s.io/v1, kind: Things, b: 1}", "unknown field \"b\""),
            ("{apiVersion: apiserver.config.k8s.io/v1, kind: Things, a: 1}", "Things.a of type string"),
            ("a: [", ""),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
