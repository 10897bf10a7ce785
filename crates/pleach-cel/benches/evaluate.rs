//! How long rules take once compiled: on small objects, on lists, and with patterns; and what they
//! allocate.
//!
//! `cargo bench -p pleach-cel`. Bars: `self.replicas <= self.maxReplicas` under 200 ns, a rule over
//! a list of 100 strings under 5 µs. Allocations are counted and printed with the times; rules that
//! only look at what is there make none, however many fields they look at: [`no_allocation`] shows it,
//! `tests/work.rs` insists on it. Rules of real CRDs are timed by `cargo bench -p pleach-schema`.

use divan::{AllocProfiler, Bencher, black_box};
use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{Activation, CelValue, DeclType, Declarations, Environment, ListKind, ObjectType, Program};
use pleach_json::{Map, Value};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

fn decl() -> DeclType {
    let text = || DeclType::string(None, None);
    let port =
        ObjectType::new("self.ports.@idx").with_field("name", text()).with_field("port", DeclType::integer());
    let object = ObjectType::new("self")
        .with_field("replicas", DeclType::integer())
        .with_field("maxReplicas", DeclType::integer())
        .with_field("name", text())
        .with_field("hosts", DeclType::list(text(), ListKind::Atomic, None))
        .with_field("labels", DeclType::map(text(), None))
        .with_field("ports", DeclType::list(DeclType::object(port, []), ListKind::Atomic, None));
    DeclType::object(object, [])
}

fn object() -> Value {
    let hosts: Vec<Value> = (0..100).map(|i| Value::from(format!("host-{i}.example.com"))).collect();
    let labels = (0..20).map(|i| (format!("label-{i:02}").into(), Value::from("value")));
    let port = |i: i64| {
        Value::from(Map::from_iter([
            ("name".into(), Value::from(format!("port-{i}"))),
            ("port".into(), Value::from(8000 + i)),
        ]))
    };
    Map::from_iter([
        ("replicas".into(), Value::from(3)),
        ("maxReplicas".into(), Value::from(5)),
        ("name".into(), Value::from("my-name")),
        ("hosts".into(), Value::from(hosts)),
        ("labels".into(), Value::from(labels.collect::<Map>())),
        ("ports".into(), Value::from((0..10).map(port).collect::<Vec<_>>())),
    ])
    .into()
}

const RULES: &[&str] = &[
    "self.replicas <= self.maxReplicas",
    "has(self.name) && self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "self.name in ['a', 'b', 'my-name']",
    "self.hosts.all(h, h.startsWith('host-'))",
    "self.hosts.all(h, h.endsWith('.example.com'))",
    "self.hosts.all(h, h.size() <= 63)",
    "self.hosts.all(h, h != '')",
    "self.labels.all(k, self.labels[k] == 'value')",
    "self.ports.all(p, self.ports.exists_one(q, q.name == p.name))",
    "self.hosts.map(h, h.size()).sum() > 0",
    "self.hosts.filter(h, h.startsWith('host-9')).size() == 11",
];

/// Rules that look at many fields and make no list, map or string.
const READERS: &[&str] = &[
    "self.replicas <= self.maxReplicas && self.maxReplicas >= self.replicas && has(self.name)",
    "self.hosts.all(h, h.startsWith('host-') && h.size() <= 63)",
    "self.ports.all(p, p.port >= 8000 && p.port < 9000 && p.name != self.name)",
    "self.ports.all(p, self.ports.exists_one(q, q.name == p.name && q.port == p.port))",
    "self.labels.all(k, self.labels[k] == 'value')",
    "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && self.name in ['a', 'b', 'my-name']",
];

fn compile(rule: &str) -> Program {
    let declarations = Declarations::new().with("self", decl());
    let checked = Environment::stored().compile(rule, &declarations).expect("a valid rule");
    Program::new(&checked).expect("a program")
}

fn run(program: &Program, object: &Value, rule: &str) {
    let result = program.run(&Activation::new(object), PER_CALL_LIMIT).result;
    assert!(matches!(result, Ok(CelValue::Bool(true))), "{rule}: {result:?}");
}

#[divan::bench(args = RULES)]
fn evaluate(bencher: Bencher<'_, '_>, rule: &str) {
    let (program, object) = (compile(rule), object());
    run(&program, &object, rule);
    bencher.bench_local(|| program.run(&Activation::new(black_box(&object)), PER_CALL_LIMIT).cost);
}

/// Printed without any line about allocations: there are none.
#[divan::bench(args = READERS)]
fn no_allocation(bencher: Bencher<'_, '_>, rule: &str) {
    let (program, object) = (compile(rule), object());
    run(&program, &object, rule);
    bencher.bench_local(|| program.run(&Activation::new(black_box(&object)), PER_CALL_LIMIT).cost);
}

#[divan::bench(args = RULES)]
fn plan(bencher: Bencher<'_, '_>, rule: &str) {
    let declarations = Declarations::new().with("self", decl());
    let checked = Environment::stored().compile(rule, &declarations).expect("a valid rule");
    bencher.bench_local(|| Program::new(black_box(&checked)).expect("a program"));
}
