//! Where the ticks of the kernel's timers stand: what a delayed ACK or a retransmission waits for depends on it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::witness::clock::{Clock, Nanos};
use anyhow::Context;

/// The clock that counts `jiffies`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    clock: Clock,
    /// A time at which `jiffies` was a multiple of [`COARSEST`]'s ticks.
    zero: Nanos,
}

impl Ticks {
    /// Finds out where the ticks stand.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell, which it does root.
    pub(super) fn find() -> anyhow::Result<Self> {
        let clock = Clock::start();
        for _ in 0..READINGS {
            let table = fs::read_to_string("/proc/timer_list").context("cannot read timers")?;
            if let Some(zero) = zero(&table).context("the list of timers has another form")? {
                return Ok(Self { clock, zero });
            }
            thread::sleep(Duration::from_millis(1));
        }
        anyhow::bail!("a tick passed during each of {READINGS} readings of the timers")
    }

    /// How far the clock has gone at `at` since a tick of the coarsest timers.
    pub(super) fn phase(&self, at: Instant) -> Nanos {
        (self.clock.nanos(at) + COARSEST - self.zero) % COARSEST
    }

    /// The first time after `earliest` that lies `phase` after a tick of 256 ms.
    pub(super) fn next(&self, phase: Nanos, earliest: Instant) -> Instant {
        let wait = (MIDDLE + phase % MIDDLE - self.phase(earliest) % MIDDLE) % MIDDLE;
        earliest + Duration::from_nanos(wait)
    }
}

/// A time at which `jiffies` was a multiple of the coarsest ticks, by the kernel's list of timers: the ticks have a timer
/// themselves. The inner value is `None` if a tick may have passed while it was written.
fn zero(table: &str) -> Option<Option<Nanos>> {
    let after = |name: &str| table.split_once(name)?.1.split([' ', '-', '\n']).next()?.parse().ok();
    let (now, jiffies): (Nanos, u64) = (after("now at ")?, after("\njiffies: ")?);
    let tick = table.split_once("tick_nohz_handler")?.1;
    let next: Nanos = tick.split_once("expires at ")?.1.split('-').next()?.parse().ok()?;
    let since = (now + COARSEST - next % TICK) % TICK;
    let zero = (now - since + COARSEST - jiffies % (COARSEST / TICK) * TICK) % COARSEST;
    Some((since < TICK / 2).then_some(zero))
}

/// A tick: CONFIG_HZ is 250.
const TICK: Nanos = 4_000_000;
/// The granules of timers from 2 and from 16 seconds on (`kernel/time/timer.c`).
const MIDDLE: Nanos = 64 * TICK;
const COARSEST: Nanos = 512 * TICK;
/// Our choice: half of them are not near a tick.
const READINGS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_timers_tells_where_the_ticks_stand() {
        // Ticks at 1 ms after multiples of 4 ms, and the 1,026th of them at 4,105 ms: two after a multiple of 512.
        let table = |now: u64| {
            format!(
                "Timer List Version: v0.10\nnow at {now} nsecs\n\ncpu: 0\n active timers:\n #0: <0>, \
                 tick_nohz_handler, S:01\n # expires at 4109000000-4109000000 nsecs\njiffies: 1026\n"
            )
        };
        assert_eq!(zero(&table(4_106_000_000)), Some(Some(4_097_000_000 % COARSEST)));
        assert_eq!(zero(&table(4_108_000_000)), Some(None), "near the next tick");
        assert_eq!(zero("Timer List Version: v0.10\n"), None);
    }
}
