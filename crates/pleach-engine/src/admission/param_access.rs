//! The author of a policy or binding must be allowed to read the parameters that it names.

use pleach_auth::user::MASTERS;
use pleach_auth::{Attributes, ResourceAttributes, UserInfo, Verb};
use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_pipeline::strategy::ParamAccess;

use super::attributes::group_version;
use crate::engine::Engine;
use crate::kinds::admission_policy::{GROUP, MUTATING_POLICIES, VALIDATING_POLICIES};
use crate::options::Context;
use crate::rejection::Rejection;
use crate::target::Target;

/// The access that is checked; `*` for unknown parts.
struct AccessCheck {
    group: Str,
    version: Str,
    resource: Str,
}

impl Engine {
    /// Checks that the author of a policy or binding may read its parameters. Other kinds name none.
    pub(crate) async fn check_param_access(
        &self,
        target: &Target,
        object: &Value,
        old: Option<&Value>,
        context: &Context,
    ) -> Result<(), Rejection> {
        let Some(access) = target.kind.strategy.rules().param_access(object, old) else { return Ok(()) };
        if context.user.is_in(MASTERS) {
            return Ok(());
        }
        Box::pin(self.check_params(target, object, &access, context)).await
    }

    async fn check_params(
        &self,
        target: &Target,
        object: &Value,
        access: &ParamAccess,
        context: &Context,
    ) -> Result<(), Rejection> {
        let user = user_text(&context.user);
        let error = match access {
            ParamAccess::Kind { api_version, kind } => {
                let asked = self.asked(api_version, kind).0;
                if self.may_read(context, "get", &asked, "*", "*").await {
                    return Ok(());
                }
                let why = format!(
                    "user {user} must have \"get\" permission on all objects of the referenced paramKind (kind={kind}, apiVersion={api_version})"
                );
                FieldError::forbidden("spec.paramKind", why)
            }
            ParamAccess::Object { mutating, policy, name, namespace } => {
                let plural = if *mutating { MUTATING_POLICIES } else { VALIDATING_POLICIES };
                let stored = self.object(GROUP, plural, None, policy).await?;
                let text = |kind: &Value, key: &str| -> Str {
                    kind.get(key).and_then(Value::as_str).unwrap_or_default().into()
                };
                let kind = stored.as_ref().and_then(|policy| policy.at(&["spec", "paramKind"]));
                let kind = kind.map(|kind| (text(kind, "apiVersion"), text(kind, "kind")));
                let (asked, resolved) = match &kind {
                    Some((api_version, kind)) => self.asked(api_version, kind),
                    None => (AccessCheck::everything(), true),
                };
                let verb = if name.is_empty() { "list" } else { "get" };
                if self.may_read(context, verb, &asked, namespace, name).await {
                    return Ok(());
                }
                let why = if stored.is_none() {
                    format!(
                        "unable to get policy {policy} to determine minimum required permissions and user {user} does not have \"{verb}\" permission for all groups, versions and resources"
                    )
                } else if !resolved {
                    let (api_version, kind) = kind.unwrap_or_default();
                    format!(
                        "unable to resolve paramKind &{{{api_version} {kind}}} to determine minimum required permissions and user {user} does not have \"{verb}\" permission for all groups, versions and resources"
                    )
                } else if *mutating {
                    // Odd: upstream has these two the other way round.
                    format!(
                        "user {verb} does not have \"{user}\" permission on the object referenced by paramRef"
                    )
                } else {
                    format!(
                        "user {user} does not have \"{verb}\" permission on the object referenced by paramRef"
                    )
                };
                FieldError::forbidden("spec.paramRef", why)
            }
        };
        Err(Rejection::Invalid { subject: target.kind.own_subject(object), errors: vec![error] })
    }

    /// The access check for parameters of a kind, and whether the kind is known.
    fn asked(&self, api_version: &str, kind: &str) -> (AccessCheck, bool) {
        let (group, version) = group_version(api_version);
        let found = self.catalog.by_kind(group, kind);
        let found = found.filter(|kind| kind.versions.iter().any(|v| v.served && v.name == version));
        let resource = found.as_ref().map_or(Str::new_static("*"), |kind| kind.plural.clone());
        (AccessCheck { group: group.into(), version: version.into(), resource }, found.is_some())
    }

    async fn may_read(
        &self,
        context: &Context,
        verb: &str,
        asked: &AccessCheck,
        namespace: &str,
        name: &str,
    ) -> bool {
        let attributes = Attributes {
            user: context.user.clone(),
            verb: Verb::of(verb),
            path: "",
            resource: Some(ResourceAttributes {
                group: &asked.group,
                version: &asked.version,
                resource: &asked.resource,
                subresource: "",
                namespace,
                name: name.into(),
                ..ResourceAttributes::default()
            }),
        };
        self.authorizer.authorize(&attributes).get().await.is_allowed()
    }
}

impl AccessCheck {
    fn everything() -> Self {
        let all = || Str::new_static("*");
        Self { group: all(), version: all(), resource: all() }
    }
}

/// A user as Go prints it.
fn user_text(user: &UserInfo) -> String {
    let extra: Vec<String> =
        user.extra.iter().map(|(key, values)| format!("{key}:[{}]", values.join(" "))).collect();
    format!("&{{{} {} [{}] map[{}]}}", user.name, user.uid, user.groups.join(" "), extra.join(" "))
}
