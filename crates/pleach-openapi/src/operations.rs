//! Paths and operations of a resource.

use pleach_json::{Map, Value, json};

use crate::names::{META, SCALE};
use crate::{Edition, Resource, parameters};

/// An operation: its method, its verb, and its parameters.
struct Verb {
    method: &'static str,
    action: &'static str,
    /// The prefix of its operation id, before group and version.
    word: &'static str,
    parameters: &'static [&'static str],
    codes: &'static [(&'static str, &'static str)],
}

const LIST_PARAMETERS: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const OK: (&str, &str) = ("200", "OK");
const CREATED: (&str, &str) = ("201", "Created");
const ACCEPTED: (&str, &str) = ("202", "Accepted");

const LIST: Verb =
    Verb { method: "get", action: "list", word: "list", parameters: LIST_PARAMETERS, codes: &[OK] };
const CREATE: Verb = Verb {
    method: "post",
    action: "post",
    word: "create",
    parameters: &["dryRun", "fieldManager", "fieldValidation", "pretty"],
    codes: &[OK, CREATED, ACCEPTED],
};
const DELETE_COLLECTION: Verb = Verb {
    method: "delete",
    action: "deletecollection",
    word: "delete",
    parameters: LIST_PARAMETERS,
    codes: &[OK],
};
const READ: Verb = Verb {
    method: "get",
    action: "get",
    word: "read",
    parameters: &["pretty", "resourceVersion"],
    codes: &[OK],
};
const REPLACE: Verb = Verb {
    method: "put",
    action: "put",
    word: "replace",
    parameters: &["dryRun", "fieldManager", "fieldValidation", "pretty"],
    codes: &[OK, CREATED],
};
const DELETE: Verb = Verb {
    method: "delete",
    action: "delete",
    word: "delete",
    parameters: &[
        "dryRun",
        "gracePeriodSeconds",
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "orphanDependents",
        "pretty",
        "propagationPolicy",
    ],
    codes: &[OK, ACCEPTED],
};
const PATCH: Verb = Verb {
    method: "patch",
    action: "patch",
    word: "patch",
    parameters: &["dryRun", "fieldManager (patch)", "fieldValidation", "force", "pretty"],
    codes: &[OK],
};

const MEDIA_TYPES: [&str; 2] = ["application/json", "application/yaml"];
const PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// An operation, independent of the OpenAPI version.
struct Operation<'a> {
    verb: &'a Verb,
    description: String,
    /// The suffix of its operation id, after group and version.
    rest: String,
    /// The schema of the request body, and whether it is required.
    body: Option<(String, bool)>,
    /// The schema of the response.
    answer: String,
}

/// The paths of a resource, in order.
pub(crate) fn paths(resource: &Resource<'_>, edition: Edition) -> Vec<(String, Value)> {
    let (kind, plural) = (resource.kind, resource.plural);
    let base = resource.base_path();
    let own = resource.schema_name(kind);
    let list = resource.schema_name(resource.list_kind);
    let status = format!("{META}Status");
    let patch = || Some((format!("{META}Patch"), true));
    let scoped = if resource.namespaced { format!("Namespaced{kind}") } else { kind.to_owned() };
    let write = Paths { resource, edition };

    let listing = |rest: String| Operation {
        verb: &LIST,
        description: format!("list objects of kind {kind}"),
        rest,
        body: None,
        answer: list.clone(),
    };
    let article = resource.with_article();
    let mut collection = vec![
        listing(scoped.clone()),
        Operation {
            verb: &CREATE,
            description: format!("create{article}"),
            rest: scoped.clone(),
            body: Some((own.clone(), true)),
            answer: own.clone(),
        },
    ];
    if resource.deletes_collections {
        collection.push(Operation {
            verb: &DELETE_COLLECTION,
            description: format!("delete collection of {kind}"),
            rest: format!("Collection{scoped}"),
            body: None,
            answer: status.clone(),
        });
    }
    let mut single = access(&scoped, "", kind, &own, patch());
    single.push(Operation {
        verb: &DELETE,
        description: format!("delete{article}"),
        rest: scoped.clone(),
        body: Some((format!("{META}DeleteOptions"), false)),
        answer: status,
    });

    let root = if resource.namespaced {
        format!("{base}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{base}/{plural}")
    };
    let mut out = vec![
        (root.clone(), write.path(&collection, false, resource.namespaced)),
        (format!("{root}/{{name}}"), write.path(&single, true, resource.namespaced)),
    ];
    if resource.scale {
        let scale = access(&scoped, "Scale", kind, SCALE, patch());
        out.push((format!("{root}/{{name}}/scale"), write.path(&scale, true, resource.namespaced)));
    }
    if resource.status {
        let status = access(&scoped, "Status", kind, &own, patch());
        out.push((format!("{root}/{{name}}/status"), write.path(&status, true, resource.namespaced)));
    }
    if resource.namespaced {
        let everywhere = listing(format!("{kind}ForAllNamespaces"));
        out.push((format!("{base}/{plural}"), write.path(&[everywhere], false, false)));
    }
    out
}

/// Operations on an object or a subresource.
fn access(
    scoped: &str,
    subresource: &str,
    kind: &str,
    schema: &str,
    patch: Option<(String, bool)>,
) -> Vec<Operation<'static>> {
    let rest = format!("{scoped}{subresource}");
    let what = match subresource {
        "" => format!("the specified {kind}"),
        other => format!("{} of the specified {kind}", other.to_lowercase()),
    };
    let operation = |verb: &'static Verb, word: &str, body| Operation {
        verb,
        description: format!("{word} {what}"),
        rest: rest.clone(),
        body,
        answer: schema.to_owned(),
    };
    vec![
        operation(&READ, "read", None),
        operation(&REPLACE, "replace", Some((schema.to_owned(), true))),
        operation(&PATCH, "partially update", patch),
    ]
}

struct Paths<'a> {
    resource: &'a Resource<'a>,
    edition: Edition,
}

impl Paths<'_> {
    /// A path: its operations, and their common parameters.
    fn path(&self, operations: &[Operation<'_>], named: bool, namespaced: bool) -> Value {
        let common: Vec<&str> = operations[0]
            .verb
            .parameters
            .iter()
            .copied()
            .filter(|id| operations.iter().all(|other| other.verb.parameters.contains(id)))
            .collect();
        let mut path: Vec<(&str, Value)> =
            common.iter().map(|id| parameters::get(id, self.edition)).collect();
        if named {
            path.push(("name", parameters::name_of(self.resource.kind, self.edition)));
        }
        if namespaced {
            path.push(parameters::get("namespace", self.edition));
        }
        let mut out = Map::with_capacity(operations.len() + 1);
        for operation in operations {
            out.insert(operation.verb.method, self.operation(operation, &common));
        }
        out.insert("parameters", sorted(path));
        out.into()
    }

    fn operation(&self, operation: &Operation<'_>, common: &[&str]) -> Value {
        let (resource, verb) = (self.resource, operation.verb);
        let mut own: Vec<(&str, Value)> = verb
            .parameters
            .iter()
            .filter(|id| !common.contains(id))
            .map(|id| parameters::get(id, self.edition))
            .collect();
        let mut out = Map::with_capacity(10);
        out.insert("description", operation.description.as_str());
        out.insert("operationId", resource.operation_id(verb.word, &operation.rest));
        out.insert("tags", json!([(resource.tag())]));
        out.insert("x-kubernetes-action", verb.action);
        out.insert(
            "x-kubernetes-group-version-kind",
            json!({"group": (resource.group), "kind": (resource.kind), "version": (resource.version)}),
        );
        let consumes = self.consumes(verb);
        match self.edition {
            Edition::V2 => {
                if let Some((schema, required)) = &operation.body {
                    own.push(("body", parameters::v2_body(schema, *required)));
                }
                out.insert("consumes", texts(&consumes));
                out.insert("produces", texts(&MEDIA_TYPES));
                out.insert("schemes", texts(&["https"]));
            }
            Edition::V3 => {
                if let Some((schema, required)) = &operation.body {
                    let mut body = Map::from(vec![("content".into(), self.content(&consumes, schema))]);
                    if *required {
                        body.insert("required", true);
                    }
                    out.insert("requestBody", body);
                }
            }
        }
        if !own.is_empty() {
            out.insert("parameters", sorted(own));
        }
        let mut responses = Map::with_capacity(verb.codes.len() + 1);
        for (code, text) in verb.codes {
            let response = match self.edition {
                Edition::V2 => json!({"description": *text, "schema": (self.reference(&operation.answer))}),
                Edition::V3 => {
                    let content = self.content(&MEDIA_TYPES, &operation.answer);
                    json!({"description": *text, "content": content})
                }
            };
            responses.insert(*code, response);
        }
        responses.insert("401", json!({"description": "Unauthorized"}));
        out.insert("responses", responses);
        out.into()
    }

    fn consumes(&self, verb: &Verb) -> Vec<&'static str> {
        if verb.method != "patch" {
            return MEDIA_TYPES.to_vec();
        }
        let mut patches = PATCHES.to_vec();
        if self.resource.built_in && self.resource.group != "apiextensions.k8s.io" {
            patches.insert(2, STRATEGIC);
        }
        patches
    }

    fn content(&self, media_types: &[&str], schema: &str) -> Value {
        let content: Map =
            media_types.iter().map(|t| ((*t).into(), json!({"schema": (self.reference(schema))}))).collect();
        content.into()
    }

    fn reference(&self, schema: &str) -> Value {
        json!({"$ref": (format!("{}{schema}", self.edition.reference_prefix()))})
    }
}

fn texts(list: &[&str]) -> Value {
    list.iter().map(|text| Value::from(*text)).collect::<Vec<_>>().into()
}

fn sorted(mut parameters: Vec<(&str, Value)>) -> Value {
    parameters.sort_by(|a, b| a.0.cmp(b.0));
    parameters.into_iter().map(|(_, value)| value).collect::<Vec<_>>().into()
}
