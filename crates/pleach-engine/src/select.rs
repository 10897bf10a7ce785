//! Label and field selectors of a list or watch.
//!
//! Names and namespaces are decided by the key alone; labels and fields need the object. An object whose text lacks a
//! label that is required is not parsed.

use std::borrow::Cow;

use memchr::memmem::Finder;
use pleach_go::strconv::quote;
use pleach_json::Value;
use pleach_meta::selector::{
    FieldRequirement, FieldSelector, LabelSelector, Operator, Requirement, field_text,
};
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
    /// For each requirement that only objects with a label fulfil: the texts of which such an object has one.
    needed: Vec<Vec<Finder<'static>>>,
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
        let needed = labels.requirements().iter().filter_map(needed).collect();
        let (target, labels, fields) = (Cow::Borrowed(target), Cow::Borrowed(labels), Cow::Borrowed(fields));
        Ok(Self { target, labels, fields, resource_prefix, by_content, needed })
    }

    /// The same for a watch, which outlives its request.
    pub(crate) fn into_owned(self) -> Selection<'static> {
        Selection {
            target: Cow::Owned(self.target.into_owned()),
            labels: Cow::Owned(self.labels.into_owned()),
            fields: Cow::Owned(self.fields.into_owned()),
            resource_prefix: self.resource_prefix,
            by_content: self.by_content,
            needed: self.needed,
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
            Object::Stored(record) if self.is_ruled_out(record.json()) => Ok(false),
            Object::Stored(record) => Ok(self.takes_value(&record.parse()?)),
        }
    }

    /// Whether the text of an object says, without being parsed, that it is not selected. It is a text that can be
    /// parsed then.
    fn is_ruled_out(&self, json: &[u8]) -> bool {
        let lacks = |texts: &Vec<Finder<'_>>| texts.iter().all(|text| text.find(json).is_none());
        if !self.needed.iter().any(lacks) {
            return false;
        }
        // Looking at a byte takes less than a tenth of what parsing it takes.
        pleach_work::charge(json.len() as u64 / 8);
        pleach_json::is_canonical(json)
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

/// The texts of which an object has one if it fulfils a requirement; `None` if it may do so without the label.
fn needed(requirement: &Requirement) -> Option<Vec<Finder<'static>>> {
    let mut start = Vec::new();
    pleach_json::write_string(requirement.key(), &mut start);
    start.push(b':');
    let with_value = |value: &pleach_json::Str| {
        let mut text = start.clone();
        pleach_json::write_string(value, &mut text);
        Finder::new(&text).into_owned()
    };
    match requirement.operator() {
        Operator::Equals | Operator::DoubleEquals | Operator::In => {
            Some(requirement.values().iter().map(with_value).collect())
        }
        Operator::Exists | Operator::GreaterThan | Operator::LessThan => {
            start.push(b'"');
            Some(vec![Finder::new(&start).into_owned()])
        }
        Operator::DoesNotExist | Operator::NotEquals | Operator::NotIn => None,
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

#[cfg(test)]
mod tests {
    use pleach_json::{InternedObjects, json};
    use pleach_store::Revision;

    use super::*;
    use crate::record::{self, Record};
    use crate::testing::Fixture;

    const SELECTORS: [&str; 14] = [
        "app=web",
        "app==web,tier in (front,back)",
        "app in (web,worker)",
        "app=",
        "app",
        "!app",
        "app!=web",
        "app notin (web)",
        "tier>1",
        "tier<3,app=web",
        "example.com/app=a.b_c-d",
        "app=web,!tier",
        "none=such",
        "app=3c",
    ];

    /// Objects with labels, and with the same texts elsewhere.
    fn objects() -> Vec<Value> {
        let labels = [
            json!({"app": "web"}),
            json!({"app": "worker", "tier": "2"}),
            json!({"app": "", "tier": "back"}),
            json!({"example.com/app": "a.b_c-d"}),
            json!({"app": 3, "tier": null}),
            json!({"app": {"app": "web"}}),
            json!({"a\"pp": "web", "\"app\":\"web\"": "<app>"}),
            json!({}),
            json!("app=web"),
        ];
        let objects = labels.into_iter().flat_map(|labels| {
            let spec = json!({"labels": {"app": "web", "tier": "front"}, "note": "\"app\":\"web\" <\\\"none\\\":\\\"such\\\">"});
            [
                json!({"kind": "Foo", "metadata": {"labels": (labels.clone()), "name": "x", "uid": "u"}}),
                json!({"kind": "Foo", "metadata": {"labels": (labels), "name": "x", "uid": "u"}, "spec": (spec)}),
            ]
        });
        objects.collect()
    }

    fn record(header: &[u8], json: &[u8]) -> Record {
        Record::open([header, json].concat().into(), Revision(7)).expect("the header is whole")
    }

    #[tokio::test]
    async fn an_object_that_is_not_parsed_is_selected_or_reported_as_if_it_were() {
        let fixture = Fixture::new().await;
        let target = fixture.target("foos", None);
        let fields = FieldSelector::default();
        let key = target.key_of("x");
        let mut ruled_out = 0;
        let mut check = |selection: &Selection<'_>, record: Record| {
            let parsed = record.parse().map(|value| selection.takes_value(&value));
            ruled_out += usize::from(selection.is_ruled_out(record.json()));
            let text = String::from_utf8_lossy(record.json()).into_owned();
            let taken = selection.takes(&key, &Object::Stored(record));
            let text_of = |result: Result<bool, Rejection>| result.map_err(|rejection| rejection.to_string());
            assert_eq!(text_of(taken), text_of(parsed), "{} in {text}", selection.labels.requirements()[0]);
        };
        for (n, labels) in SELECTORS.into_iter().enumerate() {
            let labels = LabelSelector::parse(labels).unwrap();
            let selection = Selection::new(&target, &labels, &fields).unwrap();
            for mut object in objects() {
                let whole = record::encode(&mut object, 9, &InternedObjects::default());
                let (header, json) = whole.split_at(whole.len() - pleach_json::to_vec(&object).len());
                check(&selection, record(header, json));
                // The same with other spellings of a label.
                let text = String::from_utf8(json.to_vec()).unwrap();
                for (from, to) in [
                    ("app", "\\u0061pp"),
                    ("web", "we\\u0062"),
                    ("\":", "\": "),
                    ("/", "\\/"),
                    ("\"app\":", "\"app\":1,\"app\":"),
                ] {
                    check(&selection, record(header, text.replace(from, to).as_bytes()));
                }
                // And damaged.
                for at in (n % 7..json.len()).step_by(7) {
                    for byte in *b"\"\\}x\x00\xff" {
                        let mut json = json.to_vec();
                        json[at] = byte;
                        check(&selection, record(header, &json));
                    }
                    if at > 0 {
                        check(&selection, record(header, &json[..at]));
                    }
                }
            }
        }
        assert!(ruled_out > 1000, "some are not parsed: {ruled_out}");
    }
}
