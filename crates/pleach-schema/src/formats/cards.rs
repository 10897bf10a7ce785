//! `creditcard` and `ssn`.

use super::Format;

/// A card number of a known brand with a right check digit; whatever is no digit is ignored.
pub(super) struct CreditCard;

/// Whether the digits start and end as one of the brands issues them.
fn is_of_a_brand(digits: &[u8]) -> bool {
    let prefix = |n: usize| digits[..n].iter().fold(0u32, |all, b| all * 10 + u32::from(b - b'0'));
    match digits.len() {
        13 => prefix(1) == 4,
        14 => (300..=305).contains(&prefix(3)) || matches!(prefix(2), 36 | 38),
        15 => matches!(prefix(2), 34 | 37) || matches!(prefix(4), 2131 | 1800),
        16 => {
            prefix(1) == 4
                || (51..=55).contains(&prefix(2))
                || (2221..=2720).contains(&prefix(4))
                || prefix(4) == 6011
                || prefix(2) == 65
                || prefix(2) == 35
                || matches!(prefix(2), 62 | 67)
        }
        _ => false,
    }
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, b)| {
            let digit = u32::from(b - b'0');
            match (i % 2, digit * 2) {
                (0, _) => digit,
                (_, doubled) if doubled > 9 => doubled - 9,
                (_, doubled) => doubled,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

impl Format for CreditCard {
    fn name(&self) -> &'static str {
        "creditcard"
    }
    fn doc(&self) -> &'static str {
        "a credit card number of a known brand with a right check digit"
    }
    fn accepts(&self, text: &str) -> bool {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).take(17).collect();
        is_of_a_brand(&digits) && luhn(&digits)
    }
}

/// A social security number of the United States.
pub(super) struct Ssn;

impl Format for Ssn {
    fn name(&self) -> &'static str {
        "ssn"
    }
    fn doc(&self) -> &'static str {
        "a US social security number, 3-2-4 digits"
    }
    fn accepts(&self, text: &str) -> bool {
        text.len() == 11
            && text.bytes().enumerate().all(|(i, b)| match i {
                3 | 6 => matches!(b, b'-' | b' '),
                _ => b.is_ascii_digit(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn card_and_social_security_numbers() {
        check(
            &CreditCard,
            &[
                "+4111-1111-1111-1111",
                "+4111 1111 1111 1111",
                "+5500 0000 0000 0004",
                "+340000000000009",
                "+30000000000004",
                "-4111-1111-1111-1112",
                "-1",
                "-",
                "-41111111111111111111",
            ],
        );
        check(&Ssn, &["+111-11-1111", "+111 11 1111", "-111-11-111", "-111111111", "-x", "-"]);
    }
}
