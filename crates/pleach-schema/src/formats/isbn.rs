//! `isbn`, `isbn10`, `isbn13`: book numbers with their check digit.

use super::Format;

/// The text without white space and dashes, when what is left is short enough to matter.
fn digits(text: &str) -> Option<Vec<u8>> {
    let kept: Vec<u8> =
        text.bytes().filter(|b| !matches!(b, b'-' | b' ' | b'\t' | b'\n' | 0x0c | b'\r')).take(14).collect();
    matches!(kept.len(), 10 | 13).then_some(kept)
}

fn is_isbn10(text: &str) -> bool {
    let Some(all) = digits(text).filter(|all| all.len() == 10) else { return false };
    let mut sum = 0;
    for (i, b) in all.iter().enumerate() {
        let digit = match b {
            b'0'..=b'9' => usize::from(b - b'0'),
            b'X' if i == 9 => 10,
            _ => return false,
        };
        sum += (i + 1) * digit;
    }
    sum % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let Some(all) = digits(text).filter(|all| all.len() == 13) else { return false };
    let mut sum = 0;
    for (i, b) in all.iter().enumerate() {
        if !b.is_ascii_digit() {
            return false;
        }
        sum += usize::from(b - b'0') * if i % 2 == 0 { 1 } else { 3 };
    }
    sum % 10 == 0
}

/// Either form.
pub(super) struct Isbn;

impl Format for Isbn {
    fn name(&self) -> &'static str {
        "isbn"
    }
    fn doc(&self) -> &'static str {
        "an ISBN of ten or thirteen digits, spaces and dashes ignored"
    }
    fn accepts(&self, text: &str) -> bool {
        is_isbn10(text) || is_isbn13(text)
    }
}

/// Ten digits.
pub(super) struct Isbn10;

impl Format for Isbn10 {
    fn name(&self) -> &'static str {
        "isbn10"
    }
    fn doc(&self) -> &'static str {
        "an ISBN of ten digits, spaces and dashes ignored"
    }
    fn accepts(&self, text: &str) -> bool {
        is_isbn10(text)
    }
}

/// Thirteen digits.
pub(super) struct Isbn13;

impl Format for Isbn13 {
    fn name(&self) -> &'static str {
        "isbn13"
    }
    fn doc(&self) -> &'static str {
        "an ISBN of thirteen digits, spaces and dashes ignored"
    }
    fn accepts(&self, text: &str) -> bool {
        is_isbn13(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn book_numbers() {
        check(&Isbn10, &["+0321751043", "+0-321-75104 3", "+080442957X", "-0321751044", "-X804429570", "-"]);
        check(&Isbn13, &["+978-0321751041", "+9780321751041", "-0321751043", "-978-0321751042", "-"]);
        check(&Isbn, &["+0321751043", "+9780321751041", "-978032175104", "-12345678901234"]);
    }
}
