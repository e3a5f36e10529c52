//! A segment leaves: what the parts of the sender note of it.

use super::{Sender, flight::Flight, piece::Piece};
use crate::{
    alarm::Alarm,
    config::Config,
    policy::{Idle, Unused, UnusedWindow},
    units::Instant,
    wait::{Timer, Wait},
};

impl Sender {
    /// The first data after an idle time: what may leave of it, after the window was changed if it was.
    #[inline(never)]
    pub(crate) fn restart_after_idle(
        &mut self,
        piece: Piece,
        full: u32,
        config: &Config,
        now: Instant,
    ) -> Piece {
        let initial_window = self.sequence.initial_window(config.policies.initial_window);
        let last_send = self.timers.last_send();
        self.control.validate(initial_window, self.round_trips.smoothed(), last_send, now);
        let idle = Idle {
            since_send: config.policies.timers.elapsed(last_send, config.phase(), now),
            since_receive: now.since(self.timers.last_receive()),
            rto: self.round_trips.estimate().rto(),
            srtt: self.round_trips.estimate().srtt(),
            counted: self.control.counted(),
            windows: self.windows(),
            initial_window: self.window_to_go_on_with(config),
            peer_window: self.sequence.window(),
            mss: self.sequence.mss(),
        };
        let Some(restart) = config.policies.idle_restart.decide(idle) else { return piece };
        if restart.windows != idle.windows {
            self.sequence.cwnd_use_mut().renew(now);
            self.control.controller_mut().on_restart(restart.windows);
        }
        if let Some(pacing) = restart.pacing {
            self.control.start_pacing(pacing, now);
        }
        self.next_piece_again(full, config).unwrap_or(piece)
    }

    /// The SYN leaves, with `len` bytes of data.
    pub(crate) fn on_syn_sent(&mut self, len: u32, config: &Config, now: Instant) {
        if self.sequence.max() > 0 {
            self.sequence.stop_timing();
        } else {
            self.sequence.time(1, now);
        }
        self.sequence.on_syn_sent(len);
        if len > 0 {
            self.timers.note_sent(now);
        }
        self.timers.start_retransmission(self.round_trips.time_out(), config, now);
    }

    /// A segment leaves; a full one has `full` bytes of data beside its options.
    pub(crate) fn on_sent(&mut self, piece: &Piece, full: u32, config: &Config, now: Instant) {
        let (start, end, len) = (piece.start(), piece.end(), piece.len());
        let sequence = &mut self.sequence;
        let retransmission = start < sequence.max();
        let probing = sequence.releases_held() && sequence.window() == 0;
        if retransmission {
            sequence.stop_timing();
            self.recovery.note_retransmission(start, end);
        } else {
            sequence.time(end, now);
            if len < full {
                sequence.note_small(end);
            }
        }
        self.recovery.on_sent();
        if Flight::is_needed(&config.policies) {
            self.note_burst(config, now);
            self.list_in_flight(start, end, config, now);
        }
        let sequence = &mut self.sequence;
        sequence.on_sent(start, end);
        let outstanding = sequence.next() - sequence.una();
        let room = u64::from(self.control.window()).saturating_sub(outstanding);
        sequence.note_cwnd_use(room < u64::from(sequence.mss()));
        self.timers.stop_waiting();
        if let Some(episode) = self.recovery.episode_mut() {
            let least = if self.in_flight.has_list() { self.sequence.mss() } else { 0 };
            episode.on_sent(start, end, retransmission, least, now);
        }
        if config.policies.unused_window != UnusedWindow::Kept {
            self.judge_cwnd_use(config, now);
        }
        self.control.estimate_on_sent(end, len, retransmission, now);
        if len > 0 {
            self.timers.note_sent(now);
            self.control.note_paced(len, self.in_flight.min_rtt(), now);
        }
        if probing {
            let due = config.expiry(self.round_trips.time_out(), now);
            self.timers.wait_for(Timer::Persist, due);
        } else if !self.timers.watches_outstanding() {
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        }
    }

    /// `[start, end)` leaves, and the policies need the list.
    #[inline(never)]
    fn list_in_flight(&mut self, start: u64, end: u64, config: &Config, now: Instant) {
        let idle = self.in_flight.list().is_none_or(Flight::is_empty);
        let snapshot = self.control.controller_mut().on_sent(idle, now);
        self.in_flight.on_sent(start, end, snapshot, now);
        self.schedule_probe_on_sent(start, end, config, now);
    }

    /// What becomes of a window of which too little is used ([`UnusedWindow`]).
    #[inline(never)]
    fn judge_cwnd_use(&mut self, config: &Config, now: Instant) {
        let windows = self.windows();
        let Some((since, used)) = self.sequence.cwnd_use_mut().judge(windows, now) else { return };
        let rto = self.round_trips.time_out();
        if since < rto {
            return; // As the policy decides; few segments have to ask for the rest.
        }
        let unused = Unused {
            since: since.into(),
            used,
            rto: rto.into(),
            windows,
            initial_window: self.window_to_go_on_with(config),
        };
        let Some(reduced) = config.policies.unused_window.decide(unused) else { return };
        self.sequence.cwnd_use_mut().renew(now);
        // A send buffer that is full limits the flight, not the application.
        let undisturbed = !self.recovery.is_troubled();
        if undisturbed && self.sequence.has_room(self.buffer(config)) && reduced != windows {
            self.control.controller_mut().on_restart(reduced);
        }
    }

    /// Nothing more is sent now: some waits end by a timer of their own, and one shows that cwnd is used.
    pub(crate) fn on_wait(&mut self, wait: Wait, config: &Config, now: Instant) {
        match wait {
            Wait::SlowStart | Wait::CongestionWindow => self.sequence.note_cwnd_use(true),
            Wait::Pacing => {
                if let Some(due) = self.control.paced_until(now) {
                    self.timers.wait_for(Timer::Pacing, Alarm::at(due));
                }
            }
            _ => self.timers.arm_for(wait, self.round_trips.time_out(), config, now),
        }
    }
}
