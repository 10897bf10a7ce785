//! Validation of `caBundle`: PEM blocks with certificates.
//!
//! Only the structure is validated: PEM blocks that parse as certificates. Signatures and dates are checked when the
//! webhook is called.

use pleach_go::base64;

/// Validates a bundle, given as base64.
pub fn check_ca_bundle(base64: &str) -> Result<(), String> {
    check(base64).map_err(|error| format!("unable to load root certificates: {error}"))
}

fn check(bundle: &str) -> Result<(), String> {
    let bundle = base64::decode(bundle)?;
    let text = String::from_utf8_lossy(&bundle);
    let mut rest: &str = &text;
    let (mut blocks, mut certificates) = (0, 0);
    while let Some((label, body, after)) = next_block(rest) {
        rest = after;
        blocks += 1;
        if label == "CERTIFICATE" {
            certificate(&body).map_err(|error| format!("failed to parse certificate: {error}"))?;
            certificates += 1;
        }
    }
    match (blocks, certificates) {
        (0, _) => Err("unable to parse bytes as PEM block".to_owned()),
        (_, 0) => Err("no valid certificate authority data seen".to_owned()),
        _ => Ok(()),
    }
}

/// The next PEM block: label, contents and what follows. Blocks that are broken are skipped.
fn next_block(text: &str) -> Option<(&str, Vec<u8>, &str)> {
    let mut rest = text;
    loop {
        let start = rest.find("-----BEGIN ")?;
        let at_line_start = start == 0 || rest.as_bytes()[start - 1] == b'\n';
        rest = &rest[start + "-----BEGIN ".len()..];
        let (label, body) = rest.split_once("-----")?;
        if !at_line_start || label.contains('\n') {
            continue;
        }
        let end = format!("-----END {label}-----");
        let Some((inner, after)) = body.split_once(end.as_str()) else { continue };
        // Headers, if any, end with an empty line.
        let contents = inner.rsplit_once("\n\n").map_or(inner, |(_, contents)| contents);
        let packed: String = contents.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        if let Ok(bytes) = base64::decode(&packed) {
            return Some((label, bytes, after));
        }
        rest = after;
    }
}

/// A sequence that fills everything and starts with a sequence.
fn certificate(der: &[u8]) -> Result<(), String> {
    let malformed = || "x509: malformed certificate".to_owned();
    let (body, rest) = sequence(der).ok_or_else(malformed)?;
    if !rest.is_empty() {
        return Err("x509: trailing data".to_owned());
    }
    sequence(body).map(|_| ()).ok_or_else(|| "x509: malformed tbs certificate".to_owned())
}

/// The contents of a DER sequence and what follows it.
fn sequence(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[0x30, first], rest) = der.split_first_chunk::<2>()? else { return None };
    let (length, rest) = match first {
        ..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |n, d| n << 8 | usize::from(*d)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use pleach_go::base64::encode;

    use super::*;

    #[test]
    fn only_bundles_of_certificates_are_accepted() {
        let pem =
            |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
        for (text, want) in [
            (pem("CERTIFICATE", &encode([0x30, 2, 0x30, 0])), None),
            (format!("some words\n{}", pem("CERTIFICATE", &encode([0x30, 2, 0x30, 0]))), None),
            ("a".to_owned(), Some("unable to parse bytes as PEM block")),
            (pem("CERTIFICATE", "!!"), Some("unable to parse bytes as PEM block")),
            (pem("X", "YQ=="), Some("no valid certificate authority data seen")),
            (pem("CERTIFICATE", "YQ=="), Some("failed to parse certificate: x509: malformed certificate")),
            (
                pem("CERTIFICATE", "MAA="),
                Some("failed to parse certificate: x509: malformed tbs certificate"),
            ),
        ] {
            let want = want.map(|w| format!("unable to load root certificates: {w}"));
            assert_eq!(check_ca_bundle(&encode(text.as_bytes())).err(), want, "{text}");
        }
    }
}
