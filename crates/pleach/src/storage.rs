//! The store that the flags choose: the data directory, memory, or an etcd cluster.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use clap::Args;
use pleach_engine::Engine;
use pleach_go::time::parse_std_duration;
use pleach_server::tls::Authority;
use pleach_storage::StorageCodec;
use pleach_store::Store;
use pleach_store_etcd::{Election, EtcdStore, Options};
use pleach_store_log::LogStore;

use crate::cli::ServeOptions;
use crate::data_dir::{CA, DataDir, TOKEN};
use crate::serve::new_token;
use crate::{encryption, null_disk};

/// Where etcd is. The names are kube-apiserver's.
#[derive(Clone, Debug, Args)]
pub(crate) struct EtcdOptions {
    /// The prefix of all keys in etcd.
    #[arg(long = "etcd-prefix", default_value = "/registry", value_name = "PREFIX")]
    pub prefix: String,
    /// The CA of etcd's certificates, as PEM; the system's if not given.
    #[arg(long = "etcd-cafile", value_name = "FILE")]
    pub cafile: Option<PathBuf>,
    /// The certificate that the server shows to etcd, as PEM.
    #[arg(long = "etcd-certfile", value_name = "FILE", requires = "keyfile")]
    pub certfile: Option<PathBuf>,
    /// The key of that certificate, as PEM.
    #[arg(long = "etcd-keyfile", value_name = "FILE", requires = "certfile")]
    pub keyfile: Option<PathBuf>,
}

impl EtcdOptions {
    /// Connects and fills the cache.
    pub(crate) async fn connect(
        &self,
        servers: &[String],
        codec: Arc<StorageCodec>,
        adjust: impl FnOnce(&mut Options),
    ) -> Result<EtcdStore, Box<dyn Error>> {
        let read = |path: &PathBuf| {
            fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let mut options = Options::new(servers.iter().map(|server| with_scheme(server)));
        options.ca = self.cafile.as_ref().map(read).transpose()?;
        if let (Some(certificate), Some(key)) = (self.certfile.clone(), self.keyfile.clone()) {
            options.identity = Some(Arc::new(move || Ok((read(&certificate)?, read(&key)?))));
        }
        // How large objects may be is for the engine and for etcd to say.
        options.value_bytes = u64::MAX;
        adjust(&mut options);
        let connected = EtcdStore::connect(options, codec).await;
        connected.map_err(|error| format!("cannot use etcd at {}: {error}", servers.join(",")).into())
    }
}

/// As etcd's client does: a server without a scheme is one without TLS.
fn with_scheme(server: &str) -> String {
    if server.contains("://") { server.to_owned() } else { format!("http://{server}") }
}

/// The flags of `pleach serve` about the store.
#[derive(Debug, Args)]
pub(crate) struct StorageOptions {
    /// The etcd servers that keep the objects, instead of the data directory: URLs, with commas between them. Any
    /// number of servers may run on one etcd cluster; they share the CA, the keys and the token in the data
    /// directory, see pleach credentials.
    #[arg(long, value_delimiter = ',', value_name = "URLS", conflicts_with_all = ["in_memory", "unsafe_no_fsync"])]
    pub etcd_servers: Vec<String>,
    #[command(flatten)]
    pub etcd: EtcdOptions,
    /// How often etcd's history is compacted, up to what it was one interval before; 0 leaves it to others.
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = parse_std_duration)]
    pub etcd_compaction_interval: Duration,
    /// Accepted for kube-apiserver's sake: objects are counted from the cache whenever metrics are read.
    #[arg(long, default_value = "1m", value_name = "DURATION", value_parser = parse_std_duration)]
    pub etcd_count_metric_poll_period: Duration,
    /// How long events are kept after they were last written; 0 keeps them.
    #[arg(long, default_value = "1h", value_name = "DURATION", value_parser = parse_std_duration)]
    pub event_ttl: Duration,
}

impl StorageOptions {
    pub(crate) fn is_etcd(&self) -> bool {
        !self.etcd_servers.is_empty()
    }

    /// How long events are kept; `None`: for ever.
    pub(crate) fn event_ttl(&self) -> Option<Duration> {
        Some(self.event_ttl).filter(|ttl| !ttl.is_zero())
    }
}

/// The CA of a server. On etcd none is made, because servers on one cluster share it, and it may be missing if the
/// certificate and the client CA are in files.
pub(crate) fn authority(options: &ServeOptions, directory: &DataDir) -> io::Result<Option<Authority>> {
    if options.storage.is_etcd() {
        check_credentials(options, directory)?;
        return directory.existing_authority();
    }
    directory.authority().map(Some)
}

/// Refuses to serve from etcd with credentials that other servers do not have.
fn check_credentials(options: &ServeOptions, directory: &DataDir) -> io::Result<()> {
    // A server whose certificate and users come from elsewhere needs no CA and no token of its own.
    let is_given = options.tls.tls_cert_file.is_some() && options.tls.client_ca_file.is_some();
    let mut needed = if is_given { Vec::new() } else { CA.to_vec() };
    if options.service_account_signing_key_file.is_none() {
        needed.push("sa.key");
    }
    if options.token.is_none() && options.token_file.is_none() && !is_given {
        needed.push(TOKEN);
    }
    directory.check_shared(&needed)
}

/// `pleach credentials`: writes the credentials that servers on one etcd cluster share.
pub(crate) fn make_credentials(path: &Path) -> Result<(), Box<dyn Error>> {
    let directory = DataDir::open(path)?;
    directory.authority()?;
    directory.token_signing_key()?;
    if directory.token()?.is_none() {
        directory.write_token(&new_token())?;
    }
    writeln_out!("ca.crt, ca.key, sa.key and token are in {}", path.display());
    Ok(())
}

/// The store of a server.
pub(crate) struct Storage {
    pub(crate) store: Arc<dyn Store>,
    etcd: Option<(Arc<EtcdStore>, Arc<StorageCodec>)>,
    compaction_interval: Duration,
    election: Option<Arc<Election>>,
}

impl Storage {
    /// Opens the store that the flags choose.
    pub(crate) async fn open(options: &ServeOptions, directory: &DataDir) -> Result<Self, Box<dyn Error>> {
        let encryption = encryption::open(&options.encryption)?;
        let StorageOptions { etcd_servers, etcd, etcd_compaction_interval, .. } = &options.storage;
        let history = options.history_mib << 20;
        let mut chosen = None;
        let store: Arc<dyn Store> = if options.storage.is_etcd() {
            let codec = StorageCodec::new(&etcd.prefix, options.storage.event_ttl());
            let codec = Arc::new(codec.with_encryption(encryption.clone()));
            let adjust = |options: &mut Options| options.history_bytes = history;
            let store = Arc::new(etcd.connect(etcd_servers, codec.clone(), adjust).await?);
            let stale = codec.stale_keys().len();
            if stale > 0 {
                tracing::warn!(
                    stale,
                    "values in etcd are not encrypted with the first key; `pleach store rewrite` does it"
                );
            }
            chosen = Some((store.clone(), codec));
            store
        } else {
            // How large objects may be is the engine's to say: the marks of objects that are being deleted may go
            // beyond it, and objects that were stored under a higher limit must stay deletable.
            let log = LogStore::options()
                .history_bytes(history)
                .quota_bytes(options.quota_backend_bytes)
                .value_bytes(u64::MAX)
                .codec(encryption::codec(encryption.as_ref()))
                .sync(!options.unsafe_no_fsync);
            if options.in_memory {
                Arc::new(null_disk::open(log)?)
            } else {
                let store = log.open(directory.store())?;
                if store.has_stale_values() {
                    tracing::info!("writing stored objects once more, encrypted as the configuration says");
                    store.rewrite()?;
                }
                Arc::new(store)
            }
        };
        let election = chosen.as_ref().map(|(store, _)| {
            let key = format!("/pleach/{}/leader", etcd.prefix.trim_matches('/'));
            Arc::new(store.election(key, new_token()))
        });
        let path = options.encryption.encryption_provider_config.clone();
        if let (Some(path), Some(encryption), true) =
            (path, encryption, options.encryption_provider_config_automatic_reload)
        {
            tokio::spawn(encryption::follow(path, encryption));
        }
        Ok(Self { store, etcd: chosen, compaction_interval: *etcd_compaction_interval, election })
    }

    /// Configures an engine for its store: leases expire events in etcd, and of several servers one runs the
    /// background controllers.
    pub(crate) fn configure(&self, engine: Engine, options: &StorageOptions) -> Engine {
        match &self.election {
            Some(election) => engine.with_leadership(election.leads()),
            None => engine.with_event_ttl(options.event_ttl()),
        }
    }

    /// Marks objects that other servers wrote as settled by the engine's kinds.
    pub(crate) fn attach(&self, engine: &Arc<Engine>) {
        if let Some((_, codec)) = &self.etcd {
            let engine = Arc::downgrade(engine);
            codec.set_fingerprint(Arc::new(move |key, object| {
                engine.upgrade().map_or(0, |engine| engine.settled_fingerprint(key, object))
            }));
        }
    }

    /// Lets another server lead at once.
    pub(crate) async fn resign(&self) {
        if let Some(election) = &self.election {
            election.resign().await;
        }
    }

    /// Starts compaction of etcd, and leader election.
    pub(crate) fn start_tasks(&self) {
        if let Some(election) = &self.election {
            tokio::spawn(election.clone().run());
        }
        if let Some((store, _)) = &self.etcd {
            // Objects were read before their kinds were known.
            let store = store.clone();
            tokio::task::spawn_blocking(move || store.refresh());
        }
        if let Some((store, _)) = &self.etcd
            && !self.compaction_interval.is_zero()
        {
            tokio::spawn(store.compact_every(self.compaction_interval));
        }
    }
}
