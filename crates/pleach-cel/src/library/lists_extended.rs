//! The list functions of cel-go, version 3.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, List, equal, is_comparable, order};
use crate::work::Work;
use pleach_json::grow_stack;
use std::cmp::Ordering;

/// The list functions of cel-go, version 3.
pub(super) static LIBRARY: Library = Library { name: "lists extended", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "@sortByAssociatedKeys",
        call: Some(sort_by_keys),
        overloads: &[
            Overload::member(
                "list_int_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Int)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_uint_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Uint)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_double_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Double)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_bool_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Bool)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Duration_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Duration)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Timestamp_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Timestamp)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_string_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::String)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_bytes_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Bytes)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
        ],
    },
    Function {
        name: "distinct",
        call: Some(distinct),
        overloads: &[Overload::member("list_distinct", &[T::List(&T::Param("T"))], T::List(&T::Param("T")))
            .since(34)
            .cost(StaticCost::Distinct)],
    },
    Function {
        name: "flatten",
        call: Some(flatten),
        overloads: &[
            Overload::member("list_flatten", &[T::List(&T::List(&T::Param("T")))], T::List(&T::Param("T")))
                .since(34)
                .cost(StaticCost::Flatten),
            Overload::member("list_flatten_int", &[T::List(&T::Dyn), T::Int], T::List(&T::Dyn))
                .since(34)
                .cost(StaticCost::Flatten),
        ],
    },
    Function {
        name: "lists.range",
        call: Some(range),
        overloads: &[Overload::new("lists_range", &[T::Int], T::List(&T::Int))
            .since(34)
            .cost(StaticCost::Range)],
    },
    Function {
        name: "reverse",
        call: Some(reverse),
        overloads: &[Overload::member("list_reverse", &[T::List(&T::Param("T"))], T::List(&T::Param("T")))
            .since(34)
            .cost(StaticCost::Reverse)],
    },
    Function {
        name: "slice",
        call: Some(slice),
        overloads: &[Overload::member(
            "list_slice",
            &[T::List(&T::Param("T")), T::Int, T::Int],
            T::List(&T::Param("T")),
        )
        .since(34)
        .cost(StaticCost::Slice)],
    },
    Function {
        name: "sort",
        call: Some(sort),
        overloads: &[
            Overload::member("list_int_sort", &[T::List(&T::Int)], T::List(&T::Int))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_uint_sort", &[T::List(&T::Uint)], T::List(&T::Uint))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_double_sort", &[T::List(&T::Double)], T::List(&T::Double))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_bool_sort", &[T::List(&T::Bool)], T::List(&T::Bool))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Duration_sort",
                &[T::List(&T::Duration)],
                T::List(&T::Duration),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Timestamp_sort",
                &[T::List(&T::Timestamp)],
                T::List(&T::Timestamp),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member("list_string_sort", &[T::List(&T::String)], T::List(&T::String))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_bytes_sort", &[T::List(&T::Bytes)], T::List(&T::Bytes))
                .since(34)
                .cost(StaticCost::Sort),
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// A list longer than this costs more than one evaluation may.
const MAX_RANGE: i64 = 1_000_000;

fn range<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Int(n)] if *n > MAX_RANGE => Err(Fault::CostExceeded),
        [CelValue::Int(n)] => {
            call.work.build_items(usize::try_from(*n).unwrap_or_default())?;
            Ok(CelValue::list((0..*n).map(CelValue::Int).collect()))
        }
        _ => call.no_such_overload(args),
    }
}

fn reverse<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::List(list)] = args else { return call.no_such_overload(args) };
    let mut items = call.work.to_vec(list)?;
    items.reverse();
    Ok(CelValue::list(items))
}

fn slice<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::List(list), CelValue::Int(start), CelValue::Int(end)] = args else {
        return call.no_such_overload(args);
    };
    let fail = |reason: String| Err(Fault::error(format!("cannot slice({start}, {end}), {reason}")));
    if *start < 0 || *end < 0 {
        return fail("negative indexes not supported".to_owned());
    }
    if start > end {
        return fail("start index must be less than or equal to end index".to_owned());
    }
    if *end > list.len() as i64 {
        return fail(format!("list is length {}", list.len()));
    }
    call.work.build_items((end - start) as usize)?;
    let items = (*start as usize..*end as usize).filter_map(|index| list.get(index));
    let items = items.map(|item| call.work.read(item));
    Ok(CelValue::list(items.collect::<Result<_, _>>()?))
}

fn flatten<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (list, depth) = match args {
        [CelValue::List(list)] => (list, 1),
        [CelValue::List(list), CelValue::Int(depth)] => (list, *depth),
        [other] => {
            let given = if let CelValue::Map(_) = other { "map(dyn, dyn)" } else { other.type_name() };
            return Err(Fault::error(format!("no such overload: {given}.flatten()")));
        }
        _ => return call.no_such_overload(args),
    };
    if depth < 0 {
        return Err(Fault::fixed("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(call.work, &mut out, list, depth)?;
    Ok(CelValue::list(out))
}

fn flatten_into<'v>(
    work: &Work<'_>,
    out: &mut Vec<CelValue<'v>>,
    list: &List<'v>,
    depth: i64,
) -> Result<(), Fault> {
    for item in work.items(list) {
        work.look()?;
        match item.unwrap_or_else(CelValue::failed) {
            CelValue::List(inner) if depth > 0 => grow_stack(|| flatten_into(work, out, &inner, depth - 1))?,
            item => {
                work.build_items(1)?;
                out.push(item);
            }
        }
    }
    Ok(())
}

/// The first of equal elements each.
fn distinct<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::List(list)] = args else { return call.no_such_overload(args) };
    let mut unique: Vec<CelValue<'v>> = Vec::new();
    'items: for item in call.work.items(list) {
        let item = item?;
        for known in &unique {
            match equal(call.work, known, &item) {
                Ok(true) => continue 'items,
                Err(fault) if !fault.is_error() => return Err(fault),
                _ => {}
            }
        }
        call.work.build_items(1)?;
        unique.push(item);
    }
    Ok(CelValue::list(unique))
}

fn sort<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::List(list)] = args else {
        return call.unsupported(args);
    };
    let items = call.work.to_vec(list)?;
    sorted(call.work, &items, &items)
}

fn sort_by_keys<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::List(list), CelValue::List(keys)] = args else {
        return call.unsupported(args);
    };
    let (items, keys) = (call.work.to_vec(list)?, call.work.to_vec(keys)?);
    if items.len() != keys.len() {
        let (a, b) = (items.len(), keys.len());
        return Err(Fault::error(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {a} and {b} elements respectively"
        )));
    }
    sorted(call.work, &items, &keys)
}

fn sorted<'v>(work: &Work<'_>, items: &[CelValue<'v>], keys: &[CelValue<'v>]) -> Outcome<'v> {
    let Some(first) = keys.first() else { return Ok(CelValue::list(Vec::new())) };
    if !is_comparable(first) {
        return Err(Fault::fixed("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(Fault::fixed("list elements must have the same type"));
    }
    // Sorting cannot be broken off, so it is charged before: a key is compared with a few others.
    let rounds = 2 + 2 * u64::from((items.len() as u64 + 1).ilog2());
    for key in keys {
        work.charge(rounds * (1 + key.as_str().map_or(0, str::len) as u64 / 64))?;
    }
    work.build_items(2 * items.len())?;
    let mut places: Vec<usize> = (0..items.len()).collect();
    places.sort_by(|a, b| total_order(&keys[*a], &keys[*b]));
    Ok(CelValue::list(places.into_iter().map(|at| items[at].clone()).collect()))
}

/// The order of keys of the same type. What is not a number comes last: sorting needs an order of all.
fn total_order(left: &CelValue<'_>, right: &CelValue<'_>) -> Ordering {
    let is_nan = |value: &CelValue<'_>| matches!(value, CelValue::Double(d) if d.is_nan());
    order(left, right).unwrap_or_else(|_| is_nan(left).cmp(&is_nan(right)))
}
