//! Fields that an apply would change and that others own.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use pleach_go::strconv::quote;
use pleach_meta::StatusCause;
use pleach_meta::field_error::{MAX_BYTES, MAX_ERRORS};

use crate::element::PathElement;
use crate::managed_fields::{Identity, Operation};
use crate::set::Set;

/// All conflicts of an apply: the owners, in order, and the fields of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts(Vec<(Identity, Set)>);

impl Conflicts {
    /// The conflicts with these owners over these fields.
    pub(crate) fn of(mut by_owner: Vec<(Identity, Set)>) -> Self {
        by_owner.sort_by_cached_key(|(owner, _)| owner.sort_key());
        Self(by_owner)
    }

    /// How many there are: one for each field of each owner.
    pub fn count(&self) -> usize {
        self.0.iter().map(|(_, fields)| fields.len()).sum()
    }

    /// Whether all of them are over these fields.
    pub(crate) fn are_over(&self, fields: &Set) -> bool {
        self.0.iter().all(|(_, own)| own.is_subset(fields))
    }

    /// The conflicts that are not over these fields.
    #[must_use]
    pub(crate) fn without(&self, fields: &Set) -> Self {
        let left = self.0.iter().map(|(owner, own)| (owner.clone(), own.difference(fields)));
        Self(left.filter(|(_, own)| !own.is_empty()).collect())
    }

    /// Visits the conflicts, up to the limit of an answer.
    fn each<'c>(&'c self, mut each: impl FnMut(&'c Identity, &str)) {
        let (mut reported, mut bytes) = (0, 0);
        let mut path_text = String::new();
        for (owner, fields) in &self.0 {
            fields.try_each_path(&mut |path| {
                if reported >= MAX_ERRORS || bytes > MAX_BYTES {
                    return ControlFlow::Break(());
                }
                path_text.clear();
                write_path(path, &mut path_text);
                reported += 1;
                bytes += path_text.len() + owner.manager.len();
                each(owner, &path_text);
                ControlFlow::Continue(())
            });
        }
    }

    /// The message for the client.
    pub fn message(&self) -> String {
        let count = self.count();
        let mut text = if count == 1 {
            String::from("Apply failed with 1 conflict: ")
        } else {
            format!("Apply failed with {count} conflicts: ")
        };
        let (mut last, mut reported): (Option<&Identity>, usize) = (None, 0);
        self.each(|owner, path| {
            reported += 1;
            if count == 1 {
                let _ = write!(text, "conflict with {}: {path}", shown(owner));
                return;
            }
            if last != Some(owner) {
                let newline = if last.is_some() { "\n" } else { "" };
                let _ = write!(text, "{newline}conflicts with {}:", shown(owner));
                last = Some(owner);
            }
            let _ = write!(text, "\n- {path}");
        });
        if reported < count {
            let _ = write!(text, "\n- and {} more", count - reported);
        }
        text
    }

    /// One cause for each field, up to the limit of an answer.
    pub fn causes(&self) -> Vec<StatusCause> {
        let mut causes = Vec::new();
        self.each(|owner, path| {
            causes.push(StatusCause {
                reason: "FieldManagerConflict".to_owned(),
                message: format!("conflict with {}", shown(owner)),
                field: path.to_owned(),
            });
        });
        causes
    }
}

fn write_path(path: &[PathElement], out: &mut String) {
    for element in path {
        let _ = write!(out, "{element}");
    }
}

/// An owner as messages name it: the version matters only to updates.
fn shown(owner: &Identity) -> String {
    let mut text = quote(&owner.manager);
    if !owner.subresource.is_empty() {
        text.push_str(" with subresource ");
        text.push_str(&quote(&owner.subresource));
    }
    if owner.operation == Operation::Update {
        text.push_str(" using ");
        text.push_str(&owner.api_version);
    }
    text
}
