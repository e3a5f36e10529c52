//! Whether the kernel's coarse timer sent what a sender has sent, by the clock.
//!
//! A cork ends without an acknowledgement: Linux sends what it holds when its timer for zero windows fires, a
//! retransmission timeout after it was written (`tcp_check_probe_timer`, `tcp_write_wakeup`, which sets PSH, too). That is a
//! timer of the wheel, which fires at ticks only: all departures are at the same place between two ticks. Sleeps of
//! programs end at any time (Linux's Documentation/timers/hrtimers.rst), up to 50 µs late (`timer_slack_ns`), so
//! programs that sleep, work and sleep again wander. A program with a period of its own wakes at multiples of that.

use ackwise_tcp::Instant;

use super::Nanos;

/// When a sender has sent after a silence of the connection in which a cork may have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TickRecord {
    first: Option<Instant>,
    last: Instant,
    departures: u32,
    /// For each of [`TICKS`](Self::TICKS).
    grids: [Grid; 2],
    refuted: bool,
}

/// Departures, if ticks were so far apart.
#[derive(Clone, Copy, Debug, Default)]
struct Grid {
    /// How far departures were from the nearest tick, in nanoseconds after the first one's: the least and the most.
    off: [i64; 2],
    /// What all the distances between departures are multiples of, in ticks.
    common: u64,
}

impl TickRecord {
    /// `CONFIG_HZ` of 250 and 100. With 1000, programs that count milliseconds look the same.
    const TICKS: [Nanos; 2] = [Nanos::from_millis(4), Nanos::from_millis(10)];
    /// How far apart departures at ticks may be seen: a processor that wakes from idle needs as long. Our choice.
    const SPREAD: i64 = 150_000;
    /// By chance, that many are as near with a probability below 10⁻⁶, and a program that sleeps wanders further. Our
    /// choice.
    const LEAST: u32 = 6;

    /// One more left, after a silence as long as a cork at least.
    pub(crate) fn note(&mut self, at: Instant) {
        let first = *self.first.get_or_insert(at);
        let since = Nanos::between(first, at);
        let gap = Nanos::between(self.last.max(first), at);
        for (grid, tick) in self.grids.iter_mut().zip(Self::TICKS) {
            grid.note(since, gap, tick);
        }
        self.last = at;
        self.departures = self.departures.saturating_add(1);
    }

    /// One left in another way: not all are corked.
    pub(crate) const fn refute(&mut self) {
        self.refuted = true;
    }

    /// How many left so.
    pub(crate) const fn departures(&self) -> u32 {
        self.departures
    }

    /// Whether ticks, and nothing else, explain when they left.
    pub(crate) fn shows_timer(&self) -> bool {
        let is_shown = |grid: &Grid| grid.off[1] - grid.off[0] <= Self::SPREAD && grid.common == 1;
        !self.refuted && self.departures >= Self::LEAST && self.grids.iter().any(is_shown)
    }
}

impl Grid {
    fn note(&mut self, since: Nanos, gap: Nanos, tick: Nanos) {
        let tick = tick.get();
        let half = tick / 2;
        let behind = (since.get() + half) % tick;
        let off =
            i64::try_from(behind).unwrap_or_default() - i64::try_from(half).unwrap_or_default();
        self.off = [self.off[0].min(off), self.off[1].max(off)];
        self.common = greatest_common_divisor(self.common, (gap.get() + half) / tick);
    }
}

const fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(micros: impl IntoIterator<Item = u64>) -> bool {
        let mut record = TickRecord::default();
        for at in micros {
            record.note(Instant::EPOCH + Nanos::from_micros(at));
        }
        record.shows_timer()
    }

    /// As seen with MSG_MORE, a pause of 100 ms, and ticks of 4 ms.
    const CORKED: [u64; 9] = [
        217_192, 537_187, 849_197, 1_161_196, 1_469_214, 1_781_202, 2_093_205, 2_405_210, 2_717_195,
    ];

    #[test]
    fn a_kernels_timer_is_at_ticks_and_has_no_period() {
        assert!(shows(CORKED));
        assert!(!shows(CORKED.into_iter().take(5)), "too few");
        assert!(!shows((0..20).map(|it| it * 300_000)), "a period");
        let skips = [0, 100, 300, 400, 800, 900, 1_200, 1_300];
        assert!(!shows(skips.map(|it| it * 1_000)), "a period, and nothing to say at times");
        let mut wandering = CORKED;
        wandering.iter_mut().zip(0..).for_each(|(it, place)| *it += place * 70);
        assert!(!shows(wandering), "a program that sleeps for whole milliseconds and works");
        assert!(!shows(CORKED.map(|it| it * 13 / 11)), "any times");
    }

    #[test]
    fn one_that_left_otherwise_is_enough() {
        let mut record = TickRecord::default();
        for at in CORKED {
            record.note(Instant::EPOCH + Nanos::from_micros(at));
        }
        record.refute();
        assert!(!record.shows_timer());
    }
}
