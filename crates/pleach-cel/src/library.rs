//! The libraries of functions, one file each, in the order the documentation lists them.
//!
//! A function with overloads in several libraries (`string`, `indexOf`) has them in this order
//! too: where arguments are `dyn`, the first that fits decides.

use crate::function::Library;

mod authz;
mod cidr;
mod conversions;
pub(crate) mod format;
mod ip;
mod json_patch;
mod lists;
mod lists_extended;
mod operators;
mod optionals;
mod ordering;
mod quantity;
mod regex;
mod semver;
mod sets;
mod strings;
mod text;
mod time;
mod two_var_comprehensions;
mod urls;

pub(crate) use json_patch::LIBRARY as JSON_PATCH_LIBRARY;
pub(crate) use regex::compile_pattern;

/// Every library.
pub static LIBRARIES: &[&Library] = &[
    &operators::LIBRARY,
    &ordering::LIBRARY,
    &conversions::LIBRARY,
    &time::LIBRARY,
    &text::LIBRARY,
    &optionals::LIBRARY,
    &strings::LIBRARY,
    &lists::LIBRARY,
    &lists_extended::LIBRARY,
    &regex::LIBRARY,
    &urls::LIBRARY,
    &ip::LIBRARY,
    &cidr::LIBRARY,
    &quantity::LIBRARY,
    &semver::LIBRARY,
    &format::LIBRARY,
    &sets::LIBRARY,
    &authz::LIBRARY,
    &two_var_comprehensions::LIBRARY,
];
