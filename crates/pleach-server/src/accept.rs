//! Content negotiation: the `Accept` header as the API server reads it.
//!
//! Clauses are tried by quality and then in order. A clause may ask for a transformation
//! (`as=Table;v=v1;g=meta.k8s.io`); one that the endpoint cannot do is passed over in favour of the
//! next, and when none is left the answer is 406.

use pleach_go::strconv::parse_bool;

use crate::cbor;

/// How a response is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
    /// `application/cbor`
    Cbor,
}

impl Encoding {
    /// The media type of a response.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
            Self::Cbor => cbor::MEDIA_TYPE,
        }
    }
}

/// The transformation of the objects in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Transform {
    /// Themselves.
    #[default]
    None,
    /// `meta.k8s.io` Table, in `v1` or `v1beta1`.
    Table(MetaVersion),
    /// PartialObjectMetadata
    Partial(MetaVersion),
    /// PartialObjectMetadataList
    PartialList(MetaVersion),
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    /// `v1`
    V1,
    /// `v1beta1`
    V1beta1,
}

impl MetaVersion {
    /// `meta.k8s.io/v1`
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The negotiated form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// How it is written.
    pub encoding: Encoding,
    /// The transformation.
    pub transform: Transform,
    /// `pretty` was requested in the clause.
    pub pretty: bool,
}

/// The forms that an endpoint supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// One object or a list, with tables and partial metadata.
    Objects,
    /// A stream of events.
    Watch,
    /// A document of its own: no transformations.
    Plain,
    /// An error: no transformations either.
    Error,
}

/// One clause of the header.
#[derive(Debug, Default)]
pub struct Clause<'a> {
    /// The type before the slash.
    pub main: &'a str,
    /// The type after it.
    pub sub: &'a str,
    /// All parameters but `q`.
    pub parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl Clause<'_> {
    /// A parameter's value; empty if absent.
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// The encoding it matches, `*/*` being JSON.
    fn encoding(&self) -> Option<Encoding> {
        match (self.main, self.sub) {
            ("*", "*") | ("application", "json" | "*") => Some(Encoding::Json),
            ("application", "yaml") => Some(Encoding::Yaml),
            ("application", "vnd.kubernetes.protobuf") => Some(Encoding::Protobuf),
            ("application", "cbor" | "cbor-seq") => Some(Encoding::Cbor),
            _ => None,
        }
    }
}

/// Encodings that are not offered everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Protobuf; of kinds that have no messages, only the metadata is offered in it.
    pub protobuf: bool,
    /// CBOR, behind its feature gate.
    pub cbor: bool,
}

/// Splits a header into clauses, best first.
pub fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut found: Vec<Clause<'_>> = Vec::new();
    for clause in header.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let Some(media) = parts.next().filter(|m| !m.is_empty()) else { continue };
        let (main, sub) = match media.split_once('/') {
            Some((main, sub)) => (main.trim(), sub.trim()),
            // A lone star is taken for everything; any other word matches nothing.
            None if media == "*" => ("*", "*"),
            None => (media, ""),
        };
        let mut clause = Clause { main, sub, parameters: Vec::new(), quality: 1.0 };
        for parameter in parts {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (key, value) = (key.trim(), value.trim());
            if key == "q" {
                clause.quality = value.parse().unwrap_or(1.0);
            } else {
                clause.parameters.push((key, value));
            }
        }
        found.push(clause);
    }
    found.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    found
}

/// Agrees on a representation; `None` is a 406.
pub fn negotiate(header: Option<&str>, endpoint: Endpoint) -> Option<Accepted> {
    negotiate_object(header, endpoint, Offer { protobuf: true, cbor: false })
}

/// The encoding of an error; JSON if nothing in the header is acceptable.
pub fn negotiate_error(header: Option<&str>, cbor: bool) -> Accepted {
    let json = Accepted { encoding: Encoding::Json, transform: Transform::None, pretty: false };
    negotiate_object(header, Endpoint::Error, Offer { protobuf: true, cbor }).unwrap_or(json)
}

/// Whether a path of a built-in kind is found at all with this `Accept` header: the types must be spelled out, and what is
/// asked of them does not matter yet.
pub fn is_produced(header: Option<&str>, cbor: bool) -> bool {
    let header = header.map(str::trim).unwrap_or_default();
    header.is_empty()
        || clauses(header).iter().any(|clause| {
            let encoding = clause.encoding().filter(|encoding| cbor || *encoding != Encoding::Cbor);
            (clause.main, clause.sub) == ("*", "*") || (clause.sub != "*" && encoding.is_some())
        })
}

/// Agrees on a representation of objects.
pub fn negotiate_object(header: Option<&str>, endpoint: Endpoint, offer: Offer) -> Option<Accepted> {
    let default = Accepted { encoding: Encoding::Json, transform: Transform::None, pretty: false };
    let header = header.map(str::trim).unwrap_or_default();
    // The usual header needs no parsing.
    if matches!(header, "" | "application/json" | "application/json, */*" | "*/*") {
        return Some(default);
    }
    clauses(header).iter().find_map(|clause| {
        let encoding = clause.encoding()?;
        // Only watches send streams; they support both forms, and no other endpoint does.
        let is_sequence = clause.sub == "cbor-seq";
        if encoding == Encoding::Cbor && (!offer.cbor || (is_sequence && endpoint != Endpoint::Watch)) {
            return None;
        }
        let stream = clause.parameter("stream");
        // A stream may be requested of any endpoint, and only watches give one; YAML has none.
        let streams = stream == "watch" && endpoint != Endpoint::Plain;
        if !(stream.is_empty() || streams) {
            return None;
        }
        if (streams || endpoint == Endpoint::Watch) && encoding == Encoding::Yaml {
            return None;
        }
        let transform = transform(clause, endpoint)?;
        let is_offered = match transform {
            Transform::None => offer.protobuf,
            Transform::Table(_) => false,
            Transform::Partial(_) | Transform::PartialList(_) => true,
        };
        if encoding == Encoding::Protobuf && !is_offered {
            return None;
        }
        Some(Accepted { encoding, transform, pretty: is_true(clause.parameter("pretty")) })
    })
}

fn transform(clause: &Clause<'_>, endpoint: Endpoint) -> Option<Transform> {
    let (kind, version, group) = (clause.parameter("as"), clause.parameter("v"), clause.parameter("g"));
    if kind.is_empty() && version.is_empty() && group.is_empty() {
        return Some(Transform::None);
    }
    if matches!(endpoint, Endpoint::Plain | Endpoint::Error) || kind.is_empty() {
        return None;
    }
    let version = match (group, version) {
        ("meta.k8s.io", "v1") => MetaVersion::V1,
        ("meta.k8s.io", "v1beta1") => MetaVersion::V1beta1,
        _ => return None,
    };
    match kind {
        "Table" => Some(Transform::Table(version)),
        "PartialObjectMetadata" => Some(Transform::Partial(version)),
        "PartialObjectMetadataList" => Some(Transform::PartialList(version)),
        _ => None,
    }
}

fn is_true(text: &str) -> bool {
    parse_bool(text) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_tried_in_order() {
        use Encoding::{Json, Protobuf, Yaml};
        for (header, want, why) in [
            ("", Some((Json, Transform::None)), "nothing asked"),
            ("*/*", Some((Json, Transform::None)), "anything"),
            ("text/html", None, "nothing that is spoken here"),
            ("text/html, application/yaml", Some((Yaml, Transform::None)), "the next clause"),
            ("application/yaml;q=0.1, application/json", Some((Json, Transform::None)), "quality decides"),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io",
                Some((Json, Transform::Table(MetaVersion::V1))),
                "a table",
            ),
            (
                "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
                Some((Json, Transform::None)),
                "an unknown version is passed over",
            ),
            ("application/json;as=Table;v=v1", None, "no group"),
            (
                "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
                None,
                "no tables in protobuf",
            ),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                Some((Protobuf, Transform::Partial(MetaVersion::V1))),
                "partial metadata in protobuf",
            ),
            ("application/yaml;stream=watch", None, "YAML is no stream"),
            ("application/json;stream=zz", None, "no such stream"),
        ] {
            let found = negotiate(Some(header), Endpoint::Objects).map(|a| (a.encoding, a.transform));
            assert_eq!(found, want, "{why}: {header}");
        }
    }

    #[test]
    fn watches_stream_json() {
        assert!(negotiate(Some("application/json;stream=watch"), Endpoint::Watch).is_some());
        assert!(negotiate(Some("application/yaml"), Endpoint::Watch).is_none());
    }
}
