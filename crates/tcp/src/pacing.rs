//! Pacing: segments leave one after another at a rate, not as soon as a window allows.
//!
//! The endpoint has one pacer, whoever asks for it: restart after idle by rate
//! ([`IdleRestart::Paced`](crate::policy::IdleRestart::Paced)) and a paced start
//! ([`StartPolicy`](crate::policy::StartPolicy)) set a rate and a quantum, and stop it again.
//!
//! Not here: how a rate is chosen, which is a policy's business; and credit for a driver that is late,
//! so a late driver sends more slowly than the rate, never faster.

use core::time::Duration;

use crate::units::{Instant, Nanos};

/// A sending rate: `bytes` in `span`. Two whole numbers, because a rate in whole bytes a second would
/// round the spacing of segments.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pace {
    bytes: u32,
    span: Nanos,
}

impl Pace {
    /// `bytes` in `span`; `None` without bytes, because nothing would ever leave. A span longer than an
    /// hour counts as an hour.
    #[must_use]
    pub fn new(bytes: u32, span: Duration) -> Option<Self> {
        (bytes > 0).then(|| Self { bytes, span: Nanos::of(span).min(LONGEST_SPAN) })
    }

    /// `None` for zero.
    #[must_use]
    pub fn bytes_per_second(bytes: u32) -> Option<Self> {
        Self::new(bytes, Duration::from_secs(1))
    }

    /// How long `bytes` take at this rate, rounded up: a pacer is never early.
    #[must_use]
    pub fn time_for(self, bytes: u32) -> Duration {
        self.span_of(bytes).into()
    }

    fn span_of(self, bytes: u32) -> Nanos {
        // An hour has 2^42 nanoseconds, so the product may need more than 64 bits.
        let product = u128::from(self.span.get()) * u128::from(bytes);
        Nanos::new(u64::try_from(product.div_ceil(u128::from(self.bytes))).unwrap_or(u64::MAX))
    }
}

/// When the next segment may leave.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    pace: Pace,
    /// Bytes that may leave at once.
    quantum: u32,
    /// What is left of the quantum.
    credit: u32,
    /// When a new quantum may begin.
    next: Instant,
}

impl Pacer {
    /// The first quantum may leave at `now`. A quantum of no bytes counts as one byte: a segment.
    pub(crate) fn new(pace: Pace, quantum: u32, now: Instant) -> Self {
        let quantum = quantum.max(1);
        Self { pace, quantum, credit: quantum, next: now }
    }

    /// The rate.
    pub(crate) const fn pace(&self) -> Pace {
        self.pace
    }

    /// When the next segment may leave, if that is not yet.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        (self.credit == 0 && now < self.next).then_some(self.next)
    }

    /// A segment with `bytes` of data has left. A segment may exceed what is left of the quantum: its
    /// whole time is waited for afterwards.
    pub(crate) fn on_sent(&mut self, bytes: u32, now: Instant) {
        if now >= self.next {
            // A pause earns nothing: what was not sent in it does not leave as a burst.
            (self.next, self.credit) = (now, self.quantum);
        }
        self.next = self.next + self.pace.span_of(bytes);
        self.credit = self.credit.saturating_sub(bytes);
    }
}

/// A pacer that always runs, as the kernel's internal pacing (Linux `tcp_update_skb_after_send`): what leaves
/// at once is a quantum at most, and being late is made up for by half a quantum's time at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantumPacer {
    /// Bytes per second; none paces nothing. 34 Gbit/s at most, our choice: it saves room.
    rate: u32,
    /// When the next quantum may leave.
    next: Instant,
    /// When this one began, and what is left of it.
    began: Instant,
    left: u32,
    /// Nanoseconds by which it was late.
    late: u32,
    /// Segments that leave before it counts.
    unpaced: u8,
}

impl QuantumPacer {
    /// The first `unpaced` segments do not count.
    pub(crate) const fn new(unpaced: u8, now: Instant) -> Self {
        Self { rate: 0, next: now, began: now, left: 0, late: 0, unpaced }
    }

    pub(crate) const fn rate(&self) -> u64 {
        self.rate as u64
    }

    pub(crate) fn set_rate(&mut self, rate: u64) {
        self.rate = u32::try_from(rate).unwrap_or(u32::MAX);
    }

    /// When the next quantum may leave.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// When the next segment may leave, if that is not yet.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        let goes_on = self.began == now && self.left > 0;
        (now < self.next && !goes_on).then_some(self.next)
    }

    /// A segment with `bytes` of data has left. If it is the first of a quantum, that has `quantum` bytes.
    pub(crate) fn on_sent(&mut self, bytes: u32, quantum: u32, now: Instant) {
        if let Some(unpaced) = self.unpaced.checked_sub(1) {
            (self.unpaced, self.next) = (unpaced, self.next.max(now));
            return;
        }
        if self.began != now || self.left == 0 {
            let late = Nanos::between(self.next, now).get();
            self.late = u32::try_from(late).unwrap_or(u32::MAX);
            (self.next, self.began, self.left) = (self.next.max(now), now, quantum);
        }
        let time = (u64::from(bytes) * 1_000_000_000).checked_div(self.rate.into()).unwrap_or(0);
        let made_up = u32::try_from(time / 2).unwrap_or(u32::MAX).min(self.late);
        self.late -= made_up;
        self.next = self.next + Nanos::new(time - u64::from(made_up));
        self.left = self.left.saturating_sub(bytes);
    }
}

/// Linux `tcp_tso_autosize`: segments that are handed to a device at once by a sender of `rate` bytes per second:
/// about a millisecond at the rate, and more on short paths.
#[inline]
pub(crate) fn burst(rate: u64, shortest: Option<Nanos>, mss: u32) -> u32 {
    let micros = shortest.map_or(u32::MAX, |it| u32::try_from(it.micros()).unwrap_or(u32::MAX));
    let more = u64::from(GSO_MAX).checked_shr(micros >> TSO_RTT_SHIFT).unwrap_or(0);
    let bytes = ((rate >> PACING_SHIFT) + more).min(GSO_MAX.into());
    u32::try_from(bytes).unwrap_or(GSO_MAX) / mss.max(1)
}

/// `sk_pacing_shift`: 1/1024 s.
pub(crate) const PACING_SHIFT: u32 = 10;
/// `net.ipv4.tcp_tso_rtt_log`: for each 512 us of the shortest round trip, half as much more.
const TSO_RTT_SHIFT: u32 = 9;
/// `GSO_MAX_SIZE` of devices that say nothing else.
pub(crate) const GSO_MAX: u32 = 65_536;
/// Our choice: far beyond any round trip, and a bound for the arithmetic.
const LONGEST_SPAN: Nanos = Nanos::from_millis(3_600_000);

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1_000)
    }

    /// When `count` segments of 1,000 bytes leave, in microseconds, if the driver comes whenever the
    /// pacer says so.
    fn departures(pacer: &mut Pacer, count: usize, mut now: Instant) -> Vec<u64> {
        let mut leave = || {
            now = pacer.held_until(now).unwrap_or(now);
            pacer.on_sent(1_000, now);
            now.as_nanos() / 1_000
        };
        (0..count).map(|_| leave()).collect()
    }

    #[test]
    fn a_window_is_spread_over_its_round_trip() {
        let pace = Pace::new(4_000, Duration::from_millis(100)).unwrap();
        let mut pacer = Pacer::new(pace, 1_000, at(7));
        assert_eq!(departures(&mut pacer, 5, at(7)), [7, 25_007, 50_007, 75_007, 100_007]);
    }

    #[test]
    fn a_quantum_leaves_at_once_and_its_time_is_waited_for() {
        let pace = Pace::bytes_per_second(1_000_000).unwrap();
        let mut pacer = Pacer::new(pace, 3_000, at(0));
        let times = departures(&mut pacer, 7, at(0));
        assert_eq!(times, [0, 0, 0, 3_000, 3_000, 3_000, 6_000]);
    }

    #[test]
    fn a_pause_earns_no_burst() {
        let pace = Pace::bytes_per_second(1_000_000).unwrap();
        let mut pacer = Pacer::new(pace, 1_000, at(0));
        assert_eq!(departures(&mut pacer, 2, at(0)), [0, 1_000]);
        assert_eq!(departures(&mut pacer, 3, at(9_000)), [9_000, 10_000, 11_000]);
    }

    #[test]
    fn no_rate_overflows_or_stands_still() {
        assert_eq!((Pace::new(0, Duration::MAX), Pace::bytes_per_second(0)), (None, None));
        let slowest = Pace::new(1, Duration::MAX).unwrap();
        assert_eq!(slowest.time_for(1), Duration::from_secs(3_600));
        assert!(slowest.time_for(u32::MAX) > Duration::from_secs(3_600));
        let fastest = Pace::new(u32::MAX, Duration::ZERO).unwrap();
        assert_eq!(fastest.time_for(u32::MAX), Duration::ZERO);
        let mut pacer = Pacer::new(fastest, 0, at(3));
        assert_eq!(departures(&mut pacer, 2, at(3)), [3, 3]);
    }

    #[test]
    fn a_quantum_leaves_at_once_and_half_a_quantum_of_lateness_is_made_up_for() {
        let mut pacer = QuantumPacer::new(0, at(0));
        assert_eq!(pacer.held_until(at(0)), None);
        pacer.on_sent(1_000, 2_000, at(0));
        assert_eq!(pacer.held_until(at(0)), None, "a pacer without rate holds nothing");
        pacer.set_rate(1_000_000);
        let mut leave = |now: u64, held: Option<u64>| {
            assert_eq!(pacer.held_until(at(now)), held.map(at), "at {now} us");
            if held.is_none() {
                pacer.on_sent(1_000, 2_000, at(now));
            }
        };
        leave(10, None);
        leave(10, None);
        leave(10, Some(2_000));
        leave(2_010, None);
        // The quantum was interrupted, so the next waits for the time of its one segment.
        leave(2_500, Some(3_000));
        // In time, and then 2 ms late: a quantum takes half its time.
        leave(3_000, None);
        leave(3_000, None);
        leave(7_000, None);
        leave(7_000, None);
        leave(7_000, Some(8_000));
    }

    #[test]
    fn times_are_rounded_up() {
        let pace = Pace::new(3, Duration::from_nanos(10)).unwrap();
        assert_eq!(pace.time_for(1), Duration::from_nanos(4));
        assert_eq!(pace.time_for(3), Duration::from_nanos(10));
    }
}
