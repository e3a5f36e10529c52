//! The send sequence space (RFC 9293, section 3.3.1), in positions.

use super::usage::Usage;
pub(super) use super::usage::low;
use crate::{
    alarm::Alarm, congestion::AtLoss, segment::WindowShift, seq::SeqNumber, units::Instant,
};

/// The send side: what was written, sent and acknowledged, and what the peer allows.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// ISS.
    pub(super) iss: SeqNumber,
    /// SND.UNA.
    pub(super) una: u64,
    /// SND.NXT; goes back on a retransmission timeout.
    pub(super) next: u64,
    /// The highest SND.NXT so far.
    pub(super) max: u64,
    /// The position after the last byte that the application has written.
    pub(super) written_end: u64,
    /// The application has closed: the FIN is at `written_end`.
    pub(super) fin: bool,
    /// The SYN (or SYN-ACK) had to be sent again.
    pub(super) syn_lost: bool,
    /// The windows to start with were inherited.
    pub(super) inherited_window: bool,
    /// Data bytes of a full segment.
    pub(super) mss: u32,
    /// What the path allows, TCP options included as for an MSS option.
    pub(super) path_mss: u16,
    /// SND.WND, scaled.
    pub(super) window: u32,
    /// The largest SND.WND so far.
    pub(super) max_window: u32,
    /// The peer's window shift (RFC 7323); 0 unless both offered.
    pub(super) window_shift: WindowShift,
    /// SND.WL1, as a position modulo 2^32, like the next two.
    pub(super) window_from_seq: u32,
    /// The position after the last small segment sent (Linux: `snd_sml`).
    pub(super) small_end: u32,
    /// The position after the segment whose round trip is being timed, and when that left.
    timed_end: u32,
    pub(super) timed_since: Alarm,
    /// Whether data was outstanding when this call began; `None` until something asks.
    pub(super) outstanding_at_call: Option<bool>,
    /// A timer says that what is held, or a probe, must leave.
    pub(super) release_held: bool,
    /// How much of the congestion window is used.
    pub(super) usage: Usage,
}

impl Sender {
    pub(super) const fn new(iss: SeqNumber, mss: u32) -> Self {
        Self {
            iss,
            una: 0,
            next: 0,
            max: 0,
            written_end: 1,
            fin: false,
            syn_lost: false,
            inherited_window: false,
            mss,
            path_mss: u16::MAX,
            window: 0,
            max_window: 0,
            window_shift: WindowShift::NONE,
            window_from_seq: 0,
            small_end: 0,
            timed_end: 0,
            timed_since: Alarm::OFF,
            outstanding_at_call: None,
            release_held: false,
            usage: Usage::NONE,
        }
    }

    /// Times the segment that ends at `end`, unless another one is being timed.
    pub(super) fn time(&mut self, end: u64, now: Instant) {
        if !self.timed_since.is_on() {
            (self.timed_since, self.timed_end) = (Alarm::at(now), low(end));
        }
    }

    /// When the timed segment left, if it is acknowledged now.
    pub(super) fn take_timed(&mut self) -> Option<Instant> {
        let passed = low(self.una).wrapping_sub(self.timed_end) < 1 << 31;
        let sent = self.timed_since.due().filter(|_| passed)?;
        self.timed_since = Alarm::OFF;
        Some(sent)
    }

    /// The number on the wire of a position.
    pub(super) fn number(&self, position: u64) -> SeqNumber {
        self.iss.at(position)
    }

    /// The position of an acknowledgement number, as near to SND.UNA as the circle allows; negative
    /// if it lies before the SYN.
    pub(super) fn position(&self, number: SeqNumber) -> i64 {
        number.position_in_stream(self.iss, self.una)
    }

    pub(super) fn write(&mut self, bytes: u32, buffer: u32) -> u32 {
        let room = u64::from(buffer).saturating_sub(self.held());
        let taken = u32::try_from(room.min(u64::from(bytes))).unwrap_or(bytes);
        self.written_end += u64::from(taken);
        taken
    }

    /// Whether `write` would take something.
    pub(super) fn has_room(&self, buffer: u32) -> bool {
        self.held() < u64::from(buffer)
    }

    /// Bytes of data that are written and not acknowledged.
    fn held(&self) -> u64 {
        self.written_end.saturating_sub(self.una.max(1))
    }

    /// The position after everything there is to send, FIN included.
    pub(super) const fn end(&self) -> u64 {
        self.written_end + self.fin as u64
    }

    /// Bytes of the stream that are acknowledged, SYN and FIN not counted.
    pub(super) const fn acknowledged(&self) -> u64 {
        let una = if self.una < self.written_end { self.una } else { self.written_end };
        una.saturating_sub(1)
    }

    pub(super) const fn is_outstanding(&self) -> bool {
        self.una < self.max
    }

    /// Whether data or a FIN is outstanding: a SYN is no data that Nagle's algorithm waits for.
    pub(super) const fn is_data_outstanding(&self) -> bool {
        self.is_outstanding() && self.max > 1
    }

    /// Whether the last small segment is not acknowledged.
    pub(super) fn is_small_outstanding(&self) -> bool {
        let ahead = self.small_end.wrapping_sub(low(self.una));
        ahead > 0 && ahead <= low(self.max).wrapping_sub(low(self.una))
    }

    /// FlightSize: sent and not acknowledged.
    pub(super) fn flight(&self) -> u32 {
        u32::try_from(self.max - self.una).unwrap_or(u32::MAX)
    }

    /// What the congestion control is told of a loss.
    pub(super) fn at_loss(&self) -> AtLoss {
        AtLoss { flight: self.flight(), peer: self.window, next: self.max }
    }
}
