//! At most ten updaters are remembered; the oldest are folded into one, by version.

use pleach_json::Str;

use crate::entries::Entries;
use crate::managed_fields::{Identity, Operation};

const MOST_UPDATERS: usize = 10;
const OLD_UPDATERS: &str = "ancient-changes";

/// Folds the oldest updaters together until there are few enough.
pub(super) fn limit_updaters(entries: &mut Entries) {
    let updaters = entries.0.iter().filter(|entry| entry.identity.operation == Operation::Update);
    let mut excess = updaters.clone().count().saturating_sub(MOST_UPDATERS);
    if excess == 0 {
        return;
    }
    let mut updaters: Vec<_> =
        updaters.map(|entry| (entry.time.clone().unwrap_or_default(), entry.identity.clone())).collect();
    updaters.sort_by_cached_key(|(time, identity)| (time.clone(), identity.sort_key()));
    let mut first_of: Vec<(Str, Identity)> = Vec::new();
    for (_, identity) in updaters {
        if excess == 0 {
            break;
        }
        let Some(at) = entries.position(&identity) else { continue };
        let version = entries.0[at].api_version.clone();
        let Some((_, first)) = first_of.iter().find(|(seen, _)| *seen == version) else {
            first_of.push((version, identity));
            continue;
        };
        let bucket = Identity::update(OLD_UPDATERS, &version, "");
        if entries.position(&bucket).is_none()
            && let Some(first) = entries.position(first)
        {
            entries.0[first].identity = bucket.clone();
        }
        let folded = entries.0.remove(at);
        if let Some(at) = entries.position(&bucket) {
            let into = &mut entries.0[at];
            into.fields.add(folded.fields);
            into.time = folded.time;
        }
        excess -= 1;
    }
}
