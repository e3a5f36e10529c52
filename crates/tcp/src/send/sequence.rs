//! The send sequence space (RFC 9293, section 3.3.1), in positions.

use super::cwnd_use::CwndUse;
use crate::{
    alarm::Alarm,
    congestion::AtLoss,
    policy::InitialWindow,
    segment::WindowShift,
    seq::{SeqNumber, low},
    units::Instant,
};

/// What was written, sent and acknowledged, and what the peer allows.
#[derive(Clone, Debug)]
pub(crate) struct SendSequence {
    /// ISS.
    iss: SeqNumber,
    /// SND.UNA.
    una: u64,
    /// SND.NXT; goes back on a retransmission timeout.
    next: u64,
    /// The highest SND.NXT so far.
    max: u64,
    /// The position after the last byte that the application has written.
    written_end: u64,
    /// The application has closed: the FIN is at `written_end`.
    fin: bool,
    /// The connection came from LISTEN.
    passive: bool,
    /// The SYN (or SYN-ACK) had to be sent again.
    syn_lost: bool,
    /// The windows to start with were inherited.
    inherited_window: bool,
    /// Data bytes of a full segment.
    mss: u16,
    /// What the path allows, TCP options included as for an MSS option.
    path_mss: u16,
    /// SND.WND, scaled.
    window: u32,
    /// The largest SND.WND so far.
    max_window: u32,
    /// The peer's window shift (RFC 7323); 0 unless both offered.
    window_shift: WindowShift,
    /// SND.WL1, as a position modulo 2^32, like the next two.
    window_from_seq: u32,
    /// The position after the last small segment sent (Linux: `snd_sml`).
    small_end: u32,
    /// The position after the segment whose round trip is being timed, and when that left.
    timed_end: u32,
    timed_since: Alarm,
    /// Whether data was outstanding when this call began; `None` until something asks.
    outstanding_at_call: Option<bool>,
    /// A timer says that what is held, or a probe, must leave.
    release_held: bool,
    /// How much of the congestion window is used; here, because alignment leaves room for it.
    cwnd_use: CwndUse,
}

/// What an ACK does to SND.UNA.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Una {
    /// It acknowledges something new.
    Advances,
    Stays,
}

impl Una {
    /// `ack` has arrived while SND.UNA is `una`.
    #[inline]
    pub(crate) const fn after(ack: u64, una: u64) -> Self {
        if ack > una { Self::Advances } else { Self::Stays }
    }
}

impl SendSequence {
    pub(crate) const fn new(iss: SeqNumber, mss: u16) -> Self {
        Self {
            iss,
            una: 0,
            next: 0,
            max: 0,
            written_end: 1,
            fin: false,
            passive: false,
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
            cwnd_use: CwndUse::NONE,
        }
    }

    /// The connection comes from LISTEN.
    pub(crate) const fn listen(&mut self) {
        self.passive = true;
    }

    /// The initial windows are inherited from other connections.
    pub(crate) const fn inherit_window(&mut self) {
        self.inherited_window = true;
    }

    /// The SYN, or SYN-ACK, is lost: it leaves again.
    pub(crate) const fn lose_syn(&mut self) {
        self.syn_lost = true;
        self.stop_timing();
        self.rewind_to(0);
    }

    /// Whether what is acknowledged now may be a SYN cookie: one that was sent again is none.
    pub(crate) const fn acks_cookie(&self) -> bool {
        self.passive && self.una == 1 && !self.syn_lost
    }

    /// ISS.
    pub(crate) const fn iss(&self) -> SeqNumber {
        self.iss
    }

    /// SND.UNA.
    #[inline]
    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT; goes back on a retransmission timeout.
    #[inline]
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// The highest SND.NXT so far.
    #[inline]
    pub(crate) const fn max(&self) -> u64 {
        self.max
    }

    /// The highest SND.NXT so far, as it stands in the header.
    pub(crate) fn max_number(&self) -> SeqNumber {
        self.number(self.max)
    }

    /// The position after the last byte that the application has written.
    #[inline]
    pub(crate) const fn written_end(&self) -> u64 {
        self.written_end
    }

    /// Whether the application has closed.
    #[inline]
    pub(crate) const fn has_fin(&self) -> bool {
        self.fin
    }

    /// Whether the connection came from LISTEN.
    pub(crate) const fn is_passive(&self) -> bool {
        self.passive
    }

    /// Whether the windows to start with were inherited and nothing speaks against them: a lost SYN does.
    pub(crate) const fn keeps_inherited_window(&self) -> bool {
        self.inherited_window && !self.syn_lost
    }

    /// Data bytes of a full segment.
    #[inline]
    pub(crate) const fn mss(&self) -> u32 {
        self.mss as u32
    }

    /// SND.WND, scaled.
    #[inline]
    pub(crate) const fn window(&self) -> u32 {
        self.window
    }

    /// The largest SND.WND so far.
    pub(crate) const fn max_window(&self) -> u32 {
        self.max_window
    }

    pub(crate) const fn window_shift(&self) -> WindowShift {
        self.window_shift
    }

    /// The position after the last byte that the peer's window allows; the SYN is not counted.
    #[inline]
    pub(crate) fn window_end(&self) -> u64 {
        self.una.max(1) + u64::from(self.window)
    }

    /// Whether what is held, or a probe, must leave.
    #[inline]
    pub(crate) const fn releases_held(&self) -> bool {
        self.release_held
    }

    pub(crate) const fn cwnd_use(&self) -> CwndUse {
        self.cwnd_use
    }

    /// The number on the wire of a position.
    pub(crate) fn number(&self, position: u64) -> SeqNumber {
        self.iss.at(position)
    }

    /// The position of an acknowledgement number, as near to SND.UNA as the circle allows; negative
    /// if it lies before the SYN.
    pub(crate) fn position(&self, number: SeqNumber) -> i64 {
        number.position_in_stream(self.iss, self.una)
    }

    /// cwnd at the start of a connection that inherits nothing, in bytes. In BSD, the ACK of its SYN opens the window
    /// of an end that came from LISTEN; data that it sends before then has no such window.
    pub(crate) fn initial_window(&self, policy: InitialWindow) -> u32 {
        // RFC 6928, section 2: "If the SYN or SYN/ACK is lost, the initial window used by a sender after a
        // correctly transmitted SYN MUST be one segment", for every policy.
        if self.syn_lost { self.mss() } else { self.initial_window_without_loss(policy) }
    }

    /// The same where a lost SYN does not count.
    pub(crate) fn initial_window_without_loss(&self, policy: InitialWindow) -> u32 {
        policy.bytes(self.mss(), self.passive && self.una > 0)
    }

    /// The peer's MSS is known: a segment has `overhead` bytes of options at least. Returns the bytes of data that are
    /// left for a full segment.
    pub(crate) fn agree_on_mss(&mut self, mss: u16, overhead: u16) -> u32 {
        self.mss = mss.min(self.path_mss).saturating_sub(overhead).max(1);
        self.mss()
    }

    /// The path takes segments of `mss` bytes, of which `overhead` are options. `false` if they are no larger now.
    pub(crate) fn limit_mss(&mut self, mss: u32, overhead: u16) -> bool {
        let smaller = mss < self.mss() + u32::from(overhead);
        if smaller {
            self.path_mss = u16::try_from(mss).unwrap_or(u16::MAX);
            self.mss = self.path_mss - overhead;
        }
        smaller
    }

    /// The peer scales its windows.
    pub(crate) const fn scale_window(&mut self, shift: WindowShift) {
        self.window_shift = shift;
    }

    /// The window of a SYN is not scaled.
    pub(crate) const fn take_window_of_syn(&mut self, window: u16) {
        self.window = window as u32;
        self.max_window = self.window;
        self.window_from_seq = 0;
    }

    /// The window of the segment that ends the handshake.
    pub(crate) fn take_first_window(&mut self, window: u16) {
        self.window = self.window_shift.bytes(window);
        self.max_window = self.max_window.max(self.window);
    }

    /// SND.WND and SND.WL1 (RFC 9293, section 3.10.7.4), by a segment that begins at `seq` of the peer's stream. SND.WL2
    /// is not kept: it never exceeds SND.UNA, so an ACK from SND.UNA on passes its check.
    pub(crate) fn update_window(&mut self, ack: u64, seq: u64, window: u16) {
        let newer = low(seq).wrapping_sub(self.window_from_seq) < 1 << 31;
        if newer && self.una <= ack {
            self.take_first_window(window);
            self.window_from_seq = low(seq);
        }
    }

    /// Everything before `ack` has arrived.
    pub(crate) fn acknowledge(&mut self, ack: u64) {
        self.una = ack;
        self.next = self.next.max(ack);
    }

    /// Goes back to SND.UNA: what follows is retransmitted.
    pub(crate) const fn rewind(&mut self) {
        self.rewind_to(self.una);
    }

    /// Goes back to `position`: what follows is retransmitted.
    pub(crate) const fn rewind_to(&mut self, position: u64) {
        self.next = position;
    }

    /// Skips to new data: nothing more is retransmitted.
    pub(crate) const fn skip_to_new(&mut self) {
        self.next = self.max;
    }

    /// What is held, or a probe, must leave.
    pub(crate) const fn release(&mut self) {
        self.release_held = true;
    }

    /// Small segments are held again.
    pub(crate) const fn hold(&mut self) {
        self.release_held = false;
    }

    /// The SYN leaves, with `len` bytes of data.
    pub(crate) fn on_syn_sent(&mut self, len: u32) {
        self.rewind_to(1 + u64::from(len));
        self.max = self.max.max(self.next);
        if len > 0 {
            self.note_small(self.next);
        }
    }

    /// A segment less than full ends at `end`.
    pub(crate) const fn note_small(&mut self, end: u64) {
        self.small_end = low(end);
    }

    /// `[start, end)` leaves, so that nothing is held any more.
    pub(crate) fn on_sent(&mut self, start: u64, end: u64) {
        if start <= self.next {
            self.next = self.next.max(end);
        }
        self.max = self.max.max(end);
        self.release_held = false;
    }

    /// Notes the flight, beside which cwnd has this `room`.
    #[inline]
    pub(crate) fn note_cwnd_use(&mut self, room: u64) {
        self.cwnd_use.note(self.una, self.next, room < u64::from(self.mss()));
    }

    pub(crate) const fn cwnd_use_mut(&mut self) -> &mut CwndUse {
        &mut self.cwnd_use
    }

    /// Times the segment that ends at `end`, unless another one is being timed.
    pub(crate) fn time(&mut self, end: u64, now: Instant) {
        if !self.timed_since.is_on() {
            (self.timed_since, self.timed_end) = (Alarm::at(now), low(end));
        }
    }

    /// No segment is timed any more.
    pub(crate) const fn stop_timing(&mut self) {
        self.timed_since = Alarm::OFF;
    }

    /// When the timed segment left, if it is acknowledged now.
    pub(crate) fn take_timed(&mut self) -> Option<Instant> {
        let passed = low(self.una).wrapping_sub(self.timed_end) < 1 << 31;
        let sent = self.timed_since.due().filter(|_| passed)?;
        self.stop_timing();
        Some(sent)
    }

    /// Every verb of the application begins here: BSD finds out once per call whether the connection is idle.
    pub(crate) const fn begin_call(&mut self) {
        self.outstanding_at_call = None;
    }

    /// Something asks whether data was outstanding when this call began.
    #[inline]
    pub(crate) const fn note_outstanding_at_call(&mut self) {
        if self.outstanding_at_call.is_none() {
            self.outstanding_at_call = Some(self.is_data_outstanding());
        }
    }

    /// Whether data was outstanding when this call began.
    pub(crate) fn was_outstanding_at_call(&self) -> bool {
        self.outstanding_at_call.unwrap_or_else(|| self.is_data_outstanding())
    }

    /// Takes what fits of `bytes` into a send buffer of this size.
    pub(crate) fn write(&mut self, bytes: u32, buffer: u32) -> u32 {
        let room = u64::from(buffer).saturating_sub(self.held());
        let taken = u32::try_from(room.min(u64::from(bytes))).unwrap_or(bytes);
        self.written_end += u64::from(taken);
        taken
    }

    /// The application has closed: a FIN follows what is written.
    pub(crate) const fn close(&mut self) {
        self.fin = true;
    }

    /// Whether `write` would take something.
    pub(crate) fn has_room(&self, buffer: u32) -> bool {
        self.held() < u64::from(buffer)
    }

    /// Bytes of data that are written and not acknowledged.
    fn held(&self) -> u64 {
        self.written_end.saturating_sub(self.una.max(1))
    }

    /// The position after everything there is to send, FIN included.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.written_end + self.fin as u64
    }

    /// Whether the SYN and all that follows it was sent.
    #[inline]
    pub(crate) const fn has_sent_all(&self) -> bool {
        self.next > 0 && self.next >= self.end()
    }

    /// Bytes of the stream that are acknowledged, SYN and FIN not counted.
    pub(crate) const fn acknowledged(&self) -> u64 {
        let una = if self.una < self.written_end { self.una } else { self.written_end };
        una.saturating_sub(1)
    }

    #[inline]
    pub(crate) const fn is_outstanding(&self) -> bool {
        self.una < self.max
    }

    /// Whether data or a FIN is outstanding: a SYN is no data that Nagle's algorithm waits for.
    #[inline]
    pub(crate) const fn is_data_outstanding(&self) -> bool {
        self.is_outstanding() && self.max > 1
    }

    /// Whether there is new data, or a FIN, and the peer has room for it.
    pub(crate) const fn may_send_new(&self) -> bool {
        self.max < self.end() && self.una + self.window as u64 > self.max
    }

    /// Whether the last small segment is not acknowledged.
    pub(crate) fn is_small_outstanding(&self) -> bool {
        let ahead = self.small_end.wrapping_sub(low(self.una));
        ahead > 0 && ahead <= low(self.max).wrapping_sub(low(self.una))
    }

    /// FlightSize: sent and not acknowledged.
    pub(crate) fn flight(&self) -> u32 {
        u32::try_from(self.max - self.una).unwrap_or(u32::MAX)
    }

    /// The sender's state at a loss, for the congestion control.
    pub(crate) fn at_loss(&self) -> AtLoss {
        AtLoss { flight: self.flight(), peer: self.window, next: self.max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_lost_syn_the_initial_window_is_one_segment() {
        for policy in [InitialWindow::BsdPassiveTwo, InitialWindow::Rfc3390, InitialWindow::Rfc6928]
        {
            let mut sequence = SendSequence::new(SeqNumber(1), 1_460);
            assert_eq!(sequence.initial_window(policy), policy.bytes(1_460, false), "{policy:?}");
            sequence.lose_syn();
            assert_eq!(sequence.initial_window(policy), 1_460, "{policy:?}");
        }
    }
}
