//! String formats, one file per family, all in one slice.
//!
//! A format name is matched with its dashes left out (`date-time` is `datetime`), and an
//! unknown name is not validated. Which names are recognised depends on the type of the schema and, for the
//! newer ones, on the compatibility version of the server. Formats apply to strings only; what a format does
//! to the *type* check is in `compile/types.rs`.
//!
//! A new format is a new entry in [`FORMATS`] and nothing else.

mod bytes;
mod cards;
mod color;
mod email;
mod host;
mod ids;
mod ip;
mod isbn;
mod time;
mod uri;

/// One string format, whole.
pub trait Format: Sync {
    /// The name without dashes.
    fn name(&self) -> &'static str;
    /// The accepted texts, for people.
    fn doc(&self) -> &'static str;
    /// The minor version of Kubernetes from which on it is recognised; 0 for always.
    fn since(&self) -> u32 {
        0
    }
    /// Whether the text has this format.
    fn accepts(&self, text: &str) -> bool;
}

/// Every format of strings, by name.
pub static FORMATS: &[&dyn Format] = &[
    &ids::BsonObjectId,
    &bytes::Byte,
    &ip::Cidr,
    &cards::CreditCard,
    &time::Date,
    &time::DateTime,
    &time::Duration,
    &email::Email,
    &color::HexColor,
    &host::Hostname,
    &ip::Ipv4,
    &ip::Ipv6,
    &isbn::Isbn,
    &isbn::Isbn10,
    &isbn::Isbn13,
    &host::LongName,
    &host::ShortName,
    &ip::Mac,
    &bytes::Password,
    &color::RgbColor,
    &cards::Ssn,
    &uri::Uri,
    &ids::Uuid,
    &ids::Uuid3,
    &ids::Uuid4,
    &ids::Uuid5,
];

/// Which format names are recognised: up to a compatibility version, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compat {
    /// Formats known to Kubernetes 1.`minor`.
    Minor(u32),
    /// All formats, whatever their age.
    All,
}

impl Compat {
    /// The compatibility version of a v1.36 server without flags.
    pub const DEFAULT: Self = Self::Minor(35);

    /// The compatibility version of this process.
    pub fn of_server() -> Self {
        Self::Minor(pleach_cel::compatibility_version())
    }

    fn knows(self, since: u32) -> bool {
        match self {
            Self::Minor(minor) => since <= minor,
            Self::All => true,
        }
    }
}

/// The format of strings that goes by this name, dashes ignored.
pub fn find(name: &str) -> Option<&'static dyn Format> {
    let same = |known: &str| name.bytes().filter(|&b| b != b'-').eq(known.bytes());
    FORMATS.iter().copied().find(|format| same(format.name()))
}

/// Whether a server recognises `format` in a schema of this `type` (empty for none).
pub fn is_recognised(type_name: &str, int_or_string: bool, format: &str, compat: Compat) -> bool {
    let string = || find(format).is_some_and(|known| compat.knows(known.since()));
    if int_or_string {
        return string();
    }
    match type_name {
        "" | "string" => string(),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_dashes_anywhere() {
        for (why, name, want) in [
            ("plain", "uuid", Some("uuid")),
            ("the usual dash", "date-time", Some("datetime")),
            ("any dash", "i-p-v-4", Some("ipv4")),
            ("underscores are other names", "date_time", None),
            ("case counts", "dateTime", None),
            ("nothing is no format", "", None),
            ("prefixes do not count", "uui", None),
        ] {
            assert_eq!(find(name).map(Format::name), want, "{why}");
        }
    }

    #[test]
    fn the_type_and_the_version_decide_what_counts() {
        for (why, type_name, int_or_string, format, compat, want) in [
            ("a string format beside string", "string", false, "date", Compat::DEFAULT, true),
            ("beside nothing", "", false, "date", Compat::DEFAULT, true),
            ("beside integer", "integer", false, "date", Compat::DEFAULT, false),
            ("integers have their own", "integer", false, "int32", Compat::DEFAULT, true),
            ("no unsigned ones", "integer", false, "uint32", Compat::DEFAULT, false),
            ("int-or-string counts as string", "", true, "int32", Compat::DEFAULT, false),
            ("numbers have theirs", "number", false, "double", Compat::DEFAULT, true),
            ("objects have none", "object", false, "date", Compat::DEFAULT, false),
            ("too new", "string", false, "k8s-short-name", Compat::Minor(33), false),
            ("not too new", "string", false, "k8s-short-name", Compat::Minor(34), true),
        ] {
            assert_eq!(is_recognised(type_name, int_or_string, format, compat), want, "{why}");
        }
    }

    /// Checks a format with a list of texts; `+` marks the accepted ones.
    pub(super) fn check(format: &dyn Format, texts: &[&str]) {
        for marked in texts {
            let (want, text) = marked.split_at(1);
            assert_eq!(format.accepts(text), want == "+", "{}: {text:?}", format.name());
        }
    }
}
