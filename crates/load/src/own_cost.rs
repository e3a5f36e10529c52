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
    use super::*;

    #[test]
    fn the_first_two_numbers_are_times() {
        let ns = Duration::from_nanos;
        assert_eq!(parse("1500 20 3\n"), Some((ns(1500), ns(20))));
        for text in ["", "1", "a b", "1 b"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn work_is_processor_time() {
        let meter = Meter::start();
        let end = Instant::now() + Duration::from_millis(50);
        while Instant::now() < end {}
        let Some(cost) = meter.stop() else { return };
        // It ran or waited all the time, but for a tick of the kernel's counter at each end.
        assert!(cost.cpu + cost.waiting > Duration::from_millis(30), "{cost:?}");
        assert!(cost.busy() + cost.waited() < 1.5, "{cost:?}");
    }
}
