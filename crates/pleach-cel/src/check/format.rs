//! Validates `'%s'.format([x])` with a constant format string.
//!
//! Reports the first problem only. Clauses are read bytewise, so that a non-ASCII character after `%`
//! shows as its first byte.

use crate::ast::{Expr, ExprId, Literal};
use crate::checked::Checked;
use crate::types::Type;

/// Checks the call `id` of `format` on `target`; nothing if text or arguments are not constants.
pub(super) fn validate(
    checked: &Checked,
    target: ExprId,
    id: ExprId,
    args: &[ExprId],
    report: &mut dyn FnMut(ExprId, String),
) {
    let ast = checked.ast();
    let Expr::Literal(Literal::String(text)) = ast.expr(target) else { return };
    let [list] = args else { return };
    let Expr::List { elements, .. } = ast.expr(*list) else { return };
    match formats(checked, text.as_bytes(), elements) {
        Ok(used) if used < elements.len() => {
            let count = elements.len();
            report(
                id,
                format!("too many arguments supplied to string.format (expected {used}, got {count})"),
            );
        }
        Ok(_) => {}
        Err((at, message)) => report(at.unwrap_or(id), message),
    }
}

/// How many arguments are used, or the error and its argument.
fn formats(checked: &Checked, text: &[u8], args: &[ExprId]) -> Result<usize, (Option<ExprId>, String)> {
    let (mut at, mut used) = (0, 0);
    while at < text.len() {
        if text[at] != b'%' {
            at += 1;
            continue;
        }
        at += 1;
        if at >= text.len() {
            return Err((None, "unexpected end of string".into()));
        }
        if text[at] == b'%' {
            at += 1;
            continue;
        }
        let Some(&arg) = args.get(used) else { return Err((None, format!("index {used} out of range"))) };
        let unreadable = |message: String| (None, format!("could not parse formatting clause: {message}"));
        at += precision(&text[at..])
            .map_err(|message| unreadable(format!("error while parsing precision: {message}")))?;
        let clause = text[at];
        let unfit = |(arg, message)| (Some(arg), format!("error during formatting: {message}"));
        match clause {
            b's' => string(checked, arg).map_err(unfit)?,
            b'd' | b'f' | b'e' | b'x' | b'X' | b'o' | b'b' => number(checked, clause, arg).map_err(unfit)?,
            other => {
                let shown = pleach_go::strconv::quote(&char::from(other).to_string());
                return Err(unreadable(format!("unrecognized formatting clause {shown}")));
            }
        }
        used += 1;
        at += 1;
    }
    Ok(used)
}

/// The length of `.123`, after which there must be something.
fn precision(text: &[u8]) -> Result<usize, String> {
    if text.first() != Some(&b'.') {
        return Ok(0);
    }
    let length = text[1..].iter().take_while(|b| b.is_ascii_digit()).count();
    if 1 + length >= text.len() {
        return Err("could not find end of precision specifier".into());
    }
    let digits = String::from_utf8_lossy(&text[1..=length]);
    match pleach_go::strconv::atoi(&digits) {
        Ok(_) => Ok(1 + length),
        Err(error) => Err(format!("error while converting precision to integer: {error}")),
    }
}

fn number(checked: &Checked, clause: u8, arg: ExprId) -> Result<(), (ExprId, String)> {
    let ty = checked.type_of(arg).unwrap_wrapper();
    let integer = matches!(ty, Type::Int | Type::Uint);
    let (fits, complaint) = match clause {
        b'd' => (integer, "decimal clause can only be used on integers"),
        b'f' => (matches!(ty, Type::Double | Type::String), "fixed-point clause can only be used on doubles"),
        b'e' => (matches!(ty, Type::Double | Type::String), "scientific clause can only be used on doubles"),
        b'o' => (integer, "octal clause can only be used on integers"),
        b'b' => (integer || *ty == Type::Bool, "only integers and bools can be formatted as binary"),
        _ => (
            integer || matches!(ty, Type::String | Type::Bytes),
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
    };
    if fits || ty.is_dyn() { Ok(()) } else { Err((arg, format!("{complaint}, was given {}", ty.name()))) }
}

/// `%s` takes almost everything; of lists and maps written out, the elements are looked at.
fn string(checked: &Checked, arg: ExprId) -> Result<(), (ExprId, String)> {
    let ty = checked.type_of(arg);
    match (ty, checked.ast().expr(arg)) {
        (Type::List(_), Expr::List { elements, .. }) => {
            elements.iter().try_for_each(|id| string(checked, *id))
        }
        (Type::Map(_), Expr::Map(entries)) => entries.iter().try_for_each(|e| {
            string(checked, e.key)?;
            string(checked, e.value)
        }),
        (Type::Opaque(..) | Type::Object(_) | Type::Param(_), _) => {
            let complaint = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
            Err((arg, format!("{complaint}, was given {}", ty.name())))
        }
        _ => Ok(()),
    }
}
