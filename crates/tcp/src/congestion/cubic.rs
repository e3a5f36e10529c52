//! CUBIC (RFC 9438), in integers only, so that every run of a seed gives the same windows.
//!
//! With HyStart as Linux has it: slow start may end before a loss, and then the
//! window grows by a twentieth in each round trip until there is one.

use super::{
    Acked, Expiry, Passed, Repair, Windows,
    cubic_curve::{self, Curve},
    hystart::{HyStart, micros},
    window::{LARGEST, Window},
};
use crate::units::{Instant, Nanos};

/// CUBIC's congestion control.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // The window is where other controls have it, so that reading it is one load.
pub(crate) struct Cubic {
    pub(super) window: Window,
    /// W_max; zero while there is none, which starts an epoch at its plateau (K = 0).
    w_max: u32,
    /// cwnd before the last reduction.
    cwnd_prior: u32,
    /// The shortest round trip in microseconds; zero while there is none, or without HyStart.
    delay_min: u32,
    search: Search,
    stage: Stage,
}

/// Whether HyStart looks for the end of slow start (`found` in Linux).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Search {
    /// Not the policy.
    Off,
    /// It does.
    On,
    /// It has found it.
    Found,
}

/// Slow start, or congestion avoidance.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// No epoch: the next ACK in congestion avoidance begins one.
    Before(HyStart),
    Avoiding(Epoch),
}

impl Stage {
    /// Anything sent is beyond the round trip that HyStart begins with.
    const BEGIN: Self = Self::Before(HyStart::new(0, Instant::EPOCH));
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began; moved on by the time in which cwnd was not used.
    start: Instant,
    /// When the last ACK for new data came.
    last_ack: Instant,
    curve: Curve,
    /// W_est in 256ths of a byte: what Reno's window would be.
    w_est: u64,
}

impl Cubic {
    /// A control that starts with `windows`, for segments of `mss` bytes.
    pub(crate) fn new(windows: Windows, mss: u32, search: Search) -> Self {
        Self {
            window: Window::new(windows, mss),
            w_max: 0,
            cwnd_prior: 0,
            delay_min: 0,
            search,
            stage: Stage::BEGIN,
        }
    }

    /// Whether it runs HyStart.
    #[inline]
    pub(super) fn uses_hystart(&self) -> bool {
        self.search != Search::Off
    }

    /// Linux `cubictcp_acked`: what HyStart learns of an ACK. In the first second of an epoch, round trips
    /// are those of the queue that the loss has left.
    ///
    /// Each ACK counts that has a round trip, also in a recovery, whose window may be below ssthresh.
    pub(super) fn look_for_the_end(&mut self, passed: &Passed, now: Instant) {
        if matches!(&self.stage, Stage::Avoiding(epoch) if Nanos::between(epoch.start, now) < SECOND)
        {
            return;
        }
        let delay = micros(passed.round_trip).max(1);
        if self.delay_min == 0 || delay < self.delay_min {
            self.delay_min = delay;
        }
        if let Stage::Before(hystart) = &mut self.stage
            && self.search == Search::On
            && self.window.in_slow_start()
            && hystart.ends(passed, &self.window, (delay, self.delay_min), now)
        {
            self.search = Search::Found;
            self.window.threshold = self.window.congestion;
        }
    }

    /// RFC 9438, section 4.2: t "MUST NOT include periods during which cwnd has not been updated due
    /// to application-limited behavior". ACKs of a busy connection come at most a round trip apart:
    /// what a gap has beyond that was idle. An ACK of a window that was not used counts as idle whole.
    fn leave_out_idle_time(&mut self, acked: Acked, now: Instant) {
        let Stage::Avoiding(epoch) = &mut self.stage else { return };
        let gap = Nanos::between(epoch.last_ack, now);
        epoch.last_ack = epoch.last_ack.max(now);
        let busy = match acked.srtt {
            Some(srtt) if acked.window_limited => srtt,
            None if acked.window_limited => gap,
            _ => Nanos::ZERO,
        };
        epoch.start = (epoch.start + (gap - busy)).min(now);
    }

    fn avoid_congestion(&mut self, acked: Acked, now: Instant) {
        let Window { congestion: cwnd, mss, .. } = self.window;
        let (w_max, cwnd_prior) = (self.w_max, self.cwnd_prior);
        if matches!(self.stage, Stage::Before(_)) {
            self.stage = Stage::Avoiding(Epoch {
                start: now,
                last_ack: now,
                curve: Curve::new(w_max, cwnd, mss),
                w_est: u64::from(cwnd) << EST_SHIFT,
            });
        }
        let Stage::Avoiding(epoch) = &mut self.stage else { return };
        let t = Nanos::between(epoch.start, now);
        let bytes = acked.delivered.min(cwnd);
        epoch.w_est = grow_w_est(epoch.w_est, bytes, cwnd, cwnd_prior, mss);
        let w_est = u32::try_from(epoch.w_est >> EST_SHIFT).unwrap_or(LARGEST);
        // Linux `bictcp_update`: "The initial growth of cubic function may be too conservative when the
        // available bandwidth is still unknown."
        let unknown = w_max == 0 && self.search != Search::Off;
        let least = if unknown { bytes / UNKNOWN_GROWTH } else { 0 };

        if epoch.curve.window_at(t.into(), mss) < w_est {
            // Section 4.3, the Reno-friendly region: "cwnd SHOULD be set to W_est".
            self.window.grow(w_est.saturating_sub(cwnd).max(least));
        } else {
            // Sections 4.4 and 4.5, concave and convex: (target - cwnd) / cwnd per segment.
            let srtt = acked.srtt.unwrap_or_default();
            let target = epoch.curve.window_at((t + srtt).into(), mss);
            let target = target.clamp(cwnd, cwnd.saturating_add(cwnd / 2));
            let increment = u64::from(target - cwnd) * u64::from(bytes) / u64::from(cwnd);
            self.window.grow(u32::try_from(increment).unwrap_or(mss).max(least));
        }
    }

    /// What every reduction begins with. Section 4.7, fast convergence: a window that did not reach
    /// the last W_max gives way further, to (1 + beta) / 2 of itself. The epoch ends; the round trip that
    /// HyStart looks at does not (Linux `cubictcp_recalc_ssthresh`).
    fn remember_window(&mut self) {
        let cwnd = self.window.congestion;
        self.w_max = if cwnd < self.w_max { cubic_curve::fraction(cwnd, 17, 20) } else { cwnd };
        self.cwnd_prior = cwnd;
        if matches!(self.stage, Stage::Avoiding(_)) {
            self.stage = Stage::BEGIN;
        }
    }

    /// ssthresh after a loss: cwnd times beta_cubic, at least two segments. Section 4.6 takes FlightSize
    /// and permits cwnd where an application-limited sender cannot raise it, as here; Linux takes cwnd
    /// (`cubictcp_recalc_ssthresh`).
    fn reduced(&self) -> u32 {
        let Window { congestion, mss, .. } = self.window;
        let reduced = match self.search {
            Search::Off => cubic_curve::fraction(congestion, 7, 10),
            // Linux counts whole segments, and in 1024ths (`beta`).
            Search::On | Search::Found => {
                let segments = u64::from(congestion / mss) * 717 / 1024;
                u32::try_from(segments * u64::from(mss)).unwrap_or(LARGEST)
            }
        };
        reduced.max(2 * mss)
    }

    pub(super) fn on_ack(&mut self, acked: Acked, now: Instant) {
        self.leave_out_idle_time(acked, now);
        if !self.window.was_used(acked) {
            return;
        }
        let left = self.slow_start(acked.delivered);
        if left > 0 {
            self.avoid_congestion(Acked { delivered: left, ..acked }, now);
        }
    }

    /// Opens cwnd by all that was delivered, up to ssthresh; returns what is left of it for congestion
    /// avoidance (Linux `tcp_slow_start`). RFC 9406, section 4.2, has a limit per ACK for senders that
    /// are not paced; Linux has none.
    fn slow_start(&mut self, delivered: u32) -> u32 {
        let room = self.window.threshold.saturating_sub(self.window.congestion);
        let used = delivered.min(room);
        self.window.grow(used);
        delivered - used
    }

    pub(super) fn on_loss(&mut self, repair: Repair) {
        self.remember_window();
        let threshold = self.reduced();
        self.window.enter_recovery(threshold, repair);
    }

    /// Section 4.8: after a timeout "K is set to 0, and W_max is set to the congestion window size
    /// at the beginning of the current congestion avoidance stage". ssthresh is held for a segment
    /// that has expired before (RFC 5681, section 3.1), and during a recovery, which has reduced it for
    /// the same window of data (Linux `tcp_enter_loss`).
    pub(super) fn on_timeout(&mut self, expiry: Expiry, next: u64, now: Instant) {
        if expiry == Expiry::First && !self.window.in_recovery() {
            self.remember_window();
            self.window.threshold = self.reduced();
        }
        self.w_max = 0;
        self.delay_min = 0;
        self.stage = Stage::Before(HyStart::new(next, now));
        if self.search == Search::Found {
            self.search = Search::On;
        }
        self.window.collapse();
    }

    /// The curve belongs to a window that is gone: the next congestion avoidance begins a new one. Linux
    /// goes on with it (`cubictcp_cwnd_event` moves only its time).
    pub(super) fn on_restart(&mut self, windows: Windows) {
        self.window.set(windows);
        if self.search == Search::Off {
            self.stage = Stage::BEGIN;
        }
    }
}

/// Section 4.3: W_est grows by alpha segments per window acknowledged, alpha = 3 (1 - beta) / (1 +
/// beta) = 9/17, and 1 once it has come back to where the last reduction began.
fn grow_w_est(w_est: u64, bytes: u32, cwnd: u32, cwnd_prior: u32, mss: u32) -> u64 {
    let reached = w_est >> EST_SHIFT >= u64::from(cwnd_prior);
    let (numerator, denominator) = if reached { (1, 1) } else { (9, 17) };
    let bytes = u64::from(bytes) * u64::from(mss) * numerator;
    let increment = (bytes << EST_SHIFT) / (u64::from(cwnd) * denominator);
    (w_est + increment).min(u64::from(LARGEST) << EST_SHIFT)
}

/// W_est is kept in 2^-8 bytes: an ACK may add less than a byte.
const EST_SHIFT: u32 = 8;
/// Linux: `ca->cnt = 20`, "increase cwnd 5% per RTT".
const UNKNOWN_GROWTH: u32 = 20;
/// Linux: "Discard delay samples right after fast recovery".
const SECOND: Nanos = Nanos::from_millis(1_000);
