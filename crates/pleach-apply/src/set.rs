//! Sets of paths, as tries: every node is a step, and may itself be a member.
//!
//! Steps are sorted at every level, so the algebra walks two tries side by side. A set never holds a
//! node that is no member and leads to none: an empty set has no nodes.

use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;

use pleach_json::{grow_stack, grow_stack_to_drop};
use pleach_work::charge;

use crate::element::PathElement;

/// A path from the root of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub Vec<PathElement>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

/// A set of paths.
#[derive(Default)]
pub struct Set(Vec<Node>);

/// A step, whether the path that ends here is a member, and the paths that go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: PathElement,
    pub(crate) member: bool,
    pub(crate) children: Set,
}

impl Node {
    /// The node, unless it is empty.
    fn new(element: &PathElement, member: bool, children: Set) -> Option<Self> {
        (member || !children.is_empty()).then(|| Self { element: element.clone(), member, children })
    }
}

impl Set {
    /// The empty set.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty set with room for this many steps.
    pub(crate) fn with_capacity(steps: usize) -> Self {
        Self(Vec::with_capacity(steps))
    }

    /// A set of these paths of field names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.iter().map(|name| PathElement::field(*name)));
        }
        set
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        grow_stack(|| self.0.iter().map(|node| usize::from(node.member) + node.children.len()).sum())
    }

    pub(crate) fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.0
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.0
    }

    /// Where a step is, or would be.
    fn position(&self, element: &PathElement) -> Result<usize, usize> {
        self.0.binary_search_by(|node| node.element.cmp(element))
    }

    pub(crate) fn node(&self, element: &PathElement) -> Option<&Node> {
        self.position(element).ok().map(|i| &self.0[i])
    }

    /// The step of a field.
    pub(crate) fn field_node(&self, name: &str) -> Option<&Node> {
        // Fields sort before all other elements.
        let compare = |node: &Node| match &node.element {
            PathElement::Field(own) => own.as_str().cmp(name),
            _ => Ordering::Greater,
        };
        self.0.binary_search_by(compare).ok().map(|i| &self.0[i])
    }

    /// Adds a path. The empty path is no member of any set.
    pub fn insert(&mut self, path: impl IntoIterator<Item = PathElement>) {
        let mut path = path.into_iter().peekable();
        let mut at = self;
        while let Some(element) = path.next() {
            let i = match at.position(&element) {
                Ok(i) => i,
                Err(i) => {
                    at.0.insert(i, Node { element, member: false, children: Self::new() });
                    i
                }
            };
            let node = &mut at.0[i];
            node.member |= path.peek().is_none();
            at = &mut node.children;
        }
    }

    /// Adds an element that sorts after all others; an empty one is left out.
    pub(crate) fn push(&mut self, element: PathElement, member: bool, children: Self) {
        if member || !children.is_empty() {
            self.0.push(Node { element, member, children });
        }
    }

    /// Brings steps that were pushed out of order into order, and joins those that are the same.
    pub(crate) fn sort(&mut self) {
        self.0.sort_by(|a, b| a.element.cmp(&b.element));
        if self.0.is_sorted_by(|a, b| a.element < b.element) {
            return;
        }
        let mut joined: Vec<Node> = Vec::with_capacity(self.0.len());
        for node in self.0.drain(..) {
            match joined.last_mut() {
                Some(last) if last.element == node.element => {
                    last.member |= node.member;
                    last.children = last.children.union(&node.children);
                }
                _ => joined.push(node),
            }
        }
        self.0 = joined;
    }

    /// Whether a path is a member.
    pub fn has(&self, path: &[PathElement]) -> bool {
        let Some((last, first)) = path.split_last() else { return false };
        let mut at = self;
        for element in first {
            match at.node(element) {
                Some(node) => at = &node.children,
                None => return false,
            }
        }
        at.node(last).is_some_and(|node| node.member)
    }

    /// Every member, those that end at a level before those that go on.
    pub fn paths(&self) -> Vec<Path> {
        let mut out = Vec::new();
        self.try_each_path(&mut |path| {
            out.push(Path(path.to_vec()));
            ControlFlow::Continue(())
        });
        out
    }

    /// Goes along every member in the order of [`Self::paths`], until `each` ends it.
    pub(crate) fn try_each_path(&self, each: &mut dyn FnMut(&[PathElement]) -> ControlFlow<()>) {
        let _ = self.visit(&mut Vec::new(), each);
    }

    fn visit(
        &self,
        at: &mut Vec<PathElement>,
        each: &mut dyn FnMut(&[PathElement]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        charge(self.0.len() as u64);
        for node in self.0.iter().filter(|node| node.member) {
            at.push(node.element.clone());
            each(at)?;
            at.pop();
        }
        for node in self.0.iter().filter(|node| !node.children.is_empty()) {
            at.push(node.element.clone());
            grow_stack(|| node.children.visit(at, each))?;
            at.pop();
        }
        ControlFlow::Continue(())
    }

    /// The union.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        zip(self, other, |pair| match pair {
            Pair::Left(a) => Some(a.clone()),
            Pair::Right(b) => Some(b.clone()),
            Pair::Both(a, b) => Node::new(&a.element, a.member || b.member, a.children.union(&b.children)),
        })
    }

    /// The intersection.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        zip(self, other, |pair| match pair {
            Pair::Left(_) | Pair::Right(_) => None,
            Pair::Both(a, b) => {
                Node::new(&a.element, a.member && b.member, a.children.intersection(&b.children))
            }
        })
    }

    /// The difference. Removing a path leaves the paths below it.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        zip(self, other, |pair| match pair {
            Pair::Left(a) => Some(a.clone()),
            Pair::Right(_) => None,
            Pair::Both(a, b) => {
                Node::new(&a.element, a.member && !b.member, a.children.difference(&b.children))
            }
        })
    }

    /// The difference without the paths below those of the other set.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        zip(self, other, |pair| match pair {
            Pair::Left(a) => Some(a.clone()),
            Pair::Right(_) => None,
            Pair::Both(_, b) if b.member => None,
            Pair::Both(a, b) => Node::new(&a.element, a.member, a.children.recursive_difference(&b.children)),
        })
    }

    /// Whether the two have a member in common.
    pub fn intersects(&self, other: &Self) -> bool {
        charge(self.0.len().min(other.0.len()) as u64);
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.element.cmp(&y.element) {
                Ordering::Less => drop(a.next()),
                Ordering::Greater => drop(b.next()),
                Ordering::Equal => {
                    if (x.member && y.member) || grow_stack(|| x.children.intersects(&y.children)) {
                        return true;
                    }
                    a.next();
                    b.next();
                }
            }
        }
        false
    }

    /// Whether every member is one of the other's.
    pub fn is_subset(&self, other: &Self) -> bool {
        charge(self.0.len() as u64);
        self.0.iter().all(|node| match other.node(&node.element) {
            Some(found) => {
                (!node.member || found.member) && grow_stack(|| node.children.is_subset(&found.children))
            }
            None => false,
        })
    }
}

enum Pair<'a> {
    Left(&'a Node),
    Right(&'a Node),
    Both(&'a Node, &'a Node),
}

/// Walks two sets together and keeps the result of `keep` for each element.
fn zip(a: &Set, b: &Set, mut keep: impl FnMut(Pair<'_>) -> Option<Node>) -> Set {
    grow_stack(|| {
        charge((a.0.len() + b.0.len()) as u64);
        let mut out = Vec::with_capacity(a.0.len().max(b.0.len()));
        let (mut a, mut b) = (a.0.iter().peekable(), b.0.iter().peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(x), Some(y)) => x.element.cmp(&y.element),
            };
            let left = if order.is_le() { a.next() } else { None };
            let right = if order.is_ge() { b.next() } else { None };
            out.extend(match (left, right) {
                (Some(x), Some(y)) => keep(Pair::Both(x, y)),
                (Some(x), None) => keep(Pair::Left(x)),
                (None, Some(y)) => keep(Pair::Right(y)),
                (None, None) => None,
            });
        }
        Set(out)
    })
}

impl Drop for Set {
    fn drop(&mut self) {
        if self.0.iter().any(|node| !node.children.is_empty()) {
            grow_stack_to_drop(|| self.0.clear());
        }
    }
}

impl Clone for Set {
    fn clone(&self) -> Self {
        if self.0.is_empty() {
            return Self::new();
        }
        charge(self.0.len() as u64);
        grow_stack(|| Self(self.0.clone()))
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        grow_stack(|| self.0 == other.0)
    }
}

impl Eq for Set {}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.paths().iter().map(ToString::to_string)).finish()
    }
}

impl FromIterator<Path> for Set {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.0);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> Set {
        let mut set = Set::new();
        for path in paths {
            set.insert(path.split('.').map(PathElement::field));
        }
        set
    }

    #[test]
    fn algebra() {
        let (a, b) = (set(&["m", "m.a", "m.b.c", "x"]), set(&["m", "m.b.c", "y"]));
        assert_eq!(a.union(&b), set(&["m", "m.a", "m.b.c", "x", "y"]));
        assert_eq!(a.intersection(&b), set(&["m", "m.b.c"]));
        assert_eq!(a.difference(&b), set(&["m.a", "x"]), "what is below stays");
        assert_eq!(a.recursive_difference(&b), set(&["x"]), "what is below goes");
        assert!(a.intersects(&b));
        assert!(!a.intersects(&set(&["m.b", "y"])));
        assert!(set(&["m.a"]).is_subset(&a));
        assert!(!a.is_subset(&b));
        assert_eq!(a.len(), 4);
        assert!(a.difference(&a).is_empty(), "no nodes are left behind");
    }

    #[test]
    fn members_of_a_level_come_before_what_goes_on() {
        let paths: Vec<_> = set(&["a.b", "z", "m"]).paths().iter().map(ToString::to_string).collect();
        assert_eq!(paths, [".m", ".z", ".a.b"]);
    }

    #[test]
    fn ten_thousand_levels() {
        let mut deep = Set::new();
        for _ in 0..10_000 {
            let mut above = Set::new();
            above.push(PathElement::field("a"), true, deep);
            deep = above;
        }
        assert_eq!(deep.clone(), deep);
        assert_eq!(deep.union(&deep).len(), 10_000);
        assert!(deep.difference(&deep).is_empty());
    }
}
