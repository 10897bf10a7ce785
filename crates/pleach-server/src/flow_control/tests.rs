use pleach_auth::{ResourceAttributes, UserInfo, Verb};
use pleach_json::{Str, json};

use super::*;

fn objects() -> FlowControlObjects {
    let with_uid = |(i, mut object): (usize, Value)| {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
        metadata.insert("uid", format!("uid-{i}"));
        object
    };
    FlowControlObjects {
        schemas: bootstrap::flow_schemas().enumerate().map(with_uid).collect(),
        levels: bootstrap::priority_levels().enumerate().map(with_uid).collect(),
    }
}

fn control() -> FlowControl {
    FlowControl::new(&InflightLimits::default(), &objects())
}

impl FlowControl {
    /// A request of a user.
    fn of_user(&self, user: &Arc<UserInfo>, verb: Verb, seats: usize) -> Begun {
        let resource =
            ResourceAttributes { group: "g", resource: "foos", namespace: "n", ..Default::default() };
        let attributes = Attributes { user: user.clone(), verb, path: "", resource: Some(resource) };
        self.start(&attributes, Instant::now(), |most| seats.min(most))
    }

    /// A place for a request; `None` is a 429.
    pub(crate) fn place_for(&self, user: &Arc<UserInfo>, mutating: bool) -> Option<Arc<Place>> {
        match self.of_user(user, if mutating { Verb::Create } else { Verb::Get }, 1) {
            Begun::Runs(place, _) => Some(place),
            _ => None,
        }
    }

    /// Flow control with one level that has all seats and refuses what is beyond them.
    pub(crate) fn rejecting(limits: &InflightLimits) -> Arc<Self> {
        let level = json!({
            "metadata": {"name": "catch-all"},
            "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}},
        });
        Arc::new(Self::new(limits, &FlowControlObjects { schemas: Vec::new(), levels: vec![level] }))
    }

    fn level(&self, name: &str) -> Arc<Level> {
        let config = self.config.read().unwrap();
        config.levels.iter().find(|level| level.name == name).unwrap().clone()
    }
}

fn user(name: &str) -> Arc<UserInfo> {
    UserInfo::authenticated(name, [])
}

fn account() -> Arc<UserInfo> {
    UserInfo::authenticated("system:serviceaccount:n:a", [Str::from("system:serviceaccounts")])
}

#[test]
fn the_default_levels_share_the_seats_as_upstream() {
    let control = control();
    for (name, nominal, current) in [
        ("workload-low", 245, 56),
        ("workload-high", 98, 114),
        ("node-high", 98, 170),
        ("system", 74, 117),
        ("global-default", 49, 56),
        ("leader-election", 25, 58),
        ("catch-all", 13, 30),
        ("exempt", 0, 0),
    ] {
        let level = control.level(name);
        assert_eq!((level.state().limits.nominal, level.queues().limit()), (nominal, current), "{name}");
    }
}

#[tokio::test]
async fn a_flood_leaves_others_their_turn() {
    let control = control();
    let (flood, other) = (user("flood"), user("other"));
    let (mut running, mut waiting, mut refused) = (Vec::new(), Vec::new(), 0);
    for _ in 0..1000 {
        match control.of_user(&flood, Verb::List, 1) {
            Begun::Runs(place, _) => running.push(place),
            Begun::Waits(request, _) => waiting.push(request),
            Begun::Refused(retry_after, _) => {
                assert_eq!(retry_after, 1);
                refused += 1;
            }
            Begun::Unlimited => panic!("a list is limited"),
        }
    }
    assert_eq!((running.len(), waiting.len(), refused), (56, 300, 644), "its seats, and six queues of fifty");
    // Another user of the same level is next; one of another level does not even wait.
    let Begun::Waits(request, _) = control.of_user(&other, Verb::List, 1) else {
        panic!("the seats are taken")
    };
    assert!(control.place_for(&account(), false).is_some());
    running.pop();
    let place = request.wait(Duration::from_mins(10)).await;
    assert!(place.is_some(), "it is the next that starts");
    assert!(waiting.iter().all(|request| !request.slot.is_granted()));
    drop((running, waiting, place));
    let level = control.level("global-default");
    let left = level.queues();
    assert_eq!((left.executing(), left.waiting()), (0, 0));
    drop(left);
    let mut metrics = String::new();
    control.write_metrics(&mut metrics);
    let labels = "flow_schema=\"global-default\",priority_level=\"global-default\"";
    for line in [
        format!("apiserver_flowcontrol_dispatched_requests_total{{{labels}}} 357"),
        format!("apiserver_flowcontrol_rejected_requests_total{{{labels},reason=\"queue-full\"}} 644"),
        format!("apiserver_flowcontrol_request_execution_seconds_count{{{labels}}} 57"),
        "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"workload-low\"} 245".to_owned(),
        "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 0".to_owned(),
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} in {metrics}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_wait_no_longer_than_they_may() {
    let control = control();
    let flood = user("flood");
    let mut running = Vec::new();
    let waiting = loop {
        match control.of_user(&flood, Verb::Get, 1) {
            Begun::Runs(place, _) => running.push(place),
            Begun::Waits(waiting, _) => break waiting,
            _ => panic!("there is room to wait"),
        }
    };
    assert!(waiting.wait(Duration::from_secs(15)).await.is_none());
    let level = control.level("global-default");
    assert_eq!(level.queues().waiting(), 0);
    let timeouts =
        level.queues().flows.iter().filter_map(|flow| flow.refusals().last()).map(|(_, n)| n).sum::<u64>();
    assert_eq!(timeouts, 1);
}

#[test]
fn levels_lend_what_they_do_not_use() {
    let control = control();
    let (busy, mut held) = (user("busy"), Vec::new());
    for _ in 0..400 {
        held.push(control.of_user(&busy, Verb::Get, 1));
    }
    let level = control.level("global-default");
    assert_eq!(level.queues().executing(), 56);
    let later = Instant::now() + Duration::from_mins(10);
    adjust(&mut control.config.write().unwrap(), later);
    let executing = level.queues().executing();
    assert!(executing > 200, "it has borrowed, and requests that waited were started: {executing}");
    let others: usize =
        ["workload-low", "workload-high", "system", "node-high", "leader-election", "catch-all"]
            .iter()
            .map(|name| {
                let level = control.level(name);
                let (limit, least) = (level.queues().limit(), level.state().limits.min);
                assert!(limit >= least, "{name}: {limit} of {least}");
                limit
            })
            .sum();
    let all = others + level.queues().limit();
    assert!((598..=606).contains(&all), "no more than there are, but for rounding: {all}");
}

#[test]
fn exempt_requests_are_bounded_only_to_protect_the_server() {
    let limits = InflightLimits { exempt_readonly: 700, exempt_mutating: 3, ..InflightLimits::default() };
    let control = FlowControl::new(&limits, &objects());
    let admin = UserInfo::authenticated("admin", [Str::from("system:masters")]);
    let reads: Vec<_> = (0..701).filter_map(|_| control.place_for(&admin, false)).collect();
    assert_eq!(reads.len(), 700);
    let writes: Vec<_> = (0..10).filter_map(|_| control.place_for(&admin, true)).collect();
    assert_eq!((writes.len(), control.mutating()), (3, 3));
    drop(writes);
    assert!(control.place_for(&admin, true).is_some());
    assert!(control.place_for(&user("u"), false).is_some(), "others have seats of their own");
}

#[test]
fn configuration_changes_count_at_once() {
    let control = control();
    let mut changed = objects();
    changed.levels.push(json!({
        "metadata": {"name": "narrow", "uid": "narrow-level"},
        "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 1, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"},
        }},
    }));
    let schema = |name: &str, level: &str, precedence: i64| {
        json!({
            "metadata": {"name": (name), "uid": (format!("{name}-schema"))},
            "spec": {
                "priorityLevelConfiguration": {"name": (level)}, "matchingPrecedence": (precedence),
                "rules": [{
                    "subjects": [{"kind": "User", "user": {"name": "u"}}],
                    "resourceRules": [{
                        "verbs": ["get"], "apiGroups": ["g"], "resources": ["foos"], "namespaces": ["n"],
                    }],
                }],
            },
        })
    };
    changed.schemas.push(schema("narrow", "narrow", 10));
    changed.schemas.push(schema("dangling", "nothing", 5));
    control.configure(&changed);
    let Begun::Runs(place, uids) = control.of_user(&user("u"), Verb::Get, 1) else {
        panic!("there are seats")
    };
    let mut headers = HeaderMap::new();
    uids.add_to(&mut headers);
    assert_eq!(headers["x-kubernetes-pf-flowschema-uid"], "narrow-schema");
    assert_eq!(headers["x-kubernetes-pf-prioritylevel-uid"], "narrow-level");
    let more: Vec<_> = (0..10).filter_map(|_| control.place_for(&user("u"), false)).collect();
    assert_eq!(more.len() + 1, 3, "its seats: 600 of 246 shares");
    assert!(control.place_for(&user("u"), true).is_some(), "a verb that the schema is not about");
    control.configure(&objects());
    assert!(control.place_for(&user("u"), false).is_some(), "the level is gone");
    drop((place, more));
}

#[test]
fn without_objects_the_mandatory_ones_count() {
    let control = FlowControl::new(&InflightLimits::default(), &FlowControlObjects::default());
    let Begun::Runs(_, uids) = control.of_user(&user("u"), Verb::Get, 1) else { panic!("there are seats") };
    assert_eq!(uids.schema, "");
    assert_eq!(control.level("catch-all").state().limits.nominal, 600);
}

#[test]
fn dumps_are_tables() {
    let control = control();
    let _place = control.place_for(&user("u"), false);
    let rows = control.dump_levels();
    assert!(
        rows.iter().any(|row| row[0] == "global-default" && row[5] == "1" && row[2] == "false"),
        "{rows:?}"
    );
}

#[test]
fn without_fairness_reads_and_writes_have_a_limit_each() {
    let limits = InflightLimits {
        readonly: 4,
        mutating: 2,
        priority_and_fairness: false,
        ..InflightLimits::default()
    };
    let control = FlowControl::new(&limits, &max_inflight::objects(&limits));
    let (a, b) = (user("a"), user("b"));
    let reads: Vec<_> = (0..10).filter_map(|_| control.place_for(&a, false)).collect();
    let writes: Vec<_> = (0..10).filter_map(|_| control.place_for(&a, true)).collect();
    assert_eq!((reads.len(), writes.len()), (4, 2));
    assert!(control.place_for(&b, false).is_none(), "whoever asks");
    let admin = UserInfo::authenticated("admin", [Str::from("system:masters")]);
    assert!(control.place_for(&admin, true).is_some());
    let Begun::Runs(_, uids) = control.of_user(&admin, Verb::Get, 1) else { panic!("there are seats") };
    let mut headers = HeaderMap::new();
    uids.add_to(&mut headers);
    assert!(headers.is_empty());
}
