//! AppArmor profiles of a new Pod's containers: the annotation and the field say the same, whichever a client wrote.

use pleach_json::{Map, Str, Value, json};

use super::validate::annotations::APP_ARMOR;
use crate::kinds::fields::{each_mut, items, member, submember, text, text_at};

/// `applyAppArmorVersionSkew`
pub(super) fn sync(pod: &mut Value) {
    if text_at(pod, &["spec", "os", "name"]) == "windows" {
        return;
    }
    let of_pod = pod.at(&["spec", "securityContext", "appArmorProfile"]).cloned();
    let annotations = pod.at(&["metadata", "annotations"]).and_then(Value::as_object).cloned();
    let mut added: Vec<(Str, String)> = Vec::new();
    let spec = member(pod, "spec");
    for list in ["initContainers", "containers"] {
        each_mut(spec, list, |container| {
            let key = format!("{APP_ARMOR}{}", container.get_str("name").unwrap_or_default());
            let written = annotations.as_ref().and_then(|all| all.get_str(&key));
            let context = container.get("securityContext");
            let own = context.and_then(|context| context.get("appArmorProfile")).filter(|own| !own.is_null());
            match written {
                None => {
                    let written = own.or(of_pod.as_ref()).and_then(annotation);
                    added.extend(written.map(|written| (Str::from(key.as_str()), written)));
                }
                Some(written) if own.is_none() => {
                    if let Some(profile) = field(written).filter(|profile| Some(profile) != of_pod.as_ref()) {
                        submember(container, "securityContext").insert("appArmorProfile", profile);
                    }
                }
                Some(_) => {}
            }
        });
    }
    if !added.is_empty() {
        let annotations: &mut Map = submember(member(pod, "metadata"), "annotations");
        added.into_iter().for_each(|(key, written)| drop(annotations.insert(key, written)));
    }
}

/// Whether a container of a Pod has what its annotation says, or the annotation says nothing valid: then a client wrote the
/// annotation rather than the field.
pub(super) fn is_from_annotation(spec: &Value, name: &str, written: &str) -> bool {
    let lists = ["initContainers", "containers"];
    let is_it = |container: &&Value| text(container, "name") == name;
    let Some(container) = lists.iter().find_map(|list| items(spec, list).iter().find(is_it)) else {
        return false;
    };
    let own = container.at(&["securityContext", "appArmorProfile"]);
    match field(written) {
        None => own.is_none(),
        Some(profile) => own == Some(&profile),
    }
}

/// The annotation that says the same as a field.
fn annotation(profile: &Value) -> Option<String> {
    match text(profile, "type") {
        "Unconfined" => Some("unconfined".into()),
        "RuntimeDefault" => Some("runtime/default".into()),
        "Localhost" => {
            let file = text(profile, "localhostProfile");
            (!file.is_empty()).then(|| format!("localhost/{file}"))
        }
        _ => None,
    }
}

/// The field that says the same as an annotation, if that is valid.
fn field(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        other => {
            let file = other.strip_prefix("localhost/")?;
            let valid = !file.is_empty() && file.trim() == file && file.len() <= 4095;
            valid.then(|| json!({"type": "Localhost", "localhostProfile": file}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_and_fields_follow_each_other() {
        let key = |name: &str| format!("{APP_ARMOR}{name}");
        let mut annotations = Map::new();
        annotations.insert(key("b"), "localhost/x");
        let mut pod = json!({
            "metadata": {"annotations": (annotations)},
            "spec": {
                "securityContext": {"appArmorProfile": {"type": "Unconfined"}},
                "containers": [
                    {"name": "a"}, {"name": "b"},
                    {"name": "c", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}},
                ],
            },
        });
        sync(&mut pod);
        let of = |name: &str| text_at(&pod, &["metadata", "annotations", &key(name)]).to_owned();
        assert_eq!([of("a"), of("b"), of("c")], ["unconfined", "localhost/x", "runtime/default"]);
        let containers = pod.at(&["spec", "containers"]).and_then(Value::as_array).unwrap();
        assert_eq!(containers[0].get("securityContext"), None);
        let profile = containers[1].at(&["securityContext", "appArmorProfile"]).unwrap();
        assert_eq!(*profile, json!({"type": "Localhost", "localhostProfile": "x"}));
    }
}
