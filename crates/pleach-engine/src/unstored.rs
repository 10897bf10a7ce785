//! Objects that are requests and are not stored: token requests and token reviews.

use pleach_json::{Hints, Map, Str, Value, json};
use pleach_pipeline::resource::Resource;

use crate::admission::{AdmissionAttributes, RequestOptions};
use crate::engine::Engine;
use crate::kind::Kind;
use crate::options::{Body, Context, WriteOptions};
use crate::rejection::Rejection;
use crate::target::Target;

/// An object after mutating admission.
#[derive(Debug)]
pub struct Admitted {
    /// The object.
    pub object: Value,
    /// Whether a plugin wants to see the object again.
    is_handled: bool,
}

impl Engine {
    /// Mutating admission of an object that is not stored.
    pub async fn admit_unstored(
        &self,
        target: &Target,
        object: Value,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Admitted, Rejection> {
        let attributes =
            AdmissionAttributes::new(target, target.name(), RequestOptions::Create(options), context);
        if self.begin_admission(&attributes).await?.is_none() {
            return Ok(Admitted { object, is_handled: false });
        }
        let (object, _) = self.mutating_admission(&attributes, Some(object), None, context).await?;
        Ok(Admitted { object: object.unwrap_or_default(), is_handled: true })
    }

    /// Validating admission of an object that is not stored.
    pub async fn validate_unstored(
        &self,
        target: &Target,
        admitted: &Admitted,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        if !admitted.is_handled {
            return Ok(());
        }
        let attributes =
            AdmissionAttributes::new(target, target.name(), RequestOptions::Create(options), context);
        self.validating_admission(&attributes, Some(&admitted.object), None, context).await
    }

    /// Admission of a connection to an object. The options of the connection come back as plugins left them.
    pub async fn admit_connection(
        &self,
        target: &Target,
        options: Value,
        context: &mut Context,
    ) -> Result<Value, Rejection> {
        let attributes = AdmissionAttributes::new(target, target.name(), RequestOptions::Connect, context);
        if self.begin_admission(&attributes).await?.is_none() {
            return Ok(options);
        }
        let (options, _) = self.mutating_admission(&attributes, Some(options), None, context).await?;
        self.validating_admission(&attributes, options.as_ref(), None, context).await?;
        Ok(options.unwrap_or_default())
    }
}

/// Decodes the body of a request, with the errors and warnings of a built-in kind.
pub fn decode(
    kind: &Kind,
    body: &Body,
    options: &WriteOptions,
    context: &mut Context,
) -> Result<Value, Rejection> {
    decode_version(kind, 0, body, options, context)
}

/// The same in another version of the kind.
pub fn decode_version(
    kind: &Kind,
    version: usize,
    body: &Body,
    options: &WriteOptions,
    context: &mut Context,
) -> Result<Value, Rejection> {
    let resource = Resource::new(kind, version);
    let settled = crate::decode::decode(
        resource,
        body,
        options.field_validation,
        Hints::default(),
        &mut context.warnings,
    )?;
    Ok(settled.into_value())
}

/// The managed fields of an object that was just decoded: one manager owns all that is set. Lists are atomic, and
/// `labels` and `annotations` are maps.
pub fn managed_fields(
    object: &Value,
    api_version: &str,
    subresource: &str,
    time: &str,
    options: &WriteOptions,
    context: &Context,
) -> Value {
    let mut fields = Map::new();
    let owned = |value: &Value, names: &[&str]| {
        let mut set = Map::new();
        for name in names {
            if let Some(field) = value.get(name).filter(|field| !field.is_null()) {
                set.insert(format!("f:{name}"), field_set(field, matches!(*name, "labels" | "annotations")));
            }
        }
        set
    };
    if let Some(metadata) = object.get("metadata") {
        let set = owned(metadata, &["annotations", "generateName", "labels"]);
        if !set.is_empty() {
            fields.insert("f:metadata", set);
        }
    }
    if let Some(spec) = object.get("spec") {
        fields.insert("f:spec", field_set(spec, false));
    }
    let mut entry = json!({
        "manager": (context.manager(&options.field_manager)), "operation": "Update", "apiVersion": (api_version),
        "time": (time), "fieldsType": "FieldsV1", "fieldsV1": (fields),
    });
    if let Some(entry) = entry.as_object_mut().filter(|_| !subresource.is_empty()) {
        entry.insert("subresource", subresource);
    }
    json!([(entry)])
}

fn field_set(value: &Value, is_map: bool) -> Map {
    let mut set = Map::new();
    if let Value::Object(members) = value {
        if is_map {
            set.insert(".", Value::object());
        }
        for (key, member) in members.iter().filter(|(_, member)| !member.is_null()) {
            // Objects below the spec are maps and pointers, which are there or not.
            set.insert(Str::from(format!("f:{key}")), field_set(member, true));
        }
    }
    set
}
