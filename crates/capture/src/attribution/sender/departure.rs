//! A segment with data: as it was seen, and as it left.

use std::ops::Range;

use ackwise_tcp::Instant;

use super::Sender;
use crate::attribution::{
    Nanos,
    gap::{Gap, LastWay, Missing, Released},
    hold::Loss,
    path::{Pace, PathDelays},
    stall::Held,
    train::Train,
};

/// Data that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub packet: u64,
    pub seen: Instant,
    pub sent: Instant,
    /// When it is with the receiver.
    pub arrives: Instant,
    /// The first of it that a link before the vantage point has spread.
    pub train: Train,
    /// By its timestamp, the path held it.
    pub held: Option<Held>,
    /// What timestamps show, of the first data after the other end's.
    pub left: Left,
    /// By its timestamp, it waited for so long in a queue behind other connections' packets, at least: if it
    /// is the first data after the other end's.
    pub queued: Option<Nanos>,
    /// It had less data than a full segment.
    pub small: bool,
    /// An acknowledgement released it.
    pub released: Option<Released>,
    /// It takes all of a silly window, as what a timer sends into it.
    pub takes_silly_window: bool,
    /// A packet of its sender is missing before it.
    pub lost_before: bool,
    /// One seems to be missing.
    pub seems_lost_before: bool,
    /// Up to where was acknowledged then.
    pub(super) acked: u64,
    pub(super) pushed: bool,
    /// Its program had written no more.
    pub(super) ended: bool,
    /// Linux may have set PSH although it had not: half of the largest window was sent since the last.
    pub(super) forced: bool,
    pub(super) timestamp: Option<u32>,
}

/// What timestamps show of when a segment left, compared with an earlier packet of its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Left {
    /// As much later as it was captured later; or the vantage point is so near that it must have.
    AsSeen,
    /// Earlier: the path held it.
    Earlier,
    /// Nothing.
    Unknown,
}

impl Departure {
    /// Nagle's algorithm held it.
    pub(super) fn was_held_by_nagle(&self) -> bool {
        self.released.is_some_and(|it| it.acknowledged.is_some())
    }

    /// It is small and ends a write: a congestion window held nothing behind it.
    pub(crate) const fn ends_write(&self) -> bool {
        self.small && self.ended
    }

    /// How long the path held it, by its timestamp.
    pub(crate) fn held_for(&self) -> Option<Nanos> {
        self.held.map(|held| Nanos::between(held.from, self.arrives))
    }

    /// What the other end may answer.
    pub(crate) const fn asks(&self) -> Asks {
        Asks { packet: self.packet, seen: self.seen }
    }

    /// Its way to the receiver; links are done with it at `free_at`.
    pub(crate) const fn way(&self, free_at: Instant) -> LastWay {
        let &Self { train, held, arrives, packet, .. } = self;
        LastWay { free_at, train, held, arrives, packet }
    }
}

/// A packet with data, which the other end may answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks {
    pub packet: u64,
    pub seen: Instant,
}

/// A data segment as it was seen.
#[derive(Clone, Debug)]
pub(crate) struct SeenData {
    pub packet: u64,
    pub seen: Instant,
    pub bytes: Range<u64>,
    /// Bytes of a full segment.
    pub full: u64,
    pub pushed: bool,
    /// What it has to do with a loss that the vantage point sees.
    pub loss: Option<Loss>,
    /// What is missing before it.
    pub missing: Missing,
    /// It holds bytes that were not seen before.
    pub new: bool,
    /// The sender's timestamp (RFC 7323), and the one that it echoes.
    pub timestamp: Option<u32>,
    pub echo: Option<u32>,
    /// The last packet with data of the other end, if that has sent some since: this is not the rest of
    /// a message.
    pub answers: Option<Asks>,
    /// Whether a packet of the sender is missing between the data before it and this, if that is known.
    pub lost_before: Option<bool>,
    /// One seems to be missing, by numbers that may not count packets.
    pub seems_lost_before: bool,
}

impl SeenData {
    pub(super) const fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

impl Sender {
    /// Of `data`, which left at `sent`; `held`: by its timestamp, the path held it.
    #[inline(always)]
    pub(super) fn departure(
        &mut self,
        data: &SeenData,
        sent: Instant,
        held: bool,
        gap: Option<&Gap>,
        delays: &PathDelays,
    ) -> Departure {
        let bytes = data.len();
        let train = self.train(sent, gap, delays);
        self.bottleneck.carry(bytes, sent);
        // The least round trips were those of empty segments: their time on the link is in them.
        let way = delays.round_trip / 2 - self.bottleneck.time(Pace::HEADERS);
        let arrives = (data.seen + delays.receiver).max(self.bottleneck.free_at() + way);
        let (packet, seen, pushed) = (data.packet, data.seen, data.pushed);
        // Linux sets PSH at the end of what it lets a network card cut into segments, too.
        let cut = bytes > data.full || self.last.as_ref().is_some_and(|last| !last.pushed);
        // Most have one, for which nothing need be divided.
        let full = data.full.max(1);
        let is_whole = bytes == full || bytes.is_multiple_of(full);
        let ended = pushed && !(cut && is_whole);
        self.unpushed += bytes;
        let forced = pushed && std::mem::take(&mut self.unpushed) * 2 > self.most_offered;
        let timestamp = data.timestamp;
        let left = self.left(data, delays);
        let queued = if held { None } else { self.queued(data, delays) };
        let unheld = sent + (self.bottleneck.before.time(bytes) + delays.sender + delays.receiver);
        let held = held.then(|| Held::by_path(unheld, arrives, delays.round_trip));
        let small = data.full > 0 && !is_whole;
        let opens = self.was_opened_for(data, sent, delays);
        let last = self.last.as_ref();
        let released = gap.zip(last).and_then(|(gap, last)| gap.released(last.sent, opens));
        let takes_silly_window = self.takes_silly_window(data);
        Departure {
            packet,
            seen,
            sent,
            arrives,
            train,
            held,
            left,
            queued,
            small,
            released,
            takes_silly_window,
            // Next to its sender, nothing is lost before: the capture lacks the packet.
            lost_before: data.lost_before == Some(true) && !delays.is_next_to_sender(),
            seems_lost_before: data.seems_lost_before && !delays.is_next_to_sender(),
            acked: self.acked,
            pushed,
            ended,
            forced,
            timestamp,
        }
    }
}
