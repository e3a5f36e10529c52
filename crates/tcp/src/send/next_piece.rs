//! What may be sent now, and if nothing, why.

use super::{
    control::Control, flight::Flight, in_flight::InFlight, phase::Phase, piece::Piece,
    recovery::Recovery, scoreboard::Scoreboard, sequence::SendSequence, timers::Timers,
};
use crate::{
    config::Config,
    congestion::Repair,
    policy::{HoldDecision, Pending},
    wait::{Timer, Wait},
};

/// What the two windows leave, in bytes from SND.NXT on.
#[derive(Clone, Copy, Debug)]
struct Room {
    congestion: u64,
    receive: u64,
}

/// What decides on what may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook<'a> {
    pub(crate) sequence: &'a SendSequence,
    pub(crate) control: &'a Control,
    pub(crate) recovery: &'a Recovery,
    pub(crate) in_flight: &'a InFlight,
    pub(crate) timers: &'a Timers,
}

impl Outlook<'_> {
    /// What may leave now, or why nothing may. A full segment has `full` bytes of data beside its options.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment needs it, in one function with the rest"
    )]
    pub(crate) fn next_piece(self, full: u32, config: &Config) -> Result<Piece, Wait> {
        if let Some(flight) = self.recovery.timed(self.in_flight) {
            let room = self.room_beside(flight);
            if flight.has_work() || self.recovery.retransmits_head() {
                let aside = self;
                return aside.next_by_list(flight, room, full, config);
            }
            return self.next_new(room, full, config);
        }
        if self.recovery.retransmits_head() && self.sequence.is_outstanding() {
            let (una, max) = (self.sequence.una(), self.sequence.max());
            let end = self.recovery.sacked().iter().next().map_or(max, |(start, _)| start);
            return Ok(self.retransmit(una, end, full));
        }
        // The SYN takes up nothing of the window.
        let mut flight_from = self.sequence.una().max(1);
        let mut window = u64::from(self.control.window());
        if self.recovery.is_troubled() {
            match self.recovery.phase() {
                Phase::Fast(Repair::Scoreboard) => {
                    let aside = self;
                    return aside.next_by_scoreboard(full, config);
                }
                // What timed out counts as lost.
                Phase::Forward => flight_from = self.recovery.recover(),
                _ => {
                    let segments =
                        self.recovery.limited_transmit(self.control.controller().repair());
                    window += u64::from(segments) * u64::from(self.sequence.mss());
                }
            }
        }
        let next = self.sequence.next();
        let sent = match self.in_flight.list().filter(|_| config.counts_packets()) {
            Some(flight) => flight.packets(flight_from, next, self.sequence.mss()),
            None => next.saturating_sub(flight_from),
        };
        self.next_new(window.saturating_sub(sent), full, config)
    }

    /// By how much cwnd exceeds what is on its way, where losses are detected by time.
    #[inline]
    fn room_beside(self, flight: &Flight) -> u64 {
        let pipe = flight.pipe(self.sequence.una(), self.sequence.mss());
        let room = u64::from(self.control.window()).saturating_sub(pipe);
        // Linux `tcp_cwnd_test` counts packets: a short segment needs as much room as a full one.
        if room < u64::from(self.sequence.mss()) { 0 } else { room }
    }

    /// What may leave where losses are detected by time: what is lost, then new data, as far as there is
    /// `room` (Linux `tcp_xmit_retransmit_queue`, `tcp_write_xmit`). The first retransmission of a repair
    /// and a probe leave in any case.
    #[inline(never)]
    fn next_by_list(
        &self,
        flight: &Flight,
        room: u64,
        full: u32,
        config: &Config,
    ) -> Result<Piece, Wait> {
        let hole = flight.next_unrepaired().filter(|_| self.recovery.phase() != Phase::Forward);
        if self.recovery.retransmits_head() && self.sequence.is_outstanding() {
            let (una, max) = (self.sequence.una(), self.sequence.max());
            let (start, end) = hole.unwrap_or((una, max));
            return Ok(self.retransmit(start, end, full));
        }
        if let Some(probe) = self.probe_piece(full) {
            return Ok(probe);
        }
        match hole {
            Some(_) if room < u64::from(self.sequence.mss()) => Err(self.wait_for_ack()),
            Some((start, end)) => Ok(self.retransmit(start, end, full)),
            None => self.next_again(room, full, config),
        }
    }

    #[inline(never)]
    fn next_again(&self, congestion_room: u64, full: u32, config: &Config) -> Result<Piece, Wait> {
        self.next_new(congestion_room, full, config)
    }

    /// What the probe carries: new data beyond cwnd, or the last segment.
    fn probe_piece(&self, full: u32) -> Option<Piece> {
        let flight = self.in_flight.list().filter(|flight| flight.probe().is_due())?;
        let new = self.new_beyond_windows(full);
        new.or_else(|| flight.last().map(|(start, end)| self.retransmit(start, end, full)))
    }

    /// A full segment of new data, or the last, whatever cwnd says and whatever holds small ones.
    fn new_beyond_windows(&self, full: u32) -> Option<Piece> {
        let sequence = self.sequence;
        let start = sequence.next().max(sequence.max());
        let left = sequence.written_end().checked_sub(start)?;
        let len = left.min(full.into());
        let fin = sequence.has_fin() && len == left;
        let sends =
            (len > 0 || fin) && start < sequence.end() && start + len <= sequence.window_end();
        sends.then(|| Piece::new(start, len, fin))
    }

    /// NextSeg() of RFC 6675, section 4.
    #[inline(never)]
    fn next_by_scoreboard(&self, full: u32, config: &Config) -> Result<Piece, Wait> {
        let board = Scoreboard::new(self.recovery, self.in_flight, self.sequence);
        let room = u64::from(self.control.window()).saturating_sub(board.pipe());
        if room < u64::from(self.sequence.mss()) {
            return Err(Wait::Recovery);
        }
        if let Some(hole) = board.next_lost_hole() {
            let (start, end) = hole.range();
            return Ok(self.retransmit(start, end, full));
        }
        self.next_new(room, full, config).or_else(|wait| {
            let again = board
                .next_hole()
                .or_else(|| board.rescue().filter(|_| !self.recovery.has_rescued()));
            let (start, end) = again.ok_or(wait)?.range();
            Ok(self.retransmit(start, end, full))
        })
    }

    /// One segment of `[start, end)`, which was sent before.
    fn retransmit(self, start: u64, end: u64, full: u32) -> Piece {
        let end = end.min(boundary_after(self.in_flight, start));
        let written_end = self.sequence.written_end();
        let data_end = end.min(written_end);
        let len = data_end.saturating_sub(start).min(full.into());
        let fin = self.sequence.has_fin() && start + len == written_end && end > data_end;
        Piece::new(start, len, fin)
    }

    /// What follows SND.NXT, as far as the windows and the hold policy allow.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `next_piece`")]
    fn next_new(self, congestion_room: u64, full: u32, config: &Config) -> Result<Piece, Wait> {
        let sequence = self.sequence;
        let start = sequence.next();
        if start >= sequence.end() {
            return Err(if sequence.has_fin() { Wait::Closed } else { Wait::Application });
        }
        let left = sequence.written_end() - start;
        if left == 0 && (congestion_room >= u64::from(sequence.mss()) || !config.counts_packets()) {
            return Ok(Piece::new(start, 0, true));
        }
        let receive = sequence.window_end().saturating_sub(start);
        let room = Room { congestion: congestion_room, receive };
        if left == 0 {
            return Err(self.window_wait(Room { receive: u64::MAX, ..room }));
        }
        let wanted = match start < sequence.max() {
            true => left.min(full.into()).min(boundary_after(self.in_flight, start) - start),
            false => left.min(full.into()),
        };
        // What a timer releases may be the byte that probes a closed window.
        let released = sequence.releases_held();
        let size = wanted.min(room.congestion).min(receive.max(released.into()));
        if size == 0 {
            return Err(self.window_wait(room));
        }
        let fin = sequence.has_fin() && size == left;
        let piece = Piece::new(start, size, fin);
        // A full segment is never held.
        if released || start < sequence.max() || size == u64::from(full) {
            return Ok(piece);
        }
        match config.policies.hold.decide(pending(sequence, piece, full, left)) {
            HoldDecision::Send => Ok(piece),
            HoldDecision::Nagle => Err(Wait::Nagle),
            HoldDecision::Minshall => Err(Wait::Minshall),
            HoldDecision::Cork => Err(Wait::Cork),
            HoldDecision::SillyWindow => Err(self.window_wait(room)),
        }
    }

    /// cwnd is in the way, or something that waits for an ACK as it does.
    pub(crate) fn wait_for_ack(self) -> Wait {
        self.window_wait(Room { congestion: 0, receive: u64::MAX })
    }

    /// Which of the two windows is in the way.
    #[inline]
    fn window_wait(self, room: Room) -> Wait {
        let Self { sequence, control, recovery, timers, in_flight: _ } = self;
        match room.congestion < room.receive {
            true => congestion_wait(sequence, control, recovery),
            false => receive_wait(sequence, timers, room.receive),
        }
    }
}

fn pending(sequence: &SendSequence, piece: Piece, full: u32, left: u64) -> Pending {
    Pending {
        size: piece.len(),
        mss: full,
        empties_buffer: u64::from(piece.len()) == left,
        carries_fin: piece.has_fin(),
        half_max_window: sequence.max_window() / 2,
        outstanding: sequence.is_data_outstanding(),
        outstanding_at_call: sequence.was_outstanding_at_call(),
        small_outstanding: sequence.is_small_outstanding(),
    }
}

/// What is waited for where cwnd is in the way.
#[inline(never)]
fn congestion_wait(sequence: &SendSequence, control: &Control, recovery: &Recovery) -> Wait {
    match recovery.phase() {
        Phase::Fast(_) => Wait::Recovery,
        Phase::GoneBack | Phase::Forward if sequence.is_outstanding() => {
            Wait::RetransmissionTimeout
        }
        _ if control.controller().is_in_slow_start() => Wait::SlowStart,
        _ => Wait::CongestionWindow,
    }
}

/// The same where the peer's window is in the way, which has this `room`.
#[inline(never)]
fn receive_wait(sequence: &SendSequence, timers: &Timers, room: u64) -> Wait {
    let nothing_on_its_way = sequence.next() == sequence.una();
    match room {
        0 => Wait::ReceiveWindow { probing: nothing_on_its_way || timers.runs(Timer::Persist) },
        _ if nothing_on_its_way => Wait::SillyWindow,
        _ => Wait::ReceiveWindow { probing: false },
    }
}

/// The end of the segment that began at `start` or before, where that is known: what is sent again leaves as it left
/// before (Linux `tcp_retransmit_skb`).
#[inline(never)]
fn boundary_after(in_flight: &InFlight, start: u64) -> u64 {
    in_flight.list().and_then(|flight| flight.end_of(start)).unwrap_or(u64::MAX)
}
