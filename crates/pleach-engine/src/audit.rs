//! Audit annotations: key and value pairs that the engine adds to the audit event of a request.
//!
//! They are collected only while a request is audited; otherwise annotating costs a look at a task local.

use std::cell::RefCell;

use pleach_json::Map;

tokio::task_local! {
    static ANNOTATIONS: Annotations;
}

/// The annotations of a request.
struct Annotations {
    found: RefCell<Map>,
    /// Whether the event has the body of the request: its level is `Request` at least.
    has_body: bool,
}

/// Annotates the request that the running task works on, if it is audited. The first value of a key stays.
pub fn annotate(key: &str, value: impl FnOnce() -> String) {
    let _ = ANNOTATIONS.try_with(|annotations| annotations.add(key, value));
}

/// The same for values with parts of an object: only where the event has the body of the request.
pub fn annotate_with_body(key: &str, value: impl FnOnce() -> String) {
    let _ = ANNOTATIONS.try_with(|annotations| {
        if annotations.has_body {
            annotations.add(key, value);
        }
    });
}

impl Annotations {
    fn add(&self, key: &str, value: impl FnOnce() -> String) {
        let mut found = self.found.borrow_mut();
        if found.get(key).is_none() {
            found.insert(key, value());
        }
    }
}

/// Works on a request and collects its annotations. `has_body`: the event has the body of the request.
pub async fn collecting<F: Future>(request: F, has_body: bool) -> (F::Output, Map) {
    let collect = async move {
        let output = request.await;
        (output, ANNOTATIONS.with(|annotations| annotations.found.take()))
    };
    ANNOTATIONS.scope(Annotations { found: RefCell::default(), has_body }, collect).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn annotations_are_those_of_the_request() {
        annotate("lost", || unreachable!("nothing is audited"));
        for (has_body, want) in [(false, "a=1 b=3"), (true, "a=1 b=3 c=4")] {
            let request = async {
                annotate("a", || "1".into());
                tokio::task::yield_now().await;
                annotate("a", || "2".into());
                annotate("b", || "3".into());
                annotate_with_body("c", || "4".into());
            };
            let ((), found) = collecting(request, has_body).await;
            let found: Vec<_> =
                found.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect();
            assert_eq!(found.join(" "), want);
        }
    }
}
