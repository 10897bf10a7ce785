//! Quantities such as `100Mi` and `250m`.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, Opaque, Quantity};

/// Quantities such as `100Mi` and `250m`.
pub(super) static LIBRARY: Library = Library { name: "quantity", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "add",
        call: Some(add),
        overloads: &[
            Overload::member(
                "quantity_add",
                &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
            Overload::member(
                "quantity_add_int",
                &[T::Message("kubernetes.Quantity"), T::Int],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
        ],
    },
    Function {
        name: "asApproximateFloat",
        call: Some(as_approximate_float),
        overloads: &[
            Overload::member("quantity_get_float", &[T::Message("kubernetes.Quantity")], T::Double).since(28)
        ],
    },
    Function {
        name: "asInteger",
        call: Some(as_integer),
        overloads: &[
            Overload::member("quantity_get_int", &[T::Message("kubernetes.Quantity")], T::Int).since(28)
        ],
    },
    Function {
        name: "compareTo",
        call: Some(compare_to),
        overloads: &[Overload::member(
            "quantity_compare_to",
            &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
            T::Int,
        )
        .since(28)],
    },
    Function {
        name: "isGreaterThan",
        call: Some(is_greater_than),
        overloads: &[Overload::member(
            "quantity_is_greater_than",
            &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
            T::Bool,
        )
        .since(28)],
    },
    Function {
        name: "isInteger",
        call: Some(is_integer),
        overloads: &[
            Overload::member("quantity_is_integer", &[T::Message("kubernetes.Quantity")], T::Bool).since(28)
        ],
    },
    Function {
        name: "isLessThan",
        call: Some(is_less_than),
        overloads: &[Overload::member(
            "quantity_is_less_than",
            &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
            T::Bool,
        )
        .since(28)],
    },
    Function {
        name: "isQuantity",
        call: Some(is_quantity),
        overloads: &[Overload::new("is_quantity_string", &[T::String], T::Bool)
            .since(28)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "quantity",
        call: Some(quantity),
        overloads: &[Overload::new("string_to_quantity", &[T::String], T::Message("kubernetes.Quantity"))
            .since(28)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "sign",
        call: Some(sign),
        overloads: &[Overload::new("quantity_sign", &[T::Message("kubernetes.Quantity")], T::Int).since(28)],
    },
    Function {
        name: "sub",
        call: Some(sub),
        overloads: &[
            Overload::member(
                "quantity_sub",
                &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
            Overload::member(
                "quantity_sub_int",
                &[T::Message("kubernetes.Quantity"), T::Int],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

fn own<'r>(value: &'r CelValue<'_>) -> Option<&'r Quantity> {
    match value {
        CelValue::Opaque(value) => match &**value {
            Opaque::Quantity(quantity) => Some(quantity),
            _ => None,
        },
        _ => None,
    }
}

/// Charges for a look at all digits of some quantities.
fn charge_digits<const N: usize>(call: &Call<'_>, quantities: [&Quantity; N]) -> Result<(), Fault> {
    call.work.charge(quantities.iter().map(|quantity| quantity.digits() as u64 / 4).sum())
}

fn quantity<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => {
            call.work.charge(text.as_str().len() as u64 / 4)?;
            call.work.build(text.as_str().len())?;
            match Quantity::parse(text.as_str()) {
                Ok(quantity) => Ok(CelValue::opaque(Opaque::Quantity(quantity))),
                Err(reason) => Err(Fault::error(reason)),
            }
        }
        _ => call.no_such_overload(args),
    }
}

fn is_quantity<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => {
            call.work.charge(text.as_str().len() as u64 / 4)?;
            Ok(CelValue::Bool(Quantity::parse(text.as_str()).is_ok()))
        }
        _ => call.no_such_overload(args),
    }
}

fn unary<'v>(call: &Call<'_>, args: &[CelValue<'v>], of: fn(&Quantity) -> Outcome<'v>) -> Outcome<'v> {
    match args {
        [value] if let Some(quantity) = own(value) => {
            charge_digits(call, [quantity])?;
            of(quantity)
        }
        _ => call.no_such_overload(args),
    }
}

fn sign<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    unary(call, args, |q| Ok(CelValue::Int(q.sign())))
}

fn is_integer<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    unary(call, args, |q| Ok(CelValue::Bool(q.as_integer().is_some())))
}

fn as_integer<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    unary(call, args, |q| {
        q.as_integer().map(CelValue::Int).ok_or(Fault::fixed("cannot convert value to integer"))
    })
}

fn as_approximate_float<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    unary(call, args, |q| Ok(CelValue::Double(q.as_approximate_float())))
}

fn binary<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    of: fn(&Quantity, &Quantity) -> CelValue<'v>,
) -> Outcome<'v> {
    match args {
        [a, b] if let (Some(a), Some(b)) = (own(a), own(b)) => {
            charge_digits(call, [a, b])?;
            Ok(of(a, b))
        }
        _ => call.no_such_overload(args),
    }
}

fn is_greater_than<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    binary(call, args, |a, b| CelValue::Bool(a > b))
}

fn is_less_than<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    binary(call, args, |a, b| CelValue::Bool(a < b))
}

fn compare_to<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    binary(call, args, |a, b| CelValue::Int(a.cmp(b) as i64))
}

fn combine<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    of: fn(&Quantity, &Quantity) -> Option<Quantity>,
) -> Outcome<'v> {
    let number;
    let (a, b) = match args {
        [a, CelValue::Int(b)] if let Some(a) = own(a) => {
            number = Quantity::from(*b);
            (a, &number)
        }
        [a, b] if let (Some(a), Some(b)) = (own(a), own(b)) => (a, b),
        _ => return call.no_such_overload(args),
    };
    charge_digits(call, [a, b])?;
    match of(a, b) {
        Some(quantity) => {
            charge_digits(call, [&quantity])?;
            call.work.build(quantity.digits())?;
            Ok(CelValue::opaque(Opaque::Quantity(quantity)))
        }
        // The API server would fill its memory with zeros.
        None => Err(Fault::fixed("quantities are too far apart")),
    }
}

fn add<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    combine(call, args, Quantity::checked_add)
}

fn sub<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    combine(call, args, Quantity::checked_sub)
}
