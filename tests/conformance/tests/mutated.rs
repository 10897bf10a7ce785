//! Every recorded request, mutated, against the real server binary: nothing panics, the server goes on
//! answering, and every answer is well formed.
//!
//! `PLEACH_SEED=7 cargo test -p pleach-conformance --test mutated` makes other requests than the usual ones,
//! `PLEACH_SECONDS=600` goes on with further seeds for that long, `PLEACH_CASES=cel` takes one area.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pleach_conformance::mutate::{Random, mutate};
use pleach_conformance::session::{Reply, Request, Session};
use pleach_conformance::{AS_RECORDED, HookServer, TestServer};
use serde_json::Value;

/// How many clients there are at once.
const CLIENTS: usize = 8;
/// How many requests of a case are sent: some cases are tables of hundreds.
const REQUESTS: usize = 3;

/// The requests of a recorded case.
struct Case {
    name: String,
    requests: Vec<Request>,
}

/// The violations, and the number of responses of each code.
#[derive(Default)]
struct Findings {
    wrong: Vec<String>,
    codes: BTreeMap<u16, usize>,
}

#[test]
fn no_mutated_request_panics() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("PLEACH_SEED").unwrap_or(1);
    let until = Instant::now() + Duration::from_secs(number("PLEACH_SECONDS").unwrap_or(0));
    let wanted = std::env::var("PLEACH_CASES").unwrap_or_default();
    let mut cases = read_cases();
    cases.retain(|case| case.name.starts_with(&wanted));
    HookServer::start(0, |_, _| (200, "{}".to_owned())).unwrap();
    let mut findings = Findings::default();
    for seed in first.. {
        // A new server each time: what earlier requests left is no part of what a seed stands for.
        let server = TestServer::start(&binary(), &AS_RECORDED).unwrap();
        play(&cases, seed, &server, &mut findings);
        check_server(&server, seed, &mut findings);
        assert!(findings.wrong.is_empty(), "{}", findings.wrong.join("\n\n"));
        if Instant::now() >= until {
            println!("mutated: seeds {first} to {seed}, answers by code: {:?}", findings.codes);
            return;
        }
    }
}

#[test]
fn a_watch_may_ask_for_any_time() {
    let server = TestServer::start(&binary(), &AS_RECORDED).unwrap();
    for seconds in ["9223372036854775807", "9223372036854775808", "-1", "0"] {
        let path = format!("/api/v1/namespaces?watch=true&timeoutSeconds={seconds}");
        let timeout = Duration::from_secs(30);
        let status = server.endpoint.send("GET", &path, &[], None, timeout).unwrap().status;
        assert_eq!(status, if seconds.ends_with("808") { 400 } else { 200 }, "{seconds}");
    }
    let mut findings = Findings::default();
    check_server(&server, 0, &mut findings);
    assert!(findings.wrong.is_empty(), "{:?}", findings.wrong);
}

fn play(cases: &[Case], seed: u64, server: &TestServer, findings: &mut Findings) {
    let all: Vec<Request> = cases
        .iter()
        .flat_map(|case| &case.requests)
        .filter(|request| request.body.is_some())
        .cloned()
        .collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(findings));
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while let Some((number, case)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let ended = !found.lock().unwrap().wrong.is_empty();
                    cases.get(number).filter(|_| !ended).map(|case| (number, case))
                } {
                    let random = Random::new(seed << 32 | number as u64);
                    let mut own = Findings::default();
                    play_case(case, &all, random, server, &mut own);
                    let mut found = found.lock().unwrap();
                    let what =
                        own.wrong.into_iter().map(|wrong| format!("seed {seed}, {}: {wrong}", case.name));
                    found.wrong.extend(what);
                    for (code, count) in own.codes {
                        *found.codes.entry(code).or_default() += count;
                    }
                }
            });
        }
    });
}

fn play_case(case: &Case, all: &[Request], mut random: Random, server: &TestServer, found: &mut Findings) {
    let mut session = Session::new(&server.endpoint);
    let skipped = case.requests.len().saturating_sub(REQUESTS);
    for (i, request) in case.requests.iter().enumerate() {
        // The first two make the CRD, as a rule.
        if i >= 2 && random.below(case.requests.len()) < skipped {
            continue;
        }
        let mutated = mutate(request, all, &mut random);
        // What was recorded is sent too where it leaves something behind for the rest of the case.
        let recorded = (request.method != "GET").then_some(request);
        let both = if random.once_in(3) { [Some(&mutated), recorded] } else { [recorded, Some(&mutated)] };
        for request in both.into_iter().flatten() {
            send(&mut session, request, found);
            if !found.wrong.is_empty() {
                return;
            }
        }
    }
    clean_up(&mut session, case, found);
}

/// Webhooks of one case must not be asked about the next one's objects, and CRDs go.
fn clean_up(session: &mut Session<'_>, case: &Case, found: &mut Findings) {
    let delete = |path: String| Request { method: "DELETE".into(), path, headers: Vec::new(), body: None };
    if case.requests.iter().any(|request| request.path.contains("webhookconfigurations")) {
        for kind in ["mutating", "validating"] {
            let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations");
            send(session, &delete(path), found);
        }
    }
    for request in &case.requests {
        let Some(body) =
            request.body.as_deref().filter(|_| request.path.ends_with("/customresourcedefinitions"))
        else {
            continue;
        };
        let crd: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Some(name) = crd.pointer("/metadata/name").and_then(Value::as_str)
            && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#%".contains(&byte))
        {
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            send(session, &delete(path), found);
        }
    }
}

fn send(session: &mut Session<'_>, request: &Request, found: &mut Findings) {
    let mut request = request.clone();
    let watches = request.path.contains("watch=") || request.path.contains("/watch/");
    if watches {
        let separator = if request.path.contains('?') { '&' } else { '?' };
        request.path = format!("{}{separator}timeoutSeconds=1", request.path.replace("timeoutSeconds", "t"));
    }
    match session.send(&request) {
        Ok(reply) => {
            *found.codes.entry(reply.status).or_default() += 1;
            if let Err(wrong) = check(&request, &reply) {
                found.wrong.push(format!("{wrong}\n{}", show(&request)));
            }
        }
        Err(error) => found.wrong.push(format!("no answer: {error}\n{}", show(&request))),
    }
}

/// Whether an answer is one that clients can read.
fn check(request: &Request, reply: &Reply) -> Result<(), String> {
    let text = String::from_utf8_lossy(&reply.body);
    let shown: String = text.chars().take(300).collect();
    let wrong = |what: &str| Err(format!("{what}: {} {} {shown:?}", reply.status, reply.media_type));
    if text.contains("caused apiserver to panic") {
        return wrong("a panic");
    }
    if request.method == "HEAD" {
        return Ok(());
    }
    if reply.body.is_empty() {
        let is_document = request.path.starts_with("/openapi");
        return if reply.status < 400 || is_document { Ok(()) } else { wrong("no body") };
    }
    match reply.media_type.as_str() {
        "application/json" => {
            for document in serde_json::Deserializer::from_slice(&reply.body).into_iter::<Shape>() {
                match document {
                    Err(error) if !error.to_string().starts_with("recursion limit exceeded") => {
                        return wrong(&format!("not JSON ({error})"));
                    }
                    Ok(shape) if reply.status >= 400 && shape.kind != "Status" => return wrong("no Status"),
                    Ok(shape) if reply.status >= 400 && shape.code != reply.status => {
                        return wrong("another code");
                    }
                    _ => {}
                }
            }
            Ok(())
        }
        "application/yaml" if text.contains("kind: ") => Ok(()),
        "application/vnd.kubernetes.protobuf" if reply.body.starts_with(b"k8s\0") => Ok(()),
        // Paths that lead nowhere, health, documents.
        "text/plain" if reply.status < 500 || reply.status == 504 => Ok(()),
        "application/jwk-set+json" if reply.status == 200 => Ok(()),
        other if other.contains("openapi") || other.contains("com.github.proto") => Ok(()),
        _ => wrong("an unknown form"),
    }
}

/// The common properties of every response in JSON.
#[derive(serde::Deserialize)]
struct Shape {
    #[serde(default)]
    kind: String,
    #[serde(default, deserialize_with = "code")]
    code: u16,
}

fn code<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let value: Value = serde::Deserialize::deserialize(deserializer)?;
    Ok(value.as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or_default())
}

fn show(request: &Request) -> String {
    let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned();
    let mut shown: String = body.chars().take(4_000).collect();
    if shown.len() < body.len() {
        let file = std::env::temp_dir().join(format!("pleach-mutated-{}", std::process::id()));
        if std::fs::write(&file, request.body.as_deref().unwrap_or_default()).is_ok() {
            shown =
                format!("{} … all of it in {}", shown.chars().take(300).collect::<String>(), file.display());
        }
    }
    format!("{} {} {:?}\n{shown}", request.method, request.path, request.headers)
}

/// The server is there, and has not counted a panic.
fn check_server(server: &TestServer, seed: u64, findings: &mut Findings) {
    let mut session = Session::new(&server.endpoint);
    let mut get = |path: &str| {
        let request = Request { method: "GET".into(), path: path.into(), headers: Vec::new(), body: None };
        session.send(&request).map(|reply| (reply.status, String::from_utf8_lossy(&reply.body).into_owned()))
    };
    match get("/readyz") {
        Ok((200, _)) => {}
        other => findings.wrong.push(format!("seed {seed}: the server is not ready: {other:?}")),
    }
    match get("/metrics") {
        Ok((200, text)) if text.contains("\npleach_request_panics_total 0\n") => {}
        other => findings.wrong.push(format!("seed {seed}: panics were counted: {other:?}")),
    }
}

fn read_cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut cases = Vec::new();
    for area in sorted(&root) {
        for file in sorted(&area) {
            let case: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            let name = file.strip_prefix(&root).unwrap().with_extension("").display().to_string();
            let steps = case["steps"].as_array().into_iter().flatten();
            let requests = steps.filter_map(|step| read_request(step.get("request")?)).collect();
            cases.push(Case { name, requests });
        }
    }
    cases
}

fn read_request(request: &Value) -> Option<Request> {
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let body = text("rawBody").map(str::to_owned).or_else(|| Some(request.get("body")?.to_string()));
    let headers = request.get("headers").and_then(Value::as_object).into_iter().flatten();
    let mut headers: Vec<(String, String)> =
        headers.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    // Whose request it is does not matter here.
    headers.retain(|(key, _)| !key.eq_ignore_ascii_case("authorization"));
    if body.is_some() && !headers.iter().any(|(key, _)| key.eq_ignore_ascii_case("content-type")) {
        headers.push(("Content-Type".into(), "application/json".into()));
    }
    Some(Request {
        method: text("method").unwrap_or("GET").to_owned(),
        path: text("path")?.to_owned(),
        headers,
        body: body.map(String::into_bytes),
    })
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("PLEACH_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    let binary = target.join("pleach");
    assert!(binary.exists(), "{} is not built: cargo build -p pleach", binary.display());
    binary
}
