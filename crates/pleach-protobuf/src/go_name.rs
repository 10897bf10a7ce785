//! The names that Go has for fields, which are in the errors that clients see.

/// The name in Go of a member in JSON.
pub(super) fn go_name(name: &str) -> String {
    match name {
        "metadata" => "ObjectMeta".into(),
        "id" | "uid" | "url" => name.to_uppercase(),
        _ => {
            let name = name.trim_start_matches('$').replace("x-kubernetes", "x");
            let words = name.split('-').map(|word| {
                let (initials, rest) = ["api", "json", "ca"]
                    .iter()
                    .find_map(|initials| {
                        let rest = word.strip_prefix(initials)?;
                        rest.starts_with(char::is_uppercase).then_some((*initials, rest))
                    })
                    .unwrap_or_else(|| word.split_at(word.chars().next().map_or(0, char::len_utf8)));
                initials.to_uppercase() + rest
            });
            words.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::go_name;

    #[test]
    fn names_are_those_of_the_go_structs() {
        for (json, go) in [
            ("metadata", "ObjectMeta"),
            ("apiVersion", "APIVersion"),
            ("caBundle", "CABundle"),
            ("categories", "Categories"),
            ("$ref", "Ref"),
            ("uid", "UID"),
            ("x-kubernetes-list-type", "XListType"),
            ("openAPIV3Schema", "OpenAPIV3Schema"),
        ] {
            assert_eq!(go_name(json), go);
        }
    }
}
