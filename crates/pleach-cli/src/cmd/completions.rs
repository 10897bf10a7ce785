//! `pleach completions`: shell completions.

use std::io;

use clap::Args;

use super::Exit;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach completions bash > /etc/bash_completion.d/pleach
  pleach completions zsh > \"${fpath[1]}/_pleach\"
  pleach completions fish > ~/.config/fish/completions/pleach.fish";

/// Options of `pleach completions`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Options {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Writes the completions of the whole program.
pub fn run(options: Options, program: &mut clap::Command, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, program, "pleach", &mut text);
    terminal.out.write_all(&text)?;
    Ok(Exit::Fine)
}
