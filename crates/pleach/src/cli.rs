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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: pleach_cli::Color,
}

/// What to do.
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
    /// What works on files.
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
    /// Where objects, the CA and the kubeconfig are kept. Made if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: IpAddr,
    /// The port to listen on; 0 takes any that is free, and prints it.
    #[arg(long, default_value_t = 6443)]
    pub port: u16,
    /// The admin's bearer token; made up if not given.
    #[arg(long, env = "PLEACH_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Admission plugins to switch off: NamespaceLifecycle, MutatingAdmissionWebhook,
    /// ValidatingAdmissionWebhook.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub disable_admission_plugins: Vec<String>,
    /// Feature gates to open: Unions (x-kubernetes-unions in CRDs), CostHints (a CRD refused for the cost
    /// of its rules is told which bounds would help), AllowUnsafeMalformedObjectDeletion (objects that
    /// cannot be decoded can be deleted).
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME=true,…")]
    pub feature_gates: Gates,
    /// How much memory past versions of objects may take, in MiB. Watches and paged lists can go back that
    /// far, and five minutes at most.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub history_mib: u64,
    /// The most bytes that an object may take in the store, with its key.
    #[arg(long, default_value_t = MAX_REQUEST_BYTES as u64, value_name = "N", value_parser = clap::value_parser!(u64).range(4096..=32 << 20))]
    pub max_request_bytes: u64,
    /// How many bytes the store may take. Over it only deletes are taken, and updates that hardly grow an
    /// object, until it is smaller again; 0: no bound.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub quota_backend_bytes: u64,
    /// How much memory the server may use, in bytes or with a unit (512Mi, 2G): from nine tenths of it on,
    /// requests are refused. The limit of the control group if not given.
    #[arg(long, value_name = "BYTES", value_parser = crate::machine::parse_bytes)]
    pub memory_limit: Option<u64>,
    /// Turn the write cache off (see ARCHITECTURE.md); for tests and measurements.
    #[arg(long, hide = true, env = "PLEACH_NO_WRITE_CACHE", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_write_cache: bool,
    /// Where to write the kubeconfig; beside the data if not given.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// What is logged: error, warn, info, debug or trace, or a filter per module.
    #[arg(long, default_value = "info", env = "PLEACH_LOG")]
    pub log_level: String,
    /// How it is logged.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines are written.
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
    /// Fill an empty data directory from a backup.
    Restore {
        /// The data directory; it must be empty or not exist.
        #[arg(long, value_name = "DIR")]
        data_dir: PathBuf,
        /// The backup.
        file: PathBuf,
        /// Start this many revisions later, so that clients notice and list anew.
        #[arg(long, default_value_t = 1_000_000, value_name = "N")]
        skip_revisions: u64,
    },
    /// Get what can be read out of a damaged store, or take single objects away.
    ///
    /// Says what is lost, keeps a copy of everything it changes or removes, and leaves a store that can be
    /// opened. The server must not be running.
    #[command(after_long_help = REPAIR_EXAMPLES)]
    Repair {
        /// The data directory.
        data_dir: PathBuf,
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
        /// Delete what is stored under this key, such as /registry/example.com/crontabs/default/broken; may
        /// be given several times. Keys of objects that cannot be decoded are listed.
        #[arg(long, value_name = "KEY")]
        delete_key: Vec<String>,
        /// When something was lost, start this many revisions later, so that clients list anew.
        #[arg(long, default_value_t = 1_000_000, value_name = "N")]
        skip_revisions: u64,
    },
    /// Read a data directory or a backup and report what is in it.
    Check {
        /// The data directory or backup file.
        path: PathBuf,
    },
}
