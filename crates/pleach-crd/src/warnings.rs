//! What a client is warned of when it writes a CRD.

use std::collections::BTreeSet;

use pleach_json::Str;
use pleach_meta::go_format::quote;
use pleach_schema::formats::{Compat, is_recognised};

use crate::types::{Crd, CrdSpec};

/// Warns of formats that this server does not know and that the old CRD did not have, each once.
pub fn warnings(new: &Crd, old: Option<&Crd>, compat: Compat) -> Vec<String> {
    let mut formats = unrecognised_formats(&new.spec, compat);
    if !formats.is_empty()
        && let Some(old) = old
    {
        let known = unrecognised_formats(&old.spec, compat);
        formats.retain(|format| !known.contains(format));
    }
    formats.iter().map(|format| format!("unrecognized format {}", quote(format))).collect()
}

fn unrecognised_formats(spec: &CrdSpec, compat: Compat) -> BTreeSet<Str> {
    let mut out = BTreeSet::new();
    for schema in spec.schemas() {
        schema.any_node(&mut |node| {
            let format = &node.value().format;
            if !format.is_empty() && !is_recognised(&node.type_, node.x_int_or_string, format, compat) {
                out.insert(format.clone());
            }
            false
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::decode::{Options, decode};
    use crate::types::ApiVersion;

    fn crd(formats: &[&str]) -> Crd {
        let properties: pleach_json::Map =
            formats.iter().map(|f| ((*f).into(), json!({"type": "string", "format": (*f)}))).collect();
        let document = json!({"spec": {"versions": [{"name": "v1", "storage": true, "schema": {
            "openAPIV3Schema": {"type": "object", "properties": properties}}}]}});
        decode(&document, ApiVersion::V1, Options::default()).unwrap().crd
    }

    #[test]
    fn new_unknown_formats_warn() {
        let new = crd(&["date-time", "zz", "int32", "uuid"]);
        assert_eq!(
            warnings(&new, None, Compat::DEFAULT),
            ["unrecognized format \"int32\"", "unrecognized format \"zz\""],
            "int32 is none for strings"
        );
        assert_eq!(warnings(&new, Some(&crd(&["zz"])), Compat::DEFAULT), ["unrecognized format \"int32\""]);
        assert!(warnings(&crd(&["date"]), None, Compat::DEFAULT).is_empty());
    }
}
