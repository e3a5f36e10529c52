//! What one check may use: requests and time. The only place that enforces either.

use std::time::{Duration, Instant};

/// Requests and time that are left.
#[derive(Clone, Debug)]
pub struct Budget {
    requests: u32,
    requests_left: u32,
    time: Duration,
    deadline: Instant,
    answer: Duration,
}

/// What was used up.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OutOf {
    /// All requests have been sent.
    #[error("all of the {0} requests allowed (--max-requests) have been sent")]
    Requests(u32),
    /// The time is over.
    #[error("the time budget of {0:?} is used up")]
    Time(Duration),
}

impl Budget {
    /// At most `requests` requests within `time` from `now`; an answer may take `answer`.
    #[must_use]
    pub fn new(requests: u32, time: Duration, answer: Duration, now: Instant) -> Self {
        Self { requests, requests_left: requests, time, deadline: now + time, answer }
    }

    /// Takes one request out of the budget.
    ///
    /// # Errors
    ///
    /// If nothing is left.
    pub fn spend_request(&mut self, now: Instant) -> Result<(), OutOf> {
        self.check_time(now)?;
        self.requests_left =
            self.requests_left.checked_sub(1).ok_or(OutOf::Requests(self.requests))?;
        Ok(())
    }

    /// Whether there is time.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn check_time(&self, now: Instant) -> Result<(), OutOf> {
        if now < self.deadline { Ok(()) } else { Err(OutOf::Time(self.time)) }
    }

    /// A part of this budget for one purpose.
    #[must_use]
    pub fn lend(&self, requests: u32, time: Duration, now: Instant) -> Self {
        let requests_left = requests.min(self.requests_left);
        Self { requests_left, deadline: self.cap(now + time), ..self.clone() }
    }

    /// This budget after a part of it, `lent` with so many requests, came back as `rest`.
    #[must_use]
    pub fn settle(self, lent: &Self, rest: &Self) -> Self {
        let spent = lent.requests_left.saturating_sub(rest.requests_left);
        Self { requests_left: self.requests_left.saturating_sub(spent), ..self }
    }

    /// How many requests may still be sent.
    #[must_use]
    pub fn requests_left(&self) -> u32 {
        self.requests_left
    }

    /// How much time is left.
    #[must_use]
    pub fn time_left(&self, now: Instant) -> Duration {
        self.deadline.saturating_duration_since(now)
    }

    /// Until when an answer to what is sent at `now` is waited for.
    #[must_use]
    pub fn answer_by(&self, now: Instant) -> Instant {
        self.cap(now + self.answer)
    }

    /// This budget for an answer that should follow another at once.
    #[must_use]
    pub fn briefly(&self) -> Self {
        let answer = self.answer.min(FOLLOW_UP);
        Self { answer, ..self.clone() }
    }

    /// `wish`, or the end of the budget if that is earlier.
    #[must_use]
    pub fn cap(&self, wish: Instant) -> Instant {
        wish.min(self.deadline)
    }
}

/// A second answer that does not come within this time after the first does not come.
const FOLLOW_UP: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_time_run_out_separately() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut budget = Budget::new(1, 2 * second, 5 * second, now);
        assert_eq!(budget.answer_by(now), now + 2 * second, "the budget ends every wait");
        assert_eq!(budget.spend_request(now), Ok(()));
        assert_eq!(budget.spend_request(now), Err(OutOf::Requests(1)));
        assert_eq!(budget.spend_request(now + 2 * second), Err(OutOf::Time(2 * second)));
    }
}
