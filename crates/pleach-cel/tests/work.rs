//! Hostile rules: their work is counted, not timed.
//!
//! Counted are allocations, which every step of the parser, checker and planner makes, the nodes of the
//! AST, and at run time the cost. A single test, because the counters are per process.

use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{
    Activation, CelValue, DeclType, Declarations, Environment, Fault, ListKind, ObjectType, Program,
};
use pleach_json::{Map, Value};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The most an evaluation allocates in total, in bytes.
const MOST_BYTES: usize = 1 << 27;

/// How many allocations a call made, and how many bytes they were.
fn count<R>(work: impl FnOnce() -> R) -> (R, usize, usize) {
    let region = Region::new(ALLOCATOR);
    let result = work();
    let change = region.change();
    (result, change.allocations + change.reallocations, change.bytes_allocated)
}

fn strings(count: usize, length: usize) -> Value {
    Value::from((0..count).map(|_| Value::from("x".repeat(length))).collect::<Vec<_>>())
}

/// Rules by what they are made of, with `self` as a list of strings.
fn hostile() -> Vec<(&'static str, String)> {
    let deep = |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
    let chain = |link: &str, n: usize| format!("optional.of(1){}.hasValue()", link.repeat(n));
    let loops = |n: usize| format!("{}true{}", "self.all(x, ".repeat(n), ")".repeat(n));
    vec![
        ("parentheses to the limit", deep("(", ")", 240)),
        ("parentheses beyond", deep("(", ")", 20_000)),
        ("lists beyond", deep("[", "]", 20_000)),
        ("maps beyond", deep("{1: ", "}", 10_000)),
        ("calls beyond", deep("size(", ")", 10_000)),
        ("signs", format!("{}1", "-".repeat(50_000))),
        ("ternaries beyond", format!("{}1", "true ? 1 : ".repeat(5_000))),
        ("indexes beyond", format!("self{}", "[0]".repeat(20_000))),
        ("selections beyond", format!("dyn(self){}", ".a".repeat(20_000))),
        ("a long sum", format!("1{} == 0", " + 1".repeat(20_000))),
        ("a long condition", format!("true{}", " && self.size() > 0".repeat(5_000))),
        ("loops in loops to the limit", loops(60)),
        ("loops in loops beyond", loops(2_000)),
        ("macros that name their target twice", chain(".optMap(x, x)", 70)),
        ("the same with variables", chain(".optMap(x, x + x)", 70)),
        ("the same beyond", chain(".optMap(x, x)", 5_000)),
        ("types that double", format!("self{}.size() > 0", ".map(x, [x, x])".repeat(70))),
        ("types that double as maps", format!("[1]{}.size() > 0", ".map(x, {x: x})".repeat(70))),
        ("mistakes in what is named twice", chain(".optMap(x, y)", 70)),
        ("a wide list", format!("[{}1].size() > 0", "1,".repeat(30_000))),
        ("a wide list with mistakes", format!("[{}1].size() > 0", "a,".repeat(30_000))),
        ("wide membership", format!("self[0] in [{}'y']", "'x',".repeat(20_000))),
        (
            "a wide map",
            format!(
                "{{{}}}.size() > 0",
                (0..8_000).map(|i| format!("{i}: {i}")).collect::<Vec<_>>().join(", ")
            ),
        ),
        ("a call with many arguments", format!("f({}1)", "1,".repeat(30_000))),
        ("a long string", format!("self[0] == '{}'", "x".repeat(90_000))),
        ("a string of escapes", format!("self[0] == '{}'", "\\u00e4".repeat(15_000))),
        ("a long number", format!("1{} == 1", "0".repeat(90_000))),
        ("a long fraction", format!("1.{} == 1.0", "0".repeat(90_000))),
        ("long bytes", format!("b'{}' == b''", "\\xff".repeat(20_000))),
        ("a long name", format!("self.{}", "a".repeat(90_000))),
        ("too long", "1 + ".repeat(30_000) + "1"),
        ("a pattern that repeats repetitions", "self[0].matches('((a{1,100}){1,100}){1,100}')".to_owned()),
        ("a pattern of many", format!("self[0].matches('{}')", "(a|b)*".repeat(2_000))),
        ("a pattern in patterns", format!("self[0].matches('{}{}')", "(".repeat(5_000), ")".repeat(5_000))),
        ("a pattern that is none", format!("self[0].matches('{}')", "(".repeat(20_000))),
        ("classes", format!("self[0].matches('[{}]')", "\\\\pL".repeat(200))),
        ("nothing but openings", "(".repeat(50_000)),
        ("nothing but closings", ")".repeat(50_000)),
        ("no operands", "+".repeat(50_000)),
        ("no operators", "1 ".repeat(30_000)),
        ("no characters of the language", "#".repeat(50_000)),
        ("quotes", "'".repeat(50_001)),
        ("line breaks", format!("self{}", "\n".repeat(90_000))),
        ("dots", format!("self{}", ".".repeat(50_000))),
        ("optional everything", format!("[{}?self[?0]]", "?self[?0],".repeat(5_000))),
        (
            "messages in messages",
            format!("{}1{}", "google.protobuf.Int32Value{value: ".repeat(200), "}".repeat(200)),
        ),
        ("formats", format!("'{}'.format([])", "%s".repeat(30_000))),
        ("strings without an end", "\\'''".repeat(25_000)),
        ("raw ones", "r'''r\"\"\"".repeat(10_000)),
        ("optional elements", format!("[{}1].size() > 0", "?optional.of(1),".repeat(6_000))),
        ("a mistake after many terms", format!("true{} )", " && true".repeat(12_000))),
        ("a mistake after many entries", format!("{{{}}} )", "1: 1, ".repeat(16_000))),
        ("a mistake after many fields", format!("a{{{}}} )", "a: 1, ".repeat(16_000))),
        ("names before a mistake", format!("a{}{{ )", ".a".repeat(45_000))),
        ("mistakes everywhere", "a.b[c +] ? d{e: } ".repeat(5_000)),
        ("unfinished calls", "a.b(c, ".repeat(14_000)),
        ("unfinished ternaries", "a ? b : ".repeat(12_000)),
        ("unfinished messages", "a.b.c{d: ".repeat(11_000)),
        (
            "types that are compared",
            format!("[[]]{}.all(x, {}true)", ".map(a, [a])".repeat(100), "x == x && ".repeat(9_000)),
        ),
        (
            "types of maps that are compared",
            format!("[1]{}.all(x, {}true)", ".map(a, {a: a})".repeat(8), "x == x && ".repeat(9_000)),
        ),
        (
            "types that are listed",
            format!("[[]]{}.all(x, [{}x].size() > 0)", ".map(a, [a])".repeat(100), "x,".repeat(40_000)),
        ),
        ("loops side by side", "[1].all(x, [x].exists(y, y == x)) && ".repeat(2_500) + "true"),
    ]
}

const SOUP: &str = "a soup";

/// Random tokens.
fn soups() -> impl Iterator<Item = (&'static str, String)> {
    const TOKENS: &[&str] = &[
        "a",
        "self",
        "x",
        "1",
        "1.5",
        "'a'",
        "'''",
        "r\"\"\"",
        "b'",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ".?",
        ",",
        ":",
        "?",
        "[?",
        "+",
        "-",
        "!",
        "==",
        "<",
        "in",
        "&&",
        "||",
        "a.b.c",
        "a{",
        "a(",
        "[1].map(x, ",
        "x.optMap(y, ",
        "self.all(x, ",
        "has(",
        " ",
        "\n",
        "#",
        "\\'",
        "null",
        "`a-b`",
        "\u{e9}",
    ];
    let mut seed = 7u64;
    let mut roll = move |sides: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % sides
    };
    (0..60).map(move |_| {
        // Of a few tokens only, so that some go on for long before the first error.
        let (some, count) = (1 + roll(6), 100 + roll(4_000));
        let tokens: Vec<_> = (0..some).map(|_| TOKENS[roll(TOKENS.len())]).collect();
        (SOUP, (0..count).map(|_| tokens[roll(some)]).collect())
    })
}

#[test]
fn work_is_bounded() {
    compiling();
    running();
    looking();
}

/// Compiling any rule takes work in proportion to its length.
fn compiling() {
    let list = DeclType::list(DeclType::string(None, None), ListKind::Atomic, None);
    let declarations = Declarations::new().with("self", list).with("oldSelf", DeclType::integer());
    let environment = Environment::stored();
    // Lazy statics are not counted.
    let warm = environment.compile("self.all(x, x.matches('a')) && (", &declarations);
    assert!(warm.is_err());
    let small = strings(3, 3);
    for (why, source) in hostile().into_iter().chain(soups()) {
        let ((outcome, allocations, bytes), steps) = pleach_work::measure(|| {
            count(|| {
                let checked =
                    environment.compile(&source, &declarations).map_err(|issues| issues.to_string())?;
                let program = Program::new(&checked).map_err(|error| error.to_string())?;
                _ = checked.cost_estimate();
                Ok::<_, String>((checked, program))
            })
        });
        let length = source.len();
        // Lookahead decisions are cached.
        let first = if why == SOUP { 100_000 } else { 2_000 };
        assert!(allocations <= first + 20 * length, "{why}: {allocations} allocations for {length} bytes");
        assert!(steps <= (first + 200 * length) as u64, "{why}: {steps} steps for {length} bytes");
        assert!(bytes <= 100 * first + 8_000 * length, "{why}: {bytes} bytes allocated for {length}");
        if let Ok((checked, program)) = outcome {
            assert!(checked.ast().len() <= 40 * source.len(), "{why}: {} nodes", checked.ast().len());
            let (evaluation, allocations, _) =
                count(|| program.run(&Activation::new(&small), PER_CALL_LIMIT));
            assert!(evaluation.cost <= PER_CALL_LIMIT + 10, "{why}: cost {}", evaluation.cost);
            assert!(allocations as u64 <= PER_CALL_LIMIT, "{why}: {allocations} allocations");
        }
    }
}

/// Every evaluation ends at its limit, and allocates in proportion to that.
fn running() {
    let (large, many) = (strings(4, 700_000), strings(100_000, 1));
    let list = DeclType::list(DeclType::string(None, None), ListKind::Atomic, None);
    let declarations = Declarations::new().with("self", list);
    for (why, ends_early, source, object) in [
        (
            "loops in loops",
            true,
            "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d != ''))))",
            &many,
        ),
        ("a list of all numbers", true, "lists.range(9223372036854775807).size() == 0", &many),
        ("lists copied in a loop", true, "self.map(x, self + self).size() == 0", &many),
        ("lists grown in a loop", true, "self.map(x, [x, x]).map(y, self + y).size() == 0", &many),
        ("a text of a text for every letter", true, "self[0].replace('', self[1]).size() == 0", &large),
        ("joined", true, "[self, self, self].flatten().join(self[0]).size() == 0", &large),
        ("formatted", false, "'%s%s%s%s'.format([self, self, self, self]) == ''", &large),
        ("letters", true, "self[0].split('').map(x, self[1].split('')).size() == 0", &large),
        ("patterns made anew", false, "self.all(x, 'aaa'.matches('(a{1,30}){1,30}' + x))", &many),
        ("quantities far apart", false, "quantity('1e2000000000').add(quantity('1')).isInteger()", &many),
        ("quantities compared", false, "quantity('1e2000000000').isLessThan(quantity('1'))", &many),
        ("a pattern on a long text", false, "self[0].matches('(x+x+)+y')", &large),
        ("sorted", true, "self.sort().size() == 0", &many),
        (
            "texts that double",
            true,
            "[dyn(self[0])].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).size() == 0",
            &large,
        ),
        ("bytes of texts", true, "lists.range(1000).map(i, bytes(self[0])).size() == 0", &large),
        ("texts as keys", true, "lists.range(1000).map(i, {self[0]: i}).size() == 0", &large),
        ("lists copied and dropped", true, "lists.range(1000).all(i, (self + self).size() > 0)", &many),
        ("what a search looks at", true, "self[0].findAll('x*y|x').size() == 0", &large),
        ("texts of texts", true, "lists.range(1000).map(i, '%s'.format([self])).size() == 0", &large),
        ("each with each", true, "sets.contains(self, self)", &many),
    ] {
        let checked = Environment::stored().compile(source, &declarations).expect(why);
        let program = Program::new(&checked).expect(why);
        let (evaluation, allocations, bytes) =
            count(|| program.run(&Activation::new(object), PER_CALL_LIMIT));
        assert!(allocations as u64 <= PER_CALL_LIMIT, "{why}: {allocations} allocations");
        assert!(bytes <= MOST_BYTES, "{why}: {bytes} bytes");
        let exceeded = matches!(evaluation.result, Err(Fault::CostExceeded));
        assert_eq!(exceeded, ends_early, "{why}: {:?}", evaluation.result.map(|_| evaluation.cost));
    }
}

/// Accessing fields allocates nothing, however many there are.
fn looking() {
    let text = || DeclType::string(None, None);
    let port =
        ObjectType::new("self.ports.@idx").with_field("name", text()).with_field("port", DeclType::integer());
    let object = ObjectType::new("self")
        .with_field("replicas", DeclType::integer())
        .with_field("name", text())
        .with_field("hosts", DeclType::list(text(), ListKind::Atomic, None))
        .with_field("labels", DeclType::map(text(), None))
        .with_field("ports", DeclType::list(DeclType::object(port, []), ListKind::Atomic, None));
    let declarations = Declarations::new().with("self", DeclType::object(object, []));
    let port =
        |i: i64| Map::from_iter([("name".into(), Value::from("http")), ("port".into(), Value::from(i))]);
    let object = Value::from(Map::from_iter([
        ("hosts".into(), strings(100, 40)),
        (
            "labels".into(),
            Map::from_iter([("a".into(), Value::from("a value that is longer than a word"))]).into(),
        ),
        ("name".into(), Value::from("a name that is longer than a word is")),
        ("ports".into(), (0..20).map(|i| Value::from(port(i))).collect::<Vec<_>>().into()),
        ("replicas".into(), Value::from(3)),
    ]));
    for (why, source) in [
        ("a comparison", "self.replicas <= 3 && self.name != 'x' && has(self.hosts)"),
        ("a loop", "self.hosts.all(h, h.startsWith('x') && h.size() <= 63 && !h.contains('y'))"),
        ("fields of items", "self.ports.all(p, p.port >= 0 && p.port < 20 && p.name == 'http')"),
        ("loops in loops", "self.ports.all(p, self.ports.exists_one(q, q.port == p.port))"),
        ("values of maps", "self.labels.all(k, self.labels[k] == self.labels[k])"),
        ("a pattern", "self.name.matches('^[a-z ]+$') && !(self.name in ['a', 'b'])"),
        ("a ternary", "(self.replicas > 2 ? self.name : self.hosts[0]).size() > 3"),
        ("an index", "self.hosts[3] == self.hosts[4] && self.ports[1].port == 1"),
    ] {
        let checked = Environment::stored().compile(source, &declarations).expect(why);
        let program = Program::new(&checked).expect(why);
        // Patterns allocate caches at their first match.
        _ = program.run(&Activation::new(&object), PER_CALL_LIMIT);
        let (evaluation, allocations, _) = count(|| program.run(&Activation::new(&object), PER_CALL_LIMIT));
        assert!(matches!(evaluation.result, Ok(CelValue::Bool(true))), "{why}: {:?}", evaluation.result);
        assert_eq!(allocations, 0, "{why}: {source}");
    }
}
