//! kubectl and the kinds of workloads, in every installed version: nothing runs them, a test plays the controllers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Kubectl, Running, eventually, every_kubectl};
use serde_json::{Value, json};

const STATUS: [(&str, &str); 1] = [("Content-Type", "application/merge-patch+json")];

/// Sets the status of an object, as its controller would.
fn set_status(kubectl: &Kubectl, path: &str, status: &Value) {
    let body = json!({"status": status}).to_string();
    let path = format!("{path}/status");
    kubectl.server.api().raw_with("PATCH", &path, &STATUS, Some(&body)).unwrap().ok();
}

#[test]
fn deployments_are_created_exposed_scaled_and_rolled_out() {
    every_kubectl(|kubectl| {
        kubectl.ok(&["create", "deployment", "web", "--image=nginx:1.27"]);
        kubectl.ok(&["expose", "deployment", "web", "--port=80", "--target-port=8080"]);
        let service = kubectl.get(&["service", "web"]);
        assert!(service["spec"]["clusterIP"].as_str().unwrap().starts_with("10.0.0."), "{service}");
        kubectl.ok(&["scale", "deployment/web", "--replicas=3"]);
        kubectl.ok(&["set", "image", "deployment/web", "nginx=nginx:1.28"]);
        kubectl.ok(&["autoscale", "deployment", "web", "--max=5", "--cpu-percent=70"]);
        let deployment = kubectl.get(&["deployment", "web"]);
        assert_eq!(deployment["spec"]["replicas"], 3);
        assert_eq!(deployment["metadata"]["generation"], 3);
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:1.28");
        let path = "/apis/apps/v1/namespaces/default/deployments/web";
        let status = json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True"}],
        });
        set_status(kubectl, path, &status);
        let rollout = kubectl.ok(&["rollout", "status", "deployment/web", "--timeout=10s"]);
        assert!(rollout.contains("successfully rolled out"), "{rollout}");
        let all = kubectl.ok(&["get", "all", "--no-headers"]);
        for name in ["deployment.apps/web", "service/web", "horizontalpodautoscaler.autoscaling/web"] {
            assert!(all.contains(name), "{name} in {all}");
        }
        let described = kubectl.ok(&["describe", "deployment", "web"]);
        assert!(described.contains("3 desired | 3 updated | 3 total | 3 available"), "{described}");
    });
}

#[test]
fn pods_run_nodes_are_drained() {
    every_kubectl(|kubectl| {
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        kubectl.feed(&["create", "-f", "-"], &node.to_string());
        kubectl.ok(&["run", "web", "--image=nginx:1.27", "--labels=app=web"]);
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"},
        });
        let api = kubectl.server.api();
        api.send("POST", "/api/v1/namespaces/default/pods/web/binding", Some(&binding)).ok();
        let path = "/api/v1/namespaces/default/pods/web";
        set_status(
            kubectl,
            path,
            &json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
        );
        kubectl.ok(&["label", "node", "n1", "disk=ssd"]);
        kubectl.ok(&["taint", "nodes", "n1", "dedicated=db:NoSchedule"]);
        kubectl.ok(&["cordon", "n1"]);
        let nodes = kubectl.ok(&["get", "nodes", "--no-headers"]);
        assert!(nodes.contains("Ready,SchedulingDisabled"), "{nodes}");
        let described = kubectl.ok(&["describe", "pod", "web"]);
        assert!(described.contains("n1"), "{described}");
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        });
        api.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", &budget);
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}});
        let eviction_path = format!("{path}/eviction");
        let refused = api.send("POST", &eviction_path, Some(&eviction));
        assert_eq!(refused.status, 429);
        let allowed = json!({"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2,
            "desiredHealthy": 1, "expectedPods": 2});
        set_status(kubectl, "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", &allowed);
        api.send("POST", &eviction_path, Some(&eviction)).ok();
        let pod = kubectl.get(&["pod", "web"]);
        assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30);
        assert!(kubectl.ok(&["get", "pods", "--no-headers"]).contains("Terminating"));
        assert!(!kubectl.run(&["top", "pods"]).success, "there are no metrics");
    });
}

#[test]
fn a_manifest_of_several_kinds_is_applied_compared_and_explained() {
    every_kubectl(|kubectl| {
        let manifest = |replicas: i64| {
            let labels = json!({"app": "shop"});
            let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [
                {"name": "web", "image": "nginx:1.27", "ports": [{"containerPort": 80}],
                 "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}}},
            ]}});
            json!({"apiVersion": "v1", "kind": "List", "items": [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}, "data": {"a": "b"}},
                {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"},
                 "spec": {"selector": labels, "ports": [{"port": 80}]}},
                {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"},
                 "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}},
                {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "shop-migrate"},
                 "spec": {"template": {"spec": {"restartPolicy": "Never",
                    "containers": [{"name": "migrate", "image": "busybox:1"}]}}}},
                {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"},
                 "spec": {"defaultBackend": {"service": {"name": "shop", "port": {"number": 80}}}}},
                {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "shop"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
            ]})
            .to_string()
        };
        let applied = kubectl.feed(&["apply", "-f", "-"], &manifest(1));
        assert_eq!(applied.lines().filter(|line| line.ends_with(" created")).count(), 6, "{applied}");
        let again = kubectl.feed(&["apply", "-f", "-"], &manifest(1));
        assert_eq!(again.lines().filter(|line| line.ends_with(" created")).count(), 0, "{again}");
        assert!(again.contains("configmap/shop unchanged"), "{again}");
        let differs = kubectl.run_with(&["diff", "-f", "-"], &manifest(2), "false");
        assert!(differs.stdout.contains("replicas: 2"), "{differs:?}");
        let explained = kubectl.ok(&["explain", "deployment.spec"]);
        assert!(explained.contains("minReadySeconds"), "{explained}");
        for kind in ["service", "deployment", "job", "ingress", "persistentvolumeclaim"] {
            assert!(kubectl.ok(&["describe", kind]).contains("shop"), "{kind}");
        }
    });
}

/// Kinds that older versions of kubectl describe in beta versions, and the first one that does not.
const DESCRIBED_SINCE: [(&str, u32); 6] = [
    ("CronJob", 21),
    ("EndpointSlice", 21),
    ("PodDisruptionBudget", 21),
    ("IPAddress", 33),
    ("ServiceCIDR", 33),
    ("VolumeAttributesClass", 34),
];

#[test]
fn every_kind_is_applied_and_described() {
    let manifest = include_str!("../manifests/every-kind.yaml");
    every_kubectl(|kubectl| {
        let applied = kubectl.feed(&["apply", "-f", "-"], manifest);
        let documents = manifest.split("\n---\n");
        assert_eq!(applied.lines().count(), documents.clone().count(), "{applied}");
        for document in documents {
            let after = |label: &str| {
                let rest = document.split_once(label).map(|(_, rest)| rest).unwrap_or_default();
                rest.split([',', '}', '\n']).next().unwrap_or_default()
            };
            let (kind, name) = (after("\nkind: "), after("metadata: {name: "));
            if DESCRIBED_SINCE.iter().any(|(beta, since)| *beta == kind && kubectl.minor < *since) {
                continue;
            }
            let described = kubectl.ok(&["describe", kind, name]);
            assert!(described.contains(name), "{kind}: {described}");
        }
    });
}

#[test]
fn pods_get_the_token_of_their_service_account_where_the_plugin_is_on() {
    let server = Running::start(&["--in-memory", "--enable-admission-plugins=ServiceAccount"]);
    let api = server.api();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str, account: Option<&str>| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "serviceAccountName": account, "containers": [{"name": "web", "image": "nginx:1.27"}],
        }})
    };
    let made = eventually("the account of the namespace", || {
        let made = api.send("POST", pods, Some(&pod("a", None)));
        (made.status == 201).then(|| made.ok())
    });
    assert_eq!(made["spec"]["serviceAccountName"], "default");
    let mount = &made["spec"]["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
    let volume = &made["spec"]["volumes"][0];
    assert_eq!(
        (&volume["name"], &volume["projected"]["sources"][0]["serviceAccountToken"]["path"]),
        (&mount["name"], &json!("token"))
    );
    let refused = api.send("POST", pods, Some(&pod("b", Some("absent"))));
    assert_eq!(refused.status, 403);
    let message = "pods \"b\" is forbidden: error looking up service account default/absent: serviceaccount \"absent\" not found";
    assert_eq!(refused.body["message"], message);
    // The Service of the API server has the first address.
    let own = api.get("/api/v1/namespaces/default/services/kubernetes").ok();
    assert_eq!(own["spec"]["clusterIP"], "10.0.0.1");
}
