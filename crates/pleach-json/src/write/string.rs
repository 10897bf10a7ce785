//! Strings, with Go's escapes.

use std::slice;

use super::room::Room;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The escape of each byte: [`PLAIN`], [`OTHER`], or what stands behind the backslash.
const ESCAPES: [u8; 256] = {
    let mut table = [PLAIN; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = OTHER;
        byte += 1;
    }
    table[b'<' as usize] = OTHER;
    table[b'>' as usize] = OTHER;
    table[b'&' as usize] = OTHER;
    // Starts U+2028 and U+2029 among others.
    table[0xE2] = OTHER;
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\t' as usize] = b't';
    table[0x08] = b'b';
    table[0x0C] = b'f';
    table
};
/// The byte stands for itself.
const PLAIN: u8 = 0;
/// The byte may need a long escape.
const OTHER: u8 = 1;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Whether any of eight bytes may be special. Never misses one, and takes all beyond ASCII for
/// special.
#[inline]
const fn has_special(word: u64) -> bool {
    const fn every(byte: u8) -> u64 {
        LOW_BITS * byte as u64
    }
    // Of ASCII bytes, whose sums carry nothing over: the high bit of every byte that is not zero.
    const fn not_zero(word: u64) -> u64 {
        word.wrapping_add(every(0x7F))
    }
    let not_control = word.wrapping_add(every(0x80 - 0x20));
    // `"` and `&` differ in one bit, and so do `<` and `>`.
    let not_quote_or_amp = not_zero((word & !every(b'"' ^ b'&')) ^ every(b'"' & b'&'));
    let not_less_or_greater = not_zero((word & !every(b'<' ^ b'>')) ^ every(b'<' & b'>'));
    let not_backslash = not_zero(word ^ every(b'\\'));
    let plain = not_control & not_quote_or_amp & not_less_or_greater & not_backslash & !word;
    plain & HIGH_BITS != HIGH_BITS
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
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    let mut room = Room::new(out, 0);
    room.string(text);
    room.close();
}

/// How much more room than its length a string takes: quotes, and up to seven bytes behind the end.
const SLACK: usize = 10;
/// How much room eight bytes take at most, each escaped, and the closing quote.
const EIGHT_ESCAPED: usize = 8 * 6 + 1;

impl Room<'_> {
    /// Writes a string, quotes included.
    ///
    /// Copies eight bytes at a time while none of them needs an escape, which is nearly always.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "called twice in the innermost loop; measured")]
    pub(super) fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        match write_plain(bytes, self.ahead(bytes.len() + SLACK)) {
            Ok(written) => self.take(written),
            Err(plain) => self.escaped(bytes, plain),
        }
    }

    /// Writes the rest of a string, of which `plain` bytes stand behind the quote, byte by byte
    /// where there is something to escape, and the closing quote.
    #[cold]
    fn escaped(&mut self, bytes: &[u8], plain: usize) {
        self.take(plain + 1);
        let mut rest = &bytes[plain..];
        loop {
            let room = &mut self.ahead(EIGHT_ESCAPED)[..EIGHT_ESCAPED];
            if let Some((word, after)) = rest.split_first_chunk::<8>()
                && !has_special(u64::from_le_bytes(*word))
            {
                room[..8].copy_from_slice(word);
                rest = after;
                self.take(8);
                continue;
            }
            let mut written = 0;
            for _ in 0..8 {
                let Some((&byte, after)) = rest.split_first() else {
                    room[written] = b'"';
                    return self.take(written + 1);
                };
                rest = after;
                match ESCAPES[usize::from(byte)] {
                    PLAIN => {
                        room[written] = byte;
                        written += 1;
                    }
                    OTHER => {
                        let escape = long_escape(byte, &mut rest);
                        let escape = escape.as_ref().map_or(slice::from_ref(&byte), |escape| escape);
                        room[written..written + escape.len()].copy_from_slice(escape);
                        written += escape.len();
                    }
                    letter => {
                        room[written] = b'\\';
                        room[written + 1] = letter;
                        written += 2;
                    }
                }
            }
            self.take(written);
        }
    }
}

/// The escape for a byte that has no short one, if it needs one; of a longer character the rest is
/// taken too.
fn long_escape(byte: u8, rest: &mut &[u8]) -> Option<[u8; 6]> {
    let hex = |nibble: u8| HEX[usize::from(nibble & 0xF)];
    if byte != 0xE2 {
        return Some([b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte)]);
    }
    let [0x80, last @ (0xA8 | 0xA9), after @ ..] = *rest else { return None };
    *rest = after;
    Some([b'\\', b'u', b'2', b'0', b'2', hex(*last)])
}

/// Writes a string that needs no escapes into `room`, which is longer than it by [`SLACK`], and
/// returns how much it took. If it needs escapes after all: how much of it has been written behind
/// the quote.
#[inline(always)]
#[expect(clippy::inline_always, reason = "part of the innermost loop; measured")]
fn write_plain(bytes: &[u8], room: &mut [u8]) -> Result<usize, usize> {
    let (quote, room) = room.split_first_mut().expect("room for the quote");
    *quote = b'"';
    let Some(last) = bytes.last_chunk::<8>() else {
        let Some(space) = room.first_chunk_mut::<8>() else { return Err(0) };
        if !bytes.is_empty() {
            let word = short_word(bytes);
            // The zeros would look like control characters.
            if has_special(word | (LOW_BITS * 0x20) << (8 * bytes.len())) {
                return Err(0);
            }
            *space = word.to_le_bytes();
        }
        space[bytes.len() & 7] = b'"';
        return Ok(bytes.len() + 2);
    };
    let (words, tail) = bytes.as_chunks::<8>();
    for (i, (word, space)) in words.iter().zip(room.as_chunks_mut::<8>().0).enumerate() {
        if has_special(u64::from_le_bytes(*word)) {
            return Err(i * 8);
        }
        *space = *word;
    }
    let Some(room) = room.get_mut(..=bytes.len()) else { return Err(0) };
    let Some((end, room)) = room.split_last_mut() else { return Err(0) };
    if !tail.is_empty() {
        // The last eight bytes, some of them again.
        if has_special(u64::from_le_bytes(*last)) {
            return Err(words.len() * 8);
        }
        if let Some(space) = room.last_chunk_mut::<8>() {
            *space = *last;
        }
    }
    *end = b'"';
    Ok(bytes.len() + 2)
}
