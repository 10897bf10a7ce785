//! Requests with long computations: other requests are served meanwhile; deadlines, disconnects and
//! shutdown end them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::{Duration, Instant};

use pleach_clients::{Api, Running, SOON, definition, eventually};
use serde_json::{Value, json};

const OBJECTS: &str = "/apis/example.com/v1/namespaces/default/mazes";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A CRD whose items are compared with a thousand alternatives each.
fn maze() -> Value {
    let branches: Vec<Value> = (0..1_000)
        .map(|n| json!({"properties": {"a": {"enum": [n.to_string()]}}, "required": ["a"]}))
        .collect();
    let item = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": branches});
    definition("mazes", "Maze", json!({"spec": {"type": "array", "items": item}}))
}

/// An object whose items match the last alternative only: it takes minutes in a debug build, and
/// exceeds the step budget in any.
fn object() -> Value {
    let items: Vec<Value> = (0..60_000).map(|_| json!({"a": "999"})).collect();
    json!({"apiVersion": "example.com/v1", "kind": "Maze", "metadata": {"name": "m"}, "spec": items})
}

fn stopped(api: &Api, reason: &str) -> u64 {
    let metrics = api.text("/metrics");
    let line = format!("pleach_requests_stopped_total{{reason=\"{reason}\"}} ");
    metrics.lines().find_map(|l| l.strip_prefix(&line)).map_or(0, |count| count.trim().parse().unwrap())
}

#[test]
fn other_requests_are_served_during_long_computations() {
    let server = Running::in_memory();
    let api = server.api();
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &maze());
    let watch = api.watch(MAPS, SOON);
    let body = object().to_string();
    std::thread::scope(|threads| {
        let computing: Vec<_> = (0..6)
            .map(|_| {
                let (api, body) = (api.clone(), &body);
                threads.spawn(move || api.raw("POST", &format!("{OBJECTS}?timeout=3s"), body))
            })
            .collect();
        let mut served = 0;
        while computing.iter().any(|thread| !thread.is_finished()) {
            assert_eq!(api.get("/healthz").status, 200);
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "m-"}});
            api.create(MAPS, &map);
            served += 1;
        }
        // The first may have waited for all of them; a second one was served between.
        assert!(served > 1, "{served} requests were served meanwhile");
        for answer in computing.into_iter().map(|thread| thread.join().unwrap()) {
            assert_eq!(answer.status, 504, "{}", answer.body);
        }
    });
    let event = watch.first_line().unwrap();
    assert!(event.contains("\"ADDED\""), "{event}");
    assert!(stopped(&api, "deadline") > 0, "a deadline was seen inside a computation");
}

#[test]
fn a_computation_has_a_budget() {
    let server = Running::in_memory();
    let api = server.api();
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &maze());
    // On a busy machine, a debug build may not use up the budget in this time.
    let answer = api.raw("POST", &format!("{OBJECTS}?timeout=25s"), &object().to_string());
    assert!([413, 504].contains(&answer.status), "{}", answer.body);
    assert_eq!(stopped(&api, "budget") + stopped(&api, "deadline"), 1);
    assert_eq!(api.get(&format!("{OBJECTS}/m")).status, 404);
}

#[test]
fn a_disconnect_ends_the_computation() {
    let server = Running::in_memory();
    let api = server.api();
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &maze());
    let body = object().to_string();
    // The client times out and closes the connection.
    let given_up = api.raw_within("POST", OBJECTS, &body, Duration::from_millis(1_500));
    assert!(given_up.is_err(), "it was too fast to be given up");
    eventually("the computation is ended", || (stopped(&api, "disconnected") > 0).then_some(()));
}

#[test]
fn shutdown_ends_computations() {
    let server = Running::in_memory();
    let api = server.api();
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &maze());
    let body = object().to_string();
    std::thread::scope(|threads| {
        let computing = threads.spawn({
            let (api, body) = (api.clone(), &body);
            move || drop(api.raw_within("POST", OBJECTS, body, SOON))
        });
        std::thread::sleep(Duration::from_millis(500));
        assert!(!computing.is_finished(), "it computes");
        let began = Instant::now();
        assert!(server.stop(), "it ended well");
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    });
}

/// A rule with a low cost that compares values with shared parts: the time doubles with every level.
#[test]
fn rules_have_a_work_limit() {
    const PATIENCE: Duration = Duration::from_mins(1);
    let server = Running::in_memory();
    let api = server.api();
    let nested = format!("[1]{}", ".map(a, [a, a])".repeat(60));
    let number = json!({"type": "integer", "x-kubernetes-validations": [
        {"rule": format!("{nested} == {nested}")},
    ]});
    let text = json!({"type": "string", "x-kubernetes-validations": [
        {"rule": "self.findAll('x*y|x').size() >= 0"},
    ], "maxLength": 200_000});
    let crd = definition("nests", "Nest", json!({"spec": number, "text": text}));
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd);
    let path = "/apis/example.com/v1/namespaces/default/nests";
    let object = |more: Value| {
        let mut object = json!({"apiVersion": "example.com/v1", "kind": "Nest", "metadata": {"name": "n"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object.to_string()
    };
    for (field, body) in
        [("spec", object(json!({"spec": 1}))), ("text", object(json!({"text": "x".repeat(100_000)})))]
    {
        let answer = std::thread::scope(|threads| {
            let computing = threads.spawn(|| api.raw_within("POST", path, &body, PATIENCE).unwrap());
            while !computing.is_finished() {
                assert_eq!(api.get("/healthz").status, 200);
            }
            computing.join().unwrap()
        });
        let message = answer.body["message"].as_str().unwrap();
        let why = "operation cancelled: actual cost limit exceeded";
        // On a busy machine, a debug build may reach the deadline first.
        let expected = match answer.status {
            422 => message.contains(field) && message.contains(why),
            status => status == 504,
        };
        assert!(expected, "{field}: {} {message}", answer.status);
    }
    let answer = api.raw("POST", path, &object(json!({"text": "a few words"})));
    assert_eq!(answer.status, 201, "{}", answer.body);
}
