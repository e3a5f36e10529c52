//! How much of a processor something may take: credit grows with time, and work that is needed at once may
//! use what was saved.

use std::time::{Duration, Instant};

/// An account of processor time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// One part in this many.
    one_in: f64,
    /// Seconds; below zero it is a debt.
    credit: f64,
    last: Option<Instant>,
}

impl Budget {
    /// One part in `one_in` of a processor.
    pub(crate) fn one_in(one_in: u32) -> Self {
        Self { one_in: one_in.into(), credit: 0.0, last: None }
    }

    /// Whether work may begin at `now`.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        let since = self.last.map_or(MOST_SAVED, |last| now.saturating_duration_since(last));
        self.last = Some(now);
        let most = MOST_SAVED.as_secs_f64();
        self.credit = (self.credit + since.as_secs_f64()).min(most);
        self.credit >= 0.0
    }

    /// Takes what the work cost.
    pub(crate) fn spend(&mut self, processor_time: Duration) {
        self.credit -= processor_time.as_secs_f64() * self.one_in;
    }
}

/// Our choice: after so long without work, no more is saved.
const MOST_SAVED: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_allowed_at_once_and_its_share_holds_in_the_long_run() {
        let mut budget = Budget::one_in(50);
        let began = Instant::now();
        let (mut runs, cost) = (0, Duration::from_millis(13));
        for ms in (0..60_000).step_by(10) {
            if budget.allows(began + Duration::from_millis(ms)) {
                runs += 1;
                assert!(ms > 0 || runs == 1, "the first one is not delayed");
                budget.spend(cost);
            }
        }
        let share = f64::from(runs) * cost.as_secs_f64() / 60.0;
        assert!((0.019..0.021).contains(&share), "{share}");
    }
}
