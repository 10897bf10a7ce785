//! The commands on files, with the process's standard streams.

use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory as _;
use pleach_cli::{Color, Command, Terminal};

use crate::cli::Cli;

/// Runs the command; returns its exit code.
pub(crate) fn run(command: &Command, color: Color) -> ExitCode {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let mut out = BufWriter::new(io::stdout());
    let mut terminal = Terminal {
        input: &mut io::stdin(),
        out: &mut out,
        err: &mut io::stderr(),
        color: color.on_stdout(no_color),
        interactive: io::stderr().is_terminal(),
    };
    let exit = pleach_cli::run(command, &mut Cli::command(), &mut terminal);
    match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("pleach: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::from(exit.code()),
    }
}

/// The text of a file that a flag names.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// An error in a file that a flag names.
pub(crate) fn at(path: &Path, error: &str) -> String {
    format!("{}: {error}", path.display())
}
