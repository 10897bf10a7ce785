//! Standard output of the program.
//!
//! `println!` panics when the reader of a pipe has gone, as in `pleach serve | head -1`, and a server must not end with
//! it. What cannot be written is left out.

/// `print!` that goes on when standard output is closed.
macro_rules! write_out {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stdout(), $($argument)*);
    }};
}

/// `println!` that goes on when standard output is closed.
macro_rules! writeln_out {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($argument)*);
    }};
}
