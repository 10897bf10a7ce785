//! The options of a request, from its query string and body, with upstream's complaints.

use pleach_engine::options::{
    DeleteOptions, FieldValidation, Freshness, ListOptions, PatchType, Propagation, WatchOptions,
    WriteOptions,
};
use pleach_engine::rejection::{Rejection, Subject};
use pleach_engine::token::Token;
use pleach_go::json::field_type_error;
use pleach_go::strconv;
use pleach_json::{Str, Value};
use pleach_meta::object_meta::validate_field_manager;
use pleach_meta::selector::{FieldSelector, LabelSelector};
use pleach_meta::{FieldError, Path};

use crate::query::Query;

fn parse_int(text: &str) -> Result<i64, Rejection> {
    strconv::parse_int(text).map_err(Rejection::BadRequest)
}

fn invalid_options(kind: &str, errors: Vec<FieldError>) -> Rejection {
    let subject = Subject { group: "meta.k8s.io".into(), resource: kind.into(), name: Str::default() };
    Rejection::Invalid { subject, errors }
}

/// Options of create and update.
pub fn write_options(query: &Query, kind: &str) -> Result<WriteOptions, Rejection> {
    let mut errors = Vec::new();
    let options = common_write_options(query, &mut errors);
    if errors.is_empty() { Ok(options) } else { Err(invalid_options(kind, errors)) }
}

/// Options of patch, which depend on the kind of patch.
pub fn patch_options(query: &Query, patch_type: PatchType) -> Result<WriteOptions, Rejection> {
    let mut errors = Vec::new();
    let force = query.switch("force");
    if patch_type == PatchType::Apply {
        if query.text("fieldManager").is_empty() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
    } else if force.is_some() {
        errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
    }
    let mut options = common_write_options(query, &mut errors);
    options.force = force.unwrap_or(false);
    if errors.is_empty() { Ok(options) } else { Err(invalid_options("PatchOptions", errors)) }
}

fn common_write_options(query: &Query, errors: &mut Vec<FieldError>) -> WriteOptions {
    let manager = query.text("fieldManager");
    errors.extend(validate_field_manager(manager, &Path::new("fieldManager")));
    let dry_run = dry_run(query.all("dryRun"), errors);
    let field_validation = match query.text("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            errors.push(FieldError::not_supported(
                "fieldValidation",
                other,
                &["", "Ignore", "Strict", "Warn"],
            ));
            FieldValidation::Warn
        }
    };
    let says_validation = !query.text("fieldValidation").is_empty();
    WriteOptions { dry_run, field_manager: manager.into(), field_validation, says_validation, force: false }
}

fn dry_run<'a>(given: impl Iterator<Item = &'a str>, errors: &mut Vec<FieldError>) -> bool {
    let given: Vec<&str> = given.collect();
    if given.iter().any(|value| *value != "All") {
        let list: Vec<Value> = given.iter().map(|value| Value::from(*value)).collect();
        errors.push(FieldError::not_supported("dryRun", list, &["All"]));
    }
    !given.is_empty()
}

/// The common options of lists and watches.
struct Common {
    timeout: Option<i64>,
    limit: i64,
    labels: LabelSelector,
    fields: FieldSelector,
}

/// Numbers are read first, and then selectors.
fn common(query: &Query) -> Result<Common, Rejection> {
    let timeout = query.get("timeoutSeconds").map(parse_int).transpose()?;
    let limit = query.get("limit").map(parse_int).transpose()?.unwrap_or(0);
    let labels = LabelSelector::parse(query.text("labelSelector")).map_err(Rejection::BadRequest)?;
    let fields = FieldSelector::parse(query.text("fieldSelector")).map_err(Rejection::BadRequest)?;
    Ok(Common { timeout, limit, labels, fields })
}

/// Options of list and deletecollection.
pub fn list_options(query: &Query) -> Result<ListOptions, Rejection> {
    let Common { limit, labels, fields, .. } = common(query)?;
    let version = query.text("resourceVersion");
    let matching = query.text("resourceVersionMatch");
    let token = query.get("continue").filter(|token| !token.is_empty());
    let mut errors = Vec::new();
    if query.get("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if !matching.is_empty() {
        let path = "resourceVersionMatch";
        if version.is_empty() {
            errors.push(FieldError::forbidden(
                path,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if token.is_some() {
            errors.push(FieldError::forbidden(
                path,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(path, matching, &["Exact", "NotOlderThan", ""]));
        }
        if matching == "Exact" && version == "0" {
            errors.push(FieldError::forbidden(
                path,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ));
        }
    }
    if !errors.is_empty() {
        return Err(invalid_options("ListOptions", errors));
    }
    // An invalid token is reported first.
    if let Some(token) = token
        && !matches!(version, "" | "0")
    {
        Token::decode(token)?;
        return Err(Rejection::BadRequest(
            "specifying resource version is not allowed when using continue".into(),
        ));
    }
    let freshness = if version.is_empty() {
        Freshness::Latest
    } else {
        let number = strconv::parse_uint(version).map_err(|error| {
            Rejection::BadRequest(format!(
                "invalid resource version: resourceVersion: Invalid value: \"{version}\": {error}"
            ))
        })?;
        match (number, matching) {
            (0, _) => Freshness::Any,
            (number, "Exact") => Freshness::Exact(number),
            (number, "") if limit > 0 => Freshness::Exact(number),
            (number, _) => Freshness::NotOlderThan(number),
        }
    };
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let limit = if freshness == Freshness::Any && token.is_none() { None } else { limit };
    Ok(ListOptions { labels, fields, limit, continue_token: token.map(str::to_owned), freshness })
}

/// Options of watch, and how long it may last. `watch_list` is whether the gate `WatchList` is open.
pub fn watch_options(query: &Query, watch_list: bool) -> Result<(WatchOptions, Option<u64>), Rejection> {
    let Common { timeout, labels, fields, .. } = common(query)?;
    let version = query.text("resourceVersion");
    let mut matching = query.text("resourceVersionMatch");
    let mut initial = query.switch("sendInitialEvents");
    // A watch without a resource version begins with the current objects.
    if matches!(version, "" | "0") && initial.is_none() && matching.is_empty() {
        initial = Some(true);
        matching = "NotOlderThan";
    }
    let mut errors = Vec::new();
    let path = "resourceVersionMatch";
    if query.switch("sendInitialEvents").is_some() && !watch_list {
        errors.push(FieldError::forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
        ));
    }
    if !matching.is_empty() {
        if initial.is_none() {
            errors.push(FieldError::forbidden(
                path,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if query.get("continue").is_some_and(|token| !token.is_empty()) {
            errors.push(FieldError::forbidden(
                path,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
    }
    if initial.is_some() && matching != "NotOlderThan" {
        errors.push(FieldError::forbidden(
            path,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    if !matching.is_empty() && matching != "NotOlderThan" {
        errors.push(FieldError::not_supported(path, matching, &["NotOlderThan"]));
    }
    if !errors.is_empty() {
        return Err(invalid_options("ListOptions", errors));
    }
    let number = if version.is_empty() {
        0
    } else {
        strconv::parse_uint(version).map_err(|error| {
            Rejection::Plain(format!("resourceVersion: Invalid value: \"{version}\": {error}"))
        })?
    };
    let initial_events = initial.unwrap_or(false);
    let options = WatchOptions {
        labels,
        fields,
        after: (number != 0 && !initial_events).then_some(number),
        initial_events,
        not_older_than: if number == 0 {
            (!version.is_empty()).then_some(0)
        } else {
            initial_events.then_some(number)
        },
        bookmarks: query.switch("allowWatchBookmarks").unwrap_or(false),
    };
    Ok((options, timeout.and_then(|t| u64::try_from(t).ok()).filter(|t| *t > 0)))
}

/// Options of get.
pub fn get_options(query: &Query) -> Result<Freshness, Rejection> {
    match query.text("resourceVersion") {
        "" => Ok(Freshness::Latest),
        version => match strconv::parse_uint(version) {
            Ok(0) => Ok(Freshness::Any),
            Ok(number) => Ok(Freshness::NotOlderThan(number)),
            Err(error) => {
                Err(Rejection::Plain(format!("resourceVersion: Invalid value: \"{version}\": {error}")))
            }
        },
    }
}

/// Options of delete, from the body.
pub fn delete_options(body: &Value) -> Result<DeleteOptions, Rejection> {
    let mut errors = Vec::new();
    let options = from_body(body, &mut errors)?;
    if errors.is_empty() { Ok(options) } else { Err(invalid_options("DeleteOptions", errors)) }
}

/// Options of delete, from the query: without a body they are there.
pub fn delete_options_of_query(query: &Query) -> Result<DeleteOptions, Rejection> {
    let mut errors = Vec::new();
    let options = from_query(query, &mut errors)?;
    if errors.is_empty() { Ok(options) } else { Err(invalid_options("DeleteOptions", errors)) }
}

fn from_query(query: &Query, errors: &mut Vec<FieldError>) -> Result<DeleteOptions, Rejection> {
    let grace_period_seconds = query.get("gracePeriodSeconds").map(parse_int).transpose()?;
    let orphan = query.switch("orphanDependents");
    let policy = query.get("propagationPolicy").filter(|policy| !policy.is_empty());
    let propagation = propagation(policy, orphan, errors);
    let dry_run = dry_run(query.all("dryRun"), errors);
    let precondition = |name: &str| query.get(name).filter(|value| !value.is_empty()).map(Str::from);
    let (uid, resource_version) = (precondition("uid"), precondition("resourceVersion"));
    let given = Given {
        dry_run,
        propagation_policy: policy.is_some(),
        orphan_dependents: orphan.is_some(),
        grace_period_seconds: grace_period_seconds.is_some(),
        preconditions: uid.is_some() || resource_version.is_some(),
    };
    Ok(DeleteOptions {
        dry_run,
        uid,
        resource_version,
        propagation,
        explicit_not_orphan: orphan == Some(false),
        grace_period_seconds,
        ignore_store_read_error: ignores_store_read_error(query.switch(IGNORE_READ_ERROR), &given, errors),
    })
}

/// The delete option for objects that cannot be decoded.
const IGNORE_READ_ERROR: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// Which delete options were given.
struct Given {
    dry_run: bool,
    propagation_policy: bool,
    orphan_dependents: bool,
    grace_period_seconds: bool,
    preconditions: bool,
}

/// Whether an object is deleted although it cannot be decoded. No other option may be given with that.
fn ignores_store_read_error(asked: Option<bool>, given: &Given, errors: &mut Vec<FieldError>) -> bool {
    if asked != Some(true) {
        return false;
    }
    for (is_given, option) in [
        (given.dry_run, "dryRun"),
        (given.propagation_policy, "propagationPolicy"),
        (given.orphan_dependents, "orphanDependents"),
        (given.grace_period_seconds, "gracePeriodSeconds"),
        (given.preconditions, "preconditions"),
    ] {
        if is_given {
            let why = format!("cannot be set together with .{option}");
            errors.push(FieldError::invalid(IGNORE_READ_ERROR, true, why));
        }
    }
    true
}

fn from_body(value: &Value, errors: &mut Vec<FieldError>) -> Result<DeleteOptions, Rejection> {
    let bad = |text: String| Rejection::BadRequest(text);
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let api_version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        return Err(bad(format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
        )));
    }
    let wrong = |field: &str, found: &Value, wanted: &str| {
        bad(field_type_error(found, "DeleteOptions", field, wanted))
    };
    let text = |at: &[&str], name: &str| match value.at(at) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(name, other, "string")),
    };
    let grace_period_seconds = match value.get("gracePeriodSeconds") {
        None | Some(Value::Null) => None,
        Some(Value::Int(seconds)) => Some(*seconds),
        Some(other) => return Err(wrong("gracePeriodSeconds", other, "int64")),
    };
    let orphan = match value.get("orphanDependents") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(orphan)) => Some(*orphan),
        Some(other) => return Err(wrong("orphanDependents", other, "bool")),
    };
    let policy = text(&["propagationPolicy"], "propagationPolicy")?;
    let propagation = propagation(policy.as_deref(), orphan, errors);
    let given: Vec<&str> = match value.get("dryRun") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list
            .iter()
            .map(|item| item.as_str().ok_or_else(|| wrong("dryRun", item, "string")))
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(wrong("dryRun", other, "[]string")),
    };
    let dry_run = dry_run(given.into_iter(), errors);
    let ignore = match value.get(IGNORE_READ_ERROR) {
        None | Some(Value::Null) => None,
        Some(Value::Bool(ignore)) => Some(*ignore),
        Some(other) => return Err(wrong(IGNORE_READ_ERROR, other, "bool")),
    };
    let given = Given {
        dry_run,
        propagation_policy: policy.is_some(),
        orphan_dependents: orphan.is_some(),
        grace_period_seconds: grace_period_seconds.is_some(),
        preconditions: value.get("preconditions").is_some_and(|given| !given.is_null()),
    };
    Ok(DeleteOptions {
        dry_run,
        uid: text(&["preconditions", "uid"], "preconditions.uid")?,
        resource_version: text(&["preconditions", "resourceVersion"], "preconditions.resourceVersion")?,
        propagation,
        explicit_not_orphan: orphan == Some(false),
        grace_period_seconds,
        ignore_store_read_error: ignores_store_read_error(ignore, &given, errors),
    })
}

fn propagation(
    policy: Option<&str>,
    orphan: Option<bool>,
    errors: &mut Vec<FieldError>,
) -> Option<Propagation> {
    if let (Some(policy), Some(_)) = (policy, orphan) {
        errors.push(FieldError::invalid(
            "propagationPolicy",
            policy,
            "orphanDependents and deletionPropagation cannot be both set",
        ));
    }
    match (policy, orphan) {
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some(other), _) => {
            errors.push(FieldError::not_supported(
                "propagationPolicy",
                other,
                &["Foreground", "Background", "Orphan", "nil"],
            ));
            None
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delete(query: &str, body: &str) -> Result<bool, String> {
        let options = if body.is_empty() {
            delete_options_of_query(&Query::parse(Some(query)))
        } else {
            delete_options(&pleach_json::parse(body.as_bytes()).expect("the body is JSON"))
        };
        options.map(|options| options.ignore_store_read_error).map_err(|error| error.to_string())
    }

    #[test]
    fn the_option_for_unreadable_objects_stands_alone() {
        const OPTION: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
        assert_eq!(delete("", ""), Ok(false));
        assert_eq!(delete(&format!("{OPTION}=true"), ""), Ok(true));
        assert_eq!(delete("", &format!("{{\"{OPTION}\":true}}")), Ok(true));
        assert_eq!(delete("dryRun=All", &format!("{{\"{OPTION}\":true}}")), Ok(true), "the body counts");
        assert_eq!(delete(&format!("{OPTION}=false&dryRun=All"), ""), Ok(false));
        let refused = |others: &[&str]| {
            let each = others
                .iter()
                .map(|other| format!("{OPTION}: Invalid value: true: cannot be set together with .{other}"));
            let all = each.collect::<Vec<_>>().join(", ");
            let all = if others.len() > 1 { format!("[{all}]") } else { all };
            Err(format!("DeleteOptions.meta.k8s.io \"\" is invalid: {all}"))
        };
        for (query, body, others) in [
            ("dryRun=All", "\"dryRun\":[\"All\"]", &["dryRun"][..]),
            ("propagationPolicy=Orphan", "\"propagationPolicy\":\"Orphan\"", &["propagationPolicy"]),
            ("orphanDependents=true", "\"orphanDependents\":true", &["orphanDependents"]),
            ("gracePeriodSeconds=0", "\"gracePeriodSeconds\":0", &["gracePeriodSeconds"]),
            ("uid=x", "\"preconditions\":{}", &["preconditions"]),
            (
                "dryRun=All&gracePeriodSeconds=0",
                "\"dryRun\":[\"All\"],\"gracePeriodSeconds\":0",
                &["dryRun", "gracePeriodSeconds"],
            ),
        ] {
            assert_eq!(delete(&format!("{query}&{OPTION}=true"), ""), refused(others), "{query}");
            assert_eq!(delete("", &format!("{{{body},\"{OPTION}\":true}}")), refused(others), "{body}");
        }
        let wrong = delete("", &format!("{{\"{OPTION}\":\"yes\"}}"));
        assert_eq!(
            wrong,
            Err(format!(
                "json: cannot unmarshal string into Go struct field DeleteOptions.{OPTION} of type bool"
            ))
        );
    }
}
