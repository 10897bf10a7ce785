//! Worlds in this process: start, forks, memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use pleach_auth::UserInfo;
use pleach_world::{World, WorldOptions};

use crate::{middle, ms, report};

/// CRDs and objects of the large world.
const LARGE: (usize, usize) = (500, 10_000);

/// Worlds side by side, and the CRDs of each.
const SIDE_BY_SIDE: (usize, usize) = (100, 100);

pub(crate) async fn measure(cheapest: Duration) {
    let admin = World::admin();
    let first = Instant::now();
    let template = start().await;
    namespace(&template, &admin).await;
    report("the first world of a process, to its first answer", first.elapsed(), cheapest, "asked: 2 ms");
    let mut starts = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        let world = template.fork_with(true).await.expect("an empty world is forked");
        namespace(&world, &admin).await;
        starts.push(began.elapsed());
    }
    report("another one, to its first answer", middle(starts), cheapest, "asked: 2 ms");

    let large = start().await;
    fill(&large, &admin, LARGE.0, LARGE.1).await;
    let (mut forks, mut worlds) = (Vec::new(), Vec::new());
    let before = resident();
    for _ in 0..50 {
        let began = Instant::now();
        let fork = large.fork().await.expect("a world is forked");
        forks.push(began.elapsed());
        worlds.push(fork);
    }
    let each = (resident() - before) * 1024.0 / worlds.len() as f64;
    let what = format!("a fork of {} objects and {} CRDs", LARGE.1, LARGE.0);
    report(&what, middle(forks), cheapest, "asked: 5 ms");
    println!("{what} takes {each:.0} kB (asked: a few hundred)");
    drop((worlds, large));

    let before = resident();
    let mut worlds = Vec::new();
    for _ in 0..SIDE_BY_SIDE.0 {
        // Each is filled by itself: nothing of its CRDs is shared by being a fork.
        let world = template.fork_with(true).await.expect("an empty world is forked");
        fill(&world, &admin, SIDE_BY_SIDE.1, 0).await;
        worlds.push(world);
    }
    println!(
        "{} worlds of {} CRDs each: {:.0} MB besides the {before:.0} MB of the process before (asked: 300 MB)",
        SIDE_BY_SIDE.0,
        SIDE_BY_SIDE.1,
        resident() - before
    );
    println!("{:.2} ms since the first world of this process", ms(first.elapsed()));
}

async fn start() -> World {
    World::start(WorldOptions::default()).await.expect("built-in kinds load")
}

async fn namespace(world: &World, admin: &Arc<UserInfo>) {
    send(world, admin, "GET", "/api/v1/namespaces/default", String::new()).await;
}

/// Creates CRDs of an ordinary size, and ConfigMaps.
async fn fill(world: &World, admin: &Arc<UserInfo>, crds: usize, objects: usize) {
    for number in 0..crds {
        let mut fields = String::new();
        for field in 0..20 {
            fields += &format!(
                r#""field{field}":{{"type":"string","description":"Field {field} of fruit {number}."}},"#
            );
        }
        let crd = format!(
            r#"{{"metadata":{{"name":"fruits{number}.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced",
            "names":{{"plural":"fruits{number}","kind":"Fruit{number}"}},"versions":[{{"name":"v1","served":true,"storage":true,
            "schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{fields}
            "weight":{{"type":"integer"}}}}}}}}}}}}}}]}}}}"#
        );
        send(world, admin, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
    }
    for number in 0..objects {
        let object = format!(r#"{{"metadata":{{"name":"n{number}"}},"data":{{"k":"{}"}}}}"#, "v".repeat(100));
        send(world, admin, "POST", "/api/v1/namespaces/default/configmaps", object).await;
    }
    // The bodies of these requests are no part of what is measured.
    world.script().clear_requests();
}

async fn send(world: &World, admin: &Arc<UserInfo>, method: &str, path: &str, body: String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Bytes::from(body))
        .expect("a request of ours is good");
    let answer = world.handle(request, Some(admin)).await.expect("there are no faults");
    assert!(answer.status().is_success(), "{method} {path}: {}", answer.status());
    answer.into_body().collect().await.expect("the answer is whole");
}

/// Resident memory of this process in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}
