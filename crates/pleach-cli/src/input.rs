//! From arguments to texts: files, directories, globs and standard input.
//!
//! A path that cannot be read does not stop the rest: it is returned as a [`Failure`], which makes
//! the exit code 2 at the end. Directories are walked in order of names, so output is the same on
//! every machine; hidden entries are left out, and symbolic links to directories are not followed.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A text to work on.
#[derive(Debug)]
pub struct Source {
    /// The name in messages.
    pub name: String,
    /// The file it was read from; none for standard input.
    pub path: Option<PathBuf>,
    /// The text, without a byte order mark.
    pub text: String,
    /// Where its lines start; computed on first use.
    lines: OnceLock<Box<[usize]>>,
}

impl Source {
    /// A text.
    pub fn new(name: impl Into<String>, path: Option<PathBuf>, text: impl Into<String>) -> Self {
        Self { name: name.into(), path, text: text.into(), lines: OnceLock::new() }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(breaks.map(|(i, _)| i + 1)).collect()
        })
    }

    /// The line and column of an offset, both counted from one; columns count characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines().partition_point(|start| *start <= offset);
        let start = self.lines()[line - 1];
        (line, self.text[start..offset].chars().count() + 1)
    }

    /// The `line`th line from the one with `offset` on, which is the first; without its indentation.
    pub fn line_after(&self, offset: usize, line: usize) -> Option<Range<usize>> {
        let first = self.position(offset).0;
        let start = *self.lines().get(first - 1 + line.checked_sub(1)?)?;
        let text = self.text[start..].split('\n').next()?;
        let indent = text.len() - text.trim_start().len();
        Some(start + indent..start + text.trim_end().len().max(indent))
    }
}

/// A path that could not be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The path as given.
    pub name: String,
    /// Why.
    pub why: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

/// An argument that stands for a text, found but not read yet.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// Finds the files that arguments stand for.
pub fn find(arguments: &[String]) -> (Vec<Found>, Vec<Failure>) {
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for argument in arguments {
        if argument == "-" {
            found.push(Found::Stdin);
            continue;
        }
        let path = Path::new(argument);
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                let before = found.len();
                walk(path, &mut found, &mut failures);
                if found.len() == before {
                    let why = "no .yaml, .yml or .json files in this directory".to_owned();
                    failures.push(Failure { name: argument.clone(), why });
                }
            }
            Ok(_) => found.push(Found::File(path.to_owned())),
            Err(_) if argument.contains(['*', '?', '[']) => expand(argument, &mut found, &mut failures),
            Err(error) => failures.push(Failure { name: argument.clone(), why: error.to_string() }),
        }
    }
    (found, failures)
}

fn expand(pattern: &str, found: &mut Vec<Found>, failures: &mut Vec<Failure>) {
    let failure = |why: String| Failure { name: pattern.to_owned(), why };
    let paths = match glob::glob(pattern) {
        Ok(paths) => paths,
        Err(error) => return failures.push(failure(error.to_string())),
    };
    let before = found.len();
    for path in paths {
        match path {
            Ok(path) if path.is_dir() => walk(&path, found, failures),
            Ok(path) => found.push(Found::File(path)),
            Err(error) => failures.push(failure(error.to_string())),
        }
    }
    if found.len() == before {
        failures.push(failure("no file matches".to_owned()));
    }
}

fn walk(directory: &Path, found: &mut Vec<Found>, failures: &mut Vec<Failure>) {
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        let link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
        if !path.is_dir() {
            if has_known_ending(&path) {
                found.push(Found::File(path));
            }
            continue;
        }
        if link && path != directory {
            continue;
        }
        match fs::read_dir(&path) {
            Ok(entries) => {
                let mut entries: Vec<PathBuf> = entries
                    .filter_map(Result::ok)
                    .map(|entry| entry.path())
                    .filter(|p| !is_hidden(p))
                    .collect();
                // The last is taken first.
                entries.sort_unstable_by(|a, b| b.cmp(a));
                pending.extend(entries);
            }
            Err(error) => {
                failures.push(Failure { name: path.display().to_string(), why: error.to_string() });
            }
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn has_known_ending(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| ["yaml", "yml", "json"].iter().any(|known| e.eq_ignore_ascii_case(known)))
}

impl Found {
    /// Reads the text.
    pub fn read(&self, input: &mut dyn Read) -> Result<Source, Failure> {
        let (name, path, bytes) = match self {
            Self::File(path) => (path.display().to_string(), Some(path.clone()), fs::read(path)),
            Self::Stdin => {
                let mut bytes = Vec::new();
                let read = input.read_to_end(&mut bytes);
                ("<stdin>".to_owned(), None, read.map(|_| bytes))
            }
        };
        match bytes.map_err(|error| error.to_string()).and_then(text) {
            Ok(text) => Ok(Source::new(name, path, text)),
            Err(why) => Err(Failure { name, why }),
        }
    }
}

/// The text that bytes are: UTF-8, or UTF-16 with a byte order mark.
fn text(bytes: Vec<u8>) -> Result<String, String> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| "neither UTF-8 nor UTF-16 text".to_owned())
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => return wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return wide(u16::from_be_bytes),
        _ => {}
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].split(|byte| *byte == b'\n').count();
        format!("line {line}: not UTF-8 text")
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text() {
        for (bytes, want) in [
            (b"a: 1".to_vec(), Ok("a: 1")),
            (b"\xef\xbb\xbfa: 1".to_vec(), Ok("a: 1")),
            (vec![0xff, 0xfe, b'a', 0], Ok("a")),
            (vec![0xfe, 0xff, 0, b'a'], Ok("a")),
            (b"a\nb\xff".to_vec(), Err("line 2: not UTF-8 text")),
        ] {
            assert_eq!(text(bytes).as_deref().map_err(String::as_str), want);
        }
    }

    #[test]
    fn offsets_are_lines_and_columns() {
        let source = Source::new("t", None, "a: 1\n  é: x\n\n");
        for (offset, want) in [(0, (1, 1)), (3, (1, 4)), (5, (2, 1)), (8, (2, 3)), (11, (2, 6)), (99, (4, 1))]
        {
            assert_eq!(source.position(offset), want, "{offset}");
        }
        assert_eq!(source.line_after(0, 2).map(|span| &source.text[span]), Some("é: x"));
        assert_eq!(source.line_after(5, 1).map(|span| &source.text[span]), Some("é: x"));
        assert_eq!((source.line_after(0, 0), source.line_after(0, 9)), (None, None));
    }

    #[test]
    fn directories_globs_and_missing_files() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        for name in ["b.yaml", "a.json", "sub/c.YML", "notes.txt", ".git/x.yaml"] {
            fs::write(root.join(name), "a: 1").unwrap();
        }
        let names = |found: &[Found]| -> Vec<String> {
            let name = |found: &Found| match found {
                Found::File(path) => path.strip_prefix(root).unwrap().display().to_string(),
                Found::Stdin => "-".to_owned(),
            };
            found.iter().map(name).collect()
        };
        let argument = |name: &str| root.join(name).display().to_string();
        let (found, failures) = find(&[argument(""), "-".to_owned()]);
        assert_eq!(names(&found), ["a.json", "b.yaml", "sub/c.YML", "-"]);
        assert!(failures.is_empty());
        let (found, failures) = find(&[argument("*.yaml"), argument("*.nothing"), argument("missing.yaml")]);
        assert_eq!(names(&found), ["b.yaml"]);
        let why: Vec<&str> = failures.iter().map(|f| f.why.as_str()).collect();
        assert_eq!(why, ["no file matches", "No such file or directory (os error 2)"]);
    }
}
