//! TLS to etcd, and the certificate that a client shows.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use pleach_store::{Commit, Expect, Store};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

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

    /// An etcd that wants client certificates, and the directory of its own.
    fn etcd(&self) -> (Etcd, TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = self.issue();
        let ca = write(directory.path(), "ca.crt", &self.pem);
        let certificate = write(directory.path(), "etcd.crt", &certificate);
        let key = write(directory.path(), "etcd.key", &key);
        let flags =
            ["--client-cert-auth", "--trusted-ca-file", &ca, "--cert-file", &certificate, "--key-file", &key];
        (Etcd::start_with(Program::Newest, "https", &flags), directory)
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
    let (etcd, _directory) = authority.etcd();
    let options = |ca: &Authority, identity: Option<(String, String)>| {
        let mut options = Options::new([etcd.url()]);
        options.ca = Some(ca.pem.clone());
        options.identity = identity.map(|identity| Arc::new(move || Ok(identity.clone())) as _);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_certificate_is_read_for_every_connection() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (mut etcd, directory) = authority.etcd();
    let identity = Arc::new(Mutex::new(authority.issue()));
    let mut options = Options::new([etcd.url()]);
    options.ca = Some(authority.pem.clone());
    options.call_timeout = std::time::Duration::from_secs(5);
    let current = identity.clone();
    options.identity = Some(Arc::new(move || Ok(current.lock().unwrap().clone())));
    let store = EtcdStore::connect(options, Arc::new(Prefixed::new("/pleach/"))).await.unwrap();
    store.commit(Commit::put("k", Expect::Absent, "v")).await.unwrap();

    // Clients have certificates of another CA from now on.
    write(directory.path(), "ca.crt", &stranger.pem);
    *identity.lock().unwrap() = stranger.issue();
    etcd.restart();
    store.revision().await.unwrap();
}
