//! The media type in a `Content-Type`. An answer is refused when it is not one, whatever the body.

/// The type without its parameters, in lower case.
pub(super) fn parse(text: &str) -> Result<String, &'static str> {
    let (base, parameters) = text.split_once(';').unwrap_or((text, ""));
    let base = base.trim();
    let main = token(base);
    let rest = &base[main.len()..];
    if main.is_empty() {
        return Err("mime: no media type");
    }
    if !rest.is_empty() {
        let Some(rest) = rest.strip_prefix('/') else { return Err("mime: expected slash after first token") };
        let sub = token(rest);
        if sub.is_empty() {
            return Err("mime: expected token after slash");
        }
        if sub.len() < rest.len() {
            return Err("mime: unexpected content after media subtype");
        }
    }
    check(parameters)?;
    Ok(base.to_ascii_lowercase())
}

/// The parameters: names that do not contradict each other, with values.
fn check(mut rest: &str) -> Result<(), &'static str> {
    const INVALID: &str = "mime: invalid media parameter";
    let mut seen: Vec<(String, String)> = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(());
        }
        let name = token(rest);
        let value = rest[name.len()..].trim_start().strip_prefix('=').ok_or(INVALID)?.trim_start();
        let (value, after) = value_of(value).filter(|_| !name.is_empty()).ok_or(INVALID)?;
        let name = name.to_ascii_lowercase();
        if seen.iter().any(|(other, had)| *other == name && *had != value) {
            return Err("mime: duplicate parameter name");
        }
        seen.push((name, value));
        rest = after.trim_start();
        if !rest.is_empty() {
            rest = rest.strip_prefix(';').ok_or(INVALID)?;
        }
    }
}

/// A value, as a token or in quotes, and the rest of the text.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let value = token(text);
        return (!value.is_empty()).then(|| (value.to_owned(), &text[value.len()..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

fn token(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_graphic() || "()<>@,;:\\\"/[]?=".contains(c));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn as_go_reads_them() {
        for (text, wanted) in [
            ("//", Err("mime: no media type")),
            ("text", Ok("text")),
            ("text/", Err("mime: expected token after slash")),
            ("text/plain", Ok("text/plain")),
            ("text/plain; ", Ok("text/plain")),
            ("text/plain; x", Err("mime: invalid media parameter")),
            ("text/plain; x=", Err("mime: invalid media parameter")),
            ("text/plain;x=y;x=z", Err("mime: duplicate parameter name")),
            ("text/plain;x=y;x=y", Ok("text/plain")),
            ("a b/c", Err("mime: expected slash after first token")),
            ("text/plain x", Err("mime: unexpected content after media subtype")),
            ("; x=y", Err("mime: no media type")),
            (" text/plain ; charset=\"utf-8\"", Ok("text/plain")),
            ("text /plain", Err("mime: expected slash after first token")),
            ("text/plain; x=\"y", Err("mime: invalid media parameter")),
            ("\u{e9}", Err("mime: no media type")),
            ("text/plain;;x=y", Err("mime: invalid media parameter")),
            ("text/plain;x=y z", Err("mime: invalid media parameter")),
            ("a/b/c", Err("mime: unexpected content after media subtype")),
            ("TEXT/Plain", Ok("text/plain")),
            ("text/plain; charset=utf-8;", Ok("text/plain")),
        ] {
            assert_eq!(parse(text), wanted.map(str::to_owned), "{text}");
        }
    }
}
