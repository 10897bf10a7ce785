//! Parts of timestamps and durations.

use crate::function::{Function, Library, Overload};
use crate::types::T;

/// Parts of timestamps and durations.
pub(super) static LIBRARY: Library = Library { name: "time", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "getDate",
        overloads: &[
            Overload::member("timestamp_to_day_of_month_1_based", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_month_1_based_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getDayOfMonth",
        overloads: &[
            Overload::member("timestamp_to_day_of_month", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_month_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getDayOfWeek",
        overloads: &[
            Overload::member("timestamp_to_day_of_week", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_week_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getDayOfYear",
        overloads: &[
            Overload::member("timestamp_to_day_of_year", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_day_of_year_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getFullYear",
        overloads: &[
            Overload::member("timestamp_to_year", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_year_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getHours",
        overloads: &[
            Overload::member("timestamp_to_hours", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_hours_with_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_hours", &[T::Duration], T::Int),
        ],
    },
    Function {
        name: "getMilliseconds",
        overloads: &[
            Overload::member("timestamp_to_milliseconds", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_milliseconds_with_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_milliseconds", &[T::Duration], T::Int),
        ],
    },
    Function {
        name: "getMinutes",
        overloads: &[
            Overload::member("timestamp_to_minutes", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_minutes_with_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_minutes", &[T::Duration], T::Int),
        ],
    },
    Function {
        name: "getMonth",
        overloads: &[
            Overload::member("timestamp_to_month", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_month_with_tz", &[T::Timestamp, T::String], T::Int),
        ],
    },
    Function {
        name: "getSeconds",
        overloads: &[
            Overload::member("timestamp_to_seconds", &[T::Timestamp], T::Int),
            Overload::member("timestamp_to_seconds_tz", &[T::Timestamp, T::String], T::Int),
            Overload::member("duration_to_seconds", &[T::Duration], T::Int),
        ],
    },
];
