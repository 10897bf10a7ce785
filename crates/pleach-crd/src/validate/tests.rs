use pleach_json::{Value, json};

use super::*;
use crate::decode::{Options, decode};

const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn version() -> Value {
    json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}, "n": {"type": "number"}, "l": {"type": "array", "items": {"type": "string"}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}})
}

/// A fine CRD with the given members put over it; null removes one.
fn crd(patch: &Value) -> Crd {
    let mut document = json!({
        "metadata": {"name": "foos.example.com", "resourceVersion": "1"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
                 "versions": [(version())]},
    });
    merge(&mut document, patch);
    let version =
        if document.at(&["spec", "version"]).is_some() { ApiVersion::V1beta1 } else { ApiVersion::V1 };
    decode(&document, version, Options::default()).unwrap().crd
}

/// The same with members put over its only version.
fn with_version(patch: &Value) -> Crd {
    let mut only = version();
    merge(&mut only, patch);
    crd(&json!({"spec": {"versions": [only]}}))
}

fn with_webhook(config: &Value, reviews: &Value) -> Crd {
    crd(&json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {
        "clientConfig": (config.clone()), "conversionReviewVersions": (reviews.clone())}}}}))
}

fn merge(target: &mut Value, patch: &Value) {
    match (&mut *target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch.iter() {
                if value.is_null() {
                    target.remove(key);
                } else {
                    merge(target.get_or_insert_with(key, || Value::Null), value);
                }
            }
        }
        _ => *target = patch.clone(),
    }
}

fn create(crd: &Crd) -> Vec<String> {
    validate_create(crd, ApiVersion::V1).iter().map(ToString::to_string).collect()
}

fn update(new: &Crd, old: &Crd) -> Vec<String> {
    validate_update(new, old, ApiVersion::V1).iter().map(ToString::to_string).collect()
}

fn established(mut crd: Crd) -> Crd {
    crd.set_condition(
        crate::ConditionType::Established,
        true.into(),
        "InitialNamesAccepted",
        "",
        "2020-01-01T00:00:00Z",
    );
    crd
}

/// `{label}` and `{subdomain}` in a row stand for the long texts.
fn check(rows: &[(Crd, &[&str], &str)]) {
    for (crd, want, why) in rows {
        let want: Vec<String> =
            want.iter().map(|w| w.replace("{label}", LABEL).replace("{subdomain}", SUBDOMAIN)).collect();
        assert_eq!(create(crd), want, "{why}");
    }
}

#[test]
fn names_group_and_scope() {
    check(&[
        (crd(&json!({})), &[], "a fine one"),
        (
            crd(&json!({"metadata": {"name": "X"}})),
            &[
                "metadata.name: Invalid value: \"X\": {subdomain}",
                "metadata.name: Invalid value: \"X\": must be spec.names.plural+\".\"+spec.group",
            ],
            "two rules for the name",
        ),
        (
            crd(&json!({"metadata": {"name": "foos."}, "spec": {"group": ""}})),
            &["metadata.name: Invalid value: \"foos.\": {subdomain}", "spec.group: Required value"],
            "no group",
        ),
        (
            crd(&json!({"metadata": {"name": "foos.single"}, "spec": {"group": "single"}})),
            &["spec.group: Invalid value: \"single\": should be a domain with at least one dot"],
            "a group without a dot",
        ),
        (crd(&json!({"spec": {"scope": ""}})), &["spec.scope: Required value"], "no scope"),
        (
            crd(&json!({"spec": {"scope": "cluster"}})),
            &["spec.scope: Unsupported value: \"cluster\": supported values: \"Cluster\", \"Namespaced\""],
            "a scope in lower case",
        ),
        (
            crd(&json!({"metadata": {"name": "x.y"}, "spec": {"names": {"plural": "", "kind": ""}}})),
            &[
                "metadata.name: Invalid value: \"x.y\": must be spec.names.plural+\".\"+spec.group",
                "spec.names.plural: Required value",
                "spec.names.singular: Required value",
                "spec.names.kind: Required value",
                "spec.names.listKind: Required value",
            ],
            "no names",
        ),
        (
            crd(
                &json!({"spec": {"names": {"singular": "S", "kind": "K_", "listKind": "K_", "shortNames": ["a", "B"],
                                           "categories": ["C"]}}}),
            ),
            &[
                "spec.names.singular: Invalid value: \"S\": {label}",
                "spec.names.kind: Invalid value: \"K_\": may have mixed case, but should otherwise match: {label}",
                "spec.names.listKind: Invalid value: \"K_\": may have mixed case, but should otherwise match: {label}",
                "spec.names.shortNames[1]: Invalid value: \"B\": {label}",
                "spec.names.listKind: Invalid value: \"K_\": kind and listKind may not be the same",
                "spec.names.categories[0]: Invalid value: \"C\": {label}",
            ],
            "names of the wrong form",
        ),
    ]);
}

#[test]
fn versions_alone_and_together() {
    let printed = |name: &str, storage: bool| {
        format!(
            "{{\"Name\":\"{name}\",\"Served\":true,\"Storage\":{storage},\"Deprecated\":false,\
             \"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\
             \"SelectableFields\":null}}"
        )
    };
    let second = |name: &str, storage: bool| {
        let mut second = version();
        merge(&mut second, &json!({"name": name, "storage": storage}));
        crd(&json!({"spec": {"versions": [(version()), second]}}))
    };
    check(&[
        (
            crd(&json!({"spec": {"versions": null}})),
            &[
                "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
                "status.storedVersions: Invalid value: null: must have at least one stored version",
            ],
            "no versions",
        ),
        (
            second("v1", false),
            &[&format!(
                "spec.versions: Invalid value: [{},{}]: must contain unique version names",
                printed("v1", true),
                printed("v1", false)
            )],
            "the same name twice",
        ),
        (
            second("Bad", true),
            &[
                "spec.versions[1].name: Invalid value: \"Bad\": {label}",
                &format!(
                    "spec.versions: Invalid value: [{},{}]: must have exactly one version marked as storage version",
                    printed("v1", true),
                    printed("Bad", true)
                ),
                "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version Bad",
            ],
            "two storage versions",
        ),
        (
            with_version(&json!({"schema": null})),
            &["spec.versions[0].schema.openAPIV3Schema: Required value"],
            "no schema",
        ),
        (
            with_version(&json!({"deprecationWarning": "x"})),
            &[
                "spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions",
            ],
            "a warning for nothing",
        ),
        (
            with_version(&json!({"deprecated": true, "deprecationWarning": ""})),
            &["spec.versions[0].deprecationWarning: Invalid value: \"\": must not be an empty string"],
            "an empty warning",
        ),
        (
            with_version(&json!({"deprecated": true, "deprecationWarning": "a\u{200b}"})),
            &[
                "spec.versions[0].deprecationWarning: Invalid value: \"a\u{200b}\": must only contain printable UTF-8 \
               characters; non-printable character found at index 1",
            ],
            "the value prints as JSON",
        ),
        (
            crd(&json!({"status": {"storedVersions": ["v0"]}})),
            &[
                "status.storedVersions: Invalid value: [\"v0\"]: must have the storage version v1",
                "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a \
                 storage version, and must remain in spec.versions until a storage migration ensures no data remains \
                 persisted in v0 and removes v0 from status.storedVersions",
            ],
            "a stored version that is not there",
        ),
    ]);
}

#[test]
fn columns_subresources_and_selectable_fields() {
    let column = |column: Value| with_version(&json!({"additionalPrinterColumns": [column]}));
    let scale = |spec: &str, status: &str, selector: &str| {
        with_version(&json!({"subresources": {"scale": {
            "specReplicasPath": spec, "statusReplicasPath": status, "labelSelectorPath": selector}}}))
    };
    let select = |paths: &[&str]| {
        let fields: Vec<Value> = paths.iter().map(|p| json!({"jsonPath": (*p)})).collect();
        with_version(&json!({"selectableFields": fields}))
    };
    let types = "must be one of boolean,date,integer,number,string";
    let scalar = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                  formats are allowed.";
    check(&[
        (
            column(json!({"name": "A", "type": "date", "jsonPath": ".a[?(@.b)]"})),
            &[],
            "any path from the root",
        ),
        (
            column(json!({})),
            &[
                "spec.additionalPrinterColumns[0].name: Required value",
                &format!("spec.additionalPrinterColumns[0].type: Required value: {types}"),
                "spec.additionalPrinterColumns[0].JSONPath: Required value",
            ],
            "an empty column",
        ),
        (
            column(json!({"name": "A", "type": "int", "format": "uuid", "jsonPath": "a"})),
            &[
                &format!("spec.additionalPrinterColumns[0].type: Invalid value: \"int\": {types}"),
                "spec.additionalPrinterColumns[0].format: Invalid value: \"uuid\": must be one of \
                 byte,date,date-time,double,float,int32,int64,password",
                "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"a\": must be a simple json path starting \
                 with .",
            ],
            "a column with everything wrong",
        ),
        (scale(".spec.a", ".status.b", ""), &[], "an empty selector is none"),
        (
            scale("", ".spec.b", ".metadata.c"),
            &[
                "spec.subresources.scale.specReplicasPath: Required value",
                "spec.subresources.scale.statusReplicasPath: Invalid value: \".spec.b\": should be a json path under \
                 .status",
                "spec.subresources.scale.labelSelectorPath: Invalid value: \".metadata.c\": should be a json path \
                 under either .spec or .status",
            ],
            "paths that lead elsewhere",
        ),
        (
            scale("spec.a", ".status", "c"),
            &[
                "spec.subresources.scale.specReplicasPath: Invalid value: \"spec.a\": must be a simple json path \
                 starting with .",
                "spec.subresources.scale.statusReplicasPath: Invalid value: \".status\": should be a json path under \
                 .status",
                "spec.subresources.scale.labelSelectorPath: Invalid value: \"c\": must be a simple json path starting \
                 with .",
            ],
            "paths of the wrong form",
        ),
        (select(&[".spec.a", ".spec.m.key"]), &[], "a map's key is a field"),
        (
            select(&["", ".", "spec.a", ".spec.x", ".spec.l[0]", ".spec.a]"]),
            &[
                "spec.selectableFields[0].jsonPath: Required value",
                "spec.selectableFields[1].jsonPath: Invalid value: \".\": is an invalid path: unexpected end of JSON \
                 path",
                "spec.selectableFields[2].jsonPath: Invalid value: \"spec.a\": is an invalid path: expected [ or . but \
                 got: spec",
                "spec.selectableFields[3].jsonPath: Invalid value: \".spec.x\": is an invalid path: does not refer to a \
                 valid field",
                "spec.selectableFields[4].jsonPath: Invalid value: \".spec.l[0]\": is an invalid path: array notation \
                 is not allowed",
                "spec.selectableFields[5].jsonPath: Invalid value: \".spec.a]\": is an invalid path: expected [ or . \
                 but got: ]",
            ],
            "paths that lead nowhere",
        ),
        (
            select(&[".spec.n", ".spec.a", ".spec.a"]),
            &[
                &format!("spec.selectableFields[0].jsonPath: Invalid value: \".spec.n\": {scalar}"),
                "spec.selectableFields[2].jsonPath: Duplicate value: \".spec.a\"",
            ],
            "numbers and repetitions",
        ),
        (
            select(&[
                ".spec.m.a",
                ".spec.m.b",
                ".spec.m.c",
                ".spec.m.d",
                ".spec.m.e",
                ".spec.m.f",
                ".spec.m.g",
                ".spec.m.h",
                ".spec.m.i",
            ]),
            &["spec.selectableFields: Too many: 9: must have at most 8 items"],
            "more than eight",
        ),
    ]);
}

#[test]
fn conversion_by_webhook() {
    let url = |url: &str| with_webhook(&json!({"url": url}), &json!(["v1"]));
    let service = |service: Value| with_webhook(&json!({"service": (service)}), &json!(["v1"]));
    let config = "spec.conversion.webhookClientConfig";
    let reviews = "spec.conversion.conversionReviewVersions";
    check(&[
        (url("https://x.example.com/c"), &[], "fine"),
        (
            url("http://u:p@x/?q#f"),
            &[
                &format!(
                    "{config}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: \
                     https://host[/path]"
                ),
                &format!(
                    "{config}.url: Invalid value: \"u:p\": user information is not permitted in the URL"
                ),
                &format!("{config}.url: Invalid value: \"f\": fragments are not permitted in the URL"),
                &format!("{config}.url: Invalid value: \"q\": query parameters are not permitted in the URL"),
            ],
            "a URL with too much in it",
        ),
        (
            url("https://["),
            &[&format!(
                "{config}.url: Required value: url must be a valid URL: parse \"https://[\": missing ']' in host; \
                 desired format: https://host[/path]"
            )],
            "no URL",
        ),
        (
            service(json!({"name": "", "namespace": "n", "port": 0, "path": "/A//"})),
            &[
                &format!("{config}.service.namespace: Required value"),
                &format!(
                    "{config}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"
                ),
                &format!("{config}.service.path: Invalid value: \"/A//\": segment[0]: {{subdomain}}"),
                &format!("{config}.service.path: Invalid value: \"/A//\": segment[1] may not be empty"),
            ],
            "the missing name is reported as a missing namespace",
        ),
        (
            service(json!({"name": "s", "namespace": "n", "path": "x"})),
            &[
                &format!("{config}.service.path: Invalid value: \"x\": must start with a '/'"),
                &format!("{config}.service.path: Invalid value: \"x\": segment[0] may not be empty"),
            ],
            "a relative path",
        ),
        (
            with_webhook(&json!({}), &json!([])),
            &[
                &format!("{config}: Required value: exactly one of url or service is required"),
                &format!("{reviews}: Required value"),
            ],
            "nothing to call",
        ),
        (
            with_webhook(&json!({"url": "https://x"}), &json!(["v2", "v2", "b@d"])),
            &[
                &format!("{reviews}[1]: Invalid value: \"v2\": duplicate version"),
                &format!("{reviews}[2]: Invalid value: \"b@d\": {{label}}"),
                &format!(
                    "{reviews}: Invalid value: [\"v2\",\"v2\",\"b@d\"]: must include at least one of v1, v1beta1"
                ),
            ],
            "reviews of no known version",
        ),
        (
            crd(&json!({"spec": {"preserveUnknownFields": true, "conversion": {"strategy": "X", "webhook": {
                "clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]}}}})),
            &[
                "spec.conversion.strategy: Invalid value: \"X\": must be None if spec.preserveUnknownFields is true",
                "spec.conversion.strategy: Unsupported value: \"X\": supported values: \"None\", \"Webhook\"",
                &format!("{config}: Forbidden: should not be set when strategy is not set to Webhook"),
                &format!("{reviews}: Forbidden: should not be set when strategy is not set to Webhook"),
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set \
                 x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
            ],
            "another strategy",
        ),
        (
            crd(&json!({"spec": {"conversion": {"strategy": ""}}})),
            &["spec.conversion.strategy: Required value"],
            "none",
        ),
    ]);
}

#[test]
fn forbidden_updates() {
    let old = crd(&json!({}));
    let other = crd(&json!({"spec": {"group": "other.com", "scope": "Cluster",
                                     "names": {"plural": "bars", "kind": "Bar"}}}));
    let always = [
        "spec.group: Invalid value: \"other.com\": field is immutable",
        "spec.names.plural: Invalid value: \"bars\": field is immutable",
    ];
    assert_eq!(update(&other, &old), always, "before it is established");
    assert_eq!(
        update(&other, &established(old.clone())),
        [
            "spec.scope: Invalid value: \"Cluster\": field is immutable",
            "spec.names.kind: Invalid value: \"Bar\": field is immutable",
            always[0],
            always[1]
        ],
        "once it is established"
    );
    let bare = with_version(&json!({"schema": null}));
    assert_eq!(update(&bare, &old), ["spec.versions[0].schema.openAPIV3Schema: Required value"]);
    assert_eq!(
        update(&bare, &bare),
        ["spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"],
        "one that never had a schema may go without if it prunes nothing"
    );
    let keeps = crd(&json!({"spec": {"preserveUnknownFields": true}}));
    assert_eq!(update(&keeps, &keeps), [""; 0], "what was kept before may be kept");
    assert_eq!(update(&keeps, &old).len(), 1);
    let unrecognised = with_webhook(&json!({"url": "https://x"}), &json!(["v2"]));
    assert_eq!(update(&unrecognised, &unrecognised), [""; 0], "nor must reviews get better");
}

#[test]
fn certificates_are_looked_at_once_they_were_good() {
    let with = |bundle: &str| with_webhook(&json!({"url": "https://x", "caBundle": bundle}), &json!(["v1"]));
    let bad = with("YQ==");
    assert_eq!(create(&bad), [""; 0], "not on create");
    assert_eq!(
        update(&bad, &established(crd(&json!({})))),
        [
            "spec.conversion.webhookClientConfig.caBundle: Invalid value: \"YQ==\": unable to load root certificates: \
          unable to parse bytes as PEM block"
        ]
    );
    assert_eq!(update(&bad, &established(with("Yg=="))), [""; 0], "not if they were bad before");
    assert_eq!(update(&bad, &crd(&json!({}))), [""; 0], "not before it is established");
}

#[test]
fn v1beta1_has_rules_of_its_own() {
    let beta = |patch: &Value| {
        let mut document = json!({"metadata": {"name": "foos.example.com"}, "spec": {
            "group": "example.com", "version": "v1", "names": {"plural": "foos", "kind": "Foo"}}});
        merge(&mut document, patch);
        decode(&document, ApiVersion::V1beta1, Options::default()).unwrap().crd
    };
    let schema = |schema: Value| json!({"spec": {"validation": {"openAPIV3Schema": (schema)}}});
    let pruning = |mut patch: Value| {
        merge(&mut patch, &json!({"spec": {"preserveUnknownFields": false}}));
        patch
    };
    let own = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let default = json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}});
    let rows: &[(Value, &[&str], &str)] = &[
        (json!({}), &[], "no schema at all"),
        (schema(json!({"properties": {"a": {}}})), &[], "a schema that is not structural"),
        (
            pruning(json!({})),
            &[
                "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned",
            ],
            "pruning needs a schema",
        ),
        (
            pruning(schema(json!({"properties": {"a": {"type": "string"}}}))),
            &["spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"],
            "a structural one",
        ),
        (
            schema(json!({"properties": {"a": {"x-kubernetes-int-or-string": true}}})),
            &["spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"],
            "as do the extensions",
        ),
        (
            pruning(schema(default)),
            &[
                "spec.validation.openAPIV3Schema.properties[a].default: Forbidden: must not be set (cannot set default \
               values in apiextensions.k8s.io/v1beta1 CRDs, must use apiextensions.k8s.io/v1)",
            ],
            "defaults are for v1",
        ),
        (
            json!({"spec": {"versions": [{"name": "v2", "served": true, "storage": true}]}}),
            &["spec.version: Invalid value: \"v1\": must match the first version in spec.versions"],
            "version and versions",
        ),
    ];
    for (patch, want, why) in rows {
        let errors = validate_create(&beta(patch), ApiVersion::V1beta1);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), *want, "{why}");
    }
    let mut both = schema(json!({"type": "object"}));
    merge(&mut both, &json!({"spec": {"versions": [own]}}));
    let errors = validate_create(&beta(&both), ApiVersion::V1beta1);
    let details: Vec<&str> = errors.iter().map(|e| e.detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "top-level and per-version schemas are mutually exclusive",
            "per-version schemas may not all be set to identical values (top-level validation should be used instead)",
        ]
    );
}

#[test]
fn a_status_must_have_names_of_the_right_form() {
    let old = crd(&json!({}));
    let new = crd(&json!({"status": {"acceptedNames": {"plural": "A", "kind": ""}}}));
    let errors: Vec<String> = validate_status_update(&new, &old).iter().map(ToString::to_string).collect();
    assert_eq!(errors, [format!("status.acceptedNames.plural: Invalid value: \"A\": {LABEL}")]);
}

#[test]
fn errors_of_the_old_schema_are_ratcheted() {
    let with = |a: &Value, preserve: bool| {
        let mut only = version();
        merge(
            &mut only,
            &json!({"schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"a": null}}}}}}),
        );
        merge(
            &mut only,
            &json!({"schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"a": (a.clone())}}}}}}),
        );
        crd(&json!({"spec": {"preserveUnknownFields": preserve, "versions": [only]}}))
    };
    let fine = json!({"type": "string"});
    let set_of_objects = json!({"type": "array", "x-kubernetes-list-type": "set",
        "items": {"type": "object", "properties": {"x": {"type": "string"}}}});
    let map_with_loose_key = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}});
    let nullable_set = json!({"type": "array", "x-kubernetes-list-type": "set",
        "items": {"type": "string", "nullable": true}});
    let unpruned = json!({"type": "object", "properties": {"x": {"type": "string"}}, "default": {"y": "1"}});
    // The schema, whether the CRD keeps unknown fields, errors where the old one was fine and where it was the same.
    for (schema, preserve, fresh, same, why) in [
        (json!({"type": "bogus"}), false, 1, 0, "a type that there is not"),
        (set_of_objects, false, 1, 0, "items of a set that are not atomic"),
        (map_with_loose_key, false, 1, 0, "a map key without default"),
        (nullable_set, false, 1, 0, "items of a set that may be null"),
        (unpruned, false, 1, 0, "a default that would be pruned"),
        (json!({}), true, 1, 0, "no type, where nothing is pruned"),
        (json!({}), false, 1, 1, "pruning needs a structural schema, new or old"),
        (
            json!({"properties": {"x": {"x-kubernetes-int-or-string": true}}}),
            true,
            1,
            1,
            "so do the extensions",
        ),
        (
            json!({"x-kubernetes-map-type": "atomic"}),
            true,
            2,
            1,
            "the map type wants a type, but forces no structure",
        ),
    ] {
        let new = with(&schema, preserve);
        assert_eq!(
            update(&new, &with(&fine, preserve)).len(),
            fresh,
            "{why}: {:?}",
            update(&new, &with(&fine, preserve))
        );
        assert_eq!(update(&new, &new).len(), same, "{why}: {:?}", update(&new, &new));
    }
}
