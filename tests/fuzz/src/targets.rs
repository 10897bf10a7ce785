//! The table of targets, with their bounds.
//!
//! Bounds are some four times what the dearest inputs of a smoke run take, and include what the target itself does to
//! check its invariant. A base that is large says that something is bounded whatever the size of the input: repairs of
//! YAML, lists of errors, patterns, the work of a rule (eight million steps a run), and JSONPath templates, each part of
//! which may look at all of the document (two million values an evaluation).

mod apply;
mod cbor;
mod cel;
mod credentials;
mod json;
mod jsonpath;
mod log;
mod patch;
mod policy;
mod protobuf;
mod regex;
mod request;
mod schema;
mod yaml;

use crate::{Bound, Target};

const fn row(
    name: &'static str,
    run: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
    steps: (u64, u64),
    allocated: (u64, u64),
) -> Target {
    let steps = Bound { base: steps.0, per_byte: steps.1 };
    let allocated = Bound { base: allocated.0, per_byte: allocated.1 };
    Target { name, run, seeds, steps, allocated }
}

/// All targets: the function, its seeds, the steps it may take (for an empty input, and per byte), and the bytes it
/// may allocate.
pub static TARGETS: &[Target] = &[
    row("json", json::json, json::json_seeds, (10_000, 32), (200_000, 2_000)),
    row("json_hints", json::json_hints, json::json_hints_seeds, (4_000, 32), (400_000, 2_000)),
    row("yaml", yaml::yaml, yaml::yaml_seeds, (32_000_000, 64), (64_000_000, 16_000)),
    row("json_patch", patch::json_patch, patch::json_patch_seeds, (20_000, 64), (16_000_000, 8_000)),
    row("merge_patch", patch::merge_patches, patch::merge_patch_seeds, (4_000, 32), (200_000, 1_000)),
    row("strategic_patch", patch::strategic_patch, patch::strategic_seeds, (4_000, 64), (400_000, 8_000)),
    row("managed_fields", apply::managed_fields, apply::managed_fields_seeds, (10_000, 64), (400_000, 1_000)),
    row("apply", apply::apply, apply::apply_seeds, (20_000, 128), (2_000_000, 2_000)),
    row("cbor", cbor::cbor, cbor::cbor_seeds, (10_000, 128), (400_000, 2_000)),
    row("protobuf", protobuf::protobuf, protobuf::protobuf_seeds, (10_000, 64), (400_000, 1_000)),
    row(
        "label_selector",
        request::label_selector,
        request::label_selector_seeds,
        (4_000, 32),
        (200_000, 2_000),
    ),
    row(
        "field_selector",
        request::field_selector,
        request::field_selector_seeds,
        (4_000, 32),
        (100_000, 1_000),
    ),
    row(
        "continue_token",
        request::continue_token,
        request::continue_token_seeds,
        (4_000, 32),
        (200_000, 500),
    ),
    row("token", credentials::token, credentials::token_seeds, (4_000, 32), (200_000, 500)),
    row("certificate", credentials::certificate, credentials::certificate_seeds, (4_000, 32), (400_000, 500)),
    row("path_query", request::path_query, request::path_query_seeds, (100_000, 32), (32_000_000, 1_000)),
    row("log", log::log, log::log_seeds, (4_000, 32), (4_000_000, 1_000)),
    row("regex", regex::regex, regex::regex_seeds, (4_000_000, 4_000), (32_000_000, 64_000)),
    row("jsonpath", jsonpath::jsonpath, jsonpath::jsonpath_seeds, (64_000_000, 256), (2_000_000_000, 8_000)),
    row("schema_decode", schema::schema_decode, schema::schema_seeds, (10_000, 64), (400_000, 2_000)),
    row("structural_check", schema::structural_check, schema::schema_seeds, (10_000, 64), (4_000_000, 2_000)),
    row("skeleton", schema::skeleton, schema::schema_seeds, (10_000, 64), (400_000, 1_000)),
    row("structuralize", schema::structuralize, schema::schema_seeds, (10_000, 64), (1_000_000, 1_000)),
    row("prune", schema::prune, schema::schema_seeds, (10_000, 64), (400_000, 1_000)),
    row("default", schema::default, schema::schema_seeds, (10_000, 64), (400_000, 1_000)),
    row("validate", schema::validate, schema::schema_seeds, (100_000, 256), (16_000_000, 8_000)),
    row("cel_parse", cel::cel_parse, cel::cel_parse_seeds, (100_000, 256), (8_000_000, 64_000)),
    row("cel_check", cel::cel_check, cel::cel_check_seeds, (200_000, 512), (8_000_000, 64_000)),
    row("policy", policy::policy, policy::policy_seeds, (400_000_000, 4_000), (256_000_000, 256_000)),
    row("cel_eval", cel::cel_eval, cel::cel_eval_seeds, (40_000_000, 2_000), (64_000_000, 64_000)),
];
