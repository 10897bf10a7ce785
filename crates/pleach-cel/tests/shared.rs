//! Shared values, long strings and misleading costs: no evaluation does more work, or builds larger
//! values, than a constant times its limit.
//!
//! Steps are counted, nothing is timed. `work.rs` counts allocations.

use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{
    Activation, CelValue, CostBudget, DeclType, Declarations, Environment, EvalError, Evaluation, Fault,
    ListKind, ObjectType, OldSelf, Program, STEPS_PER_COST,
};
use pleach_json::{Map, Value};

/// Slack: what every evaluation may do, and what is done between two checks.
const SLACK: u64 = 1 << 18;

fn text() -> DeclType {
    DeclType::string(None, None)
}

/// An object with one of each.
fn declarations() -> Declarations {
    let list = |element| DeclType::list(element, ListKind::Atomic, None);
    let entry = ObjectType::new("self.@idx").with_field("name", text()).with_field("note", text());
    let entry = || DeclType::object(entry.clone(), []);
    let map_list = DeclType::list(entry(), ListKind::Map(["name".into()].into()), None);
    let object = ObjectType::new("self")
        .with_field("big", text())
        .with_field("other", text())
        .with_field("data", DeclType::bytes(None))
        .with_field("set", DeclType::list(text(), ListKind::Set, None))
        .with_field("names", list(text()))
        .with_field("numbers", list(DeclType::integer()))
        .with_field("entries", map_list)
        .with_field("labels", DeclType::map(text(), None));
    let object = DeclType::object(object, []);
    Declarations::new().with("self", object.clone()).with("oldSelf", object)
}

fn object(long: usize, many: usize) -> Value {
    let name = |i: usize| Value::from(format!("{}{i}", "n".repeat(40)));
    let entry = |i: usize| Value::from(Map::from_iter([("name".into(), name(i)), ("note".into(), name(i))]));
    Value::from(Map::from_iter([
        ("big".into(), Value::from("x".repeat(long))),
        ("data".into(), Value::from("AAAA".repeat(long / 4))),
        ("entries".into(), (0..many).map(entry).collect::<Vec<_>>().into()),
        ("labels".into(), (0..many).map(|i| (format!("k{i}").into(), name(i))).collect::<Map>().into()),
        ("names".into(), (0..many).map(name).collect::<Vec<_>>().into()),
        ("numbers".into(), (0..many as i64).map(Value::from).collect::<Vec<_>>().into()),
        ("other".into(), Value::from("x".repeat(long))),
        ("set".into(), (0..many).map(name).collect::<Vec<_>>().into()),
    ]))
}

fn program(why: &str, source: &str) -> Program {
    let checked = Environment::stored()
        .compile(source, &declarations())
        .unwrap_or_else(|issues| panic!("{why}: {issues}"));
    Program::new(&checked).unwrap_or_else(|error| panic!("{why}: {error}"))
}

#[track_caller]
fn within_bounds(why: &str, evaluation: &Evaluation<'_>, limit: u64) {
    let most = STEPS_PER_COST * limit + SLACK;
    assert!(evaluation.work <= most, "{why}: {} steps, at most {most}", evaluation.work);
}

/// `n` nested lists, each of which contains the inner one twice.
fn doubled(first: &str, step: &str, n: usize) -> String {
    format!("{first}{}", format!(".map(a, {step})").repeat(n))
}

#[test]
fn values_with_shared_parts() {
    const LIMIT: u64 = 50_000;
    let e = doubled("[1]", "[a, a]", 60);
    let empty = doubled("[[]]", "[a, a]", 60);
    let maps = doubled("[1]", "{'x': a, 'y': a}", 40);
    let keyed = doubled("[dyn(1)]", "dyn({a: a})", 60);
    let object = object(10, 10);
    for (why, source) in [
        ("equality", format!("{e} == {e}")),
        ("inequality", format!("{e} != {e}")),
        ("in a condition that absorbs errors", format!("{e} == {e} || true")),
        ("one that is turned around", format!("!({e} != {e}) || true")),
        ("of maps", format!("{maps} == {maps}")),
        ("of optionals", format!("optional.of({e}) == optional.of({e})")),
        ("of optionals in lists", {
            let e = doubled("[optional.of(dyn(1))]", "optional.of(dyn([a, a]))", 60);
            format!("{e} == {e}")
        }),
        ("membership", format!("{e} in [{e}]")),
        ("the place in a list", format!("[{e}].indexOf({e}) == 0")),
        ("the last place", format!("[{e}].lastIndexOf({e}) == 0")),
        ("what the place costs", format!("{empty}.indexOf([]) == 0")),
        ("a text", format!("'%s'.format([{e}]) == ''")),
        ("a text of nothing", format!("'%s'.format([{empty}]) == ''")),
        ("a text of maps", format!("'%s'.format([{maps}]) == ''")),
        ("flattened", format!("{}.flatten(100).size() == 0", doubled("[dyn([1])]", "[a, a]", 60))),
        ("nothing flattened", format!("{}.flatten(100).size() == 0", doubled("[dyn([])]", "[a, a]", 60))),
        ("distinct", format!("[{e}, {e}].distinct().size() == 1")),
        ("sets", format!("sets.contains([{e}], [{e}])")),
        ("sets that meet", format!("sets.intersects([{e}], [{e}])")),
        ("equal sets", format!("sets.equivalent([{e}], [{e}])")),
        ("JSON", format!("google.protobuf.ListValue{{values: {e}}}.size() == 0")),
        ("JSON of maps", format!("google.protobuf.Value{{list_value: {maps}}} == null")),
    ] {
        let program = program(why, &source);
        let evaluation = program.run(&Activation::new(&object), LIMIT);
        within_bounds(why, &evaluation, LIMIT);
        assert_eq!(evaluation.result.map(|_| ()), Err(Fault::CostExceeded), "{why}");
    }
    for (why, source) in [
        ("keys are compared as such", format!("{keyed} == {keyed} || true")),
        ("keys in the order of their text", format!("{{dyn({e}): 1, dyn({empty}): 2}}.all(k, k != null)")),
        ("an error that shows a value", format!("[?dyn({e})].size() == 0 || true")),
        ("an error that shows a key", format!("{{}}.transformMapEntry(k, v, {{{e}: 1}}).size() == 0")),
        ("not looked at", format!("{e}.size() == 1 && {e}[0].size() == 2")),
    ] {
        let program = program(why, &source);
        let evaluation = program.run(&Activation::new(&object), PER_CALL_LIMIT);
        assert!(evaluation.work < 100_000, "{why}: {}", evaluation.work);
        assert!(
            matches!(evaluation.result, Ok(CelValue::Bool(true))),
            "{why}: {:?}",
            evaluation.result.err()
        );
    }
}

#[test]
fn work_with_little_or_no_cost() {
    const LIMIT: u64 = 30_000;
    let object = object(100_000, 1_000);
    let loops = |body: &str| format!("lists.range(5000).filter(i, {body}).size() == 0");
    for (why, source) in [
        ("rounds that cost nothing", {
            let names = "self.names.filter(a, ".repeat(5);
            format!("{names}false{}", ").size() > 0".repeat(5))
        }),
        ("the size of a text", loops("size(self.big) == 0")),
        ("the size of a computed text", loops("size(self.big + '') == 0")),
        ("a character", loops("self.big.charAt(100) == ''")),
        ("a short text with a long one", loops("'xxxxxxxxxxxxx' == self.big")),
        ("a number with a text", loops("dyn(1) == dyn(self.big)")),
        ("bytes are decoded", loops("self.data == b''")),
        ("bytes are kept", "lists.range(5000).map(i, self.data).size() == 0".to_owned()),
        ("bytes are made", "lists.range(5000).map(i, bytes(self.big)).size() == 0".to_owned()),
        ("texts are keys", "lists.range(5000).map(i, {self.big: i}).size() == 0".to_owned()),
        ("texts are looked for", loops("self.big in self.labels")),
        ("texts are found", loops("{self.big: 1}[self.big] == 2")),
        ("texts are missing", loops("self.labels[self.big] == '' || true")),
        ("lists of the object", loops("self.names == oldSelf.names && false")),
        ("sets", loops("self.set == oldSelf.set && false")),
        ("lists of type map", loops("self.entries == oldSelf.entries && false")),
        ("maps", loops("self.labels == oldSelf.labels && false")),
        ("the object", loops("self == oldSelf && false")),
        ("lists joined", loops("(self.names + self.names).size() == 0")),
        ("sets joined", loops("(self.set + self.set).size() == 0")),
        ("lists of type map joined", loops("(self.entries + self.entries).size() == 0")),
        ("texts joined without a type", {
            let joined = "[dyn(self.big)]".to_owned() + &".map(a, a + a)".repeat(40);
            format!("{joined}.size() == 0")
        }),
        ("lists joined without a type", {
            let joined = "[dyn(self.names)]".to_owned() + &".map(a, a + a)".repeat(40);
            format!("{joined}.size() == 0")
        }),
        ("URLs", loops("isURL('http://a/' + self.big) && false")),
        (
            "long numbers",
            loops("quantity('1e90000').add(quantity('1')).isGreaterThan(quantity('1')) && false"),
        ),
        ("patterns that are made anew", loops("'a'.matches('(a{1,90}){1,9}' + string(i)) && false")),
        ("patterns that are none", loops("'a'.matches('(' + string(i)) || true && false")),
        ("a search that looks at the rest", "self.big.findAll('x*y|x').size() == 0".to_owned()),
        ("an empty pattern", loops("self.big.matches('') && false")),
        ("nothing is contained", loops("self.big.contains('') && false")),
        ("a text of numbers", loops("'%d %d'.format([i, i]).size() == 0")),
        ("a text for every letter", "self.big.replace('', self.other).size() == 0".to_owned()),
        ("letters", "[1, 2, 3, 4, 5, 6, 7, 8].map(i, self.big.split('')).size() == 0".to_owned()),
    ] {
        let program = program(why, &source);
        let activation = Activation::new(&object).with_old_self(OldSelf::Value(&object));
        let other = object.clone();
        let copy = Activation::new(&other).with_old_self(OldSelf::Value(&object));
        for activation in [activation, copy] {
            let evaluation = program.run(&activation, LIMIT);
            within_bounds(why, &evaluation, LIMIT);
            let end = evaluation.result.map(|_| ());
            assert!(end.is_ok() || end == Err(Fault::CostExceeded), "{why}: {end:?}");
        }
    }
}

/// Ordinary rules are far from the bound: they end by their cost, if at all.
#[test]
fn the_cost_ends_ordinary_rules() {
    let object = object(2_000, 2_000);
    for (why, source, most) in [
        ("a loop", "self.names.all(n, n.startsWith('n') && n.size() <= 63 && n != 'x')", 2),
        ("a pattern", "self.names.all(n, n.matches('^[a-z0-9]+$'))", 2),
        (
            "a long pattern",
            r"self.names.all(n, n.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",
            2,
        ),
        ("loops in loops", "self.names.all(n, self.names.exists_one(m, n == m))", 2),
        ("membership", "self.names.all(n, n in self.set)", 2),
        ("maps", "self.labels.all(k, self.labels[k] != '')", 2),
        ("entries", "self.entries.map(e, e.name + e.note).size() > 0", 2),
        ("searches", "self.names.all(n, n.find('[0-9]+') != '' && n.findAll('[a-z]+').size() == 1)", 4),
        ("texts", "self.names.all(n, n.split('n').join('-').replace('-', 'n').lowerAscii() == n)", 4),
        ("sorted", "self.numbers.map(n, n % 10).filter(n, n > 5).sum() > 0", 2),
    ] {
        let program = program(why, source);
        // Patterns allocate caches at their first match.
        _ = program.run(&Activation::new(&object), PER_CALL_LIMIT);
        let Evaluation { result, cost, work } = program.run(&Activation::new(&object), PER_CALL_LIMIT);
        let done = matches!(result, Ok(CelValue::Bool(true)));
        assert!(done || cost > PER_CALL_LIMIT, "{why}: {result:?}, cost {cost}");
        assert!(work <= most * cost, "{why}: {work} steps, cost {cost}");
    }
}

#[test]
fn a_request_has_work_for_all_of_its_rules() {
    let object = object(10, 20_000);
    let other = pleach_json::parse(pleach_json::to_string(&object).as_bytes()).expect("it was written");
    let program = program("equality", "self == oldSelf");
    let activation = Activation::new(&object).with_old_self(OldSelf::Value(&other));
    let mut budget = CostBudget::new(10_000);
    let end = (0..1_000).find_map(|_| program.eval(&activation, &mut budget).err());
    assert_eq!(end, Some(EvalError::BudgetExceeded), "the cost is three each time");
    assert!(budget.remaining() < 0);
}

#[test]
fn an_evaluation_is_charged_to_its_request() {
    let object = object(10, 1_000);
    let e = doubled("[1]", "[a, a]", 60);
    let program = program("equality", &format!("{e} == {e}"));
    let run = || program.run(&Activation::new(&object), PER_CALL_LIMIT).work;
    let (work, steps) = pleach_work::measure(run);
    assert!(steps >= work, "{steps} steps of the request, {work} of the evaluation");
    assert_eq!(pleach_work::with_limit(100_000, run), Err(pleach_work::Stopped::Budget));
}

#[test]
fn values_as_deep_as_an_object_can_be() {
    let deep = |open: &str, close: &str| {
        let levels = 9_900 / close.len();
        let text = format!("{}1{}", open.repeat(levels), close.repeat(levels));
        pleach_json::parse(text.as_bytes()).expect("within the limit of levels")
    };
    let declarations = Declarations::new().with("object", DeclType::other(pleach_cel::Type::Dyn));
    for (why, object) in
        [("lists", deep("[", "]")), ("maps", deep("{\"a\":", "}")), ("both", deep("[{\"a\":", "}]"))]
    {
        for source in [
            "google.protobuf.ListValue{values: [object, object]} == google.protobuf.ListValue{values: [object]}",
            "google.protobuf.ListValue{values: [object]} != google.protobuf.ListValue{values: [object]}",
            "'%s'.format([object]) == '' || object == object || [object].indexOf(object) == 0",
        ] {
            let checked = Environment::stored().compile(source, &declarations).expect(source);
            let program = Program::new(&checked).expect(source);
            let bound = [pleach_cel::Bound::Value(&object)];
            let evaluation = program.run(&Activation::of_others(&bound), PER_CALL_LIMIT);
            within_bounds(why, &evaluation, PER_CALL_LIMIT);
            let end = evaluation.result.map(|_| ());
            assert!(end.is_ok() || end == Err(Fault::CostExceeded), "{why}: {source}: {end:?}");
        }
    }
}

/// A pseudo-random number generator.
struct TestRng(u64);

impl TestRng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.roll(of.len())]
    }
}

/// A random expression that is mostly a list (`L`), a string (`S`), a map (`M`), a bool (`B`) or
/// anything (`V`). In the templates `@L` and so on stand for others.
fn random(rng: &mut TestRng, kind: char, depth: usize, size: &mut usize) -> String {
    const LISTS: &[&str] = &[
        "[@V, @V]",
        "[@V]",
        "@L + @L",
        "@L.map(a, [a, a])",
        "@L.map(a, {'k': a, 'l': a})",
        "@L.map(a, a + a)",
        "@L.map(a, @V)",
        "@L.filter(a, @B)",
        "@L.distinct()",
        "@L.flatten(50)",
        "@S.split(@S)",
        "@S.split('')",
        "@S.findAll(@S)",
        "@S.findAll('x*y|x')",
        "@L.reverse()",
        "@L.sort()",
        "@L.slice(0, 1)",
        "@L.sortBy(a, @V)",
        "@L.transformList(a, b, [b, @V])",
        "google.protobuf.ListValue{values: @L}",
        "[?optional.of(@V)]",
        "@M.map(a, [a, @V])",
        "(@B ? @L : @L)",
        "[optional.of(@V)].unwrapOpt()",
        "@L.map(a, [1].map(b, @V))",
        "self.names",
        "self.set",
        "self.entries",
        "lists.range(100)",
        "oldSelf.names",
    ];
    const TEXTS: &[&str] = &[
        "@S + @S",
        "'%s'.format([@V])",
        "'%s %s'.format([@V, @V])",
        "@S.replace('', @S)",
        "@S.replace(@S, @S)",
        "@L.join(@S)",
        "@S.find(@S)",
        "@S.substring(1)",
        "@S.lowerAscii()",
        "strings.quote(@S)",
        "string(@V)",
        "string(bytes(@S))",
        "@S.charAt(1)",
        "@S.trim()",
        "url('http://a/?' + @S).getHost()",
        "self.big",
        "self.other",
        "'x*y|x'",
        "'(x{1,50}){1,5}'",
        "''",
        "'x'",
    ];
    const MAPS: &[&str] = &[
        "{'k': @V, 'l': @V}",
        "{@V: @V}",
        "@L.transformMap(a, b, [b, @V])",
        "@M.transformMap(a, b, [b, @V])",
        "google.protobuf.Struct{fields: @M}",
        "url('http://a/?' + @S).getQuery()",
        "self.labels",
        "self",
        "{}",
    ];
    const TRUTHS: &[&str] = &[
        "@V == @V",
        "@V != @V",
        "@L == @L",
        "@M == @M",
        "@S == @S",
        "@V in [@V, @V]",
        "@V in @L",
        "@S in @M",
        "@L.all(a, @V == a)",
        "@L.exists(a, a in @L)",
        "@M.exists(k, @B)",
        "sets.equivalent(@L, @L)",
        "sets.intersects(@L, @L)",
        "@S.matches(@S)",
        "@S.contains(@S)",
        "@S < @S",
        "isURL(@S)",
        "@L.isSorted()",
        "(@B || @B)",
        "(@B && @B)",
        "!@B",
        "[@V].indexOf(@V) == 0",
        "@S.indexOf(@S) == 0",
        "@L.size() == 0",
        "size(@S) == 0",
        "quantity('1e80000').add(quantity('1')).isGreaterThan(quantity('1'))",
        "self == oldSelf",
        "self.data == b''",
        "true",
    ];
    const ANY: &[&str] =
        &["@L", "@S", "@M", "@B", "optional.of(@V)", "bytes(@S)", "type(@V)", "a", "1", "1.5", "null"];
    const LEAVES: &[(char, &str)] =
        &[('L', "lists.range(10)"), ('S', "self.big"), ('M', "self.labels"), ('B', "true"), ('V', "a")];
    if depth == 0 || *size == 0 {
        let leaf = LEAVES.iter().find(|(of, _)| *of == kind).map_or("1", |(_, leaf)| leaf);
        return format!("dyn({leaf})");
    }
    *size -= 1;
    let mut shape = rng.pick(match kind {
        'L' => LISTS,
        'S' => TEXTS,
        'M' => MAPS,
        'B' => TRUTHS,
        _ => ANY,
    });
    let mut out = String::from("dyn(");
    while let Some(at) = shape.find('@') {
        out.push_str(&shape[..at]);
        out.push_str(&random(rng, char::from(shape.as_bytes()[at + 1]), depth - 1, size));
        shape = &shape[at + 2..];
    }
    out + shape + ")"
}

/// Random expressions: the work is at most a constant times the limit, the expression and the object.
#[test]
fn random_expressions_do_bounded_work() {
    const LIMIT: u64 = 20_000;
    let object = object(20_000, 200);
    let input = pleach_json::to_string(&object).len() as u64;
    let declarations = declarations();
    let mut rng = TestRng(42);
    let (mut evaluated, mut exceeded, mut succeeded) = (0, 0, 0);
    for round in 0..500 {
        let (depth, mut size) = (2 + rng.roll(6), 20);
        let mut source = random(&mut rng, 'V', depth, &mut size);
        if rng.roll(2) == 0 {
            source =
                format!("[{source}]{}", [".map(a, [a, a])", ".map(a, dyn([a]) + a)"][rng.roll(2)].repeat(40));
        }
        if rng.roll(3) == 0 {
            source = format!("dyn({source}) == dyn({source})");
        }
        let source = format!("[dyn(1), dyn([2])].map(a, {source}).size() == 0");
        let Ok(checked) = Environment::stored().compile(&source, &declarations) else { continue };
        let Ok(program) = Program::new(&checked) else { continue };
        let activation = Activation::new(&object).with_old_self(OldSelf::Value(&object));
        let (evaluation, steps) = pleach_work::measure(|| program.run(&activation, LIMIT));
        let most = STEPS_PER_COST * (LIMIT + source.len() as u64 + input) + SLACK / 4;
        assert!(evaluation.work <= most, "{round}: {} steps: {source}", evaluation.work);
        assert!(steps <= 2 * most, "{round}: {steps} steps of the request: {source}");
        evaluated += 1;
        exceeded += u32::from(matches!(evaluation.result, Err(Fault::CostExceeded)));
        succeeded += u32::from(evaluation.result.is_ok());
    }
    assert!(evaluated > 400, "{evaluated} of the expressions can be evaluated");
    assert!(exceeded > 50 && succeeded > 100, "{exceeded} exceed their limit, {succeeded} have a value");
}
