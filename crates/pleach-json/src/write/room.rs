//! Room at the end of a vector: zeroed bytes, so that a write needs neither a check of the capacity nor a new length.

/// A vector with zeros behind the written bytes.
pub(super) struct Room<'o> {
    out: &'o mut Vec<u8>,
    /// The end of the written bytes.
    at: usize,
    /// How much room is made at least when there is too little.
    step: usize,
}

impl<'o> Room<'o> {
    /// Room behind the content of `out`. Ends with [`Room::close`].
    pub(super) fn new(out: &'o mut Vec<u8>, step: usize) -> Self {
        let at = out.len();
        Self { out, at, step }
    }

    /// Takes back the room that was not used.
    pub(super) fn close(self) {
        self.out.truncate(self.at);
    }

    /// At least `n` bytes of room.
    #[inline]
    pub(super) fn ahead(&mut self, n: usize) -> &mut [u8] {
        if self.out.len() - self.at < n {
            self.extend(n);
        }
        &mut self.out[self.at..]
    }

    /// Counts `n` bytes of room as written.
    #[inline]
    pub(super) fn take(&mut self, n: usize) {
        self.at += n;
    }

    #[cold]
    fn extend(&mut self, n: usize) {
        if n <= 32 && self.step == 0 {
            self.out.extend_from_slice(&[0; 32]);
        } else {
            self.out.resize(self.at + n.max(self.step), 0);
        }
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.ahead(1)[0] = byte;
        self.at += 1;
    }

    #[inline]
    pub(super) fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        self.ahead(N)[..N].copy_from_slice(&bytes);
        self.at += N;
    }

    #[inline]
    pub(super) fn slice(&mut self, bytes: &[u8]) {
        self.ahead(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Many spaces.
    pub(super) fn blanks(&mut self, n: usize) {
        self.ahead(n)[..n].fill(b' ');
        self.at += n;
    }

    /// The bytes that a function appends.
    pub(super) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.truncate(self.at);
        write(self.out);
        self.at = self.out.len();
    }
}
