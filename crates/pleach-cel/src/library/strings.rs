//! The extended string functions.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, Text};

mod format;

/// The extended string functions.
pub(super) static LIBRARY: Library = Library { name: "strings", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "charAt",
        call: Some(char_at),
        overloads: &[Overload::member("string_char_at_int", &[T::String, T::Int], T::String)],
    },
    Function {
        name: "format",
        call: Some(format::format),
        overloads: &[Overload::member("string_format", &[T::String, T::List(&T::Dyn)], T::String)
            .since(29)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "indexOf",
        call: Some(index_of),
        overloads: &[
            Overload::member("string_index_of_string", &[T::String, T::String], T::Int)
                .cost(StaticCost::StringScan),
            Overload::member("string_index_of_string_int", &[T::String, T::String, T::Int], T::Int)
                .cost(StaticCost::StringScan),
        ],
    },
    Function {
        name: "join",
        call: Some(join),
        overloads: &[
            Overload::member("list_join", &[T::List(&T::String)], T::String).cost(StaticCost::Join),
            Overload::member("list_join_string", &[T::List(&T::String), T::String], T::String)
                .cost(StaticCost::Join),
        ],
    },
    Function {
        name: "lastIndexOf",
        call: Some(last_index_of),
        overloads: &[
            Overload::member("string_last_index_of_string", &[T::String, T::String], T::Int)
                .cost(StaticCost::StringScan),
            Overload::member("string_last_index_of_string_int", &[T::String, T::String, T::Int], T::Int)
                .cost(StaticCost::StringScan),
        ],
    },
    Function {
        name: "lowerAscii",
        call: Some(lower_ascii),
        overloads: &[
            Overload::member("string_lower_ascii", &[T::String], T::String).cost(StaticCost::Traverse)
        ],
    },
    Function {
        name: "replace",
        call: Some(replace),
        overloads: &[
            Overload::member("string_replace_string_string", &[T::String, T::String, T::String], T::String)
                .cost(StaticCost::TraverseTwice),
            Overload::member(
                "string_replace_string_string_int",
                &[T::String, T::String, T::String, T::Int],
                T::String,
            )
            .cost(StaticCost::TraverseTwice),
        ],
    },
    Function {
        name: "split",
        call: Some(split),
        overloads: &[
            Overload::member("string_split_string", &[T::String, T::String], T::List(&T::String))
                .cost(StaticCost::TraverseTwice),
            Overload::member("string_split_string_int", &[T::String, T::String, T::Int], T::List(&T::String))
                .cost(StaticCost::TraverseTwice),
        ],
    },
    Function {
        name: "strings.quote",
        call: Some(quote),
        overloads: &[Overload::new("strings_quote", &[T::String], T::String)
            .since(29)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "substring",
        call: Some(substring),
        overloads: &[
            Overload::member("string_substring_int", &[T::String, T::Int], T::String)
                .cost(StaticCost::Traverse),
            Overload::member("string_substring_int_int", &[T::String, T::Int, T::Int], T::String)
                .cost(StaticCost::Traverse),
        ],
    },
    Function {
        name: "trim",
        call: Some(trim),
        overloads: &[Overload::member("string_trim", &[T::String], T::String).cost(StaticCost::Traverse)],
    },
    Function {
        name: "upperAscii",
        call: Some(upper_ascii),
        overloads: &[
            Overload::member("string_upper_ascii", &[T::String], T::String).cost(StaticCost::Traverse)
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// Part of a string by bytes, without copying where it is borrowed.
pub(super) fn slice<'v>(call: &Call<'_>, text: &Text<'v>, range: std::ops::Range<usize>) -> Outcome<'v> {
    match text {
        Text::Borrowed(text) => Ok(CelValue::String(Text::Borrowed(&text[range]))),
        Text::Owned(text) => {
            call.work.build(range.len())?;
            Ok(CelValue::string(&text[range]))
        }
    }
}

/// The byte at which the code point `index` begins; the end of the text is one too.
fn byte_of(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    if text.is_ascii() {
        return (index <= text.len()).then_some(index);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

/// How many code points come before a byte.
fn index_of_byte(text: &str, byte: usize) -> i64 {
    text[..byte].chars().count() as i64
}

fn out_of_range<'v>(index: i64) -> Outcome<'v> {
    Err(Fault::error(format!("index out of range: {index}")))
}

fn char_at<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::String(text), CelValue::Int(index)] = args else { return call.no_such_overload(args) };
    let Some(at) = byte_of(text.as_str(), *index) else { return out_of_range(*index) };
    let length = text.as_str()[at..].chars().next().map_or(0, char::len_utf8);
    slice(call, text, at..at + length)
}

fn index_of<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (text, part, offset) = match args {
        [CelValue::String(text), CelValue::String(part)] => (text.as_str(), part.as_str(), 0),
        [CelValue::String(text), CelValue::String(part), CelValue::Int(offset)] => {
            (text.as_str(), part.as_str(), *offset)
        }
        _ => return call.no_such_overload(args),
    };
    if part.is_empty() {
        return Ok(CelValue::Int(offset));
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    let found = byte_of(text, offset).and_then(|from| text[from..].find(part).map(|at| from + at));
    Ok(CelValue::Int(found.map_or(-1, |at| index_of_byte(text, at))))
}

fn last_index_of<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (text, part, offset) = match args {
        [CelValue::String(text), CelValue::String(part)] => (text.as_str(), part.as_str(), None),
        [CelValue::String(text), CelValue::String(part), CelValue::Int(offset)] => {
            (text.as_str(), part.as_str(), Some(*offset))
        }
        _ => return call.no_such_overload(args),
    };
    let Some(offset) = offset else {
        return Ok(CelValue::Int(text.rfind(part).map_or(-1, |at| index_of_byte(text, at))));
    };
    if part.is_empty() {
        return Ok(CelValue::Int(offset));
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    // The last place at or before the offset; an offset behind the text finds nothing.
    let Some(from) = byte_of(text, offset).filter(|from| *from < text.len()) else {
        return Ok(CelValue::Int(-1));
    };
    let mut end = (from + part.len()).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let found = text[..end].rfind(part).filter(|at| *at <= from);
    Ok(CelValue::Int(found.map_or(-1, |at| index_of_byte(text, at))))
}

fn unary<'v>(call: &Call<'_>, args: &[CelValue<'v>], of: fn(&str) -> String) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => {
            let length = text.as_str().len();
            call.work.read_bytes(length)?;
            call.work.build(2 * length)?;
            Ok(CelValue::string(of(text.as_str())))
        }
        _ => call.no_such_overload(args),
    }
}

fn lower_ascii<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    unary(call, args, str::to_ascii_lowercase)
}

fn upper_ascii<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    unary(call, args, str::to_ascii_uppercase)
}

fn trim<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::String(text)] = args else { return call.no_such_overload(args) };
    let whole = text.as_str();
    let start = whole.len() - whole.trim_start().len();
    slice(call, text, start..start + whole[start..].trim_end().len())
}

fn replace<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (text, from, to, limit) = match args {
        [CelValue::String(text), CelValue::String(from), CelValue::String(to)] => (text, from, to, None),
        [CelValue::String(text), CelValue::String(from), CelValue::String(to), CelValue::Int(limit)] => {
            (text, from, to, usize::try_from(*limit).ok())
        }
        _ => return call.no_such_overload(args),
    };
    let (text, from, to) = (text.as_str(), from.as_str(), to.as_str());
    call.work.read_bytes(text.len())?;
    let mut out = String::new();
    let mut last = 0;
    for (at, found) in text.match_indices(from).take(limit.unwrap_or(usize::MAX)) {
        let kept = &text[last..at];
        call.work.charge(1)?;
        call.work.build(kept.len() + to.len())?;
        out.push_str(kept);
        out.push_str(to);
        last = at + found.len();
    }
    call.work.build(text.len() - last)?;
    out.push_str(&text[last..]);
    Ok(CelValue::string(out))
}

fn split<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (text, separator, limit) = match args {
        [CelValue::String(text), CelValue::String(separator)] => (text, separator, None),
        [CelValue::String(text), CelValue::String(separator), CelValue::Int(limit)] => {
            (text, separator, usize::try_from(*limit).ok())
        }
        _ => return call.no_such_overload(args),
    };
    let (whole, separator) = (text.as_str(), separator.as_str());
    let limit = limit.unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut at = 0;
    if limit == 0 || (separator.is_empty() && whole.is_empty()) {
        return Ok(CelValue::list(parts));
    }
    while parts.len() + 1 < limit {
        let next = if separator.is_empty() {
            // Between any two code points.
            let length = whole[at..].chars().next().map_or(0, char::len_utf8);
            (at + length < whole.len()).then_some((at + length, 0))
        } else {
            whole[at..].find(separator).map(|found| (at + found, separator.len()))
        };
        let Some((end, skip)) = next else { break };
        call.work.build_items(1)?;
        call.work.look()?;
        parts.push(slice(call, text, at..end)?);
        at = end + skip;
    }
    parts.push(slice(call, text, at..whole.len())?);
    Ok(CelValue::list(parts))
}

fn substring<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (text, start, end) = match args {
        [CelValue::String(text), CelValue::Int(start)] => (text, *start, None),
        [CelValue::String(text), CelValue::Int(start), CelValue::Int(end)] => (text, *start, Some(*end)),
        _ => return call.no_such_overload(args),
    };
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Fault::error(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let whole = text.as_str();
    let Some(from) = byte_of(whole, start) else { return out_of_range(start) };
    let Some(end) = end else { return slice(call, text, from..whole.len()) };
    match byte_of(whole, end) {
        Some(to) => slice(call, text, from..to),
        None => out_of_range(end),
    }
}

fn join<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (list, separator) = match args {
        [CelValue::List(list)] => (list, ""),
        [CelValue::List(list), CelValue::String(separator)] => (list, separator.as_str()),
        _ => return call.no_such_overload(args),
    };
    let mut out = String::new();
    for (i, item) in call.work.items(list).enumerate() {
        let CelValue::String(part) = item? else { return call.no_such_overload(args) };
        call.work.build(part.as_str().len() + separator.len())?;
        if i > 0 {
            out.push_str(separator);
        }
        out.push_str(part.as_str());
    }
    Ok(CelValue::string(out))
}

/// Like Go's quotes, but only what would break a line or the quotes is escaped.
fn quote<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    unary(call, args, |text| {
        let mut out = String::with_capacity(text.len() + 2);
        out.push('"');
        for c in text.chars() {
            match pleach_go::strconv::short_escape(c) {
                Some(escape) => out.push_str(escape),
                None => out.push(c),
            }
        }
        out.push('"');
        out
    })
}
