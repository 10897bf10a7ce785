//! Estimated cost and result size of calls.
//!
//! One match over [`StaticCost`]; the kind of each function is in its declaration.

use crate::ast::Literal;
use crate::cost::CostEstimate;
use crate::cost::estimate::{Estimator, ITEMS, Path};
use crate::cost::size::Size;
use crate::function::{Overload, StaticCost};
use crate::types::{T, Type};
use pleach_json::Str;

/// Per byte of a string that is traversed.
const TRAVERSAL: f64 = 0.1;
/// Per byte of a regular expression.
const PATTERN: f64 = 0.25;
/// The longest pattern of a format, and the longest name.
const LONGEST_FORMAT: u64 = 128;
const LONGEST_FORMAT_NAME: u64 = 64;
/// A new list.
const NEW_LIST: u64 = 10;
/// A check with the authorizer.
const AUTHZ_CHECK: u64 = 350_000;

/// An argument of a call.
pub(super) struct Argument<'a> {
    pub(super) size: Size,
    pub(super) path: Path,
    pub(super) ty: &'a Type,
    pub(super) literal: Option<&'a Literal>,
}

/// A call's cost with its arguments', and its result's size if known.
pub(super) struct CallCost {
    pub(super) cost: CostEstimate,
    pub(super) result: Option<Size>,
}

impl Estimator<'_> {
    /// The cost of one overload.
    pub(super) fn call_cost(
        &self,
        overload: &Overload,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
        arg_costs: &[CostEstimate],
    ) -> CallCost {
        let sum = arg_costs.iter().fold(CostEstimate::default(), |sum, cost| sum.add(*cost));
        let Some(subject) = target.or(args.first()) else { return unit(sum) };
        // The first argument after the subject.
        let other = if target.is_some() { args.first() } else { args.get(1) };
        let size = subject.size;
        let other_size = other.map_or(Size::fixed(0), |other| other.size);
        let (own, result) = match overload.cost {
            StaticCost::Unit => return unit(sum),
            StaticCost::Logical => {
                let [left, right] = arg_costs else { return unit(sum) };
                let cost = CostEstimate { min: left.min, max: left.add(*right).max };
                return CallCost { cost, result: None };
            }
            StaticCost::Conditional => {
                let ([condition, yes, no], [_, left, right]) = (arg_costs, args) else { return unit(sum) };
                let cost = condition.add(yes.union(*no));
                return CallCost { cost, result: Some(left.size.union(right.size)) };
            }
            StaticCost::Compare => (compare(overload, subject, other_size), None),
            StaticCost::Concat => {
                let size = size.add(other_size);
                (size.times(TRAVERSAL), Some(size))
            }
            StaticCost::ConcatList => (CostEstimate::fixed(1), Some(size.add(other_size))),
            StaticCost::InList => (other_size.times(1.0), None),
            StaticCost::Affix => (other_size.times(TRAVERSAL), None),
            StaticCost::Contains => (size.times(TRAVERSAL).multiply(other_size.times(TRAVERSAL)), None),
            // The global form of `matches` is charged like any call.
            StaticCost::Matches if target.is_none() => return unit(sum),
            StaticCost::Matches => {
                let text = size.add(Size::fixed(1)).times(TRAVERSAL);
                let result = (overload.result != T::Bool).then_some(Size::at_most(size.max));
                (text.multiply(other_size.times(PATTERN)), result)
            }
            StaticCost::Traverse => (size.times(TRAVERSAL), traversed(overload, size)),
            StaticCost::TraverseTwice => {
                let result = match overload.id {
                    "ip_is_canonical" => None,
                    id if id.starts_with("string_split") => Some(split(size, args)),
                    _ => Some(replaced(size, args)),
                };
                (size.times(2.0 * TRAVERSAL), result)
            }
            StaticCost::Join => {
                let separators = Size { min: size.min.saturating_sub(1), max: size.max.saturating_sub(1) };
                let joined = size.multiply(self.element_size(subject)).add(other_size.multiply(separators));
                (joined.times(TRAVERSAL), Some(joined))
            }
            StaticCost::ListScan => {
                let text = match subject.ty {
                    Type::List(element) => matches!(**element, Type::String | Type::Bytes),
                    _ => false,
                };
                let mut element = CostEstimate::fixed(1);
                if text {
                    element = element.add(self.element_size(subject).times(TRAVERSAL));
                }
                (size.times_cost(element), None)
            }
            StaticCost::StringScan => (size.times(TRAVERSAL), None),
            StaticCost::Validate => {
                let pattern = Size::fixed(LONGEST_FORMAT).times(PATTERN);
                (other_size.times(TRAVERSAL).multiply(pattern), None)
            }
            StaticCost::ContainsIp | StaticCost::ContainsCidr => {
                let address = Size { min: 4, max: 16 };
                let mut own = address.add(address).times(TRAVERSAL);
                if overload.cost == StaticCost::ContainsCidr {
                    own = own.add(address.times(TRAVERSAL)).add(CostEstimate::fixed(1));
                }
                if overload.params.last() == Some(&T::String) {
                    own = own.add(other_size.times(TRAVERSAL));
                }
                (own, None)
            }
            StaticCost::AuthzCheck => (CostEstimate::fixed(AUTHZ_CHECK), None),
            StaticCost::Sets => {
                let rounds = if overload.id == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
                (size.multiply(other_size).times(rounds).add(CostEstimate::fixed(1)), None)
            }
            StaticCost::Index => (CostEstimate::fixed(1), None),
            StaticCost::Same => (CostEstimate::fixed(1), Some(size)),
            // The result of these two is taken to have as many elements as there are comparisons.
            StaticCost::Sort => {
                let text = matches!(overload.params.last(), Some(T::List(T::String | T::Bytes)));
                let factor = if text { 2.0 + TRAVERSAL } else { 2.0 };
                (new_list(size.multiply(size).times(factor)), Some(size.multiply(size)))
            }
            StaticCost::Distinct => (new_list(size.multiply(size).times(2.0)), Some(size.multiply(size))),
            StaticCost::Reverse => (new_list(size.times(1.0)), Some(size)),
            StaticCost::Slice => {
                let (start, end) = (constant(args.first()), constant(args.get(1)));
                // An end before the start is an unbounded length.
                let between = start.zip(end).map(|(start, end)| end.wrapping_sub(start));
                let result = Size::fixed(between.unwrap_or(size.max));
                (new_list(result.times(1.0)), Some(result))
            }
            StaticCost::Flatten => {
                let levels = if overload.params.len() == 2 { constant(args.first()) } else { Some(1) };
                let copied =
                    levels.map_or(Size::fixed(u64::MAX), |levels| size.multiply(Size::fixed(levels)));
                (new_list(copied.times(1.0)), Some(size))
            }
            StaticCost::Range => {
                let result = constant(args.first()).map_or(Size::fixed(u64::MAX), Size::fixed);
                (new_list(result.times(1.0)), Some(result))
            }
        };
        CallCost { cost: own.add(sum), result }
    }

    /// The size of the elements of a list, as far as the schema tells.
    fn element_size(&self, list: &Argument<'_>) -> Size {
        if list.path.is_empty() {
            return Size::UNKNOWN;
        }
        let mut path = list.path.clone();
        path.push(Str::new_static(ITEMS));
        self.declared_size(&path).unwrap_or(Size::UNKNOWN)
    }
}

fn unit(arguments: CostEstimate) -> CallCost {
    CallCost { cost: CostEstimate::fixed(1).add(arguments), result: None }
}

fn new_list(elements: CostEstimate) -> CostEstimate {
    CostEstimate::fixed(NEW_LIST + 1).add(elements)
}

/// `==`, `!=` and the ordering of strings and bytes.
fn compare(overload: &Overload, left: &Argument<'_>, right: Size) -> CostEstimate {
    let equality = matches!(overload.id, "equals" | "not_equals");
    match left.ty {
        Type::Opaque(name, _) if equality && matches!(name.as_str(), "net.IP" | "net.CIDR") => {
            return CostEstimate::fixed(1);
        }
        Type::Object(object) if equality => match object.name.as_str() {
            "kubernetes.Quantity" | "kubernetes.Semver" => return CostEstimate::fixed(1),
            // The size of the right operand counts, even if the left one is shorter.
            "kubernetes.URL" => return Size { min: 1, max: right.max }.times(TRAVERSAL),
            "kubernetes.NamedFormat" => return Size { min: 1, max: LONGEST_FORMAT_NAME }.times(TRAVERSAL),
            _ => {}
        },
        _ => {}
    }
    let max = left.size.max.min(right.max);
    Size { min: u64::from(max > 0), max }.times(TRAVERSAL)
}

/// The size of a result that is made by traversing something of `size` once.
fn traversed(overload: &Overload, size: Size) -> Option<Size> {
    match overload.id {
        // The arguments of a format are unbounded.
        "string_format" => None,
        // A code point takes up to four bytes.
        "string_to_bytes" => Some(Size { min: size.min, max: size.max.wrapping_mul(4) }),
        "bytes_to_string" => Some(Size { min: size.min / 4, max: size.max }),
        // All characters escaped, plus quotes.
        "strings_quote" => {
            Some(Size { min: size.min.wrapping_add(2), max: size.max.wrapping_mul(2).wrapping_add(2) })
        }
        _ if matches!(overload.result, T::String) || overload.id == "string_to_url" => Some(size),
        _ => None,
    }
}

/// At worst every character is an element.
fn split(size: Size, args: &[Argument<'_>]) -> Size {
    Size::at_most(match args.get(1).map(|limit| limit.literal) {
        Some(Some(Literal::Int(limit))) => *limit as u64,
        _ => size.max,
    })
}

/// The size after `replace(from, to)`: the longest if the shortest parts are replaced with the
/// longest text, and the other way round.
fn replaced(size: Size, args: &[Argument<'_>]) -> Size {
    let [from, to, ..] = args else { return Size::UNKNOWN };
    let (from, to) = (from.size, to.size);
    let replacements = |size: u64, part: u64| (size as f64 / part as f64).ceil() as u64;
    let longest = if from.min == 0 {
        // An empty text is found around every character.
        size.max.saturating_add(1).saturating_mul(to.max).saturating_add(size.max)
    } else if to.max <= from.min {
        size.max
    } else {
        replacements(size.max, from.min).saturating_mul(to.max)
    };
    let shortest = if from.max == 0 {
        size.min.saturating_add(1).saturating_mul(to.min).saturating_add(size.min)
    } else if from.max <= to.min {
        size.min
    } else {
        replacements(size.min, from.max).saturating_mul(to.min)
    };
    Size { min: shortest, max: longest }
}

/// The number written as an argument; a negative one counts as zero.
fn constant(arg: Option<&Argument<'_>>) -> Option<u64> {
    match arg?.literal? {
        Literal::Int(value) => Some((*value).max(0) as u64),
        _ => None,
    }
}
