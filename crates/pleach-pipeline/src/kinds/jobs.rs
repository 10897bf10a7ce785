//! Jobs and CronJobs.

mod failure_policy;
mod indexes;
mod status;
mod success_policy;

use pleach_go::strconv::atoi;
use pleach_go::time::parse_duration;
use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::selector::label::LabelSelector;

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{
    bool_at, default_absent_to, default_empty_to, default_to, each_mut, int_at, items, member, object_mut,
    submember, text, text_at,
};
use crate::kinds::pod::{cells, defaults, validate as pods};
use crate::prepare::metadata_mut;
use crate::resource::Subresource;

/// The rules of Jobs.
#[derive(Debug)]
pub struct Job;

impl Rules for Job {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["spec", "template"])
    }

    fn default(&self, object: &mut Value) {
        let labels = object.at(&["spec", "template", "metadata", "labels"]).cloned();
        if let Some(labels) = labels.filter(|labels| labels.as_object().is_some_and(|all| !all.is_empty())) {
            default_empty_to(metadata_mut(object), "labels", || labels);
        }
        let spec = member(object, "spec");
        if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
            spec.insert("completions", 1);
        }
        default_to(spec, "parallelism", 1);
        let per_index = spec.contains_key("backoffLimitPerIndex");
        default_to(spec, "backoffLimit", if per_index { 2_147_483_647 } else { 6 });
        default_to(spec, "completionMode", "NonIndexed");
        default_to(spec, "suspend", false);
        default_to(spec, "manualSelector", false);
        let has_policy = spec.contains_key("podFailurePolicy");
        default_absent_to(
            spec,
            "podReplacementPolicy",
            if has_policy { "Failed" } else { "TerminatingOrFailed" },
        );
        if let Some(policy) = object_mut(spec, "podFailurePolicy") {
            each_mut(policy, "rules", |rule| {
                each_mut(rule, "onPodConditions", |condition| default_to(condition, "status", "True"));
            });
        }
        defaults::template(spec);
    }

    fn prepare_for_create(&self, object: &mut Value) {
        if bool_at(object, &["spec", "manualSelector"]) {
            return;
        }
        let meta = ObjectMeta::of(object);
        let (name, uid) = (meta.name().to_owned(), meta.uid().to_owned());
        let labels = object.at(&["metadata", "labels"]).cloned();
        let shared =
            labels.is_some() && labels == object.at(&["spec", "template", "metadata", "labels"]).cloned();
        let spec = member(object, "spec");
        let template = submember(submember(spec, "template"), "metadata");
        let generated = submember(template, "labels");
        for (key, value) in [
            ("batch.kubernetes.io/controller-uid", &uid),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("job-name", &name),
        ] {
            if !generated.contains_key(key) {
                generated.insert(key, value.as_str());
            }
        }
        let generated = generated.clone();
        let selector = submember(spec, "selector");
        submember(selector, "matchLabels").insert("batch.kubernetes.io/controller-uid", uid.as_str());
        // A Job without labels of its own shares those of its template, which is one map in Go.
        if shared || labels.is_none() {
            metadata_mut(object).insert("labels", generated);
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let selector = object.at(&["spec", "selector"]);
        let labels = object.at(&["spec", "template", "metadata", "labels"]);
        let (name, uid) = (ObjectMeta::of(object).name(), ObjectMeta::of(object).uid());
        if old.is_none() && !bool_at(object, &["spec", "manualSelector"]) {
            for (key, wanted) in [
                ("controller-uid", uid),
                ("batch.kubernetes.io/controller-uid", uid),
                ("job-name", name),
                ("batch.kubernetes.io/job-name", name),
            ] {
                if labels.and_then(|labels| labels.get(key)).and_then(Value::as_str) != Some(wanted) {
                    errors.push(FieldError::invalid(
                        format!("spec.template.metadata.labels[{key}]"),
                        labels.cloned().unwrap_or_default(),
                        format!("must be '{wanted}'"),
                    ));
                }
            }
            let generated = json!({
                "controller-uid": (uid), "batch.kubernetes.io/controller-uid": (uid),
                "job-name": (name), "batch.kubernetes.io/job-name": (name),
            });
            let parsed = LabelSelector::from_object(selector);
            if parsed.is_ok_and(|parsed| !parsed.matches(generated.as_object())) {
                errors.push(FieldError::invalid(
                    "spec.selector",
                    selector.cloned().unwrap_or_default(),
                    "`selector` not auto-generated",
                ));
            }
        }
        job_spec(object, "spec", &mut errors);
        match selector {
            None => errors.push(FieldError::required("spec.selector", "")),
            Some(selector) => checks::selector(selector, "spec.selector", &mut errors),
        }
        // In an update of a generated selector, what counts is that it may not change.
        let is_judged = old.is_none() || bool_at(object, &["spec", "manualSelector"]);
        let parsed = LabelSelector::from_object(selector);
        let is_missed = is_judged
            && parsed
                .is_ok_and(|parsed| selector.is_none() || !parsed.matches(labels.and_then(Value::as_object)));
        if is_missed {
            errors.push(FieldError::invalid(
                "spec.template.metadata.labels",
                labels.cloned().unwrap_or_default(),
                "`selector` does not match template `labels`",
            ));
        }
        let indexed = text_at(object, &["spec", "completionMode"]) == "Indexed";
        let Some(old) = old else {
            let last = int_at(object, &["spec", "completions"]) - 1;
            let host = format!("{name}-{last}");
            if indexed && last >= 0 && !pleach_meta::names::is_dns1123_label(&host) {
                let why = format!("will not able to create pod with invalid DNS label: {host}");
                errors.push(FieldError::invalid("metadata.name", name, why));
            }
            return errors;
        };
        let field = |field: &str| (object.at(&["spec", field]), old.at(&["spec", field]));
        let (new, was) = field("completions");
        if !indexed {
            checks::immutable(new, was, "spec.completions", &mut errors);
        } else if new != was && new.is_some() && new != object.at(&["spec", "parallelism"]) {
            errors.push(FieldError::invalid(
                "spec.completions",
                new.cloned().unwrap_or_default(),
                "can only be modified in tandem with spec.parallelism",
            ));
        }
        let (new, was) = field("selector");
        checks::immutable(new, was, "spec.selector", &mut errors);
        template_update(object, old, &mut errors);
        let fixed = |name: &str, dump: fn(&Value) -> BadValue, errors: &mut Errors| {
            let (new, was) = field(name);
            if new != was {
                let shown = new.map_or(BadValue::Raw("null".into()), dump);
                errors.push(FieldError::invalid(format!("spec.{name}"), shown, "field is immutable"));
            }
        };
        let plain = |value: &Value| value.clone().into();
        fixed("completionMode", plain, &mut errors);
        fixed("podFailurePolicy", failure_policy::dump, &mut errors);
        fixed("backoffLimitPerIndex", plain, &mut errors);
        fixed("managedBy", plain, &mut errors);
        fixed("successPolicy", success_policy::dump, &mut errors);
        errors
    }

    fn validate_subresource(&self, object: &Value, old: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Errors::new();
        for field in ["active", "succeeded", "failed", "ready", "terminating"] {
            checks::non_negative(object.at(&["status", field]), &format!("status.{field}"), &mut errors);
        }
        status::update(object, old, &mut errors);
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_none() {
            let name = ObjectMeta::of(object).name();
            warnings.extend(pods::name_warning(name, "Pod names and hostnames"));
        }
        let template = object.at(&["spec", "template"]);
        if old.is_none_or(|old| old.at(&["spec", "template"]) != template) {
            warnings
                .extend(template.map(|t| pods::template_warnings(t, "spec.template")).unwrap_or_default());
        }
        warnings
    }

    fn orphan_warning(&self) -> Option<&'static str> {
        Some(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Status", "string", |o, _| job_status(o).into()),
            computed("Completions", "string", completions),
            computed("Duration", "string", duration),
            age_text(),
            wide(computed("Containers", "string", |o, _| {
                cells::container_names(o.at(&["spec", "template", "spec"]))
            })),
            wide(computed("Images", "string", |o, _| {
                cells::container_images(o.at(&["spec", "template", "spec"]))
            })),
            wide(computed("Selector", "string", |o, _| cells::selector(o.at(&["spec", "selector"])))),
        ]
    }
}

fn has_condition(object: &Value, kind: &str) -> bool {
    object
        .get("status")
        .map(|status| items(status, "conditions"))
        .unwrap_or_default()
        .iter()
        .any(|c| text(c, "type") == kind && text(c, "status") == "True")
}

fn job_status(object: &Value) -> &'static str {
    for kind in ["Complete", "Failed"] {
        if has_condition(object, kind) {
            return if kind == "Complete" { "Complete" } else { "Failed" };
        }
    }
    if ObjectMeta::of(object).is_terminating() {
        return "Terminating";
    }
    for kind in ["Suspended", "FailureTarget", "SuccessCriteriaMet"] {
        if has_condition(object, kind) {
            return kind;
        }
    }
    "Running"
}

fn completions(object: &Value, _: i64) -> Value {
    let succeeded = int_at(object, &["status", "succeeded"]);
    match object.at(&["spec", "completions"]).and_then(Value::as_int) {
        Some(wanted) => format!("{succeeded}/{wanted}").into(),
        None => match int_at(object, &["spec", "parallelism"]) {
            parallel @ 2.. => format!("{succeeded}/1 of {parallel}").into(),
            _ => format!("{succeeded}/1").into(),
        },
    }
}

fn duration(object: &Value, now: i64) -> Value {
    let time = |field: &str| {
        pleach_go::time::parse_rfc3339(text_at(object, &["status", field])).ok().map(|time| time.seconds)
    };
    match (time("startTime"), time("completionTime")) {
        (None, _) => "".into(),
        (Some(start), end) => pleach_meta::time::human_duration(end.unwrap_or(now) - start).into(),
    }
}

/// The spec of a Job or of a CronJob's template.
fn job_spec(object: &Value, path: &str, errors: &mut Errors) {
    let spec = if path == "spec" { object.get("spec") } else { object.at(&["spec", "jobTemplate", "spec"]) };
    let Some(spec) = spec else { return };
    for field in
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]
    {
        checks::non_negative(spec.get(field), &format!("{path}.{field}"), errors);
    }
    indexes(spec, path, errors);
    if let Some(policy) = spec.get("podFailurePolicy") {
        failure_policy::validate(policy, spec, &format!("{path}.podFailurePolicy"), errors);
    }
    if let Some(policy) = spec.get("successPolicy") {
        let indexed = text(spec, "completionMode") == "Indexed";
        success_policy::validate(policy, spec, indexed, &format!("{path}.successPolicy"), errors);
    }
    checks::one_of_if_set(
        spec.get("podReplacementPolicy"),
        &format!("{path}.podReplacementPolicy"),
        if spec.get("podFailurePolicy").is_some() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] },
        errors,
    );
    let Some(template) = spec.get("template") else { return };
    pods::template(template, &format!("{path}.template"), errors);
    let policy = text_at(template, &["spec", "restartPolicy"]);
    let policy_path = format!("{path}.template.spec.restartPolicy");
    match policy {
        "OnFailure" | "Never" => {}
        "" | "Always" => {
            errors.push(FieldError::required(policy_path, "valid values: \"OnFailure\", \"Never\""));
        }
        other => errors.push(FieldError::not_supported(policy_path, other, &["OnFailure", "Never"])),
    }
    if policy == "OnFailure" && spec.get("podFailurePolicy").is_some() {
        let why = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.push(FieldError::invalid(format!("{path}.template.spec.restartPolicy"), policy, why));
    }
}

/// The rules for fields of indexed Jobs.
fn indexes(spec: &Value, path: &str, errors: &mut Errors) {
    let at = |field: &str| format!("{path}.{field}");
    for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
        checks::non_negative(spec.get(field), &at(field), errors);
    }
    if spec.get("maxFailedIndexes").is_some() && spec.get("backoffLimitPerIndex").is_none() {
        errors.push(FieldError::required(at("backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
    }
    if let Some(manager) = spec.get("managedBy").and_then(Value::as_str) {
        checks::domain_prefixed_path(manager, &at("managedBy"), errors);
        if manager.len() > 63 {
            errors.push(FieldError::too_long(at("managedBy"), 63));
        }
    }
    let mode = spec.get("completionMode");
    checks::one_of_if_set(mode, &at("completionMode"), &["NonIndexed", "Indexed"], errors);
    let number = |field: &str| spec.get(field).and_then(Value::as_int);
    if text(spec, "completionMode") == "Indexed" {
        if number("completions").is_none() {
            errors.push(FieldError::required(at("completions"), "when completion mode is Indexed"));
        }
        if let Some(many) = number("parallelism").filter(|many| *many > 100_000) {
            let why = "must be less than or equal to 100000 when completion mode is Indexed";
            errors.push(FieldError::invalid(at("parallelism"), many, why));
        }
        if let (Some(all), Some(most)) = (number("completions"), number("maxFailedIndexes"))
            && most > all
        {
            let why = "must be less than or equal to completions";
            errors.push(FieldError::invalid(at("maxFailedIndexes"), most, why));
        }
        many_indexes(spec, &at, errors);
        return;
    }
    for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
        if let Some(value) = number(field) {
            errors.push(FieldError::invalid(at(field), value, "requires indexed completion mode"));
        }
    }
}

/// Bounds of Jobs with very many indexes, stricter ones if each may fail some times.
fn many_indexes(spec: &Value, at: &dyn Fn(&str) -> String, errors: &mut Errors) {
    const MANY: i64 = 100_000;
    const FEW: i64 = 10_000;
    let number = |field: &str| spec.get(field).and_then(Value::as_int);
    let mut below = |field: &str, most: i64, why: String| {
        if let Some(number) = number(field).filter(|number| *number > most) {
            errors.push(FieldError::invalid(at(field), number, why));
        }
    };
    below("maxFailedIndexes", MANY, format!("must be less than or equal to {MANY}"));
    if number("completions").is_none_or(|all| all <= MANY) || spec.get("backoffLimitPerIndex").is_none() {
        return;
    }
    let why = || {
        format!(
            "must be less than or equal to {FEW} when completions are above {MANY} and used with backoff limit per index"
        )
    };
    below("parallelism", FEW, why());
    below("maxFailedIndexes", FEW, why());
    if number("maxFailedIndexes").is_none() {
        let why = format!("must be specified when completions is above {MANY}");
        errors.push(FieldError::required(at("maxFailedIndexes"), why));
    }
}

/// A template does not change, but for what says where its Pods run, as long as a Job was suspended from the beginning.
fn template_update(object: &Value, old: &Value, errors: &mut Errors) {
    let path = ["spec", "template"];
    let (new, was) =
        (object.at(&path).cloned().unwrap_or_default(), old.at(&path).cloned().unwrap_or_default());
    let mut comparable = new.clone();
    let never_started = bool_at(old, &["spec", "suspend"]) && old.at(&["status", "startTime"]).is_none();
    if never_started {
        let kept = |comparable: &mut Value, holder: &str, keys: &[&str]| {
            let before = was.get(holder).cloned().unwrap_or_default();
            if let Some(part) = comparable.get_mut(holder) {
                keys.iter().for_each(|key| crate::prepare::copy_member(part, &before, key));
            }
        };
        kept(&mut comparable, "metadata", &["labels", "annotations"]);
        kept(&mut comparable, "spec", &["nodeSelector", "tolerations", "schedulingGates"]);
        keep_node_affinity(&mut comparable, &was);
        for list in ["containers", "initContainers"] {
            let before = was.get("spec").map(|spec| items(spec, list).to_vec()).unwrap_or_default();
            let spec = comparable.get_mut("spec").and_then(Value::as_object_mut);
            if let Some(Value::Array(containers)) = spec.and_then(|spec| spec.get_mut(list)) {
                for (container, before) in containers.iter_mut().zip(&before) {
                    crate::prepare::copy_member(container, before, "resources");
                }
            }
        }
    }
    if comparable.get("metadata") != was.get("metadata") && comparable.get("spec") == was.get("spec") {
        errors.push(FieldError::invalid("spec.template", new, "field is immutable"));
    } else if comparable.get("spec") != was.get("spec") {
        let spec = new.get("spec").cloned().unwrap_or_default();
        let path = if never_started { "spec.template.spec" } else { "spec.template" };
        let shown = if path == "spec.template" { new } else { spec };
        errors.push(FieldError::invalid(path, shown, "field is immutable"));
    }
}

/// Puts the node affinity of a template back; other affinities may not change.
fn keep_node_affinity(template: &mut Value, was: &Value) {
    let before = was.at(&["spec", "affinity", "nodeAffinity"]).cloned();
    let (spec, had) = (member(template, "spec"), was.at(&["spec", "affinity"]).is_some());
    if !spec.contains_key("affinity") && before.is_none() {
        return;
    }
    let affinity = submember(spec, "affinity");
    match before {
        Some(before) => affinity.insert("nodeAffinity", before),
        None => affinity.remove("nodeAffinity"),
    };
    if affinity.is_empty() && !had {
        spec.remove("affinity");
    }
}

/// The rules of CronJobs.
#[derive(Debug)]
pub struct CronJob;

impl Rules for CronJob {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["spec", "jobTemplate", "spec", "template"])
    }

    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        default_to(spec, "concurrencyPolicy", "Allow");
        default_to(spec, "suspend", false);
        default_to(spec, "successfulJobsHistoryLimit", 3);
        default_to(spec, "failedJobsHistoryLimit", 1);
        if let Some(job) = object_mut(spec, "jobTemplate").and_then(|template| object_mut(template, "spec")) {
            defaults::template(job);
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let name = ObjectMeta::of(object).name();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let schedule = text(spec, "schedule");
        if schedule.is_empty() {
            errors.push(FieldError::required("spec.schedule", ""));
        } else {
            let had_zone = old.is_some_and(|old| text_at(old, &["spec", "schedule"]).contains("TZ"));
            let wrong = cron(schedule).err();
            let zone = (schedule.contains("TZ") && !had_zone)
                .then(|| "cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned());
            let wrong = wrong.into_iter().chain(zone);
            errors.extend(wrong.map(|why| FieldError::invalid("spec.schedule", schedule, why)));
        }
        let deadline = spec.get("startingDeadlineSeconds");
        checks::non_negative(deadline, "spec.startingDeadlineSeconds", &mut errors);
        let same_zone = old.is_some_and(|old| old.at(&["spec", "timeZone"]) == spec.get("timeZone"));
        if let Some(zone) = spec.get("timeZone").and_then(Value::as_str).filter(|_| !same_zone) {
            let mut refuse = |why: String| errors.push(FieldError::invalid("spec.timeZone", zone, why));
            if zone.is_empty() {
                refuse("timeZone must be nil or non-empty string".into());
            } else {
                if zone.eq_ignore_ascii_case("local") {
                    refuse(
                        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
                            .into(),
                    );
                }
                if zone != "Local" && !is_time_zone(zone) {
                    refuse(format!("unknown time zone {zone}"));
                }
            }
        }
        checks::one_of(
            text(spec, "concurrencyPolicy"),
            "spec.concurrencyPolicy",
            &["Allow", "Forbid", "Replace"],
            &mut errors,
        );
        job_spec(object, "spec.jobTemplate.spec", &mut errors);
        let job = object.at(&["spec", "jobTemplate", "spec"]).unwrap_or(&Value::Null);
        if let Some(selector) = job.get("selector") {
            errors.push(FieldError::invalid(
                "spec.jobTemplate.spec.selector",
                selector.clone(),
                "`selector` will be auto-generated",
            ));
        }
        if bool_at(job, &["manualSelector"]) {
            let path = "spec.jobTemplate.spec.manualSelector";
            errors.push(FieldError::not_supported(path, true, &["nil", "false"]));
        }
        for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
            checks::non_negative(spec.get(field), &format!("spec.{field}"), &mut errors);
        }
        if old.is_none() && name.len() > 52 {
            errors.push(FieldError::invalid("metadata.name", name, "must be no more than 52 characters"));
        }
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_none() {
            let name = ObjectMeta::of(object).name();
            warnings.extend(pods::name_warning(name, "Pod names and hostnames"));
        }
        let path = ["spec", "jobTemplate", "spec", "template"];
        let template = object.at(&path);
        if old.is_none_or(|old| old.at(&path) != template) {
            let path = "spec.jobTemplate.spec.template";
            warnings.extend(template.map(|t| pods::template_warnings(t, path)).unwrap_or_default());
        }
        warnings
    }

    fn columns(&self) -> Vec<Column> {
        fn job(o: &Value) -> Option<&Value> {
            o.at(&["spec", "jobTemplate", "spec", "template", "spec"])
        }
        vec![
            computed("Schedule", "string", |o, _| text_at(o, &["spec", "schedule"]).into()),
            computed("Timezone", "string", |o, _| cells::or_none(text_at(o, &["spec", "timeZone"]))),
            computed("Suspend", "boolean", |o, _| {
                if bool_at(o, &["spec", "suspend"]) { "True".into() } else { "False".into() }
            }),
            computed("Active", "integer", |o, _| {
                (o.get("status").map_or(0, |status| items(status, "active").len()) as i64).into()
            }),
            computed("Last Schedule", "string", |o, now| match text_at(o, &["status", "lastScheduleTime"]) {
                "" => "<none>".into(),
                time => crate::columns::age(Some(time), now),
            }),
            age_text(),
            wide(computed("Containers", "string", |o, _| cells::container_names(job(o)))),
            wide(computed("Images", "string", |o, _| cells::container_images(job(o)))),
            wide(computed("Selector", "string", |o, _| {
                cells::selector(o.at(&["spec", "jobTemplate", "spec", "selector"]))
            })),
        ]
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Whether a zone has this name, in upper and lower case as in the database of time zones.
fn is_time_zone(name: &str) -> bool {
    jiff::tz::TimeZone::get(name).is_ok_and(|zone| zone.iana_name().is_none_or(|known| known == name))
}

/// Checks a schedule as the cron parser of upstream does.
fn cron(schedule: &str) -> Result<(), String> {
    let named = ["TZ=", "CRON_TZ="].iter().find_map(|prefix| schedule.strip_prefix(prefix));
    let schedule = match named {
        Some(rest) => {
            let Some((zone, rest)) = rest.split_once(' ') else {
                // The parser looks for the space without expecting that there is none.
                return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".into());
            };
            if !is_time_zone(zone) {
                return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
            }
            rest.trim()
        }
        None => schedule,
    };
    if let Some(word) = schedule.strip_prefix('@') {
        let known = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
        return match word.strip_prefix("every ") {
            Some(every) => parse_duration(every)
                .map(drop)
                .map_err(|why| format!("failed to parse duration {schedule}: {why}")),
            None if known.contains(&word) => Ok(()),
            None => Err(format!("unrecognized descriptor: {schedule}")),
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    let bounds: [(i64, i64, &[&str]); 5] =
        [(0, 59, &[]), (0, 23, &[]), (1, 31, &[]), (1, 12, &MONTHS), (0, 6, &DAYS)];
    for (field, (least, most, names)) in fields.iter().zip(bounds) {
        for part in field.split(',').filter(|part| !part.is_empty()) {
            cron_range(part, least, most, names)?;
        }
    }
    Ok(())
}

fn cron_range(part: &str, least: i64, most: i64, names: &[&str]) -> Result<(), String> {
    let number = |text: &str| -> Result<i64, String> {
        let lower = text.to_lowercase();
        if let Some(at) = names.iter().position(|name| *name == lower) {
            return Ok(at as i64 + least);
        }
        let parsed = atoi(text).map_err(|error| format!("failed to parse int from {text}: {error}"))?;
        if parsed < 0 { Err(format!("negative number ({parsed}) not allowed: {text}")) } else { Ok(parsed) }
    };
    let mut halves = part.split('/');
    let range: Vec<&str> = halves.next().unwrap_or_default().split('-').collect();
    let (step, more) = (halves.next(), halves.next());
    let (start, end) = match range[..] {
        ["*" | "?", ..] => (least, most),
        [one] => {
            let start = number(one)?;
            (start, if step.is_some() { most } else { start })
        }
        [start, end] => (number(start)?, number(end)?),
        _ => {
            number(range[0])?;
            return Err(format!("too many hyphens: {part}"));
        }
    };
    if more.is_some() {
        return Err(format!("too many slashes: {part}"));
    }
    if let Some(step) = step
        && number(step)? == 0
    {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    if start < least {
        return Err(format!("beginning of range ({start}) below minimum ({least}): {part}"));
    }
    if end > most {
        return Err(format!("end of range ({end}) above maximum ({most}): {part}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {part}"));
    }
    Ok(())
}

/// The labels of an object, for tests.
#[cfg(test)]
fn labels(object: &Value) -> &pleach_json::Map {
    object.at(&["metadata", "labels"]).and_then(Value::as_object).expect("labels")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        for (schedule, want) in [
            ("*/5 * * * *", Ok(())),
            ("@hourly", Ok(())),
            ("0 0 1 jan mon-fri", Ok(())),
            ("* * * *", Err("expected exactly 5 fields, found 4: [* * * *]")),
            ("60 * * * *", Err("end of range (60) above maximum (59): 60")),
            ("*/0 * * * *", Err("step of range should be a positive number: */0")),
            (
                "99999999999999999999 * * * *",
                Err(
                    "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": value out of range",
                ),
            ),
            ("x * * * *", Err("failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax")),
            ("@x", Err("unrecognized descriptor: @x")),
            ("@every 1h30m", Ok(())),
            ("@every x", Err("failed to parse duration @every x: time: invalid duration \"x\"")),
            ("1-2-3 * * * *", Err("too many hyphens: 1-2-3")),
            ("*/5/2 * * * *", Err("too many slashes: */5/2")),
            ("1,,2 * * * *", Ok(())),
        ] {
            assert_eq!(cron(schedule), want.map_err(str::to_owned), "{schedule}");
        }
    }

    #[test]
    fn labels_are_generated() {
        let mut object =
            json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"metadata": {}}}});
        Job.prepare_for_create(&mut object);
        assert_eq!(labels(&object).get_str("job-name"), Some("j"));
        assert_eq!(
            text_at(&object, &["spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"]),
            "u"
        );
    }
}
