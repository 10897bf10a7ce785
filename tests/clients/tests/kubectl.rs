//! kubectl, in every installed version.
//!
//! Each scenario runs once per kubectl, with a new server.

use pleach_clients::{Kubectl, eventually, every_kubectl, manifest};
use serde_json::json;

/// The CRD, established and discovered.
fn plant(kubectl: &Kubectl) {
    kubectl.ok(&["create", "-f", &manifest("gardens.yaml")]);
    let wait = ["wait", "--for=condition=Established", "crd/gardens.pleach.example.com", "--timeout=20s"];
    kubectl.prints(
        &wait,
        &["customresourcedefinition.apiextensions.k8s.io/gardens.pleach.example.com condition met"],
    );
}

fn garden(name: &str, hedges: i64) -> String {
    json!({
        "apiVersion": "pleach.example.com/v1", "kind": "Garden",
        "metadata": {"name": name}, "spec": {"hedges": hedges},
    })
    .to_string()
}

#[test]
fn discovery() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        let versions = kubectl.ok(&["api-versions"]);
        for version in ["apiextensions.k8s.io/v1", "coordination.k8s.io/v1", "pleach.example.com/v1", "v1"] {
            assert!(versions.lines().any(|line| line == version), "{version} in {versions}");
        }
        kubectl.prints(
            &["api-resources", "--api-group=pleach.example.com", "--no-headers", "-o", "name"],
            &["gardens.pleach.example.com"],
        );
        let wide =
            kubectl.ok(&["api-resources", "--api-group=pleach.example.com", "--no-headers", "-o", "wide"]);
        let words: Vec<&str> = wide.split_whitespace().collect();
        assert_eq!(words[..5], ["gardens", "gd", "pleach.example.com/v1", "true", "Garden"]);
        assert!(wide.contains("deletecollection") && wide.contains("watch"), "{wide}");
        kubectl.prints(
            &["get", "ns", "-o", "name"],
            &[
                "namespace/default",
                "namespace/kube-node-lease",
                "namespace/kube-public",
                "namespace/kube-system",
            ],
        );
        assert!(kubectl.ok(&["version"]).contains("v1.36"), "the server's version");
        assert_eq!(kubectl.ok(&["get", "--raw", "/readyz"]), "ok");
    });
}

#[test]
fn auth_can_i() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        assert_eq!(kubectl.ok(&["auth", "can-i", "create", "gardens"]).trim(), "yes");
        assert_eq!(kubectl.ok(&["auth", "can-i", "*", "*", "--all-namespaces"]).trim(), "yes");
        if kubectl.minor >= 28 {
            let me = kubectl.ok(&["auth", "whoami", "-o", "json"]);
            assert!(me.contains("system:masters"), "{me}");
        }
    });
}

#[test]
fn tokens_of_service_accounts() {
    every_kubectl(|kubectl| {
        if kubectl.minor < 28 {
            return;
        }
        kubectl.ok(&["create", "serviceaccount", "robot"]);
        let token = kubectl.ok(&[
            "create",
            "token",
            "robot",
            "--duration",
            "10m",
            "--audience",
            "a",
            "--audience",
            "b",
        ]);
        assert_eq!(token.trim().split('.').count(), 3, "{token}");
        kubectl.ok(&["create", "role", "reader", "--verb=get,list", "--resource=configmaps"]);
        kubectl.ok(&["create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:robot"]);
        let token = kubectl.ok(&["create", "token", "robot"]);
        // A kubeconfig with the token alone: the admin's has a certificate, which would come first.
        let config = kubectl.ok(&["config", "view", "--raw", "-o", "json"]);
        let mut config: serde_json::Value = serde_json::from_str(&config).expect("kubectl prints JSON");
        config["users"][0]["user"] = json!({"token": token.trim()});
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let path = home.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).expect("a file can be written");
        let as_robot = |arguments: &[&str]| {
            let mut all = vec!["--kubeconfig", path.to_str().expect("a path of ours is text")];
            all.extend_from_slice(arguments);
            kubectl.run(&all)
        };
        let me = as_robot(&["auth", "whoami", "-o", "json"]);
        assert!(me.stdout.contains("system:serviceaccount:default:robot"), "{me:?}");
        assert_eq!(as_robot(&["auth", "can-i", "list", "configmaps"]).stdout.trim(), "yes");
        assert_eq!(as_robot(&["auth", "can-i", "list", "secrets"]).stdout.trim(), "no");
        let list = as_robot(&["auth", "can-i", "--list"]);
        assert!(
            list.stdout.lines().any(|line| line.starts_with("configmaps ") && line.contains("[get list]")),
            "{list:?}"
        );
        assert!(as_robot(&["get", "configmaps"]).success);
        assert!(as_robot(&["get", "secrets"]).stderr.contains("cannot list resource \"secrets\""));
        kubectl.ok(&["delete", "serviceaccount", "robot"]);
        let ended = as_robot(&["get", "configmaps"]);
        assert!(!ended.success && ended.stderr.contains("Unauthorized"), "{ended:?}");
    });
}

#[test]
fn create_get_and_print() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        assert_eq!(
            kubectl.feed(&["create", "-f", "-"], &garden("kew", 3)).trim(),
            "garden.pleach.example.com/kew created"
        );
        let again = kubectl.fails(&["create", "-f", "-"], &garden("kew", 3));
        assert!(
            again.contains("(AlreadyExists)")
                && again.contains(r#"gardens.pleach.example.com "kew" already exists"#),
            "{again}"
        );
        kubectl.prints(&["get", "gd", "-o", "name"], &["garden.pleach.example.com/kew"]);
        kubectl.prints(&["get", "green", "-o", "name"], &["garden.pleach.example.com/kew"]);
        let columns = "custom-columns=NAME:.metadata.name,HEDGES:.spec.hedges,STYLE:.spec.style";
        kubectl.prints(&["get", "gd", "-o", columns], &["NAME HEDGES STYLE", "kew 3 formal"]);
        kubectl.prints(&["get", "gd", "kew", "-o", "jsonpath={.spec.style}"], &["formal"]);

        let table = kubectl.ok(&["get", "garden", "kew"]);
        let (head, row) = table.split_once('\n').expect("two lines");
        assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["NAME", "HEDGES", "AGE"]);
        assert!(row.starts_with("kew    3        "), "{row:?}");
        let wide = kubectl.ok(&["get", "gardens", "-o", "wide"]);
        assert!(wide.starts_with("NAME   HEDGES   STYLE    AGE\nkew    3        formal   "), "{wide:?}");
        let all = kubectl.ok(&["get", "gd", "-A", "--show-labels"]);
        assert!(all.starts_with("NAMESPACE   NAME   HEDGES   AGE") && all.contains("<none>"), "{all:?}");

        let yaml = kubectl.ok(&["get", "gd", "kew", "-o", "yaml"]);
        for line in ["kind: Garden", "  name: kew", "  namespace: default", "  hedges: 3", "  style: formal"]
        {
            assert!(yaml.lines().any(|found| found == line), "{line:?} in {yaml}");
        }
        let object = kubectl.get(&["gd", "kew"]);
        assert_eq!(object["spec"], json!({"hedges": 3, "style": "formal"}));
        assert_eq!(object["metadata"]["generation"], 1);
        let described = kubectl.ok(&["describe", "gd", "kew"]);
        assert!(described.starts_with("Name:         kew\nNamespace:    default\n"), "{described}");
        assert!(described.contains("  Hedges:") && described.contains("Events:"), "{described}");

        let missing = kubectl.fails(&["get", "gd", "hampton"], "");
        assert_eq!(
            missing.trim(),
            r#"Error from server (NotFound): gardens.pleach.example.com "hampton" not found"#
        );
        let unknown = kubectl.fails(&["get", "hedgehogs"], "");
        assert!(unknown.contains(r#"the server doesn't have a resource type "hedgehogs""#), "{unknown}");
    });
}

#[test]
fn invalid_objects() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        let cases = [
            ("too many", json!({"hedges": 51}), "spec.hedges in body should be less than or equal to 50"),
            ("wrong type", json!({"hedges": "a lot"}), "hedges"),
            (
                "not in the enum",
                json!({"hedges": 1, "style": "tidy"}),
                r#"Unsupported value: "tidy": supported values: "formal", "wild""#,
            ),
            ("a rule", json!({"hedges": 11, "style": "wild"}), "a wild garden has ten hedges at most"),
            ("required", json!({}), "spec.hedges: Required value"),
        ];
        for (why, spec, complaint) in cases {
            let object = json!({
                "apiVersion": "pleach.example.com/v1", "kind": "Garden",
                "metadata": {"name": "bad"}, "spec": spec,
            });
            let said = kubectl.fails(&["create", "--validate=false", "-f", "-"], &object.to_string());
            assert!(said.contains(complaint), "1.{} {why}: {said}", kubectl.minor);
        }
        let said = kubectl.fails(&["create", "--validate=false", "-f", "-"], &garden("Not_A_Name", 1));
        assert!(said.contains("a lowercase RFC 1123 subdomain must consist of"), "{said}");
        let said =
            kubectl.fails(&["create", "-n", "nowhere", "--validate=false", "-f", "-"], &garden("kew", 1));
        assert!(said.contains(r#"namespaces "nowhere" not found"#), "{said}");
        kubectl.prints(&["get", "gd", "-o", "name"], &[]);
    });
}

#[test]
fn client_side_apply() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        let apply = ["apply", "-f", "-"];
        assert!(kubectl.feed(&apply, &garden("kew", 3)).contains("garden.pleach.example.com/kew created"));
        assert!(kubectl.feed(&apply, &garden("kew", 3)).contains("kew unchanged"));
        assert!(kubectl.feed(&apply, &garden("kew", 4)).contains("kew configured"));
        let object = kubectl.get(&["gd", "kew"]);
        assert_eq!(object["spec"]["hedges"], 4);
        assert_eq!(object["metadata"]["generation"], 2);
        let annotation =
            &object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
        assert!(annotation.as_str().is_some_and(|text| text.contains(r#""hedges":4"#)), "{annotation}");
        // Built-in kinds are patched by strategic merge.
        let map = |data: serde_json::Value| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tools"}, "data": data})
                .to_string()
        };
        kubectl.feed(&apply, &map(json!({"spade": "1", "rake": "1"})));
        assert!(kubectl.feed(&apply, &map(json!({"spade": "2"}))).contains("configmap/tools configured"));
        assert_eq!(kubectl.get(&["cm", "tools"])["data"], json!({"spade": "2"}));
    });
}

#[test]
fn server_side_apply() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        let apply = |manager: &str, hedges: i64| {
            let manager = format!("--field-manager={manager}");
            kubectl.run_with(
                &["apply", "--server-side", &manager, "-f", "-"],
                &garden("kew", hedges),
                "false",
            )
        };
        let first = apply("ann", 3);
        assert!(first.stdout.contains("kew serverside-applied"), "{first:?}");
        let same = apply("bob", 3);
        assert!(same.success, "equal values do not conflict: {same:?}");
        let conflict = apply("bob", 5);
        assert!(!conflict.success && conflict.stderr.contains(r#"conflict with "ann""#), "{conflict:?}");
        assert!(conflict.stderr.contains(".spec.hedges"), "{conflict:?}");
        let force = ["apply", "--server-side", "--force-conflicts", "--field-manager=bob", "-f", "-"];
        kubectl.feed(&force, &garden("kew", 5));
        assert_eq!(kubectl.get(&["gd", "kew"])["spec"]["hedges"], 5);
        let lost = apply("ann", 6);
        assert!(!lost.success && lost.stderr.contains(r#"conflict with "bob""#), "{lost:?}");
    });
}

#[test]
fn patch_label_annotate_and_scale() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        kubectl.feed(&["create", "-f", "-"], &garden("kew", 3));
        let merge = ["patch", "gd", "kew", "--type=merge", "-p", r#"{"spec":{"hedges":5}}"#];
        kubectl.prints(&merge, &["garden.pleach.example.com/kew patched"]);
        assert!(kubectl.ok(&merge).contains("kew patched (no change)"));
        let ops = r#"[{"op":"test","path":"/spec/hedges","value":5},{"op":"replace","path":"/spec/hedges","value":6}]"#;
        kubectl.ok(&["patch", "gd", "kew", "--type=json", "-p", ops]);
        let failed = kubectl.fails(&["patch", "gd", "kew", "--type=json", "-p", ops], "");
        assert!(failed.starts_with("The request is invalid"), "{failed}");
        let strategic = kubectl.fails(&["patch", "gd", "kew", "-p", r#"{"spec":{"hedges":7}}"#], "");
        assert!(strategic.contains("application/merge-patch+json"), "{strategic}");
        let invalid =
            kubectl.fails(&["patch", "gd", "kew", "--type=merge", "-p", r#"{"spec":{"hedges":99}}"#], "");
        assert!(
            invalid.contains(r#"The Garden "kew" is invalid: spec.hedges: Invalid value: 99"#),
            "{invalid}"
        );

        kubectl.prints(&["scale", "gd", "kew", "--replicas=4"], &["garden.pleach.example.com/kew scaled"]);
        let wrong = ["scale", "gd", "kew", "--replicas=9", "--current-replicas=1"];
        assert!(kubectl.fails(&wrong, "").contains("Expected replicas to be 1, was 4"));
        kubectl.prints(&["label", "gd", "kew", "soil=clay"], &["garden.pleach.example.com/kew labeled"]);
        let taken = kubectl.fails(&["label", "gd", "kew", "soil=sand"], "");
        assert!(taken.contains("--overwrite is false"), "{taken}");
        let bad = kubectl.fails(&["label", "gd", "kew", "soil=very bad"], "");
        assert!(bad.contains("a valid label must be an empty string or consist of"), "{bad}");
        kubectl.prints(
            &["get", "gd", "-l", "soil in (clay,loam)", "-o", "name"],
            &["garden.pleach.example.com/kew"],
        );
        kubectl.prints(&["get", "gd", "-l", "soil!=clay", "-o", "name"], &[]);
        assert!(kubectl.ok(&["annotate", "gd", "kew", "note=mild"]).contains("/kew annotate"));
        kubectl.ok(&["label", "gd", "kew", "soil-"]);
        let object = kubectl.get(&["gd", "kew"]);
        assert_eq!(object["spec"], json!({"hedges": 6, "replicas": 4, "style": "formal"}));
        assert_eq!(object["metadata"]["annotations"]["note"], "mild");
        assert_eq!(object["metadata"]["labels"], serde_json::Value::Null);
        assert_eq!(object["metadata"]["generation"], 4, "two patches and a scale");

        let stale = object["metadata"]["resourceVersion"].clone();
        kubectl.ok(&["annotate", "--overwrite", "gd", "kew", "note=cold"]);
        let mut old = object;
        old["metadata"]["resourceVersion"] = stale;
        old["spec"]["hedges"] = json!(7);
        let conflict = kubectl.fails(&["replace", "-f", "-"], &old.to_string());
        assert!(
            conflict
                .contains("the object has been modified; please apply your changes to the latest version")
        );
    });
}

#[test]
fn edit() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        kubectl.feed(&["create", "-f", "-"], &garden("kew", 3));
        let editor = kubectl.server.home().join("editor.sh");
        let write = |script: &str| {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(&editor, format!("#!/bin/sh\n{script}\n")).expect("a script is written");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&editor, mode).expect("a script is made to run");
        };
        let run = || kubectl.run_with(&["edit", "gd", "kew"], "", editor.to_str().expect("it is text"));
        write(r#"sed -i 's/^  hedges: .*/  hedges: 8/' "$1""#);
        let edited = run();
        assert!(
            edited.success && edited.stdout.contains("garden.pleach.example.com/kew edited"),
            "{edited:?}"
        );
        assert_eq!(kubectl.get(&["gd", "kew"])["spec"]["hedges"], 8);
        write("true");
        let unchanged = run();
        let said = unchanged.stdout + &unchanged.stderr;
        assert!(said.contains("no changes made") || said.contains("cancelled"), "{said}");
        // The first attempt is refused and shown again with the reason; the second gives up.
        write(
            r#"grep -q 'less than or equal to 50' "$1" && exit 0; sed -i 's/^  hedges: .*/  hedges: 88/' "$1""#,
        );
        let refused = run();
        assert!(!refused.success, "{refused:?}");
        assert_eq!(kubectl.get(&["gd", "kew"])["spec"]["hedges"], 8);
    });
}

#[test]
fn delete_and_wait() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        for name in ["kew", "wisley", "hidcote"] {
            kubectl.feed(&["create", "-f", "-"], &garden(name, 1));
        }
        let deleted = kubectl.ok(&["delete", "gd", "kew"]);
        assert!(deleted.starts_with(r#"garden.pleach.example.com "kew" deleted"#), "{deleted}");
        kubectl.prints(&["delete", "gd", "kew", "--ignore-not-found"], &[]);
        let gone = kubectl.fails(&["delete", "gd", "kew"], "");
        assert!(gone.contains("(NotFound)"), "{gone}");

        // A finalizer keeps an object, and waiting for its deletion times out.
        kubectl.ok(&[
            "patch",
            "gd",
            "wisley",
            "--type=merge",
            "-p",
            r#"{"metadata":{"finalizers":["pleach.example.com/gate"]}}"#,
        ]);
        kubectl.ok(&["delete", "gd", "wisley", "--wait=false"]);
        let waited = kubectl.fails(&["wait", "--for=delete", "gd/wisley", "--timeout=1s"], "");
        assert!(waited.contains("timed out"), "{waited}");
        assert_ne!(kubectl.get(&["gd", "wisley"])["metadata"]["deletionTimestamp"], serde_json::Value::Null);
        kubectl.ok(&["patch", "gd", "wisley", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
        assert!(kubectl.fails(&["get", "gd", "wisley"], "").contains("(NotFound)"));

        kubectl.ok(&["delete", "gd", "--all"]);
        kubectl.prints(&["get", "gd", "-o", "name"], &[]);
        kubectl.feed(&["create", "-f", "-"], &garden("last", 1));
        kubectl.ok(&["delete", "-f", &manifest("gardens.yaml")]);
        eventually("the kind is gone", || (!kubectl.run(&["get", "gd"]).success).then_some(()));
    });
}

#[test]
fn watch() {
    every_kubectl(|kubectl| {
        plant(kubectl);
        kubectl.feed(&["create", "-f", "-"], &garden("kew", 1));
        std::thread::scope(|scope| {
            let watching =
                scope.spawn(|| kubectl.run(&["get", "gd", "-w", "--request-timeout=6s", "-o", "name"]));
            std::thread::sleep(std::time::Duration::from_secs(2));
            kubectl.feed(&["create", "-f", "-"], &garden("wisley", 1));
            kubectl.ok(&["delete", "gd", "kew"]);
            let seen = watching.join().expect("kubectl does not panic").stdout;
            let expected = ["kew", "wisley", "kew"].map(|name| format!("garden.pleach.example.com/{name}"));
            assert_eq!(seen.lines().collect::<Vec<_>>(), expected, "1.{}", kubectl.minor);
        });
    });
}

#[test]
fn built_in_kinds() {
    every_kubectl(|kubectl| {
        kubectl.prints(&["create", "ns", "walled"], &["namespace/walled created"]);
        kubectl.prints(
            &["create", "cm", "tools", "-n", "walled", "--from-literal=spade=1"],
            &["configmap/tools created"],
        );
        kubectl.ok(&["create", "secret", "generic", "key", "-n", "walled", "--from-literal=gate=open"]);
        kubectl.ok(&["create", "sa", "gardener", "-n", "walled"]);
        assert_eq!(kubectl.get(&["secret", "key", "-n", "walled"])["data"]["gate"], "b3Blbg==");
        let table = kubectl.ok(&["get", "cm", "tools", "-n", "walled"]);
        assert!(table.starts_with("NAME ") && table.contains("\ntools "), "{table:?}");
        let table = kubectl.ok(&["get", "secret", "key", "-n", "walled"]);
        assert!(table.starts_with("NAME   TYPE ") && table.contains("\nkey    Opaque "), "{table:?}");
        kubectl.ok(&["describe", "ns", "walled"]);
        kubectl.ok(&["describe", "cm", "tools", "-n", "walled"]);
        kubectl.ok(&["get", "events", "-A"]);
        kubectl.ok(&["get", "leases", "-A"]);
        kubectl.ok(&["delete", "ns", "walled", "--timeout=30s"]);
        assert!(kubectl.fails(&["get", "cm", "tools", "-n", "walled"], "").contains("NotFound"));
        let kept = kubectl.fails(&["delete", "ns", "default"], "");
        assert!(kept.contains("this namespace may not be deleted"), "{kept}");
    });
}
