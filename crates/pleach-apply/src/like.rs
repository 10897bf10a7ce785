//! Fields that a value probably has, because another has them that it has much in common with.
//!
//! Who says again what it said before owns again what it owned. Where the fields of an earlier value are at
//! hand those of a new one are found by going along them: nothing is made as long as they are the same, and
//! what the two values share is not looked at.

use pleach_json::{Map, Str, Value};

use crate::encoded::{DOT, Encoded};
use crate::items::{Key, key};
use crate::shape::ListShape;

/// Fields that a value probably has, and perhaps a value that has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Like<'a> {
    /// Has these fields and those that were taken from them. What is shared with it is not looked at.
    pub(crate) value: Option<&'a Value>,
    pub(crate) fields: &'a Map,
}

impl<'a> Like<'a> {
    /// The fields, if a value is the one that has them.
    pub(crate) fn of(&self, value: &Value) -> Option<&'a Map> {
        self.value.is_some_and(|known| known.is_same(value)).then_some(self.fields)
    }

    /// What a member is like that has these fields, which is probably at a place.
    pub(crate) fn member(&self, i: usize, key: &str, fields: &'a Map) -> Self {
        let members = self.value.and_then(Value::as_object);
        let value = members.and_then(|members| match members.entries().get(i) {
            Some((name, value)) if name == key => Some(value),
            _ => members.get(key),
        });
        Self { value, fields }
    }

    /// What an item is like, which is probably at a place, and its step.
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
        // Of what is there twice nothing is told.
        let items = items.filter(|items| items.len() + usize::from(is_dotted(steps)) == steps.len());
        let has_step = |item: &&Value| key(list, item).is_ok_and(|key| key.is_written(step));
        let value = items.and_then(|items| items.get(i)).filter(has_step);
        below.as_object().map(|fields| (Self { value, fields }, step))
    }

    /// Whether the fields are these, as far as that is told without a look into what they hold.
    fn is(&self, steps: &[(Str, Value)]) -> bool {
        let same = |(a, b): (&(Str, Value), &(Str, Value))| a.1.is_same(&b.1) && a.0 == b.0;
        let own = self.fields.entries();
        own.len() == steps.len() && own.iter().zip(steps).all(same)
    }
}

/// Whether these are the steps below one that is a member itself.
fn is_dotted(steps: &[(Str, Value)]) -> bool {
    steps.first().is_some_and(|(first, _)| *first == DOT)
}

/// The steps of an object's members: those that are expected, as long as they are, without making any.
pub(crate) struct Steps<'a> {
    like: Option<&'a Map>,
    /// How many of those expected have come.
    at: usize,
    /// Those that came, if they are not the ones that were expected.
    own: Option<Vec<(Str, Value)>>,
    capacity: usize,
    member: bool,
}

impl<'a> Steps<'a> {
    /// The steps below one that is a member itself, or is not.
    pub(crate) fn new(capacity: usize, member: bool, like: Option<Like<'a>>) -> Self {
        let like = like.map(|like| like.fields).filter(|fields| is_dotted(fields.entries()) == member);
        let own = if like.is_some() { None } else { Some(begin(capacity, member)) };
        Self { like, at: usize::from(member && like.is_some()), own, capacity, member }
    }

    /// What is expected below the step of a member; members are asked for in order.
    pub(crate) fn below(&mut self, key: &str) -> Option<&'a Map> {
        let steps = self.like?.entries();
        let is_before = |(step, _): &&(Str, Value)| step.strip_prefix("f:").is_some_and(|name| name < key);
        // Those that were expected before it do not come any more.
        let missing = steps[self.at..].iter().take_while(is_before).count();
        if missing > 0 {
            self.differ();
            self.at += missing;
        }
        let (step, below) = steps.get(self.at)?;
        if step.strip_prefix("f:") == Some(key) { below.as_object() } else { None }
    }

    /// From here on they are not the ones that were expected.
    fn differ(&mut self) {
        if self.own.is_none() {
            let came = self.like.map_or(&[][..], |like| &like.entries()[..self.at]);
            let mut own = Vec::with_capacity(came.len().max(self.capacity + usize::from(self.member)));
            own.extend_from_slice(came);
            self.own = Some(own);
        }
    }

    /// The next step that came, and what is below it.
    pub(crate) fn push(&mut self, is_step: impl Fn(&str) -> bool, step: impl FnOnce() -> Str, below: Map) {
        let expected = self.like.and_then(|like| like.entries().get(self.at)).filter(|next| is_step(&next.0));
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

    /// What is below a step: nothing if there is only the step.
    pub(crate) fn end(mut self) -> Map {
        if self.like.is_some_and(|like| self.at < like.len()) {
            self.differ();
        }
        match (self.own, self.like) {
            (None, Some(like)) => like.clone(),
            (own, _) => end(own.unwrap_or_default(), self.member, None),
        }
    }
}

/// Shares what is equal in the fields of two whole objects, of which one had fields taken from it after
/// they were found.
pub(crate) fn share(fields: &mut Encoded, like: Like<'_>) {
    let known = like.fields;
    let members = fields.members();
    if members.is_same(known) {
        return;
    }
    let mut shared = members.clone();
    for (i, (step, below)) in members.entries().iter().enumerate() {
        if let (Value::Object(below), Some(Value::Object(own))) = (below, known.get(step))
            && !below.is_same(own)
            && (Like { value: None, fields: own }).is(below.entries())
        {
            shared.entries_mut()[i].1 = Value::Object(own.clone());
        }
    }
    *fields = Encoded::from_map(if like.is(shared.entries()) { known.clone() } else { shared });
}

/// Room for the steps below one, which may be a member itself.
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

/// What is below a step: nothing if there is only the step.
pub(crate) fn end(steps: Vec<(Str, Value)>, member: bool, like: Option<Like<'_>>) -> Map {
    match like {
        _ if steps.len() <= usize::from(member) => Map::new(),
        Some(like) if like.is(&steps) => like.fields.clone(),
        _ => Map::from_sorted(steps),
    }
}
