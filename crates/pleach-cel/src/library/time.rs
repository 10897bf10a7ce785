//! Accessors of timestamps and durations.

use crate::function::{Call, Function, Library, Overload};
use crate::types::T;
use crate::value::{CelValue, Civil, Fault};

/// Parts of timestamps and durations.
pub(super) static LIBRARY: Library = Library { name: "time", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "getDate",
        call: Some(get_date),
        overloads: &[
            Overload::member("timestamp_to_day_of_month_1_based", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_month_1_based_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getDayOfMonth",
        call: Some(get_day_of_month),
        overloads: &[
            Overload::member("timestamp_to_day_of_month", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_month_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getDayOfWeek",
        call: Some(get_day_of_week),
        overloads: &[
            Overload::member("timestamp_to_day_of_week", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_week_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getDayOfYear",
        call: Some(get_day_of_year),
        overloads: &[
            Overload::member("timestamp_to_day_of_year", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_year_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getFullYear",
        call: Some(get_full_year),
        overloads: &[
            Overload::member("timestamp_to_year", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_year_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getHours",
        call: Some(get_hours),
        overloads: &[
            Overload::member("timestamp_to_hours", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_hours_with_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_hours", &[T::Duration], T::Int),
        ],
    },
    Function {
        name: "getMilliseconds",
        call: Some(get_milliseconds),
        overloads: &[
            Overload::member("timestamp_to_milliseconds", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_milliseconds_with_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_milliseconds", &[T::Duration], T::Int),
        ],
    },
    Function {
        name: "getMinutes",
        call: Some(get_minutes),
        overloads: &[
            Overload::member("timestamp_to_minutes", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_minutes_with_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_minutes", &[T::Duration], T::Int),
        ],
    },
    Function {
        name: "getMonth",
        call: Some(get_month),
        overloads: &[
            Overload::member("timestamp_to_month", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_month_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getSeconds",
        call: Some(get_seconds),
        overloads: &[
            Overload::member("timestamp_to_seconds", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_seconds_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_seconds", &[T::Duration], T::Int),
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// A part of a timestamp, in the zone that the second argument names.
fn part<'v>(call: &Call<'_>, args: &[CelValue<'v>], part: fn(&Civil) -> i64) -> Outcome<'v> {
    let civil = match args {
        [CelValue::Timestamp(t)] => t.civil_utc(),
        [CelValue::Timestamp(t), CelValue::String(zone)] => {
            t.civil_in(zone.as_str()).map_err(Fault::error)?
        }
        _ => return call.no_such_overload(args),
    };
    Ok(CelValue::Int(part(&civil)))
}

/// The same, or a whole duration in some unit.
fn part_or_length<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    nanos: i64,
    of_timestamp: fn(&Civil) -> i64,
) -> Outcome<'v> {
    match args {
        [CelValue::Duration(d)] => Ok(CelValue::Int(d.0 / nanos)),
        _ => part(call, args, of_timestamp),
    }
}

fn get_full_year<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part(call, args, |c| c.year)
}

fn get_month<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part(call, args, |c| i64::from(c.month) - 1)
}

fn get_date<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part(call, args, |c| i64::from(c.day))
}

fn get_day_of_month<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part(call, args, |c| i64::from(c.day) - 1)
}

fn get_day_of_week<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part(call, args, |c| i64::from(c.weekday))
}

fn get_day_of_year<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part(call, args, |c| i64::from(c.day_of_year) - 1)
}

fn get_hours<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part_or_length(call, args, 3_600_000_000_000, |c| i64::from(c.hour))
}

fn get_minutes<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part_or_length(call, args, 60_000_000_000, |c| i64::from(c.minute))
}

fn get_seconds<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    part_or_length(call, args, 1_000_000_000, |c| i64::from(c.second))
}

fn get_milliseconds<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    if let [CelValue::Timestamp(t), ..] = args {
        // The zone is still looked up: an invalid one is an error.
        part(call, args, |_| 0)?;
        return Ok(CelValue::Int(i64::from(t.nanos / 1_000_000)));
    }
    part_or_length(call, args, 1_000_000, |_| 0)
}
