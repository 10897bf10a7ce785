//! `matchConditions`: the CEL environment of a webhook's conditions, and their compilation.

use pleach_cel::types::T;
use pleach_cel::{DeclType, Declarations, Environment, ListKind, ObjectType, Program, Type};
use pleach_work::Constant;

/// New conditions may use what the compatibility version has.
static NEW: Constant<Environment> = Constant::new(Environment::compatible);
/// Conditions that are stored may use everything.
static STORED: Constant<Environment> = Constant::new(Environment::stored);

/// The variables, in the order in which evaluation binds them.
static VARIABLES: Constant<Declarations> = Constant::new(|| {
    let message = |name: &'static str| DeclType::other(Type::from(T::Message(name)));
    Declarations::new()
        .with("object", anything())
        .with("oldObject", anything())
        .with("request", request_type())
        .with("namespaceObject", namespace_type())
        .with("authorizer", message("kubernetes.authorization.Authorizer"))
        .with("authorizer.requestResource", message("kubernetes.authorization.ResourceCheck"))
});

/// Why a new condition is rejected.
pub(super) fn check(expression: &str) -> Result<(), String> {
    compile(&NEW, expression).map(|_| ())
}

/// Compiles a condition that was accepted before.
pub fn compile_stored(expression: &str) -> Result<Program, String> {
    compile(&STORED, expression)
}

fn compile(environment: &Environment, expression: &str) -> Result<Program, String> {
    let checked = environment
        .compile(expression, &VARIABLES)
        .map_err(|issues| format!("compilation failed: {issues}"))?;
    let output = checked.output_type();
    if *output != Type::Bool {
        return Err(match output {
            // These are called otherwise where they are types of variables.
            Type::Null | Type::Duration | Type::Timestamp => {
                format!("must evaluate to bool but got {}", output.name())
            }
            _ => format!("must evaluate to bool but got {output}"),
        });
    }
    Program::new(&checked).map_err(|error| format!("program instantiation failed: {error}"))
}

pub(crate) fn request_type() -> DeclType {
    let kind = texts("kubernetes.GroupVersionKind", &["group", "version", "kind"]);
    let resource = texts("kubernetes.GroupVersionResource", &["group", "version", "resource"]);
    let list = || DeclType::list(text(), ListKind::Atomic, None);
    let user = ObjectType::new("kubernetes.UserInfo")
        .with_field("username", text())
        .with_field("uid", text())
        .with_field("groups", list())
        .with_field("extra", DeclType::map(list(), None));
    let request = ObjectType::new("kubernetes.AdmissionRequest")
        .with_field("kind", kind.clone())
        .with_field("resource", resource.clone())
        .with_field("subResource", text())
        .with_field("requestKind", kind)
        .with_field("requestResource", resource)
        .with_field("requestSubResource", text())
        .with_field("name", text())
        .with_field("namespace", text())
        .with_field("operation", text())
        .with_field("userInfo", DeclType::object(user, []))
        .with_field("dryRun", DeclType::boolean())
        .with_field("options", anything());
    DeclType::object(request, [])
}

/// Conditions of webhooks can name `namespaceObject`, but it is always null.
pub(crate) fn namespace_type() -> DeclType {
    let list = || DeclType::list(text(), ListKind::Atomic, None);
    let map = || DeclType::map(text(), None);
    let metadata = ObjectType::new("kubernetes.NamespaceMetadata")
        .with_field("name", text())
        .with_field("generateName", text())
        .with_field("namespace", text())
        .with_field("labels", map())
        .with_field("annotations", map())
        .with_field("UID", text())
        .with_field("creationTimestamp", DeclType::date_time())
        .with_field("deletionGracePeriodSeconds", DeclType::integer())
        .with_field("deletionTimestamp", DeclType::date_time())
        .with_field("generation", DeclType::integer())
        .with_field("resourceVersion", text())
        .with_field("finalizers", list());
    let condition = ObjectType::new("kubernetes.NamespaceCondition")
        .with_field("status", text())
        .with_field("type", text())
        .with_field("lastTransitionTime", DeclType::date_time())
        .with_field("message", text())
        .with_field("reason", text());
    let conditions = DeclType::list(DeclType::object(condition, []), ListKind::Atomic, None);
    let status = ObjectType::new("kubernetes.NamespaceStatus")
        .with_field("conditions", conditions)
        .with_field("phase", text());
    let spec = ObjectType::new("kubernetes.NamespaceSpec").with_field("finalizers", list());
    let namespace = ObjectType::new("kubernetes.Namespace")
        .with_field("metadata", DeclType::object(metadata, []))
        .with_field("spec", DeclType::object(spec, []))
        .with_field("status", DeclType::object(status, []));
    DeclType::object(namespace, [])
}

/// An object whose fields are texts.
fn texts(name: &'static str, fields: &[&'static str]) -> DeclType {
    let object = fields.iter().fold(ObjectType::new(name), |object, field| object.with_field(*field, text()));
    DeclType::object(object, [])
}

pub(crate) fn anything() -> DeclType {
    DeclType::other(Type::Dyn)
}

fn text() -> DeclType {
    DeclType::string(None, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_must_be_boolean() {
        for (expression, want) in [
            ("object.a.b == 1", ""),
            ("namespaceObject == null", ""),
            ("request.userInfo.extra['x'] == ['a']", ""),
            ("request.options == null", ""),
            ("1", "must evaluate to bool but got int"),
            ("object.a", "must evaluate to bool but got dyn"),
            ("dyn(true)", "must evaluate to bool but got dyn"),
            ("request", "must evaluate to bool but got kubernetes.AdmissionRequest"),
            ("request.kind", "must evaluate to bool but got kubernetes.GroupVersionKind"),
            ("request.resource", "must evaluate to bool but got kubernetes.GroupVersionResource"),
            ("request.userInfo", "must evaluate to bool but got kubernetes.UserInfo"),
            ("request.userInfo.extra", "must evaluate to bool but got map(string, list(string))"),
            ("namespaceObject.metadata", "must evaluate to bool but got kubernetes.NamespaceMetadata"),
            ("authorizer", "must evaluate to bool but got kubernetes.authorization.Authorizer"),
            (
                "authorizer.requestResource",
                "must evaluate to bool but got kubernetes.authorization.ResourceCheck",
            ),
            ("null", "must evaluate to bool but got null_type"),
            ("duration('1s')", "must evaluate to bool but got google.protobuf.Duration"),
            ("optional.of(true)", "must evaluate to bool but got optional_type(bool)"),
            (
                "self",
                "compilation failed: ERROR: <input>:1:1: undeclared reference to 'self' (in container '')\n | self\n | ^",
            ),
            (
                "request.uid == ''",
                "compilation failed: ERROR: <input>:1:8: undefined field 'uid'\n | request.uid == ''\n | .......^",
            ),
            (
                "namespaceObject.foo",
                "compilation failed: ERROR: <input>:1:16: undefined field 'foo'\n | namespaceObject.foo\n | ...............^",
            ),
            (
                "authorizer.x",
                "compilation failed: ERROR: <input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'\n | authorizer.x\n | ..........^",
            ),
        ] {
            assert_eq!(check(expression).err().unwrap_or_default(), want, "{expression}");
        }
    }
}
