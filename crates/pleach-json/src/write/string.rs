//! Strings, with Go's escapes.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Bytes that may need an escape. 0xE2 starts U+2028 and U+2029 among others.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    table[0xE2] = true;
    table
};

/// Appends `text` as a JSON string, quotes included.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if SPECIAL[byte as usize] && write_escape(bytes, start, at, out) {
            start = at + if byte == 0xE2 { 3 } else { 1 };
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

/// Writes what was pending and the escape for the byte at `at`, unless it needs none.
#[cold]
fn write_escape(bytes: &[u8], start: usize, at: usize, out: &mut Vec<u8>) -> bool {
    let byte = bytes[at];
    if byte == 0xE2 {
        let (Some(0x80), Some(&last @ (0xA8 | 0xA9))) = (bytes.get(at + 1), bytes.get(at + 2)) else {
            return false;
        };
        out.extend_from_slice(&bytes[start..at]);
        out.extend_from_slice(b"\\u202");
        out.push(HEX[usize::from(last & 0xF)]);
        return true;
    }
    out.extend_from_slice(&bytes[start..at]);
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 0xF)]);
            return true;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
    true
}
