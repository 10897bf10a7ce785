//! At most ten updaters are remembered; the oldest are folded into one, by version.

use pleach_json::Str;

use crate::managed_fields::{Identity, ManagedFields, Operation};

const MOST_UPDATERS: usize = 10;
const OLD_UPDATERS: &str = "ancient-changes";

/// Folds the oldest updaters together until there are few enough.
pub(super) fn limit_updaters(managed: &mut ManagedFields) {
    let mut updaters: Vec<Identity> = managed
        .owners
        .iter()
        .filter(|owner| owner.identity.operation == Operation::Update)
        .map(|owner| owner.identity.clone())
        .collect();
    let mut excess = updaters.len().saturating_sub(MOST_UPDATERS);
    if excess == 0 {
        return;
    }
    updaters.sort_by_cached_key(|identity| {
        let time = managed.owner(identity).and_then(|owner| owner.time.clone()).unwrap_or_default();
        (time, identity.sort_key())
    });
    let mut first_of: Vec<(Str, Identity)> = Vec::new();
    for identity in updaters {
        if excess == 0 {
            break;
        }
        let Some(at) = managed.position(&identity) else { continue };
        let version = managed.owners[at].api_version.clone();
        let Some((_, first)) = first_of.iter().find(|(seen, _)| *seen == version) else {
            first_of.push((version, identity));
            continue;
        };
        let bucket = Identity::update(OLD_UPDATERS, &version, "");
        if managed.position(&bucket).is_none()
            && let Some(first) = managed.position(first)
        {
            managed.owners[first].identity = bucket.clone();
        }
        let folded = managed.owners.remove(at);
        if let Some(at) = managed.position(&bucket) {
            let into = &mut managed.owners[at];
            into.fields = folded.fields.union(&into.fields);
            into.time = folded.time;
        }
        excess -= 1;
    }
}
