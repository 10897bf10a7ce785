//! Certificate chains: whether a certificate leads to a trusted root.

use jiff::Timestamp;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, RootCertStore};
use x509_parser::der_parser::asn1_rs::Oid;
use x509_parser::oid_registry::{
    OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION, OID_SIG_ECDSA_WITH_SHA256,
    OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ECDSA_WITH_SHA512, OID_SIG_ED25519,
};
use x509_parser::prelude::X509Certificate;

use super::{Trust, parse};

const UNKNOWN: &str = "x509: certificate signed by unknown authority";
const TOO_LONG: &str = "x509: too many intermediates for path length constraint";
const KEY_USAGE: &str = "x509: certificate specifies an incompatible key usage";

pub(super) fn check(
    trust: &Trust,
    server: &CertificateDer<'_>,
    leaf: &X509Certificate<'_>,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
) -> Result<(), String> {
    if trust.roots.iter().any(|root| root == server) {
        return for_servers(leaf);
    }
    let roots: Vec<X509Certificate<'_>> = trust.roots.iter().filter_map(parse).collect();
    if leaf.is_ca() {
        // webpki refuses a CA as a server.
        return if roots.iter().any(|root| has_signed(root, leaf, now)) {
            for_servers(leaf)
        } else {
            Err(unknown(leaf, &roots))
        };
    }
    let usable: Vec<(&CertificateDer<'_>, Option<usize>)> = trust
        .roots
        .iter()
        .zip(&roots)
        .filter(|(_, root)| may_sign(root) && in_time(root, now).is_ok())
        .map(|(der, root)| (der, longest(root)))
        .collect();
    let parsed = ParsedCertificate::try_from(server).map_err(|_| "x509: malformed certificate")?;
    let leads = |roots: &mut dyn Iterator<Item = &CertificateDer<'_>>, between: &[CertificateDer<'_>]| {
        let mut anchors = RootCertStore::empty();
        // A certificate that webpki cannot read is not trusted.
        anchors.add_parsable_certificates(roots.map(|root| root.clone().into_owned()));
        verify_server_cert_signed_by_trust_anchor(&parsed, &anchors, between, now, trust.algorithms.all)
    };
    if let Err(error) = leads(&mut usable.iter().map(|(root, _)| *root), intermediates) {
        return Err(explain(error, leaf, intermediates, &roots, now));
    }
    // webpki does not ask a root how long a chain it allows. Servers send theirs in order.
    let short = |limit: &Option<usize>| limit.filter(|limit| *limit < intermediates.len());
    let fits = usable.iter().all(|(_, limit)| short(limit).is_none())
        || leads(
            &mut usable.iter().filter(|(_, limit)| short(limit).is_none()).map(|(root, _)| *root),
            intermediates,
        )
        .is_ok()
        || usable.iter().any(|(root, limit)| {
            short(limit)
                .is_some_and(|limit| leads(&mut std::iter::once(*root), &intermediates[..limit]).is_ok())
        });
    if fits { Ok(()) } else { Err(TOO_LONG.to_owned()) }
}

/// Why webpki refused a chain.
fn explain(
    error: rustls::Error,
    leaf: &X509Certificate<'_>,
    intermediates: &[CertificateDer<'_>],
    roots: &[X509Certificate<'_>],
    now: UnixTime,
) -> String {
    let rustls::Error::InvalidCertificate(error) = error else { return unknown(leaf, roots) };
    match error {
        CertificateError::ExpiredContext { not_after, .. } => after(now, not_after.as_secs() as i64),
        CertificateError::NotValidYetContext { not_before, .. } => before(now, not_before.as_secs() as i64),
        // webpki looks at this first, Go once it has a chain.
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            let between: Vec<X509Certificate<'_>> = intermediates.iter().filter_map(parse).collect();
            let known =
                roots.iter().chain(&between).any(|by| by.subject().as_raw() == leaf.issuer().as_raw());
            if known { KEY_USAGE.to_owned() } else { UNKNOWN.to_owned() }
        }
        CertificateError::Other(other) => match other.to_string().as_str() {
            text if text.contains("NameConstraintViolation") => {
                "x509: a root or intermediate certificate is not authorized to sign for this name".to_owned()
            }
            text if text.contains("PathLenConstraintViolated") => TOO_LONG.to_owned(),
            _ => unknown(leaf, roots),
        },
        _ => out_of_time(leaf, intermediates, roots, now).unwrap_or_else(|| unknown(leaf, roots)),
    }
}

/// How many certificates a root allows between itself and a server.
fn longest(root: &X509Certificate<'_>) -> Option<usize> {
    let constraints = root.basic_constraints().ok().flatten()?;
    constraints.value.path_len_constraint.map(|limit| limit as usize)
}

/// Whether a certificate is valid now.
pub(super) fn in_time(certificate: &X509Certificate<'_>, now: UnixTime) -> Result<(), String> {
    let seconds = now.as_secs() as i64;
    let (from, to) =
        (certificate.validity().not_before.timestamp(), certificate.validity().not_after.timestamp());
    if seconds < from {
        return Err(before(now, from));
    }
    if seconds > to {
        return Err(after(now, to));
    }
    Ok(())
}

fn before(now: UnixTime, from: i64) -> String {
    time("before", now, from)
}

fn after(now: UnixTime, to: i64) -> String {
    time("after", now, to)
}

fn time(relation: &str, now: UnixTime, bound: i64) -> String {
    let text =
        |seconds| Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string());
    let (now, bound) = (text(now.as_secs() as i64), text(bound));
    format!("x509: certificate has expired or is not yet valid: current time {now} is {relation} {bound}")
}

fn for_servers(leaf: &X509Certificate<'_>) -> Result<(), String> {
    let usage = leaf.extended_key_usage().ok().flatten();
    if usage.is_none_or(|usage| usage.value.any || usage.value.server_auth) {
        Ok(())
    } else {
        Err(KEY_USAGE.to_owned())
    }
}

/// Whether a root may sign certificates. Version 1 certificates, which have no extensions, may.
fn may_sign(root: &X509Certificate<'_>) -> bool {
    let is_ca = root.version().0 < 2 || root.is_ca();
    let usage = root.key_usage().ok().flatten();
    is_ca && usage.is_none_or(|usage| usage.value.key_cert_sign())
}

/// Whether a root signed a certificate, with nothing in between and nothing to restrict it.
fn has_signed(root: &X509Certificate<'_>, leaf: &X509Certificate<'_>, now: UnixTime) -> bool {
    root.subject().as_raw() == leaf.issuer().as_raw()
        && may_sign(root)
        && in_time(root, now).is_ok()
        && root.name_constraints().is_ok_and(|constraints| constraints.is_none())
        && leaf.verify_signature(Some(root.public_key())).is_ok()
}

/// A root that would have done, at another time.
fn out_of_time(
    leaf: &X509Certificate<'_>,
    intermediates: &[CertificateDer<'_>],
    roots: &[X509Certificate<'_>],
    now: UnixTime,
) -> Option<String> {
    let between: Vec<X509Certificate<'_>> = intermediates.iter().filter_map(parse).collect();
    let signed = |root: &&X509Certificate<'_>| {
        std::iter::once(leaf).chain(&between).any(|certificate| {
            certificate.issuer().as_raw() == root.subject().as_raw()
                && certificate.verify_signature(Some(root.public_key())).is_ok()
        })
    };
    roots.iter().filter(signed).find_map(|root| in_time(root, now).err())
}

/// No trusted CA signed the certificate; with a hint if a CA of the right name did not.
fn unknown(leaf: &X509Certificate<'_>, roots: &[X509Certificate<'_>]) -> String {
    let Some(root) = roots.iter().find(|root| root.subject().as_raw() == leaf.issuer().as_raw()) else {
        return UNKNOWN.to_owned();
    };
    let why = if may_sign(root) {
        unsigned(&leaf.signature_algorithm.algorithm, &root.public_key().algorithm.algorithm)
    } else {
        "x509: invalid signature: parent certificate cannot sign this kind of certificate".to_owned()
    };
    let subject = root.subject();
    let name =
        subject.iter_common_name().chain(subject.iter_organization()).find_map(|name| name.as_str().ok());
    let name = name.map_or_else(|| format!("serial:{}", root.serial), str::to_owned);
    format!(
        "{UNKNOWN} (possibly because of \"{why}\" while trying to verify candidate authority certificate \"{name}\")"
    )
}

/// The error about a signature that is not by a key, by algorithm.
fn unsigned(signature: &Oid<'_>, key: &Oid<'_>) -> String {
    let by = if [OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ECDSA_WITH_SHA512]
        .contains(signature)
    {
        "ECDSA"
    } else if *signature == OID_SIG_ED25519 {
        "Ed25519"
    } else {
        "RSA"
    };
    let (has, go_type) = if *key == OID_KEY_TYPE_EC_PUBLIC_KEY {
        ("ECDSA", "*ecdsa.PublicKey")
    } else if *key == OID_PKCS1_RSAENCRYPTION {
        ("RSA", "*rsa.PublicKey")
    } else {
        ("Ed25519", "ed25519.PublicKey")
    };
    if by != has {
        return format!(
            "x509: signature algorithm specifies an {by} public key, but have public key of type {go_type}"
        );
    }
    if by == "RSA" {
        "crypto/rsa: verification error".to_owned()
    } else {
        format!("x509: {by} verification failure")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_algorithm() {
        let (rsa, ec) = (OID_PKCS1_RSAENCRYPTION, OID_KEY_TYPE_EC_PUBLIC_KEY);
        let rsa_with_sha256 = x509_parser::oid_registry::OID_PKCS1_SHA256WITHRSA;
        for (signature, key, wanted) in [
            (&rsa_with_sha256, &rsa, "crypto/rsa: verification error"),
            (&OID_SIG_ECDSA_WITH_SHA384, &ec, "x509: ECDSA verification failure"),
            (
                &OID_SIG_ECDSA_WITH_SHA256,
                &rsa,
                "x509: signature algorithm specifies an ECDSA public key, but have public key of type *rsa.PublicKey",
            ),
            (
                &rsa_with_sha256,
                &ec,
                "x509: signature algorithm specifies an RSA public key, but have public key of type *ecdsa.PublicKey",
            ),
        ] {
            assert_eq!(unsigned(signature, key), wanted);
        }
    }
}
