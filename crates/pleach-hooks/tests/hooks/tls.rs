//! Certificates good and bad.

use std::sync::Arc;

use pleach_hooks::HttpCaller;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, GeneralSubtree,
    IsCa, KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::server::{self, Identity, answer, ca, config, good, leaf, sign};
use crate::{call, call_within, reason};

const HERE: &[&str] = &["localhost", "127.0.0.1"];
const OK: &str = "good";

async fn start(chain: &[&Identity]) -> String {
    server::tls(config(chain), |mut stream| async move {
        if server::request(&mut stream).await.is_some() {
            use tokio::io::AsyncWriteExt as _;
            let _ = stream.write_all(answer("200 OK", "", OK).as_bytes()).await;
        }
    })
    .await
}

/// Asks a server at its address and gives the reason without what every reason starts with.
async fn refused(chain: &[&Identity], bundle: &str) -> String {
    refused_as(chain, bundle, "127.0.0.1").await
}

async fn refused_as(chain: &[&Identity], bundle: &str, host: &str) -> String {
    let url = start(chain).await.replace("127.0.0.1", host);
    let reason = reason(&url, bundle).await;
    reason
        .strip_prefix("tls: failed to verify certificate: x509: ")
        .expect("it is about the certificate")
        .to_owned()
}

async fn accepted(chain: &[&Identity], bundle: &str) {
    let url = start(chain).await;
    assert_eq!(call(&url, bundle).await, Ok(OK.to_owned()));
}

#[tokio::test]
async fn good_chains() {
    let (root, good) = good();
    accepted(&[&good], &root.pem).await;
    let url = start(&[&good]).await;
    assert_eq!(call(&url.replace("127.0.0.1", "localhost"), &root.pem).await, Ok(OK.to_owned()));
    assert_eq!(call(&url.replace("127.0.0.1", "LOCALHOST"), &root.pem).await, Ok(OK.to_owned()));
    let middle = sign(ca("middle"), Some(&root));
    let low = sign(leaf("x", HERE), Some(&middle));
    accepted(&[&low, &middle], &root.pem).await;
    accepted(&[&low, &middle, &root], &root.pem).await;
    accepted(&[&low], &middle.pem).await;
    let mut params = leaf("x", HERE);
    params.extended_key_usages.clear();
    accepted(&[&sign(params, Some(&root))], &root.pem).await;
}

#[tokio::test]
async fn certificates_that_are_their_own_root() {
    let own = sign(leaf("own", HERE), None);
    accepted(&[&own], &own.pem).await;
    let mut params = leaf("own", HERE);
    params.is_ca = IsCa::NoCa;
    let own = sign(params, None);
    accepted(&[&own], &own.pem).await;
    let mut params = leaf("own", HERE);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = sign(params.clone(), None);
    accepted(&[&own], &own.pem).await;
    let (root, good) = good();
    accepted(&[&good], &good.pem).await;
    accepted(&[&sign(params.clone(), Some(&root))], &root.pem).await;
    // Among the roots or not, it must be for servers.
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let client = sign(params, Some(&root));
    assert_eq!(refused(&[&client], &client.pem).await, "certificate specifies an incompatible key usage");
    assert_eq!(refused(&[&client], &root.pem).await, "certificate specifies an incompatible key usage");
}

#[tokio::test]
async fn unknown_authorities() {
    const UNKNOWN: &str = "certificate signed by unknown authority";
    let (root, good) = good();
    let other = sign(ca("other"), None);
    assert_eq!(refused(&[&good], &other.pem).await, UNKNOWN);
    assert_eq!(refused(&[&good], "").await, UNKNOWN);
    assert_eq!(refused(&[&sign(leaf("own", HERE), None)], &root.pem).await, UNKNOWN);
    let middle = sign(ca("middle"), Some(&root));
    assert_eq!(refused(&[&sign(leaf("x", HERE), Some(&middle))], &root.pem).await, UNKNOWN);
    let mut client = leaf("x", HERE);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    assert_eq!(refused(&[&sign(client, Some(&root))], &other.pem).await, UNKNOWN);

    let hint = |why: &str, name: &str| {
        format!(
            "{UNKNOWN} (possibly because of \"x509: {why}\" while trying to verify candidate authority certificate \"{name}\")"
        )
    };
    let again = sign(ca("root"), None);
    assert_eq!(refused(&[&good], &again.pem).await, hint("ECDSA verification failure", "root"));
    let mut org = ca("");
    org.distinguished_name = DistinguishedName::new();
    org.distinguished_name.push(DnType::OrganizationName, "Org");
    let (one, two) = (sign(org.clone(), None), sign(org, None));
    assert_eq!(
        refused(&[&sign(leaf("x", HERE), Some(&one))], &two.pem).await,
        hint("ECDSA verification failure", "Org")
    );
    let cannot = "invalid signature: parent certificate cannot sign this kind of certificate";
    let mut no_signer = ca("noku");
    no_signer.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    for (params, name) in [(leaf("notca", &["q"]), "notca"), (no_signer, "noku")] {
        let parent = sign(params, None);
        assert_eq!(refused(&[&sign(leaf("x", HERE), Some(&parent))], &parent.pem).await, hint(cannot, name));
    }
}

#[tokio::test]
async fn wrong_names() {
    let (root, _) = good();
    let named = |names: &[&str]| sign(leaf("x", names), Some(&root));
    let by_name = async |identity: &Identity| refused_as(&[identity], &root.pem, "localhost").await;
    let by_address = async |identity: &Identity| refused(&[identity], &root.pem).await;
    assert_eq!(
        by_name(&named(&["foo.example"])).await,
        "certificate is valid for foo.example, not localhost"
    );
    assert_eq!(
        by_name(&named(&["foo.example", "*.bar.example", "1.2.3.4"])).await,
        "certificate is valid for foo.example, *.bar.example, not localhost"
    );
    let none = "certificate is not valid for any names, but wanted to match localhost";
    assert_eq!(by_name(&named(&["1.2.3.4"])).await, none);
    let legacy = sign(leaf("localhost", &[]), Some(&root));
    assert_eq!(by_name(&legacy).await, "certificate relies on legacy Common Name field, use SANs instead");
    assert_eq!(by_name(&sign(leaf("not a host", &[]), Some(&root))).await, none);
    let no_addresses = "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs";
    assert_eq!(by_address(&legacy).await, no_addresses);
    assert_eq!(by_address(&named(&["foo.example"])).await, no_addresses);
    assert_eq!(
        by_address(&named(&["foo.example", "1.2.3.4", "::1"])).await,
        "certificate is valid for 1.2.3.4, ::1, not 127.0.0.1"
    );
    let many: Vec<String> = (0..110).map(|i| format!("n{i}.example")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(
        by_name(&named(&many)).await,
        "certificate is valid for 110 names, but none matched localhost"
    );
    // A wrong name is reported before an unknown authority.
    let other = sign(ca("other"), None);
    assert_eq!(
        refused_as(&[&named(&["foo.example"])], &other.pem, "localhost").await,
        "certificate is valid for foo.example, not localhost"
    );
}

/// The reason with the time of the test taken out.
fn timeless(reason: &str) -> String {
    let (head, rest) = reason.split_once("current time ").expect("it tells the time");
    let (now, tail) = rest.split_once(' ').expect("and more");
    assert!(now.len() == 20 && now.ends_with('Z'), "{now}");
    format!("{head}current time NOW {tail}")
}

#[tokio::test]
async fn out_of_time() {
    const PAST: &str =
        "certificate has expired or is not yet valid: current time NOW is after 2021-02-03T00:00:00Z";
    let past = |mut params: CertificateParams| {
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 2, 3));
        params
    };
    let (root, _) = good();
    let other = sign(ca("other"), None);
    let old = sign(past(leaf("x", &["foo.example"])), Some(&root));
    assert_eq!(timeless(&refused(&[&old], &root.pem).await), PAST);
    assert_eq!(timeless(&refused(&[&old], &other.pem).await), PAST);
    let mut later = leaf("x", HERE);
    (later.not_before, later.not_after) = (date_time_ymd(2140, 1, 1), date_time_ymd(2141, 2, 3));
    assert_eq!(
        timeless(&refused(&[&sign(later, Some(&root))], &root.pem).await),
        "certificate has expired or is not yet valid: current time NOW is before 2140-01-01T00:00:00Z"
    );
    let middle = sign(past(ca("middle")), Some(&root));
    let low = sign(leaf("x", HERE), Some(&middle));
    assert_eq!(timeless(&refused(&[&low, &middle], &root.pem).await), PAST);
    let old_root = sign(past(ca("oldroot")), None);
    let low = sign(leaf("x", HERE), Some(&old_root));
    assert_eq!(timeless(&refused(&[&low], &old_root.pem).await), PAST);
}

#[tokio::test]
async fn constraints() {
    let mut params = ca("constrained");
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![GeneralSubtree::DnsName("foo.example".to_owned())],
        excluded_subtrees: Vec::new(),
    });
    let root = sign(params, None);
    let reason = refused(&[&sign(leaf("x", HERE), Some(&root))], &root.pem).await;
    assert_eq!(reason, "a root or intermediate certificate is not authorized to sign for this name");
    let mut params = ca("short");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let root = sign(ca("root"), None);
    let short = sign(params, Some(&root));
    let middle = sign(ca("middle"), Some(&short));
    let low = sign(leaf("x", HERE), Some(&middle));
    // Whether it is a root that says so or another.
    for bundle in [&root.pem, &short.pem] {
        let reason = refused(&[&low, &middle, &short], bundle).await;
        assert_eq!(reason, "too many intermediates for path length constraint");
    }
    accepted(&[&sign(leaf("x", HERE), Some(&short)), &short], &short.pem).await;
    accepted(&[&low, &middle, &short], &format!("{}{}", short.pem, middle.pem)).await;
}

#[tokio::test]
async fn bundles() {
    let (root, good) = good();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    accepted(&[&good], &format!("{broken}{}", root.pem)).await;
    accepted(&[&good], &format!("{key}{}", root.pem)).await;
    let url = "https://127.0.0.1:1/hook";
    let no_pem = "unable to load root certificates: unable to parse bytes as PEM block";
    assert_eq!(call(url, "junk").await, Err(no_pem.to_owned()));
    assert_eq!(call(url, "\n \n").await, Err(no_pem.to_owned()));
    assert_eq!(
        call(url, broken).await,
        Err("unable to load root certificates: failed to parse certificate: x509: malformed certificate"
            .to_owned())
    );
}

#[tokio::test]
async fn handshakes_refused_by_the_server() {
    let (root, good) = good();
    let close = |_| async {};
    let mut alpn = config(&[&good]);
    alpn.alpn_protocols = vec![b"foo".to_vec()];
    let url = server::tls(alpn, close).await;
    assert_eq!(reason(&url, &root.pem).await, "remote error: tls: no application protocol");
    let mut roots = RootCertStore::empty();
    roots.add(root.der.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let mutual = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.expect("a verifier"))
        .with_single_cert(vec![good.der.clone()], good.key.serialize_der().try_into().expect("a key"))
        .expect("a key that fits");
    let url = server::tls(mutual, close).await;
    assert_eq!(reason(&url, &root.pem).await, "remote error: tls: certificate required");
}

/// A server that only speaks HTTP/2 is understood on this machine.
#[tokio::test]
async fn http_2_on_this_machine() {
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let (root, good) = good();
    let mut alpn = config(&[&good]);
    alpn.alpn_protocols = vec![b"h2".to_vec()];
    let url = server::tls(alpn, |stream| async move {
        let answer = hyper::service::service_fn(async |request: http::Request<hyper::body::Incoming>| {
            let version = format!("{:?}", request.version());
            Ok::<_, std::convert::Infallible>(http::Response::new(http_body_util::Full::new(
                bytes::Bytes::from(version),
            )))
        });
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), answer)
            .await;
    })
    .await;
    let caller = HttpCaller::new();
    for _ in 0..2 {
        let answer = call_within(&caller, &url, &root.pem, std::time::Duration::from_secs(3)).await;
        assert_eq!(answer, Ok("HTTP/2.0".to_owned()));
    }
}
