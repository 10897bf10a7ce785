//! `AdmissionRequest`: the attributes of a write, and the `request` and `namespaceObject` that expressions see.

use pleach_auth::UserInfo;
use pleach_json::{Map, Str, Value, json};

/// An API group and a version in it.
pub type GroupVersion<'a> = (&'a str, &'a str);

/// The operation of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The object is new.
    Create,
    /// The object is changed.
    Update,
    /// The object is deleted.
    Delete,
    /// A connection to the object is opened, as by `exec` or `proxy`: the object of the request is its options.
    Connect,
}

impl Operation {
    /// The name in rules and reviews.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// An `AdmissionRequest`, in the version that the request was made in.
pub struct AdmissionRequest<'a> {
    /// The operation.
    pub operation: Operation,
    /// The API group of the resource.
    pub group: &'a str,
    /// The version of the request.
    pub version: &'a str,
    /// The plural in the URL.
    pub resource: &'a str,
    /// The subresource, or empty.
    pub subresource: &'a str,
    /// Group, version and kind of the object: those of the resource, or of the subresource, as a Scale.
    pub object_type: (&'a str, &'a str, &'a str),
    /// The name, if it is known yet.
    pub name: Str,
    /// The namespace, or empty.
    pub namespace: &'a str,
    /// The new object; none for a deletion.
    pub object: Option<&'a Value>,
    /// The object as it is; none if it is new.
    pub old: Option<&'a Value>,
    /// `CreateOptions` and the like; null for a connection.
    pub options: &'a Value,
    /// Whether nothing will be written.
    pub dry_run: bool,
    /// The user.
    pub user: &'a UserInfo,
}

/// An `AdmissionRequest` without `uid`, objects and empty fields, as on the wire. `seen` is the group and
/// version that rules matched.
pub fn admission_request(request: &AdmissionRequest<'_>, seen: GroupVersion<'_>) -> Value {
    request_seen(request, seen, seen)
}

/// The request as match conditions see it: the resource is that of the request.
pub fn condition_request(request: &AdmissionRequest<'_>, seen: GroupVersion<'_>) -> Value {
    request_seen(request, seen, (request.group, request.version))
}

/// The same; kind and resource may be of different versions.
fn request_seen(
    request: &AdmissionRequest<'_>,
    seen_kind: GroupVersion<'_>,
    seen_resource: GroupVersion<'_>,
) -> Value {
    let own = (request.group, request.version);
    let type_of = |(group, version, kind): (&str, &str, &str)| json!({"group": (group), "version": (version), "kind": (kind)});
    let resource_in = |(group, version): GroupVersion<'_>| json!({"group": (group), "version": (version), "resource": (request.resource)});
    let (group, version, kind) = request.object_type;
    // A Scale is the same in every version of the resource.
    let seen_type =
        if (group, version) == own { (seen_kind.0, seen_kind.1, kind) } else { request.object_type };
    let mut out = Map::default();
    out.insert("kind", type_of(seen_type));
    out.insert("resource", resource_in(seen_resource));
    put(&mut out, "subResource", request.subresource);
    out.insert("requestKind", type_of(request.object_type));
    out.insert("requestResource", resource_in(own));
    put(&mut out, "requestSubResource", request.subresource);
    put(&mut out, "name", &request.name);
    put(&mut out, "namespace", request.namespace);
    out.insert("operation", request.operation.as_str());
    out.insert("userInfo", user_info(request.user));
    out.insert("dryRun", request.dry_run);
    out.insert("options", request.options.clone());
    out.into()
}

/// A user as `authentication.k8s.io` writes it, without empty fields.
pub fn user_info(user: &UserInfo) -> Map {
    let texts = |list: &[Str]| list.iter().map(|text| Value::from(text.clone())).collect::<Vec<_>>();
    let mut out = Map::default();
    put(&mut out, "username", &user.name);
    put(&mut out, "uid", &user.uid);
    if !user.groups.is_empty() {
        out.insert("groups", texts(&user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra = Map::default();
        for (key, values) in &user.extra {
            extra.insert(key.as_str(), texts(values));
        }
        out.insert("extra", extra);
    }
    out
}

/// A namespace as expressions see it.
pub fn namespace_object(namespace: &Value) -> Value {
    const METADATA: [&str; 12] = [
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ];
    let mut metadata = Map::new();
    for key in METADATA {
        if let Some(value) = namespace.at(&["metadata", key]) {
            metadata.insert(key, value.clone());
        }
    }
    let mut out = Map::new();
    out.insert("metadata", metadata);
    for key in ["spec", "status"] {
        out.insert(key, namespace.get(key).cloned().unwrap_or_else(Value::object));
    }
    out.into()
}

fn put(map: &mut Map, key: &'static str, text: &str) {
    if !text.is_empty() {
        map.insert(key, text);
    }
}
