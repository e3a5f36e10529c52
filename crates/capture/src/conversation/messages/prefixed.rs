//! The messages of gRPC, each behind its length (gRPC's document PROTOCOL-HTTP2: "Length-Prefixed-Message →
//! Compressed-Flag Message-Length Message").

use super::{
    super::{MessageNews, span::Span},
    Unreadable,
};

/// Follows the messages of one direction of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Prefixed {
    prefix: [u8; PREFIX],
    /// Bytes of the prefix that were seen.
    seen: usize,
    /// Bytes of the message that are to come, once all of the prefix was seen.
    left: u32,
}

/// What is next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum Boundary {
    /// A message begins.
    Begin,
    /// It ends before the byte at this position.
    End(u64),
}

impl Boundary {
    /// Counts it.
    pub(in super::super) const fn count(self, news: &mut MessageNews) {
        match self {
            Self::Begin => news.begun = news.begun.saturating_add(1),
            Self::End(_) => news.ended = news.ended.saturating_add(1),
        }
    }
}

impl Prefixed {
    /// Whether a message is under way.
    pub(in super::super) const fn is_within(&self) -> bool {
        self.seen > 0
    }

    /// Takes content up to where a message begins or ends; `None` if it has none.
    pub(in super::super) fn advance(
        &mut self,
        content: &mut Span<'_>,
    ) -> Result<Option<Boundary>, Unreadable> {
        while self.seen < PREFIX {
            let Some(&byte) = content.bytes().first() else {
                return if content.is_empty() { Ok(None) } else { Err(Unreadable) };
            };
            content.take(1);
            self.prefix[self.seen] = byte;
            self.seen += 1;
            if self.seen == 1 {
                // "Compressed-Flag → 0 / 1".
                return if byte <= 1 { Ok(Some(Boundary::Begin)) } else { Err(Unreadable) };
            }
            let [_, length @ ..] = self.prefix;
            self.left = u32::from_be_bytes(length);
        }
        let before = content.at();
        content.take(self.left.into());
        self.left -= u32::try_from(content.at() - before).unwrap_or(self.left);
        if self.left > 0 {
            return Ok(None);
        }
        self.seen = 0;
        Ok(Some(Boundary::End(content.at())))
    }
}

/// Bytes before each message.
const PREFIX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], size: usize) -> Result<Vec<Boundary>, Unreadable> {
        let (mut reader, mut at, mut all) = (Prefixed::default(), 0, Vec::new());
        for piece in bytes.chunks(size) {
            let mut span = Span::segment(at, piece.len() as u64, piece);
            at = span.end();
            while let Some(found) = reader.advance(&mut span)? {
                all.push(found);
            }
            assert!(span.is_empty());
        }
        assert_eq!(reader.is_within(), all.last() == Some(&Boundary::Begin));
        Ok(all)
    }

    #[test]
    fn messages_are_read_in_whatever_pieces_they_come() {
        use Boundary::{Begin, End};
        let bytes = b"\0\0\0\0\x02hi\x01\0\0\0\0\0\0\0\0\x03abc\0\0\0\0\x09abc";
        let expected = [Begin, End(7), Begin, End(12), Begin, End(20), Begin];
        for size in [1, 2, 3, 5, 6, 7, 100] {
            assert_eq!(read(bytes, size).unwrap(), expected, "{size}");
        }
    }

    #[test]
    fn what_is_no_prefix_ends_the_reading() {
        assert!(read(b"\x02\0\0\0\x01a", 1).is_err(), "a flag without a meaning");
        let mut reader = Prefixed::default();
        let mut first = Span::segment(0, 30, b"\0\0\0\0\x14ab");
        assert!(matches!(reader.advance(&mut first), Ok(Some(Boundary::Begin))));
        assert!(matches!(reader.advance(&mut first), Ok(Some(Boundary::End(25)))), "cut within");
        assert!(reader.advance(&mut first).is_err(), "a prefix that was not captured");
    }
}
