//! Standard input and output of a command, and whether output is coloured.
//!
//! Commands write only here, so tests run them in process. The binary is the only place that makes
//! a [`Terminal`] of the real streams.

use std::io::{IsTerminal as _, Read, Write};

use clap::ValueEnum;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The streams of a command.
pub struct Terminal<'a> {
    /// Where `-` is read from.
    pub input: &'a mut (dyn Read + Send),
    /// Findings and results.
    pub out: &'a mut (dyn Write + Send),
    /// Errors of the command itself, and progress.
    pub err: &'a mut (dyn Write + Send),
    /// Whether `out` shows colours.
    pub color: bool,
    /// Whether a person watches `err`.
    pub interactive: bool,
}

impl std::fmt::Debug for Terminal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("color", &self.color).finish_non_exhaustive()
    }
}

impl Color {
    /// Whether standard output shows colours. `no_color` says that `NO_COLOR` is set.
    pub fn on_stdout(self, no_color: bool) -> bool {
        self.on(no_color, std::io::stdout().is_terminal())
    }

    /// The same of standard error.
    pub fn on_stderr(self, no_color: bool) -> bool {
        self.on(no_color, std::io::stderr().is_terminal())
    }

    fn on(self, no_color: bool, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !no_color && is_terminal,
        }
    }
}

/// Colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Something taken away.
    Red,
    /// Something added.
    Green,
    /// Something to notice.
    Yellow,
    /// Something said aside.
    Dim,
    /// A heading.
    Bold,
}

impl Paint {
    /// `text` in this colour, if there are colours.
    pub fn on(self, color: bool, text: &str) -> String {
        if !color || text.is_empty() {
            return text.to_owned();
        }
        let code = match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Dim => "2",
            Self::Bold => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
