//! Lists of indexes of a Job, such as `1,3-5`.

use pleach_go::strconv::quote;

/// `parseIndexInterval`: the first and the last index of a part of a list.
fn interval(part: &str, completions: i64) -> Result<(i64, i64), String> {
    let ends: Vec<&str> = part.split('-').collect();
    if ends.len() > 2 {
        return Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            quote(part)
        ));
    }
    let number = |text: &str| {
        let number: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {}", quote(text)))?;
        if number < completions { Ok(number) } else { Err(format!("too large index: {}", quote(text))) }
    };
    let first = number(ends[0])?;
    let Some(last) = ends.get(1) else { return Ok((first, first)) };
    let last = number(last)?;
    if first >= last {
        return Err(format!("non-increasing order, previous: {first}, current: {last}"));
    }
    Ok((first, last))
}

/// `validateIndexesFormat`: how many indexes a list has; they rise and are below the number of completions.
pub(super) fn total(list: &str, completions: i64) -> Result<i64, String> {
    let (mut previous, mut total): (Option<i64>, i64) = (None, 0);
    for part in list.split(',').filter(|_| !list.is_empty()) {
        let (first, last) = interval(part, completions)?;
        if let Some(previous) = previous.filter(|previous| *previous >= first) {
            return Err(format!("non-increasing order, previous: {previous}, current: {first}"));
        }
        total += last - first + 1;
        previous = Some(last);
    }
    Ok(total)
}

/// `validateFailedIndexesNotOverlapCompleted`: the first index that two lists have, passing over parts that cannot be read.
pub(super) fn overlap(one: &str, other: &str, completions: i64) -> Option<i64> {
    let parts = |list: &str| -> Vec<(i64, i64)> {
        let parts = list.split(',').filter(|_| !list.is_empty());
        parts.filter_map(|part| interval(part, completions).ok()).collect()
    };
    let (one, other) = (parts(one), parts(other));
    let (mut i, mut j) = (0, 0);
    while let (Some((a, b)), Some((c, d))) = (one.get(i), other.get(j)) {
        if a <= d && c <= b {
            return Some(*a.max(c));
        }
        if a <= c { i += 1 } else { j += 1 }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_rise_and_are_compared() {
        assert_eq!(total("", 3), Ok(0));
        assert_eq!(total("0,2-4", 5), Ok(4));
        assert_eq!(total("2,1", 5), Err("non-increasing order, previous: 2, current: 1".into()));
        assert_eq!(total("5", 5), Err("too large index: \"5\"".into()));
        assert_eq!(total("a", 5), Err("cannot convert string to integer for index: \"a\"".into()));
        assert_eq!(overlap("0,4-6", "1-2,5", 9), Some(5));
        assert_eq!(overlap("0,4", "1-3", 9), None);
    }
}
