//! `pleach policy`: admission policies on files.

pub mod explain;
pub mod test;

use std::io;

use clap::Subcommand;

use super::Exit;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach policy test --policies policies/ --objects manifests/
  pleach policy explain policies/";

/// `pleach policy …`
#[derive(Clone, Debug, Subcommand)]
pub enum PolicyCommand {
    /// Evaluate admission policies on objects, with the result and the cost of each.
    #[command(after_help = test::EXAMPLES)]
    Test(Box<test::Options>),
    /// Show the highest cost of the expressions of policies, by part.
    #[command(after_help = explain::EXAMPLES)]
    Explain(explain::Options),
}

/// Runs the command.
pub fn run(command: &PolicyCommand, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    match command {
        PolicyCommand::Test(options) => test::run(options, terminal),
        PolicyCommand::Explain(options) => explain::run(options, terminal),
    }
}
