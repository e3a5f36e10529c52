//! The header fields of one message: lookup by name, without interpretation.

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, ops::Range};

/// Header fields as received, in order.
#[derive(Clone, Eq, PartialEq)]
pub struct Fields {
    head: Box<[u8]>,
    lines: Vec<Line>,
}

/// Ranges of a field's name and value in the head.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Line {
    name: Range<usize>,
    value: Range<usize>,
}

impl Fields {
    /// Records the positions of `parsed`, which borrows from `head`.
    ///
    /// # Panics
    ///
    /// If `parsed` does not borrow from `head`.
    #[must_use]
    pub fn locate(head: &[u8], parsed: &[httparse::Header<'_>]) -> Self {
        let lines = parsed
            .iter()
            .map(|field| Line {
                name: range_in(head, field.name.as_bytes()),
                value: range_in(head, field.value),
            })
            .collect();
        Self { head: head.into(), lines }
    }

    /// The fields of a message that is no text, as in HTTP/2.
    #[must_use]
    pub fn of<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let (mut head, mut lines) = (Vec::new(), Vec::new());
        for (name, value) in fields {
            let start = head.len();
            let name_end = start + name.len();
            head.extend_from_slice(name);
            head.extend_from_slice(value);
            lines.push(Line { name: start..name_end, value: name_end..head.len() });
        }
        Self { head: head.into(), lines }
    }

    /// All fields in the order received.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        self.lines
            .iter()
            .map(|line| (&self.head[line.name.clone()], &self.head[line.value.clone()]))
    }

    /// The values of every field called `name`; names are case-insensitive.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.iter()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// The value of the first field called `name`.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The value of the first field called `name`, if it is UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        core::str::from_utf8(self.first(name)?).ok()
    }

    /// The elements of the comma-separated list formed by all fields called `name`.
    ///
    /// RFC 9110, section 5.6.1.2: "a recipient MUST parse and ignore a reasonable number of empty
    /// list elements".
    pub fn list(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.all(name)
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|element| !element.is_empty())
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lossy = |bytes| alloc::string::String::from_utf8_lossy(bytes);
        f.debug_map().entries(self.iter().map(|(name, value)| (lossy(name), lossy(value)))).finish()
    }
}

fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    if part.is_empty() {
        return 0..0; // An empty value may be a constant of the parser, outside `head`.
    }
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    assert!(start < whole.len() && part.len() <= whole.len() - start, "a field of another head");
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_no_text_are_found_by_name() {
        let fields = Fields::of([(&b"server"[..], &b"x"[..]), (b"a", b""), (b"server", b"y")]);
        assert_eq!(fields.text("Server"), Some("x"));
        assert_eq!((fields.text("A"), fields.all("server").count()), (Some(""), 2));
    }
}
