//! Key order: go-yaml's natural sort.
//!
//! `a2` sorts before `a10`, and at the first difference letters sort last. The order is not total for
//! numbers beyond 64 bits, so the standard sort, which may panic then, is not used.

use pleach_json::{Str, Value};

/// The places of the members, in natural order.
pub(super) fn natural(members: &[(Str, Value)]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..members.len() as u32).collect();
    let mut scratch = places.clone();
    merge_sort(members, &mut places, &mut scratch);
    places
}

fn merge_sort(of: &[(Str, Value)], places: &mut [u32], scratch: &mut [u32]) {
    let len = places.len();
    if len < 2 {
        return;
    }
    let key = |place: u32| of[place as usize].0.as_str();
    let middle = len / 2;
    merge_sort(of, &mut places[..middle], &mut scratch[..middle]);
    merge_sort(of, &mut places[middle..], &mut scratch[middle..]);
    if !less(key(places[middle]), key(places[middle - 1])) {
        return;
    }
    scratch.copy_from_slice(places);
    let (left, right) = scratch.split_at(middle);
    let (mut l, mut r) = (0, 0);
    for slot in places {
        if l < left.len() && (r == right.len() || !less(key(right[r]), key(left[l]))) {
            *slot = left[l];
            l += 1;
        } else {
            *slot = right[r];
            r += 1;
        }
    }
}

/// Whether `a` sorts before `b`.
fn less(a: &str, b: &str) -> bool {
    // Skip equal bytes.
    let shared = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    if shared == a.len() || shared == b.len() {
        return a.len() < b.len();
    }
    let shared = (0..=shared).rev().find(|&i| a.is_char_boundary(i)).unwrap_or(0);
    let (common, a_rest, b_rest) = (&a[..shared], &a[shared..], &b[shared..]);
    let (Some(x), Some(y)) = (a_rest.chars().next(), b_rest.chars().next()) else { return a.len() < b.len() };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => x < y,
        (false, false) => {
            let (left, right) = (number(common, a_rest, x, y), number(common, b_rest, x, y));
            if left == right { x < y } else { left < right }
        }
        (_, y_is_letter) => y_is_letter,
    }
}

/// The number at the first difference of two keys, and how many digits it has there. If it may have
/// lost its first digits to the common part, a leading zero still counts as a digit.
fn number(common: &str, rest: &str, x: char, y: char) -> (i64, usize) {
    let mut number = 0_i64;
    if x == '0' || y == '0' {
        let digits = common.chars().rev().take_while(|&c| is_digit(c));
        number = i64::from(digits.into_iter().any(|c| c != '0'));
    }
    let mut digits = 0;
    for c in rest.chars().take_while(|&c| is_digit(c)) {
        number = number.wrapping_mul(10).wrapping_add(i64::from(u32::from(c)) - i64::from(u32::from('0')));
        digits += 1;
    }
    (number, digits)
}

/// Decimal digits of any script.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && c.is_numeric() && !c.is_alphabetic())
}
