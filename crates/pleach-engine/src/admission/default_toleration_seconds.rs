//! `DefaultTolerationSeconds`: Pods stay on a Node that is not ready or not reachable for five minutes, unless they say
//! otherwise.

use std::pin::Pin;

use pleach_json::{Value, json};

use super::{AdmissionAttributes, Mutation, Operation, Plugin, Verdict};
use crate::engine::Engine;
use crate::target::Subresource;

pub(super) struct DefaultTolerationSeconds;

const KEYS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

impl Plugin for DefaultTolerationSeconds {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        attributes.target.kind.strategy.runs_containers()
            && attributes.target.subresource == Subresource::None
            && matches!(attributes.operation(), Operation::Create | Operation::Update)
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
            let text = |value: &Value, key: &str| {
                value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let Value::Array(tolerations) =
                spec.get_or_insert_with("tolerations", || Value::from(Vec::new()))
            else {
                return Ok(());
            };
            for key in KEYS {
                let tolerated = tolerations.iter().any(|one| {
                    let (other, effect) = (text(one, "key"), text(one, "effect"));
                    (other == key || other.is_empty()) && (effect == "NoExecute" || effect.is_empty())
                });
                if !tolerated {
                    tolerations.push(json!({"key": (key), "operator": "Exists", "effect": "NoExecute",
                        "tolerationSeconds": 300}));
                    write.state.changed = true;
                }
            }
            Ok(())
        })
    }
}
