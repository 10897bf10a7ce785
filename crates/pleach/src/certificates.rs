//! Certificates of the server: made by its CA or read from files, renewed and read again without a restart.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pleach_json::Str;
use pleach_server::tls::{
    self, Authority, ClientCertificates, Leaf, ProtocolOptions, RootCaBundle, ServingCertificates,
    SniCertificate, Tls,
};
use tokio::sync::watch;

use crate::cli::ServeOptions;
use crate::data_dir::DataDir;
use crate::files::{at, read};

/// How often files are looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// The certificates of a running server.
pub(crate) struct Certificates {
    /// The TLS configuration of the listener.
    pub tls: Tls,
    /// The certificates of the kubeconfig, by which clients verify the server, as PEM.
    pub roots: String,
    /// The bundle that is published in namespaces and in Secrets with tokens.
    pub root_ca: watch::Receiver<Str>,
    /// The admin's client certificate, if there is a CA to sign it.
    pub admin: Option<Leaf>,
    /// Reads certificate files again and renews certificates of the own CA.
    pub watcher: Watcher,
}

/// Keeps the certificates up to date.
pub(crate) struct Watcher {
    authority: Option<Authority>,
    root_ca: watch::Sender<Str>,
    root_ca_file: Option<PathBuf>,
    names: Vec<String>,
    serving_files: Option<(PathBuf, PathBuf)>,
    sni: Vec<crate::cli::SniFiles>,
    client_ca: Option<PathBuf>,
    serving: Arc<ServingCertificates>,
    clients: Arc<ClientCertificates>,
    made: Option<Leaf>,
    seen: Vec<Option<SystemTime>>,
}

/// Reads or makes the certificates that the flags ask for. A server whose certificate and client CA are in files needs no
/// CA of its own.
pub(crate) fn open(
    options: &ServeOptions,
    authority: Option<&Authority>,
    directory: &DataDir,
) -> Result<Certificates, Box<dyn Error>> {
    let flags = &options.tls;
    let mut names = tls::serving_names(options.bind);
    names.extend(flags.tls_san.iter().cloned());
    let serving_files = flags.tls_cert_file.clone().zip(flags.tls_private_key_file.clone());
    let made = match &serving_files {
        Some(_) => None,
        None => authority.map(|authority| authority.serving(&names)).transpose()?,
    };
    let leaf = serving_leaf(serving_files.as_ref(), made.as_ref())?;
    let serving = ServingCertificates::new(&leaf, &sni(&flags.tls_sni_cert_key)?)?;
    let client_ca = flags.client_ca_file.as_deref().map(read).transpose()?;
    let clients = ClientCertificates::new(&authorities(authority, client_ca.as_deref()))
        .map_err(|error| client_ca_error(flags.client_ca_file.as_deref(), &error))?;
    let protocol = ProtocolOptions {
        min_version: flags.tls_min_version.clone(),
        cipher_suites: flags.tls_cipher_suites.clone(),
    };
    let tls = Tls::new(serving.clone(), clients.clone(), &protocol)?;
    let root_ca = root_ca(flags.root_ca_file.as_deref(), &leaf, authority)?;
    let mut roots = root_ca.0.clone();
    let (root_ca, published) = watch::channel(Str::from(root_ca.0));
    if serving_files.is_some() {
        roots.push_str(&leaf.certificate);
    }
    let mut watcher = Watcher {
        authority: authority.cloned(),
        root_ca,
        root_ca_file: flags.root_ca_file.clone(),
        names,
        serving_files,
        sni: flags.tls_sni_cert_key.clone(),
        client_ca: flags.client_ca_file.clone(),
        serving,
        clients,
        made,
        seen: Vec::new(),
    };
    watcher.seen = watcher.times();
    let admin = authority.map(|authority| directory.admin(authority)).transpose()?;
    Ok(Certificates { tls, roots, root_ca: published, admin, watcher })
}

/// The root CA bundle: that of the flag, or what verifies the serving certificate.
fn root_ca(
    file: Option<&Path>,
    serving: &Leaf,
    own: Option<&Authority>,
) -> Result<RootCaBundle, Box<dyn Error>> {
    let bundle = match file {
        Some(path) => RootCaBundle::parse(read(path)?).map_err(|error| at(path, &error.to_string()))?,
        None => RootCaBundle::of(serving, own)?,
    };
    if !bundle.verifies(serving) {
        tracing::warn!(
            "{}",
            match file {
                Some(_) => "the certificates in --root-ca-file do not verify the serving certificate",
                None =>
                    "--tls-cert-file has no CA certificate: kube-root-ca.crt has the serving certificate itself, which \
                     not all clients accept; use --root-ca-file",
            }
        );
    }
    Ok(bundle)
}

fn client_ca_error(path: Option<&Path>, error: &io::Error) -> String {
    path.map_or_else(|| error.to_string(), |path| format!("{}: {error}", path.display()))
}

fn authorities<'a>(own: Option<&'a Authority>, file: Option<&'a str>) -> Vec<&'a str> {
    own.map(|own| own.certificate.as_str()).into_iter().chain(file).collect()
}

fn serving_leaf(files: Option<&(PathBuf, PathBuf)>, made: Option<&Leaf>) -> Result<Leaf, String> {
    match (files, made) {
        (Some((certificate, key)), _) => Ok(Leaf { certificate: read(certificate)?, key: read(key)? }),
        (None, Some(made)) => Ok(made.clone()),
        (None, None) => Err("there is no serving certificate".into()),
    }
}

fn sni(files: &[crate::cli::SniFiles]) -> Result<Vec<SniCertificate>, String> {
    files
        .iter()
        .map(|files| {
            let leaf = Leaf { certificate: read(&files.certificate)?, key: read(&files.key)? };
            Ok(SniCertificate { names: files.names.clone(), leaf })
        })
        .collect()
}

impl Watcher {
    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        let mut interval = tokio::time::interval(INTERVAL);
        loop {
            interval.tick().await;
            if let Err(error) = self.look() {
                // The certificates that are in use stay in use.
                tracing::error!(%error, "cannot reload certificates");
            }
        }
    }

    fn look(&mut self) -> Result<(), Box<dyn Error>> {
        let is_due = self.made.as_ref().is_some_and(Leaf::is_to_be_renewed);
        let times = self.times();
        if !is_due && times == self.seen {
            return Ok(());
        }
        if is_due && let Some(authority) = &self.authority {
            self.made = Some(authority.serving(&self.names)?);
        }
        // Seen once: half-written files change again.
        self.seen = times;
        let leaf = serving_leaf(self.serving_files.as_ref(), self.made.as_ref())?;
        let root_ca = root_ca(self.root_ca_file.as_deref(), &leaf, self.authority.as_ref())?;
        self.serving.replace(&leaf, &sni(&self.sni)?)?;
        self.root_ca.send_if_modified(|published| {
            let before = std::mem::replace(published, root_ca.0.into());
            before != *published
        });
        let client_ca = self.client_ca.as_deref().map(read).transpose()?;
        self.clients.replace(&authorities(self.authority.as_ref(), client_ca.as_deref()))?;
        tracing::info!("certificates reloaded");
        Ok(())
    }

    /// When the files were changed.
    fn times(&self) -> Vec<Option<SystemTime>> {
        let files = self.serving_files.iter().flat_map(|(certificate, key)| [certificate, key]);
        let sni = self.sni.iter().flat_map(|files| [&files.certificate, &files.key]);
        let changed = |path: &PathBuf| std::fs::metadata(path).and_then(|found| found.modified()).ok();
        files.chain(sni).chain(&self.client_ca).chain(&self.root_ca_file).map(changed).collect()
    }
}
