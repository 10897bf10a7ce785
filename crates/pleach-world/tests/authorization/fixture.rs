//! A world with RBAC and some objects in it, and requests to it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use pleach_auth::UserInfo;
use pleach_json::{Value, json};
use pleach_world::{World, WorldOptions};

use super::model::{Asked, Grant};

/// A text that all objects have in them, and no refusal may have.
pub(crate) const MARKER: &str = "e1d2-marker";

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

pub(crate) struct Fixture(World);

impl Fixture {
    pub(crate) async fn start() -> Self {
        let options = WorldOptions { rbac: true, controllers: false, ..WorldOptions::default() };
        let fixture = Self(World::start(options).await.unwrap());
        for namespace in ["a", "b"] {
            fixture.create("/api/v1/namespaces", &json!({"metadata": {"name": (namespace)}})).await;
        }
        for (plural, kind, scope) in [("foos", "Foo", "Namespaced"), ("bars", "Bar", "Cluster")] {
            let crd = json!({
                "metadata": {"name": (format!("{plural}.example.com"))},
                "spec": {
                    "group": "example.com", "scope": (scope), "names": {"plural": (plural), "kind": (kind)},
                    "versions": [{
                        "name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {
                            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                            "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}, "secret": {"type": "string"}}},
                                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                        }},
                        "subresources": {
                            "status": {},
                            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                        },
                    }],
                },
            });
            fixture.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd).await;
        }
        for namespace in ["a", "b"] {
            for name in ["x", "y"] {
                let labels = json!({"marker": (MARKER)});
                let map = json!({"metadata": {"name": (name), "labels": (labels.clone())}, "data": {"k": (MARKER)}});
                fixture.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), &map).await;
                let custom = json!({"metadata": {"name": (name), "labels": (labels)}, "spec": {"secret": (MARKER), "replicas": 1}});
                fixture.create(&format!("/apis/example.com/v1/namespaces/{namespace}/foos"), &custom).await;
            }
        }
        for name in ["x", "y"] {
            let bar = json!({"metadata": {"name": (name)}, "spec": {"secret": (MARKER)}});
            fixture.create("/apis/example.com/v1/bars", &bar).await;
        }
        fixture
    }

    pub(crate) async fn restart(&self) {
        self.0.restart().await.unwrap();
    }

    pub(crate) async fn fork(&self) -> Self {
        Self(self.0.fork_with(false).await.unwrap())
    }

    pub(crate) async fn revision(&self) -> u64 {
        self.0.revision().await.unwrap().0
    }

    /// Creates an object as the admin. Its kind is that of the collection.
    async fn create(&self, path: &str, object: &Value) {
        let (kind, version) = match path.rsplit('/').next().unwrap() {
            "namespaces" => ("Namespace", "v1"),
            "configmaps" => ("ConfigMap", "v1"),
            "foos" => ("Foo", "example.com/v1"),
            "bars" => ("Bar", "example.com/v1"),
            "customresourcedefinitions" => ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
            "roles" => ("Role", "rbac.authorization.k8s.io/v1"),
            "clusterroles" => ("ClusterRole", "rbac.authorization.k8s.io/v1"),
            "rolebindings" => ("RoleBinding", "rbac.authorization.k8s.io/v1"),
            "clusterrolebindings" => ("ClusterRoleBinding", "rbac.authorization.k8s.io/v1"),
            other => panic!("{other}"),
        };
        let mut object = object.clone();
        let members = object.as_object_mut().unwrap();
        members.insert("kind", kind);
        members.insert("apiVersion", version);
        let (code, body) = self.send(&World::admin(), &Method::POST, path, &[], Some(&object)).await;
        assert_eq!(code, 201, "{path}: {body}");
    }

    /// Writes the role and binding of a grant.
    pub(crate) async fn grant(&self, grant: &Grant) {
        let texts = |list: &[String]| list.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
        let mut rule = json!({
            "verbs": (texts(&grant.verbs)), "apiGroups": (texts(&grant.groups)), "resources": (texts(&grant.resources)),
        });
        if !grant.names.is_empty() {
            rule.as_object_mut().unwrap().insert("resourceNames", texts(&grant.names));
        }
        let metadata = json!({"name": (grant.name.as_str())});
        let role = json!({"metadata": (metadata.clone()), "rules": [(rule)]});
        let (kind, name) = (grant.subject.0, grant.subject.1.as_str());
        let subject = match name.split_once('/') {
            Some((namespace, name)) if kind == "ServiceAccount" => {
                json!({"kind": (kind), "namespace": (namespace), "name": (name)})
            }
            _ => json!({"kind": (kind), "name": (name), "apiGroup": "rbac.authorization.k8s.io"}),
        };
        let binding = |role: &str| {
            json!({
                "metadata": (metadata.clone()), "subjects": [(subject.clone())],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": (role), "name": (grant.name.as_str())},
            })
        };
        match &grant.namespace {
            Some(namespace) => {
                self.create(&format!("{RBAC}/namespaces/{namespace}/roles"), &role).await;
                self.create(&format!("{RBAC}/namespaces/{namespace}/rolebindings"), &binding("Role")).await;
            }
            None => {
                self.create(&format!("{RBAC}/clusterroles"), &role).await;
                self.create(&format!("{RBAC}/clusterrolebindings"), &binding("ClusterRole")).await;
            }
        }
    }

    /// Sends a request; its status code and, unless it is a watch that was opened, its body.
    pub(crate) async fn send(
        &self,
        user: &Arc<UserInfo>,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let bytes = Bytes::from(body.map(pleach_json::to_vec).unwrap_or_default());
        // The anonymous user is one without a certificate.
        let of_connection = Some(user).filter(|user| user.name != "system:anonymous");
        let response = self.0.handle(request.body(bytes).unwrap(), of_connection).await.unwrap();
        let code = response.status().as_u16();
        if code == 200 && path.contains("watch") {
            return (code, String::new());
        }
        let bytes =
            response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        (code, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Makes a request of the matrix, which changes nothing; its status code.
    pub(crate) async fn ask(&self, user: &Arc<UserInfo>, asked: &Asked<'_>) -> u16 {
        let Asked { verb, group, resource, subresource, namespace, name } = *asked;
        let mut path = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/v1") };
        if !namespace.is_empty() {
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        for part in [resource, name, subresource].iter().filter(|part| !part.is_empty()) {
            path.push_str(&format!("/{part}"));
        }
        let dry = format!("{path}?dryRun=All");
        let merge: &[(&str, &str)] = &[("content-type", "application/merge-patch+json")];
        let empty = json!({});
        let (method, path, headers, body) = match verb {
            "get" | "list" => (Method::GET, path, &[][..], None),
            "watch" => (Method::GET, format!("{path}?watch=1&timeoutSeconds=1"), &[][..], None),
            "create" => (Method::POST, dry, &[][..], Some(&empty)),
            "update" => (Method::PUT, dry, &[][..], Some(&empty)),
            "patch" => (Method::PATCH, dry, merge, Some(&empty)),
            _ => (Method::DELETE, dry, &[][..], None),
        };
        self.send(user, &method, &path, headers, body).await.0
    }

    /// The answer of a SubjectAccessReview.
    pub(crate) async fn review(&self, user: &Arc<UserInfo>, asked: &Asked<'_>) -> bool {
        let groups: Vec<Value> = user.groups.iter().map(|group| Value::from(group.as_str())).collect();
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": (user.name.as_str()), "groups": (groups),
                "resourceAttributes": {
                    "verb": (asked.verb), "group": (asked.group), "resource": (asked.resource),
                    "subresource": (asked.subresource), "namespace": (asked.namespace), "name": (asked.name),
                },
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let (code, body) = self.send(&World::admin(), &Method::POST, path, &[], Some(&review)).await;
        assert_eq!(code, 201, "{body}");
        let answer = pleach_json::parse(body.as_bytes()).unwrap();
        answer.at(&["status", "allowed"]).and_then(Value::as_bool).unwrap_or_default()
    }
}
