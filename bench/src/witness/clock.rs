//! One clock for all witnesses: CLOCK_MONOTONIC, which the programs, the emulator and tracefs use. The
//! captures have CLOCK_REALTIME; the offset is measured before and after a run.

use std::time::Instant;

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC.
pub(crate) type Nanos = u64;

/// Translates between the clocks during one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// `began` in nanoseconds.
    began_nanos: Nanos,
    /// How far CLOCK_REALTIME was ahead then.
    ahead: i128,
}

/// A [`Clock`] after the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealTime {
    start: (Nanos, i128),
    end: (Nanos, i128),
}

impl Clock {
    pub(crate) fn start() -> Self {
        let began = Instant::now();
        let (began_nanos, ahead) = compare();
        Self { began, began_nanos, ahead }
    }

    pub(crate) fn now(self) -> Nanos {
        self.nanos(Instant::now())
    }

    pub(crate) fn nanos(self, at: Instant) -> Nanos {
        self.began_nanos + as_nanos(at.saturating_duration_since(self.began).as_nanos())
    }

    /// Measures the offset again.
    pub(crate) fn stop(self) -> RealTime {
        RealTime { start: (self.began_nanos, self.ahead), end: compare() }
    }
}

impl RealTime {
    /// Nanoseconds since the Unix epoch. The clocks drift apart evenly.
    pub(crate) fn of(self, at: Nanos) -> u64 {
        let [start, end, now] = [self.start.0, self.end.0, at].map(i128::from);
        let drift = (self.end.1 - self.start.1) * (now - start) / (end - start).max(1);
        as_nanos((now + self.start.1 + drift).unsigned_abs())
    }

    /// How far the clocks drifted apart: a step of the clock would spoil the truth.
    pub(crate) const fn drift(self) -> i128 {
        self.end.1 - self.start.1
    }
}

/// CLOCK_MONOTONIC, and how far CLOCK_REALTIME is ahead: the closest of some readings.
fn compare() -> (Nanos, i128) {
    let read = |_| {
        let [before, real, after] =
            [ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_REALTIME, ClockId::CLOCK_MONOTONIC].map(read);
        (after - before, before.midpoint(after), real)
    };
    let best = (0..READINGS).map(read).min().expect("there are readings");
    (as_nanos(best.1.unsigned_abs()), best.2 - best.1)
}

fn read(clock: ClockId) -> i128 {
    let time = clock_gettime(clock).expect("Linux has these clocks");
    i128::from(time.tv_sec()) * 1_000_000_000 + i128::from(time.tv_nsec())
}

fn as_nanos(nanos: u128) -> u64 {
    u64::try_from(nanos).expect("584 years have not passed")
}

/// Our choice: one of them is not interrupted.
const READINGS: usize = 8;
