//! A CRD that is changed while faults happen: objects that its new schema refuses are admitted by no server from the answer
//! to the change on.

use std::sync::Mutex;
use std::time::Duration;

use pleach_clients::definition as custom_resource_definition;
use serde_json::{Value, json};

use super::cluster::{Cluster, SERVERS};
use super::{COLLECTIONS, DEFINITIONS};

/// The pause between changes.
const PAUSE: Duration = Duration::from_millis(500);

/// The changes, and the answers to objects of an older epoch.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    changes: u64,
    refused: u64,
    violations: Vec<String>,
}

/// The CRD, whose objects have this epoch at least, if any.
pub(crate) fn definition(epoch: u64) -> Value {
    let properties = json!({
        "value": {"type": "string"}, "epoch": {"type": "integer", "minimum": epoch},
    });
    let data = json!({"data": {"type": "object", "properties": properties}});
    custom_resource_definition("registers", "Register", data)
}

impl Schemas {
    /// Changes the CRD until the run is over.
    pub(crate) fn change(&self, cluster: &Cluster) {
        let path = format!("{DEFINITIONS}/registers.example.com");
        let mut epoch = 0;
        while !cluster.is_over() {
            std::thread::sleep(PAUSE);
            // A change of unknown outcome is followed by the next.
            epoch += 1;
            let versions = definition(epoch)["spec"]["versions"].clone();
            let patch = json!({"spec": {"versions": versions}});
            let server = cluster.random(SERVERS as u64) as usize;
            let Some((200, _)) = cluster.send(server, "PATCH", &path, Some(&patch)) else { continue };
            self.0.lock().unwrap().changes += 1;
            for server in 0..SERVERS {
                self.try_older(cluster, server, epoch);
            }
        }
    }

    /// Tries to create an object of the epoch before.
    fn try_older(&self, cluster: &Cluster, server: usize, epoch: u64) {
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Register",
            "metadata": {"name": format!("epoch-{epoch}-{server}")}, "data": {"epoch": epoch - 1},
        });
        let answer = cluster.send(server, "POST", COLLECTIONS[1], Some(&object));
        let mut seen = self.0.lock().unwrap();
        match answer {
            Some((422, _)) => seen.refused += 1,
            Some((201, _)) => {
                seen.violations
                    .push(format!("an object of epoch {} was admitted in epoch {epoch}", epoch - 1));
            }
            _ => {}
        }
    }

    pub(crate) fn changes(&self) -> u64 {
        self.0.lock().unwrap().changes
    }

    pub(crate) fn refused(&self) -> u64 {
        self.0.lock().unwrap().refused
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.0.lock().unwrap().violations.clone()
    }
}
