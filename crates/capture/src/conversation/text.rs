//! A short text of a message.

use std::{fmt, ops::Deref, sync::Arc};

use crate::limits::kept;

/// A method, a path or the like, of which at most its first 1,024 bytes are kept. Copies are cheap: one
/// byte of HTTP/2 may name a text of a compression table again.
#[derive(Clone)]
pub struct Text(Storage);

#[derive(Clone)]
enum Storage {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Text {
    pub(super) const fn of_static(text: &'static str) -> Self {
        Self(Storage::Static(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Storage::Shared(kept(text).into()))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Storage::Static(text) => text,
            Storage::Shared(text) => text,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
