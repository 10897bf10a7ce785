//! Coerces embedded resources, as part of the settling walk.
//!
//! `apiVersion` and `kind` of an embedded resource must be strings, and its `metadata` is decoded and written
//! back as `ObjectMeta`. A request with something else there is refused, at the first error; in stored objects
//! what does not fit is dropped. The root of an object is not coerced: its metadata is decoded with the request.

use pleach_go::json::Decoder;
use pleach_json::{Map, Value};
use pleach_meta::object_meta;
use pleach_meta::{FieldError, Path};

use super::walk::{Refused, Stages, Walk, is_dropped};
use crate::compile::Node;

impl Walk {
    /// Drops nulls in the type and metadata of an embedded resource and coerces them; whether that changed
    /// anything. What the schema says of them besides is for the walk.
    pub(super) fn coerce(&mut self, members: &mut Map, node: &Node, at: &Path<'_>) -> Result<bool, Refused> {
        let mut changed = false;
        if self.stages.drop_nulls {
            for key in ["apiVersion", "kind", "metadata"] {
                changed |= self.drop_nulls_of(members, key, node, at)?;
            }
        }
        for key in ["apiVersion", "kind"] {
            let wrong = members.get(key).filter(|value| value.as_str().is_none());
            match wrong {
                None => {}
                Some(_) if self.stored => {
                    members.remove(key);
                    changed = true;
                }
                Some(value) => {
                    let error = FieldError::invalid(at.child(key), value.clone(), "must be a string");
                    return Err(Refused::new(error));
                }
            }
        }
        if let Some(metadata) = members.get("metadata") {
            let decoded = self.decode_metadata(metadata, &at.child("metadata"))?;
            if decoded != *metadata {
                members.insert("metadata", decoded);
                changed = true;
            }
        }
        Ok(changed)
    }

    fn drop_nulls_of(
        &mut self,
        members: &mut Map,
        key: &str,
        node: &Node,
        at: &Path<'_>,
    ) -> Result<bool, Refused> {
        let (Some(member), Some(of_member)) = (members.get(key), node.member(key)) else { return Ok(false) };
        let at = at.child(key);
        if member.is_null() && is_dropped(of_member) {
            self.recorder.null_dropped(&at);
            members.remove(key);
            return Ok(true);
        }
        let mut member = member.clone();
        let changed = self
            .with_stages(Stages::DROP_NULLS, |walk| walk.visit(&mut member, None, of_member, false, &at))?;
        if changed {
            members.insert(key, member);
        }
        Ok(changed)
    }

    fn decode_metadata(&mut self, metadata: &Value, at: &Path<'_>) -> Result<Value, Refused> {
        let mut decoded = metadata.clone();
        if self.stored {
            // What is no object stays as it is, for validation to refuse when it is next written.
            let _ = object_meta::decode_stored(&mut decoded);
            return Ok(decoded);
        }
        let prefix = at.to_string();
        let mut decoder =
            if self.recorder.wants_unknown() { Decoder::noting_unknown(&prefix) } else { Decoder::lenient() };
        match object_meta::decode(&mut decoded, &mut decoder) {
            Ok(()) => self.recorder.unknown_metadata(decoder.into_unknown()),
            Err(error) => return Err(Refused::new(FieldError::invalid(at, metadata.clone(), error))),
        }
        Ok(decoded)
    }
}
