//! A kind of object, as data.
//!
//! Built-in kinds and custom ones are the same type: names, scope, versions with their schemas, columns and
//! subresources. What a schema cannot say about a kind is its [`Strategy`]. A `Kind` is immutable: a changed CRD makes
//! a new one.

use std::sync::{Arc, OnceLock};

use pleach_crd::Scale;
use pleach_json::{Str, Value};
use pleach_jsonpath::{JsonPath, KeyPath};
use pleach_schema::{JSONSchemaProps, Schema};

use crate::gates::Gates;
use crate::strategy::Strategy;
use crate::subject::Subject;

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// Beside all namespaces.
    Cluster,
}

/// A kind of object.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The API group; empty for core.
    pub group: Str,
    /// The group under which objects are stored. Events of both groups are the same objects.
    pub storage_group: Str,
    /// The resource in URLs.
    pub plural: Str,
    /// The singular name in discovery.
    pub singular: Str,
    /// The `kind` of an object.
    pub kind: Str,
    /// The `kind` of a list.
    pub list_kind: Str,
    /// Short names for clients.
    pub short_names: Vec<Str>,
    /// Categories such as `all`.
    pub categories: Vec<Str>,
    /// Namespaced or not.
    pub scope: Scope,
    /// All versions, in the order the CRD lists them.
    pub versions: Arc<[KindVersion]>,
    /// The one that is stored.
    pub storage: usize,
    /// The webhook that converts between versions. Without one the strategy does.
    pub conversion_webhook: Option<Arc<pleach_crd::Conversion>>,
    /// The strategy: rules that a schema cannot express.
    pub strategy: &'static dyn Strategy,
    /// Unknown fields are kept whatever the schema says (only v1beta1 CRDs).
    pub preserve_unknown_fields: bool,
    /// The CRD's name and uid; none for built-in kinds.
    pub crd: Option<(Str, Str)>,
    /// Shown in discovery.
    pub established: bool,
    /// Takes no new objects: its CRD is being deleted.
    pub terminating: bool,
    /// Feature gates; only CRDs depend on them.
    pub gates: Gates,
}

impl Kind {
    /// The version of that name.
    pub fn version(&self, name: &str) -> Option<usize> {
        self.versions.iter().position(|v| v.name == name)
    }

    /// The version that is stored.
    pub fn storage_version(&self) -> &KindVersion {
        &self.versions[self.storage]
    }

    /// `foos.g "name"`, as most messages name an object.
    pub fn subject(&self, name: &str) -> Subject {
        Subject { group: self.group.clone(), resource: self.plural.clone(), name: name.into() }
    }

    /// `Foo.g "name"`, as validation messages name an object.
    pub fn kind_subject(&self, name: &str) -> Subject {
        Subject { group: self.group.clone(), resource: self.kind.clone(), name: name.into() }
    }

    /// The same for an object whose `apiVersion` and `kind` may be others.
    pub fn own_subject(&self, object: &Value) -> Subject {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        Subject {
            group: self.strategy.error_group(group).into(),
            resource: text("kind").into(),
            name: object.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default().into(),
        }
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Whether a webhook converts between versions.
    pub fn has_conversion_webhook(&self) -> bool {
        self.conversion_webhook.is_some()
    }

    /// Whether this kind comes from a CRD.
    pub fn is_custom(&self) -> bool {
        self.strategy.is_custom()
    }
}

/// One version of a kind.
#[derive(Debug)]
pub struct KindVersion {
    /// `v1`
    pub name: Str,
    /// `group/v1`, or `v1` in the core group.
    pub api_version: Str,
    /// Reachable by clients.
    pub served: bool,
    /// The warning every request for it gets.
    pub deprecation: Option<Str>,
    /// Has `/status`.
    pub status: bool,
    /// Has `/scale`.
    pub scale: Option<Scale>,
    /// Columns of a table, without the name.
    pub columns: Vec<Column>,
    /// Field selectors beyond name and namespace.
    pub selectable_fields: Vec<SelectableField>,
    /// The schema, compiled when it is first needed: thousands of CRDs are loaded at start and most
    /// are not used at once.
    pub schema: LazySchema,
    /// The schema as the CRD has it, for published documents.
    pub props: Option<Arc<JSONSchemaProps>>,
    /// The type in the table of [`crate::types`]; empty for kinds of manifests and CRDs.
    pub type_name: &'static str,
}

impl KindVersion {
    /// The fingerprint of records that are sent in this version as they are. Never 0.
    pub fn fingerprint(&self) -> u64 {
        self.schema.fingerprint(&self.api_version)
    }
}

/// A compiled schema that is made when it is first asked for.
pub struct LazySchema {
    make: Box<dyn Fn() -> Schema + Send + Sync>,
    made: OnceLock<Schema>,
    fingerprint: OnceLock<u64>,
}

impl LazySchema {
    /// `make` runs at most once.
    pub fn new(make: impl Fn() -> Schema + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), made: OnceLock::new(), fingerprint: OnceLock::new() }
    }

    /// The schema.
    pub fn get(&self) -> &Schema {
        self.made.get_or_init(|| (self.make)())
    }

    /// The fingerprint of the version this is the schema of.
    fn fingerprint(&self, api_version: &str) -> u64 {
        *self.fingerprint.get_or_init(|| {
            use std::hash::{BuildHasher, Hash, Hasher};
            // A fixed seed: fingerprints are stored with objects and must mean the same after a restart.
            let mut hasher = foldhash::quality::FixedState::with_seed(0x706c_6561_6368).build_hasher();
            api_version.hash(&mut hasher);
            self.get().fingerprint().hash(&mut hasher);
            hasher.finish() | 1
        })
    }
}

impl std::fmt::Debug for LazySchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.made.get().is_some() { "LazySchema(made)" } else { "LazySchema(not yet)" })
    }
}

/// A printer column.
#[derive(Debug)]
pub struct Column {
    /// The heading.
    pub name: Str,
    /// integer, number, string, boolean or date.
    pub column_type: Str,
    /// The format, or empty.
    pub format: Str,
    /// The content of its cells.
    pub description: Str,
    /// 0 shows always.
    pub priority: i32,
    /// Where the cell comes from.
    pub cell: Cell,
}

/// Where the cells of a column come from. CRDs only have paths.
#[derive(Debug)]
pub enum Cell {
    /// The first value that a path leads to, in the column's type.
    Path(JsonPath),
    /// The text of a field, empty if it has none.
    Text(&'static [&'static str]),
    /// The number of members or items of these fields together.
    Count(&'static [&'static str]),
    /// The time since the object was created.
    Age,
    /// Computed from the object and the time in seconds since 1970.
    Computed(fn(&Value, i64) -> Value),
}

/// A field that a field selector may name.
#[derive(Debug)]
pub struct SelectableField {
    /// The label in a selector: the path without its dot.
    pub label: Str,
    /// Where the value is.
    pub path: KeyPath,
    /// The text of an absent field.
    pub absent: &'static str,
}
