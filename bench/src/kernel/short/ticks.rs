//! Where the ticks of the kernel's timers stand: what a delayed ACK or a retransmission waits for depends on it.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::time::{ClockId, clock_gettime};

use crate::witness::clock::{Clock, Nanos};

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
            // The coarse clock stands still between two ticks.
            let before = coarse()?;
            let table = fs::read_to_string("/proc/timer_list").context("cannot read timers")?;
            if coarse()? != before {
                continue;
            }
            let line = table.lines().find_map(|line| line.strip_prefix("jiffies: "));
            let jiffies: u64 = line.context("the list of timers has no jiffies")?.trim().parse()?;
            let since = jiffies % (COARSEST / TICK) * TICK;
            return Ok(Self { clock, zero: (before + COARSEST - since) % COARSEST });
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

fn coarse() -> anyhow::Result<Nanos> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC_COARSE).context("no coarse clock")?;
    Ok(u64::try_from(Duration::from(time).as_nanos())?)
}

/// A tick: CONFIG_HZ is 250.
const TICK: Nanos = 4_000_000;
/// The granules of timers from 2 and from 16 seconds on (`kernel/time/timer.c`).
const MIDDLE: Nanos = 64 * TICK;
const COARSEST: Nanos = 512 * TICK;
/// Our choice: one takes a millisecond, so most are not disturbed by a tick.
const READINGS: usize = 64;
