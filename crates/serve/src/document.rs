//! Documents generated from their length.

use std::{io::IoSlice, ops::Range, sync::LazyLock};

/// The document `/N`: N bytes of visible ASCII, each different from its neighbours.
///
/// A byte is determined by its offset and the document's length, so a client can distinguish a body
/// from another document's, and from a shifted one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Document {
    length: u64,
}

impl Document {
    /// Maximum length in bytes: what a check of windows and buffers needs.
    pub const LONGEST: u64 = 64 * 1024 * 1024;

    /// The document of `length` bytes; `None` beyond [`LONGEST`](Self::LONGEST).
    #[must_use]
    pub const fn new(length: u64) -> Option<Self> {
        if length <= Self::LONGEST { Some(Self { length }) } else { None }
    }

    /// The document at `path`: `/6651` has 6,651 bytes, and `/` is the same document.
    #[must_use]
    pub fn at_path(path: &str) -> Option<Self> {
        let digits = path.strip_prefix('/')?;
        if digits.is_empty() {
            return Self::new(FRONT_PAGE);
        }
        digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        Self::new(digits.parse().ok()?)
    }

    /// Length in bytes.
    #[must_use]
    pub const fn length(self) -> u64 {
        self.length
    }

    /// Whether `bytes` match this document from offset `at` on.
    #[must_use]
    pub fn has(self, at: u64, bytes: &[u8]) -> bool {
        let end = at.saturating_add(bytes.len() as u64);
        let expected = (at..end).map(|place| first_byte() + phase(self.length + place));
        end <= self.length && bytes.iter().copied().eq(expected)
    }

    /// Appends the bytes in `range`, up to the limit of one gathering write, without copying them.
    pub(crate) fn gather<'s>(self, range: Range<u64>, slices: &mut Vec<IoSlice<'s>>) {
        let mut at = range.start;
        while at < range.end && slices.len() < GATHER_LIMIT {
            let from = usize::from(phase(self.length + at));
            let wanted = usize::try_from(range.end - at).unwrap_or(usize::MAX);
            let piece = &PATTERN[from..];
            let piece = &piece[..piece.len().min(wanted)];
            slices.push(IoSlice::new(piece));
            at += piece.len() as u64;
        }
    }
}

/// Position of the `n`th byte in the pattern's period.
fn phase(n: u64) -> u8 {
    u8::try_from(n % PERIOD).expect("the period is less than 256")
}

const fn first_byte() -> u8 {
    b'!'
}

/// Whole periods of `!"#$…~`, long enough that a large body needs few slices.
static PATTERN: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..PERIOD * PERIODS).map(|n| first_byte() + phase(n)).collect());

/// Number of visible ASCII characters.
const PERIOD: u64 = 94;

const PERIODS: u64 = 700;

/// Maximum number of slices in one gathering write, well below every system's `IOV_MAX`.
pub(crate) const GATHER_LIMIT: usize = 64;

/// The primary page of Heidemann 1996 and 1997.
const FRONT_PAGE: u64 = 6651;

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(document: Document, range: Range<u64>) -> Vec<u8> {
        let mut slices = Vec::new();
        document.gather(range, &mut slices);
        slices.iter().flat_map(|slice| slice.to_vec()).collect()
    }

    #[test]
    fn a_path_names_a_length() {
        for (path, length) in [
            ("/", Some(6651)),
            ("/0", Some(0)),
            ("/300", Some(300)),
            ("/67108864", Some(Document::LONGEST)),
            ("/67108865", None),
            ("/99999999999999999999", None),
            ("/+1", None),
            ("/1/2", None),
            ("*", None),
        ] {
            assert_eq!(Document::at_path(path).map(Document::length), length, "{path}");
        }
    }

    #[test]
    fn what_is_gathered_is_what_a_client_expects() {
        let document = Document::new(200_000).unwrap();
        let whole = bytes(document, 0..200_000);
        assert_eq!(whole.len(), 200_000);
        assert!(document.has(0, &whole));
        assert_eq!(bytes(document, 70_000..70_010), whole[70_000..70_010]);
        assert!(document.has(70_000, &whole[70_000..70_010]));
        assert!(!document.has(70_001, &whole[70_000..70_010]));
        assert!(!document.has(199_999, &whole[70_000..70_010]));
        assert!(!Document::new(199_999).unwrap().has(0, &whole[..100]));
    }
}
