//! CustomResourceDefinitions and their objects in files: the offline half of `pleach`.
//!
//! Every command drives the libraries that the server runs on, so their verdicts and messages are
//! the server's. What is added here is where in a file something stands, what it means and what to
//! do about it. No sockets, and no second implementation of any rule.
//!
//! [`Command`] is what the binary parses, [`run`] runs it on a [`Terminal`].

pub mod catalog;
pub mod cmd;
pub mod document;
pub mod finding;
pub mod input;
pub mod lint;
pub mod locate;
pub mod object;
pub mod output;
mod scale;
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
}

/// Runs a command.
pub fn run(command: &Command, terminal: &mut Terminal<'_>) -> Exit {
    let result = match command {
        Command::Lint(options) => cmd::lint::run(options, terminal),
        Command::Validate(options) => cmd::validate::run(options, terminal),
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
