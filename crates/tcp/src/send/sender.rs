//! What the parts of the send side have decided, carried out: a connection opens, a segment leaves, a timer fires; in
//! `on_ack`, an ACK arrives.
//!
//! No other file sees the parts of a [`Sender`]; each has private fields.

mod on_ack;

pub(crate) use on_ack::Effects;

use super::{
    control::Control,
    control_block::{first_windows, heritage, window_to_go_on_with},
    flight::Flight,
    in_flight::{InFlight, SearchCause},
    next_piece::Outlook,
    phase::Phase,
    piece::Piece,
    probe::{LEAST_TIMEOUT, time_to_probe},
    recovery::{Recovery, Reports},
    round_trips::RoundTrips,
    sent::Sending,
    sequence::{SendSequence, Una},
    timers::Timers,
    tso_deferral::{Deferral, Queue},
};
use crate::{
    alarm::Alarm,
    config::Config,
    congestion::{Expiry, Inherited, Repair, Windows},
    pacing::Pace,
    policy::{DeferralPolicy, Idle, LossDetection, Unused, UnusedWindow},
    round_trip::RoundTrip,
    seq::SeqNumber,
    state::State,
    units::{Instant, Nanos},
    wait::{Timer, Wait},
};

/// The send side.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    sequence: SendSequence,
    round_trips: RoundTrips,
    control: Control,
    recovery: Recovery,
    timers: Timers,
    in_flight: InFlight,
}

/// What the endpoint has to do when timers have fired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AfterTimeout {
    /// Nothing more.
    GoesOn,
    /// R2 of RFC 9293, section 3.8.3: without progress for too long, the connection is given up.
    GivesUp,
    /// 2 MSL are over.
    EndsTimeWait,
}

/// The connection opens, and its settings change.
impl Sender {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "an endpoint is built where it stays")]
    pub(crate) fn new(iss: SeqNumber, config: &Config) -> Self {
        Self {
            sequence: SendSequence::new(iss, config.mss),
            round_trips: RoundTrips::new(config.policies.timers),
            control: Control::new(config),
            recovery: Recovery::default(),
            timers: Timers::default(),
            in_flight: InFlight::default(),
        }
    }

    #[inline]
    pub(crate) const fn sequence(&self) -> &SendSequence {
        &self.sequence
    }

    #[inline]
    pub(crate) const fn sequence_mut(&mut self) -> &mut SendSequence {
        &mut self.sequence
    }

    #[inline]
    pub(crate) const fn round_trip(&self) -> &RoundTrip {
        self.round_trips.estimate()
    }

    #[inline]
    pub(crate) const fn timers(&self) -> &Timers {
        &self.timers
    }

    #[inline]
    pub(crate) const fn timers_mut(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Where loss recovery stands.
    pub(crate) const fn phase(&self) -> Phase {
        self.recovery.phase()
    }

    /// Whether duplicate ACKs have arrived since new data was acknowledged.
    pub(crate) const fn has_duplicate_acks(&self) -> bool {
        self.recovery.duplicate_acks() > 0
    }

    /// cwnd and ssthresh.
    #[inline]
    pub(crate) fn windows(&self) -> Windows {
        self.control.windows()
    }

    /// The rate of a sender that is paced.
    pub(crate) fn pace(&self) -> Option<Pace> {
        self.control.pace()
    }

    /// Bytes that [`write`](Self::write) takes before they are acknowledged.
    fn buffer(&self, config: &Config) -> u32 {
        let window = || self.control.window();
        let policies = &config.policies;
        policies.send_tuning.send_buffer(config.send_buffer, policies.congestion, window)
    }

    /// Whether the send buffer has room.
    pub(crate) fn has_room(&self, config: &Config) -> bool {
        self.sequence.has_room(self.buffer(config))
    }

    /// Repairs begun since the last time.
    pub(crate) const fn take_loss_events(&mut self) -> u8 {
        self.recovery.take_loss_events()
    }

    /// Takes over what a host remembers of its other connections, instead of the initial
    /// window and the initial RTO.
    pub(crate) fn inherit(&mut self, inherited: &Inherited, config: &Config) {
        self.round_trips.inherit(inherited);
        if let Some(windows) = inherited.windows {
            self.sequence.inherit_window();
            self.control.begin(windows, u32::from(config.mss), &config.policies);
        }
    }

    /// What another connection to the same host may take over.
    pub(crate) fn heritage(&self) -> Inherited {
        heritage(&self.sequence, &self.control, &self.round_trips)
    }

    /// The peer's SYN says how it reports what arrives; `None` if not by SACK.
    pub(crate) fn agree_on_sack(&mut self, policy: Option<LossDetection>) {
        self.recovery.agree(match policy {
            None => Reports::Unselective,
            Some(LossDetection::Rfc6675) => Reports::Selective,
            Some(LossDetection::Rack) => Reports::SelectiveTimed,
        });
    }

    /// The congestion control begins.
    pub(crate) fn begin_congestion_control(&mut self, config: &Config) {
        let windows = first_windows(&self.sequence, self.windows(), &config.policies);
        self.control.begin(windows, self.sequence.mss(), &config.policies);
    }

    /// The handshake is over, and the congestion control has begun.
    pub(crate) fn establish(&mut self, config: &Config, now: Instant) {
        self.round_trips.estimate_mut().on_established();
        let round_trip = self.round_trips.smoothed();
        if let Some(round_trip) = round_trip {
            self.in_flight.on_round_trip(round_trip, now);
        }
        self.control.establish(self.sequence.iss(), round_trip, config, now);
        let window = self.control.window().min(self.sequence.window());
        if let Some(pacing) = config.policies.start.pacing(window, self.round_trip().srtt()) {
            self.control.start_pacing(pacing, now);
        }
    }

    /// Takes `bytes` from the application; how many there was room for.
    pub(crate) fn write(&mut self, bytes: u32, config: &Config) -> u32 {
        self.sequence.write(bytes, self.buffer(config))
    }

    /// The application writes; it may have limited the rate.
    #[inline]
    pub(crate) fn note_gap(&mut self) {
        if self.control.has_model() {
            let left = self.sequence.written_end().saturating_sub(self.sequence.next());
            let (window, mss) = (self.control.window(), self.sequence.mss());
            if let Some(out) = self.in_flight.before_gap(left, window, mss) {
                self.control.on_write_after_gap(out);
            }
        }
    }

    /// Small segments may be held again.
    pub(crate) fn hold(&mut self) {
        self.timers.stop_waiting_for(Timer::Cork);
        self.sequence.hold();
    }

    /// The path takes segments of `mss` bytes, of which `overhead` are options; what is in flight is sent again. `false`
    /// if they are no larger now.
    pub(crate) fn limit_mss(&mut self, mss: u32, overhead: u16) -> bool {
        let smaller = self.sequence.limit_mss(mss, overhead);
        if smaller && self.sequence.una() > 0 {
            self.control.controller_mut().set_segment_size(self.sequence.mss());
            if self.sequence.is_outstanding() {
                self.send_smaller();
            }
        }
        smaller
    }

    /// The connection is over: stops all timers, and frees what was kept for sending.
    pub(crate) fn stop(&mut self) {
        self.control.stop();
        self.in_flight.forget();
        self.timers.stop();
        // The counters do not count what the last ACK has told of losses.
        self.recovery.take_loss_events();
    }
}

/// What leaves.
impl Sender {
    /// Whether something leaves next whatever was written: a repair, or a probe.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        let recovery = &self.recovery;
        recovery.retransmits_head()
            || matches!(recovery.phase(), Phase::Fast(Repair::Scoreboard))
            || self.in_flight.list().is_some_and(Flight::has_work)
    }

    /// What decides on what may leave.
    #[inline]
    const fn outlook(&self) -> Outlook<'_> {
        let Self { sequence, control, recovery, in_flight, timers, .. } = self;
        Outlook { sequence, control, recovery, in_flight, timers }
    }

    /// What may leave now, or why nothing may. A full segment has `full` bytes of data beside its options.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment needs it, in one function with the rest"
    )]
    pub(crate) fn next_piece(&self, full: u32, config: &Config) -> Result<Piece, Wait> {
        self.outlook().next_piece(full, config)
    }

    /// The same where it is rarely asked.
    #[inline(never)]
    pub(crate) fn next_piece_again(&self, full: u32, config: &Config) -> Result<Piece, Wait> {
        self.outlook().next_piece(full, config)
    }

    /// Lets `piece` pass, unless it must wait for its time.
    #[inline]
    pub(crate) fn when_paced(&self, piece: Piece, now: Instant) -> Result<Piece, Wait> {
        match self.control.paced_until(now) {
            Some(_) => Err(Wait::Pacing),
            None => Ok(piece),
        }
    }

    #[inline]
    fn may_defer(&self, config: &Config) -> bool {
        config.policies.deferral != DeferralPolicy::Off && self.recovery.phase() == Phase::Open
    }

    /// Lets `piece` pass, unless it waits for an ACK.
    #[inline]
    pub(crate) fn unless_deferred(
        &mut self,
        piece: Piece,
        config: &Config,
        now: Instant,
    ) -> Result<Piece, Wait> {
        // What was begun is sent whole.
        let goes_on = |it: &Flight| it.burst().goes_on() && self.timers.last_send() == now;
        let begins = self.in_flight.list().is_some_and(|flight| !goes_on(flight));
        if begins && self.may_defer(config) && self.is_deferred(&piece, now) {
            return Err(self.outlook().wait_for_ack());
        }
        Ok(piece)
    }

    #[inline(never)]
    fn is_deferred(&mut self, piece: &Piece, now: Instant) -> bool {
        let Some(flight) = self.in_flight.list() else { return false };
        let (srtt, shortest) = (self.round_trips.smoothed(), self.in_flight.min_rtt());
        let Self { sequence, control, .. } = self;
        let last_send = self.timers.last_send();
        let queue = Queue { sequence, flight, control, srtt, shortest, last_send };
        let deferral = queue.defer(piece, now);
        if let Deferral::Begins(segments) = deferral
            && let Some(flight) = self.in_flight.list_mut()
        {
            flight.burst_mut().plan(segments);
        }
        deferral == Deferral::Waits
    }

    /// Nothing more is sent now: some waits end by a timer of their own, and one shows that cwnd is used.
    pub(crate) fn on_wait(&mut self, wait: Wait, config: &Config, now: Instant) {
        match wait {
            Wait::SlowStart | Wait::CongestionWindow => self.sequence.note_cwnd_use(0),
            Wait::Pacing => {
                if let Some(due) = self.control.paced_until(now) {
                    self.timers.wait_for(Timer::Pacing, Alarm::at(due));
                }
            }
            Wait::ReceiveWindow { probing: true } => {
                self.timers.probe_window(self.round_trips.time_out(), config, now);
            }
            Wait::SillyWindow | Wait::Cork => self.timers.arm_for(wait, config, now),
            _ => {}
        }
    }

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
            rto: self.round_trip().rto(),
            srtt: self.round_trip().srtt(),
            counted: self.control.counted(),
            windows: self.windows(),
            initial_window: window_to_go_on_with(&self.sequence, &config.policies),
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
        let sending = if start < sequence.max() { Sending::Again } else { Sending::New };
        let probing = sequence.releases_held() && sequence.window() == 0;
        if sending == Sending::Again {
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
            self.list_in_flight(start, end, config, now);
        }
        let sequence = &mut self.sequence;
        sequence.on_sent(start, end);
        let outstanding = sequence.next() - sequence.una();
        sequence.note_cwnd_use(u64::from(self.control.window()).saturating_sub(outstanding));
        self.timers.stop_waiting();
        if let Some(episode) = self.recovery.episode_mut() {
            let least = if self.in_flight.has_list() { self.sequence.mss() } else { 0 };
            episode.on_sent(start, end, sending, least, now);
        }
        if config.policies.unused_window != UnusedWindow::Kept {
            self.judge_cwnd_use(config, now);
        }
        self.control.estimate_on_sent(end, len, sending, now);
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
        let (may_defer, shortest) = (self.may_defer(config), self.in_flight.min_rtt());
        if let Some(flight) = self.in_flight.list_mut()
            && may_defer
        {
            let srtt = || self.round_trips.smoothed().unwrap_or_default();
            let size = || self.control.burst(srtt(), shortest, self.sequence.mss());
            flight.burst_mut().on_sent(self.timers.last_send(), size, now);
        }
        if self.in_flight.list().is_none_or(Flight::is_empty) {
            self.control.controller_mut().on_first_sent(now);
        }
        let snapshot = self.control.controller().snapshot();
        self.in_flight.on_sent(start, end, snapshot, now);
        self.watch_listed(start, end, config, now);
    }

    /// `[start, end)` is listed: for new data a probe is scheduled.
    fn watch_listed(&mut self, start: u64, end: u64, config: &Config, now: Instant) {
        let max = self.sequence.max();
        let new = end > max;
        let Some(flight) = self.in_flight.list_mut() else { return };
        if flight.probe().is_due() {
            // RFC 8985, section 7.3: the retransmission timer is armed anew, without back-off.
            let sending = if new { Sending::New } else { Sending::Again };
            flight.probe_mut().on_sent(end.max(max), sending);
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        } else if new {
            if !flight.has_set_probe(now) || !self.timers.watches_by(Timer::TailLossProbe) {
                flight.set_probe_by_data(now);
                let head = flight.head_sent().unwrap_or(now);
                self.schedule_probe(head, config, now);
            }
        } else if start <= self.sequence.una()
            && config.counts_packets()
            && !self.timers.watches_by(Timer::Reordering)
        {
            // Linux `tcp_xmit_retransmit_queue`: the timer counts from the head's last copy.
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        }
    }

    /// Starts the probe timer, which takes the place of a retransmission timer that counts from `head`; whether
    /// it does.
    fn schedule_probe(&mut self, head: Instant, config: &Config, now: Instant) -> bool {
        let open = self.recovery.phase() == Phase::Open && self.sequence.una() > 0;
        let flight = self.recovery.timed(&self.in_flight).filter(|_| open);
        let Some(flight) = flight.filter(|it| !it.is_empty() && it.sacked() == 0) else {
            return false;
        };
        let span = time_to_probe(flight.len(), &self.round_trips, head, now);
        self.timers.watch_outstanding(Timer::TailLossProbe, config.expiry(span, now));
        true
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
            initial_window: window_to_go_on_with(&self.sequence, &config.policies),
        };
        let Some(reduced) = config.policies.unused_window.decide(unused) else { return };
        self.sequence.cwnd_use_mut().renew(now);
        // A send buffer that is full limits the flight, not the application.
        let undisturbed = !self.recovery.is_troubled();
        if undisturbed && self.has_room(config) && reduced != windows {
            self.control.controller_mut().on_restart(reduced);
        }
    }
}

/// Time passes.
impl Sender {
    /// Lets timers fire.
    pub(crate) fn handle_timeout(
        &mut self,
        state: State,
        config: &Config,
        now: Instant,
    ) -> AfterTimeout {
        match self.timers.take_outstanding(now) {
            None => {}
            Some(Timer::Reordering) => self.reordering_timeout(config, now),
            Some(Timer::TailLossProbe) => self.probe_timeout(config, now),
            Some(_) => {
                let expiry = if self.timers.is_stalled() { Expiry::Again } else { Expiry::First };
                if self.timers.note_stall(now) >= config.user_timeout {
                    return AfterTimeout::GivesUp;
                }
                self.retransmission_timeout(expiry, state, config, now);
            }
        }
        match self.timers.take_waiting(now) {
            None | Some(Timer::Pacing) => {}
            Some(Timer::TimeWait) => return AfterTimeout::EndsTimeWait,
            Some(Timer::Persist) => {
                if self.timers.note_stall(now) >= config.user_timeout {
                    return AfterTimeout::GivesUp;
                }
                self.round_trips.estimate_mut().back_off();
                self.sequence.rewind();
                self.sequence.release();
            }
            Some(_) => self.sequence.release(),
        }
        AfterTimeout::GoesOn
    }

    fn retransmission_timeout(
        &mut self,
        expiry: Expiry,
        state: State,
        config: &Config,
        now: Instant,
    ) {
        let estimate = self.round_trips.estimate_mut();
        if self.sequence.una() == 0 {
            match state {
                State::SynSent => estimate.on_timeout_of_active_open(),
                _ => estimate.on_syn_timeout(),
            }
            self.sequence.lose_syn();
        } else {
            estimate.back_off();
            self.stop_pacing();
            self.go_back(expiry, config, now);
        }
    }

    /// Nothing is paced any more.
    fn stop_pacing(&mut self) {
        self.control.stop_pacing();
        self.timers.stop_waiting_for(Timer::Pacing);
    }

    /// The probe timer has fired. At most one probe is out: if one is, the retransmission timer goes on.
    fn probe_timeout(&mut self, config: &Config, now: Instant) {
        if self.in_flight.list_mut().is_some_and(|flight| flight.probe_mut().fall_due()) {
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        } else {
            self.resume_retransmission(config, now);
        }
    }

    /// The reordering timer has fired (Linux `tcp_rack_reo_timeout`).
    fn reordering_timeout(&mut self, config: &Config, now: Instant) {
        if let Some(flight) = self.in_flight.list_mut() {
            flight.begin_news();
        }
        self.search(SearchCause::Timer, now);
        self.resume_retransmission(config, now);
        let found = self.in_flight.news().is_some_and(|news| news.lost > 0);
        if found && !matches!(self.recovery.phase(), Phase::Fast(_)) {
            self.begin_repair(config, now);
            // As if one segment had arrived ("tcp_cwnd_reduction(sk, 1, ...)").
            self.reduce_proportionally(self.sequence.mss(), Una::Stays, config);
        }
    }

    /// Marks what is lost; how long to wait for what may be.
    fn search(&mut self, cause: SearchCause, now: Instant) -> Nanos {
        self.in_flight.search(cause, self.recovery.phase(), self.round_trips.smoothed(), now)
    }

    /// The retransmission timer goes on where another one was in its place.
    fn resume_retransmission(&mut self, config: &Config, now: Instant) {
        let head = self.in_flight.list().and_then(Flight::head_sent);
        self.timers.resume_retransmission(head, self.round_trips.time_out(), config, now);
    }
}
