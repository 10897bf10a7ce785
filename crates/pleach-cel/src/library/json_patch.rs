//! The JSON patch library, which only mutations have.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault};

/// Paths of JSON patches.
pub(crate) static LIBRARY: Library = Library { name: "jsonpatch", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[Function {
    name: "jsonpatch.escapeKey",
    call: Some(escape_key),
    overloads: &[Overload::new("string_jsonpatch_escapeKey_string", &[T::String], T::String)
        .cost(StaticCost::Traverse)],
}];

/// A key as a part of a path.
fn escape_key<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<CelValue<'v>, Fault> {
    match args {
        [CelValue::String(key)] => {
            call.work.build(2 * key.as_str().len())?;
            Ok(CelValue::string(key.as_str().replace('~', "~0").replace('/', "~1")))
        }
        _ => call.no_such_overload(args),
    }
}
