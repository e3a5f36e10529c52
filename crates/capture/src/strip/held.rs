//! Packets in order, until it is decided what of them stays.

use std::collections::VecDeque;

use crate::decode::Seen;
use crate::pcapng::{Packet, Ready};

/// Packets that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Held {
    packets: VecDeque<Waiting>,
    /// The number of the first of them.
    first: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Waiting {
    ready: Ready,
    /// Bytes of data that were captured.
    captured: usize,
    /// Bytes of headers.
    headers: usize,
    decided: bool,
}

impl Held {
    /// The most packets that wait: a second of 800 Mb/s. Our choice.
    const MOST_PACKETS: usize = 1 << 16;
    /// The most bytes that wait. Our choice.
    const MOST_BYTES: usize = 32 << 20;

    /// Holds a packet, of whose data nothing stays as yet; its number.
    pub(super) fn push(&mut self, packet: Packet, headers: Vec<u8>, seen: &Seen<'_>) -> u64 {
        let length = headers.len();
        let original_len =
            u32::try_from(length).unwrap_or(u32::MAX).saturating_add(seen.segment.len);
        self.bytes += length;
        self.packets.push_back(Waiting {
            ready: Ready { packet, bytes: headers, original_len },
            captured: seen.payload.len(),
            headers: length,
            decided: false,
        });
        self.first + self.packets.len() as u64 - 1
    }

    /// Puts bytes into the data of a packet, as far as it was captured; zeros before them.
    pub(super) fn keep(&mut self, number: u64, at: usize, bytes: &[u8]) {
        let Some(waiting) = self.waiting(number) else { return };
        let room = waiting.captured.saturating_sub(at);
        let bytes = &bytes[..bytes.len().min(room)];
        if bytes.is_empty() {
            return;
        }
        let (from, before) = (waiting.headers + at, waiting.ready.bytes.len());
        let after = before.max(from + bytes.len());
        waiting.ready.bytes.resize(after, 0);
        waiting.ready.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        self.bytes += after - before;
    }

    /// Nothing more will be put into this packet.
    pub(super) fn decide(&mut self, number: u64) {
        if let Some(waiting) = self.waiting(number) {
            waiting.decided = true;
        }
    }

    /// The first packet, if it is decided or there are too many.
    pub(super) fn pop(&mut self) -> Option<Ready> {
        let is_full = self.packets.len() > Self::MOST_PACKETS || self.bytes > Self::MOST_BYTES;
        if !self.packets.front()?.decided && !is_full {
            return None;
        }
        self.pop_undecided()
    }

    /// The first packet, as it is.
    pub(super) fn pop_undecided(&mut self) -> Option<Ready> {
        let Waiting { ready, .. } = self.packets.pop_front()?;
        self.first += 1;
        self.bytes -= ready.bytes.len();
        Some(ready)
    }

    fn waiting(&mut self, number: u64) -> Option<&mut Waiting> {
        let place = number.checked_sub(self.first)?;
        self.packets.get_mut(usize::try_from(place).ok()?)
    }
}
