//! TLS to etcd, and the certificate that a client shows.

use std::{path::Path, sync::Arc};

use pleach_store::{Commit, Expect, Store};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::etcd::{Etcd, Program};
use crate::{EtcdStore, Options, Prefixed};

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for an address, and its key.
    fn issue(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_checked_on_both_sides() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = authority.issue();
    let ca = write(directory.path(), "ca.crt", &authority.pem);
    let certificate = write(directory.path(), "etcd.crt", &certificate);
    let key = write(directory.path(), "etcd.key", &key);
    let flags =
        ["--client-cert-auth", "--trusted-ca-file", &ca, "--cert-file", &certificate, "--key-file", &key];
    let etcd = Etcd::start_with(Program::Newest, "https", &flags);
    let options = |ca: &Authority, identity: Option<(String, String)>| {
        let mut options = Options::new([etcd.url()]);
        (options.ca, options.identity) = (Some(ca.pem.clone()), identity);
        options.call_timeout = std::time::Duration::from_secs(5);
        options
    };
    let connect = |options| EtcdStore::connect(options, Arc::new(Prefixed::new("/pleach/")));

    let store = connect(options(&authority, Some(authority.issue()))).await.unwrap();
    store.commit(Commit::put("k", Expect::Absent, "v")).await.unwrap();

    let refused = connect(options(&stranger, Some(authority.issue()))).await.unwrap_err().to_string();
    assert!(refused.contains("certificate"), "etcd's certificate is another's: {refused}");
    assert!(connect(options(&authority, None)).await.is_err(), "no client certificate");
    assert!(connect(options(&authority, Some(stranger.issue()))).await.is_err(), "a stranger's certificate");
}
