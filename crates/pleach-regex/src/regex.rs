//! [`Regex`]: a compiled pattern.

use crate::engine::{Finder, Matcher, STEPS_PER_WEIGHT};
use crate::error::Error;
use crate::metered::{Exhausted, spend};
use crate::parse::parse;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A regular expression as Go's `regexp.Compile` understands it.
///
/// Creating one checks the pattern; engines are built on first use. Clones share them.
///
/// ```
/// let regex = pleach_regex::Regex::new(r"^\d+$")?;
/// assert!(regex.is_match("42"));
/// assert!(!regex.is_match("٤٢"), r"\d is ASCII in Go");
/// # Ok::<(), pleach_regex::Error>(())
/// ```
#[derive(Clone)]
pub struct Regex(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pattern: Arc<str>,
    weight: u64,
    matcher: OnceLock<Matcher>,
    finder: OnceLock<Finder>,
    names: OnceLock<Box<[Option<Box<str>>]>>,
}

impl Regex {
    /// Checks a pattern.
    pub fn new(pattern: &str) -> Result<Self, Error> {
        let weight = parse(pattern)?.weight;
        Ok(Self(Arc::new(Shared {
            pattern: pattern.into(),
            weight,
            matcher: OnceLock::new(),
            finder: OnceLock::new(),
            names: OnceLock::new(),
        })))
    }

    /// For a pattern that is used a few times only: no engine is built that takes long to build.
    ///
    /// ```
    /// assert!(pleach_regex::Regex::lightweight("b+")?.is_match("abbc"));
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn lightweight(pattern: &str) -> Result<Self, Error> {
        let regex = Self::new(pattern)?;
        _ = regex.0.matcher.set(Matcher::Finder);
        Ok(regex)
    }

    /// The pattern.
    pub fn as_str(&self) -> &str {
        &self.0.pattern
    }

    pub(crate) fn pattern(&self) -> &Arc<str> {
        &self.0.pattern
    }

    fn parsed(&self) -> crate::ast::Parsed {
        parse(&self.0.pattern).expect("the pattern was checked when the value was made")
    }

    fn finder(&self) -> &Finder {
        self.0.finder.get_or_init(|| Finder::new(&self.parsed()))
    }

    /// The name of each group, the whole match first and nameless.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("(?P<year>[0-9]{4})-(..)")?;
    /// assert_eq!(regex.group_names()[1].as_deref(), Some("year"));
    /// assert_eq!(regex.group_names().len(), 3);
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn group_names(&self) -> &[Option<Box<str>>] {
        self.0.names.get_or_init(|| self.parsed().names.into())
    }

    /// Whether the pattern matches anywhere in the text.
    ///
    /// ```
    /// assert!(pleach_regex::Regex::new("b+")?.is_match("abbc"));
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn is_match(&self, text: &str) -> bool {
        let matcher = self.0.matcher.get_or_init(|| Matcher::new(&self.parsed()));
        matcher.is_match(text).unwrap_or_else(|| self.finder().is_match(text))
    }

    /// [`Regex::is_match`] within a number of steps of about ten nanoseconds. The steps taken,
    /// including the building of automata, are subtracted.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("b+")?;
    /// let mut steps = 10_000;
    /// assert_eq!(regex.is_match_within("abbc", &mut steps), Ok(true));
    /// assert!(steps < 10_000);
    /// assert_eq!(regex.is_match_within(&"a".repeat(100_000), &mut 1), Err(pleach_regex::Exhausted));
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn is_match_within(&self, text: &str, steps: &mut u64) -> Result<bool, Exhausted> {
        if self.0.matcher.get().is_none() {
            self.spend_building(steps)?;
        }
        let matcher = self.0.matcher.get_or_init(|| Matcher::new(&self.parsed()));
        if matcher.is_built() {
            spend(steps, 1 + text.len() as u64 / 16)?;
            if let Some(matches) = matcher.is_match(text) {
                return Ok(matches);
            }
        }
        self.finder_within(steps)?.is_match_within(text, || self.parsed(), steps)
    }

    /// [`Regex::find_all`] within a number of steps of about ten nanoseconds. The steps taken,
    /// including the building of automata, are subtracted.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("x*y|x")?;
    /// let (short, long) = ("x".repeat(10), "x".repeat(100_000));
    /// assert_eq!(regex.find_all_within(&short, None, &mut 10_000).map(|found| found.len()), Ok(10));
    /// let exhausted = regex.find_all_within(&long, None, &mut 1_000_000);
    /// assert_eq!(exhausted, Err(pleach_regex::Exhausted), "every match looks at all that is left");
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn find_all_within(
        &self,
        text: &str,
        limit: Option<usize>,
        steps: &mut u64,
    ) -> Result<Vec<Range<usize>>, Exhausted> {
        let limit = limit.unwrap_or(usize::MAX);
        let mut matches = Vec::new();
        if limit == 0 {
            return Ok(matches);
        }
        let finder = self.finder_within(steps)?;
        let mut exhausted = false;
        each(
            text,
            |from| {
                // A match costs more than its bytes.
                let found =
                    spend(steps, 4).and_then(|()| finder.find_within(text, from, || self.parsed(), steps));
                exhausted |= found.is_err();
                found.unwrap_or_default()
            },
            |found| *found,
            |found| {
                matches.push(found.0..found.1);
                matches.len() < limit
            },
        );
        if exhausted { Err(Exhausted) } else { Ok(matches) }
    }

    fn finder_within(&self, steps: &mut u64) -> Result<&Finder, Exhausted> {
        if self.0.finder.get().is_none() {
            self.spend_building(steps)?;
        }
        Ok(self.finder())
    }

    fn spend_building(&self, steps: &mut u64) -> Result<(), Exhausted> {
        spend(steps, STEPS_PER_WEIGHT.saturating_mul(self.0.weight))
    }

    /// The bytes of the leftmost match.
    ///
    /// ```
    /// assert_eq!(pleach_regex::Regex::new("b+")?.find("abbc"), Some(1..3));
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.finder().find_at(text, 0).map(|(start, end)| start..end)
    }

    /// All matches, at most `limit` of them. As in Go, an empty match directly after another match does
    /// not count.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("a*")?;
    /// assert_eq!(regex.find_all("baab", None), [0..0, 1..3, 4..4]);
    /// assert_eq!(regex.find_all("baab", Some(1)), [0..0]);
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn find_all(&self, text: &str, limit: Option<usize>) -> Vec<Range<usize>> {
        let limit = limit.unwrap_or(usize::MAX);
        let mut matches = Vec::new();
        if limit == 0 {
            return matches;
        }
        let finder = self.finder();
        each(
            text,
            |from| finder.find_at(text, from),
            |found| *found,
            |found| {
                matches.push(found.0..found.1);
                matches.len() < limit
            },
        );
        matches
    }

    /// The leftmost match and its groups.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("(a)|(b)")?;
    /// let groups = regex.captures("xb").expect("it matches");
    /// assert_eq!(groups, [Some(1..2), None, Some(1..2)]);
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn captures(&self, text: &str) -> Option<Vec<Option<Range<usize>>>> {
        spans(&self.groups_at(text, 0))
    }

    /// The groups of each match that [`Regex::find_all`] finds.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("([a-z])=[0-9]")?;
    /// let keys: Vec<_> = regex.captures_all("a=1 b=2", None).into_iter().map(|g| g[1].clone()).collect();
    /// assert_eq!(keys, [Some(0..1), Some(4..5)]);
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn captures_all(&self, text: &str, limit: Option<usize>) -> Vec<Vec<Option<Range<usize>>>> {
        let limit = limit.unwrap_or(usize::MAX);
        let mut matches = Vec::new();
        if limit == 0 {
            return matches;
        }
        let search = |from| Some(self.groups_at(text, from)).filter(|groups| !groups.is_empty());
        let whole = |groups: &Groups| groups[0].unwrap_or_default();
        each(text, search, whole, |groups| {
            matches.extend(spans(&groups));
            matches.len() < limit
        });
        matches
    }

    pub(crate) fn groups_at(&self, text: &str, from: usize) -> Groups {
        self.finder().groups_at(text, from, self.group_names().len())
    }

    /// Bytes held by the automata built so far, without scratch memory of running searches.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("^[a-z]+$")?;
    /// assert_eq!(regex.memory(), 0);
    /// regex.is_match("a");
    /// assert!(regex.memory() > 0);
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn memory(&self) -> usize {
        self.0.matcher.get().map_or(0, Matcher::memory) + self.0.finder.get().map_or(0, Finder::memory)
    }
}

/// The span of each group of a match.
pub(crate) type Groups = Vec<Option<(usize, usize)>>;

fn spans(groups: &Groups) -> Option<Vec<Option<Range<usize>>>> {
    let span = |group: &Option<(usize, usize)>| group.map(|(start, end)| start..end);
    (!groups.is_empty()).then(|| groups.iter().map(span).collect())
}

/// Iterates over the matches as Go does; `accept` returns whether to go on.
fn each<T>(
    text: &str,
    mut search: impl FnMut(usize) -> Option<T>,
    whole: impl Fn(&T) -> (usize, usize),
    mut accept: impl FnMut(T) -> bool,
) {
    let mut from = 0;
    let mut previous_end = None;
    while from <= text.len() {
        let Some(found) = search(from) else { return };
        let (start, end) = whole(&found);
        let repeats = end == from && previous_end == Some(start);
        from = if end == from { from + width_at(text, from).max(1) } else { end };
        previous_end = Some(end);
        if !repeats && !accept(found) {
            return;
        }
    }
}

/// The length of the character at byte `at`, zero at the end.
pub(crate) fn width_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Regex").field(&self.as_str()).finish()
    }
}

impl fmt::Display for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Two expressions are equal when their patterns are.
impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
    }
}

impl Eq for Regex {}
