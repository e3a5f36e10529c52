//! BBR version 1 (Cardwell et al. 2016; Linux 6 `net/ipv4/tcp_bbr.c`, whose functions are named here).
//!
//! It does not wait for losses: it measures the bandwidth and the shortest round trip of the path, paces at
//! that bandwidth, and keeps twice their product in flight at most. Rates are counted in segments, as in
//! the kernel.
//!
//! Not here: how much a driver segments at once beyond the kernel's `tcp_tso_autosize`; undo of a spurious
//! timeout, for which BBR has its model anyway; and the randomness of the gain cycle, which is an argument.

mod pace;
mod policer;
#[cfg(test)]
mod tests;

use super::{
    Snapshot, Windows,
    delivery_rate::{DeliveryRate, Sample, precedes},
    maximum::WindowedMaximum,
    window::{LARGEST, Window},
};
use crate::{
    pacing::QuantumPacer,
    units::{Instant, Nanos},
};
use policer::Policer;

/// BBR's congestion control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bbr {
    pub(super) window: Window,
    rate: DeliveryRate,
    pacer: QuantumPacer,
    /// The largest bandwidth of the last ten rounds.
    bandwidth: WindowedMaximum,
    /// Packet-timed round trips.
    rounds: u32,
    /// The round ends when this has been delivered.
    round_ends: u32,
    /// The shortest round trip of the last ten seconds, in microseconds, and when it was measured.
    min_rtt: u32,
    /// in milliseconds.
    min_rtt_at: u32,
    /// When PROBE_RTT may end, once its flight is small enough; 0 before.
    probe_rtt_until: u32,
    /// When the phase of the gain cycle began.
    cycle_since: Instant,
    policer: Policer,
    /// The bandwidth that STARTUP has last seen grow.
    full_bandwidth: u32,
    /// cwnd to come back to, in segments.
    prior_window: u32,
    extra: Extra,
    mode: Mode,
    /// Rounds without much more bandwidth.
    full_rounds: u8,
    cycle: u8,
    /// Rounds of `Extra::most`.
    extra_rounds: u8,
    /// At which phase the gain cycle begins.
    phase: u8,
    repairing: Repairing,
    conserves: bool,
    round_began: bool,
    restarts: bool,
    probe_rtt_round_done: bool,
    has_seen_round_trip: bool,
    full: bool,
}

/// BBR's modes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// How far a repair has come (Linux `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Repairing {
    Nothing,
    Losses,
    Timeout,
}

/// What more was acknowledged than the bandwidth explains: ACKs come in bursts.
#[derive(Clone, Copy, Debug, Default)]
struct Extra {
    since: Instant,
    acked: u32,
    /// The most of these rounds, and of those before.
    most: [u16; 2],
}

/// What one ACK has delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Segments delivered, and segments that were found lost.
    pub delivered: u32,
    pub lost: u32,
    /// Of the delivered segment that was sent when most had been delivered.
    pub rate: Option<(Snapshot, Instant)>,
    /// The round trip of the one sent last.
    pub round_trip: Option<Nanos>,
    /// The receiver may have delayed the ACK.
    pub delayed: bool,
    /// Segments on their way before and after it.
    pub in_flight_before: u32,
    pub in_flight: u32,
    pub repairing: Repairing,
    pub srtt: Option<Nanos>,
    /// The shortest round trip of the connection.
    pub shortest: Option<Nanos>,
}

impl Bbr {
    /// `bbr_cycle_rand`: phases at which the gain cycle may begin; never with the one that drains.
    pub(crate) const PHASES: u8 = 7;

    /// A control that starts with `windows`, for segments of `mss` bytes.
    pub(crate) fn new(windows: Windows, mss: u32) -> Self {
        let now = Instant::EPOCH;
        Self {
            window: Window::new(Windows { threshold: u32::MAX, ..windows }, mss),
            rate: DeliveryRate::NONE,
            pacer: QuantumPacer::new(pace::UNPACED, now),
            bandwidth: WindowedMaximum::default(),
            rounds: 0,
            round_ends: 0,
            min_rtt: u32::MAX,
            min_rtt_at: 0,
            probe_rtt_until: 0,
            cycle_since: now,
            policer: Policer::default(),
            full_bandwidth: 0,
            prior_window: 0,
            extra: Extra { since: now, ..Extra::default() },
            mode: Mode::Startup,
            full_rounds: 0,
            cycle: 0,
            extra_rounds: 0,
            phase: 0,
            repairing: Repairing::Nothing,
            conserves: false,
            round_began: false,
            restarts: false,
            probe_rtt_round_done: false,
            has_seen_round_trip: false,
            full: false,
        }
    }

    /// The connection is established, after a handshake of this round trip, if it was measured
    /// (`bbr_init`). The gain cycle begins at `phase`.
    pub(crate) fn begin(&mut self, round_trip: Option<Nanos>, phase: u8, now: Instant) {
        self.phase = phase % Self::PHASES;
        self.min_rtt = round_trip.map_or(u32::MAX, micros);
        (self.min_rtt_at, self.extra.since) = (millis(now), now);
        self.start_pace(round_trip);
    }

    /// Whether cwnd is four segments, so that the queue empties and the round trip shows.
    pub(super) fn probes_round_trip(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    /// `bbr_main`.
    pub(crate) fn on_ack(&mut self, delivery: &Delivery, now: Instant) {
        let Delivery { delivered, rate, shortest, .. } = *delivery;
        let sample = self.rate.on_ack(delivered, rate, shortest, now);
        self.update_bandwidth(delivery, sample);
        self.update_extra(delivery, sample);
        self.update_cycle(delivery, now);
        self.look_whether_full(sample);
        self.drain(delivery, now);
        self.update_min_rtt(delivery, sample, now);
        self.set_pace(self.bandwidth(), self.pacing_gain(), delivery.srtt);
        self.set_window(delivery);
    }

    /// A segment is about to leave, and nothing is outstanding (`bbr_cwnd_event`).
    pub(super) fn on_first_sent(&mut self, now: Instant) {
        if self.rate.is_app_limited() {
            self.restarts = true;
            self.extra = Extra { since: now, acked: 0, ..self.extra };
            match self.mode {
                Mode::ProbeBandwidth => self.set_pace(self.bandwidth(), UNIT, None),
                Mode::ProbeRtt => self.leave_probe_rtt(now),
                Mode::Startup | Mode::Drain => {}
            }
        }
        self.rate.on_first_sent(now);
    }

    /// What a sample of the delivery rate needs of a segment that leaves.
    pub(super) const fn snapshot(&self) -> Snapshot {
        self.rate.snapshot()
    }

    /// The application writes, when all that was written has left and cwnd has room (`tcp_sendmsg`:
    /// `tcp_rate_check_app_limited`).
    pub(crate) fn on_write_after_gap(&mut self, in_flight: u32) {
        self.rate.limit_by_application(in_flight);
    }

    /// `bbr_ssthresh`: a repair begins.
    pub(super) fn on_loss(&mut self) {
        self.save_window();
    }

    /// `tcp_enter_loss` and `bbr_set_state`.
    pub(super) fn on_timeout(&mut self) {
        self.save_window();
        self.repairing = Repairing::Timeout;
        self.full_bandwidth = 0;
        self.round_began = true;
        self.sample_long_term(1, false);
        self.set_segments(1);
    }

    /// A repair was in vain (`bbr_undo_cwnd`): the pipe may not have been full.
    pub(super) fn undo(&mut self) {
        (self.full_bandwidth, self.full_rounds) = (0, 0);
        self.end_sampling();
    }

    /// The estimated bandwidth in segments per microsecond, shifted (`bbr_bw`).
    const fn bandwidth(&self) -> u32 {
        match self.policer.bandwidth() {
            Some(bandwidth) => bandwidth,
            None => self.bandwidth.value(),
        }
    }

    /// `bbr_update_bw`.
    fn update_bandwidth(&mut self, delivery: &Delivery, sample: Option<Sample>) {
        self.round_began = false;
        let Some(sample) = sample else { return };
        let Some(interval) = sample.interval else { return };
        if !precedes(sample.prior_delivered, self.round_ends) {
            self.round_ends = self.rate.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_began = true;
            self.conserves = false;
        }
        self.sample_long_term(delivery.lost, sample.app_limited);
        let bandwidth = segments_per_time(sample.delivered, interval);
        if !sample.app_limited || bandwidth >= self.bandwidth.value() {
            self.bandwidth.add(bandwidth, self.rounds, BANDWIDTH_ROUNDS);
        }
    }

    /// `bbr_update_ack_aggregation`.
    fn update_extra(&mut self, delivery: &Delivery, sample: Option<Sample>) {
        if delivery.delivered == 0 || sample.is_none_or(|sample| sample.interval.is_none()) {
            return;
        }
        let most = self.segments();
        let delivered_at = self.rate.delivered_at;
        let epoch = u64::from(micros(Nanos::between(self.extra.since, delivered_at)));
        let expected = u64::from(self.bandwidth()) * epoch / RATE_UNIT;
        let extra = &mut self.extra;
        if self.round_began {
            self.extra_rounds += 1;
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                extra.most = [0, extra.most[0]];
            }
        }
        let mut expected = u32::try_from(expected).unwrap_or(u32::MAX);
        if extra.acked <= expected || extra.acked + delivery.delivered >= EXTRA_EPOCH {
            (extra.acked, extra.since) = (0, delivered_at);
            expected = 0;
        }
        extra.acked = (extra.acked + delivery.delivered).min(EXTRA_EPOCH - 1);
        let beyond = extra.acked.saturating_sub(expected).min(most);
        extra.most[0] = extra.most[0].max(u16::try_from(beyond).unwrap_or(u16::MAX));
    }

    /// `bbr_update_cycle_phase`.
    fn update_cycle(&mut self, delivery: &Delivery, now: Instant) {
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(delivery, now) {
            self.next_phase();
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, delivery: &Delivery, now: Instant) -> bool {
        let lasted = micros(Nanos::between(self.cycle_since, self.rate.delivered_at));
        let full_length = lasted > self.min_rtt;
        let gain = self.pacing_gain();
        if gain == UNIT {
            return full_length;
        }
        let in_flight = self.in_network(delivery.in_flight_before, now);
        let bandwidth = self.bandwidth.value();
        if gain > UNIT {
            let filled = || in_flight >= self.in_flight_for(bandwidth, gain);
            return full_length && (delivery.lost > 0 || filled());
        }
        full_length || in_flight <= self.in_flight_for(bandwidth, UNIT)
    }

    /// `bbr_advance_cycle_phase`.
    const fn next_phase(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE;
        self.cycle_since = self.rate.delivered_at;
    }

    /// `bbr_reset_probe_bw_mode`. The kernel draws a phase; ours is given, and the next time it is another.
    fn probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle = CYCLE - 1 - self.phase;
        self.phase = (self.phase + PHASE_STEP) % Self::PHASES;
        self.next_phase();
    }

    /// `bbr_check_full_bw_reached`: STARTUP ends after three rounds in which the bandwidth has grown by less
    /// than a quarter.
    fn look_whether_full(&mut self, sample: Option<Sample>) {
        if self.full || !self.round_began || sample.is_some_and(|sample| sample.app_limited) {
            return;
        }
        let bandwidth = self.bandwidth.value();
        if u64::from(bandwidth) >= u64::from(self.full_bandwidth) * 5 / 4 {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn drain(&mut self, delivery: &Delivery, now: Instant) {
        let fits = self.in_flight_for(self.bandwidth.value(), UNIT);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.window.threshold = fits.saturating_mul(self.window.mss).min(LARGEST);
        }
        let fits = self.in_flight_for(self.bandwidth.value(), UNIT);
        if self.mode == Mode::Drain && self.in_network(delivery.in_flight, now) <= fits {
            self.probe_bandwidth();
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_min_rtt(&mut self, delivery: &Delivery, sample: Option<Sample>, now: Instant) {
        let expired = precedes(self.min_rtt_at.wrapping_add(MIN_RTT_WINDOW), millis(now));
        if let Some(round_trip) = delivery.round_trip.map(micros)
            && (round_trip <= self.min_rtt || (expired && !delivery.delayed))
        {
            (self.min_rtt, self.min_rtt_at) = (round_trip, millis(now));
        }
        if expired && !self.restarts && self.mode != Mode::ProbeRtt {
            self.save_window_in(Mode::ProbeRtt);
            self.probe_rtt_until = 0;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(delivery.in_flight, now);
        }
        if sample.is_some_and(|sample| sample.delivered > 0) {
            self.restarts = false;
        }
    }

    /// A flight of four segments, for 200 ms and a round at least.
    fn probe_rtt(&mut self, in_flight: u32, now: Instant) {
        self.rate.limit_by_application(in_flight);
        match self.probe_rtt_until {
            0 if in_flight <= LEAST_WINDOW => {
                self.probe_rtt_until = millis(now).wrapping_add(PROBE_RTT_TIME).max(1);
                self.probe_rtt_round_done = false;
                self.round_ends = self.rate.delivered;
            }
            0 => {}
            _ => {
                self.probe_rtt_round_done |= self.round_began;
                if self.probe_rtt_round_done {
                    self.leave_probe_rtt(now);
                }
            }
        }
    }

    /// `bbr_check_probe_rtt_done`.
    fn leave_probe_rtt(&mut self, now: Instant) {
        if self.probe_rtt_until == 0 || !precedes(self.probe_rtt_until, millis(now)) {
            return;
        }
        self.min_rtt_at = millis(now);
        self.set_segments(self.segments().max(self.prior_window));
        if self.full {
            self.probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`.
    const fn pacing_gain(&self) -> u32 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth if self.policer.bandwidth().is_some() => UNIT,
            Mode::ProbeBandwidth => PACING_GAINS[self.cycle as usize % PACING_GAINS.len()],
            Mode::ProbeRtt => UNIT,
        }
    }

    const fn window_gain(&self) -> u32 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth => 2 * UNIT,
            Mode::ProbeRtt => UNIT,
        }
    }

    /// `bbr_bdp`: what the path holds, rounded up.
    fn path_holds(&self, bandwidth: u32, gain: u32) -> u32 {
        if self.min_rtt == u32::MAX {
            return INITIAL_WINDOW;
        }
        let product = u128::from(bandwidth) * u128::from(self.min_rtt) * u128::from(gain);
        let segments = (product >> GAIN_SHIFT).div_ceil(RATE_UNIT.into());
        u32::try_from(segments).unwrap_or(LARGEST).min(LARGEST)
    }

    /// `bbr_quantization_budget`: beside what the path holds, what the ends hold.
    fn with_budget(&self, segments: u32) -> u32 {
        let probes = self.mode == Mode::ProbeBandwidth && self.cycle == 0;
        let segments = segments + 3 * self.burst_segments();
        segments.next_multiple_of(2) + if probes { 2 } else { 0 }
    }

    /// `bbr_inflight`.
    fn in_flight_for(&self, bandwidth: u32, gain: u32) -> u32 {
        self.with_budget(self.path_holds(bandwidth, gain))
    }

    /// `bbr_ack_aggregation_cwnd`.
    fn extra_window(&self) -> u32 {
        if !self.full {
            return 0;
        }
        let most = u64::from(self.bandwidth()) * EXTRA_MICROS / RATE_UNIT;
        let [now, before] = self.extra.most;
        u32::from(now.max(before)).min(u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// `bbr_set_cwnd`.
    fn set_window(&mut self, delivery: &Delivery) {
        let Delivery { delivered, in_flight, .. } = *delivery;
        let mut window = self.segments();
        if delivered > 0 {
            window = self.recover_or_restore(delivery);
            if self.conserves {
                window = window.max(in_flight + delivered);
            } else {
                let holds = self.path_holds(self.bandwidth(), self.window_gain());
                let target = self.with_budget(holds + self.extra_window());
                if self.full {
                    window = (window + delivered).min(target);
                } else if window < target || self.rate.delivered < INITIAL_WINDOW {
                    window += delivered;
                }
                window = window.max(LEAST_WINDOW);
            }
        }
        if self.mode == Mode::ProbeRtt {
            window = window.min(LEAST_WINDOW);
        }
        self.set_segments(window);
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: in the first round of a repair, as much leaves as arrives.
    fn recover_or_restore(&mut self, delivery: &Delivery) -> u32 {
        let Delivery { delivered, lost, in_flight, repairing, .. } = *delivery;
        let mut window = self.segments().saturating_sub(lost).max(1);
        let before = core::mem::replace(&mut self.repairing, repairing);
        if repairing == Repairing::Losses && before != Repairing::Losses {
            self.conserves = true;
            self.round_ends = self.rate.delivered;
            window = in_flight + delivered;
        } else if before != Repairing::Nothing && repairing == Repairing::Nothing {
            window = window.max(self.prior_window);
            self.conserves = false;
        }
        window
    }

    /// `bbr_save_cwnd`.
    fn save_window(&mut self) {
        let good = self.repairing == Repairing::Nothing && self.mode != Mode::ProbeRtt;
        let window = self.segments();
        self.prior_window = if good { window } else { self.prior_window.max(window) };
    }

    /// The mode is set before the window is saved, as in the kernel: so the larger of both is kept.
    fn save_window_in(&mut self, mode: Mode) {
        self.mode = mode;
        self.save_window();
    }

    /// cwnd in segments.
    const fn segments(&self) -> u32 {
        self.window.congestion / self.window.mss
    }

    fn set_segments(&mut self, segments: u32) {
        let mss = self.window.mss;
        self.window.congestion = segments.saturating_mul(mss).clamp(mss, LARGEST);
    }
}

/// In whole microseconds, as the kernel counts.
fn micros(span: Nanos) -> u32 {
    u32::try_from(span.micros()).unwrap_or(u32::MAX - 1)
}

/// A clock of milliseconds that wraps around, as the kernel's jiffies.
#[expect(clippy::cast_possible_truncation, reason = "the clock wraps around")]
const fn millis(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// A rate in segments per microsecond, shifted by [`RATE_SHIFT`].
fn segments_per_time(segments: u32, time: Nanos) -> u32 {
    let rate = (u64::from(segments) << RATE_SHIFT) / u64::from(micros(time)).max(1);
    u32::try_from(rate).unwrap_or(u32::MAX)
}

/// `BW_SCALE`.
const RATE_SHIFT: u32 = 24;
const RATE_UNIT: u64 = 1 << RATE_SHIFT;
/// `BBR_SCALE`.
const GAIN_SHIFT: u32 = 8;
const UNIT: u32 = 1 << GAIN_SHIFT;
/// 2 / ln 2: "the smallest pacing gain that will allow a smoothly increasing pacing rate that will double
/// each RTT".
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// `bbr_pacing_gain`.
const PACING_GAINS: [u32; CYCLE as usize] =
    [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const CYCLE: u8 = 8;
/// Our choice: visits all phases, because seven is prime.
const PHASE_STEP: u8 = 3;
/// `bbr_bw_rtts`.
const BANDWIDTH_ROUNDS: u32 = CYCLE as u32 + 2;
/// `bbr_min_rtt_win_sec`.
const MIN_RTT_WINDOW: u32 = 10_000;
/// `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_TIME: u32 = 200;
/// `bbr_full_bw_cnt`.
const FULL_ROUNDS: u8 = 3;
/// `bbr_cwnd_min_target`.
const LEAST_WINDOW: u32 = 4;
/// `TCP_INIT_CWND`.
const INITIAL_WINDOW: u32 = 10;
/// `bbr_extra_acked_win_rtts`.
const EXTRA_ROUNDS: u8 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`.
const EXTRA_EPOCH: u32 = 1 << 20;
/// `bbr_extra_acked_max_us`.
const EXTRA_MICROS: u64 = 100_000;
