//! An array that is made while it is written: it never is in memory.

use std::fmt;

use serde::{Serialize, Serializer};

/// The rows of an array.
pub(super) struct Rows<'a, T>(Box<dyn Repeated<T> + 'a>);

/// An iterator that can be begun again.
trait Repeated<T> {
    fn begin(&self) -> Box<dyn Iterator<Item = T> + '_>;
}

impl<T, I: Iterator<Item = T> + Clone> Repeated<T> for I {
    fn begin(&self) -> Box<dyn Iterator<Item = T> + '_> {
        Box::new(self.clone())
    }
}

impl<'a, T> Rows<'a, T> {
    pub(super) fn new(rows: impl Iterator<Item = T> + Clone + 'a) -> Self {
        Self(Box::new(rows))
    }
}

impl<T: Serialize> Serialize for Rows<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.begin())
    }
}

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rows").finish_non_exhaustive()
    }
}
