//! How long the retransmission timer runs, and on which clock.

use core::time::Duration;

use crate::units::{Instant, Nanos};

/// How the retransmission timeout is computed and how coarse the clock is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TimerPolicy {
    /// BSD: 500 ms ticks, minimum 1 s, 6 s for the first SYN (4.4BSD; Banga and Druschel 1997).
    Bsd,
    /// RFC 6298: minimum 1 s, initial 1 s.
    Rfc6298,
    /// Linux: minimum 200 ms, initial 1 s (`TCP_RTO_MIN`, `TCP_TIMEOUT_INIT`).
    Linux,
    /// ns-2 as it was in 1998 (`tcp.cc` 1.59, `tcp-full.cc` 1.30): BSD's estimator in ticks of 100 ms,
    /// minimum two ticks, 6 s without a sample. Later versions have other defaults.
    Ns2,
}

impl TimerPolicy {
    /// BSD's slow timer: `PR_SLOWHZ` is 2.
    pub const BSD_TICK: Duration = Duration::from_millis(500);

    /// ns-2's clock for round trips until 2002: `tcpTick_` is 0.1.
    pub const NS2_TICK: Duration = Duration::from_millis(100);

    /// The largest RTO, back-off included.
    ///
    /// RFC 6298, section 2.5: "A maximum value MAY be placed on RTO provided it is at least 60
    /// seconds". BSD: `TCPTV_REXMTMAX`. Linux: `TCP_RTO_MAX`. ns-2: `maxrto_`.
    #[must_use]
    pub const fn max_rto(self) -> Duration {
        Duration::from_secs(match self {
            Self::Bsd | Self::Ns2 => 64,
            Self::Rfc6298 => 60,
            Self::Linux => 120,
        })
    }

    /// The RTO without a sample, after a SYN that was lost: RFC 6298, section 5.7, "the RTO MUST be
    /// re-initialized to 3 seconds when data transmission begins". Linux: `TCP_TIMEOUT_FALLBACK`.
    /// BSD has no such rule; its estimate without a sample is 12 s from the start. Nor has ns-2.
    #[must_use]
    pub const fn rto_after_lost_syn(self) -> Option<Duration> {
        match self {
            Self::Bsd | Self::Ns2 => None,
            Self::Rfc6298 | Self::Linux => Some(Duration::from_secs(3)),
        }
    }

    /// When a timer fires that is started at `now` for `span`.
    ///
    /// BSD counts down whole ticks of one clock for all connections of a host (`tcp_slowtimo`), so
    /// a timer of n ticks fires at the nth tick from now: up to one tick early. Ticks stand at
    /// multiples of 500 ms from the beginning of the run; that phase is our choice. ns-2 counts round
    /// trips in ticks, but its timers fire at their time. Linux counts ticks of 4 ms, here with phase 0, and
    /// fires late, never early: a timer of less than 252 ms at the tick after its last one, a longer one at a
    /// multiple of 32 ms, from 2 s on of 256 ms (`kernel/time/timer.c`: "Timer wheel granularity").
    #[must_use]
    pub fn expiry(self, now: Instant, span: Duration) -> Instant {
        self.expiry_after(Nanos::of(span), Nanos::ZERO, now)
    }

    /// The same for the endpoint, whose host's clock stood `phase` after a tick at the beginning of the run.
    #[inline]
    pub(crate) fn expiry_after(self, span: Nanos, phase: Nanos, now: Instant) -> Instant {
        match self {
            Self::Bsd => {
                let tick = Nanos::of(Self::BSD_TICK).get();
                let count = span.get().div_ceil(tick).max(1);
                Instant::from_nanos(
                    (now.as_nanos() / tick).saturating_add(count).saturating_mul(tick),
                )
            }
            Self::Linux => linux_expiry(span, phase, now),
            Self::Rfc6298 | Self::Ns2 => now + span,
        }
    }

    /// How long the round trip of what was sent at `sent` took, for the estimator.
    ///
    /// ns-2 counts the ticks in between (`rtt_update`), by a clock that stands at a multiple of 100 ms
    /// at the beginning of the run; its own clocks are shifted by a random phase each (`boot_time_`).
    #[must_use]
    pub fn sample(self, sent: Instant, now: Instant) -> Duration {
        self.sampled(sent, now).into()
    }

    /// The same for the endpoint.
    pub(crate) const fn sampled(self, sent: Instant, now: Instant) -> Nanos {
        match self {
            Self::Ns2 => {
                let tick = Nanos::of(Self::NS2_TICK).get();
                let ticks = (now.as_nanos() / tick).saturating_sub(sent.as_nanos() / tick);
                Nanos::new(ticks.saturating_mul(tick))
            }
            Self::Bsd | Self::Rfc6298 | Self::Linux => Nanos::between(sent, now),
        }
    }
}

impl TimerPolicy {
    /// A tick of Linux's clock: CONFIG_HZ is 250 in Debian's kernels, and in the one that the preset is compared with.
    pub(crate) const LINUX_TICK: Nanos = Nanos::from_millis(4);

    /// How long it is since `earlier`, for what is compared with the RTO. Linux counts ticks of its clock
    /// (`tcp_slow_start_after_idle_check`), which stood `phase` after a tick at the beginning of the run.
    pub(crate) fn elapsed(self, earlier: Instant, phase: Nanos, now: Instant) -> Duration {
        match self {
            Self::Linux => {
                let ticks = linux_ticks(now, phase).saturating_sub(linux_ticks(earlier, phase));
                Duration::from_nanos(ticks.saturating_mul(Self::LINUX_TICK.get()))
            }
            Self::Bsd | Self::Rfc6298 | Self::Ns2 => now.since(earlier),
        }
    }
}

/// `jiffies`.
#[inline]
const fn linux_ticks(now: Instant, phase: Nanos) -> u64 {
    now.as_nanos().saturating_add(phase.get()) / TimerPolicy::LINUX_TICK.get()
}

/// `calc_wheel_index`: the longer a timer runs, the coarser the level of the wheel that holds it. It fires one
/// granule late rather than early.
#[inline]
fn linux_expiry(span: Nanos, phase: Nanos, now: Instant) -> Instant {
    let tick = TimerPolicy::LINUX_TICK.get();
    let ticks = span.get().div_ceil(tick);
    let granule = match ticks {
        0..63 => 1,
        63..504 => 8,
        504..4_032 => 64,
        _ => 512, // Up to two minutes, which no timer of TCP exceeds.
    };
    let due = linux_ticks(now, phase).saturating_add(ticks) / granule + 1;
    let at = due.saturating_mul(granule).saturating_mul(tick);
    Instant::from_nanos(at.saturating_sub(phase.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn bsd_timers_fire_at_the_hosts_tick_and_the_others_at_their_time() {
        for (policy, now, span, expiry) in [
            (TimerPolicy::Bsd, 0, 1_000, 1_000),
            (TimerPolicy::Bsd, 499, 1_000, 1_000),
            (TimerPolicy::Bsd, 500, 1_000, 1_500),
            (TimerPolicy::Bsd, 700, 1_200, 2_000),
            (TimerPolicy::Bsd, 700, 0, 1_000),
            (TimerPolicy::Rfc6298, 700, 1_200, 1_900),
            // At the tick after the last of 10, 62 and 63 ticks, of which the last are of 32 ms.
            (TimerPolicy::Linux, 700, 40, 744),
            (TimerPolicy::Linux, 703, 40, 744),
            (TimerPolicy::Linux, 704, 40, 748),
            (TimerPolicy::Linux, 700, 37, 744),
            (TimerPolicy::Linux, 700, 248, 952),
            (TimerPolicy::Linux, 700, 252, 960),
            (TimerPolicy::Linux, 720, 252, 992),
            (TimerPolicy::Linux, 700, 2_016, 2_816),
            (TimerPolicy::Linux, 700, 20_000, 22_528),
            (TimerPolicy::Ns2, 750, 300, 1_050),
        ] {
            let fires = policy.expiry(Instant::EPOCH + ms(now), ms(span));
            assert_eq!(fires, Instant::EPOCH + ms(expiry), "{policy:?}, {span} ms from {now} ms");
        }
    }

    #[test]
    fn ns_2_counts_the_ticks_of_a_round_trip_and_the_others_measure_it() {
        for (policy, sent, now, sample) in [
            (TimerPolicy::Ns2, 0, 99, 0),
            (TimerPolicy::Ns2, 99, 203, 200),
            (TimerPolicy::Ns2, 100, 203, 100),
            (TimerPolicy::Bsd, 99, 203, 104),
            (TimerPolicy::Rfc6298, 99, 203, 104),
            (TimerPolicy::Linux, 99, 203, 104),
        ] {
            let measured = policy.sample(Instant::EPOCH + ms(sent), Instant::EPOCH + ms(now));
            assert_eq!(measured, ms(sample), "{policy:?}, {sent} to {now} ms");
        }
    }

    #[test]
    fn an_endless_timer_saturates() {
        for policy in [TimerPolicy::Bsd, TimerPolicy::Linux] {
            let fires = policy.expiry(Instant::FAR_FUTURE, Duration::MAX);
            assert_eq!(fires, Instant::FAR_FUTURE, "{policy:?}");
        }
    }

    #[test]
    fn linux_counts_ticks_of_four_milliseconds() {
        let at = |micros| Instant::EPOCH + Duration::from_micros(micros);
        for (earlier, now, elapsed) in [(3_999, 4_000, 4), (4_000, 7_999, 0), (1_000, 622_000, 620)]
        {
            let counted = TimerPolicy::Linux.elapsed(at(earlier), Nanos::ZERO, at(now));
            assert_eq!(counted, ms(elapsed));
        }
        let phase = Nanos::from_millis(1);
        assert_eq!(TimerPolicy::Linux.elapsed(at(2_999), phase, at(3_000)), ms(4));
        assert_eq!(TimerPolicy::Rfc6298.elapsed(at(1_000), phase, at(622_000)), ms(621));
    }
}
