//! Patch strategies: which lists merge, and their merge keys.

use pleach_json::Str;

/// The patch strategy of a kind, field by field. Fields that are not mentioned have the default: maps
/// merge, lists are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StrategicSchema {
    fields: Vec<(Str, StrategicSchema)>,
    list: ListStrategy,
    replace_map: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum ListStrategy {
    #[default]
    Replace,
    /// Of scalars: a set.
    Set,
    /// Of maps, with this merge key.
    Keyed(Str),
}

static ORDINARY: StrategicSchema =
    StrategicSchema { fields: Vec::new(), list: ListStrategy::Replace, replace_map: false };

impl StrategicSchema {
    /// A kind without anything special.
    pub fn new() -> Self {
        Self::default()
    }

    /// The metadata of every object: `metadata.finalizers` is a set, `metadata.ownerReferences` is keyed
    /// by `uid`.
    #[must_use]
    pub fn with_metadata(self) -> Self {
        self.merge_set("metadata.finalizers").merge_list("metadata.ownerReferences", "uid")
    }

    /// The list of maps at `path` merges by `key`. Steps are separated by dots; a step into a list
    /// is the step to its items.
    #[must_use]
    pub fn merge_list(mut self, path: &str, key: &str) -> Self {
        self.at(path).list = ListStrategy::Keyed(key.into());
        self
    }

    /// The list of scalars at `path` merges as a set.
    #[must_use]
    pub fn merge_set(mut self, path: &str) -> Self {
        self.at(path).list = ListStrategy::Set;
        self
    }

    /// The map at `path` is replaced as a whole.
    #[must_use]
    pub fn replace_map(mut self, path: &str) -> Self {
        self.at(path).replace_map = true;
        self
    }

    /// The schema of a field.
    #[must_use]
    pub fn with_field(mut self, name: &str, schema: Self) -> Self {
        *self.at(name) = schema;
        self
    }

    /// A list of maps that merges by `key`; the rest is about its items.
    #[must_use]
    pub fn merging_by(mut self, key: &str) -> Self {
        self.list = ListStrategy::Keyed(key.into());
        self
    }

    /// A list of scalars that merges as a set.
    #[must_use]
    pub fn merging_as_set(mut self) -> Self {
        self.list = ListStrategy::Set;
        self
    }

    /// A map that is replaced as a whole.
    #[must_use]
    pub fn replaced(mut self) -> Self {
        self.replace_map = true;
        self
    }

    fn at(&mut self, path: &str) -> &mut Self {
        path.split('.').fold(self, |node, step| {
            let known = node.fields.iter().position(|(name, _)| name == step);
            let place = known.unwrap_or_else(|| {
                node.fields.push((step.into(), Self::default()));
                node.fields.len() - 1
            });
            &mut node.fields[place].1
        })
    }

    pub(super) fn field(&self, name: &str) -> &Self {
        self.fields.iter().find(|(field, _)| field == name).map_or(&ORDINARY, |(_, schema)| schema)
    }

    pub(super) fn merges_list(&self) -> bool {
        self.list != ListStrategy::Replace
    }

    pub(super) fn merge_key(&self) -> Option<&str> {
        match &self.list {
            ListStrategy::Keyed(key) => Some(key),
            _ => None,
        }
    }

    pub(super) fn replaces_map(&self) -> bool {
        self.replace_map
    }
}
