//! `byte` and `password`.

use super::Format;

/// Base64 of the standard alphabet.
pub(super) struct Byte;

impl Format for Byte {
    fn name(&self) -> &'static str {
        "byte"
    }
    fn doc(&self) -> &'static str {
        "base64 of the standard alphabet with padding; empty text is refused"
    }
    fn accepts(&self, text: &str) -> bool {
        let padding = text.bytes().rev().take(2).take_while(|&b| b == b'=').count();
        !text.is_empty()
            && text.len().is_multiple_of(4)
            && text.as_bytes()[..text.len() - padding]
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
    }
}

/// A hint to user interfaces.
pub(super) struct Password;

impl Format for Password {
    fn name(&self) -> &'static str {
        "password"
    }
    fn doc(&self) -> &'static str {
        "any text; a hint not to show it"
    }
    fn accepts(&self, _: &str) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn base64() {
        check(
            &Byte,
            &[
                "+dGVzdA==",
                "+AAAA",
                "+AAA=",
                "-",
                "-dGVzdA=",
                "-@@@@",
                "-dGVzdA",
                "-_-8=",
                "-====",
                "-A===",
                "-AA=A",
            ],
        );
        check(&Password, &["+", "+anything"]);
    }
}
