//! Runtime cost of calls: the estimator's rules with actual sizes.
//!
//! The kind of charge is in the function's declaration ([`StaticCost`]). Odd: Kubernetes' own charges
//! depend on the function's name, CEL's on the overload. A call of a CEL function whose overload was
//! not resolved statically costs one.

use crate::function::{Overload, StaticCost};
use crate::value::{CelValue, Fault, Opaque, code_points};
use crate::work::Work;
use pleach_json::grow_stack;

/// How a call is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charge {
    Unit,
    Fixed(u64),
    /// A tenth of the first argument.
    Tenth,
    /// A fifth of the first argument.
    Fifth,
    /// A fifth of the result.
    FifthOfResult,
    /// A tenth of the smaller operand.
    Compare,
    /// A tenth of both operands.
    Concat,
    /// The size of the second argument.
    SecondSize,
    /// A tenth of the first times a tenth of the second.
    Product,
    /// A tenth of the text times a quarter of the pattern.
    Pattern,
    /// One per element, a tenth of the bytes of strings.
    Traversal,
    /// A tenth of the text times the format's.
    Validate,
    /// An address in a block; `parse` if it is given as a string.
    ContainsIp {
        parse: bool,
    },
    /// A block in a block, likewise.
    ContainsCidr {
        parse: bool,
    },
    /// A new list as long as the result.
    NewList,
    /// A new list, and the first argument for every level.
    Flatten,
    /// A new list, and every pair of the argument at this position compared.
    SelfCompare(usize),
    /// Every pair of two lists compared this often.
    Pairs(u64),
}

/// Functions that are charged by name, whatever the overload.
const BY_NAME: [&str; 26] = [
    "isSorted",
    "sum",
    "max",
    "min",
    "indexOf",
    "lastIndexOf",
    "url",
    "lowerAscii",
    "upperAscii",
    "substring",
    "trim",
    "replace",
    "split",
    "join",
    "find",
    "findAll",
    "cidr",
    "isIP",
    "isCIDR",
    "ip",
    "ip.isCanonical",
    "quantity",
    "isQuantity",
    "semver",
    "isSemver",
    "validate",
];

impl Charge {
    /// The charge for a call of `function` that resolved to `overloads`.
    pub(super) fn of(function: &str, overloads: &[&'static Overload]) -> Self {
        match overloads {
            [only] => Self::of_overload(function, only),
            [first, ..] if BY_NAME.contains(&function) => Self::of_overload(function, first),
            _ => Self::Unit,
        }
    }

    fn of_overload(function: &str, overload: &Overload) -> Self {
        let takes_text = overload.id.ends_with("_string");
        match overload.cost {
            StaticCost::Compare => Self::Compare,
            StaticCost::Concat => Self::Concat,
            StaticCost::InList => Self::SecondSize,
            StaticCost::Affix | StaticCost::Traverse => Self::Tenth,
            StaticCost::TraverseTwice => Self::Fifth,
            StaticCost::Join => Self::FifthOfResult,
            StaticCost::Contains => Self::Product,
            // Odd: only the form `text.matches(pattern)` is charged for its sizes.
            StaticCost::Matches if overload.id == "matches" => Self::Unit,
            StaticCost::Matches => Self::Pattern,
            StaticCost::ListScan | StaticCost::StringScan => Self::Traversal,
            StaticCost::Validate => Self::Validate,
            StaticCost::ContainsIp => Self::ContainsIp { parse: takes_text },
            StaticCost::ContainsCidr => Self::ContainsCidr { parse: takes_text },
            StaticCost::AuthzCheck => Self::Fixed(350_000),
            StaticCost::Slice | StaticCost::Range | StaticCost::Reverse => Self::NewList,
            StaticCost::Flatten => Self::Flatten,
            StaticCost::Sort if function == "@sortByAssociatedKeys" => Self::SelfCompare(1),
            StaticCost::Sort | StaticCost::Distinct => Self::SelfCompare(0),
            StaticCost::Sets if overload.id == "list_sets_equivalent_list" => Self::Pairs(2),
            StaticCost::Sets => Self::Pairs(1),
            StaticCost::Unit
            | StaticCost::Logical
            | StaticCost::Conditional
            | StaticCost::ConcatList
            | StaticCost::Same
            | StaticCost::Index => Self::Unit,
        }
    }

    /// The cost of a call. Null stands for an argument or a result that is an error.
    pub(super) fn cost(
        self,
        work: &Work<'_>,
        args: &[CelValue<'_>],
        result: &CelValue<'_>,
    ) -> Result<u64, Fault> {
        let size = |index: usize| args.get(index).map_or(1, CelValue::size);
        Ok(match self {
            Self::Unit => 1,
            Self::Fixed(cost) => cost,
            Self::Tenth => tenth(size(0)),
            Self::Fifth => fifth(size(0)),
            Self::FifthOfResult => fifth(result.size()),
            Self::Compare => compare(&args[0], &args[1]),
            Self::Concat => tenth(size(0) + size(1)),
            Self::SecondSize => size(1),
            Self::Product => tenth(size(0)) * tenth(size(1)),
            Self::Pattern => tenth(size(0) + 1) * size(1).div_ceil(4),
            Self::Traversal => args.first().map_or(Ok(0), |value| traversal(work, value))?,
            Self::Validate => match args.first() {
                Some(CelValue::Opaque(value)) if let Opaque::Format(format) = &**value => {
                    tenth(size(1) + 1) * format.pattern_cost
                }
                _ => 1,
            },
            Self::ContainsIp { parse } => tenth(2 * size(0)) + if parse { tenth(size(1)) } else { 0 },
            Self::ContainsCidr { parse } => {
                tenth(2 * size(0)) + tenth(size(0)) + 1 + if parse { tenth(size(1)) } else { 0 }
            }
            Self::NewList => new_list(result.size() as f64),
            Self::Flatten => {
                let depth = match args.get(1) {
                    Some(CelValue::Int(depth)) => *depth as f64,
                    _ => 1.0,
                };
                new_list((size(0) as f64 * depth).max(0.0))
            }
            Self::SelfCompare(index) => {
                let first = match args.get(index) {
                    Some(CelValue::List(list)) => list.get(0),
                    _ => None,
                };
                let text = matches!(first, Some(Ok(CelValue::String(_) | CelValue::Bytes(_))));
                let pairs = size(index).saturating_mul(size(index));
                new_list(pairs as f64 * if text { 2.1 } else { 2.0 })
            }
            Self::Pairs(factor) => 1 + size(0).saturating_mul(size(1)).saturating_mul(factor),
        })
    }
}

impl Charge {
    /// Odd: sort keys are checked when a call is charged, even if the argument is an error and there is
    /// no list. The API server's evaluation then ends in an internal error, which is not absorbed.
    pub(super) fn check(self, args: &[CelValue<'_>], failed: bool) -> Result<(), Fault> {
        let Self::SelfCompare(index) = self else { return Ok(()) };
        let (given, missing) = match args.get(index) {
            // Null stands for an error.
            Some(CelValue::Null) if failed => ("*types.Err", "Add"),
            Some(CelValue::List(_)) | None => return Ok(()),
            Some(
                value @ (CelValue::Int(_)
                | CelValue::Uint(_)
                | CelValue::Double(_)
                | CelValue::String(_)
                | CelValue::Bytes(_)
                | CelValue::Timestamp(_)
                | CelValue::Duration(_)),
            ) => (value.go_type(), "Contains"),
            Some(value) => (value.go_type(), "Add"),
        };
        Err(Fault::Internal(
            format!(
                "internal error: interface conversion: {given} is not traits.Lister: missing method {missing}"
            )
            .into(),
        ))
    }
}

/// A tenth of the smaller operand.
pub(super) fn compare(left: &CelValue<'_>, right: &CelValue<'_>) -> u64 {
    match (left, right) {
        // The usual case: neither has a size.
        (CelValue::Int(_) | CelValue::Bool(_) | CelValue::Double(_), _) => tenth(right.size().min(1)),
        (CelValue::String(a), CelValue::String(b)) => compare_texts(a.as_str(), b.as_str()),
        (CelValue::String(text), other) | (other, CelValue::String(text)) => {
            tenth(code_points_up_to(text.as_str(), other.size()))
        }
        _ => tenth(left.size().min(right.size())),
    }
}

/// The same for two strings.
#[inline]
pub(super) fn compare_texts(left: &str, right: &str) -> u64 {
    // Ten bytes are at most ten code points: no need to count.
    match left.len().min(right.len()) {
        0 => 0,
        1..=10 => 1,
        _ => {
            let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
            tenth(code_points_up_to(long, code_points(short)))
        }
    }
}

/// How many code points a text has, counted up to `most`.
fn code_points_up_to(text: &str, most: u64) -> u64 {
    let bytes = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(4);
    match text.get(..text.floor_char_boundary(bytes)) {
        Some(start) if start.len() < text.len() => code_points(start).min(most),
        _ => code_points(text).min(most),
    }
}

/// A tenth of a string.
#[inline]
pub(super) fn text_tenth(text: &str) -> u64 {
    tenth(code_points(text))
}

/// The same for `==`, where opaque values on the left cost one.
pub(super) fn equals(left: &CelValue<'_>, right: &CelValue<'_>) -> u64 {
    match left {
        CelValue::Opaque(opaque) if **opaque != Opaque::Empty => 1,
        _ => compare(left, right),
    }
}

/// Rounded up. The API server multiplies floats; below 2^53 that comes to the same.
fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

fn fifth(size: u64) -> u64 {
    size.div_ceil(5)
}

fn new_list(copied: f64) -> u64 {
    (copied as u64).saturating_add(11)
}

/// Odd: bytes count here, not code points, and the tenth is rounded down.
fn traversal(work: &Work<'_>, value: &CelValue<'_>) -> Result<u64, Fault> {
    Ok(match value {
        CelValue::String(text) => (text.as_str().len() as f64 * 0.1) as u64,
        CelValue::Bytes(bytes) => (bytes.len() as f64 * 0.1) as u64,
        CelValue::List(list) => {
            let mut total = 0u64;
            grow_stack(|| {
                for item in work.items(list) {
                    total = total.saturating_add(part_of_traversal(work, item)?);
                }
                Ok::<_, Fault>(())
            })?;
            total
        }
        CelValue::Map(map) => {
            let mut total = 0u64;
            grow_stack(|| {
                map.charge_walk(work)?;
                for (key, value) in map {
                    work.charge(1)?;
                    total = total.saturating_add(traversal(work, &key)?);
                    total = total.saturating_add(part_of_traversal(work, work.read(value))?);
                }
                Ok::<_, Fault>(())
            })?;
            total
        }
        _ => 1,
    })
}

/// An element that has no value counts one.
fn part_of_traversal(work: &Work<'_>, part: Result<CelValue<'_>, Fault>) -> Result<u64, Fault> {
    match part {
        Ok(value) => traversal(work, &value),
        Err(fault) if fault.is_error() => Ok(1),
        Err(fault) => Err(fault),
    }
}
