//! Rules of real CRDs: what running all of them on an object takes, and what compiling them takes.
//!
//! `cargo bench -p pleach-schema --bench rules`. Bars: all rules of the Gateway API's HTTPRoute on a
//! realistic object under 100 µs; parsing, checking, estimating and planning all rules of all CRDs
//! of the corpus under a second. The corpus is found through `PLEACH_SHARED` or beside the checkout;
//! without it there is nothing to time, and that is said.

// What is wrong with a benchmark should end it.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/shared.rs"]
mod shared;

use divan::{AllocProfiler, Bencher, black_box};
use pleach_cel::CostBudget;
use pleach_json::{Value, json};
use pleach_meta::Path;
use pleach_schema::{
    JSONSchemaProps, Options, Schema, SchemaContext, SchemaOptions, run_rules, validate_schema,
};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// The schemas of all versions of all CRDs whose file has this in its name.
fn schemas(part: &str) -> Vec<JSONSchemaProps> {
    let mut out = Vec::new();
    let files = shared::files("corpus/crds", "yaml").unwrap_or_default();
    for file in files.iter().filter(|file| file.to_string_lossy().contains(part)) {
        let text = std::fs::read_to_string(file).unwrap();
        for crd in pleach_yaml::documents(&text).map(|document| document.unwrap().value) {
            let versions = crd.at(&["spec", "versions"]).and_then(Value::as_array);
            for version in versions.into_iter().flat_map(|versions| versions.iter()) {
                if let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) {
                    out.push(JSONSchemaProps::from_value(schema).unwrap());
                }
            }
        }
    }
    out
}

/// A route as people write them: three rules with matches, filters and weighted backends.
fn http_route() -> Value {
    let header = |name: &str, value: &str| json!({"name": name, "value": value});
    let backend = |name: &str, weight: i64| json!({"group": "", "kind": "Service", "name": name, "port": 8080, "weight": weight});
    let prefix = |value: &str| json!({"type": "PathPrefix", "value": value});
    let parent = |section: &str| json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public", "sectionName": section});
    let modifier = json!({
        "type": "RequestHeaderModifier",
        "requestHeaderModifier": {"set": [header("x-env", "prod"), header("x-team", "shop")], "remove": ["x-debug"]},
    });
    let rewrite = json!({
        "type": "URLRewrite",
        "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
    });
    let redirect = json!({
        "type": "RequestRedirect",
        "requestRedirect": {"scheme": "https", "statusCode": 301, "hostname": "shop.example.com"},
    });
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "hostnames": ["shop.example.com", "www.shop.example.com"],
            "parentRefs": [parent("http"), parent("https")],
            "rules": [
                {
                    "matches": [
                        {"path": prefix("/cart"), "method": "GET"},
                        {"path": prefix("/cart"), "headers": [{"type": "Exact", "name": "version", "value": "v2"}]},
                    ],
                    "filters": [modifier],
                    "backendRefs": [backend("cart-v1", 90), backend("cart-v2", 10)],
                    "timeouts": {"request": "10s", "backendRequest": "5s"},
                },
                {
                    "matches": [{"path": prefix("/api"), "queryParams": [{"type": "Exact", "name": "q", "value": "1"}]}],
                    "filters": [rewrite],
                    "backendRefs": [backend("api", 1)],
                },
                {"matches": [{"path": {"type": "Exact", "value": "/old"}}], "filters": [redirect]},
            ],
        },
    })
}

#[divan::bench]
fn http_route_rules(bencher: Bencher<'_, '_>) {
    let Some(schema) = schemas("_httproutes.").into_iter().next() else { return };
    let schema = Schema::compile(&schema, SchemaOptions::default());
    let route = http_route();
    assert_eq!(schema.validate_value(&route), [], "a valid route");
    let run = || run_rules(schema.root(), black_box(&route), None, &Path::ROOT, &mut CostBudget::default());
    let mut budget = CostBudget::default();
    let outcome = run_rules(schema.root(), &route, None, &Path::ROOT, &mut budget);
    assert_eq!(outcome.errors, []);
    let spent = CostBudget::default().remaining() - budget.remaining();
    assert!(spent > 500, "many rules: cost {spent}");
    bencher.bench_local(run);
}

/// The same on an update in which nothing changed.
#[divan::bench]
fn http_route_rules_update(bencher: Bencher<'_, '_>) {
    let Some(schema) = schemas("_httproutes.").into_iter().next() else { return };
    let schema = Schema::compile(&schema, SchemaOptions::default());
    let (old, new) = (http_route(), http_route());
    bencher.bench_local(|| {
        run_rules(schema.root(), black_box(&new), Some(&old), &Path::ROOT, &mut CostBudget::default())
    });
}

/// All there is to check about all schemas of the corpus; most of it is their rules.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn compile_corpus(bencher: Bencher<'_, '_>) {
    let schemas = schemas("");
    if schemas.is_empty() {
        return;
    }
    assert!(schemas.len() > 79, "{}", schemas.len());
    let context =
        SchemaContext { path: Path::new("spec.validation"), status_enabled: true, options: Options::CREATE };
    bencher.bench_local(|| {
        schemas.iter().map(|schema| validate_schema(black_box(schema), &context).len()).sum::<usize>()
    });
}
