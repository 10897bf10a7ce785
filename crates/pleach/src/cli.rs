//! The command line.

mod security;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pleach_engine::emulated::EmulatedVersion;
use pleach_engine::gates::Gates;
use pleach_engine::kinds::served::{RuntimeConfig, ServedKinds};
use pleach_engine::limits::MAX_REQUEST_BYTES;
use pleach_engine::{EnabledControllers, ServiceRanges};
use pleach_hooks::ServiceAddress;

pub(crate) use self::security::{
    AuditOptions, AuthenticationOptions, AuthorizationMode, AuthorizationOptions, EncryptionOptions,
    FlowControlOptions, SniFiles, TlsOptions,
};

/// Kubernetes CustomResourceDefinitions without Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "pleach", version, about, long_about = None, propagate_version = true)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: pleach_cli::Color,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the API server.
    ///
    /// Serves CustomResourceDefinitions and custom resources to kubectl and every other Kubernetes
    /// client. Prints where it listens and the path of a kubeconfig that is ready to use.
    #[command(after_long_help = SERVE_EXAMPLES)]
    Serve(Box<ServeOptions>),
    /// Back up, restore, check and repair a data directory.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Write the CA, the keys and the token that servers on one etcd cluster share.
    ///
    /// Files that are there already are kept. Every server gets a copy of the directory as its data directory.
    #[command(after_long_help = CREDENTIALS_EXAMPLES)]
    Credentials {
        /// The directory; created if missing.
        directory: PathBuf,
    },
    /// Stand in for the control plane of envtest.
    #[command(subcommand)]
    Envtest(EnvtestCommand),
    /// Show any Kubernetes API server in the web console.
    ///
    /// Serves the console on this machine only, with the rights of a kubeconfig's user, and prints a link that signs in
    /// once. The page can only read, unless --writable is given.
    #[command(after_long_help = CONSOLE_EXAMPLES)]
    Console(Box<crate::console::ConsoleOptions>),
    /// Show the objects, their size, the open watches and the requests of each resource.
    ///
    /// Reads the metrics of any API server: of Pleach, and of kube-apiserver since v1.34.
    #[command(after_long_help = TOP_EXAMPLES)]
    Top(crate::top::TopOptions),
    /// Put fault rules in front of any API server, and log its requests.
    ///
    /// Clients connect to the proxy; errors, delays, cut connections and watches happen as the rules say. `pleach world
    /// faults default` and `pleach world requests default` change the rules and show the log while it runs.
    #[command(after_long_help = CHAOS_EXAMPLES)]
    Chaos(Box<crate::chaos::ChaosOptions>),
    /// Worlds of a server that runs with --test-endpoints: fork, reset, clock, faults, requests, recordings.
    #[command(after_long_help = WORLD_EXAMPLES)]
    World(Box<crate::world::WorldOptions>),
    /// The commands on files.
    #[command(flatten)]
    Files(pleach_cli::Command),
}

const SERVE_EXAMPLES: &str = "\
Examples:
  Try it out; nothing is kept:
    pleach serve --in-memory --port 6443
    kubectl --kubeconfig <the path it prints> get crds

  Keep objects in a directory of your own:
    pleach serve --data-dir ./data --port 6443 --token \"$(cat token)\"";

const CREDENTIALS_EXAMPLES: &str = "\
Examples:
  Two servers on one etcd cluster:
    pleach credentials ./cluster
    pleach serve --etcd-servers http://127.0.0.1:2379 --data-dir ./cluster --port 6443
    pleach serve --etcd-servers http://127.0.0.1:2379 --data-dir ./cluster --port 6444 --kubeconfig ./second";

const ENVTEST_EXAMPLES: &str = "\
Examples:
  Run the tests of an operator on Pleach, unchanged:
    pleach envtest install ./envtest
    KUBEBUILDER_ASSETS=$PWD/envtest go test ./...";

const CHAOS_EXAMPLES: &str = "\
Examples:
  Every third write of a controller fails with a conflict:
    echo '[{match: {userAgent: \"manager/*\", verbs: [update, patch]}, error: 409, probability: 0.3}]' > faults.yaml
    pleach chaos --upstream-kubeconfig ~/.kube/config --faults faults.yaml --kubeconfig chaos.kubeconfig
    KUBECONFIG=chaos.kubeconfig ./manager";

const CONSOLE_EXAMPLES: &str = "\
Examples:
  Look at the cluster of the current context:
    pleach console --kubeconfig ~/.kube/config

  Edit objects of another context:
    pleach console --kubeconfig ~/.kube/config --context staging --writable";

const TOP_EXAMPLES: &str = "\
Examples:
  The resources that take most space:
    pleach top --kubeconfig ~/.kube/config

  Writes per second, measured for ten seconds:
    pleach top --over 10s --sort-by writes";

const WORLD_EXAMPLES: &str = "\
Examples:
  A world for each suite:
    pleach serve --in-memory --test-endpoints --token secret &
    export PLEACH_TOKEN=secret
    pleach world fork one
    pleach world kubeconfig one > one.kubeconfig

  Learn the roles that a controller needs from what it did:
    pleach world audit one > audit.log
    pleach rbac learn --from-audit audit.log";

const COPY_EXAMPLES: &str = "\
Examples:
  Move to etcd, and back:
    pleach store copy --from ./data --to http://127.0.0.1:2379
    pleach store copy --from http://127.0.0.1:2379 --to ./data-again";

const REWRITE_EXAMPLES: &str = "\
Examples:
  Replace a key, with servers on etcd: put the new key behind the old one in the configuration and restart all servers;
  put it in front and restart them again; then, before the old key is taken out:
    pleach store rewrite http://127.0.0.1:2379 --encryption-provider-config encryption.yaml";

const REPAIR_EXAMPLES: &str = "\
Examples:
  See what is wrong and what would be lost, then do it:
    pleach store repair --dry-run ./data
    pleach store repair ./data

  Delete an object that the server cannot read:
    pleach store repair ./data --delete-key <a key that the dry run listed>";

/// Options of `pleach serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Keep everything in memory; nothing is written but the kubeconfig.
    #[arg(long, conflicts_with = "data_dir")]
    pub in_memory: bool,
    /// Serve worlds for tests: API servers under /worlds/NAME that are forked, reset, given faults and asked for
    /// their requests at /pleach/worlds, on this machine only. See docs/testing.md.
    #[arg(long, requires = "in_memory")]
    pub test_endpoints: bool,
    /// The seed of the worlds' uids, generated names and probabilities: the same requests get the same bytes in every
    /// process.
    #[arg(long, requires = "test_endpoints", env = "PLEACH_SEED", default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Stop when the process that started the server has ended, also by SIGKILL: for servers that tests start.
    #[arg(long)]
    pub end_with_parent: bool,
    /// Directory of objects, the CA and the kubeconfig; created if missing.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub storage: crate::storage::StorageOptions,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: IpAddr,
    /// The port to listen on; 0 takes any free port and prints it.
    #[arg(long, default_value_t = 6443)]
    pub port: u16,
    /// The admin's bearer token; generated if not given. Other users of the machine see it in the list of processes:
    /// use --token-file or the environment but for tests.
    #[arg(long, env = "PLEACH_TOKEN", hide_env_values = true, conflicts_with = "token_file")]
    pub token: Option<String>,
    /// A file with the admin's bearer token.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Certificates and keys.
    #[command(flatten)]
    pub tls: TlsOptions,
    /// Encryption of stored objects.
    #[command(flatten)]
    pub encryption: EncryptionOptions,
    /// Read --encryption-provider-config again when it changes.
    #[arg(long, requires = "encryption_provider_config")]
    pub encryption_provider_config_automatic_reload: bool,
    /// Auditing.
    #[command(flatten)]
    pub audit: AuditOptions,
    /// Authorization.
    #[command(flatten)]
    pub authorization: AuthorizationOptions,
    /// Authentication by tokens of other issuers, and requests without credentials.
    #[command(flatten)]
    pub authentication: AuthenticationOptions,
    /// API Priority and Fairness.
    #[command(flatten)]
    pub flow_control: FlowControlOptions,
    /// Admission plugins to enable besides those that run by default. All names of kube-apiserver v1.36 are
    /// known; plugins that are not implemented have no effect.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub enable_admission_plugins: Vec<String>,
    /// Admission plugins to disable, by kube-apiserver's names: NamespaceLifecycle, LimitRanger, PodSecurity,
    /// ResourceQuota, MutatingAdmissionWebhook and the others that run by default.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub disable_admission_plugins: Vec<String>,
    /// An AdmissionConfiguration (apiserver.config.k8s.io/v1). Of MutatingAdmissionWebhook and ValidatingAdmissionWebhook
    /// the kubeConfigFile is read: client certificates and tokens by the host of the webhook.
    #[arg(long, value_name = "FILE")]
    pub admission_control_config_file: Option<PathBuf>,
    /// Where the service of a webhook is, as NAMESPACE/NAME=HOST:PORT or, for one of its ports,
    /// NAMESPACE/NAME:PORT=HOST:PORT; may be given several times. Its certificate is still for NAME.NAMESPACE.svc. Other
    /// services are resolved by DNS.
    #[arg(long, value_delimiter = ',', value_name = "SERVICE=ADDRESS")]
    pub service_address: Vec<ServiceAddress>,
    /// The Kubernetes version whose features, APIs and CEL libraries are served: 1.30 to 1.36. New expressions may use
    /// what the version before it has.
    #[arg(long, default_value = "1.36", value_name = "1.N")]
    pub emulated_version: EmulatedVersion,
    /// Feature gates to enable: Unions (x-kubernetes-unions in CRDs), CostHints (a CRD refused for the
    /// cost of its rules gets bounds that would help), AllowUnsafeMalformedObjectDeletion (objects that
    /// cannot be decoded can be deleted), CBORServingAndStorage (requests and responses in CBOR); and those that
    /// are not locked in the emulated version: AggregatedDiscoveryRemoveBetaType, CRDValidationRatcheting,
    /// CustomResourceFieldSelectors, RetryGenerateName, WatchList.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME=true,…")]
    pub feature_gates: String,
    /// Which built-in kinds are served besides custom resources: all, or minimal for those that control planes made of
    /// CRDs need (namespaces, ConfigMaps, Secrets, ServiceAccounts, Leases, Events, RBAC, webhook configurations).
    #[arg(long, value_enum, default_value_t = BuiltinKinds::All, value_name = "WHICH")]
    pub builtin_kinds: BuiltinKinds,
    /// Versions and resources of built-in kinds to switch on or off, in kube-apiserver's syntax: apps/v1=false,
    /// batch/v1/cronjobs=false, api/all=false. The core group is always served.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "GROUP/VERSION=BOOL,…")]
    pub runtime_config: RuntimeConfig,
    /// The IPv4 addresses of Services. A second range, of IPv6, is ignored.
    #[arg(long, default_value = "10.0.0.0/24", value_name = "CIDR")]
    pub service_cluster_ip_range: String,
    /// The node ports of Services.
    #[arg(long, default_value = "30000-32767", value_name = "FROM-TO")]
    pub service_node_port_range: String,
    /// Controllers of kube-controller-manager to run, in its syntax: * for all, a name to enable one, -name to disable
    /// it. There are garbage-collector-controller, namespace-controller, serviceaccount-controller (the ServiceAccount
    /// default of each namespace), serviceaccount-token-controller (Secrets with tokens),
    /// root-ca-certificate-publisher-controller (its ConfigMap kube-root-ca.crt) and
    /// validatingadmissionpolicy-status-controller (type checking of policies).
    #[arg(
        long,
        default_value = "*",
        value_name = "NAMES",
        env = "PLEACH_CONTROLLERS",
        allow_hyphen_values = true
    )]
    pub controllers: EnabledControllers,
    /// Memory for past versions of objects, in MiB. Bounds how far back watches and paged lists can go,
    /// besides five minutes.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub history_mib: u64,
    /// The maximum size of a stored object with its key, in bytes.
    #[arg(long, default_value_t = MAX_REQUEST_BYTES as u64, value_name = "N", value_parser = clap::value_parser!(u64).range(4096..=32 << 20))]
    pub max_request_bytes: u64,
    /// The maximum size of the store in bytes. Over it only deletes are allowed, and updates that
    /// hardly grow an object, until it is smaller again; 0: no quota.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub quota_backend_bytes: u64,
    /// Do not wait until commits are on disk, as etcd's flag of the same name: a crash of the machine, not of the
    /// server, may lose the last writes.
    #[arg(long)]
    pub unsafe_no_fsync: bool,
    /// Memory the server may use, in bytes or with a unit (512Mi, 2G): from nine tenths of it on,
    /// requests are refused. The limit of the control group if not given.
    #[arg(long, value_name = "BYTES", value_parser = crate::system_limits::parse_bytes)]
    pub memory_limit: Option<u64>,
    /// Turn the write cache off (see ARCHITECTURE.md); for tests and measurements.
    #[arg(long, hide = true, env = "PLEACH_NO_WRITE_CACHE", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_write_cache: bool,
    /// The issuer of service account tokens; the first one issues, all are accepted. An https URL, so that
    /// /.well-known/openid-configuration is served.
    #[arg(long, default_value = "https://kubernetes.default.svc", value_name = "URL")]
    pub service_account_issuer: Vec<String>,
    /// The private key that signs service account tokens, as PEM: RSA, or ECDSA on P-256 or P-384. Generated
    /// into the data directory if not given.
    #[arg(long, value_name = "FILE")]
    pub service_account_signing_key_file: Option<PathBuf>,
    /// Keys or certificates that verify service account tokens besides the signing key; may be given several
    /// times.
    #[arg(long, value_name = "FILE")]
    pub service_account_key_file: Vec<PathBuf>,
    /// The URL of the key set in the issuer's documents; that of this server if not given.
    #[arg(long, value_name = "URL")]
    pub service_account_jwks_uri: Option<String>,
    /// The longest validity of a service account token: 1h to 2^32 seconds. Longer requests are shortened.
    #[arg(long, value_name = "DURATION", value_parser = parse_max_expiration)]
    pub service_account_max_token_expiration: Option<i64>,
    /// Audiences of tokens for this server; the issuers if not given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub api_audiences: Vec<String>,
    /// A file of bearer tokens: a line of CSV each, token,user,uid,"group1,group2".
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,
    /// Whether the web console is served at /console. On a terminal a link is printed that signs the admin in.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub console: bool,
    /// Names besides localhost and IP addresses under which browsers reach the console, such as that of a proxy.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub console_hosts: Vec<String>,
    /// Serve the console's files from this directory, not those that are built in.
    #[arg(long, value_name = "DIR")]
    pub console_dir: Option<PathBuf>,
    /// Where to write the kubeconfig; in the data directory if not given.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The log level: error, warn, info, debug or trace, or a filter per module.
    #[arg(long, default_value = "info", env = "PLEACH_LOG")]
    pub log_level: String,
    /// The log format.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

impl ServeOptions {
    /// The feature gates of the emulated version, as the flags set them.
    pub(crate) fn gates(&self) -> Result<Gates, String> {
        Gates::parse(&self.feature_gates, self.emulated_version)
            .map_err(|error| format!("--feature-gates: {error}"))
    }

    /// The built-in kinds that are served.
    pub(crate) fn served_kinds(&self) -> ServedKinds {
        let minimal = self.builtin_kinds == BuiltinKinds::Minimal;
        ServedKinds { minimal, config: self.runtime_config.clone() }
    }

    /// The addresses of Services and their node ports.
    pub(crate) fn service_ranges(&self) -> Result<ServiceRanges, String> {
        ServiceRanges::parse(&self.service_cluster_ip_range, &self.service_node_port_range)
    }
}

fn parse_max_expiration(text: &str) -> Result<i64, String> {
    let seconds = pleach_go::time::parse_duration(text)? / 1_000_000_000;
    if (3_600..=1 << 32).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be between 1 hour and 2^32 seconds".into())
    }
}

/// Which built-in kinds are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BuiltinKinds {
    /// All kinds of the Kubernetes API: workloads, networking, storage and more.
    All,
    /// Only the kinds that control planes made of CRDs need.
    Minimal,
}

/// Log formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// `pleach envtest …`
#[derive(Debug, Subcommand)]
pub(crate) enum EnvtestCommand {
    /// Write kube-apiserver, etcd and kubectl into a directory, for KUBEBUILDER_ASSETS.
    ///
    /// kube-apiserver and etcd are this binary under other names: they take the flags of the real programs, keep
    /// objects in etcd's data directory, and end with the process that started them. kubectl is a link to the one in
    /// PATH; without one, a script that says so.
    #[command(after_long_help = ENVTEST_EXAMPLES, disable_version_flag = true)]
    Install {
        /// The directory; created if missing.
        directory: PathBuf,
        /// The Kubernetes version that kube-apiserver emulates, 1.30 to 1.36; that of this server if not given.
        #[arg(long, value_name = "1.N")]
        version: Option<EmulatedVersion>,
    },
    /// Write the archive and the index that setup-envtest takes.
    #[command(disable_version_flag = true)]
    Bundle {
        /// The directory to write to; created if missing.
        directory: PathBuf,
        /// Where the directory will be served, for the links in the index.
        #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
        base_url: String,
        /// The Kubernetes version that kube-apiserver emulates, 1.30 to 1.36; that of this server if not given.
        #[arg(long, value_name = "1.N")]
        version: Option<EmulatedVersion>,
    },
}

/// `pleach store …`
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Write everything in a data directory into one file, also while a server runs.
    Backup {
        /// The data directory.
        #[arg(long, value_name = "DIR")]
        data_dir: PathBuf,
        /// The file to write.
        file: PathBuf,
    },
    /// Restore a backup into an empty data directory.
    Restore {
        /// The data directory; it must be empty or not exist.
        #[arg(long, value_name = "DIR")]
        data_dir: PathBuf,
        /// The backup.
        file: PathBuf,
        /// Skip this many revisions, so that clients notice and list again.
        #[arg(long, default_value_t = 1_000_000, value_name = "N")]
        skip_revisions: u64,
    },
    /// Recover a damaged store, or delete single objects.
    ///
    /// Reports what is lost, keeps a copy of everything it changes or removes, and leaves a store that
    /// can be opened. The server must not be running.
    #[command(after_long_help = REPAIR_EXAMPLES)]
    Repair {
        /// The data directory.
        data_dir: PathBuf,
        /// Only report what would be done.
        #[arg(long)]
        dry_run: bool,
        /// Delete this key, such as /registry/example.com/crontabs/default/broken; may be given several
        /// times. Keys of objects that cannot be decoded are listed.
        #[arg(long, value_name = "KEY")]
        delete_key: Vec<String>,
        /// If commits were lost, skip this many revisions, so that clients list again.
        #[arg(long, default_value_t = 1_000_000, value_name = "N")]
        skip_revisions: u64,
    },
    /// Copy all objects between a data directory and an etcd cluster, in either direction.
    ///
    /// Objects that are there already and equal are left alone, so that an interrupted copy can be started again. Every
    /// object is compared afterwards. Resource versions are the new store's: clients list again. No server may run on
    /// the data directory.
    #[command(after_long_help = COPY_EXAMPLES)]
    Copy {
        /// Where the objects are: a data directory, or the URLs of etcd servers with commas between them.
        #[arg(long, value_name = "PLACE")]
        from: String,
        /// Where they are copied to.
        #[arg(long, value_name = "PLACE")]
        to: String,
        /// Replace objects that are there and different.
        #[arg(long)]
        overwrite: bool,
        /// How long Events that are copied to etcd are kept; 0 keeps them.
        #[arg(long, default_value = "1h", value_name = "DURATION", value_parser = pleach_go::time::parse_std_duration)]
        event_ttl: std::time::Duration,
        #[command(flatten)]
        etcd: crate::storage::EtcdOptions,
        #[command(flatten)]
        encryption: EncryptionOptions,
    },
    /// Write stored objects once more, encrypted with the first key of their providers.
    ///
    /// After a key was added in front of others, or encryption was switched on or off. A server with a data directory
    /// does it itself when it starts; on etcd, servers may run meanwhile.
    #[command(after_long_help = REWRITE_EXAMPLES)]
    Rewrite {
        /// Where the objects are: a data directory, or the URLs of etcd servers with commas between them.
        place: String,
        /// The EncryptionConfiguration.
        #[arg(long, value_name = "FILE")]
        encryption_provider_config: PathBuf,
        /// How long Events that are written to etcd are kept; 0 keeps them.
        #[arg(long, default_value = "1h", value_name = "DURATION", value_parser = pleach_go::time::parse_std_duration)]
        event_ttl: std::time::Duration,
        #[command(flatten)]
        etcd: crate::storage::EtcdOptions,
    },
    /// Check a data directory or a backup and print statistics.
    Check {
        /// The data directory or backup file.
        path: PathBuf,
    },
}
