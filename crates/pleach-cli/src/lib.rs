//! CustomResourceDefinitions and their objects in files: the offline half of `pleach`.
//!
//! Every command drives the libraries that the server runs on, so their verdicts and messages are
//! the server's. This crate adds positions in files, explanations and advice. No sockets, and no second
//! implementation of any rule.
//!
//! [`Command`] is the parsed command line, [`run`] runs it on a [`Terminal`].
//!
//! # In tests of a controller
//!
//! [`check`] returns the findings of a server about a CRD and an object, given as JSON or YAML. With
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
pub mod merge;
pub mod object;
pub mod output;
pub mod playground;
pub mod policy;
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
    /// Check CRDs: errors of the server, and warnings.
    #[command(after_help = cmd::lint::EXAMPLES)]
    Lint(cmd::lint::Options),
    /// Check objects against CRDs, as the server does.
    #[command(after_help = cmd::validate::EXAMPLES)]
    Validate(cmd::validate::Options),
    /// Show objects as they would be stored: pruned, defaulted, coerced.
    #[command(after_help = cmd::render::EXAMPLES)]
    Render(cmd::render::Options),
    /// Describe the fields of a kind, as kubectl explain does.
    #[command(after_help = cmd::explain::EXAMPLES)]
    Explain(cmd::explain::Options),
    /// Make up objects that validate: a minimal and a full one.
    #[command(after_help = cmd::sample::EXAMPLES)]
    Sample(cmd::sample::Options),
    /// Compare two CRDs: breaking changes, each with an example object.
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
    /// Rewrite x-kubernetes-unions as standard schemas and CEL rules.
    #[command(after_help = cmd::expand::EXAMPLES)]
    Expand(cmd::expand::Options),
    /// Print the OpenAPI document that a server would publish.
    #[command(name = "openapi", after_help = cmd::openapi::EXAMPLES)]
    OpenApi(cmd::openapi::Options),
    /// Evaluate admission policies on files, and explain their cost.
    #[command(subcommand, after_help = cmd::policy::EXAMPLES)]
    Policy(cmd::policy::PolicyCommand),
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
        Command::Policy(command) => cmd::policy::run(command, terminal),
        Command::Rbac(command) => cmd::rbac::run(command, terminal),
        Command::Completions(options) => cmd::completions::run(*options, program, terminal),
        Command::Man(options) => cmd::man::run(options, program, terminal),
    };
    ended(result, terminal)
}

/// A closed pipe is no error: the reader has read enough.
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
