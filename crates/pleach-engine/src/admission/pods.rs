//! `RuntimeClass`, `PodTopologyLabels`, `PodResizeValidator` and `TaintNodesByCondition`: fields of Pods from their class
//! and their Node, and the taint of new Nodes.

use std::pin::Pin;

use pleach_json::{Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Mutation, Operation, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::kinds::{node, runtime_class};
use crate::rejection::Rejection;
use crate::target::Subresource;

pub(super) struct RuntimeClass;
pub(super) struct PodTopologyLabels;
pub(super) struct PodResizeValidator;
pub(super) struct TaintNodesByCondition;

fn is_write(attributes: &AdmissionAttributes<'_>, role: Role, operation: Operation, at: Subresource) -> bool {
    attributes.operation() == operation
        && attributes.target.subresource == at
        && attributes.target.kind.strategy.role() == role
}

/// The RuntimeClass that a Pod names, if it names one.
async fn class_of(
    write: (&Engine, &AdmissionAttributes<'_>),
    pod: &Value,
) -> Result<Option<Value>, Rejection> {
    let name = pod.at(&["spec", "runtimeClassName"]).and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        return Ok(None);
    }
    let (engine, attributes) = write;
    let class = engine.object(runtime_class::GROUP, runtime_class::PLURAL, None, name).await?;
    let missing = || attributes.forbid(pod, format!("pod rejected: RuntimeClass \"{name}\" not found"));
    class.ok_or_else(missing).map(Some)
}

impl Plugin for RuntimeClass {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        is_write(attributes, Role::Pod, Operation::Create, Subresource::None)
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let Some(object) = write.object else { return Ok(()) };
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let class = class_of((write.engine, write.attributes), object).await?;
            if let Some(why) = runtime_class::empty_overhead_error(class.as_ref(), object) {
                return Err(write.attributes.forbid(object, why));
            }
            if let Some(class) = class {
                let mut pod = object.clone();
                runtime_class::apply(&class, &mut pod).map_err(|why| write.attributes.forbid(object, why))?;
                write.state.changed |= pod != *object;
                *object = pod;
            }
            Ok(())
        })
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let Some(object) = write.object else { return Ok(()) };
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let class = class_of((write.engine, write.attributes), object).await?;
            match runtime_class::overhead_error(class.as_ref(), object) {
                Some(why) => Err(write.attributes.forbid(object, why)),
                None => Ok(()),
            }
        })
    }
}

impl Plugin for PodTopologyLabels {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        is_write(attributes, Role::Pod, Operation::Create, Subresource::None)
            || is_write(attributes, Role::Pod, Operation::Create, Subresource::Binding)
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let Some(object) = write.object else { return Ok(()) };
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let path: &[&str] = match write.attributes.target.subresource {
                Subresource::Binding => &["target", "name"],
                _ => &["spec", "nodeName"],
            };
            let name = object.at(path).and_then(Value::as_str).unwrap_or_default();
            if name.is_empty() {
                return Ok(());
            }
            let Some(node) = write.engine.object(node::GROUP, node::PLURAL, None, name).await? else {
                return Ok(());
            };
            for key in ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"] {
                let Some(value) = ObjectMeta::of(&node).label(key) else { continue };
                let metadata = crate::prepare::metadata_mut(object);
                if let Value::Object(labels) = metadata.get_or_insert_with("labels", Value::object) {
                    labels.insert(key, value);
                    write.state.changed = true;
                }
            }
            Ok(())
        })
    }
}

impl Plugin for PodResizeValidator {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        is_write(attributes, Role::Pod, Operation::Update, Subresource::Resize)
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let Some(object) = write.object else { return Ok(()) };
            let name = object.at(&["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default();
            if name.is_empty() || !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let Some(node) = write.engine.object(node::GROUP, node::PLURAL, None, name).await? else {
                return Err(write.attributes.forbid(object, format!("node \"{name}\" not found")));
            };
            match node::resize_error(&node, object) {
                Some(why) => Err(write.attributes.forbid(object, why)),
                None => Ok(()),
            }
        })
    }
}

impl Plugin for TaintNodesByCondition {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        is_write(attributes, Role::Node, Operation::Create, Subresource::None)
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let Some(object) = write.object else { return Ok(()) };
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
            let Some(Value::Object(spec)) =
                object.as_object_mut().map(|o| o.get_or_insert_with("spec", Value::object))
            else {
                return Ok(());
            };
            if let Value::Array(taints) = spec.get_or_insert_with("taints", || Value::from(Vec::new())) {
                let same = |one: &Value| {
                    one.get("key") == taint.get("key") && one.get("effect") == taint.get("effect")
                };
                if !taints.iter().any(same) {
                    taints.push(taint);
                    write.state.changed = true;
                }
            }
            Ok(())
        })
    }
}
