//! The cost of settling in the usual cases, for an instruction counter.
//!
//! `valgrind --tool=callgrind pleach-bench-schema settle create 1000` settles a thousand objects, `prepare
//! create 1000` only makes them: the difference of the two is the cost of settling. Without arguments all
//! cases are timed.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pleach_json::{Value, json};
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions};

use crate::{OBJECT, SCHEMA};

/// One way in which objects come to be settled.
struct Case {
    name: &'static str,
    schema: Schema,
    make: Box<dyn Fn() -> Value>,
    baseline: Option<Value>,
    options: SettleOptions,
}

impl Case {
    fn settle(&self, object: &mut Value) {
        black_box(
            self.schema
                .settle_against(object, self.baseline.as_ref(), self.options)
                .expect("the object settles"),
        );
    }
}

fn parse(text: &[u8]) -> Value {
    pleach_json::parse(text).expect("the text is JSON")
}

fn cases() -> Vec<Case> {
    let schema = Schema::from_value(&parse(SCHEMA), SchemaOptions::default());
    let request = SettleOptions::request(Record::Unknown);
    // The object has unknown fields; most that come in have none, and lack defaults.
    let mut known = parse(OBJECT);
    schema.settle(&mut known, SettleOptions::CONVERTED).expect("the object settles");
    let mut settled = known.clone();
    schema.settle(&mut settled, request).expect("the object settles");
    let text = pleach_json::to_vec(&settled);
    let known: Arc<[u8]> = pleach_json::to_vec(&known).into();
    let known = || {
        let known = known.clone();
        Box::new(move || parse(&known)) as Box<dyn Fn() -> Value>
    };
    let (copy, changed, again) = (settled.clone(), settled.clone(), text.clone());
    let change = move || {
        let mut object = changed.clone();
        let spec = object.get_mut("spec").and_then(Value::as_object_mut).expect("there is a spec");
        spec.insert("replicas", 4);
        object
    };
    let case = |name, make, baseline, options| Case { name, schema: schema.clone(), make, baseline, options };
    let mut cases = vec![
        case("create", known(), None, request),
        case("create-unknown", Box::new(|| parse(OBJECT)), None, request),
        case("update", known(), Some(settled.clone()), request),
        case("patch", Box::new(change), Some(settled), request),
        case("read", Box::new(move || parse(&text)), None, SettleOptions::STORED),
        case("read-stale", known(), None, SettleOptions::STORED),
        case("convert", Box::new(move || copy.clone()), None, SettleOptions::CONVERTED),
        case("convert-parsed", Box::new(move || parse(&again)), None, SettleOptions::CONVERTED),
    ];
    cases.push(embedded());
    cases
}

/// A resource with the widget in it as an embedded resource.
fn embedded() -> Case {
    let mut widget = parse(SCHEMA);
    widget.as_object_mut().expect("the schema is an object").insert("x-kubernetes-embedded-resource", true);
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"template": widget}},
    }});
    let object =
        json!({"apiVersion": "v1", "kind": "K", "metadata": {}, "spec": {"template": (parse(OBJECT))}});
    let text = pleach_json::to_vec(&object);
    Case {
        name: "create-embedded",
        schema: Schema::from_value(&schema, SchemaOptions::default()),
        make: Box::new(move || parse(&text)),
        baseline: None,
        options: SettleOptions::request(Record::Unknown),
    }
}

/// Makes so many objects of one case, and settles them or not.
pub(crate) fn count(settle: bool, name: &str, times: usize) {
    let cases = cases();
    let Some(case) = cases.iter().find(|case| case.name == name) else {
        let names: Vec<_> = cases.iter().map(|case| case.name).collect();
        eprintln!("no such case; there are {names:?}");
        return;
    };
    for _ in 0..times {
        let mut object = (case.make)();
        if settle {
            case.settle(&mut object);
        }
        black_box(object);
    }
}

/// Times all cases: the least of several rounds.
pub(crate) fn times() {
    const CALLS: u32 = 200;
    println!("\nsettling the object, the least of 200 rounds");
    for case in cases() {
        let mut least = Duration::MAX;
        for _ in 0..200 {
            let mut objects: Vec<_> = (0..CALLS).map(|_| (case.make)()).collect();
            let start = Instant::now();
            objects.iter_mut().for_each(|object| case.settle(object));
            least = least.min(start.elapsed() / CALLS);
            black_box(objects);
        }
        println!("{:<42} {least:>10.2?}", case.name);
    }
}
