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
    /// What was lent, where that is less than what was left.
    requests_share: Option<u32>,
    time_share: Option<Duration>,
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LimitReached {
    /// All requests have been sent.
    #[error("{}", requests_sent(*.share, *.of))]
    Requests {
        /// The share for this purpose, if not all.
        share: Option<u32>,
        /// The number allowed.
        of: u32,
    },
    /// The time is over.
    #[error("{}", time_over(*.share, *.of))]
    Time {
        /// So much was for this purpose, if not all.
        share: Option<Duration>,
        /// So much is allowed.
        of: Duration,
    },
}

fn requests_sent(share: Option<u32>, of: u32) -> String {
    match (share, of) {
        (Some(share), of) => {
            format!("the request limit of this check ({share} of {of}) is reached")
        }
        (None, 1) => "the limit of 1 request (--max-requests) is reached".to_owned(),
        (None, of) => format!("the limit of {of} requests (--max-requests) is reached"),
    }
}

fn time_over(share: Option<Duration>, of: Duration) -> String {
    let tenths = |span: Duration| (span.as_secs_f64() * 10.0).round() / 10.0;
    let of = tenths(of);
    match share.map(tenths) {
        Some(share) => format!("the time limit of this check ({share} s of {of} s) is reached"),
        None => format!("the time limit of {of} s (--timeout) is reached"),
    }
}

impl Budget {
    /// At most `requests` requests within `time` from `now`; an answer may take `answer`.
    #[must_use]
    pub fn new(requests: u32, time: Duration, answer: Duration, now: Instant) -> Self {
        Self {
            requests,
            requests_left: requests,
            time,
            deadline: now + time,
            answer,
            requests_share: None,
            time_share: None,
        }
    }

    /// The same budget with less time left, because `spent` of it is gone.
    #[must_use]
    pub fn after(self, spent: Duration) -> Self {
        Self { deadline: self.deadline.checked_sub(spent).unwrap_or(self.deadline), ..self }
    }

    /// Takes one request out of the budget.
    ///
    /// # Errors
    ///
    /// If nothing is left.
    pub fn spend_request(&mut self, now: Instant) -> Result<(), LimitReached> {
        self.check_time(now)?;
        let out = LimitReached::Requests { share: self.requests_share, of: self.requests };
        self.requests_left = self.requests_left.checked_sub(1).ok_or(out)?;
        Ok(())
    }

    /// Whether there is time.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn check_time(&self, now: Instant) -> Result<(), LimitReached> {
        let out = LimitReached::Time { share: self.time_share, of: self.time };
        if now < self.deadline { Ok(()) } else { Err(out) }
    }

    /// A part of this budget for one purpose.
    #[must_use]
    pub fn lend(&self, requests: u32, time: Duration, now: Instant) -> Self {
        let requests_left = requests.min(self.requests_left);
        let deadline = self.cap(now + time);
        let requests_share = (requests_left < self.requests_left).then_some(requests_left);
        let time_share = (deadline < self.deadline).then_some(time);
        Self { requests_left, deadline, requests_share, time_share, ..self.clone() }
    }

    /// This budget after a part of it, which was `lent`, has come back as `rest`.
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

    /// `wish`, or the end of the budget if that is earlier.
    #[must_use]
    pub fn cap(&self, wish: Instant) -> Instant {
        wish.min(self.deadline)
    }
}

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
        assert_eq!(budget.spend_request(now), Err(LimitReached::Requests { share: None, of: 1 }));
        let over = LimitReached::Time { share: None, of: 2 * second };
        assert_eq!(budget.spend_request(now + 2 * second), Err(over));
    }

    #[test]
    fn what_is_used_up_is_named_a_share_or_all() {
        let now = Instant::now();
        let ms = Duration::from_millis;
        let all = Budget::new(60, ms(15_000), ms(5_000), now);
        let mut lent = all.lend(1, ms(2_113), now);
        assert_eq!(
            lent.check_time(now + ms(3_000)).unwrap_err().to_string(),
            "the time limit of this check (2.1 s of 15 s) is reached"
        );
        lent.spend_request(now).unwrap();
        assert_eq!(
            lent.spend_request(now).unwrap_err().to_string(),
            "the request limit of this check (1 of 60) is reached"
        );
        let everything = all.lend(u32::MAX, ms(20_000), now);
        assert_eq!(
            everything.check_time(now + ms(15_000)).unwrap_err().to_string(),
            "the time limit of 15 s (--timeout) is reached"
        );
        let one = LimitReached::Requests { share: None, of: 1 };
        assert_eq!(one.to_string(), "the limit of 1 request (--max-requests) is reached");
    }
}
