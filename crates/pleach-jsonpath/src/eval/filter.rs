//! Filters and comparisons.

use super::{Eval, Item, Result};
use crate::error::FindError;
use crate::format::go_value;
use crate::node::{Filter, Step};
use pleach_json::Value;
use pleach_work::charge;
use std::cmp::Ordering;

impl<'a> Eval<'a> {
    /// The elements of each array that pass.
    pub(super) fn filter(&mut self, input: &[Item<'a>], filter: &'a Filter) -> Result<Vec<Item<'a>>> {
        let mut passed = Vec::new();
        for item in input {
            let Some(Value::Array(array)) = item else {
                let message = format!("{} is not array or slice and cannot be filtered", go_value(*item));
                return Err(FindError::new(message));
            };
            charge(8 * array.len() as u64);
            for element in array {
                if self.passes(element, filter)? {
                    passed.push(Some(element));
                }
            }
        }
        Ok(passed)
    }

    fn passes(&mut self, element: &'a Value, filter: &'a Filter) -> Result<bool> {
        let Some((operator, right)) = &filter.comparison else {
            return self.exists(element, &filter.left);
        };
        let left = self.steps(vec![Some(element)], &filter.left)?;
        let Some(left) = one(&left)? else { return Ok(false) };
        let right = self.steps(vec![Some(element)], right)?;
        let Some(right) = one(&right)? else { return Ok(false) };
        match operator.as_str() {
            "==" => equal(left, right),
            "!=" => equal(left, right).map(|equal| !equal),
            "<" => less(left, right),
            ">" => less_or_equal(left, right).map(|less| !less),
            "<=" => less_or_equal(left, right),
            ">=" => less(left, right).map(|less| !less),
            _ => Err(FindError::new(format!("unrecognized filter operator {operator}"))),
        }
    }

    /// Whether a path exists. Upstream only looks at the result of the failing step: a missing name
    /// gives nothing, any other error (such as an index out of bounds) gives its input, and so counts
    /// as found.
    fn exists(&mut self, element: &'a Value, steps: &'a [Step]) -> Result<bool> {
        let mut current = vec![Some(element)];
        for step in steps {
            match self.steps(current.clone(), std::slice::from_ref(step)) {
                Ok(next) => current = next,
                Err(error) if self.exhausted() => return Err(error),
                Err(_) => {
                    let gives_nothing = match step {
                        Step::Field(_) => true,
                        Step::Identifier(word) => word == "end",
                        _ => false,
                    };
                    return Ok(!gives_nothing && !current.is_empty());
                }
            }
        }
        Ok(!current.is_empty())
    }
}

/// The single value of a side, if it has one.
fn one<'a>(side: &[Item<'a>]) -> Result<Option<Item<'a>>> {
    match side {
        [] => Ok(None),
        [item] => Ok(Some(*item)),
        _ => Err(FindError::new("can only compare one element at a time")),
    }
}

/// Compares two values of one kind; other pairs are an error. `None` is for NaN.
fn order(left: Item<'_>, right: Item<'_>) -> Result<Option<Ordering>> {
    let basic =
        |item: Item<'_>| !matches!(item, None | Some(Value::Null | Value::Array(_) | Value::Object(_)));
    if !basic(left) || !basic(right) {
        return Err(FindError::new("invalid type for comparison"));
    }
    match (left, right) {
        (Some(Value::Bool(left)), Some(Value::Bool(right))) => Ok(Some(left.cmp(right))),
        (Some(Value::Int(left)), Some(Value::Int(right))) => Ok(Some(left.cmp(right))),
        (Some(Value::Float(left)), Some(Value::Float(right))) => Ok(left.partial_cmp(right)),
        (Some(Value::String(left)), Some(Value::String(right))) => Ok(Some(left.cmp(right))),
        _ => Err(FindError::new("incompatible types for comparison")),
    }
}

fn equal(left: Item<'_>, right: Item<'_>) -> Result<bool> {
    order(left, right).map(|order| order == Some(Ordering::Equal))
}

fn less(left: Item<'_>, right: Item<'_>) -> Result<bool> {
    let order = order(left, right)?;
    if matches!(left, Some(Value::Bool(_))) {
        return Err(FindError::new("invalid type for comparison"));
    }
    Ok(order == Some(Ordering::Less))
}

fn less_or_equal(left: Item<'_>, right: Item<'_>) -> Result<bool> {
    Ok(less(left, right)? || equal(left, right)?)
}
