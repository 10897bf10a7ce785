//! The list that schema checks put their errors into: it has a limit.

pub(crate) use pleach_meta::FieldErrors as Report;
