//! `--tls-min-version` and `--tls-cipher-suites`, in kube-apiserver's words.

use rustls::{ALL_VERSIONS, CipherSuite, SupportedCipherSuite, SupportedProtocolVersion};

/// The versions of TLS from a least one on. TLS 1.0 and 1.1 are not implemented: they count as 1.2.
pub fn versions(least: &str) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    match least {
        "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => Ok(ALL_VERSIONS.to_vec()),
        "VersionTLS13" => Ok(vec![&rustls::version::TLS13]),
        other => Err(format!(
            "unknown tls version {other:?}, possible values: VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13"
        )),
    }
}

/// The cipher suites with these names. The suites of TLS 1.3 cannot be chosen, as in Go: they are all there.
pub fn cipher_suites(names: &[String]) -> Result<Vec<SupportedCipherSuite>, String> {
    let all = rustls::crypto::ring::ALL_CIPHER_SUITES;
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let of_tls13 = all.iter().filter(|suite| suite.tls13().is_some());
    let mut found: Vec<SupportedCipherSuite> = of_tls13.copied().collect();
    for name in names {
        let suite = all.iter().find(|suite| go_name(suite.suite()) == name);
        let suite = suite.ok_or_else(|| format!("Cipher suite {name} not supported or doesn't exist"))?;
        if !found.contains(suite) {
            found.push(*suite);
        }
    }
    Ok(found)
}

/// The name of a suite in Go.
fn go_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => {
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
        }
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => {
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_suites_have_upstreams_names() {
        assert_eq!(versions("VersionTLS12").unwrap().len(), 2);
        assert_eq!(versions("VersionTLS13").unwrap().len(), 1);
        assert!(versions("TLS1.3").unwrap_err().contains("unknown tls version"));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let chosen = cipher_suites(&names(&["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"])).unwrap();
        assert_eq!(chosen.len(), 4, "three of TLS 1.3 and the one");
        assert_eq!(
            cipher_suites(&names(&["TLS_RSA_WITH_RC4_128_SHA"])).unwrap_err(),
            "Cipher suite TLS_RSA_WITH_RC4_128_SHA not supported or doesn't exist"
        );
        for suite in rustls::crypto::ring::ALL_CIPHER_SUITES {
            assert_ne!(go_name(suite.suite()), "", "{suite:?}");
        }
    }
}
