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

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Whether any of eight bytes may be special. Never misses one.
#[inline]
const fn has_special(word: u64) -> bool {
    const fn zero(word: u64) -> u64 {
        word.wrapping_sub(LOW_BITS) & !word
    }
    const fn every(byte: u8) -> u64 {
        LOW_BITS * byte as u64
    }
    let control = word.wrapping_sub(every(0x20)) & !word;
    // `"` and `&` differ in one bit, and so do `<` and `>`.
    let quote_or_amp = zero((word & !every(b'"' ^ b'&')) ^ every(b'"' & b'&'));
    let less_or_greater = zero((word & !every(b'<' ^ b'>')) ^ every(b'<' & b'>'));
    let rest = zero(word ^ every(b'\\')) | zero(word ^ every(0xE2));
    (control | quote_or_amp | less_or_greater | rest) & HIGH_BITS != 0
}

/// Up to seven bytes in one word, the first lowest, and behind the last one zeros. Put together
/// in registers from overlapping loads: a loop over bytes would wait for its own stores.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let shift = 8 * (bytes.len() - 4);
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift;
    }
    let byte = |i: usize| u64::from(bytes[i]) << (8 * i);
    byte(0) | byte(bytes.len() / 2) | byte(bytes.len() - 1)
}

/// Appends `text` as a JSON string, quotes included.
///
/// Copies eight bytes at a time while none of them needs an escape, which is nearly always.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 10);
    out.push(b'"');
    let (words, tail) = text.as_bytes().as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        if has_special(u64::from_le_bytes(*word)) {
            return write_escaped(text.as_bytes(), i * 8, out);
        }
        out.extend_from_slice(word);
    }
    if !tail.is_empty() {
        let word = short_word(tail);
        // The zeros would look like control characters.
        if has_special(word | (LOW_BITS * 0x20) << (8 * tail.len())) {
            return write_escaped(text.as_bytes(), words.len() * 8, out);
        }
        out.extend_from_slice(&word.to_le_bytes());
        out.truncate(out.len() - (8 - tail.len()));
    }
    out.push(b'"');
}

/// The rest of a string from `start` on, byte by byte, and the closing quote.
fn write_escaped(bytes: &[u8], from: usize, out: &mut Vec<u8>) {
    let mut start = from;
    for (at, &byte) in bytes.iter().enumerate().skip(from) {
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
