//! What the generator's thread takes of the processors, and how long it waits for one.

use std::time::{Duration, Instant};

/// The generator's own share of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OwnCost {
    /// Processor time.
    pub cpu: Duration,
    /// Time in which it could have run, but other programs did.
    pub waiting: Duration,
    /// Time that has passed.
    pub wall: Duration,
}

impl OwnCost {
    /// The share of the time in which it ran.
    #[must_use]
    pub fn busy(&self) -> f64 {
        share(self.cpu, self.wall)
    }

    /// The share of the time in which it waited for a processor.
    #[must_use]
    pub fn waited(&self) -> f64 {
        share(self.waiting, self.wall)
    }
}

fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

/// A thread's times at the start of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    at: Instant,
    /// Processor time, and time spent waiting for one.
    times: Option<(Duration, Duration)>,
}

impl Meter {
    /// Starts for this thread.
    pub(super) fn start() -> Self {
        Self { at: Instant::now(), times: times() }
    }

    /// What this thread took since the start; `None` if the system does not tell.
    pub(super) fn stop(self) -> Option<OwnCost> {
        let ((cpu, waiting), (cpu_before, waiting_before)) = (times()?, self.times?);
        Some(OwnCost {
            cpu: cpu.saturating_sub(cpu_before),
            waiting: waiting.saturating_sub(waiting_before),
            wall: self.at.elapsed(),
        })
    }
}

/// Documentation/scheduler/sched-stats.rst: time on a processor, and waiting on a run queue, in
/// nanoseconds.
fn times() -> Option<(Duration, Duration)> {
    parse(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

fn parse(text: &str) -> Option<(Duration, Duration)> {
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten().map(Duration::from_nanos);
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use nix::time::{ClockId, clock_gettime};

    use super::*;

    #[test]
    fn the_first_two_numbers_are_times() {
        let ns = Duration::from_nanos;
        assert_eq!(parse("1500 20 3\n"), Some((ns(1500), ns(20))));
        for text in ["", "1", "a b", "1 b"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    /// The kernel's clock of a thread, by another way than the meter's file. To read it also brings
    /// that file up to date, which a tick does otherwise.
    fn clock() -> Duration {
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("POSIX.1-2008").into()
    }

    #[test]
    fn work_is_processor_time() {
        let before = clock();
        let meter = Meter::start();
        while clock() - before < Duration::from_millis(50) {}
        let Some(cost) = meter.stop() else { return };
        // Not by the wall's clock: a virtual machine may stand still, which is neither work nor waiting.
        assert!(cost.cpu > Duration::from_millis(45), "{cost:?}");
        assert!(cost.cpu <= clock() - before, "{cost:?}");
        assert!(cost.cpu <= cost.wall, "{cost:?}");
    }

    #[test]
    fn sleep_is_not_processor_time() {
        let meter = Meter::start();
        std::thread::sleep(Duration::from_millis(50));
        let Some(cost) = meter.stop() else { return };
        assert!(cost.cpu < Duration::from_millis(25), "{cost:?}");
    }
}
