//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pleach_engine::gates::Gates;
use pleach_engine::limits::MAX_REQUEST_BYTES;

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
    Serve(ServeOptions),
    /// Back up, restore, check and repair a data directory.
    #[command(subcommand)]
    Store(StoreCommand),
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
    /// Directory of objects, the CA and the kubeconfig; created if missing.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: IpAddr,
    /// The port to listen on; 0 takes any free port and prints it.
    #[arg(long, default_value_t = 6443)]
    pub port: u16,
    /// The admin's bearer token; generated if not given.
    #[arg(long, env = "PLEACH_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Admission plugins to enable besides those that run by default. All names of kube-apiserver v1.36 are
    /// known; plugins that are not implemented have no effect.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub enable_admission_plugins: Vec<String>,
    /// Admission plugins to disable. Of those that run by default, NamespaceLifecycle,
    /// MutatingAdmissionWebhook and ValidatingAdmissionWebhook are implemented.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub disable_admission_plugins: Vec<String>,
    /// Feature gates to enable: Unions (x-kubernetes-unions in CRDs), CostHints (a CRD refused for the
    /// cost of its rules gets bounds that would help), AllowUnsafeMalformedObjectDeletion (objects that
    /// cannot be decoded can be deleted).
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME=true,…")]
    pub feature_gates: Gates,
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
    /// Memory the server may use, in bytes or with a unit (512Mi, 2G): from nine tenths of it on,
    /// requests are refused. The limit of the control group if not given.
    #[arg(long, value_name = "BYTES", value_parser = crate::system_limits::parse_bytes)]
    pub memory_limit: Option<u64>,
    /// Turn the write cache off (see ARCHITECTURE.md); for tests and measurements.
    #[arg(long, hide = true, env = "PLEACH_NO_WRITE_CACHE", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_write_cache: bool,
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

/// Log formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
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
    /// Check a data directory or a backup and print statistics.
    Check {
        /// The data directory or backup file.
        path: PathBuf,
    },
}
