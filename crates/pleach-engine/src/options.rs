//! The options of requests: the decoded query string.

use std::sync::Arc;

use pleach_auth::UserInfo;
use pleach_json::{Map, Str, Value};
use pleach_meta::selector::{FieldSelector, LabelSelector};

pub use pleach_pipeline::body::{Body, FieldValidation, Format, Unreadable};

/// The kinds of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902
    Json,
    /// RFC 7386
    Merge,
    /// Strategic merge, for built-in kinds.
    StrategicMerge,
    /// Server-side apply; the body is YAML or JSON.
    Apply,
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Do everything but write.
    pub dry_run: bool,
    /// The field manager of this request; derived from the user agent if it is empty.
    pub field_manager: Str,
    /// The handling of unknown fields.
    pub field_validation: FieldValidation,
    /// Whether the request sets it.
    pub says_validation: bool,
    /// Take fields over from other managers (apply only).
    pub force: bool,
}

impl WriteOptions {
    /// The options as an object, for admission.
    pub(crate) fn to_value(&self, kind: &str) -> Value {
        let mut out = options_object(kind, self.dry_run);
        if !self.field_manager.is_empty() {
            out.insert("fieldManager", self.field_manager.clone());
        }
        if self.says_validation {
            let word = match self.field_validation {
                FieldValidation::Ignore => "Ignore",
                FieldValidation::Warn => "Warn",
                FieldValidation::Strict => "Strict",
            };
            out.insert("fieldValidation", word);
        }
        out.into()
    }
}

fn options_object(kind: &str, dry_run: bool) -> Map {
    let mut out = Map::new();
    out.insert("apiVersion", "meta.k8s.io/v1");
    out.insert("kind", kind);
    if dry_run {
        out.insert("dryRun", vec![Value::from("All")]);
    }
    out
}

/// The user of a request, and the warnings that its response gets.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The user.
    pub user: Arc<UserInfo>,
    /// The `User-Agent` header.
    pub user_agent: Str,
    /// Warnings, in the order they came up.
    pub warnings: Vec<String>,
}

impl Context {
    /// Adds a warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// The manager of fields when none is given: the user agent up to its first slash.
    pub fn manager(&self, given: &str) -> Str {
        if !given.is_empty() {
            return given.into();
        }
        let product = self.user_agent.split('/').next().unwrap_or_default();
        let mut manager = String::new();
        for c in product.chars().filter(|c| pleach_go::strconv::is_print(*c)) {
            if manager.len() + c.len_utf8() > 128 {
                break;
            }
            manager.push(c);
        }
        if manager.is_empty() { "unknown".into() } else { manager.into() }
    }
}

/// How fresh a read must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Freshness {
    /// The latest state.
    #[default]
    Latest,
    /// Any state.
    Any,
    /// Not older than this.
    NotOlderThan(u64),
    /// Exactly this.
    Exact(u64),
}

/// Options of list and deletecollection.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only objects with these labels.
    pub labels: LabelSelector,
    /// Only objects with these fields.
    pub fields: FieldSelector,
    /// How many at most; none for all.
    pub limit: Option<usize>,
    /// Where to go on, as the client sent it.
    pub continue_token: Option<String>,
    /// How fresh.
    pub freshness: Freshness,
}

/// Options of watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Only objects with these labels.
    pub labels: LabelSelector,
    /// Only objects with these fields.
    pub fields: FieldSelector,
    /// Events after this; none starts with the state as it is.
    pub after: Option<u64>,
    /// Begin with an event for each object there is.
    pub initial_events: bool,
    /// The state to begin with must not be older than this: any will do for zero, none is the latest.
    pub not_older_than: Option<u64>,
    /// Send bookmarks.
    pub bookmarks: bool,
}

/// The deletion propagation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are left alone.
    Orphan,
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
}

/// Options of delete and deletecollection.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Do everything but write.
    pub dry_run: bool,
    /// The uid the object must have.
    pub uid: Option<Str>,
    /// The resource version the object must have.
    pub resource_version: Option<Str>,
    /// The propagation policy; none means the default of the object and its kind.
    pub propagation: Option<Propagation>,
    /// `orphanDependents: false` was said: the answer is 202 while the object is still there.
    pub explicit_not_orphan: bool,
    /// Ignored by custom resources.
    pub grace_period_seconds: Option<i64>,
    /// `ignoreStoreReadErrorWithClusterBreakingPotential`: delete an object although it cannot be decoded.
    pub ignore_store_read_error: bool,
}

impl DeleteOptions {
    /// The options as an object, for admission.
    pub(crate) fn to_value(&self) -> Value {
        let mut out = options_object("DeleteOptions", self.dry_run);
        if let Some(seconds) = self.grace_period_seconds {
            out.insert("gracePeriodSeconds", seconds);
        }
        let mut preconditions = Map::new();
        for (key, text) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(text) = text {
                preconditions.insert(key, text.clone());
            }
        }
        if !preconditions.is_empty() {
            out.insert("preconditions", preconditions);
        }
        if self.ignore_store_read_error {
            out.insert("ignoreStoreReadErrorWithClusterBreakingPotential", true);
        }
        if self.explicit_not_orphan {
            out.insert("orphanDependents", false);
        }
        if let Some(propagation) = self.propagation {
            let word = match propagation {
                Propagation::Orphan => "Orphan",
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
            };
            out.insert("propagationPolicy", word);
        }
        out.into()
    }
}
