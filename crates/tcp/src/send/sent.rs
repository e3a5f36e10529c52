//! A segment that is out.

use crate::{congestion::Snapshot, units::Instant};

/// A segment that is out. It begins where the one before ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    end: u64,
    /// When it was sent last.
    at: Instant,
    /// What had been delivered then.
    snapshot: Snapshot,
    /// It has arrived.
    sacked: bool,
    /// Its first copy, or the one before the copy that is out, is believed lost.
    lost: bool,
    /// A retransmission of it is out.
    again: bool,
    /// It was sent more than once, so that it is not known which copy an ACK is for.
    repeated: bool,
    /// It was believed lost because of what was sent later, and does not so again before it is sent again: Linux takes
    /// it off the list by which it looks for losses (`tcp_rack_detect_loss`), also if that was no loss.
    judged: bool,
}

/// How a segment leaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sending {
    /// For the first time.
    New,
    /// All or some of it was sent before.
    Again,
}

impl Sent {
    /// It leaves for the first time, or was in part `repeated`.
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of the bytes")]
    pub(crate) const fn new(end: u64, repeated: bool, snapshot: Snapshot, now: Instant) -> Self {
        Self {
            end,
            at: now,
            snapshot,
            sacked: false,
            lost: false,
            again: false,
            repeated,
            judged: false,
        }
    }

    /// Its part before `position`.
    pub(crate) const fn before(self, position: u64) -> Self {
        Self { end: position, ..self }
    }

    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// When it was sent last.
    #[inline]
    pub(crate) const fn at(&self) -> Instant {
        self.at
    }

    /// What had been delivered then.
    #[inline]
    pub(crate) const fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Whether it has arrived.
    pub(crate) const fn is_sacked(&self) -> bool {
        self.sacked
    }

    /// Whether a copy of it is believed lost.
    pub(crate) const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether a retransmission of it is out.
    pub(crate) const fn is_out_again(&self) -> bool {
        self.again
    }

    /// Whether it was sent more than once.
    #[inline]
    pub(crate) const fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// Whether it was believed lost because of what was sent later, since it was sent last.
    pub(crate) const fn is_judged(&self) -> bool {
        self.judged
    }

    /// How many copies of it are believed to be on their way.
    pub(crate) const fn copies(&self) -> u32 {
        if self.sacked { 0 } else { !self.lost as u32 + self.again as u32 }
    }

    /// Whether it was sent once, and nothing is known of it.
    pub(crate) const fn is_plain(&self) -> bool {
        !(self.sacked | self.lost | self.again | self.repeated)
    }

    pub(crate) const fn is_unrepaired(&self) -> bool {
        !self.sacked && self.lost && !self.again
    }

    /// Whether a copy of it is believed to be on its way.
    pub(crate) const fn is_out(&self) -> bool {
        !self.sacked & (!self.lost | self.again)
    }

    /// It leaves again.
    pub(crate) const fn send_again(&mut self, snapshot: Snapshot, now: Instant) {
        (self.at, self.snapshot, self.again, self.repeated) = (now, snapshot, true, true);
        self.judged = false;
    }

    /// It has arrived.
    pub(crate) const fn sack(&mut self) {
        self.sacked = true;
    }

    /// The peer has discarded it.
    pub(crate) const fn unsack(&mut self) {
        self.sacked = false;
    }

    /// The copy that is out is believed lost.
    pub(crate) const fn lose(&mut self) {
        (self.lost, self.again) = (true, false);
    }

    /// What was sent later says so.
    pub(crate) const fn judge(&mut self) {
        self.judged = true;
    }

    /// No copy of it was lost.
    pub(crate) const fn find(&mut self) {
        self.lost = false;
    }
}

/// Segments and their bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Amount {
    pub(crate) segments: u32,
    pub(crate) bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, copies: u32, bytes: u64) {
        self.segments += copies;
        self.bytes += u64::from(copies) * bytes;
    }

    pub(crate) fn remove(&mut self, copies: u32, bytes: u64) {
        self.segments -= copies;
        self.bytes -= u64::from(copies) * bytes;
    }

    /// A segment of which there are these `copies` is divided into two.
    pub(crate) const fn divide(&mut self, copies: u32) {
        self.segments += copies;
    }

    /// The first `bytes` of a segment of which there are these `copies` have arrived.
    pub(crate) fn shorten(&mut self, copies: u32, bytes: u64) {
        self.bytes -= bytes * u64::from(copies);
    }
}
