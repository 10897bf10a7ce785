//! Privilege escalation check: a user grants only rules that the user has, unless allowed to `escalate` or `bind`.

use pleach_auth::rbac::{PolicyRule, RoleKey, describe_missing, missing_rules};
use pleach_auth::user::MASTERS;
use pleach_auth::{Attributes, ResourceAttributes, Verb};
use pleach_go::strconv::quote;
use pleach_json::{Str, Value};
use pleach_meta::names::check_path_segment_name;
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Grant;

use crate::engine::Engine;
use crate::kinds::rbac::{ROLES, role_resource};
use crate::options::Context;
use crate::rejection::Rejection;
use crate::target::Target;

/// The verb of deleting objects that cannot be decoded.
const UNSAFE_DELETE: &str = "unsafe-delete-ignore-read-errors";

impl Engine {
    /// Checks that a user may delete an object although it cannot be decoded.
    pub(crate) async fn check_unsafe_deletion(
        &self,
        target: &Target,
        context: &Context,
    ) -> Result<(), Rejection> {
        let verb = Verb::of(UNSAFE_DELETE);
        let attributes = attributes(context, target, verb, &target.kind.plural, target.name());
        let decision = self.authorizer.authorize(&attributes).get().await;
        if decision.is_allowed() {
            return Ok(());
        }
        let why = format!("not permitted to do {}, reason: {}", quote(UNSAFE_DELETE), decision.reason);
        Err(Rejection::Forbidden { subject: target.subject(), why, cause: None })
    }

    /// Checks that the author of a role or binding has the permissions that it grants. Other kinds grant nothing.
    pub(crate) async fn check_escalation(
        &self,
        target: &Target,
        object: &Value,
        old: Option<&Value>,
        context: &Context,
    ) -> Result<(), Rejection> {
        let Some(grant) = target.kind.strategy.grant(object, old) else { return Ok(()) };
        if context.user.is_in(MASTERS) {
            return Ok(());
        }
        Box::pin(self.check_grant(target, object, grant, context)).await
    }

    async fn check_grant(
        &self,
        target: &Target,
        object: &Value,
        grant: Grant,
        context: &Context,
    ) -> Result<(), Rejection> {
        let (rules, aggregates) = match grant {
            Grant::Rules { rules, aggregates } => {
                if self.may(context, target, "escalate", &target.kind.plural, target.name()).await {
                    return Ok(());
                }
                (rules, aggregates)
            }
            Grant::Role { kind, name } => {
                if let Some(plural) = role_resource(&kind)
                    && self.may(context, target, "bind", plural, &name).await
                {
                    return Ok(());
                }
                (self.bound_rules(target, &kind, &name)?, false)
            }
        };
        let namespace = target.namespace.as_deref().unwrap_or_default();
        let own = self.rbac.authorizer.own_rules(&context.user, namespace);
        let subject = target.kind.subject(ObjectMeta::of(object).name());
        let forbidden = |why: String| Rejection::Forbidden { subject: subject.clone(), why, cause: None };
        let missing = missing_rules(own.rules(), &rules);
        if !missing.is_empty() {
            let groups: Vec<String> = context.user.groups.iter().map(|group| quote(group)).collect();
            let mut why = format!(
                "user {} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
                quote(&context.user.name),
                groups.join(" "),
                describe_missing(&missing)
            );
            let not_found = |role: &RoleKey| format!("{} not found", target.kind.subject(&role.name));
            // A Role and a ClusterRole of one name have the same message.
            let mut errors: Vec<String> = Vec::new();
            for error in own.missing.iter().map(not_found) {
                if !errors.contains(&error) {
                    errors.push(error);
                }
            }
            match errors.as_slice() {
                [] => {}
                [only] => why.push_str(&format!("; resolution errors: [{only}]")),
                several => why.push_str(&format!("; resolution errors: [[{}]]", several.join(", "))),
            }
            return Err(forbidden(why));
        }
        if aggregates && !missing_rules(own.rules(), &everything()).is_empty() {
            return Err(forbidden("must have cluster-admin privileges to use the aggregationRule".into()));
        }
        Ok(())
    }

    /// The rules of the role that a binding names. Errors speak of the resource of the request, as upstream's do.
    fn bound_rules(&self, target: &Target, kind: &str, name: &str) -> Result<Vec<PolicyRule>, Rejection> {
        let namespace = match role_resource(kind) {
            Some(ROLES) => match &target.namespace {
                None => return Err(Rejection::BadRequest("Namespace parameter required.".into())),
                namespace => namespace.clone(),
            },
            Some(_) => None,
            None => {
                return Err(Rejection::Plain(format!("unsupported role reference kind: {}", quote(kind))));
            }
        };
        if name.is_empty() {
            return Err(Rejection::BadRequest("Name parameter required.".into()));
        }
        let problems = check_path_segment_name(name);
        if !problems.is_empty() {
            let why = format!("Name parameter invalid: {}: {}", quote(name), problems.join(";"));
            return Err(Rejection::BadRequest(why));
        }
        let role = self.rbac.authorizer.role(&RoleKey { namespace, name: name.into() });
        match role {
            Some(rules) => Ok(rules.to_vec()),
            None => Err(Rejection::NotFound(target.kind.subject(name))),
        }
    }

    async fn may(&self, context: &Context, target: &Target, verb: &str, plural: &str, name: &str) -> bool {
        let attributes = attributes(context, target, Verb::of(verb), plural, name);
        self.authorizer.authorize(&attributes).get().await.is_allowed()
    }

    /// Checks that a user may create an object that another verb than create would create.
    pub(crate) async fn check_create(
        &self,
        target: &Target,
        name: &str,
        context: &Context,
    ) -> Result<(), Rejection> {
        let attributes = attributes(context, target, Verb::Create, &target.kind.plural, name);
        let decision = self.authorizer.authorize(&attributes).get().await;
        if decision.is_allowed() { Ok(()) } else { Err(Rejection::forbidden(&attributes, &decision.reason)) }
    }
}

fn attributes<'a>(
    context: &Context,
    target: &'a Target,
    verb: Verb,
    resource: &'a str,
    name: &'a str,
) -> Attributes<'a> {
    Attributes {
        user: context.user.clone(),
        verb,
        path: "",
        resource: Some(ResourceAttributes {
            group: &target.kind.group,
            version: &target.version().name,
            resource,
            subresource: "",
            namespace: target.namespace.as_deref().unwrap_or_default(),
            name: name.into(),
            ..ResourceAttributes::default()
        }),
    }
}

/// The rules of `cluster-admin`.
fn everything() -> [PolicyRule; 2] {
    let all = || vec![Str::new_static("*")];
    [
        PolicyRule { verbs: all(), api_groups: all(), resources: all(), ..PolicyRule::default() },
        PolicyRule { verbs: all(), non_resource_urls: all(), ..PolicyRule::default() },
    ]
}
