//! Explanations of validation messages: the reason for each rule, and how to satisfy it.
//!
//! Messages are sorted into groups by their words. The explanation of a group stands at its first
//! finding only; advice that depends on the place stands at each.

use pleach_crd::ApiVersion;

use super::fix;
use crate::document::Document;
use crate::finding::{Finding, Level};

/// A group of messages.
struct Group {
    rule: &'static str,
    /// A part of the message.
    words: &'static str,
    /// A part of the field's path; empty is any.
    field: &'static str,
    explanation: &'static str,
}

/// In the order they are tried.
const GROUPS: &[Group] = &[
    Group {
        rule: "cel-cost",
        words: "cost exceeds budget",
        field: "",
        explanation: "the server bounds the work of rules before it accepts them; it assumes the longest list, map or \
                      string that the schema allows",
    },
    Group {
        rule: "cel-cost",
        words: "estimated rule cost total",
        field: "",
        explanation: "all rules of a schema together have a budget too",
    },
    Group {
        rule: "cel-compile",
        words: "compilation failed",
        field: "",
        explanation: "rules are type-checked against the schema: `self` is the value at the rule's place, and only \
                      declared fields exist",
    },
    Group { rule: "cel", words: "", field: "x-kubernetes-validations", explanation: "" },
    Group {
        rule: "structural-nested",
        words: "to be structural",
        field: "",
        explanation: "inside allOf, anyOf, oneOf and not there may be value validation only (bounds, patterns, enums, \
                      required); what a field is must be said once, outside of them",
    },
    Group {
        rule: "structural-complete",
        words: "because it is defined in",
        field: "",
        explanation: "a field that allOf, anyOf, oneOf or not speaks about must be declared outside of them too, or \
                      the server would prune it before it validates",
    },
    Group {
        rule: "structural-type",
        words: "must not be empty",
        field: ".type",
        explanation: "every field, item and the root needs a type, so that the server knows what to prune and default",
    },
    Group {
        rule: "structural-items",
        words: "must be specified",
        field: ".items",
        explanation: "a list without a schema for its items leaves open which fields are kept and which are pruned",
    },
    Group {
        rule: "structural-root",
        words: "at the root",
        field: "",
        explanation: "the root of a schema describes a whole object: type object, with named properties",
    },
    Group {
        rule: "structural-metadata",
        words: "metadata is implicitly specified",
        field: "",
        explanation: "metadata has the same schema in every kind; a CRD may only restrict name and generateName",
    },
    Group {
        rule: "structural-metadata",
        words: "must not be specified in a nested context",
        field: "",
        explanation: "metadata cannot be restricted inside allOf, anyOf, oneOf or not",
    },
    Group {
        rule: "preserve-unknown-fields",
        words: "must be true or undefined",
        field: "",
        explanation: "leave x-kubernetes-preserve-unknown-fields out to have unknown fields pruned",
    },
    Group {
        rule: "default",
        words: "",
        field: ".default",
        explanation: "a default must be valid where it is filled in, and must survive pruning",
    },
    Group {
        rule: "preserve-unknown-fields",
        words: "",
        field: "spec.preserveUnknownFields",
        explanation: "v1 always prunes; use x-kubernetes-preserve-unknown-fields: true where fields must be kept",
    },
    Group {
        rule: "name",
        words: "must be spec.names.plural",
        field: "metadata.name",
        explanation: "the name of a CRD says which resource and group it defines",
    },
    Group {
        rule: "forbidden-keyword",
        words: "is not supported",
        field: "openAPIV3Schema",
        explanation: "CRD schemas know a part of OpenAPI only",
    },
];

/// Sorts the server's errors into groups, explains each group once, and advises.
pub(super) fn explain(findings: &mut [Finding], document: &Document, version: ApiVersion) {
    let mut explained: Vec<&str> = Vec::new();
    for finding in findings.iter_mut().filter(|f| f.level == Level::Error && f.rule == "invalid") {
        let group = GROUPS.iter().find(|group| {
            finding.message.contains(group.words)
                && (group.field.is_empty() || finding.field.contains(group.field))
                && (group.field != ".default" || finding.field.ends_with(".default"))
        });
        if let Some(group) = group {
            finding.rule = group.rule;
            if !group.explanation.is_empty() && !explained.contains(&group.explanation) {
                explained.push(group.explanation);
                finding.help.push(group.explanation.to_owned());
            }
        }
        fix::suggest(finding, document, version);
    }
    // Findings of one explanation together, in the order of the first of each.
    let mut order: Vec<&'static str> = Vec::new();
    for finding in findings.iter() {
        if !order.contains(&finding.rule) {
            order.push(finding.rule);
        }
    }
    findings.sort_by_key(|finding| order.iter().position(|rule| *rule == finding.rule));
}
