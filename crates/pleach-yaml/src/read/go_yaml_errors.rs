//! Translation of the parser's errors to go-yaml's texts.
//!
//! The two parsers name the same errors differently and find some of them at other positions. The rules
//! were fitted to a table of go-yaml's errors; an error without a counterpart keeps the parser's text.

use granit_parser::{ErrorKind, ScanError};

use crate::error::{Place, Stage, YamlError};

const NODE_CONTENT: &str = "did not find expected node content";
const KEY: &str = "did not find expected key";
const END_OF_STREAM: &str = "found unexpected end of stream";
const MAPPING_VALUES: &str = "mapping values are not allowed in this context";
const CANNOT_START: &str = "found character that cannot start any token";
const DOCUMENT_START: &str = "did not find expected <document start>";
const ANCHOR_NAME: &str = "did not find expected alphabetic or numeric character";
const TAB_IN_SCALAR: &str = "found a tab character that violates indentation";
const ESCAPE_CODE: &str = "found invalid Unicode character escape code";

/// The error as go-yaml reports it.
pub(super) fn explain(error: &ScanError, text: &str) -> YamlError {
    use ErrorKind as E;
    use Stage::{Parser, Scanner};
    let mark = error.marker();
    let offset = mark.byte_offset().unwrap_or(text.len()).min(text.len());
    let here = Place { line: mark.line(), column: mark.col() + 1, offset };
    let at = |stage, words: &str, place| YamlError::new(stage, words, Some(place));
    match error.kind() {
        E::UnexpectedCharacter { .. } | E::TabInBlockIndentation | E::TabNotAllowed | E::TabInIndentation => {
            at(Scanner, CANNOT_START, here)
        }
        E::TabInPlainScalar => at(Scanner, TAB_IN_SCALAR, next_token(text, offset)),
        E::TabAtBlockScalarStart => at(
            Scanner,
            "found a tab character where an indentation space is expected",
            next_token(text, offset),
        ),
        E::MappingValueNotAllowed => at(Scanner, MAPPING_VALUES, here),
        E::MappingKeyNotAllowed => at(Scanner, "mapping keys are not allowed in this context", here),
        E::BlockSequenceEntryNotAllowed => {
            at(Scanner, "block sequence entries are not allowed in this context", here)
        }
        E::SimpleKeyExpected => at(Scanner, "could not find expected ':'", next_token(text, offset)),
        E::CommentInterceptedScalar => at(Parser, KEY, next_token(text, offset)),
        E::ExpectedBlockSequenceEntry => at(Parser, "did not find expected '-' indicator", here),
        E::InvalidColonPlacement | E::ExpectedFlowMappingSeparator | E::ExpectedFlowSequenceSeparator => {
            at(Parser, separator(open_bracket(text, offset)), here)
        }
        E::UnclosedFlowCollection { .. } => {
            let words =
                if wants_node(text) { NODE_CONTENT } else { separator(open_bracket(text, text.len())) };
            at(Parser, words, end(text))
        }
        E::MismatchedFlowCollectionEnd { open, close } => {
            let close = text[offset..].find(*close).map_or(text.len(), |i| offset + i);
            let words = if wants_node(&text[..close]) { NODE_CONTENT } else { separator(Some(*open)) };
            at(Parser, words, place(text, close))
        }
        E::MisplacedFlowCollectionEnd if wants_node(&text[..offset]) => at(Parser, NODE_CONTENT, here),
        E::MisplacedFlowCollectionEnd if text.trim_start().starts_with(['[', '{']) => {
            at(Parser, DOCUMENT_START, here)
        }
        E::MisplacedFlowCollectionEnd | E::ExpectedBlockMappingKey | E::InvalidBlockScalarIndent => {
            at(Parser, KEY, here)
        }
        E::UnexpectedEofImplicitFlowMapping
        | E::UnexpectedEofBlockSequence
        | E::UnexpectedEofBlockMapping
        | E::ExpectedNodeContent
        | E::BlockEntryInFlowCollection => at(Parser, NODE_CONTENT, here),
        E::UnclosedQuotedScalar | E::InvalidQuotedScalarIndent => quoted(text, offset),
        E::DocumentIndicatorInQuotedScalar => at(Scanner, "found unexpected document indicator", here),
        E::InvalidTrailingDoubleQuotedScalar | E::InvalidTrailingSingleQuotedScalar => {
            if text[offset..].starts_with(':') {
                at(Scanner, MAPPING_VALUES, here)
            } else if let Some(open) = open_bracket(text, offset) {
                at(Parser, separator(Some(open)), here)
            } else if text.trim_start().starts_with(['"', '\'']) {
                at(Parser, DOCUMENT_START, here)
            } else {
                at(Parser, KEY, here)
            }
        }
        E::UnknownQuotedScalarEscape => at(Scanner, "found unknown escape character", here),
        E::InvalidQuotedScalarHexEscape => at(Scanner, "did not find expected hexdecimal number", here),
        E::MissingLowSurrogate
        | E::UnpairedLowSurrogate
        | E::InvalidLowSurrogate
        | E::InvalidLowSurrogateHexEscape
        | E::InvalidUnicodeEscape => at(Scanner, ESCAPE_CODE, here),
        E::MissingAnchorOrAliasName => at(Scanner, ANCHOR_NAME, here),
        E::MissingTagUri => at(Scanner, "did not find expected tag URI", here),
        E::UnclosedVerbatimTag => at(Scanner, "did not find the expected '>'", here),
        E::UndeclaredTagHandle => at(Parser, "found undefined tag handle", here),
        E::InvalidBlockScalarHeader => at(Scanner, "did not find expected comment or line break", here),
        E::ZeroBlockScalarIndent => at(Scanner, "found an indentation indicator equal to 0", here),
        E::MissingDirectiveName => at(Scanner, "could not find expected directive name", here),
        E::MissingYamlVersion => at(Scanner, "did not find expected version number", here),
        E::UnsupportedYamlMajorVersion => at(Parser, "found incompatible YAML document", here),
        E::DuplicateVersionDirective => at(Parser, "found duplicate %YAML directive", here),
        E::ExpectedDocumentStart | E::InvalidDocumentEnd => at(Parser, DOCUMENT_START, here),
        E::RecursionLimitExceeded => at(Scanner, "exceeded max depth of 10000", here),
        _ => at(Scanner, &error.info(), here),
    }
}

/// The text without an error that go-yaml does not report: it ignores the indentation of flow
/// collections and quoted scalars. Line numbers do not change.
pub(super) fn repair(error: &ScanError, text: &str) -> Option<String> {
    let offset = error.marker().byte_offset()?;
    match error.kind() {
        // Leading blanks are not part of a quoted scalar.
        ErrorKind::InvalidQuotedScalarIndent => {
            let start = text[..offset].rfind('\n')? + 1;
            let line = &text[start..];
            let is_marker = line.starts_with("---") || line.starts_with("...");
            (!is_marker).then(|| format!("{}{:200}{line}", &text[..start], ""))
        }
        ErrorKind::TabInBlockIndentation | ErrorKind::TabNotAllowed | ErrorKind::TabInIndentation => {
            open_bracket(text, offset)?;
            let start = text[..offset].rfind('\n')? + 1;
            let content = text[start..].trim_start_matches([' ', '\t']);
            let blanks = text.len() - content.len() - start;
            Some(format!("{}{:blanks$}{content}", &text[..start], ""))
        }
        _ => None,
    }
}

/// Errors in directives that go-yaml reports and the parser does not.
pub(super) fn check_directives(text: &str) -> Result<(), YamlError> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let words = match line.strip_prefix('%') {
            None if line.trim().is_empty() || line.starts_with('#') => None,
            None => return Ok(()),
            Some(directive) => {
                let end = directive.find(|c: char| !is_name(c)).unwrap_or(directive.len());
                match (&directive[..end], directive[end..].chars().next()) {
                    ("", _) => None,
                    (_, Some(c)) if !c.is_whitespace() => Some("found unexpected non-alphabetical character"),
                    ("YAML" | "TAG", _) => None,
                    _ => Some("found unknown directive name"),
                }
            }
        };
        if let Some(words) = words {
            return Err(YamlError::new(Stage::Scanner, words, Some(place(text, offset))));
        }
        offset += line.len();
    }
    Ok(())
}

/// Escapes of YAML 1.2 that go-yaml does not support: `\/`, and surrogates.
pub(super) fn check_escapes(text: &str, start: usize, end: usize) -> Result<(), YamlError> {
    let raw = text.get(start..end).unwrap_or_default();
    let mut at = 0;
    while let Some(i) = raw[at..].find('\\') {
        let escape = &raw.as_bytes()[at + i + 1..];
        let words = match escape {
            [b'/', ..] => Some("found unknown escape character"),
            [b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => Some(ESCAPE_CODE),
            _ => None,
        };
        if let Some(words) = words {
            return Err(YamlError::new(Stage::Scanner, words, Some(place(text, start + at + i))));
        }
        // Past the backslash and the character behind it, which may be a backslash too.
        let width = raw[at + i + 1..].chars().next().map_or(0, char::len_utf8);
        at += i + 1 + width;
    }
    Ok(())
}

/// A tab where a block collection or key may start is indentation to go-yaml.
pub(super) fn check_tab(text: &str, start: usize) -> Result<(), YamlError> {
    let before = &text[..start.min(text.len())];
    let content = before.trim_end_matches([' ', '\t']);
    let tab = before[content.len()..].contains('\t');
    if tab && (content.is_empty() || content.ends_with(['\n', '-', '?'])) {
        return Err(YamlError::new(Stage::Scanner, CANNOT_START, Some(place(text, start))));
    }
    Ok(())
}

/// Names of anchors are letters, digits, `-` and `_`.
pub(super) fn check_anchor(text: &str, name: &str, start: usize) -> Result<(), YamlError> {
    if name.chars().all(is_name) {
        return Ok(());
    }
    Err(YamlError::new(Stage::Scanner, ANCHOR_NAME, Some(place(text, start))))
}

/// A key that is left out before a colon.
pub(super) fn no_key(text: &str, offset: usize, flow: bool) -> YamlError {
    YamlError::new(Stage::Parser, if flow { NODE_CONTENT } else { KEY }, Some(place(text, offset)))
}

pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// An unterminated quoted scalar: at a document marker, or at the end.
fn quoted(text: &str, offset: usize) -> YamlError {
    let mut at = offset;
    for line in text[offset..].split_inclusive('\n') {
        if (line.starts_with("---") || line.starts_with("..."))
            && line[3..].chars().next().is_none_or(char::is_whitespace)
            && (at == 0 || text[..at].ends_with('\n'))
        {
            return YamlError::new(
                Stage::Scanner,
                "found unexpected document indicator",
                Some(place(text, at)),
            );
        }
        at += line.len();
    }
    YamlError::new(Stage::Scanner, END_OF_STREAM, Some(place(text, text.len())))
}

fn separator(open: Option<char>) -> &'static str {
    if open == Some('{') { "did not find expected ',' or '}'" } else { "did not find expected ',' or ']'" }
}

/// Whether the text ends where a node should follow.
fn wants_node(text: &str) -> bool {
    let before = text.trim_end();
    before.is_empty() || before.ends_with(['[', '{', ',', ':', '-', '?', '\n'])
}

/// The innermost bracket that is open at `offset`. Skips quoted text.
fn open_bracket(text: &str, offset: usize) -> Option<char> {
    let mut open = Vec::new();
    let mut quote = None;
    let mut previous = ' ';
    for c in text[..offset].chars() {
        match (quote, c) {
            (Some(q), _) if q == c && !(q == '"' && previous == '\\') => quote = None,
            (None, '"' | '\'') if !previous.is_alphanumeric() => quote = Some(c),
            (None, '[' | '{') => open.push(c),
            (None, ']' | '}') => _ = open.pop(),
            _ => {}
        }
        previous = c;
    }
    open.pop()
}

/// The position of an offset.
fn place(text: &str, offset: usize) -> Place {
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    Place { line, column, offset }
}

/// The end of the text, which is always at the start of a line.
fn end(text: &str) -> Place {
    let mut end = place(text, text.len());
    if end.column > 1 {
        end = Place { line: end.line + 1, column: 1, ..end };
    }
    end
}

/// The first thing after the line of `offset`.
fn next_token(text: &str, offset: usize) -> Place {
    let mut at = text[offset..].find('\n').map_or(text.len(), |i| offset + i + 1);
    for line in text[at..].split_inclusive('\n') {
        let content = line.trim_start();
        if !content.is_empty() {
            return place(text, at + line.len() - content.len());
        }
        at += line.len();
    }
    end(text)
}
