//! A whole test of a kube-rs controller, in process: CRD, controller, owned object, status.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Client, CustomResource, Resource as _, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Orchard", namespaced, status = "OrchardStatus")]
struct OrchardSpec {
    trees: u32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct OrchardStatus {
    planted: u32,
}

async fn reconcile(orchard: Arc<Orchard>, client: Arc<Client>) -> kube::Result<Action> {
    let (name, apply) = (orchard.name_any(), PatchParams::apply("orchard-controller"));
    let owned = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"trees": orchard.spec.trees.to_string()},
        "metadata": {"name": name, "ownerReferences": [orchard.controller_owner_ref(&())]}});
    Api::<ConfigMap>::default_namespaced((*client).clone())
        .patch(&name, &apply, &Patch::Apply(owned))
        .await?;
    let status = json!({"status": {"planted": orchard.spec.trees}});
    Api::<Orchard>::default_namespaced((*client).clone())
        .patch_status(&name, &apply, &Patch::Merge(status))
        .await?;
    Ok(Action::await_change())
}

#[tokio::test]
async fn an_orchard_is_planted_under_conflicts() {
    let server = pleach_test::Server::start().await;
    server.install::<Orchard>().await.expect("the CRD is good");
    server.add_faults("[{match: {verbs: [patch]}, error: 409, times: 3}]").expect("the rule is good");
    let orchards: Api<Orchard> = Api::default_namespaced(server.client());
    let controller = Controller::new(orchards.clone(), watcher::Config::default()).run(
        reconcile,
        |_, _, _| Action::requeue(Duration::from_millis(1)),
        Arc::new(server.client()),
    );
    let running = tokio::spawn(controller.for_each(|_| async {}));
    let orchard = Orchard::new("apples", OrchardSpec { trees: 7 });
    orchards.create(&PostParams::default(), &orchard).await.expect("the object is valid");
    server
        .eventually(|| async {
            let found = orchards.get_status("apples").await.map_err(|error| error.to_string())?;
            found.status.filter(|status| status.planted == 7).ok_or_else(|| "no status yet".to_owned())
        })
        .await;
    server.assert_writes_at_most("orchards/status", 4);
    running.abort();
}
