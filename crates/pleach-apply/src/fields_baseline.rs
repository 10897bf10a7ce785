//! Field sets by comparison with an earlier value's.
//!
//! An applied configuration mostly has the fields of the one before. The field set of a new value is found along
//! the set of the earlier one: parts that are equal are shared with it, and containers that both values share are
//! skipped.

use pleach_json::{Map, Str, Value};

use crate::encoded::{DOT, Encoded};
use crate::items::{Key, key};
use crate::shape::ListShape;

/// The field set of an earlier value, and perhaps the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldsBaseline<'a> {
    /// Has these fields, and perhaps unowned ones. Containers shared with it are skipped.
    pub(crate) value: Option<&'a Value>,
    pub(crate) fields: &'a Map,
}

impl<'a> FieldsBaseline<'a> {
    /// The fields, if `value` is the earlier value.
    pub(crate) fn of(&self, value: &Value) -> Option<&'a Map> {
        self.value.is_some_and(|known| known.is_same(value)).then_some(self.fields)
    }

    /// The baseline of a member with these fields, probably at index `i`.
    pub(crate) fn member(&self, i: usize, key: &str, fields: &'a Map) -> Self {
        let members = self.value.and_then(Value::as_object);
        let value = members.and_then(|members| match members.entries().get(i) {
            Some((name, value)) if name == key => Some(value),
            _ => members.get(key),
        });
        Self { value, fields }
    }

    /// The baseline of an item, probably at index `i`, and its path element.
    pub(crate) fn item(
        &self,
        i: usize,
        list: &ListShape<'_>,
        own: &Key<'_>,
        at: usize,
    ) -> Option<(Self, &'a Str)> {
        let steps = self.fields.entries();
        let (step, below) = match steps.get(at) {
            Some(found) if own.is_written(&found.0) => found,
            _ => {
                let text = own.text();
                &steps[steps.binary_search_by(|(step, _)| step.cmp(&text)).ok()?]
            }
        };
        let items = self.value.and_then(Value::as_array);
        // Fields of duplicate items are not known one by one.
        let items = items.filter(|items| items.len() + usize::from(is_dotted(steps)) == steps.len());
        let has_step = |item: &&Value| key(list, item).is_ok_and(|key| key.is_written(step));
        let value = items.and_then(|items| items.get(i)).filter(has_step);
        below.as_object().map(|fields| (Self { value, fields }, step))
    }

    /// Whether the fields are these, comparing children by identity.
    fn is(&self, steps: &[(Str, Value)]) -> bool {
        let same = |(a, b): (&(Str, Value), &(Str, Value))| a.1.is_same(&b.1) && a.0 == b.0;
        let own = self.fields.entries();
        own.len() == steps.len() && own.iter().zip(steps).all(same)
    }
}

/// Whether these are the children of an element that is a member itself.
fn is_dotted(steps: &[(Str, Value)]) -> bool {
    steps.first().is_some_and(|(first, _)| *first == DOT)
}

/// The path elements of an object's members; shared with the baseline as long as they are equal.
pub(crate) struct Steps<'a> {
    baseline: Option<&'a Map>,
    /// How many of the baseline's have been matched.
    at: usize,
    /// The elements, once they differ from the baseline's.
    own: Option<Vec<(Str, Value)>>,
    capacity: usize,
    member: bool,
}

impl<'a> Steps<'a> {
    /// The children of an element that is a member itself, or is not.
    pub(crate) fn new(capacity: usize, member: bool, baseline: Option<FieldsBaseline<'a>>) -> Self {
        let baseline =
            baseline.map(|baseline| baseline.fields).filter(|fields| is_dotted(fields.entries()) == member);
        let own = if baseline.is_some() { None } else { Some(begin(capacity, member)) };
        Self { baseline, at: usize::from(member && baseline.is_some()), own, capacity, member }
    }

    /// The baseline's fields below a member; members are asked for in order.
    pub(crate) fn below(&mut self, key: &str) -> Option<&'a Map> {
        let steps = self.baseline?.entries();
        let is_before = |(step, _): &&(Str, Value)| step.strip_prefix("f:").is_some_and(|name| name < key);
        // Elements before it are missing here.
        let missing = steps[self.at..].iter().take_while(is_before).count();
        if missing > 0 {
            self.differ();
            self.at += missing;
        }
        let (step, below) = steps.get(self.at)?;
        if step.strip_prefix("f:") == Some(key) { below.as_object() } else { None }
    }

    /// From here on the elements differ from the baseline's.
    fn differ(&mut self) {
        if self.own.is_none() {
            let came = self.baseline.map_or(&[][..], |baseline| &baseline.entries()[..self.at]);
            let mut own = Vec::with_capacity(came.len().max(self.capacity + usize::from(self.member)));
            own.extend_from_slice(came);
            self.own = Some(own);
        }
    }

    /// Adds the next element and what is below it.
    pub(crate) fn push(&mut self, is_step: impl Fn(&str) -> bool, step: impl FnOnce() -> Str, below: Map) {
        let expected = self
            .baseline
            .and_then(|baseline| baseline.entries().get(self.at))
            .filter(|next| is_step(&next.0));
        if self.own.is_none()
            && !expected
                .is_some_and(|(_, there)| there.as_object().is_some_and(|there| there.is_same(&below)))
        {
            self.differ();
        }
        self.at += usize::from(expected.is_some());
        if let Some(own) = &mut self.own {
            own.push((expected.map_or_else(step, |(step, _)| step.clone()), below.into()));
        }
    }

    /// The finished children: empty if there is only the member itself.
    pub(crate) fn end(mut self) -> Map {
        if self.baseline.is_some_and(|baseline| self.at < baseline.len()) {
            self.differ();
        }
        match (self.own, self.baseline) {
            (None, Some(baseline)) => baseline.clone(),
            (own, _) => end(own.unwrap_or_default(), self.member, None),
        }
    }
}

/// Shares equal parts of an object's field set with the baseline's, after unowned fields were removed.
pub(crate) fn share(fields: &mut Encoded, baseline: FieldsBaseline<'_>) {
    let known = baseline.fields;
    let members = fields.members();
    if members.is_same(known) {
        return;
    }
    let mut shared = members.clone();
    for (i, (step, below)) in members.entries().iter().enumerate() {
        if let (Value::Object(below), Some(Value::Object(own))) = (below, known.get(step))
            && !below.is_same(own)
            && (FieldsBaseline { value: None, fields: own }).is(below.entries())
        {
            shared.entries_mut()[i].1 = Value::Object(own.clone());
        }
    }
    *fields = Encoded::from_map(if baseline.is(shared.entries()) { known.clone() } else { shared });
}

/// Children of an element, which may be a member itself.
pub(crate) fn begin(capacity: usize, member: bool) -> Vec<(Str, Value)> {
    if capacity == 0 {
        return Vec::new();
    }
    let mut steps = Vec::with_capacity(capacity + usize::from(member));
    if member {
        steps.push((DOT, Value::object()));
    }
    steps
}

/// The finished children: empty if there is only the member itself.
pub(crate) fn end(steps: Vec<(Str, Value)>, member: bool, baseline: Option<FieldsBaseline<'_>>) -> Map {
    match baseline {
        _ if steps.len() <= usize::from(member) => Map::new(),
        Some(baseline) if baseline.is(&steps) => baseline.fields.clone(),
        _ => Map::from_sorted(steps),
    }
}
