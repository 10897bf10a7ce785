//! Numbers as Go's encoder prints them.

use std::io::Write;

use super::room::Room;

/// Appends a float: the shortest text that reads back, with an exponent below 1e-6 and from 1e21
/// on. NaN and the infinities, which JSON cannot say, are `null`.
pub fn write_float(float: f64, out: &mut Vec<u8>) {
    let magnitude = float.abs();
    if !float.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        write!(out, "{float}").expect("a vector takes all that is written");
        return;
    }
    let start = out.len();
    write!(out, "{float:e}").expect("a vector takes all that is written");
    if magnitude >= 1.0
        && let Some(e) = out[start..].iter().position(|&byte| byte == b'e')
    {
        out.insert(start + e + 1, b'+');
    }
}

/// The float as [`write_float`] writes it.
pub fn format_float(float: f64) -> String {
    let mut out = Vec::with_capacity(24);
    write_float(float, &mut out);
    String::from_utf8(out).expect("digits are ASCII")
}

/// Appends an integer.
pub fn write_int(int: i64, out: &mut Vec<u8>) {
    let mut room = Room::new(out, 0);
    room.int(int);
    room.close();
}

impl Room<'_> {
    /// Writes an integer.
    pub(super) fn int(&mut self, int: i64) {
        if let digit @ 0..10 = int {
            return self.byte(b'0' + digit as u8);
        }
        let mut buffer = [0; 20];
        let mut at = buffer.len();
        let mut rest = int.unsigned_abs();
        loop {
            at -= 1;
            buffer[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if int < 0 {
            at -= 1;
            buffer[at] = b'-';
        }
        let digits = &buffer[at..];
        self.ahead(digits.len())[..digits.len()].copy_from_slice(digits);
        self.take(digits.len());
    }
}
