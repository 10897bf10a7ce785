//! `pleach man`: the manual pages.

use std::io;
use std::path::PathBuf;

use clap::Args;

use super::Exit;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach man | man -l -
  pleach man --directory ~/.local/share/man/man1";

/// Options of `pleach man`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Write a page per command into this directory; without it, the first page goes to standard
    /// output.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Writes the manual pages of the whole program.
pub fn run(options: &Options, program: &clap::Command, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let Some(directory) = &options.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(program.clone()).render(&mut page)?;
        terminal.out.write_all(&page)?;
        return Ok(Exit::Fine);
    };
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(program.clone(), directory)?;
    Ok(Exit::Fine)
}
