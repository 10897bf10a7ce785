//! Evaluation of a parsed template.
//!
//! A step maps a list of values to a list of values. Where upstream's order is that of Go's map
//! iteration, ours is that of sorted keys.

mod filter;

use crate::error::FindError;
use crate::format::type_name;
use crate::node::{Part, Slice, Step};
use pleach_json::{Value, grow_stack};
use pleach_work::{Constant, charge};

type Result<T> = std::result::Result<T, FindError>;

/// An intermediate value. `None` is Go's invalid `reflect.Value`, not JSON's null: a root object that
/// is null, and the body of an empty `range`.
pub(crate) type Item<'a> = Option<&'a Value>;

/// The maximum number of values per evaluation: bounds templates that multiply.
const MAX_ITEMS: usize = 2_000_000;

/// The bytes of a string, which upstream iterates like elements.
static BYTES: Constant<Vec<Value>> = Constant::new(|| (0..256).map(Value::Int).collect());

pub(crate) struct Eval<'a> {
    parts: &'a [Part],
    allow_missing_keys: bool,
    touched: usize,
    /// `range` and `end` in the current part, and open ranges.
    begin: usize,
    end: usize,
    open: usize,
    /// The part with the last `end`.
    last_end: Option<usize>,
}

impl<'a> Eval<'a> {
    pub(crate) fn new(parts: &'a [Part], allow_missing_keys: bool) -> Self {
        Self { parts, allow_missing_keys, touched: 0, begin: 0, end: 0, open: 0, last_end: None }
    }

    /// The results of each part.
    pub(crate) fn run(&mut self, data: &'a Value) -> Result<Vec<Vec<Item<'a>>>> {
        let mut results = Vec::new();
        self.parts_from(0, present(data), &mut results)?;
        Ok(results)
    }

    fn parts_from(&mut self, first: usize, data: Item<'a>, results: &mut Vec<Vec<Item<'a>>>) -> Result<()> {
        let mut at = first;
        while at < self.parts.len() {
            let found = match &self.parts[at] {
                Part::Text(text) => vec![Some(text)],
                Part::Action(steps) => self.steps(vec![data], steps)?,
            };
            if self.end > 0 && self.end <= self.open {
                self.end -= 1;
                self.last_end = Some(at);
                return Ok(());
            }
            if self.begin == 0 {
                results.push(found);
                at += 1;
                continue;
            }
            self.begin -= 1;
            self.open += 1;
            if found.is_empty() {
                // Evaluated once to find its end.
                grow_stack(|| self.parts_from(at + 1, None, &mut Vec::new()))?;
            }
            for item in found {
                let item = item.and_then(present);
                grow_stack(|| self.parts_from(at + 1, item, results))?;
            }
            self.open -= 1;
            // After the end, or directly after the start if there is none.
            at = self.last_end.filter(|&end| end > at).unwrap_or(at) + 1;
        }
        Ok(())
    }

    pub(crate) fn steps(&mut self, input: Vec<Item<'a>>, steps: &'a [Step]) -> Result<Vec<Item<'a>>> {
        let mut current = input;
        for step in steps {
            current = self.step(&current, step)?;
            self.touched += current.len();
            self.check_budget()?;
        }
        Ok(current)
    }

    fn step(&mut self, input: &[Item<'a>], step: &'a Step) -> Result<Vec<Item<'a>>> {
        charge(1 + input.len() as u64);
        match step {
            Step::Field(name) => self.field(input, name),
            Step::Wildcard => {
                let mut found = Vec::new();
                for item in input {
                    found.extend(children(*item));
                    self.check_results(found.len())?;
                }
                Ok(found)
            }
            Step::Recursive => {
                let mut found = Vec::new();
                self.descend(input, &mut found)?;
                Ok(found)
            }
            Step::Slice(slice) => {
                let mut found = Vec::new();
                for item in input {
                    elements(*item, *slice, &mut found)?;
                    self.check_results(found.len())?;
                }
                Ok(found)
            }
            Step::Union(members) => {
                let mut found = Vec::new();
                for member in members {
                    found.extend(self.steps(input.to_vec(), member)?);
                }
                Ok(found)
            }
            Step::Filter(filter) => self.filter(input, filter),
            Step::Text(text) => Ok(vec![Some(text)]),
            Step::Literal(value) => Ok(vec![Some(value); input.len()]),
            Step::Identifier(word) => match word.as_str() {
                "range" => {
                    self.begin += 1;
                    Ok(input.to_vec())
                }
                "end" if self.open > 0 => {
                    self.end += 1;
                    Ok(input.to_vec())
                }
                "end" => Err(FindError::new("not in range, nothing to end")),
                word => Err(FindError::new(format!("unrecognized identifier {word}"))),
            },
        }
    }

    fn field(&self, input: &[Item<'a>], name: &str) -> Result<Vec<Item<'a>>> {
        let found: Vec<Item<'a>> =
            input.iter().filter_map(|item| item.and_then(|value| value.get(name))).map(Some).collect();
        if found.is_empty() && !input.is_empty() && !self.allow_missing_keys {
            return Err(FindError::new(format!("{name} is not found")));
        }
        Ok(found)
    }

    /// All containers, outermost first.
    fn descend(&mut self, input: &[Item<'a>], found: &mut Vec<Item<'a>>) -> Result<()> {
        for item in input {
            // A string has no children.
            if let Some(Value::String(text)) = item {
                if !text.is_empty() {
                    found.push(*item);
                }
                continue;
            }
            let below: Vec<Item<'a>> = children(*item).collect();
            charge(4 + below.len() as u64);
            if !below.is_empty() {
                found.push(*item);
                grow_stack(|| self.descend(&below, found))?;
            }
        }
        self.touched += input.len();
        self.check_budget()
    }

    /// Whether there would be too many results.
    fn check_results(&mut self, more: usize) -> Result<()> {
        if self.touched + more <= MAX_ITEMS {
            return Ok(());
        }
        self.touched += more;
        Err(too_many())
    }

    fn exhausted(&self) -> bool {
        self.touched > MAX_ITEMS
    }

    fn check_budget(&self) -> Result<()> {
        if self.exhausted() {
            return Err(too_many());
        }
        Ok(())
    }
}

fn too_many() -> FindError {
    FindError::new("the expression gives too many results")
}

/// A root object that is null is no value upstream.
fn present(value: &Value) -> Item<'_> {
    (!value.is_null()).then_some(value)
}

/// The elements, members or bytes of a value.
fn children<'a>(item: Item<'a>) -> Box<dyn Iterator<Item = Item<'a>> + 'a> {
    match item {
        Some(Value::Array(array)) => Box::new(array.iter().map(Some)),
        Some(Value::Object(map)) => Box::new(map.values().map(Some)),
        Some(Value::String(text)) => Box::new(text.bytes().map(|byte| Some(&BYTES[usize::from(byte)]))),
        _ => Box::new(std::iter::empty()),
    }
}

/// Adds the elements of a slice.
fn elements<'a>(item: Item<'a>, slice: Slice, found: &mut Vec<Item<'a>>) -> Result<()> {
    let array = match item {
        Some(Value::Array(array)) => array,
        Some(Value::Null) => return Ok(()),
        other => return Err(FindError::new(format!("{} is not array or slice", type_name(other)))),
    };
    let length = array.len() as i64;
    let mut start = slice.start.unwrap_or(0);
    if start < 0 {
        start = start.saturating_add(length);
    }
    let mut end = slice.end.unwrap_or(length);
    if end < 0 || (end == 0 && slice.single) {
        end = end.saturating_add(length);
    }
    if start == end {
        return Ok(());
    }
    let out_of_bounds = |index: i64| {
        Err(FindError::new(format!("array index out of bounds: index {index}, length {length}")))
    };
    if start >= length || start < 0 {
        return out_of_bounds(start);
    }
    if end > length || end < 0 {
        return out_of_bounds(end.saturating_sub(1));
    }
    if start > end {
        let message = format!("starting index {start} is greater than ending index {end}");
        return Err(FindError::new(message));
    }
    let step = match slice.step {
        None => 1,
        Some(step) if step > 0 => step as usize,
        Some(_) => return Err(FindError::new("step must be > 0")),
    };
    found.extend(array[start as usize..end as usize].iter().step_by(step).map(Some));
    Ok(())
}
