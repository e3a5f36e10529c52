//! The round-trip time and the retransmission timeout that follows from it.
//!
//! Which segments may be measured (Karn's algorithm) is the endpoint's business. So is *when* the
//! timer fires: [`TimerPolicy::expiry`] knows the host's clock.

mod linux;

use core::time::Duration;

use self::linux::Linux;
use crate::{policy::TimerPolicy, units::Nanos};

/// Jacobson's estimator (SIGCOMM '88, appendix A; RFC 6298) with its back-off.
///
/// One integer recurrence serves all policies but Linux's: BSD runs it in ticks of 500 ms, ns-2 in ticks of
/// 100 ms, the other in nanoseconds, where it is RFC 6298 to the rounding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RoundTrip {
    policy: TimerPolicy,
    /// What the policy's estimator remembers: [`Linux`] or [`Jacobson`]. An endpoint has room for both only in
    /// the same place, and for no tag beside `policy`.
    words: [u32; 5],
    /// Timeouts since the last sample.
    back_off: u8,
    syn: Syn,
}

/// The estimator of all policies but Linux's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Jacobson {
    /// 8 SRTT in units of the policy's clock; zero before there is a sample.
    srtt_8: u64,
    /// 4 RTTVAR in the same unit.
    rttvar_4: u64,
}

impl Jacobson {
    const fn from_words([a, b, c, d, _]: [u32; 5]) -> Self {
        Self { srtt_8: a as u64 | (b as u64) << 32, rttvar_4: c as u64 | (d as u64) << 32 }
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are kept")]
    const fn words(self) -> [u32; 5] {
        let Self { srtt_8, rttvar_4 } = self;
        [srtt_8 as u32, (srtt_8 >> 32) as u32, rttvar_4 as u32, (rttvar_4 >> 32) as u32, 0]
    }
}

/// What became of the SYN.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Syn {
    Outstanding,
    /// So many times.
    TimedOut(u8),
    /// The handshake is over, and its SYN had timed out.
    AcknowledgedLate,
    Acknowledged,
}

impl RoundTrip {
    /// Before the first sample.
    #[must_use]
    pub const fn new(policy: TimerPolicy) -> Self {
        let rttvar_4 = match policy {
            TimerPolicy::Bsd => BSD_INITIAL_RTTVAR_4,
            TimerPolicy::Rfc6298 | TimerPolicy::Linux | TimerPolicy::Ns2 => 0,
        };
        let words = Jacobson { srtt_8: 0, rttvar_4 }.words();
        Self { policy, words, back_off: 0, syn: Syn::Outstanding }
    }

    #[inline]
    pub(crate) const fn policy(&self) -> TimerPolicy {
        self.policy
    }

    /// With what an earlier connection to the same host measured (RFC 9040, section 6).
    #[must_use]
    pub fn inherited(policy: TimerPolicy, srtt: Duration, rttvar: Duration) -> Self {
        let (srtt, rttvar) = (Nanos::of(srtt), Nanos::of(rttvar));
        let words = match policy {
            TimerPolicy::Linux => Linux::inherited(srtt, rttvar).words(),
            TimerPolicy::Bsd | TimerPolicy::Rfc6298 | TimerPolicy::Ns2 => {
                let srtt_8 = in_units(policy, srtt * 8).max(1);
                Jacobson { srtt_8, rttvar_4: in_units(policy, rttvar * 4).max(1) }.words()
            }
        };
        Self { words, ..Self::new(policy) }
    }

    /// Takes the round-trip time of a segment that was sent once (Karn), and ends the back-off.
    ///
    /// RFC 6298, section 2.3: "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|", then the same for
    /// SRTT, with alpha = 1/8 and beta = 1/4. BSD counts the ticks that pass; we take the whole ticks
    /// in `sample`, as if it began at one. ns-2 counts one tick at least.
    ///
    /// Linux, whose variance changes once in a round trip, takes each sample for one round trip; an endpoint
    /// tells it more.
    pub fn on_sample(&mut self, sample: Duration) {
        let next = Linux::from_words(self.words).after_round_trip();
        self.sample(Nanos::of(sample), next, next);
    }

    /// The same, when everything before `una` is acknowledged and everything before `next` was sent, both
    /// modulo 2^32.
    pub(crate) fn sample(&mut self, sample: Nanos, una: u32, next: u32) {
        if self.policy == TimerPolicy::Linux {
            let mut state = Linux::from_words(self.words);
            state.sample(sample, una, next);
            self.words = state.words();
        } else {
            self.sample_in_units(sample);
        }
        self.back_off = 0;
        if self.syn == Syn::Outstanding {
            self.syn = Syn::Acknowledged;
        }
    }

    #[inline]
    fn sample_in_units(&mut self, sample: Nanos) {
        let whole = in_units(self.policy, sample.min(LONGEST_SAMPLE));
        let r = if self.policy == TimerPolicy::Ns2 { whole.max(1) } else { whole };
        let Jacobson { srtt_8, rttvar_4 } = Jacobson::from_words(self.words);
        let state = if srtt_8 == 0 {
            // `t_rtt` in BSD starts at 1, which only the first sample does not take off again.
            let first = if self.policy == TimerPolicy::Bsd { r + 1 } else { r };
            Jacobson { srtt_8: (first * 8).max(1), rttvar_4: first * 2 }
        } else {
            let deviation = r.abs_diff(srtt_8 / 8);
            Jacobson {
                srtt_8: (srtt_8 - srtt_8 / 8 + r).max(1),
                rttvar_4: (rttvar_4 - rttvar_4 / 4 + deviation).max(1),
            }
        };
        self.words = state.words();
    }

    /// The retransmission timeout, back-off included.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.time_out().into()
    }

    /// The retransmission timeout as it is without back-off.
    #[must_use]
    pub fn rto_without_back_off(&self) -> Duration {
        Self { back_off: 0, ..*self }.rto()
    }

    /// The same for the endpoint: every ACK asks, and a `Duration` is slow to compute.
    #[inline]
    pub(crate) fn time_out(&self) -> Nanos {
        // Of Linux, and not backed off: most ask for this one, several times for an ACK.
        if self.policy == TimerPolicy::Linux && self.back_off == 0 {
            let state = Linux::from_words(self.words);
            if state.srtt_8 > 0 {
                return state.time_out();
            }
        }
        self.time_out_in_detail()
    }

    #[inline(never)]
    fn time_out_in_detail(&self) -> Nanos {
        (self.base() * (1 << self.back_off)).clamp(self.minimum(), Nanos::of(self.policy.max_rto()))
    }

    /// RFC 6298, section 5.5: "the host MUST set RTO <- RTO * 2 ("back off the timer")".
    pub fn back_off(&mut self) {
        self.back_off = (self.back_off + 1).min(MAX_BACK_OFF);
        let clobbers = matches!(self.policy, TimerPolicy::Bsd | TimerPolicy::Ns2);
        if clobbers && self.back_off == BSD_CLOBBER {
            self.forget_srtt();
        }
    }

    /// Forgets the back-off without a sample, as a new ACK may allow.
    pub const fn reset_back_off(&mut self) {
        self.back_off = 0;
    }

    /// The timer expired for a SYN or SYN-ACK: backs off and remembers it for
    /// [`on_established`](Self::on_established).
    pub fn on_syn_timeout(&mut self) {
        self.count_syn_timeout();
        self.back_off();
    }

    /// The same for the SYN of an active open: Linux backs off after `net.ipv4.tcp_syn_linear_timeouts` of them
    /// (`tcp_retransmit_timer`, since 6.5).
    pub(crate) fn on_timeout_of_active_open(&mut self) {
        let earlier = self.count_syn_timeout();
        if self.policy != TimerPolicy::Linux || earlier >= LINUX_LINEAR_SYNS {
            self.back_off();
        }
    }

    /// How many there were before.
    fn count_syn_timeout(&mut self) -> u8 {
        let earlier = if let Syn::TimedOut(count) = self.syn { count } else { 0 };
        self.syn = Syn::TimedOut(earlier.saturating_add(1));
        earlier
    }

    /// The handshake is over. Without a sample after a timeout, the RTO starts again at 3 s (RFC
    /// 6298, section 5.7; BSD goes on as it was).
    pub fn on_established(&mut self) {
        let late = matches!(self.syn, Syn::TimedOut(_));
        if late && self.policy.rto_after_lost_syn().is_some() {
            self.back_off = 0;
        }
        self.syn = if late { Syn::AcknowledgedLate } else { Syn::Acknowledged };
    }

    /// SRTT, once there is a sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.smoothed().map(Duration::from)
    }

    /// The same for the endpoint.
    pub(crate) fn smoothed(&self) -> Option<Nanos> {
        if self.policy == TimerPolicy::Linux {
            let srtt_8 = Linux::from_words(self.words).srtt_8;
            return (srtt_8 > 0).then(|| Nanos::from_micros((srtt_8 >> 3).into()));
        }
        let srtt_8 = Jacobson::from_words(self.words).srtt_8;
        (srtt_8 > 0).then(|| self.span(srtt_8, 8))
    }

    /// RTTVAR, once there is a sample.
    #[must_use]
    pub fn variance(&self) -> Option<Duration> {
        self.smoothed()?;
        Some(Duration::from(match self.policy {
            TimerPolicy::Linux => {
                Nanos::from_micros(Linux::from_words(self.words).variance.into()) / 4
            }
            TimerPolicy::Bsd | TimerPolicy::Rfc6298 | TimerPolicy::Ns2 => {
                self.span(Jacobson::from_words(self.words).rttvar_4, 4)
            }
        }))
    }

    /// How often the timer has backed off since the last sample.
    #[must_use]
    pub const fn back_offs(&self) -> u8 {
        self.back_off
    }

    /// The timeout without back-off.
    fn base(&self) -> Nanos {
        if self.policy == TimerPolicy::Linux {
            let state = Linux::from_words(self.words);
            return if state.srtt_8 > 0 { state.time_out() } else { self.unmeasured() };
        }
        let Jacobson { srtt_8, rttvar_4 } = Jacobson::from_words(self.words);
        let measured = srtt_8 > 0;
        match self.policy {
            // 4.4BSD's first SYN waits for (3 s * 4) / 2 = 6 s, the second for 2 * 12 s: 6 and 30 s
            // (`tcp_newtcpcb`, `TCP_REXMTVAL`).
            TimerPolicy::Bsd if !measured && self.syn == Syn::Outstanding => BSD_FIRST_SYN,
            // Not so after a clobbering, where the estimate has moved to the variance.
            TimerPolicy::Ns2 if !measured && rttvar_4 == 0 => NS2_INITIAL,
            TimerPolicy::Bsd | TimerPolicy::Ns2 => self.span(srtt_8 / 8 + rttvar_4, 1),
            TimerPolicy::Rfc6298 | TimerPolicy::Linux if !measured => self.unmeasured(),
            // Rounded up before it is backed off; BSD does it afterwards.
            TimerPolicy::Rfc6298 | TimerPolicy::Linux => {
                self.span(srtt_8 / 8 + rttvar_4, 1).max(self.minimum())
            }
        }
    }

    /// RFC 6298, section 2.1: "the sender SHOULD set RTO <- 1 second".
    fn unmeasured(&self) -> Nanos {
        let after_loss = self.policy.rto_after_lost_syn();
        after_loss.filter(|_| self.syn == Syn::AcknowledgedLate).map_or(INITIAL, Nanos::of)
    }

    /// RFC 6298, section 2.4: "if the computed RTO is less than 1 second, then the RTO SHOULD be
    /// rounded up to 1 second". BSD: `TCPTV_MIN`, two ticks.
    const fn minimum(&self) -> Nanos {
        match self.policy {
            TimerPolicy::Bsd | TimerPolicy::Rfc6298 => Nanos::from_millis(1_000),
            TimerPolicy::Linux => LINUX_MIN_VARIANCE,
            TimerPolicy::Ns2 => NS2_MINIMUM,
        }
    }

    /// "Our srtt estimate is probably bogus" (4.4BSD `tcp_timers`, after a quarter of the possible
    /// retransmissions): the next sample counts as the first, the RTO stays as it is until then.
    fn forget_srtt(&mut self) {
        let Jacobson { srtt_8, rttvar_4 } = Jacobson::from_words(self.words);
        self.words = Jacobson { srtt_8: 0, rttvar_4: rttvar_4 + srtt_8 / 8 }.words();
    }

    /// What the estimator counts, as time.
    fn span(&self, scaled: u64, scale: u64) -> Nanos {
        match clock(self.policy) {
            Some(tick) => tick * scaled / scale,
            None => Nanos::new(scaled / scale),
        }
    }
}

/// The clock in which the estimator counts; `None` counts nanoseconds.
const fn clock(policy: TimerPolicy) -> Option<Nanos> {
    match policy {
        TimerPolicy::Bsd => Some(Nanos::of(TimerPolicy::BSD_TICK)),
        TimerPolicy::Ns2 => Some(Nanos::of(TimerPolicy::NS2_TICK)),
        TimerPolicy::Rfc6298 | TimerPolicy::Linux => None,
    }
}

/// Whole units of the policy's clock.
fn in_units(policy: TimerPolicy, span: Nanos) -> u64 {
    clock(policy).map_or_else(|| span.get(), |tick| span.get() / tick.get())
}

const INITIAL: Nanos = Nanos::from_millis(1_000);
const LINUX_MIN_VARIANCE: Nanos = Nanos::from_millis(200);
const BSD_FIRST_SYN: Nanos = Nanos::from_millis(6_000);
/// `rtxcur_init_` until 2006.
const NS2_INITIAL: Nanos = Nanos::from_millis(6_000);
/// "timeout < 2 * tcp_tick_"; there was no `minrto_` until 2001.
const NS2_MINIMUM: Nanos = Nanos::from_millis(200);
/// `tcp_rttdflt * PR_SLOWHZ << 2`: 12 s in ticks.
const BSD_INITIAL_RTTVAR_4: u64 = 24;
/// `t_rxtshift > TCP_MAXRXTSHIFT / 4`; ns-2: `t_backoff_ > 8`.
const BSD_CLOBBER: u8 = 4;
/// `TCP_MAXRXTSHIFT`; every policy's maximum RTO is reached before.
const MAX_BACK_OFF: u8 = 12;
/// `net.ipv4.tcp_syn_linear_timeouts`.
const LINUX_LINEAR_SYNS: u8 = 4;
/// Longer samples count as this: what TCP is made for has no such round trips.
const LONGEST_SAMPLE: Nanos = Nanos::from_millis(3_600_000);

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{TimerPolicy::*, *};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// RTO in milliseconds, rounded up: after each of `samples`.
    fn rtos(policy: TimerPolicy, samples: &[u64]) -> Vec<u128> {
        let mut round_trip = RoundTrip::new(policy);
        let after = |&sample: &u64| {
            round_trip.on_sample(ms(sample));
            round_trip.rto().as_nanos().div_ceil(1_000_000)
        };
        samples.iter().map(after).collect()
    }

    #[test]
    fn the_time_out_follows_the_samples() {
        #[rustfmt::skip]
        let table: &[(TimerPolicy, &[u64], &[u128])] = &[
            // SRTT + 4 RTTVAR: 3 R; then RTTVAR 3/4 * 400, SRTT 800; then |800 - 1600| counts.
            (Rfc6298, &[800, 800, 1_600], &[2_400, 2_000, 2_600]),
            // "If it is less than 1 second [...] SHOULD be rounded up to 1 second".
            (Rfc6298, &[50, 50],          &[1_000, 1_000]),
            (Rfc6298, &[59_000],          &[60_000]),
            // The variance's term is at least 200 ms.
            (Linux,   &[40, 40],          &[240, 240]),
            // It comes down once in a round trip, by a quarter of what the largest mean deviation is less.
            (Linux,   &[800, 800, 800],   &[2_400, 2_400, 2_228]),
            (Linux,   &[0],               &[200]),
            // A LAN in 4.4BSD: srtt 8 -> 7 eighths of a tick, rttvar 2 -> 3 quarters: three ticks.
            (Bsd,     &[1, 1, 1, 1],      &[1_500, 1_500, 1_500, 1_500]),
            // 2.2 s are four ticks: (5 + 10) ticks, then srtt 39 and rttvar 9: 4 + 9.
            (Bsd,     &[2_200, 2_200],    &[7_500, 6_500]),
            (Bsd,     &[40_000],          &[64_000]),
            // One tick: (1 + 2) ticks, for ever; two ticks: 2 + 4, then srtt 16 and rttvar 3: 2 + 3.
            (Ns2,     &[0, 100, 199],     &[300, 300, 300]),
            (Ns2,     &[200, 200],        &[600, 500]),
        ];
        for &(policy, samples, expected) in table {
            assert_eq!(rtos(policy, samples), expected, "{policy:?} after {samples:?} ms");
        }
    }

    #[test]
    fn smoothing_is_rfc_6298_s() {
        let mut round_trip = RoundTrip::new(Rfc6298);
        assert_eq!((round_trip.srtt(), round_trip.variance()), (None, None));
        let (mut srtt, mut rttvar) = (None::<f64>, 0.0);
        for sample in [100u64, 120, 80, 500, 100, 101, 99, 1, 3_000, 100] {
            round_trip.on_sample(ms(sample));
            let r = sample as f64;
            if let Some(srtt) = &mut srtt {
                rttvar = 0.75 * rttvar + 0.25 * (*srtt - r).abs();
                *srtt = 0.875 * *srtt + 0.125 * r;
            } else {
                (srtt, rttvar) = (Some(r), r / 2.0);
            }
            let millis = |span: Option<Duration>| span.unwrap().as_secs_f64() * 1e3;
            assert!((millis(round_trip.srtt()) - srtt.unwrap()).abs() < 1e-3);
            assert!((millis(round_trip.variance()) - rttvar).abs() < 1e-3);
        }
    }

    /// When the nth SYN leaves, in seconds.
    fn syns<const N: usize>(policy: TimerPolicy) -> [u64; N] {
        let mut round_trip = RoundTrip::new(policy);
        let mut at = Duration::ZERO;
        core::array::from_fn(|_| {
            let sent = at.as_secs();
            at += round_trip.rto();
            round_trip.on_syn_timeout();
            sent
        })
    }

    #[test]
    fn a_syn_without_answer_is_repeated() {
        assert_eq!(syns(Rfc6298), [0, 1, 3, 7, 15, 31, 63, 123]);
        assert_eq!(syns(Linux), [0, 1, 3, 7, 15, 31, 63, 127]);
        // "6 and 30 s" (Banga and Druschel 1997).
        assert_eq!(syns(Bsd), [0, 6, 30, 78]);
        assert_eq!(syns(Ns2), [0, 6, 18, 42, 90, 154]);
    }

    #[test]
    fn after_a_lost_syn_the_time_out_is_three_seconds() {
        for (policy, rto) in [(Rfc6298, 3), (Linux, 3), (Bsd, 48), (Ns2, 24)] {
            let mut round_trip = RoundTrip::new(policy);
            round_trip.on_syn_timeout();
            round_trip.on_syn_timeout();
            round_trip.on_established();
            assert_eq!(round_trip.rto(), Duration::from_secs(rto), "{policy:?}");
        }
        // A SYN that was answered at once changes nothing, a sample overrules it.
        let mut round_trip = RoundTrip::new(Rfc6298);
        round_trip.on_established();
        assert_eq!(round_trip.rto(), ms(1_000));
        let mut round_trip = RoundTrip::new(Rfc6298);
        round_trip.on_syn_timeout();
        round_trip.on_sample(ms(500));
        round_trip.on_established();
        assert_eq!(round_trip.rto(), ms(1_500));
    }

    #[test]
    fn backing_off_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        for (policy, first, last) in
            [(Rfc6298, 1_000, 60), (Linux, 240, 120), (Bsd, 1_500, 64), (Ns2, 300, 64)]
        {
            let mut round_trip = RoundTrip::new(policy);
            round_trip.on_sample(ms(40));
            assert_eq!(round_trip.rto(), ms(first));
            round_trip.back_off();
            assert_eq!(round_trip.rto(), ms(2 * first), "{policy:?}");
            for _ in 0..1_000 {
                round_trip.back_off();
            }
            assert_eq!(round_trip.rto(), Duration::from_secs(last), "{policy:?}");
            round_trip.reset_back_off();
            assert!(round_trip.rto() <= ms(2_000), "{policy:?}");
            round_trip.back_off();
            round_trip.on_sample(ms(40));
            assert_eq!(round_trip.rto(), ms(first), "{policy:?}");
        }
    }

    #[test]
    fn bsd_forgets_its_estimate_but_not_its_time_out_when_it_backs_off_far() {
        let mut round_trip = RoundTrip::new(Bsd);
        round_trip.on_sample(ms(2_200));
        for _ in 0..3 {
            round_trip.back_off();
        }
        assert!(round_trip.srtt().is_some());
        round_trip.back_off();
        assert_eq!(round_trip.srtt(), None);
        round_trip.reset_back_off();
        assert_eq!(round_trip.rto(), ms(7_500));
    }

    #[test]
    fn what_is_inherited_is_not_measured_again() {
        for policy in [Rfc6298, Linux, Bsd, Ns2] {
            let round_trip = RoundTrip::inherited(policy, ms(1_000), ms(500));
            assert_eq!(round_trip.srtt(), Some(ms(1_000)), "{policy:?}");
            assert_eq!(round_trip.variance(), Some(ms(500)), "{policy:?}");
            assert_eq!(round_trip.rto(), ms(3_000), "{policy:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_time_out_stays_between_its_bounds(
            samples in proptest::collection::vec(0u64..u64::MAX, 0..40),
            backed_off in 0u8..20,
        ) {
            for policy in [Rfc6298, Linux, Bsd, Ns2] {
                let mut round_trip = RoundTrip::new(policy);
                samples.iter().for_each(|nanos| round_trip.on_sample(Duration::from_nanos(*nanos)));
                (0..backed_off).for_each(|_| round_trip.back_off());
                assert!(round_trip.rto() >= ms(200) && round_trip.rto() <= policy.max_rto());
            }
        }
    }
}
