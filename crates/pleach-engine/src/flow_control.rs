//! The objects of API Priority and Fairness in the engine: those that are there from the beginning, the `Dangling`
//! condition of FlowSchemas, and a snapshot of all of them for the server, made anew before a write is answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use futures_util::future::try_join_all;
use pleach_go::strconv::parse_bool;
use pleach_json::{Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::Key;

use crate::engine::Engine;
use crate::keys;
use crate::kinds::flow_control::bootstrap::{self, is_mandatory};
use crate::kinds::flow_control::{
    AUTO_UPDATE, FLOW_SCHEMAS, GROUP, PRIORITY_LEVELS, dangling_condition, has_condition,
};
use crate::options::{Body, Format, WriteOptions};
use crate::prepare::metadata_mut;
use crate::rbac::own_context;
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};

/// The field manager of bootstrap objects.
const PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";
/// The field manager of conditions.
const CONSUMER: &str = "api-priority-and-fairness-config-consumer-v1";

/// FlowSchemas and PriorityLevelConfigurations.
#[derive(Clone, Debug, Default)]
pub struct FlowControlObjects {
    /// FlowSchemas, in the order of their names.
    pub schemas: Vec<Value>,
    /// PriorityLevelConfigurations, in the order of their names.
    pub levels: Vec<Value>,
}

type Listener = Box<dyn Fn(&FlowControlObjects) + Send + Sync>;

/// The state of flow control in the engine.
#[derive(Default)]
pub(crate) struct FlowControl {
    objects: RwLock<Arc<FlowControlObjects>>,
    listener: OnceLock<Listener>,
    /// Held while objects are read, so that an older state never replaces a newer one.
    reading: tokio::sync::Mutex<()>,
    /// Bootstrap objects are being written: they are read once all are there.
    starting: AtomicBool,
}

impl FlowControl {
    /// The same objects, for an engine over a fork of the store.
    pub(crate) fn fork(&self) -> Self {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self { objects: RwLock::new(objects), ..Self::default() }
    }
}

impl Engine {
    /// The FlowSchemas and PriorityLevelConfigurations there are now.
    pub fn flow_control_objects(&self) -> Arc<FlowControlObjects> {
        self.flow_control.objects.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has a function called with all objects after each change. Only the first function is taken.
    pub fn on_flow_control_change(&self, listener: impl Fn(&FlowControlObjects) + Send + Sync + 'static) {
        let _ = self.flow_control.listener.set(Box::new(listener));
    }

    /// Whether a key is that of a FlowSchema or PriorityLevelConfiguration.
    pub(crate) fn is_flow_control(key: &Key) -> bool {
        matches!(keys::split(key), Some((GROUP, FLOW_SCHEMAS | PRIORITY_LEVELS, _)))
    }

    /// Creates the objects that are there from the beginning, and reads all of them.
    pub(crate) async fn start_flow_control(&self) -> Result<(), Rejection> {
        if self.catalog.get(GROUP, FLOW_SCHEMAS).is_none()
            || self.catalog.get(GROUP, PRIORITY_LEVELS).is_none()
        {
            // Requests are classified all the same.
            let with_uid = |mut object: Value| {
                metadata_mut(&mut object).insert("uid", self.new_uid());
                object
            };
            self.use_flow_control(FlowControlObjects {
                schemas: bootstrap::flow_schemas().map(with_uid).collect(),
                levels: bootstrap::priority_levels().map(with_uid).collect(),
            });
            return Ok(());
        }
        self.flow_control.starting.store(true, Ordering::Release);
        let done = async {
            self.read_flow_control().await?;
            self.write_bootstrap_objects().await?;
            let objects = self.read_flow_control().await?;
            self.write_conditions(&objects).await
        };
        let done = done.await;
        self.flow_control.starting.store(false, Ordering::Release);
        done?;
        self.read_flow_control().await.map(|_| ())
    }

    /// Restores the objects that are there from the beginning where they are missing or were changed against their
    /// annotation.
    pub(crate) async fn ensure_flow_control(&self) -> Result<(), Rejection> {
        if self.catalog.get(GROUP, FLOW_SCHEMAS).is_some() && self.write_bootstrap_objects().await? {
            self.flow_control_changed().await?;
        }
        Ok(())
    }

    /// A FlowSchema or PriorityLevelConfiguration may have changed.
    pub(crate) async fn flow_control_changed(&self) -> Result<(), Rejection> {
        if self.flow_control.starting.load(Ordering::Acquire) {
            return Ok(());
        }
        let objects = self.read_flow_control().await?;
        self.write_conditions(&objects).await
    }

    async fn read_flow_control(&self) -> Result<Arc<FlowControlObjects>, Rejection> {
        let _reading = self.flow_control.reading.lock().await;
        let mut objects = FlowControlObjects::default();
        for (plural, into) in [(FLOW_SCHEMAS, &mut objects.schemas), (PRIORITY_LEVELS, &mut objects.levels)] {
            self.each_object(GROUP, plural, None, |object| {
                into.push(object);
                Ok(())
            })
            .await?;
        }
        self.use_flow_control(objects);
        Ok(self.flow_control_objects())
    }

    fn use_flow_control(&self, objects: FlowControlObjects) {
        let objects = Arc::new(objects);
        *self.flow_control.objects.write().unwrap_or_else(PoisonError::into_inner) = objects.clone();
        if let Some(listener) = self.flow_control.listener.get() {
            listener(&objects);
        }
    }

    /// Returns whether an object was written.
    async fn write_bootstrap_objects(&self) -> Result<bool, Rejection> {
        let objects = self.flow_control_objects();
        let levels = bootstrap::priority_levels()
            .map(|wanted| self.write_bootstrap_object(PRIORITY_LEVELS, wanted, &objects.levels));
        let levels = try_join_all(levels).await?;
        let schemas = bootstrap::flow_schemas()
            .map(|wanted| self.write_bootstrap_object(FLOW_SCHEMAS, wanted, &objects.schemas));
        let schemas = try_join_all(schemas).await?;
        Ok(levels.into_iter().chain(schemas).any(|written| written))
    }

    async fn write_bootstrap_object(
        &self,
        plural: &str,
        wanted: Value,
        stored: &[Value],
    ) -> Result<bool, Rejection> {
        let name = ObjectMeta::of(&wanted).name().to_owned();
        let Some(mut target) = self.flow_control_target(plural, &name, Subresource::None) else {
            return Ok(false);
        };
        let Some(current) = stored.iter().find(|object| ObjectMeta::of(object).name() == name) else {
            target.name = None;
            let options = WriteOptions { field_manager: PRODUCER.into(), ..WriteOptions::default() };
            let body = Body { bytes: Bytes::from(pleach_json::to_vec(&wanted)), format: Format::Json };
            return match Box::pin(self.create(&target, &body, &options, &mut own_context())).await {
                // Another server on the same store may have been first.
                Ok(_) | Err(Rejection::AlreadyExists { .. }) => Ok(true),
                Err(error) => Err(error),
            };
        };
        let mut revised = current.clone();
        if !revise(&mut revised, &wanted, is_mandatory(&name)) {
            return Ok(false);
        }
        let key = target.key_of(&name);
        self.edit(&key, |stored| revise(stored, &wanted, is_mandatory(&name))).await?;
        Ok(true)
    }

    /// Says of each FlowSchema whether its priority level exists.
    async fn write_conditions(&self, objects: &FlowControlObjects) -> Result<(), Rejection> {
        let now = self.now();
        let writes = objects.schemas.iter().filter_map(|schema| {
            let level = schema.at(&["spec", "priorityLevelConfiguration", "name"]).and_then(Value::as_str);
            let exists = objects.levels.iter().any(|known| Some(ObjectMeta::of(known).name()) == level);
            let condition = dangling_condition(schema, exists, &now);
            if has_condition(schema, &condition) {
                return None;
            }
            let name = ObjectMeta::of(schema).name();
            let target = self.flow_control_target(FLOW_SCHEMAS, name, Subresource::Status)?;
            let applied = json!({
                "apiVersion": (target.version().api_version.clone()), "kind": (target.kind.kind.clone()),
                "metadata": {"name": (name)}, "status": {"conditions": [(condition)]},
            });
            Some(async move {
                let body = Body { bytes: Bytes::from(pleach_json::to_vec(&applied)), format: Format::Json };
                let options =
                    WriteOptions { field_manager: CONSUMER.into(), force: true, ..WriteOptions::default() };
                match Box::pin(self.apply(&target, &body, &options, &mut own_context())).await {
                    // Deleted meanwhile.
                    Err(Rejection::NotFound(_)) => Ok(()),
                    done => done.map(|_| ()),
                }
            })
        });
        try_join_all(writes).await.map(|_| ())
    }

    fn flow_control_target(&self, plural: &str, name: &str, subresource: Subresource) -> Option<Target> {
        let kind = self.catalog.get(GROUP, plural)?;
        let version = kind.storage;
        Some(Target { kind, version, namespace: None, name: Some(name.into()), subresource })
    }
}

/// Gives a stored object the spec of this release if it is the server's to keep, and an annotation that says whose it
/// is. Returns whether that was necessary.
fn revise(stored: &mut Value, wanted: &Value, mandatory: bool) -> bool {
    let meta = ObjectMeta::of(stored);
    let annotated = meta.annotation(AUTO_UPDATE).and_then(parse_bool);
    let generation = stored.at(&["metadata", "generation"]).and_then(Value::as_int).unwrap_or_default();
    // Without the annotation it is the server's if no user has changed it.
    let keeps_spec = mandatory || annotated.unwrap_or(generation == 1);
    let mut changed = false;
    let wanted_spec = wanted.get("spec").cloned().unwrap_or_default();
    let is_exempt = wanted_spec.get("exempt").is_some();
    // How much the exempt level lends is the administrator's.
    if keeps_spec && !is_exempt && stored.get("spec") != Some(&wanted_spec) {
        if let Some(members) = stored.as_object_mut() {
            members.insert("spec", wanted_spec);
        }
        metadata_mut(stored).insert("generation", generation + 1);
        changed = true;
    }
    if annotated != Some(keeps_spec) {
        let annotations = metadata_mut(stored).get_or_insert_with("annotations", Value::object);
        if let Value::Object(annotations) = annotations {
            annotations.insert(AUTO_UPDATE, if keeps_spec { "true" } else { "false" });
        }
        changed = true;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(precedence: i64, generation: i64, annotation: Option<&str>) -> Value {
        let annotations = annotation.map_or(Value::object(), |text| json!({(AUTO_UPDATE): (text)}));
        json!({
            "metadata": {"name": "a", "generation": (generation), "annotations": (annotations)},
            "spec": {"matchingPrecedence": (precedence)},
        })
    }

    #[test]
    fn the_annotation_says_whose_the_spec_is() {
        let wanted = schema(5, 0, None);
        for (stored, mandatory, want, why) in [
            (schema(5, 1, Some("true")), false, None, "as it should be"),
            (schema(6, 2, Some("true")), false, Some((5, "true")), "changed, but the server's"),
            (schema(6, 2, Some("false")), false, None, "the administrator's"),
            (schema(6, 2, Some("false")), true, Some((5, "true")), "mandatory"),
            (schema(6, 1, None), false, Some((5, "true")), "never changed"),
            (
                schema(6, 2, Some("what")),
                false,
                Some((6, "false")),
                "changed, with an annotation that says nothing",
            ),
        ] {
            let mut revised = stored.clone();
            let changed = revise(&mut revised, &wanted, mandatory);
            let found = (
                revised.at(&["spec", "matchingPrecedence"]).and_then(Value::as_int).unwrap(),
                ObjectMeta::of(&revised).annotation(AUTO_UPDATE).unwrap_or_default(),
            );
            match want {
                None => assert!(!changed && revised == stored, "{why}"),
                Some(want) => assert!(changed && found == want, "{why}: {found:?}"),
            }
        }
    }
}
