//! The typed form of an object, which travels with the object through the stages of a write.
//!
//! Only a strategy that decodes the whole object has one. Details that no encoding shows
//! are not lost between stages, and no stage decodes again. Metadata is the object's, which stages change.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The typed form of an object, if it has one that is known.
#[derive(Clone, Default)]
pub struct Typed(Option<Arc<dyn Any + Send + Sync>>);

impl Typed {
    /// A typed form.
    pub fn new<T: Any + Send + Sync>(form: T) -> Self {
        Self(Some(Arc::new(form)))
    }

    /// The typed form, if it is known.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }

    /// Whether it is known.
    pub fn is_known(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_known() { "Typed(known)" } else { "Typed(unknown)" })
    }
}
