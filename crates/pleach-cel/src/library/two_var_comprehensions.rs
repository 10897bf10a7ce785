//! Two-variable comprehensions: the function behind `transformMapEntry`.

use crate::function::{Call, Function, Library, Overload};
use crate::types::T;
use crate::value::{CelValue, Fault};

/// The parts of `transformMapEntry`.
pub(super) static LIBRARY: Library = Library { name: "two-variable comprehensions", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[Function {
    name: "cel.@mapInsert",
    call: Some(map_insert),
    overloads: &[
        Overload::new(
            "@mapInsert_map_key_value",
            &[T::Map(&T::Param("K"), &T::Param("V")), T::Param("K"), T::Param("V")],
            T::Map(&T::Param("K"), &T::Param("V")),
        )
        .since(32),
        Overload::new(
            "@mapInsert_map_map",
            &[T::Map(&T::Param("K"), &T::Param("V")), T::Map(&T::Param("K"), &T::Param("V"))],
            T::Map(&T::Param("K"), &T::Param("V")),
        )
        .since(32),
    ],
}];

fn map_insert<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<CelValue<'v>, Fault> {
    match args {
        [CelValue::Map(map), CelValue::Map(entries)] => {
            let mut map = map.clone();
            entries.charge_walk(call.work)?;
            for (key, value) in entries {
                map = map.insert(call.work, &key, call.work.read(value)?)?;
            }
            Ok(CelValue::Map(map))
        }
        [CelValue::Map(map), key, value] => {
            map.clone().insert(call.work, key, value.clone()).map(CelValue::Map)
        }
        _ => call.no_such_overload(args),
    }
}
