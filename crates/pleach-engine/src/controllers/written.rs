//! Writes of objects by background controllers as a user, through admission.

use pleach_auth::UserInfo;
use pleach_json::{Str, Value, to_vec};
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::Key;

use crate::engine::Engine;
use crate::keys;
use crate::options::{Body, Context, Format, WriteOptions};
use crate::rejection::Rejection;

/// The groups of service accounts.
const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:serviceaccounts:kube-system"];
/// The manager of the fields that are written.
const MANAGER: &str = "kube-controller-manager";

/// Whether a namespace is there and is not being deleted.
pub(super) async fn is_active(engine: &Engine, namespace: &str) -> Result<bool, Rejection> {
    match engine.stored(&keys::namespace(namespace)).await? {
        Some(record) => Ok(!ObjectMeta::of(&record.parse()?).is_terminating()),
        None => Ok(false),
    }
}

/// Creates an object, or replaces the one that `is_there`, as a service account of `kube-system`. That another client
/// was faster is no error: the controller observes its write.
pub(super) async fn write(
    engine: &Engine,
    key: &Key,
    object: &Value,
    is_there: bool,
    user: &'static str,
) -> Result<(), Rejection> {
    let Some(mut target) = engine.target_of(key) else { return Ok(()) };
    let body = Body { bytes: to_vec(object).into(), format: Format::Json };
    let options = WriteOptions { field_manager: Str::new_static(MANAGER), ..WriteOptions::default() };
    let user = UserInfo::authenticated(user, GROUPS.map(Str::new_static));
    let mut context = Context { user, user_agent: Str::new_static(MANAGER), ..Context::default() };
    let written = if is_there {
        engine.update(&target, &body, &options, &mut context).await.map(drop)
    } else {
        target.name = None;
        engine.create(&target, &body, &options, &mut context).await.map(drop)
    };
    match written {
        Err(Rejection::AlreadyExists { .. } | Rejection::Conflict { .. }) => Ok(()),
        written => written,
    }
}
