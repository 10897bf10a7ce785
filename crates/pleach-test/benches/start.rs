//! The cost of a server in process: start to the first answer, and a fork of a large one.
//!
//! `cargo bench -p pleach-test` prints the median of many runs.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, PostParams};
use pleach_test::Server;
use serde_json::json;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

async fn first_request(server: &Server) {
    Api::<Namespace>::all(server.client()).get("default").await.unwrap();
}

#[tokio::main]
async fn main() {
    let began = Instant::now();
    first_request(&Server::start().await).await;
    println!("first start of the process to the first answer: {:?}", began.elapsed());
    let mut starts = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        let server = Server::start().await;
        first_request(&server).await;
        starts.push(began.elapsed());
    }
    println!("start to the first answer: {:?}", median(starts));

    let server = Server::start().await;
    for number in 0..500 {
        let crd = json!({"metadata": {"name": format!("fruits{number}.example.com")}, "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": format!("fruits{number}"), "kind": format!("Fruit{number}")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "weight": {"type": "integer"}, "color": {"type": "string"}}}}}}}]}});
        server.install_crd(&serde_json::from_value(crd).unwrap()).await.unwrap();
    }
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    for number in 0..10_000 {
        let object = json!({"metadata": {"name": format!("n{number}")}, "data": {"k": "v".repeat(100)}});
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    let mut forks = Vec::new();
    for _ in 0..50 {
        let began = Instant::now();
        let fork = server.fork().await;
        forks.push(began.elapsed());
        first_request(&fork).await;
    }
    println!("fork of 10,000 objects and 500 CRDs: {:?}", median(forks));
}
