//! `hexcolor` and `rgbcolor`.

use super::Format;

/// `#fff`, `ffffff`.
pub(super) struct HexColor;

impl Format for HexColor {
    fn name(&self) -> &'static str {
        "hexcolor"
    }
    fn doc(&self) -> &'static str {
        "a colour of three or six hexadecimal digits, `#` optional"
    }
    fn accepts(&self, text: &str) -> bool {
        let digits = text.strip_prefix('#').unwrap_or(text);
        matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
    }
}

/// `rgb(1, 2, 3)`.
pub(super) struct RgbColor;

/// 0 to 255 without leading zeros.
fn is_channel(text: &str) -> bool {
    let digits = text.trim_matches([' ', '\t', '\n', '\x0c', '\r']);
    matches!(digits.len(), 1..=3)
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'))
        && digits.parse::<u8>().is_ok()
}

impl Format for RgbColor {
    fn name(&self) -> &'static str {
        "rgbcolor"
    }
    fn doc(&self) -> &'static str {
        "a colour as `rgb(r, g, b)`, each from 0 to 255"
    }
    fn accepts(&self, text: &str) -> bool {
        let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else {
            return false;
        };
        inner.split(',').count() == 3 && inner.split(',').all(is_channel)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn colours() {
        check(&HexColor, &["+#FFFFFF", "+#fff", "+abc123", "-#ggg", "-#ff", "-", "-##fff"]);
        check(
            &RgbColor,
            &[
                "+rgb(100,100,100)",
                "+rgb(0, 0, 0)",
                "+rgb( 255 ,0,0 )",
                "-rgb(256,1,1)",
                "-rgb(1,1)",
                "-rgb(01,1,1)",
                "-red",
                "-",
            ],
        );
    }
}
