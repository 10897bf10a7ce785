//! Rules and what they run on, made from bytes.
//!
//! Half of all inputs are text as it is, for the lexer and the parser; the rest chooses among forms
//! of the grammar, names and functions, so that most of them have types that fit.

use crate::bytes::Bytes;
use crate::schemas::{name as any_name, value};
use pleach_cel::{DeclType, Declarations, ListKind, ObjectType};
use pleach_json::{Map, Value};

/// The schema of [`declarations`]; [`object`] makes values of it.
const MAX_LENGTH: u64 = 6;
const MAX_ITEMS: u64 = 3;

/// The source of a rule.
pub(crate) fn source(bytes: &mut Bytes<'_>) -> String {
    if bytes.next().is_multiple_of(2) {
        let text = String::from_utf8_lossy(bytes.0).into_owned();
        bytes.0 = &[];
        return text;
    }
    let mut out = String::new();
    let depth = 4 + bytes.next() % 4;
    boolean(bytes, depth, &mut out);
    out
}

/// The variables of a rule: `self` with bounds on everything, and `oldSelf`.
pub(crate) fn declarations() -> Declarations {
    let text = || DeclType::string(Some(MAX_LENGTH as i64), None);
    let item = ObjectType::new("self.l.@idx").with_field("s", text()).with_field("i", DeclType::integer());
    let object = ObjectType::new("self")
        .with_field("i", DeclType::integer())
        .with_field("d", DeclType::number())
        .with_field("b", DeclType::boolean())
        .with_field("s", text())
        .with_field("t", DeclType::date_time())
        .with_field("v", DeclType::int_or_string(None))
        .with_field("h", DeclType::list(text(), ListKind::Set, Some(MAX_ITEMS as i64)))
        .with_field("n", DeclType::list(DeclType::integer(), ListKind::Atomic, Some(MAX_ITEMS as i64)))
        .with_field("l", DeclType::list(DeclType::object(item, []), ListKind::Atomic, Some(MAX_ITEMS as i64)))
        .with_field("m", DeclType::map(text(), Some(MAX_ITEMS as i64)));
    let self_ = DeclType::object(object, []);
    Declarations::new().with("self", self_.clone()).with("oldSelf", self_)
}

/// An object of that schema, or nearly: some of its fields are absent, null or of another type if
/// `fitting` is false.
pub(crate) fn object(bytes: &mut Bytes<'_>, fitting: bool) -> Value {
    let mut out = Map::new();
    for name in ["b", "d", "h", "i", "l", "m", "n", "s", "t", "v"] {
        let choice = bytes.next();
        if !fitting && choice.is_multiple_of(8) {
            out.insert(name, value(bytes, 2));
        }
        if choice.is_multiple_of(4) {
            continue;
        }
        let count = u64::from(choice / 4) % (MAX_ITEMS + 1);
        let value = match name {
            "b" => Value::Bool(choice % 8 < 4),
            "d" => Value::Float(f64::from(choice) / 2.0 - 20.0),
            "i" => Value::Int(i64::from(choice) - 100),
            "t" => Value::from("2024-02-29T12:00:00Z"),
            "v" if choice % 8 < 4 => Value::from(i64::from(choice)),
            "s" | "v" => text(bytes),
            "n" => (0..count).map(|_| Value::Int(i64::from(bytes.next()))).collect::<Vec<_>>().into(),
            "h" => (0..count).map(|_| text(bytes)).collect::<Vec<_>>().into(),
            "m" => (0..count).map(|_| (any_name(bytes).into(), text(bytes))).collect::<Map>().into(),
            _ => {
                let mut item = || Map::from_iter([("s".into(), text(bytes)), ("i".into(), Value::Int(7))]);
                (0..count).map(|_| Value::from(item())).collect::<Vec<_>>().into()
            }
        };
        out.insert(name, value);
    }
    out.into()
}

fn text(bytes: &mut Bytes<'_>) -> Value {
    let texts = ["", "a", "abc", "äöü", "a.b-c/", "1", "10.0.0", "::1", "x=y", "1Gi", "日本語"];
    Value::from(texts[usize::from(bytes.next()) % texts.len()])
}

fn boolean(bytes: &mut Bytes<'_>, depth: u8, out: &mut String) {
    if depth == 0 {
        out.push_str(bytes.pick(&["true", "self.b", "has(self.s)", "x", "false"]));
        return;
    }
    match bytes.next() % 16 {
        0 => infix(bytes, depth, out, boolean, &[" && ", " || ", " == "]),
        1 => infix(bytes, depth, out, integer, &[" < ", " <= ", " == ", " != ", " > ", " >= "]),
        2 => infix(bytes, depth, out, string, &[" < ", " == ", " != ", " >= "]),
        3 => call(bytes, depth, out, string, &["contains", "startsWith", "endsWith", "matches"], string),
        4 | 5 => {
            list(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[".all(x, ", ".exists(x, ", ".exists_one(x, ", ".all(i, x, "]));
            boolean(bytes, depth - 1, out);
            out.push(')');
        }
        6 => {
            out.push('!');
            out.push('(');
            boolean(bytes, depth - 1, out);
            out.push(')');
        }
        7 => ternary(bytes, depth, out, boolean),
        8 => infix(bytes, depth, out, list, &[" == ", " != "]),
        9 => {
            string(bytes, depth - 1, out);
            out.push_str(" in ");
            list(bytes, depth - 1, out);
        }
        10 => {
            out.push_str(bytes.pick(&["isIP(", "isCIDR(", "isURL(", "isQuantity(", "isSemver(", "bool("]));
            string(bytes, depth - 1, out);
            out.push(')');
        }
        11 => {
            optional(bytes, depth - 1, out);
            out.push_str(".hasValue()");
        }
        12 => {
            list(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[
                ".isSorted()",
                ".size() > 1",
                ".distinct() == []",
                ".reverse() != []",
            ]));
        }
        13 => {
            out.push_str(bytes.pick(&["sets.contains(", "sets.intersects(", "sets.equivalent("]));
            list(bytes, depth - 1, out);
            out.push_str(", ");
            list(bytes, depth - 1, out);
            out.push(')');
        }
        14 => out.push_str(bytes.pick(&[
            "timestamp('2024-01-01T00:00:00Z') < self.t",
            "duration('1h') > duration('59m')",
            "quantity(self.s).isLessThan(quantity('1Gi'))",
            "ip(self.s).family() == 4",
            "cidr('10.0.0.0/8').containsIP(self.s)",
            "url(self.s).getHost() == ''",
            "semver('1.2.3') == semver(self.s)",
            "format.dns1123Label().validate(self.s).hasValue()",
            "type(self.v) == string",
            "self == oldSelf",
            "self.m == oldSelf.m",
        ])),
        _ => infix(bytes, depth, out, double, &[" < ", " == "]),
    }
}

fn integer(bytes: &mut Bytes<'_>, depth: u8, out: &mut String) {
    if depth == 0 {
        out.push_str(bytes.pick(&["1", "self.i", "0", "x", "9223372036854775807", "-1", "self.n[0]", "i"]));
        return;
    }
    match bytes.next() % 8 {
        0 | 1 => infix(bytes, depth, out, integer, &[" + ", " - ", " * ", " / ", " % "]),
        2 => {
            list(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[".size()", ".sum()", ".max()", ".indexOf('a')", ".min()"]));
        }
        3 => {
            string(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[".size()", ".indexOf('a')", ".lastIndexOf('')"]));
        }
        4 => {
            out.push_str("int(");
            string(bytes, depth - 1, out);
            out.push(')');
        }
        5 => ternary(bytes, depth, out, integer),
        6 => {
            optional(bytes, depth - 1, out);
            out.push_str(".orValue(");
            integer(bytes, depth - 1, out);
            out.push(')');
        }
        _ => integer(bytes, 0, out),
    }
}

fn double(bytes: &mut Bytes<'_>, depth: u8, out: &mut String) {
    if depth == 0 {
        out.push_str(bytes.pick(&["1.5", "self.d", "0.0", "-1e300", "double(self.i)"]));
        return;
    }
    infix(bytes, depth, out, double, &[" + ", " - ", " * ", " / "]);
}

fn string(bytes: &mut Bytes<'_>, depth: u8, out: &mut String) {
    if depth == 0 {
        out.push_str(bytes.pick(&["self.s", "'a'", "x", "''", "'ä(b*)'", "self.h[0]", "self.m['a']", "x.s"]));
        return;
    }
    match bytes.next() % 10 {
        0 | 1 => infix(bytes, depth, out, string, &[" + "]),
        2 => {
            string(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[
                ".lowerAscii()",
                ".upperAscii()",
                ".trim()",
                ".substring(1)",
                ".replace('a', 'bb')",
                ".charAt(0)",
                ".reverse()",
                ".find('[a-c]+')",
            ]));
        }
        3 => {
            out.push_str("string(");
            integer(bytes, depth - 1, out);
            out.push(')');
        }
        4 => {
            list(bytes, depth - 1, out);
            out.push_str(".join(");
            string(bytes, depth - 1, out);
            out.push(')');
        }
        5 => ternary(bytes, depth, out, string),
        6 => {
            out.push_str("'%s %d %v'.format([");
            string(bytes, depth - 1, out);
            out.push_str(", ");
            integer(bytes, depth - 1, out);
            out.push_str(", ");
            list(bytes, depth - 1, out);
            out.push_str("])");
        }
        _ => string(bytes, 0, out),
    }
}

fn list(bytes: &mut Bytes<'_>, depth: u8, out: &mut String) {
    if depth == 0 {
        out.push_str(bytes.pick(&[
            "self.h",
            "self.n",
            "self.l",
            "[]",
            "['a', 'b']",
            "self.m",
            "[1, 2, 3]",
            "x",
        ]));
        return;
    }
    match bytes.next() % 10 {
        0 => infix(bytes, depth, out, list, &[" + "]),
        1 | 2 => {
            list(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[".map(x, ", ".map(x, true, ", ".transformList(i, x, "]));
            string(bytes, depth - 1, out);
            out.push(')');
        }
        3 => {
            list(bytes, depth - 1, out);
            out.push_str(".filter(x, ");
            boolean(bytes, depth - 1, out);
            out.push(')');
        }
        4 => {
            string(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[".split('')", ".split('a', 2)", ".findAll('.')"]));
        }
        5 => {
            list(bytes, depth - 1, out);
            out.push_str(bytes.pick(&[
                ".sort()",
                ".distinct()",
                ".reverse()",
                ".slice(0, 1)",
                ".flatten()",
                ".sortBy(x, x)",
                ".transformMap(i, x, x)",
                ".transformMapEntry(i, x, {x: i})",
            ]));
        }
        6 => {
            out.push_str("[?");
            optional(bytes, depth - 1, out);
            out.push(']');
        }
        7 => {
            out.push('{');
            string(bytes, depth - 1, out);
            out.push_str(": ");
            integer(bytes, depth - 1, out);
            out.push('}');
        }
        8 => ternary(bytes, depth, out, list),
        _ => {
            out.push('[');
            string(bytes, depth - 1, out);
            out.push(']');
        }
    }
}

fn optional(bytes: &mut Bytes<'_>, depth: u8, out: &mut String) {
    out.push_str(bytes.pick(&[
        "self.?i",
        "self.?s",
        "self.h[?0]",
        "self.m[?'a']",
        "optional.none()",
        "optional.of(1)",
        "optional.ofNonZeroValue(self.s)",
        "self.n.first()",
    ]));
    if depth > 0 && bytes.next().is_multiple_of(2) {
        out.push_str(bytes.pick(&[".optMap(x, ", ".optFlatMap(x, optional.of(", ".or(optional.of("]));
        let closing = if out.ends_with("x, ") { ")" } else { "))" };
        integer(bytes, depth - 1, out);
        out.push_str(closing);
    }
}

type Form = fn(&mut Bytes<'_>, u8, &mut String);

fn infix(bytes: &mut Bytes<'_>, depth: u8, out: &mut String, operand: Form, operators: &[&str]) {
    out.push('(');
    operand(bytes, depth - 1, out);
    out.push_str(bytes.pick(operators));
    operand(bytes, depth - 1, out);
    out.push(')');
}

fn call(bytes: &mut Bytes<'_>, depth: u8, out: &mut String, target: Form, names: &[&str], arg: Form) {
    target(bytes, depth - 1, out);
    out.push('.');
    out.push_str(bytes.pick(names));
    out.push('(');
    arg(bytes, depth - 1, out);
    out.push(')');
}

fn ternary(bytes: &mut Bytes<'_>, depth: u8, out: &mut String, branch: Form) {
    out.push('(');
    boolean(bytes, depth - 1, out);
    out.push_str(" ? ");
    branch(bytes, depth - 1, out);
    out.push_str(" : ");
    branch(bytes, depth - 1, out);
    out.push(')');
}
