//! Records what the settling walk does, as far as the caller asked for it.

use pleach_json::{Map, Value, grow_stack};
use pleach_meta::Path;

use super::Record;
use super::record::{AppliedDefault, Reason, Settled, WithheldDefault};
use crate::compile::Node;
use crate::field_path::Dotted;

/// The most bytes of recorded paths. At ten thousand levels the paths of a few kilobytes of fields would
/// have gigabytes.
const MAX_PATH_BYTES: usize = 1 << 20;

/// The changes so far.
pub(super) struct Recorder {
    record: Record,
    settled: Settled,
    path_bytes: usize,
}

impl Recorder {
    pub(super) fn new(record: Record) -> Self {
        Self { record, settled: Settled::default(), path_bytes: 0 }
    }

    /// Everything that was recorded, in order.
    pub(super) fn finish(mut self) -> Settled {
        self.settled.pruned.sort_unstable();
        self.settled.unknown_metadata.sort_unstable();
        self.settled.defaults.withheld.sort_by(|a, b| a.path.cmp(&b.path));
        self.settled
    }

    /// Whether reasons are recorded too: why a default was not applied.
    #[inline]
    pub(super) fn explains(&self) -> bool {
        self.record == Record::Everything
    }

    /// Whether unknown fields are recorded.
    pub(super) fn wants_unknown(&self) -> bool {
        self.record != Record::Nothing
    }

    /// The text of a path, if there is room for it.
    fn path(&mut self, at: &Path<'_>) -> Option<String> {
        let wanted = self.wants_unknown() && self.path_bytes <= MAX_PATH_BYTES;
        let path = wanted.then(|| Dotted(at).to_string())?;
        self.path_bytes += path.len() + size_of::<String>();
        Some(path)
    }

    /// A field that the schema does not name was removed.
    pub(super) fn pruned(&mut self, at: &Path<'_>) {
        let path = self.path(at);
        self.settled.pruned.extend(path);
    }

    /// A null was removed, because its field is not nullable.
    pub(super) fn null_dropped(&mut self, at: &Path<'_>) {
        let path = self.path(at);
        self.settled.nulls_dropped.extend(path);
    }

    /// Fields of the metadata of an embedded resource that `ObjectMeta` does not have were removed.
    pub(super) fn unknown_metadata(&mut self, paths: Vec<String>) {
        self.settled.unknown_metadata.extend(paths);
    }

    /// A default was applied.
    pub(super) fn default_applied(&mut self, at: &Path<'_>, value: &Value) {
        if self.explains() {
            let applied = AppliedDefault { path: Dotted(at).to_string(), value: value.clone() };
            self.settled.defaults.applied.push(applied);
        }
    }

    /// A default was not applied.
    pub(super) fn default_withheld(&mut self, at: &Path<'_>, reason: Reason) {
        if self.explains() {
            self.settled.defaults.withheld.push(WithheldDefault { path: Dotted(at).to_string(), reason });
        }
    }

    /// Defaults that were not applied in an object that is complete otherwise: those below members that are
    /// absent or no containers. Containers are walked by themselves.
    pub(super) fn members(&mut self, members: &Map, node: &Node, at: &Path<'_>) {
        for property in node.properties().iter().filter(|property| property.node.below().defaults()) {
            if !members.contains_key(&property.name) {
                let at = at.child(&property.name);
                self.below(&property.node, &at, &Reason::ParentAbsent(Dotted(&at).to_string()));
            }
        }
        for (key, member) in members.iter().filter(|(_, member)| !member.is_container()) {
            if let Some(of_member) = node.member(key) {
                self.no_object(member, of_member, &at.child(key));
            }
        }
    }

    /// The same for the items of an array.
    pub(super) fn items(&mut self, items: &[Value], of_items: &Node, at: &Path<'_>) {
        for (i, item) in items.iter().enumerate().filter(|(_, item)| !item.is_container()) {
            self.no_object(item, of_items, &at.index(i));
        }
    }

    /// Defaults that were not applied, because there is a null, scalar or array where their object should be.
    pub(super) fn no_object(&mut self, value: &Value, node: &Node, at: &Path<'_>) {
        if self.explains() && node.below().defaults() {
            let parent = Dotted(at).to_string();
            let reason =
                if value.is_null() { Reason::ParentNull(parent) } else { Reason::ParentNoObject(parent) };
            self.below(node, at, &reason);
        }
    }

    /// Withholds every default that is reached from here through declared properties alone.
    fn below(&mut self, node: &Node, at: &Path<'_>, reason: &Reason) {
        for property in node.properties().iter().filter(|property| property.node.below().defaults()) {
            let at = at.child(&property.name);
            if property.node.default().is_some() {
                self.default_withheld(&at, reason.clone());
            } else {
                grow_stack(|| self.below(&property.node, &at, reason));
            }
        }
    }
}
