//! The cost of field managers: creates, updates, applies of a 2 KB object, and long lists.
//!
//! `read, check, write` is what the same write costs without owners: reading the request, settling,
//! validating by the schema, writing the object. The others are the work on owners alone, also as a
//! multiple of that. Lists are reported in time per item, which must not grow with the list.
//!
//! Times are the best of several rounds. With `run NAME COUNT` one case is run so many times and
//! nothing is measured, for a profiler.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "what is measured must work, and is told")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use pleach_apply::{Request, Set, Tracker, Type, Versions};
use pleach_json::{Value, json};
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions};

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WIDGET: &str = include_str!("../../../bench/schema/data/widget.json");
const WIDGET_SCHEMA: &str = include_str!("../../../bench/schema/data/widget.schema.json");
const SCALE: &str = "read, check, write";

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let lists = match arguments.as_slice() {
        [_, name, _] => {
            [100, 1_000, 10_000].into_iter().filter(|n| name.contains(&format!(" {n} "))).collect()
        }
        _ => vec![100, 1_000, 10_000],
    };
    let cases = cases(&lists);
    if let [run, name, count] = arguments.as_slice()
        && run == "run"
    {
        let case = cases.iter().find(|case| case.name == *name).unwrap();
        return case.run(count.parse().unwrap());
    }
    let mut scale = None;
    for case in &cases {
        let time = case.time();
        let whole = format!("{:>10.2} µs", time.as_nanos() as f64 / 1e3);
        if case.name == SCALE {
            scale = Some(time);
        }
        match (case.items, scale) {
            (Some(items), _) => {
                println!("{:<36}{whole}{:>10} ns/item", case.name, time.as_nanos() / items as u128);
            }
            (None, Some(scale)) => {
                let ratio = time.as_secs_f64() / scale.as_secs_f64();
                println!("{:<36}{whole}{ratio:>10.2} x", case.name);
            }
            (None, None) => println!("{:<36}{whole}", case.name),
        }
    }
}

/// Something to measure. Inputs are made and results dropped outside of what is measured.
struct Case {
    name: String,
    items: Option<usize>,
    input: Value,
    work: Box<dyn Fn(Value) -> Value>,
}

impl Case {
    fn run(&self, count: usize) {
        for _ in 0..count {
            black_box((self.work)(self.input.clone()));
        }
    }

    fn round(&self, count: usize) -> Duration {
        let inputs: Vec<_> = (0..count).map(|_| self.input.clone()).collect();
        let mut outputs = Vec::with_capacity(count);
        let begin = Instant::now();
        outputs.extend(inputs.into_iter().map(&self.work));
        begin.elapsed() / u32::try_from(count).unwrap()
    }

    fn time(&self) -> Duration {
        let once = self.round(1).max(Duration::from_nanos(100));
        let count = (Duration::from_millis(2).as_nanos() / once.as_nanos()).clamp(1, 100) as usize;
        let rounds =
            (Duration::from_millis(400).as_nanos() / (once.as_nanos() * count as u128)).clamp(3, 100);
        (0..rounds).map(|_| self.round(count)).min().unwrap()
    }
}

fn cases(lists: &[usize]) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, items, input: Value, work: Box<dyn Fn(Value) -> Value>| {
        cases.push(Case { name: name.to_owned(), items, input, work });
    };
    let mut widget = pleach_json::parse(WIDGET.as_bytes()).unwrap();
    let _ = kind().0.settle(&mut widget, SettleOptions::request(Record::Unknown));
    let live = live(&widget);
    let bare = |object: &Value| {
        let mut object = object.clone();
        metadata(&mut object).remove("managedFields");
        object
    };
    let scaled = with_replicas(&live, 4);

    let (text, old) = (pleach_json::to_vec(&scaled), live.clone());
    let kind = kind();
    let check = move |_| {
        let mut new = pleach_json::parse(&text).unwrap();
        let _ = kind.0.settle(&mut new, SettleOptions::request(Record::Unknown));
        let errors = kind.0.validate_value_update(&new, &old);
        assert!(errors.is_empty());
        black_box(pleach_json::to_vec(&new));
        new
    };
    add(SCALE, None, Value::Null, Box::new(check));
    add("create", None, widget.clone(), update("creator", None));
    add("update one field", None, scaled.clone(), update("scaler", Some(&live)));
    add("update one field, own", None, scaled.clone(), update("creator", Some(&live)));
    add("update one field, owners left out", None, bare(&scaled), update("scaler", Some(&live)));
    add("update nothing", None, live.clone(), update("scaler", Some(&live)));
    add("update nothing, owners left out", None, bare(&live), update("scaler", Some(&live)));
    let applied = applied(&widget);
    let config = with_replicas(&widget, 4);
    add("apply, create", None, widget.clone(), apply("applier", None));
    add("apply one field", None, config.clone(), apply("applier", Some(&applied)));
    add("apply nothing", None, widget.clone(), apply("applier", Some(&applied)));
    add("apply, a field goes", None, without_selector(&widget), apply("applier", Some(&applied)));
    add(
        "apply one field beside another",
        None,
        json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "widget-sample"}, "spec": {"replicas": 3}}),
        apply("other", Some(&applied)),
    );

    for &items in lists {
        let (first, last) = (list(items, 0), list(items, 1));
        let live = made(&first, "creator");
        let mut new = last.clone();
        metadata(&mut new).insert("managedFields", live.at(&["metadata", "managedFields"]).unwrap().clone());
        let name = |what: &str| format!("{what}, {items} items");
        add(&name("list: create"), Some(items), first.clone(), update("creator", None));
        add(&name("list: update one"), Some(items), new, update("scaler", Some(&live)));
        add(&name("list: update nothing"), Some(items), live.clone(), update("scaler", Some(&live)));
        let applied = applied_list(&first);
        add(&name("list: apply one"), Some(items), last, apply("applier", Some(&applied)));
        add(&name("list: apply half"), Some(items), list(items / 2, 1), apply("applier", Some(&applied)));
    }
    cases
}

struct Kind(Schema);

impl Versions for Kind {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == "example.com/v1").then(|| Type::of(&self.0))
    }

    fn reset(&self, _api_version: &str) -> Option<&Set> {
        static STATUS: pleach_work::Constant<Set> =
            pleach_work::Constant::new(|| Set::of_fields(&[&["status"]]));
        Some(&STATUS)
    }
}

fn kind() -> Kind {
    Kind(Schema::from_value(&pleach_json::parse(WIDGET_SCHEMA.as_bytes()).unwrap(), SchemaOptions::default()))
}

fn request(manager: &str) -> Request<'_> {
    Request {
        manager,
        api_version: "example.com/v1",
        kind: "Widget",
        subresource: "",
        time: "2026-01-01T00:00:00Z",
    }
}

fn update(manager: &'static str, live: Option<&Value>) -> Box<dyn Fn(Value) -> Value> {
    let (kind, live) = (kind(), live.cloned());
    Box::new(move |mut new| {
        Tracker::new(&kind, request(manager)).update(live.as_ref(), &mut new);
        new
    })
}

fn apply(manager: &'static str, live: Option<&Value>) -> Box<dyn Fn(Value) -> Value> {
    let (kind, live) = (kind(), live.cloned());
    Box::new(move |config| {
        let tracker = Tracker::new(&kind, request(manager));
        tracker.apply(live.as_ref(), &config, false, &|_| {}).unwrap().object
    })
}

fn metadata(object: &mut Value) -> &mut pleach_json::Map {
    object.get_mut("metadata").and_then(Value::as_object_mut).unwrap()
}

/// As stored after a create.
fn made(object: &Value, manager: &'static str) -> Value {
    let mut object = update(manager, None)(object.clone());
    metadata(&mut object).insert("uid", "8a2f9a0c-0e5b-4a42-8b34-9d8f0a7c3e11");
    object
}

/// The endpoint of the status, which leaves nothing alone.
struct Status(Kind);

impl Versions for Status {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        self.0.type_of(api_version)
    }
}

/// Created by one, its status written by another.
fn live(widget: &Value) -> Value {
    let live = made(widget, "creator");
    let mut new = live.clone();
    new.as_object_mut().unwrap().insert(
        "status",
        json!({"phase": "Ready", "conditions": [
            {"type": "Ready", "status": "True", "reason": "AllGood", "message": "all is well",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Progressing", "status": "False", "reason": "Done", "message": "nothing to do",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}),
    );
    let request = Request { subresource: "status", ..request("controller") };
    Tracker::new(&Status(kind()), request).update(Some(&live), &mut new);
    assert_eq!(new.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap().len(), 2);
    new
}

/// Applied by one, its status written by another.
fn applied(widget: &Value) -> Value {
    let mut object = apply("applier", None)(widget.clone());
    metadata(&mut object).insert("uid", "8a2f9a0c-0e5b-4a42-8b34-9d8f0a7c3e11");
    let other = live(widget);
    let entries = other.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap();
    metadata(&mut object).get_mut("managedFields").and_then(Value::as_array_mut).unwrap().extend(
        entries.iter().filter(|entry| entry.get("subresource").is_some()).cloned().collect::<Vec<_>>(),
    );
    object.as_object_mut().unwrap().insert("status", other.get("status").unwrap().clone());
    object
}

fn applied_list(config: &Value) -> Value {
    apply("applier", None)(config.clone())
}

fn with_replicas(object: &Value, replicas: i64) -> Value {
    let mut object = object.clone();
    object.get_mut("spec").and_then(Value::as_object_mut).unwrap().insert("replicas", replicas);
    object
}

fn without_selector(object: &Value) -> Value {
    let mut object = object.clone();
    object.get_mut("spec").and_then(Value::as_object_mut).unwrap().remove("selector");
    object
}

/// A widget with many containers; `changed` tells the one in the middle.
fn list(items: usize, changed: i64) -> Value {
    let containers: Vec<Value> = (0..items)
        .map(|i| {
            let port = if i == items / 2 { 8080 + changed } else { 8080 };
            json!({
                "name": (format!("container-{i}")),
                "image": "registry.example.com/team/app:v1.2.3",
                "env": [{"name": "POD_NAMESPACE", "value": "default"}, {"name": "PORT", "value": (port.to_string())}],
                "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}},
            })
        })
        .collect();
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "long"},
        "spec": {"replicas": 3, "containers": (Value::from(containers))}})
}
