//! `Priority`: Pods get the priority of their class, or of the class that is the default, of which there is one at most.

use std::pin::Pin;

use pleach_json::Value;
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Mutation, Operation, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::kinds::priority_class;
use crate::rejection::Rejection;
use crate::target::Subresource;

pub(super) struct Priority;

const LOWER: &str = "PreemptLowerPriority";

impl Plugin for Priority {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        matches!(attributes.target.kind.strategy.role(), Role::Pod | Role::PriorityClass)
            && attributes.target.subresource == Subresource::None
            && matches!(attributes.operation(), Operation::Create | Operation::Update)
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let role = write.attributes.target.kind.strategy.role();
            if role != Role::Pod || !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            if let Some(old) = write.old {
                // Fields that an update leaves out keep their values.
                let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
                for key in ["priority", "preemptionPolicy"] {
                    if let Some(value) = old.at(&["spec", key]).filter(|_| !spec.contains_key(key)) {
                        spec.insert(key, value.clone());
                        write.state.changed = true;
                    }
                }
                return Ok(());
            }
            let refuse = |why: String| Rejection::Forbidden {
                subject: write.attributes.target.kind.subject(ObjectMeta::of(object).name()),
                why,
                cause: None,
            };
            let name = object.at(&["spec", "priorityClassName"]).and_then(Value::as_str).unwrap_or_default();
            let class = if name.is_empty() {
                let value = |class: &Value| class.get("value").and_then(Value::as_int);
                let mut least: Option<Value> = None;
                let classes =
                    write.engine.each_object(priority_class::GROUP, priority_class::PLURAL, None, |class| {
                        if priority_class::is_default(&class)
                            && least.as_ref().is_none_or(|least| value(&class) < value(least))
                        {
                            least = Some(class);
                        }
                        Ok(())
                    });
                classes.await?;
                least
            } else {
                let found =
                    write.engine.object(priority_class::GROUP, priority_class::PLURAL, None, name).await?;
                Some(found.ok_or_else(|| refuse(format!("no PriorityClass with name {name} was found")))?)
            };
            let value =
                class.as_ref().and_then(|class| class.get("value")).and_then(Value::as_int).unwrap_or(0);
            let policy =
                class.as_ref().and_then(|class| class.get("preemptionPolicy")).and_then(Value::as_str);
            let policy = policy.unwrap_or(LOWER).to_owned();
            if let Some(given) = object.at(&["spec", "priority"]).and_then(Value::as_int)
                && given != value
            {
                return Err(refuse(format!(
                    "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
                )));
            }
            if let Some(given) = object.at(&["spec", "preemptionPolicy"]).and_then(Value::as_str)
                && given != policy
            {
                return Err(refuse(format!(
                    "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
                )));
            }
            let default_name = class.as_ref().map(|class| ObjectMeta::of(class).name().to_owned());
            let unnamed = name.is_empty();
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                if let Some(name) = default_name.filter(|_| unnamed) {
                    spec.insert("priorityClassName", name);
                }
                spec.insert("priority", value);
                spec.insert("preemptionPolicy", policy);
            }
            write.state.changed = true;
            Ok(())
        })
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let kind = &write.attributes.target.kind;
            let is_class = kind.strategy.role() == Role::PriorityClass;
            let Some(class) = write.object.filter(|class| priority_class::is_default(class)) else {
                return Ok(());
            };
            if !is_class || !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let own = ObjectMeta::of(class).name();
            let mut other = None;
            let classes =
                write.engine.each_object(priority_class::GROUP, priority_class::PLURAL, None, |class| {
                    let name = ObjectMeta::of(&class).name();
                    if priority_class::is_default(&class) && name != own {
                        other.get_or_insert(name.to_owned());
                    }
                    Ok(())
                });
            classes.await?;
            let refuse = |other: String| {
                let why =
                    format!("PriorityClass {other} is already marked as default. Only one default can exist");
                Err(write.attributes.forbid(class, why))
            };
            other.map_or(Ok(()), refuse)
        })
    }
}
