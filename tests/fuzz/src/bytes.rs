//! Input bytes, used up one by one or split into parts.

/// Bytes that are used up one by one; after the last one there are only zeroes.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next byte.
    pub(crate) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next two bytes as a number.
    pub(crate) fn next_u16(&mut self) -> u16 {
        u16::from_le_bytes([self.next(), self.next()])
    }

    /// The next bytes, fewer if there are not so many.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// One of these.
    pub(crate) fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[usize::from(self.next()) % from.len()]
    }
}

/// Separates the parts of an input; no UTF-8 text has it.
pub(crate) const SEPARATOR: u8 = 0xff;

/// The part before the first separator and what follows it.
pub(crate) fn split(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == SEPARATOR) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[]),
    }
}

/// The same for text; input that is not UTF-8 is made so.
pub(crate) fn split_text(data: &[u8]) -> (String, String) {
    let (first, second) = split(data);
    (String::from_utf8_lossy(first).into_owned(), String::from_utf8_lossy(second).into_owned())
}

/// Seeds from texts in which `¦` stands for the separator.
pub(crate) fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    let parts = |text: &&str| text.split('¦').map(str::as_bytes).collect::<Vec<_>>().join(&SEPARATOR);
    texts.iter().map(parts).collect()
}

/// A long seed: something repeated between a beginning and an end, in which `#` is replaced by its number.
pub(crate) fn long(begin: &str, unit: &str, times: usize, end: &str) -> Vec<u8> {
    let middle: String = (0..times).map(|number| unit.replace('#', &number.to_string())).collect();
    seeds(&[&[begin, &middle, end].concat()]).remove(0)
}
