//! Fields that an apply would change and that others own.

use pleach_meta::StatusCause;
use pleach_meta::go_format::quote;

use crate::managed_fields::{Identity, Operation};
use crate::set::{Path, Set};

/// A field that somebody else owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub owner: Identity,
    /// Which field.
    pub path: Path,
}

/// All conflicts of an apply, by owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    /// The conflicts with these owners over these fields.
    pub(crate) fn of(mut by_owner: Vec<(Identity, Set)>) -> Self {
        by_owner.sort_by_cached_key(|(owner, _)| owner.sort_key());
        let conflicts = by_owner.into_iter().flat_map(|(owner, fields)| {
            fields.paths().into_iter().map(move |path| Conflict { owner: owner.clone(), path })
        });
        Self(conflicts.collect())
    }

    /// The fields, whoever owns them.
    pub(crate) fn fields(&self) -> Set {
        self.0.iter().map(|conflict| conflict.path.clone()).collect()
    }

    /// Those that are not over these fields.
    #[must_use]
    pub(crate) fn without(self, fields: &Set) -> Self {
        Self(self.0.into_iter().filter(|conflict| !fields.has(&conflict.path.0)).collect())
    }

    /// What the client is told.
    pub fn message(&self) -> String {
        use std::fmt::Write as _;
        if let [Conflict { owner, path }] = self.0.as_slice() {
            return format!("Apply failed with 1 conflict: conflict with {}: {path}", shown(owner));
        }
        let mut text = format!("Apply failed with {} conflicts: ", self.0.len());
        let mut last: Option<&Identity> = None;
        for Conflict { owner, path } in &self.0 {
            if last != Some(owner) {
                let newline = if last.is_some() { "\n" } else { "" };
                let _ = write!(text, "{newline}conflicts with {}:", shown(owner));
                last = Some(owner);
            }
            let _ = write!(text, "\n- {path}");
        }
        text
    }

    /// One cause for each field.
    pub fn causes(&self) -> Vec<StatusCause> {
        let cause = |Conflict { owner, path }: &Conflict| StatusCause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", shown(owner)),
            field: path.to_string(),
        };
        self.0.iter().map(cause).collect()
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
