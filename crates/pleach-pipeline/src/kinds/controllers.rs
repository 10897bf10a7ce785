//! Kinds that manage Pods by a template and a selector: Deployment, ReplicaSet, ReplicationController, StatefulSet and
//! DaemonSet; and their ControllerRevisions.

mod validate;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::object_meta::{NameRule, ObjectMeta};

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{
    default_empty_to, default_to, each_mut, int_at, is_unset, items, member, object_mut, submember, text,
    text_at,
};
use crate::kinds::persistent_volume;
use crate::kinds::pod::{cells, defaults, validate as pods};
use crate::prepare::metadata_mut;
use crate::resource::Subresource;

fn template_columns() -> [Column; 2] {
    [
        wide(computed("Containers", "string", |o, _| {
            cells::container_names(o.at(&["spec", "template", "spec"]))
        })),
        wide(computed("Images", "string", |o, _| {
            cells::container_images(o.at(&["spec", "template", "spec"]))
        })),
    ]
}

fn selector_column() -> Column {
    wide(computed("Selector", "string", |o, _| cells::selector(o.at(&["spec", "selector"]))))
}

fn desired(o: &Value, _: i64) -> Value {
    int_at(o, &["spec", "replicas"]).into()
}

fn current(o: &Value, _: i64) -> Value {
    int_at(o, &["status", "replicas"]).into()
}

fn ready(o: &Value, _: i64) -> Value {
    int_at(o, &["status", "readyReplicas"]).into()
}

fn ready_of_desired(o: &Value, _: i64) -> Value {
    format!("{}/{}", int_at(o, &["status", "readyReplicas"]), int_at(o, &["spec", "replicas"])).into()
}

fn template_warnings(object: &Value, old: Option<&Value>, name_matters: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if old.is_none() && name_matters {
        warnings.extend(pods::name_warning(ObjectMeta::of(object).name(), "Pod names and hostnames"));
    }
    let template = object.at(&["spec", "template"]);
    if old.is_none_or(|old| old.at(&["spec", "template"]) != template) {
        warnings.extend(template.map(|t| pods::template_warnings(t, "spec.template")).unwrap_or_default());
    }
    warnings
}

/// The rules of Deployments.
#[derive(Debug)]
pub struct Deployment;

impl Rules for Deployment {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["spec", "template"])
    }

    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        default_to(spec, "replicas", 1);
        let strategy = submember(spec, "strategy");
        default_to(strategy, "type", "RollingUpdate");
        if strategy.get_str("type") == Some("RollingUpdate") {
            let rolling = submember(strategy, "rollingUpdate");
            default_to(rolling, "maxUnavailable", "25%");
            default_to(rolling, "maxSurge", "25%");
        }
        default_to(spec, "revisionHistoryLimit", 10);
        default_to(spec, "progressDeadlineSeconds", 600);
        defaults::template(spec);
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::deployment(object, old)
    }

    fn validate_subresource(&self, object: &Value, old: &Value, _: Subresource) -> Vec<FieldError> {
        validate::deployment_status(object, old)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        template_warnings(object, old, true)
    }

    fn columns(&self) -> Vec<Column> {
        let [containers, images] = template_columns();
        vec![
            computed("Ready", "string", ready_of_desired),
            computed("Up-to-date", "string", |o, _| int_at(o, &["status", "updatedReplicas"]).into()),
            computed("Available", "string", |o, _| int_at(o, &["status", "availableReplicas"]).into()),
            age_text(),
            containers,
            images,
            selector_column(),
        ]
    }

    fn status_keeps_labels(&self) -> bool {
        true
    }
}

/// The rules of ReplicaSets.
#[derive(Debug)]
pub struct ReplicaSet;

fn replica_columns() -> Vec<Column> {
    let [containers, images] = template_columns();
    vec![
        computed("Desired", "integer", desired),
        computed("Current", "integer", current),
        computed("Ready", "integer", ready),
        age_text(),
        containers,
        images,
    ]
}

impl Rules for ReplicaSet {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["spec", "template"])
    }

    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        default_to(spec, "replicas", 1);
        defaults::template(spec);
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::replica_set(object, old)
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        validate::replica_status(object)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        template_warnings(object, old, true)
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = replica_columns();
        columns.push(selector_column());
        columns
    }
}

/// The rules of ReplicationControllers.
#[derive(Debug)]
pub struct ReplicationController;

impl Rules for ReplicationController {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["spec", "template"])
    }

    fn default(&self, object: &mut Value) {
        let labels = object.at(&["spec", "template", "metadata", "labels"]).cloned();
        if let Some(labels) = labels.filter(|labels| labels.as_object().is_some_and(|all| !all.is_empty())) {
            default_empty_to(member(object, "spec"), "selector", || labels.clone());
            default_empty_to(metadata_mut(object), "labels", || labels);
        }
        let spec = member(object, "spec");
        default_to(spec, "replicas", 1);
        defaults::template(spec);
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::replication_controller(object, old)
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        validate::replica_status(object)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        template_warnings(object, old, true)
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = replica_columns();
        columns.push(wide(computed("Selector", "string", |o, _| cells::labels(o.at(&["spec", "selector"])))));
        columns
    }
}

/// The rules of StatefulSets.
#[derive(Debug)]
pub struct StatefulSet;

impl Rules for StatefulSet {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["spec", "template"])
    }

    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        default_to(spec, "replicas", 1);
        default_to(spec, "podManagementPolicy", "OrderedReady");
        let strategy = submember(spec, "updateStrategy");
        if is_unset(strategy, "type") {
            strategy.insert("type", "RollingUpdate");
            let rolling = submember(strategy, "rollingUpdate");
            default_to(rolling, "partition", 0);
        }
        if let Some(rolling) = object_mut(strategy, "rollingUpdate") {
            default_to(rolling, "partition", 0);
        }
        default_to(spec, "revisionHistoryLimit", 10);
        let retention = submember(spec, "persistentVolumeClaimRetentionPolicy");
        default_to(retention, "whenDeleted", "Retain");
        default_to(retention, "whenScaled", "Retain");
        each_mut(spec, "volumeClaimTemplates", |claim| {
            default_to(claim, "kind", "PersistentVolumeClaim");
            default_to(claim, "apiVersion", "v1");
            default_to(submember(claim, "spec"), "volumeMode", "Filesystem");
            default_to(submember(claim, "status"), "phase", "Pending");
        });
        defaults::template(spec);
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Dns1123Label
    }

    fn prepare_for_create(&self, object: &mut Value) {
        drop_max_unavailable(object, None);
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        drop_max_unavailable(object, Some(old));
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::stateful_set(object, old)
    }

    fn validate_subresource(&self, object: &Value, old: &Value, _: Subresource) -> Vec<FieldError> {
        validate::stateful_set_status(object, old)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = template_warnings(object, old, false);
        let claims = object.get("spec").map(|spec| items(spec, "volumeClaimTemplates")).unwrap_or_default();
        // The paths of an update have one more part, with this capital.
        let part = if old.is_some() { ".Spec" } else { "" };
        for (i, claim) in claims.iter().enumerate() {
            let spec = claim.get("spec").unwrap_or(&Value::Null);
            let path = format!("spec.volumeClaimTemplates[{i}]{part}");
            persistent_volume::claim_warnings(spec, &path, &mut warnings);
        }
        if int_at(object, &["spec", "revisionHistoryLimit"]) < 0 {
            warnings.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".into());
        }
        warnings
    }

    fn columns(&self) -> Vec<Column> {
        let [containers, images] = template_columns();
        vec![computed("Ready", "string", ready_of_desired), age_text(), containers, images]
    }
}

/// Removes a field of the feature gate `MaxUnavailableStatefulSet`, which is off by default.
fn drop_max_unavailable(object: &mut Value, old: Option<&Value>) {
    let has =
        |object: &Value| object.at(&["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]).is_some();
    if has(object) && !old.is_some_and(has) {
        let strategy = submember(member(object, "spec"), "updateStrategy");
        submember(strategy, "rollingUpdate").remove("maxUnavailable");
    }
}

/// The annotation that counts changes of a DaemonSet's template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The rules of DaemonSets.
#[derive(Debug)]
pub struct DaemonSet;

impl Rules for DaemonSet {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["spec", "template"])
    }

    fn default(&self, object: &mut Value) {
        // Owned by the writer, although the server sets it.
        let annotations = submember(member(object, "metadata"), "annotations");
        default_to(annotations, TEMPLATE_GENERATION, "0");
        let spec = member(object, "spec");
        let strategy = submember(spec, "updateStrategy");
        default_to(strategy, "type", "RollingUpdate");
        if strategy.get_str("type") == Some("RollingUpdate") {
            default_to(submember(strategy, "rollingUpdate"), "maxUnavailable", 1);
        }
        if let Some(rolling) = object_mut(strategy, "rollingUpdate") {
            default_to(rolling, "maxUnavailable", 0);
            default_to(rolling, "maxSurge", 0);
        }
        default_to(spec, "revisionHistoryLimit", 10);
        defaults::template(spec);
    }

    fn prepare_for_create(&self, object: &mut Value) {
        let annotations = submember(metadata_mut(object), "annotations");
        let given = annotations.get_str(TEMPLATE_GENERATION).and_then(|count| count.parse::<i64>().ok());
        if given.is_none_or(|count| count < 1) {
            annotations.insert(TEMPLATE_GENERATION, "1");
        }
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, _: Subresource) {
        let path = ["metadata", "annotations", TEMPLATE_GENERATION];
        let annotations = submember(metadata_mut(object), "annotations");
        match old.at(&path) {
            Some(number) => annotations.insert(TEMPLATE_GENERATION, number.clone()),
            None => annotations.remove(TEMPLATE_GENERATION),
        };
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        let count =
            text_at(old, &["metadata", "annotations", TEMPLATE_GENERATION]).parse::<i64>().unwrap_or(0);
        let changed = object.at(&["spec", "template"]) != old.at(&["spec", "template"]);
        let count = if changed { count + 1 } else { count };
        submember(metadata_mut(object), "annotations").insert(TEMPLATE_GENERATION, count.to_string());
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::daemon_set(object, old)
    }

    fn validate_subresource(&self, object: &Value, old: &Value, _: Subresource) -> Vec<FieldError> {
        validate::daemon_set_status(object, old)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        template_warnings(object, old, false)
    }

    fn columns(&self) -> Vec<Column> {
        let [containers, images] = template_columns();
        vec![
            computed("Desired", "integer", |o, _| int_at(o, &["status", "desiredNumberScheduled"]).into()),
            computed("Current", "integer", |o, _| int_at(o, &["status", "currentNumberScheduled"]).into()),
            computed("Ready", "integer", |o, _| int_at(o, &["status", "numberReady"]).into()),
            computed("Up-to-date", "integer", |o, _| int_at(o, &["status", "updatedNumberScheduled"]).into()),
            computed("Available", "integer", |o, _| int_at(o, &["status", "numberAvailable"]).into()),
            computed("Node Selector", "string", |o, _| {
                cells::labels(o.at(&["spec", "template", "spec", "nodeSelector"]))
            }),
            age_text(),
            containers,
            images,
            selector_column(),
        ]
    }
}

/// The rules of ControllerRevisions.
#[derive(Debug)]
pub struct ControllerRevision;

impl Rules for ControllerRevision {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        match object.get("data") {
            None | Some(Value::Null) => errors.push(FieldError::required("data", "data is mandatory")),
            Some(Value::Object(_)) => {}
            Some(_) => errors.push(FieldError::required("data", "data must be a valid JSON object")),
        }
        let revision = int_at(object, &["revision"]);
        if revision < 0 {
            errors.push(FieldError::invalid("revision", revision, "must be greater than or equal to 0"));
        }
        if let Some(old) = old
            && old.get("data") != object.get("data")
        {
            let data = object.get("data").cloned().unwrap_or_default();
            errors.push(FieldError::invalid("data", data, "field is immutable"));
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        fn controller(o: &Value, _: i64) -> Value {
            let owner = ObjectMeta::of(o)
                .owner_references()
                .find(|reference| reference.get("controller") == Some(&Value::Bool(true)));
            let Some(owner) = owner else { return "<none>".into() };
            let group = text(owner, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
            let kind = text(owner, "kind").to_lowercase();
            let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
            format!("{kind}/{}", text(owner, "name")).into()
        }
        vec![
            computed("Controller", "string", controller),
            computed("Revision", "string", |o, _| int_at(o, &["revision"]).into()),
            age_text(),
        ]
    }
}

/// The default strategy of rolling updates, for tests.
#[cfg(test)]
fn rolling() -> Value {
    use pleach_json::json;

    json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn defaults_of_deployments() {
        let mut object =
            json!({"metadata": {}, "spec": {"template": {"spec": {"containers": [{"image": "a:1"}]}}}});
        Deployment.default(&mut object);
        assert_eq!(object.at(&["spec", "strategy"]), Some(&rolling()));
        assert_eq!(object.at(&["spec", "replicas"]), Some(&Value::Int(1)));
        assert_eq!(text_at(&object, &["spec", "template", "spec", "restartPolicy"]), "Always");
    }
}
