//! Finds the end of a body that arrives in pieces.

use crate::{
    Framing,
    chunked::{ChunkError, ChunkScanner, ChunkStep, ChunkSyntax},
    cursor::Cursor,
};

/// Finds the end of a body of which some bytes are missing, as in a capture with a snap length.
///
/// ```
/// use ackwise_http::{BodyEnd, Framing};
///
/// let mut body = BodyEnd::new(Framing::Chunked);
/// let mut seen = &b"400\r\nAbout a thousand more were not captured"[..];
/// assert_eq!(body.advance(&mut seen), Ok(false));
/// assert_eq!(body.skip(0x400 - 39), Some(0x400 - 39));
/// let mut seen = &b"\r\n0\r\n\r\nHTTP/1.1 200 OK"[..];
/// assert_eq!(body.advance(&mut seen), Ok(true));
/// assert_eq!(seen, b"HTTP/1.1 200 OK");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BodyEnd(BodyScanner);

impl BodyEnd {
    /// A body delimited by `framing`, at its first byte.
    #[must_use]
    pub const fn new(framing: Framing) -> Self {
        Self(BodyScanner::new(framing))
    }

    /// Consumes bytes of the body from the front of `input`. Returns whether the body has ended.
    ///
    /// # Errors
    ///
    /// If the chunk framing is malformed. The end of the body can no longer be found.
    pub fn advance(&mut self, input: &mut &[u8]) -> Result<bool, ChunkError> {
        let mut cursor = Cursor::new(input, 0);
        loop {
            let step = self.0.advance(&mut cursor)?;
            *input = cursor.rest();
            match step {
                BodyStep::Content(_) => {}
                BodyStep::End => return Ok(true),
                BodyStep::NeedsMore => return Ok(false),
            }
        }
    }

    /// Like [`advance`](Self::advance), but also calls `report` for each run of chunk framing with
    /// its kind, its offset in `input` and its bytes. A run may be split where `input` ends.
    ///
    /// ```
    /// use ackwise_http::{BodyEnd, ChunkSyntax, Framing};
    ///
    /// let mut found = Vec::new();
    /// let mut body = BodyEnd::new(Framing::Chunked);
    /// body.advance_reporting(&mut &b"5;a=b\r\nhello\r\n"[..], |syntax, offset, bytes| {
    ///     found.push((syntax, offset, bytes.to_vec()));
    /// })?;
    /// assert_eq!(found[..2], [
    ///     (ChunkSyntax::Size, 0, b"5".to_vec()),
    ///     (ChunkSyntax::Extension, 1, b";a=b".to_vec()),
    /// ]);
    /// assert_eq!(found[2..], [5, 12].map(|at| (ChunkSyntax::LineEnd, at, b"\r\n".to_vec())));
    /// # Ok::<(), ackwise_http::ChunkError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the chunk framing is malformed. `input` then begins at the offending byte.
    pub fn advance_reporting(
        &mut self,
        input: &mut &[u8],
        mut report: impl FnMut(ChunkSyntax, usize, &[u8]),
    ) -> Result<bool, ChunkError> {
        let BodyScanner::Chunked(chunks) = &mut self.0 else { return self.advance(input) };
        let mut cursor = Cursor::new(input, 0);
        let whole = input.len();
        loop {
            let offset = whole - cursor.rest().len();
            let run = chunks.advance_framing(&mut cursor);
            *input = cursor.rest();
            match run? {
                Some((syntax, bytes)) => report(syntax, offset, bytes),
                None => match chunks.advance(&mut cursor)? {
                    ChunkStep::Data(_) => *input = cursor.rest(),
                    ChunkStep::End => return Ok(true),
                    ChunkStep::NeedsMore => return Ok(false),
                },
            }
        }
    }

    /// Skips `bytes` that were not captured. Returns how many of them belong to the body.
    ///
    /// `None` if they may contain framing; the end of the body can no longer be found.
    pub fn skip(&mut self, bytes: u64) -> Option<u64> {
        match &mut self.0 {
            BodyScanner::Length { left } => {
                let skipped = bytes.min(*left);
                *left -= skipped;
                Some(skipped)
            }
            BodyScanner::Chunked(chunks) => chunks.skip(bytes).then_some(bytes),
            BodyScanner::UntilClose => Some(bytes),
        }
    }

    /// Skips the next `bytes`, captured or not, if all of them are certainly content and the body
    /// continues after them. Returns whether it did.
    pub const fn pass(&mut self, bytes: u64) -> bool {
        let passes = self.continues_after(bytes);
        if let BodyScanner::Length { left } = &mut self.0
            && passes
        {
            *left -= bytes;
        }
        passes
    }

    /// Whether the next `bytes`, captured or not, are certainly content, and the body continues after them.
    pub const fn continues_after(&self, bytes: u64) -> bool {
        match &self.0 {
            BodyScanner::Length { left } => bytes < *left,
            BodyScanner::UntilClose => true,
            BodyScanner::Chunked(_) => false,
        }
    }
}

/// The rest of the body that is still expected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyScanner {
    Length { left: u64 },
    Chunked(ChunkScanner),
    UntilClose,
}

/// Result of scanning a piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BodyStep<'i> {
    /// Content, without the framing around it; never empty.
    Content(&'i [u8]),
    /// The body ended before the cursor.
    End,
    NeedsMore,
}

impl BodyScanner {
    pub(crate) const fn new(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::Length { left: 0 },
            Framing::Length(left) => Self::Length { left },
            Framing::Chunked => Self::Chunked(ChunkScanner::new()),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    pub(crate) fn advance<'i>(
        &mut self,
        cursor: &mut Cursor<'i>,
    ) -> Result<BodyStep<'i>, ChunkError> {
        let content = match self {
            Self::Length { left: 0 } => return Ok(BodyStep::End),
            Self::Length { left } => {
                let content = cursor.take(*left);
                *left -= content.len() as u64;
                content
            }
            Self::UntilClose => cursor.take(u64::MAX),
            Self::Chunked(chunks) => match chunks.advance(cursor)? {
                ChunkStep::Data(data) => data,
                ChunkStep::End => return Ok(BodyStep::End),
                ChunkStep::NeedsMore => return Ok(BodyStep::NeedsMore),
            },
        };
        Ok(if content.is_empty() { BodyStep::NeedsMore } else { BodyStep::Content(content) })
    }

    /// What is still missing if the connection closes now; `None` if the body may end here.
    pub(crate) const fn missing(&self) -> Option<Missing> {
        match self {
            Self::Length { left: 0 } | Self::UntilClose => None,
            Self::Length { left } => Some(Missing::Content { bytes: *left }),
            Self::Chunked(_) => Some(Missing::LastChunk),
        }
    }
}

/// What was still expected when a connection closed too early.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// The rest of a head.
    #[error("the rest of the head")]
    Head,
    /// The rest of a body with `Content-Length`.
    #[error("{bytes} more bytes of content")]
    Content {
        /// Number of missing bytes.
        bytes: u64,
    },
    /// The chunk of size zero and the empty line after it.
    #[error("the last chunk")]
    LastChunk,
}
