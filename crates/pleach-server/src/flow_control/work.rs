//! Work estimates: how many seats a request takes. Long lists take more than one, by the number and size of objects.

use pleach_auth::Verb;
use pleach_engine::Engine;

use crate::app::Call;

/// Bytes of objects that a seat stands for, as upstream has it.
const BYTES_PER_SEAT: u64 = 100_000;
/// Lists are streamed: no more than this is counted.
const MOST_BYTES: u64 = 1_000_000;

/// How many seats a request takes, at least one and at most `most`.
pub(super) fn seats(call: &Call<'_>, engine: &Engine, most: usize) -> usize {
    let Some(asked) = &call.attributes.resource else { return 1 };
    let query = call.query;
    match call.attributes.verb {
        Verb::List => {}
        // A watch that begins with the objects there are is a list at first.
        Verb::Watch
            if query.switch("sendInitialEvents") == Some(true)
                || matches!(query.text("resourceVersion"), "" | "0") => {}
        _ => return 1,
    }
    let Some((count, average)) = engine.list_size(asked.group, asked.resource, asked.namespace) else {
        return 1;
    };
    let listed = match query.text("limit") {
        _ if !asked.name.is_empty() => 1,
        "" => count,
        limit => match limit.parse::<i64>() {
            // It will be refused.
            Err(_) => return most,
            Ok(limit) => {
                u64::try_from(limit).ok().filter(|limit| *limit > 0).map_or(count, |limit| limit.min(count))
            }
        },
    };
    let bytes = listed.saturating_mul(average).min(MOST_BYTES);
    usize::try_from(bytes.div_ceil(BYTES_PER_SEAT)).unwrap_or(most).clamp(1, most)
}
