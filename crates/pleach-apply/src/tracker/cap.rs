//! At most ten updaters are remembered; the oldest are folded into one, by version.

use std::collections::HashMap;

use pleach_json::Str;
use pleach_work::charge;

use crate::encoded::Encoded;
use crate::entries::{Entries, Entry};
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
    // Where owners are; those that are folded leave a hole.
    let mut places: HashMap<Identity, usize> =
        entries.0.iter().enumerate().map(|(at, entry)| (entry.identity.clone(), at)).collect();
    let mut slots: Vec<Option<Entry>> = std::mem::take(&mut entries.0).into_iter().map(Some).collect();
    charge(8 * slots.len() as u64);
    // Sets folded into an entry are united at the end: one by one each would be added to all before it.
    let mut folded: HashMap<usize, Vec<Encoded>> = HashMap::new();
    let mut first_of: HashMap<Str, Identity> = HashMap::new();
    for (_, identity) in updaters {
        if excess == 0 {
            break;
        }
        let Some(&at) = places.get(&identity) else { continue };
        let Some(version) = slots[at].as_ref().map(|entry| entry.api_version.clone()) else { continue };
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, identity);
            continue;
        };
        let bucket = Identity::update(OLD_UPDATERS, &version, "");
        if !places.contains_key(&bucket)
            && let Some(first) = places.remove(first)
            && let Some(entry) = &mut slots[first]
        {
            entry.identity = bucket.clone();
            places.insert(bucket.clone(), first);
        }
        places.remove(&identity);
        folded.remove(&at);
        let gone = slots[at].take();
        if let Some(&into) = places.get(&bucket)
            && let (Some(into_entry), Some(gone)) = (&mut slots[into], gone)
        {
            into_entry.time = gone.time;
            folded.entry(into).or_default().push(gone.fields);
        }
        excess -= 1;
    }
    let filled = slots.into_iter().enumerate().filter_map(|(at, entry)| {
        let mut entry = entry?;
        if let Some(more) = folded.remove(&at) {
            entry.fields.add(Encoded::union(more));
        }
        Some(entry)
    });
    entries.0 = filled.collect();
}
