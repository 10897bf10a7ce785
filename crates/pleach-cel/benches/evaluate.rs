//! How long rules take once compiled: on small objects, on lists, and with patterns.

use divan::{Bencher, black_box};
use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{Activation, CelValue, DeclType, Declarations, Environment, ListKind, ObjectType, Program};
use pleach_json::{Map, Value};

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
    "self.hosts.all(h, h.endsWith('.example.com'))",
    "self.hosts.all(h, h != '')",
    "self.hosts.map(h, h.size()).sum() > 0",
    "self.hosts.filter(h, h.startsWith('host-9')).size() == 11",
    "self.labels.all(k, self.labels[k] == 'value')",
    "self.ports.all(p, self.ports.exists_one(q, q.name == p.name))",
];

#[divan::bench(args = RULES)]
fn evaluate(bencher: Bencher<'_, '_>, rule: &str) {
    let declarations = Declarations::new().with("self", decl());
    let checked = Environment::stored().compile(rule, &declarations).expect("a valid rule");
    let program = Program::new(&checked).expect("a program");
    let object = object();
    let result = program.run(&Activation::new(&object), PER_CALL_LIMIT).result;
    assert!(matches!(result, Ok(CelValue::Bool(true))), "{rule}: {result:?}");
    bencher.bench_local(|| program.run(&Activation::new(black_box(&object)), PER_CALL_LIMIT).cost);
}

#[divan::bench(args = RULES)]
fn plan(bencher: Bencher<'_, '_>, rule: &str) {
    let declarations = Declarations::new().with("self", decl());
    let checked = Environment::stored().compile(rule, &declarations).expect("a valid rule");
    bencher.bench_local(|| Program::new(black_box(&checked)).expect("a program"));
}
