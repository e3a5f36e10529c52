//! Finds the end of a body that arrives in pieces.

use crate::{
    Framing,
    chunked::{ChunkError, ChunkScanner, ChunkStep},
    cursor::Cursor,
};

/// What of the body is still to come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyScanner {
    Length { left: u64 },
    Chunked(ChunkScanner),
    UntilClose,
}

/// What came of scanning a piece.
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

    /// What a connection that closed now has left unsaid; `None` if the body may end here.
    pub(crate) const fn missing(&self) -> Option<Missing> {
        match self {
            Self::Length { left: 0 } | Self::UntilClose => None,
            Self::Length { left } => Some(Missing::Content { octets: *left }),
            Self::Chunked(_) => Some(Missing::LastChunk),
        }
    }
}

/// What was expected when a connection closed too early.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// The rest of a head.
    #[error("the rest of the head")]
    Head,
    /// So many octets more of a body with `Content-Length`.
    #[error("{octets} more octets of content")]
    Content {
        /// How many.
        octets: u64,
    },
    /// The chunk of size zero and the empty line after it.
    #[error("the last chunk")]
    LastChunk,
}
