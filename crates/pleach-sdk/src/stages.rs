//! The stages of a write for one object, with the errors of this crate. The stages are `pleach_pipeline`'s.

use pleach_json::Value;
use pleach_pipeline::decode::Decoded;
use pleach_pipeline::offline;
pub(crate) use pleach_pipeline::offline::prepare_for_create;
use pleach_pipeline::resource::Resource;
use pleach_schema::Record;

use crate::{Error, Verdict};

/// Decodes and settles an object.
pub(crate) fn decode(resource: Resource<'_>, value: Value) -> Result<Decoded, Error> {
    offline::decode(resource, value, Record::Everything).map_err(Error::BadRequest)
}

/// Validates a new object, which is decoded.
pub(crate) fn create(resource: Resource<'_>, object: &mut Value) -> Verdict {
    let verdict = offline::create(resource, object);
    Verdict::new(&resource.kind.own_subject(object), &verdict.errors, verdict.warnings)
}

/// Validates an object that replaces `old`. Both are decoded.
pub(crate) fn update(resource: Resource<'_>, object: &mut Value, old: &mut Value) -> Verdict {
    let verdict = offline::update(resource, object, old);
    Verdict::new(&resource.kind.own_subject(object), &verdict.errors, verdict.warnings)
}
