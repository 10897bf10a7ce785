//! One function per verb: the options of the query, the body, the engine, the answer.

use std::borrow::Cow;

use http::Response;
use pleach_engine::delete::Deleted;
use pleach_engine::options::{Context, PatchType};
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};
use pleach_meta::{Reason, Status, StatusDetails};

use super::answer::{answer, answer_list, answer_scale, answer_write};
use super::media_types::patch_type;
use super::request_body::{delete_options, patch_body, request_body};
use crate::app::{App, Call};
use crate::body::Body;
use crate::options;
use crate::outcome::Outcome;
use crate::request_body::Unread;
use crate::respond::{self, ResponseFormat};

/// How often a write is done again because the CRD of its kind has changed meanwhile.
const ATTEMPTS: usize = 16;

/// Does a write, and again with the kind as it is then, when the CRD has changed since the kind was looked up.
///
/// A macro: of a function that takes an asynchronous closure the compiler cannot tell that its future is `Send`.
macro_rules! under_current_kind {
    ($app:expr, $target:ident, $context:ident, $write:expr) => {{
        let mut attempts = 0;
        loop {
            match $write {
                Err(rejection) if attempts < ATTEMPTS && $app.engine.is_stale(&$target, &rejection).await => {
                    attempts += 1;
                    $context.warnings.clear();
                    $target = Cow::Owned($app.engine.refreshed(&$target).await?);
                }
                done => break done?,
            }
        }
    }};
}

pub(super) async fn get(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let freshness = options::get_options(call.query)?;
    let object = app.engine.get(target, freshness).await?;
    if target.subresource == Subresource::Scale {
        let scale = app.engine.scale_of(target, &object.into_value()?)?;
        return answer_scale(app, call, target, scale, format);
    }
    answer(app, call, target, Outcome::Ok, object, format)
}

pub(super) async fn list(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let options = options::list_options(call.query)?;
    let listing = app.engine.list(target, &options).await?;
    answer_list(app, call, target, listing, format)
}

pub(super) async fn create(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let body = request_body(call, target, body).await?;
    let options = options::write_options(call.query, "CreateOptions")?;
    let mut target = Cow::Borrowed(target);
    let object =
        under_current_kind!(app, target, context, app.engine.create(&target, &body, &options, context).await);
    answer(app, call, &target, Outcome::Created, object, format)
}

pub(super) async fn update(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    if target.name.is_none() {
        return Err(Rejection::BadRequest("name must be provided".into()));
    }
    let options = options::write_options(call.query, "UpdateOptions")?;
    let body = request_body(call, target, body).await?;
    let mut target = Cow::Borrowed(target);
    if target.subresource == Subresource::Scale {
        let scale = under_current_kind!(
            app,
            target,
            context,
            app.engine.update_scale(&target, &body, &options, context).await
        );
        return answer_scale(app, call, &target, scale, format);
    }
    let done =
        under_current_kind!(app, target, context, app.engine.update(&target, &body, &options, context).await);
    answer_write(app, call, &target, done, format)
}

pub(super) async fn patch(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    if target.name.is_none() {
        return Err(Rejection::BadRequest("name must be provided".into()));
    }
    let patch_type = patch_type(call, target)?;
    let options = options::patch_options(call.query, patch_type)?;
    let body = patch_body(call, body).await?;
    let mut target = Cow::Borrowed(target);
    if target.subresource == Subresource::Scale {
        let scale = under_current_kind!(
            app,
            target,
            context,
            app.engine.patch_scale(&target, patch_type, &body, &options, context).await
        );
        return answer_scale(app, call, &target, scale, format);
    }
    if patch_type == PatchType::Apply {
        let done = under_current_kind!(
            app,
            target,
            context,
            app.engine.apply(&target, &body, &options, context).await
        );
        return answer_write(app, call, &target, done, format);
    }
    let object = under_current_kind!(
        app,
        target,
        context,
        app.engine.patch(&target, patch_type, &body, &options, context).await
    );
    answer(app, call, &target, Outcome::Ok, object, format)
}

pub(super) async fn delete(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let options = delete_options(call, body).await?;
    match app.engine.delete(target, &options, context).await? {
        Deleted::Gone(uid) => {
            let status = Status {
                code: 0,
                success: true,
                reason: Reason::None,
                message: String::new(),
                details: Some(Box::new(StatusDetails {
                    name: target.name().into(),
                    group: target.kind.group.to_string(),
                    kind: target.kind.plural.to_string(),
                    uid: uid.to_string(),
                    ..StatusDetails::default()
                })),
            };
            Ok(respond::status(&status, format))
        }
        Deleted::Returned(object) => answer(app, call, target, Outcome::Ok, object, format),
        Deleted::Marked(object) => {
            let code = if options.explicit_not_orphan { Outcome::Accepted } else { Outcome::Ok };
            answer(app, call, target, code, object, format)
        }
    }
}

pub(super) async fn delete_collection(
    app: &App,
    call: &Call<'_>,
    target: &Target,
    body: &mut Unread,
    context: &mut Context,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let list = options::list_options(call.query)?;
    let options = delete_options(call, body).await?;
    let listing = app.engine.delete_collection(target, &list, &options, context).await?;
    answer_list(app, call, target, listing, format)
}
