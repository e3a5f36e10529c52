//! Field blocks of one direction: from HEADERS and CONTINUATION to what they say.

use ackwise_http::http2::{
    FrameKind,
    frame::{self, END_HEADERS},
    hpack::{Broken, Decoder},
};

use super::{
    super::span::Span,
    fields::{Block, Known},
    frames::Frame,
};
use crate::limits::KEPT_TEXT;

/// Collects what frames carry, if it is to be read.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// The payload of the frame that is under way.
    payload: Vec<u8>,
    is_whole: bool,
    /// The field block so far.
    block: Vec<u8>,
    /// The first frame of the block.
    first: Option<Frame>,
    decoder: Decoder<Known>,
    /// Blocks with more fields than are read.
    long: u64,
}

/// A field block, as far as it can be read, and the frame that began it.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) first: Frame,
    pub(super) block: Block,
}

impl Blocks {
    pub(super) const fn new() -> Self {
        Self {
            payload: Vec::new(),
            is_whole: true,
            block: Vec::new(),
            first: None,
            decoder: Decoder::new(),
            long: 0,
        }
    }

    /// How many blocks had more fields than are read.
    pub(super) const fn long(&self) -> u64 {
        self.long
    }

    /// Bytes that are held.
    pub(super) fn held(&self) -> usize {
        self.payload.capacity() + self.block.capacity() + table_size(&self.decoder)
    }

    /// Adds bytes of the payload of a frame that is to be read.
    pub(super) fn extend(&mut self, piece: &Span<'_>) {
        let bytes = piece.bytes();
        let room = PAYLOAD_LIMIT.saturating_sub(self.payload.len() + self.block.len());
        self.is_whole &= !piece.is_cut() && bytes.len() <= room;
        self.payload.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// The payload of a frame that has ended, if it was captured whole.
    pub(super) fn take_payload(&mut self) -> Option<Vec<u8>> {
        let payload = std::mem::take(&mut self.payload);
        std::mem::replace(&mut self.is_whole, true).then_some(payload)
    }

    /// Takes the end of HEADERS, PUSH_PROMISE or CONTINUATION; the block, if it ends with it.
    pub(super) fn handle(&mut self, frame: &Frame) -> Option<Fields> {
        if frame.kind != FrameKind::Continuation {
            self.block.clear();
            self.first = Some(*frame);
        }
        // The part of it that belongs to the field block.
        self.block.extend_from_slice(match self.is_whole {
            true => frame::content(frame, &self.payload),
            false => frame::unpadded_from(frame, &self.payload),
        });
        empty(&mut self.payload);
        if !self.is_whole {
            // What was seen of it can be read, and nothing after it.
            self.is_whole = true;
            return self.first.take().map(|first| {
                let fields = self.finish(first);
                self.decoder.miss();
                fields
            });
        }
        if !frame.has(END_HEADERS) {
            return None;
        }
        self.first.take().map(|first| self.finish(first))
    }

    /// Says that frames were lost, and with them, perhaps, blocks.
    pub(super) fn lose(&mut self) {
        self.payload = Vec::new();
        self.block = Vec::new();
        self.first = None;
        self.decoder.miss();
    }

    fn finish(&mut self, first: Frame) -> Fields {
        let mut block = Block::default();
        let read = self.decoder.decode(&self.block, |field| block.note(field));
        empty(&mut self.block);
        self.long += u64::from(read == Err(Broken::TooLong));
        if read.is_err() {
            self.decoder.miss();
        }
        Fields { first, block }
    }
}

/// Bytes that the table takes, about.
fn table_size(decoder: &Decoder<Known>) -> usize {
    let entries = decoder.entries();
    decoder.size().min(entries * KEPT_TEXT) + entries * size_of::<Known>()
}

/// Keeps the room that most blocks need, so that each does not ask for its own.
fn empty(bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.shrink_to(KEPT_ROOM);
}

/// Bytes of room that stay between blocks. Our choice: most requests' blocks are shorter, and a thousand
/// connections may be open.
const KEPT_ROOM: usize = 512;

/// Most bytes of a field block with its CONTINUATIONs; nginx and nghttp2 read 64 KiB at most.
const PAYLOAD_LIMIT: usize = 64 * 1024;
