//! Square brackets: indices, slices, quoted names, unions and filters.

use super::{Action, Result, parse_inside};
use crate::error::ParseError;
use crate::node::{Filter, Slice, Step};

impl Action<'_> {
    /// Reads `[…]` that is not a filter.
    pub(super) fn bracket(&mut self, steps: &mut Vec<Step>) -> Result<()> {
        let start = self.at + 1;
        let end = self.rest().find([']', '\n']).map(|end| self.at + end);
        let Some(end) = end.filter(|&end| self.input.as_bytes()[end] == b']') else {
            return Err(ParseError::new("unterminated array"));
        };
        self.at = end + 1;
        let text = &self.input[start..end];
        if text.contains(',') {
            let members = text.split(',').map(|text| parse_inside(&format!("[{}]", text.trim_matches(' '))));
            steps.push(Step::Union(members.collect::<Result<_>>()?));
            return Ok(());
        }
        let name = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        if let Some(name) = name.filter(|name| !name.contains('\'')) {
            steps.extend(parse_inside(&format!(".{name}"))?);
            return Ok(());
        }
        let text = if text == "*" { ":" } else { text };
        steps.push(Step::Slice(slice(text)?));
        Ok(())
    }

    /// Reads `[?(…)]`.
    pub(super) fn filter(&mut self) -> Result<Step> {
        let start = self.at + 3;
        self.at = start;
        // Only the first quoted text protects a parenthesis.
        let mut quote = None;
        let mut closed = false;
        loop {
            match self.next() {
                None | Some('\n') => return Err(ParseError::new("unterminated filter")),
                Some(c @ ('"' | '\'')) => match quote {
                    None => quote = Some(c),
                    Some(open) if open == c && self.input.as_bytes()[self.at - 2] != b'\\' => closed = true,
                    Some(_) => {}
                },
                Some(')') if quote.is_some() == closed => break,
                Some(_) => {}
            }
        }
        let text = &self.input[start..self.at - 1];
        if self.next() != Some(']') {
            return Err(ParseError::new("unclosed array expect ]"));
        }
        let (left, comparison) = match comparison(text) {
            None => (parse_inside(text)?, None),
            Some((left, operator, right)) => {
                let left = parse_inside(left)?;
                (left, Some((operator.to_owned(), parse_inside(right)?)))
            }
        };
        Ok(Step::Filter(Box::new(Filter { left, comparison })))
    }
}

/// Splits a filter at its first operator, if it has one with something on both sides.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let start = text.find(is_operator).filter(|&start| start > 0)?;
    let end = text[start..].find(|c| !is_operator(c)).map_or(text.len(), |end| start + end);
    // With nothing after it, the operator's last character is the right side.
    let end = if end == text.len() { end - 1 } else { end };
    (end > start).then(|| (&text[..start], &text[start..end], &text[end..]))
}

fn slice(text: &str) -> Result<Slice> {
    let invalid = || ParseError::new(format!("invalid array index {text}"));
    let mut numbers = [None; 3];
    let mut given = 0;
    for (at, number) in text.split(':').enumerate() {
        let digits = number.strip_prefix('-').unwrap_or(number);
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        *numbers.get_mut(at).ok_or_else(invalid)? = Some(number);
        given = at + 1;
    }
    let number = |text: Option<&str>| match text {
        None | Some("") => Ok(None),
        Some(text) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(ParseError::new(format!("array index {text} is not a number"))),
        },
    };
    let (start, end, step) = (number(numbers[0])?, number(numbers[1])?, number(numbers[2])?);
    if given > 1 {
        return Ok(Slice { start, end, single: false, step });
    }
    Ok(Slice { start, end: Some(start.unwrap_or(0).wrapping_add(1)), single: true, step })
}

#[cfg(test)]
mod tests {
    use super::comparison;

    #[test]
    fn filters_are_split_at_the_first_operator() {
        for (why, text, want) in [
            ("the usual", "@.a==1", Some(("@.a", "==", "1"))),
            ("no operator", "@.a", None),
            ("nothing before it", "==1", None),
            ("nothing behind it: it lends a character", "@.a==", Some(("@.a", "=", "="))),
            ("nothing to lend", "@.a=", None),
        ] {
            assert_eq!(comparison(text), want, "{why}");
        }
    }
}
