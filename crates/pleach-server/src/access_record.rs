//! A record of what users did, for `pleach rbac learn`: every access once, as audit events in a file.
//!
//! Unlike an audit log it needs no policy and does not grow with the number of requests. Members of `system:masters`
//! are left out, since they need no roles.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pleach_auth::Attributes;
use pleach_auth::user::MASTERS;
use pleach_json::{Map, json, to_vec};

/// Names of objects that are recorded for an access; beyond them it counts as one to any object.
const NAMES: usize = 100;
/// Accesses that are recorded.
const ACCESSES: usize = 100_000;
/// The bytes of their texts, which are kept to tell them apart.
const BYTES: usize = 32 << 20;
/// The longest text of an access that is kept; nothing that roles can grant is longer.
const LONGEST: usize = 512;

/// Writes each access once.
pub struct AccessRecord(Mutex<State>);

struct State {
    file: File,
    /// The names of objects by access; `None` once there were too many.
    seen: HashMap<Access, Option<HashSet<String>>>,
    /// The bytes of texts in `seen`.
    bytes: usize,
    has_failed: bool,
}

/// A verb on a resource or a path.
#[derive(PartialEq, Eq, Hash)]
struct Access {
    user: String,
    verb: String,
    /// Group, resource, subresource and namespace; or the path alone.
    target: [String; 4],
    is_resource: bool,
    is_allowed: bool,
}

impl AccessRecord {
    /// Appends to a file, which only its owner can read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(Self(Mutex::new(State { file, seen: HashMap::new(), bytes: 0, has_failed: false })))
    }

    /// Records a request that was authorized, or was not.
    pub fn record(&self, attributes: &Attributes<'_>, is_allowed: bool) {
        if attributes.user.is_in(MASTERS) {
            return;
        }
        let owned = |text: &str| text[..text.floor_char_boundary(LONGEST)].to_owned();
        let (target, name) = match &attributes.resource {
            Some(it) => ([it.group, it.resource, it.subresource, it.namespace].map(owned), owned(&it.name)),
            None => ([attributes.path, "", "", ""].map(owned), String::new()),
        };
        let access = Access {
            user: owned(&attributes.user.name),
            verb: owned(attributes.verb.as_str()),
            target,
            is_resource: attributes.resource.is_some(),
            is_allowed,
        };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { file, seen, bytes, has_failed } = &mut *state;
        let is_full = *bytes >= BYTES;
        if !seen.contains_key(&access) {
            if is_full || seen.len() >= ACCESSES {
                return;
            }
            *bytes += access.length();
        }
        let event = event(&access, &name);
        let names = seen.entry(access).or_insert_with(|| Some(HashSet::new()));
        let Some(known) = names else { return };
        if is_full || known.contains(&name) {
            return;
        }
        *bytes += name.len();
        known.insert(name);
        let mut line = to_vec(&event);
        if known.len() > NAMES {
            *names = None;
            line = to_vec(&without_name(event));
        }
        line.push(b'\n');
        if let Err(error) = file.write_all(&line)
            && !std::mem::replace(has_failed, true)
        {
            tracing::error!(%error, "cannot write the record of accesses");
        }
    }
}

impl Access {
    fn length(&self) -> usize {
        self.user.len() + self.verb.len() + self.target.iter().map(String::len).sum::<usize>()
    }
}

/// The access as an audit event.
fn event(access: &Access, name: &str) -> pleach_json::Value {
    let [group, resource, subresource, namespace] = &access.target;
    let decision = if access.is_allowed { "allow" } else { "forbid" };
    let mut event = Map::new();
    event.insert("kind", "Event");
    event.insert("apiVersion", "audit.k8s.io/v1");
    event.insert("level", "Metadata");
    event.insert("stage", "ResponseComplete");
    event.insert("verb", access.verb.as_str());
    event.insert("user", json!({"username": (access.user.as_str())}));
    event.insert("annotations", json!({"authorization.k8s.io/decision": (decision)}));
    if access.is_resource {
        let mut reference = Map::new();
        for (key, value) in [
            ("apiGroup", group.as_str()),
            ("resource", resource),
            ("subresource", subresource),
            ("namespace", namespace),
            ("name", name),
        ] {
            if !value.is_empty() {
                reference.insert(key, value);
            }
        }
        event.insert("objectRef", reference);
    } else {
        event.insert("requestURI", group.as_str());
    }
    event.into()
}

fn without_name(mut event: pleach_json::Value) -> pleach_json::Value {
    if let Some(reference) = event.get_mut("objectRef").and_then(pleach_json::Value::as_object_mut) {
        reference.remove("name");
    }
    event
}

#[cfg(test)]
mod tests {
    use pleach_auth::{ResourceAttributes, UserInfo, Verb};

    use super::*;

    #[test]
    fn each_access_is_written_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("access");
        let record = AccessRecord::open(&path).unwrap();
        let user = UserInfo::authenticated("ann", []);
        let get = |name: &str| {
            let name = name.to_owned();
            let resource =
                ResourceAttributes { resource: "foos", name: name.into(), ..ResourceAttributes::default() };
            Attributes { user: user.clone(), verb: Verb::Get, path: "", resource: Some(resource) }
        };
        for _ in 0..3 {
            record.record(&get("a"), true);
            record.record(&get("b"), false);
        }
        let path_only = Attributes { user: user.clone(), verb: Verb::Get, path: "/metrics", resource: None };
        record.record(&path_only, true);
        let admin = UserInfo::authenticated("admin", [MASTERS.into()]);
        record.record(&Attributes { user: admin, ..path_only }, true);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("\"decision\":\"forbid\"") || text.contains("decision\":\"forbid"), "{text}");
        assert!(text.contains("\"requestURI\":\"/metrics\""), "{text}");
        for i in 0..500 {
            record.record(&get(&format!("x{i}")), true);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2 + NAMES + 1, "names are bounded");
        assert!(!text.lines().last().unwrap().contains("\"name\""), "the last line is of any object");
    }
    #[test]
    fn long_paths_are_shortened_and_bounded() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("access");
        let record = AccessRecord::open(&file).unwrap();
        let user = UserInfo::authenticated("ann", []);
        let visit = |path: &str| {
            record.record(&Attributes { user: user.clone(), verb: Verb::Get, path, resource: None }, false);
        };
        let long = "ä".repeat(30_000);
        visit(&format!("/{long}"));
        visit(&format!("/{long}/more"));
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(text.len() < 1_000, "{}", text.len());
        record.0.lock().unwrap().bytes = BYTES - 100;
        for i in 0..10 {
            visit(&format!("/{i}/{long}"));
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    }
}
