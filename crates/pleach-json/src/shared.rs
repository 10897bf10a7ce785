//! A vector that copies of it share until one of them changes.
//!
//! The storage of arrays and objects. A write takes an object apart, copies it and compares it with the stored one, and
//! changes little of it: a copy increases a reference count, shared parts are equal without a comparison, and only the
//! parents of a changed value are copied. An empty vector needs no memory.

use triomphe::Arc;

/// A vector with shared copies.
#[derive(Clone)]
pub(crate) struct Shared<T>(Option<Arc<Vec<T>>>);

impl<T> Shared<T> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    pub(crate) fn with_capacity(n: usize) -> Self {
        Self(Some(Arc::new(Vec::with_capacity(n))))
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    #[inline]
    pub(crate) fn as_vec(&self) -> Option<&Vec<T>> {
        self.0.as_deref()
    }

    /// Whether both are one and the same, or empty.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => self.as_slice().is_empty() && other.as_slice().is_empty(),
        }
    }

    /// The items, open to change, if no other value shares them.
    #[inline]
    pub(crate) fn unshared_mut(&mut self) -> Option<&mut Vec<T>> {
        self.0.as_mut().and_then(Arc::get_mut)
    }

    /// Lets go of it, deep inside a value or not. `nests` says whether an item holds others.
    #[inline]
    pub(crate) fn release(&mut self, nests: impl Fn(&T) -> bool) {
        let Some(items) = self.0.take() else { return };
        // Only the last one to let go drops items, and only nested containers recurse.
        if Arc::is_unique(&items) && items.iter().any(nests) {
            crate::grow_stack_to_drop(|| drop(items));
        }
    }
}

impl<T: Clone> Shared<T> {
    /// The items, open to change: a copy of their own if others share them.
    #[inline]
    pub(crate) fn make_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(self.0.get_or_insert_with(|| Arc::new(Vec::new())))
    }

    /// Takes the items out, leaving none.
    pub(crate) fn take(&mut self) -> Vec<T> {
        match self.0.take() {
            None => Vec::new(),
            Some(items) => Arc::try_unwrap(items).unwrap_or_else(|shared| Vec::clone(&shared)),
        }
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(items: Vec<T>) -> Self {
        Self(if items.is_empty() { None } else { Some(Arc::new(items)) })
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}
