//! Label and field selectors of a list or watch.
//!
//! Names and namespaces are decided by the key alone; labels and fields need the object.

use std::borrow::Cow;

use pleach_go::strconv::quote;
use pleach_json::Value;
use pleach_meta::selector::{FieldRequirement, FieldSelector, LabelSelector, field_text};
use pleach_store::Key;

use crate::keys;
use crate::list::split_key;
use crate::object::Object;
use crate::rejection::Rejection;
use crate::target::Target;

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// The selectors of a request, checked against the selectable fields of its kind.
pub(crate) struct Selection<'a> {
    target: Cow<'a, Target>,
    labels: Cow<'a, LabelSelector>,
    fields: Cow<'a, FieldSelector>,
    resource_prefix: String,
    by_content: bool,
}

impl<'a> Selection<'a> {
    /// Refuses fields that cannot be selected by.
    pub(crate) fn new(
        target: &'a Target,
        labels: &'a LabelSelector,
        fields: &'a FieldSelector,
    ) -> Result<Self, Rejection> {
        let mut by_content = !labels.is_everything();
        for requirement in fields.requirements() {
            match requirement.field.as_str() {
                // A lone equals sign asks for nothing.
                "" if requirement.value.is_empty() && requirement.equals => {}
                NAME => {}
                NAMESPACE if target.kind.is_namespaced() || !knows_fields(target) => {}
                field if target.version().selectable_fields.iter().any(|s| s.label == field) => {
                    by_content = true;
                }
                field => return Err(Rejection::BadRequest(unknown_field(target, field))),
            }
        }
        let resource_prefix = keys::prefix(&target.kind.storage_group, &target.kind.plural, None);
        let (target, labels, fields) = (Cow::Borrowed(target), Cow::Borrowed(labels), Cow::Borrowed(fields));
        Ok(Self { target, labels, fields, resource_prefix, by_content })
    }

    /// The same for a watch, which outlives its request.
    pub(crate) fn into_owned(self) -> Selection<'static> {
        Selection {
            target: Cow::Owned(self.target.into_owned()),
            labels: Cow::Owned(self.labels.into_owned()),
            fields: Cow::Owned(self.fields.into_owned()),
            resource_prefix: self.resource_prefix,
            by_content: self.by_content,
        }
    }

    /// The collection.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Whether nothing is selected away.
    pub(crate) fn is_everything(&self) -> bool {
        !self.by_content && self.fields.requirements().is_empty()
    }

    /// Whether the object must be looked at.
    pub(crate) fn is_by_content(&self) -> bool {
        self.by_content
    }

    /// The only key that can be wanted, where name and namespace are pinned.
    pub(crate) fn only_key(&self, target: &Target) -> Option<Key> {
        let name = self.fields.requires_exact_match(NAME)?;
        if name.is_empty() || name.contains('/') {
            return None;
        }
        match (&target.namespace, target.kind.is_namespaced()) {
            (Some(_), true) | (_, false) => Some(target.key_of(name)),
            (None, true) => None,
        }
    }

    /// Whether an object is selected as far as its key tells.
    pub(crate) fn may_take(&self, key: &Key) -> bool {
        if self.fields.requirements().is_empty() {
            return true;
        }
        let (namespace, name) =
            split_key(&self.resource_prefix, key.as_str(), self.target.kind.is_namespaced());
        self.fields.requirements().iter().all(|requirement| match requirement.field.as_str() {
            NAME => accepts(requirement, name),
            NAMESPACE => accepts(requirement, namespace),
            _ => true,
        })
    }

    /// The whole answer for an object as served.
    pub(crate) fn takes(&self, key: &Key, object: &Object) -> Result<bool, Rejection> {
        if !self.may_take(key) {
            return Ok(false);
        }
        if !self.by_content {
            return Ok(true);
        }
        match object {
            Object::Value(value) => Ok(self.takes_value(value)),
            Object::Stored(record) => Ok(self.takes_value(&record.parse()?)),
        }
    }

    /// Whether an object is selected by its content.
    pub(crate) fn takes_value(&self, value: &Value) -> bool {
        let labels = value.at(&["metadata", "labels"]).and_then(Value::as_object);
        if !self.labels.matches(labels) {
            return false;
        }
        self.fields.requirements().iter().all(|requirement| {
            let selectable =
                self.target.version().selectable_fields.iter().find(|s| s.label == requirement.field);
            match selectable {
                Some(selectable) => match selectable.path.get(value) {
                    None => accepts(requirement, selectable.absent),
                    found => accepts(requirement, &field_text(found)),
                },
                None => true,
            }
        })
    }
}

/// Built-in kinds that know no fields of their own say so in other words.
fn unknown_field(target: &Target, field: &str) -> String {
    if knows_fields(target) {
        return format!("field label not supported: {field}");
    }
    format!("{} is not a known field selector: only \"{NAME}\", \"{NAMESPACE}\"", quote(field))
}

/// Whether a kind declares its selectable fields. Other kinds can be selected by namespace, too, also if they are
/// in none.
fn knows_fields(target: &Target) -> bool {
    target.kind.is_custom() || !target.version().selectable_fields.is_empty()
}

fn accepts(requirement: &FieldRequirement, text: &str) -> bool {
    (requirement.value == text) == requirement.equals
}
