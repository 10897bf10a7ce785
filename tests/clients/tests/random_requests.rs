//! Random requests: almost valid paths, queries, selectors, tokens and bodies.
//!
//! Mutations of valid requests, from a fixed seed. Each gets a response, none a 500, and the server
//! stays up.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fmt::Write as _;

use pleach_clients::Running;
use serde_json::json;

const REQUESTS: usize = 2_500;

/// A seeded random number generator.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Removes, repeats, replaces or inserts parts of a text.
    fn disturb(&mut self, text: &str, bits: &[&str]) -> String {
        let mut out: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(3) {
            let at = self.below(out.len() + 1);
            let to = (at + self.below(6)).min(out.len());
            match self.below(4) {
                0 => drop(out.drain(at..to)),
                1 => {
                    let again: Vec<char> = out[at..to].to_vec();
                    out.splice(at..at, again);
                }
                2 => drop(out.splice(at..to, self.pick(bits).chars())),
                _ => drop(out.splice(at..at, self.pick(bits).chars())),
            }
        }
        out.into_iter().collect()
    }
}

/// Escapes text for a URL, except for escapes that are there already.
fn url(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[test]
fn almost_valid_requests_are_answered() {
    let server = Running::in_memory();
    let api = server.api();
    for n in 0..5 {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{n}"), "labels": {"a": "b"}}});
        api.create("/api/v1/namespaces/default/configmaps", &object);
    }
    let page = api.get("/api/v1/namespaces/default/configmaps?limit=2").ok();
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    let paths = [
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/configmaps/m1",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        "/apis/events.k8s.io/v1/events",
        "/openapi/v3/apis/apiextensions.k8s.io/v1",
        "/api/v1/namespaces/default",
        "/readyz/ping",
    ];
    let queries = [
        "limit=2".to_owned(),
        format!("limit=2&continue={token}"),
        "labelSelector=a in (b,c),!d,e!=f".to_owned(),
        "fieldSelector=metadata.name=m1,metadata.namespace!=x".to_owned(),
        "resourceVersion=3&resourceVersionMatch=Exact".to_owned(),
        "resourceVersion=0&resourceVersionMatch=NotOlderThan".to_owned(),
        "pretty=true&dryRun=All&fieldValidation=Strict&fieldManager=me".to_owned(),
        "propagationPolicy=Background&gracePeriodSeconds=0".to_owned(),
    ];
    let bodies = [
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","labels":{"a":"b"}},"data":{"k":"v"}}"#,
        r#"[{"op":"replace","path":"/data/k","value":"w"},{"op":"test","path":"/kind","value":"ConfigMap"}]"#,
        r#"{"metadata":{"labels":{"a":null}},"data":{"k":"é"}}"#,
        r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x"},"dryRun":["All"]}"#,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m1\ndata: {k: &a v, l: *a}\n",
    ];
    let media = [
        "application/json",
        "application/yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/vnd.kubernetes.protobuf",
        "text/plain",
        "",
    ];
    let bits = [
        "/",
        "//",
        "..",
        "%00",
        "%ff",
        "%2F",
        "%zz",
        "&",
        "=",
        "!",
        "(",
        ")",
        ",",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        "*",
        "&a",
        "null",
        "-1",
        "18446744073709551616",
        "1e999",
        "é",
        "\u{10ffff}",
        "\0",
        " ",
        "\t",
        "\n",
        "<<",
        "~1",
        "watch",
        "status",
        "in",
        "notin",
        "eyJ2IjoibWV0YSJ9",
        "metadata",
    ];
    let mut noise = Noise(0x0070_6c65_6163_6821);
    let mut codes = std::collections::BTreeMap::new();
    for _ in 0..REQUESTS {
        let mut path = noise.pick(&paths).to_owned();
        if noise.below(3) == 0 {
            path = noise.disturb(&path, &bits);
        }
        let mut query = queries[noise.below(queries.len())].clone();
        if noise.below(2) == 0 {
            query = noise.disturb(&query, &bits);
        }
        // A watch would stay open; it has its own test.
        let query = query.replace("watch", "wotch");
        let target =
            format!("/{}?{}", url(path.trim_start_matches('/')).replace("/watch/", "/w/"), url(&query));
        let method =
            noise.pick(&["GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]);
        let mut body = noise.pick(&bodies).to_owned();
        if noise.below(2) == 0 {
            body = noise.disturb(&body, &bits);
        }
        let body = (!matches!(method, "GET" | "HEAD")).then_some(body.as_str());
        let media = noise.pick(&media);
        let answer = api.raw_with(method, &target, &[("Content-Type", media)], body);
        let answer = answer.unwrap_or_else(|error| panic!("{method} {target} {media} {body:?}: {error}"));
        let internal = answer.status == 500 && answer.body["reason"] == "InternalError";
        assert!(
            (200..=504).contains(&answer.status) && !internal,
            "{method} {target} {media} {body:?}: {} {}",
            answer.status,
            answer.body
        );
        *codes.entry(answer.status).or_insert(0) += 1;
    }
    eprintln!("{REQUESTS} requests that are almost right: {codes:?}");
    assert!(codes.len() > 5, "they found many ways to be wrong: {codes:?}");
    assert_eq!(api.get("/readyz").status, 200);
}
