//! Admission policies on files: the policies, bindings and parameters of a directory, and their results for objects.
//!
//! Policies are compiled, matched and evaluated by `pleach_policy`, objects decoded, defaulted and validated by
//! `pleach_pipeline`, as the server does it. What is left out is what needs a server: webhooks, uids and times.

pub mod evaluate;
mod mutate;
pub mod report;
pub mod setting;
