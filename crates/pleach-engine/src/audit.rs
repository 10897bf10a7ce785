//! Audit annotations: key and value pairs that the engine adds to the audit event of a request.
//!
//! They are collected only while a request is audited; otherwise annotating costs a look at a task local.

use std::cell::RefCell;

use pleach_json::Map;

tokio::task_local! {
    static ANNOTATIONS: RefCell<Map>;
}

/// Annotates the request that the running task works on, if it is audited. The first value of a key stays.
pub fn annotate(key: &str, value: impl FnOnce() -> String) {
    let _ = ANNOTATIONS.try_with(|annotations| {
        let mut annotations = annotations.borrow_mut();
        if annotations.get(key).is_none() {
            annotations.insert(key, value());
        }
    });
}

/// Works on a request and collects its annotations.
pub async fn collecting<F: Future>(request: F) -> (F::Output, Map) {
    let collect = async move {
        let output = request.await;
        (output, ANNOTATIONS.with(RefCell::take))
    };
    ANNOTATIONS.scope(RefCell::default(), collect).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn annotations_are_those_of_the_request() {
        annotate("lost", || unreachable!("nothing is audited"));
        let ((), found) = collecting(async {
            annotate("a", || "1".into());
            tokio::task::yield_now().await;
            annotate("a", || "2".into());
            annotate("b", || "3".into());
        })
        .await;
        let found: Vec<_> =
            found.iter().map(|(key, value)| (key.to_string(), value.as_str().unwrap())).collect();
        assert_eq!(found, [("a".to_owned(), "1"), ("b".to_owned(), "3")]);
    }
}
