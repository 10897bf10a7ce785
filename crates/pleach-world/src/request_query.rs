//! Questions about the log of requests.

use crate::fault::Selector;
use crate::request_log::LoggedRequest;

/// Which requests of a log are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestQuery {
    /// The client, its verbs and resources.
    pub selector: Selector,
    /// Only requests that ask for a change, without those of leader election and reports of events.
    pub writes: bool,
    /// Only requests after so many events were sent to the watches of the selector, over all of them.
    pub after_event: Option<usize>,
}

impl RequestQuery {
    /// The requests of a log that are meant.
    ///
    /// # Errors
    ///
    /// If fewer events were sent than requests shall come after.
    pub fn find(&self, requests: &[LoggedRequest]) -> Result<Vec<LoggedRequest>, String> {
        let after = match self.after_event {
            Some(event) => nth_event(requests, &self.selector, event)?,
            None => 0,
        };
        let found = requests.iter().filter(|request| {
            request.number > after
                && self.selector.matches(request)
                && (!self.writes || (request.is_write() && !request.is_housekeeping()))
        });
        Ok(found.cloned().collect())
    }
}

/// The number of the last request before an event, counted from 1 on over the watches of a selector, whatever verbs it
/// has.
fn nth_event(requests: &[LoggedRequest], selector: &Selector, event: usize) -> Result<u64, String> {
    let watches = Selector { verbs: Vec::new(), ..selector.clone() };
    let watches = requests.iter().filter(|request| request.verb == "watch" && watches.matches(request));
    let mut events: Vec<u64> = watches.flat_map(|watch| watch.answer.events()).collect();
    events.sort_unstable();
    let found = event.checked_sub(1).and_then(|at| events.get(at)).copied();
    found.ok_or_else(|| format!("there is no event {event}: {} were sent", events.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u64, user: &str, verb: &str, events: &[u64]) -> LoggedRequest {
        let method = if verb == "watch" { "GET" } else { "POST" };
        let request = LoggedRequest {
            number,
            user: user.into(),
            verb: verb.into(),
            method: method.into(),
            ..LoggedRequest::default()
        };
        events.iter().for_each(|last| request.answer.note_event(*last));
        request
    }

    #[test]
    fn writes_after_an_event_are_found() {
        let log = [
            request(1, "ann", "watch", &[2, 5]),
            request(2, "bob", "create", &[]),
            request(3, "ann", "create", &[]),
            request(4, "ann", "watch", &[4]),
            request(5, "bob", "create", &[]),
            request(6, "ann", "create", &[]),
        ];
        let find = |user: &str, event| {
            let selector =
                Selector { user: user.into(), verbs: vec!["create".into()], ..Selector::default() };
            let query = RequestQuery { selector, writes: true, after_event: event };
            query.find(&log).map(|found| found.iter().map(|request| request.number).collect::<Vec<_>>())
        };
        assert_eq!(find("ann", None), Ok(vec![3, 6]));
        assert_eq!(find("ann", Some(1)), Ok(vec![3, 6]));
        assert_eq!(find("ann", Some(2)), Ok(vec![6]));
        assert_eq!(find("ann", Some(3)), Ok(vec![6]));
        assert_eq!(find("ann", Some(4)), Err("there is no event 4: 3 were sent".into()));
        assert_eq!(find("bob", Some(1)), Err("there is no event 1: 0 were sent".into()));
        assert_eq!(find("ann", Some(0)), Err("there is no event 0: 3 were sent".into()));
    }
}
