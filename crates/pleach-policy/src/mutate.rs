//! Mutations: apply configurations and JSON patches.

use std::sync::Arc;

use pleach_apply::Type;
use pleach_cel::eval::RUNTIME_COST_BUDGET;
use pleach_cel::{Activation, CelValue, CostBudget, ObjectValue};
use pleach_json::{Map, Value};
use pleach_patch::JsonPatch;

use crate::OUT_OF_BUDGET;
use crate::evaluate::{Input, bind, evaluate};
use crate::native::{Native, type_mismatches};
use crate::policy::{Expression, Mutation, Policy};
use crate::variables::Variables;

/// The types of the objects of a mutation.
#[derive(Clone, Copy, Debug)]
pub enum PatchType<'a> {
    /// The types of their fields.
    Known(Type<'a>),
    /// A Scale, which cannot be mutated.
    Scale,
    /// The options of a connection: a kind of `v1` that no published document describes.
    Connection(&'a str),
}

/// The result of a mutation.
#[derive(Clone, Debug)]
pub struct Mutated {
    /// The object; none if it is unchanged.
    pub object: Option<Value>,
    /// Whether it has to be decoded strictly: the result of a JSON patch.
    pub strict: bool,
    /// Its cost.
    pub cost: u64,
}

/// Why a mutation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationError(pub String);

impl From<String> for MutationError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Policy {
    /// Applies a mutation of the policy to `input.object`.
    pub fn mutate(
        &self,
        mutation: &Mutation,
        input: &Input<'_>,
        of: PatchType<'_>,
    ) -> Result<Mutated, MutationError> {
        let Some(object) = input.object else { return Ok(Mutated { object: None, strict: false, cost: 0 }) };
        let bound = bind(self, input, input.request, input.namespace, true);
        let activation = Activation::of_others(&bound);
        let variables = Variables::new(self, &activation);
        let mut budget = CostBudget::new(RUNTIME_COST_BUDGET);
        let value = value_of(mutation.expression(), &activation, &variables, &mut budget)?;
        let cost = u64::try_from(RUNTIME_COST_BUDGET - budget.remaining()).unwrap_or_default();
        match mutation {
            Mutation::Apply(_) => {
                let CelValue::Object(patch) = value else {
                    let found = value.type_name();
                    let text = format!("unsupported return type from ApplyConfiguration expression: {found}");
                    return Err(text.into());
                };
                let merged = apply(object, &patch, of)?;
                Ok(Mutated { object: Some(merged), strict: false, cost })
            }
            Mutation::JsonPatch(_) => {
                let patch = json_patch(&value)?;
                match pleach_patch::apply_json_patch(object.clone(), &patch) {
                    Ok(_) if matches!(of, PatchType::Scale) => {
                        let why = "request to convert CR to an invalid group/version: autoscaling/v1";
                        Err(why.to_owned().into())
                    }
                    Ok(patched) => Ok(Mutated { object: Some(patched), strict: true, cost }),
                    Err(error) if error.is_failed_test() => Ok(Mutated { object: None, strict: false, cost }),
                    Err(error) => Err(format!("JSON Patch: {error}").into()),
                }
            }
        }
    }
}

fn value_of<'a>(
    expression: &'a Expression,
    activation: &Activation<'a>,
    variables: &Variables<'a, '_>,
    budget: &mut CostBudget,
) -> Result<CelValue<'a>, String> {
    match evaluate(expression, activation, Some(variables), budget) {
        Ok(value) => value,
        Err(_) => Err(OUT_OF_BUDGET.to_owned()),
    }
}

fn apply(object: &Value, patch: &Arc<ObjectValue<'_>>, of: PatchType<'_>) -> Result<Value, String> {
    let mismatches = type_mismatches(patch);
    if !mismatches.is_empty() {
        return Err(format!("type mismatch: {}", mismatches.join("\n")));
    }
    let failed = |why: String| format!("error applying patch: {why}");
    let unfit = |why: String| failed(format!("failed to convert patch object to typed object: {why}"));
    let mut native = Native::default();
    let patch = native.object(patch);
    let mut patch = patch.map_err(|_| "invalid return type: *dynamic.ObjectVal".to_owned())?;
    if let Some(members) = patch.as_object_mut() {
        for key in ["apiVersion", "kind"] {
            match object.get(key) {
                Some(value) => members.insert(key, value.clone()),
                None => members.remove(key),
            };
        }
    }
    let of = match of {
        PatchType::Known(of) => of,
        PatchType::Scale => {
            return Err(unfit("no corresponding type for autoscaling/v1, Kind=Scale".to_owned()));
        }
        PatchType::Connection(kind) => {
            return Err(unfit(format!("no corresponding type for /v1, Kind={kind}")));
        }
    };
    pleach_apply::check_unfit(&patch, of, &native.unfit).map_err(unfit)?;
    pleach_apply::validate(&patch, of, false).map_err(unfit)?;
    let atomics = pleach_apply::atomics(&patch, of);
    if !atomics.is_empty() {
        let atomics = atomics.join(", ");
        return Err(failed(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}"
        )));
    }
    pleach_apply::validate(object, of, true)
        .map_err(|why| failed(format!("failed to convert original object to typed object: {why}")))?;
    Ok(pleach_apply::merge(object, &patch, of))
}

/// The patch that an expression made.
fn json_patch(value: &CelValue<'_>) -> Result<JsonPatch, String> {
    let CelValue::List(operations) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut native = Native::default();
    let mut patch: Vec<Value> = Vec::new();
    for operation in operations {
        let operation = operation.map_err(|fault| fault.to_string())?;
        let CelValue::Object(operation) = operation else {
            return Err("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: cannot convert to native type: *mutation.JSONPatchVal".to_owned());
        };
        let text = |key: &str| operation.fields.get(key).and_then(CelValue::as_str).unwrap_or_default();
        let mut out = Map::new();
        out.insert("op", text("op"));
        out.insert("path", text("path"));
        if !text("from").is_empty() {
            out.insert("from", text("from"));
        }
        if let Some(value) = operation.fields.get("value") {
            let unfit = |why: String| {
                format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}")
            };
            if let CelValue::Object(object) = value {
                let mismatches = type_mismatches(object);
                if !mismatches.is_empty() {
                    return Err(format!("type mismatch: {}", mismatches.join("\n")));
                }
            }
            out.insert("value", native.json(value).map_err(unfit)?);
        }
        patch.push(out.into());
    }
    JsonPatch::from_value(&patch.into()).map_err(|error| format!("JSON Patch: {error}"))
}
