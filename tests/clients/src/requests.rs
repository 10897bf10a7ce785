//! Raw requests, which no client library would send.

use std::time::Duration;

use pleach_conformance::{Connection, Endpoint};
use serde_json::Value;

/// A server to send requests to.
#[derive(Clone)]
pub struct Api {
    endpoint: Endpoint,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body; `Null` if it is no JSON.
    pub body: Value,
}

impl Answer {
    /// The body, if the status is a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.body);
        self.body
    }
}

impl Api {
    /// Requests to this endpoint.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    /// Sends a request; the error is the connection's.
    pub fn try_send(&self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Answer> {
        let content = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let headers = [("Content-Type".to_owned(), content.to_owned())];
        let text = body.map(Value::to_string);
        let answer = self.endpoint.send(method, path, &headers, text.as_deref(), crate::SOON)?;
        let status = answer.status;
        let body = serde_json::from_slice(&answer.body()?).unwrap_or(Value::Null);
        Ok(Answer { status, body })
    }

    /// Sends a raw body.
    #[track_caller]
    pub fn raw(&self, method: &str, path: &str, body: &str) -> Answer {
        self.raw_with(method, path, &[], Some(body))
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Sends headers and a raw body.
    pub fn raw_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> std::io::Result<Answer> {
        let headers: Vec<_> = headers.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let answer = self.endpoint.send(method, path, &headers, body, crate::SOON)?;
        let status = answer.status;
        let body = serde_json::from_slice(&answer.body()?).unwrap_or(Value::Null);
        Ok(Answer { status, body })
    }

    /// Sends a raw body, with a timeout for reads.
    pub fn raw_within(
        &self,
        method: &str,
        path: &str,
        body: &str,
        patience: Duration,
    ) -> std::io::Result<Answer> {
        let answer = self.endpoint.send(method, path, &[], Some(body), patience)?;
        let status = answer.status;
        let body = serde_json::from_slice(&answer.body()?).unwrap_or(Value::Null);
        Ok(Answer { status, body })
    }

    /// The text of a path.
    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let answer = self.endpoint.send("GET", path, &[], None, crate::SOON).expect("the server answers");
        String::from_utf8(answer.body().expect("the answer is whole")).expect("the answer is text")
    }

    /// Sends bytes; returns the status code, content type and body.
    #[track_caller]
    pub fn bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> (u16, String, Vec<u8>) {
        let headers: Vec<_> = headers.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let answer = self.endpoint.send_bytes(method, path, &headers, body, crate::SOON);
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let status = answer.status;
        let media = answer.headers.iter().find(|(key, _)| key == "content-type");
        let media = media.map(|(_, value)| value.clone()).unwrap_or_default();
        (status, media, answer.body().unwrap_or_else(|error| panic!("{method} {path}: {error}")))
    }

    /// The length of a response body.
    pub fn length(&self, path: &str, headers: &[(&str, &str)]) -> std::io::Result<usize> {
        let headers: Vec<_> = headers.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let answer = self.endpoint.send("GET", path, &headers, None, crate::SOON)?;
        assert_eq!(answer.status, 200, "{path}");
        answer.body().map(|body| body.len())
    }

    /// Sends a request and reads only the start of the response.
    #[track_caller]
    pub fn open(&self, path: &str) -> Connection {
        self.endpoint.send("GET", path, &[], None, crate::SOON).expect("a request is answered")
    }

    /// Sends an anonymous request.
    pub fn anonymous(&self, method: &str, path: &str) -> std::io::Result<Answer> {
        Self { endpoint: Endpoint::new(self.endpoint.port, "") }.raw_with(method, path, &[], None)
    }

    /// Sends a request that must be answered.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.try_send(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Reads an object.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// Creates an object, which must succeed.
    #[track_caller]
    pub fn create(&self, path: &str, body: &Value) -> Value {
        self.send("POST", path, Some(body)).ok()
    }

    /// Opens a watch; the connection's reads time out after `patience`.
    #[track_caller]
    pub fn watch(&self, path: &str, patience: Duration) -> Connection {
        let path = format!("{path}{}watch=true", if path.contains('?') { '&' } else { '?' });
        let watch = self.endpoint.send("GET", &path, &[], None, patience).expect("a watch is answered");
        assert_eq!(watch.status, 200, "{path}");
        watch
    }
}
