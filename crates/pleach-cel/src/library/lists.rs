//! The list functions of Kubernetes.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Duration, Fault, List, compare, equal};
use std::cmp::Ordering;

/// The list functions of Kubernetes.
pub(super) static LIBRARY: Library = Library { name: "lists", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "indexOf",
        call: Some(index_of),
        overloads: &[Overload::member(
            "list_a_index_of_int",
            &[T::List(&T::Param("A")), T::Param("A")],
            T::Int,
        )
        .cost(StaticCost::ListScan)],
    },
    Function {
        name: "isSorted",
        call: Some(is_sorted),
        overloads: &[
            Overload::member("list_int_is_sorted_bool", &[T::List(&T::Int)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_uint_is_sorted_bool", &[T::List(&T::Uint)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_double_is_sorted_bool", &[T::List(&T::Double)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_bool_is_sorted_bool", &[T::List(&T::Bool)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_duration_is_sorted_bool", &[T::List(&T::Duration)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_timestamp_is_sorted_bool", &[T::List(&T::Timestamp)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_string_is_sorted_bool", &[T::List(&T::String)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_bytes_is_sorted_bool", &[T::List(&T::Bytes)], T::Bool)
                .cost(StaticCost::ListScan),
        ],
    },
    Function {
        name: "lastIndexOf",
        call: Some(last_index_of),
        overloads: &[Overload::member(
            "list_a_last_index_of_int",
            &[T::List(&T::Param("A")), T::Param("A")],
            T::Int,
        )
        .cost(StaticCost::ListScan)],
    },
    Function {
        name: "max",
        call: Some(max),
        overloads: &[
            Overload::member("list_int_max_int", &[T::List(&T::Int)], T::Int).cost(StaticCost::ListScan),
            Overload::member("list_uint_max_uint", &[T::List(&T::Uint)], T::Uint).cost(StaticCost::ListScan),
            Overload::member("list_double_max_double", &[T::List(&T::Double)], T::Double)
                .cost(StaticCost::ListScan),
            Overload::member("list_bool_max_bool", &[T::List(&T::Bool)], T::Bool).cost(StaticCost::ListScan),
            Overload::member("list_duration_max_duration", &[T::List(&T::Duration)], T::Duration)
                .cost(StaticCost::ListScan),
            Overload::member("list_timestamp_max_timestamp", &[T::List(&T::Timestamp)], T::Timestamp)
                .cost(StaticCost::ListScan),
            Overload::member("list_string_max_string", &[T::List(&T::String)], T::String)
                .cost(StaticCost::ListScan),
            Overload::member("list_bytes_max_bytes", &[T::List(&T::Bytes)], T::Bytes)
                .cost(StaticCost::ListScan),
        ],
    },
    Function {
        name: "min",
        call: Some(min),
        overloads: &[
            Overload::member("list_int_min_int", &[T::List(&T::Int)], T::Int).cost(StaticCost::ListScan),
            Overload::member("list_uint_min_uint", &[T::List(&T::Uint)], T::Uint).cost(StaticCost::ListScan),
            Overload::member("list_double_min_double", &[T::List(&T::Double)], T::Double)
                .cost(StaticCost::ListScan),
            Overload::member("list_bool_min_bool", &[T::List(&T::Bool)], T::Bool).cost(StaticCost::ListScan),
            Overload::member("list_duration_min_duration", &[T::List(&T::Duration)], T::Duration)
                .cost(StaticCost::ListScan),
            Overload::member("list_timestamp_min_timestamp", &[T::List(&T::Timestamp)], T::Timestamp)
                .cost(StaticCost::ListScan),
            Overload::member("list_string_min_string", &[T::List(&T::String)], T::String)
                .cost(StaticCost::ListScan),
            Overload::member("list_bytes_min_bytes", &[T::List(&T::Bytes)], T::Bytes)
                .cost(StaticCost::ListScan),
        ],
    },
    Function {
        name: "sum",
        call: Some(sum),
        overloads: &[
            Overload::member("list_int_sum_int", &[T::List(&T::Int)], T::Int).cost(StaticCost::ListScan),
            Overload::member("list_uint_sum_uint", &[T::List(&T::Uint)], T::Uint).cost(StaticCost::ListScan),
            Overload::member("list_double_sum_double", &[T::List(&T::Double)], T::Double)
                .cost(StaticCost::ListScan),
            Overload::member("list_duration_sum_duration", &[T::List(&T::Duration)], T::Duration)
                .cost(StaticCost::ListScan),
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

fn position<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    mut indexes: impl Iterator<Item = usize>,
) -> Outcome<'v> {
    let [CelValue::List(list), wanted] = args else { return call.no_such_overload(args) };
    let work = call.work;
    let found = indexes.find_map(|index| {
        match work.read(list.get(index)?).and_then(|item| equal(work, &item, wanted)) {
            Ok(true) => Some(Ok(index as i64)),
            Ok(false) => None,
            Err(fault) => Some(Err(fault)),
        }
    });
    found.unwrap_or(Ok(-1)).map(CelValue::Int)
}

fn length(args: &[CelValue<'_>]) -> usize {
    match args {
        [CelValue::List(list), ..] => list.len(),
        _ => 0,
    }
}

fn index_of<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    position(call, args, 0..length(args))
}

fn last_index_of<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    position(call, args, (0..length(args)).rev())
}

fn the_list<'r, 'v>(call: &Call<'_>, args: &'r [CelValue<'v>]) -> Result<&'r List<'v>, Fault> {
    match args {
        // Odd: a first element that does not fit its schema has no type.
        [CelValue::List(list)] if !matches!(list.get(0), Some(Err(_))) => Ok(list),
        _ => call.no_such_overload(args),
    }
}

fn is_sorted<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let mut previous: Option<CelValue<'v>> = None;
    for item in call.work.items(the_list(call, args)?) {
        let item = item?;
        if let Some(previous) = &previous
            && compare(call.work, previous, &item)? == Ordering::Greater
        {
            return Ok(CelValue::Bool(false));
        }
        previous = Some(item);
    }
    Ok(CelValue::Bool(true))
}

fn sum<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let list = the_list(call, args)?;
    let mut total = match (list.get(0), call.overload) {
        (Some(first), _) => first?,
        // The sum of nothing has the type of the elements that are not there.
        (None, Some("list_double_sum_double")) => CelValue::Double(0.0),
        (None, Some("list_uint_sum_uint")) => CelValue::Uint(0),
        (None, Some("list_duration_sum_duration")) => CelValue::Duration(Duration(0)),
        (None, _) => CelValue::Int(0),
    };
    if !matches!(total, CelValue::Int(_) | CelValue::Uint(_) | CelValue::Double(_) | CelValue::Duration(_)) {
        return call.no_such_overload(args);
    }
    for item in call.work.items(list).skip(1) {
        total = super::operators::add(call, &[total, item?])?;
    }
    Ok(total)
}

fn extreme<'v>(call: &Call<'_>, args: &[CelValue<'v>], wanted: Ordering) -> Outcome<'v> {
    let mut items = call.work.items(the_list(call, args)?);
    let Some(first) = items.next() else {
        return Err(Fault::error(format!("{} called on empty list", call.function)));
    };
    let mut best = first?;
    for item in items {
        let item = item?;
        if compare(call.work, &item, &best)? == wanted {
            best = item;
        }
    }
    Ok(best)
}

fn max<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    extreme(call, args, Ordering::Greater)
}

fn min<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    extreme(call, args, Ordering::Less)
}
