//! CustomResourceDefinitions and their objects in files: the offline half of `pleach`.
//!
//! Every command drives the libraries that the server runs on, so their verdicts and messages are
//! the server's. What is added here is where in a file something stands, what it means and what to
//! do about it. No sockets, and no second implementation of any rule.
//!
//! [`Command`] is what the binary parses, [`run`] runs it on a [`Terminal`].
//!
//! # In tests of a controller
//!
//! [`check`] says what a server would say to a CRD and to an object, given as JSON or YAML. With
//! kube-rs, `serde_json::to_string(&Widget::crd())` gives the first and
//! `serde_json::to_string(&Widget::new("a", spec))` the second:
//!
//! ```
//! use pleach_cli::check::{check_crd, check_object};
//!
//! // let crd = serde_json::to_string(&Widget::crd()).unwrap();
//! let crd = r#"{
//!     "apiVersion": "apiextensions.k8s.io/v1",
//!     "kind": "CustomResourceDefinition",
//!     "metadata": {"name": "widgets.example.com"},
//!     "spec": {
//!         "group": "example.com",
//!         "scope": "Namespaced",
//!         "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
//!         "versions": [{
//!             "name": "v1", "served": true, "storage": true,
//!             "schema": {"openAPIV3Schema": {
//!                 "type": "object",
//!                 "properties": {"spec": {
//!                     "type": "object",
//!                     "required": ["size"],
//!                     "properties": {"size": {"type": "integer", "minimum": 1}}
//!                 }}
//!             }}
//!         }]
//!     }
//! }"#;
//! assert_eq!(check_crd(crd), Vec::<String>::new());
//!
//! let good = r#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 2}}"#;
//! assert_eq!(check_object(crd, good), Vec::<String>::new());
//!
//! let bad = good.replace("2", "0").replace("\"size\"", "\"siez\": 1, \"size\"");
//! assert_eq!(
//!     check_object(crd, &bad),
//!     [
//!         "unknown field \"spec.siez\"",
//!         "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
//!     ]
//! );
//! ```

pub mod catalog;
pub mod check;
pub mod cmd;
pub mod diff;
pub mod document;
pub mod finding;
pub mod input;
pub mod lint;
pub mod locate;
pub mod object;
pub mod output;
pub mod playground;
mod progress;
pub mod sample;
pub mod terminal;

use std::io;

use clap::Subcommand;

pub use cmd::Exit;
pub use terminal::{Color, Terminal};

/// The commands that work on files.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Check CRDs: would the server accept them, and what will surprise.
    #[command(after_help = cmd::lint::EXAMPLES)]
    Lint(cmd::lint::Options),
    /// Check objects against CRDs: what would the server say.
    #[command(after_help = cmd::validate::EXAMPLES)]
    Validate(cmd::validate::Options),
    /// Show what would be stored: pruned, defaulted, coerced.
    #[command(after_help = cmd::render::EXAMPLES)]
    Render(cmd::render::Options),
    /// Describe the fields of a kind, as kubectl explain does.
    #[command(after_help = cmd::explain::EXAMPLES)]
    Explain(cmd::explain::Options),
    /// Make up objects that validate: a minimal and a full one.
    #[command(after_help = cmd::sample::EXAMPLES)]
    Sample(cmd::sample::Options),
    /// Compare two CRDs: what breaks, with an object that shows it.
    #[command(after_help = cmd::diff::EXAMPLES)]
    Diff(cmd::diff::Options),
    /// Write CRDs in another version of apiextensions.k8s.io.
    #[command(name = "convert-crd", after_help = cmd::convert_crd::EXAMPLES)]
    ConvertCrd(cmd::convert_crd::Options),
    /// Show the part of schemas that pruning goes by.
    #[command(after_help = cmd::skeleton::EXAMPLES)]
    Skeleton(cmd::skeleton::Options),
    /// Propose structural schemas.
    #[command(after_help = cmd::structuralize::EXAMPLES)]
    Structuralize(cmd::structuralize::Options),
    /// Unfold x-kubernetes-unions into what every Kubernetes knows.
    #[command(after_help = cmd::expand::EXAMPLES)]
    Expand(cmd::expand::Options),
    /// Print the OpenAPI document that a server would publish.
    #[command(name = "openapi", after_help = cmd::openapi::EXAMPLES)]
    OpenApi(cmd::openapi::Options),
    /// Write the roles that an audit log shows to be needed.
    #[command(subcommand, after_help = cmd::rbac::EXAMPLES)]
    Rbac(cmd::rbac::RbacCommand),
    /// Print completions for a shell.
    #[command(after_help = cmd::completions::EXAMPLES)]
    Completions(cmd::completions::Options),
    /// Print manual pages.
    #[command(after_help = cmd::man::EXAMPLES)]
    Man(cmd::man::Options),
}

/// Runs a command. `program` is the whole command line, for completions and manual pages.
pub fn run(command: &Command, program: &mut clap::Command, terminal: &mut Terminal<'_>) -> Exit {
    let result = match command {
        Command::Lint(options) => cmd::lint::run(options, terminal),
        Command::Validate(options) => cmd::validate::run(options, terminal),
        Command::Render(options) => cmd::render::run(options, terminal),
        Command::Explain(options) => cmd::explain::run(options, terminal),
        Command::Sample(options) => cmd::sample::run(options, terminal),
        Command::Diff(options) => cmd::diff::run(options, terminal),
        Command::ConvertCrd(options) => cmd::convert_crd::run(options, terminal),
        Command::Skeleton(options) => cmd::skeleton::run(options, terminal),
        Command::Structuralize(options) => cmd::structuralize::run(options, terminal),
        Command::Expand(options) => cmd::expand::run(options, terminal),
        Command::OpenApi(options) => cmd::openapi::run(options, terminal),
        Command::Rbac(command) => cmd::rbac::run(command, terminal),
        Command::Completions(options) => cmd::completions::run(*options, program, terminal),
        Command::Man(options) => cmd::man::run(options, program, terminal),
    };
    ended(result, terminal)
}

/// A reader that went away has what it wanted; everything else is trouble.
fn ended(result: io::Result<Exit>, terminal: &mut Terminal<'_>) -> Exit {
    match result {
        Ok(exit) => exit,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Fine,
        Err(error) => {
            let _ = writeln!(terminal.err, "pleach: {error}");
            Exit::Trouble
        }
    }
}
