//! Validation of FlowSchemas and PriorityLevelConfigurations, in upstream's order and words.

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::names::check_dns1123_label;
use pleach_meta::object_meta::ObjectMeta;

use super::{bootstrap, go_struct};
use crate::kinds::checks::{Errors, dns_subdomain};
use crate::kinds::fields::{bool_at, int_at, items, text, text_at};

const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
/// Bits of a hash that shuffle sharding may use up.
const MAX_HASH_BITS: i64 = 60;
const MAX_QUEUES: i64 = 10_000_000;
/// Of schemas other than `exempt`, which has 1.
const MAX_PRECEDENCE: i64 = 10_000;

/// A whole FlowSchema.
pub(super) fn flow_schema(object: &Value) -> Errors {
    let name = ObjectMeta::of(object).name();
    let empty = Value::object();
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    let precedence = int_at(spec, &["matchingPrecedence"]);
    let mut wrong =
        |why: String| errors.push(FieldError::invalid("spec.matchingPrecedence", precedence, why));
    if precedence <= 0 {
        wrong("must be a positive value".into());
    }
    if precedence > MAX_PRECEDENCE {
        wrong(format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if precedence == 1 && name != "exempt" {
        wrong("only the schema named 'exempt' may have matchingPrecedence 1".into());
    }
    if let Some(method) = spec.get("distinguisherMethod").filter(|method| !method.is_null())
        && !["ByNamespace", "ByUser"].contains(&text(method, "type"))
    {
        let shown = BadValue::Raw(go_struct::method(method));
        let known = ["ByNamespace", "ByUser"];
        errors.push(FieldError::not_supported("spec.distinguisherMethod.type", shown, &known));
    }
    let level = text_at(spec, &["priorityLevelConfiguration", "name"]);
    let path = "spec.priorityLevelConfiguration.name";
    if level.is_empty() {
        errors.push(FieldError::required(path, "must reference a priority level"));
    } else {
        dns_subdomain(level, path, &mut errors);
    }
    for (i, rule) in items(spec, "rules").iter().enumerate() {
        rule_with_subjects(rule, &format!("spec.rules[{i}]"), &mut errors);
    }
    if let Some(fixed) = bootstrap::mandatory_flow_schema(name) {
        let (is, wanted) =
            (go_struct::flow_schema_spec(spec), fixed.get("spec").map(go_struct::flow_schema_spec));
        if wanted.as_ref() != Some(&is) {
            let why = format!("spec of '{name}' must equal the fixed value");
            errors.push(FieldError::invalid("spec", BadValue::Raw(is), why));
        }
    }
    errors.extend(status(object));
    errors
}

fn rule_with_subjects(rule: &Value, path: &str, errors: &mut Errors) {
    let subjects = items(rule, "subjects");
    for (i, subject) in subjects.iter().enumerate() {
        self::subject(subject, &format!("{path}.subjects[{i}]"), errors);
    }
    if subjects.is_empty() {
        let why = "subjects must contain at least one value";
        errors.push(FieldError::required(format!("{path}.subjects"), why));
    }
    let (resource, other) = (items(rule, "resourceRules"), items(rule, "nonResourceRules"));
    if resource.is_empty() && other.is_empty() {
        let why = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(FieldError::required(path, why));
    }
    for (i, rule) in resource.iter().enumerate() {
        resource_rule(rule, &format!("{path}.resourceRules[{i}]"), errors);
    }
    for (i, rule) in other.iter().enumerate() {
        non_resource_rule(rule, &format!("{path}.nonResourceRules[{i}]"), errors);
    }
}

fn subject(subject: &Value, path: &str, errors: &mut Errors) {
    const KINDS: [(&str, &str); 3] =
        [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = text(subject, "kind");
    let Some((_, own)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        let known = ["Group", "ServiceAccount", "User"];
        return errors.push(FieldError::not_supported(format!("{path}.kind"), kind, &known));
    };
    let given = |member: &str| subject.get(member).filter(|value| !value.is_null());
    let at = format!("{path}.{own}");
    match given(own) {
        None => {
            let why = format!("{own} is required when subject kind is '{kind}'");
            errors.push(FieldError::required(at, why));
        }
        Some(subject) => {
            let name = text(subject, "name");
            if name.is_empty() {
                errors.push(FieldError::required(format!("{at}.name"), ""));
            } else if kind == "ServiceAccount" && name != "*" {
                dns_subdomain(name, &format!("{at}.name"), errors);
            }
            if kind == "ServiceAccount" {
                let (namespace, at) = (text(subject, "namespace"), format!("{at}.namespace"));
                if namespace.is_empty() {
                    errors.push(FieldError::required(at, "must specify namespace for service account"));
                } else {
                    let wrong = check_dns1123_label(namespace).into_iter();
                    errors.extend(wrong.map(|why| FieldError::invalid(&at, namespace, why)));
                }
            }
        }
    }
    let order = if kind == "ServiceAccount" { [KINDS[1], KINDS[2], KINDS[0]] } else { KINDS };
    for (other_kind, other) in order.into_iter().filter(|(other_kind, _)| *other_kind != kind) {
        if given(other).is_some() {
            let why = format!("{other} is forbidden when subject kind is not '{other_kind}'");
            errors.push(FieldError::forbidden(format!("{path}.{other}"), why));
        }
    }
}

/// The texts of a list.
fn texts<'a>(rule: &'a Value, key: &str) -> Vec<&'a str> {
    items(rule, key).iter().filter_map(Value::as_str).collect()
}

/// The list as errors show it.
fn shown(rule: &Value, key: &str) -> Value {
    rule.get(key).cloned().unwrap_or_default()
}

/// A list that has a star has nothing else; whether it has one.
fn lone_star(rule: &Value, key: &str, what: &str, path: &str, errors: &mut Errors) -> bool {
    let list = texts(rule, key);
    let star = list.contains(&"*");
    if star && list.len() > 1 {
        let why = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(format!("{path}.{key}"), shown(rule, key), why));
    }
    star
}

fn verbs(rule: &Value, path: &str, errors: &mut Errors) {
    let list = texts(rule, "verbs");
    let at = format!("{path}.verbs");
    if list.is_empty() {
        errors.push(FieldError::required(at, "verbs must contain at least one value"));
    } else if !lone_star(rule, "verbs", "verbs", path, errors)
        && list.iter().any(|verb| !VERBS.contains(verb))
    {
        errors.push(FieldError::not_supported(at, shown(rule, "verbs"), &VERBS));
    }
}

fn resource_rule(rule: &Value, path: &str, errors: &mut Errors) {
    verbs(rule, path, errors);
    for (key, what, one) in [("apiGroups", "api groups", "api group"), ("resources", "resources", "resource")]
    {
        if texts(rule, key).is_empty() {
            let why = format!("resource rules must supply at least one {one}");
            errors.push(FieldError::required(format!("{path}.{key}"), why));
        } else {
            lone_star(rule, key, what, path, errors);
        }
    }
    let namespaces = texts(rule, "namespaces");
    let at = format!("{path}.namespaces");
    if namespaces.is_empty() && !bool_at(rule, &["clusterScope"]) {
        let why = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.push(FieldError::required(at, why));
    } else if !lone_star(rule, "namespaces", "namespaces", path, errors) {
        for (i, namespace) in namespaces.into_iter().enumerate() {
            for why in check_dns1123_label(namespace) {
                let why = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
                errors.push(FieldError::invalid(format!("{at}[{i}]"), namespace, why));
            }
        }
    }
}

fn non_resource_rule(rule: &Value, path: &str, errors: &mut Errors) {
    verbs(rule, path, errors);
    let urls = texts(rule, "nonResourceURLs");
    let at = format!("{path}.nonResourceURLs");
    if urls.is_empty() {
        errors.push(FieldError::required(at, "nonResourceURLs must contain at least one value"));
    } else if !lone_star(rule, "nonResourceURLs", "non-resource URLs", path, errors) {
        for (i, url) in urls.into_iter().enumerate() {
            if let Some(why) = wrong_url(url) {
                errors.push(FieldError::invalid(format!("{at}[{i}]"), url, why));
            }
        }
    }
}

fn wrong_url(url: &str) -> Option<&'static str> {
    let stars = url.matches('*').count();
    Some(match url {
        "" => "must not be empty",
        "/" => return None,
        _ if !url.starts_with('/') => "must start with slash",
        _ if url.contains(' ') => "must not contain white-space",
        _ if url.contains("//") => "must not contain double slash",
        _ if stars > 1 || stars == 1 && !url.ends_with("/*") => "wildcard can only do suffix matching",
        _ => return None,
    })
}

/// An annotation for conversions to v1beta3 only.
const ZERO_SHARES: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// A whole PriorityLevelConfiguration.
pub(super) fn priority_level(object: &Value) -> Errors {
    let name = ObjectMeta::of(object).name();
    let empty = Value::object();
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    if ObjectMeta::of(object).annotation(ZERO_SHARES).is_some() {
        let why = format!("annotation '{ZERO_SHARES}' is forbidden");
        errors.push(FieldError::forbidden("metadata.annotations", why));
    }
    let kind = text(spec, "type");
    if (name == "exempt") != (kind == "Exempt") {
        let why = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push(FieldError::invalid("spec.type", kind, why));
    }
    let given = |member: &str| spec.get(member).filter(|value| !value.is_null());
    match kind {
        "Exempt" => {
            if given("limited").is_some() {
                errors.push(FieldError::forbidden("spec.limited", "must be nil if the type is not Limited"));
            }
            if let Some(exempt) = given("exempt") {
                shares(exempt, "spec.exempt", &mut errors);
                lendable(exempt, "spec.exempt", &mut errors);
            }
        }
        "Limited" => {
            if given("exempt").is_some() {
                errors.push(FieldError::forbidden("spec.exempt", "must be nil if the type is Limited"));
            }
            match given("limited") {
                None => errors
                    .push(FieldError::required("spec.limited", "must not be empty when type is Limited")),
                Some(limited) => self::limited(limited, &mut errors),
            }
        }
        "" => errors.push(FieldError::required("spec.type", "")),
        other => errors.push(FieldError::not_supported("spec.type", other, &["Exempt", "Limited"])),
    }
    if let Some(mut fixed) = bootstrap::mandatory_priority_level(name) {
        let is = go_struct::priority_level_spec(spec);
        let except = if name == "exempt" { " except the 'spec.exempt' field" } else { "" };
        // The administrator may change how much the exempt level lends.
        if name == "exempt"
            && let Some(members) = fixed.get_mut("spec").and_then(Value::as_object_mut)
        {
            members.insert("exempt", given("exempt").cloned().unwrap_or_default());
        }
        if fixed.get("spec").map(go_struct::priority_level_spec).as_ref() != Some(&is) {
            let why = format!("spec of '{name}'{except} must equal the fixed value");
            errors.push(FieldError::invalid("spec", BadValue::Raw(is), why));
        }
    }
    errors.extend(status(object));
    errors
}

fn shares(level: &Value, path: &str, errors: &mut Errors) {
    let shares = int_at(level, &["nominalConcurrencyShares"]);
    if shares < 0 {
        let at = format!("{path}.nominalConcurrencyShares");
        errors.push(FieldError::invalid(at, shares, "must be a non-negative integer"));
    }
}

fn lendable(level: &Value, path: &str, errors: &mut Errors) {
    let percent = int_at(level, &["lendablePercent"]);
    if !(0..=100).contains(&percent) {
        let why = "must be between 0 and 100, inclusive";
        errors.push(FieldError::invalid(format!("{path}.lendablePercent"), percent, why));
    }
}

fn limited(limited: &Value, errors: &mut Errors) {
    let path = "spec.limited";
    shares(limited, path, errors);
    let empty = Value::object();
    let response = limited.get("limitResponse").unwrap_or(&empty);
    let queuing = response.get("queuing").filter(|queuing| !queuing.is_null());
    let at = "spec.limited.limitResponse.queuing";
    match (text(response, "type"), queuing) {
        ("Reject", Some(_)) => {
            errors
                .push(FieldError::forbidden(at, "must be nil if limited.limitResponse.type is not Limited"));
        }
        ("Queue", None) => errors
            .push(FieldError::required(at, "must not be empty if limited.limitResponse.type is Limited")),
        ("Queue", Some(queuing)) => self::queuing(queuing, at, errors),
        ("Reject", None) => {}
        ("", _) => errors.push(FieldError::required("spec.limited.limitResponse.type", "")),
        (other, _) => {
            let known = ["Queue", "Reject"];
            errors.push(FieldError::not_supported("spec.limited.limitResponse.type", other, &known));
        }
    }
    lendable(limited, path, errors);
    let borrowing = int_at(limited, &["borrowingLimitPercent"]);
    if borrowing < 0 {
        let why = "if specified, must be a non-negative integer";
        errors.push(FieldError::invalid("spec.limited.borrowingLimitPercent", borrowing, why));
    }
}

fn queuing(queuing: &Value, path: &str, errors: &mut Errors) {
    let number = |key: &str| int_at(queuing, &[key]);
    let (length, queues, hand) = (number("queueLengthLimit"), number("queues"), number("handSize"));
    let mut wrong = |key: &str, value: i64, why: String| {
        errors.push(FieldError::invalid(format!("{path}.{key}"), value, why));
    };
    if length <= 0 {
        wrong("queueLengthLimit", length, "must be positive".into());
    }
    if queues <= 0 {
        wrong("queues", queues, "must be positive".into());
    } else if queues > MAX_QUEUES {
        wrong("queues", queues, format!("must not be greater than {MAX_QUEUES}"));
    }
    if hand <= 0 {
        wrong("handSize", hand, "must be positive".into());
    } else if hand > queues {
        wrong("handSize", hand, format!("should not be greater than queues ({queues})"));
    } else if ((queues as f64).log2() * hand as f64).ceil() as i64 > MAX_HASH_BITS {
        wrong(
            "handSize",
            hand,
            format!(
                "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
            ),
        );
    }
}

/// The conditions of either kind.
pub(super) fn status(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let conditions = object.get("status").map(|status| items(status, "conditions")).unwrap_or_default();
    for (i, condition) in conditions.iter().enumerate() {
        let (kind, at) = (text(condition, "type"), format!("status.conditions[{i}].type"));
        if seen.contains(&kind) {
            errors.push(FieldError::duplicate(&at, kind));
        }
        seen.push(kind);
        if kind.is_empty() {
            errors.push(FieldError::required(at, ""));
        }
    }
    errors
}
