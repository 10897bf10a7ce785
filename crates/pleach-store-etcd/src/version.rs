//! Versions of etcd, and their features.

/// The version of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

/// One that can do everything.
impl Default for Version {
    fn default() -> Self {
        Self(3, u32::MAX, 0)
    }
}

impl Version {
    /// A version such as `3.6.2`; what cannot be read counts as zero.
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        Self(next(), next(), next())
    }

    /// Whether a progress notification says that all events up to its revision were sent. Older versions may send
    /// it before them (etcd's issues 15220 and 17507).
    pub(crate) fn has_reliable_progress(self) -> bool {
        (Self(3, 4, 31)..Self(3, 5, 0)).contains(&self) || self >= Self(3, 5, 13)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn progress_is_trusted_from_the_versions_that_mended_it() {
        for (text, want) in [
            ("3.3.25", false),
            ("3.4.23", false),
            ("3.4.30", false),
            ("3.4.31", true),
            ("3.5.0", false),
            ("3.5.12", false),
            ("3.5.13", true),
            ("3.6.0-rc.1", true),
            ("4.0.0", true),
            ("", false),
        ] {
            assert_eq!(Version::parse(text).has_reliable_progress(), want, "{text}");
        }
        assert!(Version::default().has_reliable_progress());
    }
}
