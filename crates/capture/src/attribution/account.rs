//! The time of one exchange, divided without a rest.

use std::time::Duration;

use ackwise_cause::{Cause, Direction};
use ackwise_tcp::Instant;

use crate::series::{Stretch, Stretches};

/// The packets that show why, by their numbers in the capture, in the order in which they were seen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Evidence([u64; Self::MAX]);

impl Evidence {
    /// Enough for what was held, what released it, and what came then.
    pub const MAX: usize = 3;

    /// Of these packets; a number of 0 is no packet.
    #[must_use]
    pub const fn of(numbers: [u64; Self::MAX]) -> Self {
        Self(numbers)
    }

    /// All of them, also those that are none.
    pub(super) const fn numbers(&self) -> [u64; Self::MAX] {
        self.0
    }

    /// The numbers.
    pub fn packets(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied().filter(|&number| number > 0)
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Confidence {
    /// Something else would look nearly the same.
    Low,
    /// What would look the same is rare.
    Medium,
    /// The packets show it.
    #[default]
    High,
}

impl Confidence {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What an exchange owes to one cause in one direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// Why it did not go on.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// How long, in all.
    pub span: Duration,
    /// In how many pieces: of a stall, how often.
    pub times: u32,
    /// The longest of them.
    pub longest: Duration,
    /// Which packets show the longest.
    pub evidence: Evidence,
    /// The least of all its pieces.
    pub confidence: Confidence,
}

/// A verdict on some time of an exchange.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Verdict {
    /// Why it did not go on.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// Which packets show it.
    pub evidence: Evidence,
    /// How sure it is.
    pub confidence: Confidence,
}

/// The time of an exchange since its beginning, every nanosecond of it under one cause.
#[derive(Clone, Debug)]
pub struct Account {
    from: Instant,
    cursor: Instant,
    shares: Vec<Share>,
    /// The last verdict: what follows under the same one is the same piece.
    open: Option<(Cause, Direction, Duration)>,
    /// Which time went where, if a report wants to draw it.
    stretches: Option<Box<Stretches>>,
}

impl Account {
    /// An exchange begins.
    #[must_use]
    pub const fn new(from: Instant) -> Self {
        Self { from, cursor: from, shares: Vec::new(), open: None, stretches: None }
    }

    /// Remembers which time went where, too, from now on.
    pub(crate) fn keep_stretches(&mut self) {
        self.stretches.get_or_insert_default();
    }

    /// An account of the same exchange with nothing in it.
    pub(crate) fn emptied(&self) -> Self {
        let stretches = self.stretches.as_ref().map(|_| Box::default());
        Self { stretches, ..Self::new(self.from) }
    }

    pub(crate) fn take_stretches(&mut self) -> Vec<Stretch> {
        self.stretches.take().map(|it| it.into_inner()).unwrap_or_default()
    }

    /// When the exchange began.
    #[must_use]
    pub const fn from(&self) -> Instant {
        self.from
    }

    /// Up to when time is divided.
    #[must_use]
    pub const fn cursor(&self) -> Instant {
        self.cursor
    }

    /// What has not yet been divided, up to `until`, is owed to this; nothing if it all has.
    pub fn add(&mut self, until: Instant, verdict: Verdict) {
        if until <= self.cursor {
            return;
        }
        let span = until.since(self.cursor);
        self.cursor = until;
        let Verdict { cause, direction, evidence, confidence } = verdict;
        let goes_on = self.open.filter(|open| (open.0, open.1) == (cause, direction));
        let piece = span + goes_on.map_or(Duration::ZERO, |(_, _, so_far)| so_far);
        self.open = Some((cause, direction, piece));
        if let Some(stretches) = &mut self.stretches {
            stretches.add(until.saturating_sub(piece), until, verdict);
        }
        let share = self.share(cause, direction);
        share.span += span;
        share.times += u32::from(goes_on.is_none());
        share.confidence = share.confidence.min(confidence);
        if share.longest < piece {
            share.longest = piece;
            share.evidence = evidence;
        }
    }

    fn share(&mut self, cause: Cause, direction: Direction) -> &mut Share {
        let place =
            self.shares.iter().position(|it| (it.cause, it.direction) == (cause, direction));
        let place = place.unwrap_or_else(|| {
            self.shares.push(Share {
                cause,
                direction,
                span: Duration::ZERO,
                times: 0,
                longest: Duration::ZERO,
                evidence: Evidence::default(),
                confidence: Confidence::High,
            });
            self.shares.len() - 1
        });
        &mut self.shares[place]
    }

    /// The shares, in the order in which their causes first appeared. Their spans add up to the time
    /// from the beginning to the cursor.
    #[must_use]
    pub fn into_shares(self) -> Vec<Share> {
        self.shares
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(cause: Cause, packet: u64) -> Verdict {
        Verdict {
            cause,
            direction: Direction::ToClient,
            evidence: Evidence::of([packet, 0, 0]),
            confidence: Confidence::High,
        }
    }

    #[test]
    fn pieces_under_one_cause_are_counted_once_until_another_cause_comes() {
        let at = Instant::from_nanos;
        let mut account = Account::new(at(10));
        account.add(at(20), verdict(Cause::Propagation, 1));
        account.add(at(50), verdict(Cause::NagleDelayedAck, 2));
        account.add(at(60), verdict(Cause::NagleDelayedAck, 3));
        account.add(at(70), verdict(Cause::Propagation, 4));
        account.add(at(75), verdict(Cause::NagleDelayedAck, 5));
        let shares = account.into_shares();
        let found: Vec<_> = shares
            .iter()
            .map(|it| (it.cause, it.span.as_nanos(), it.times, it.longest.as_nanos()))
            .collect();
        assert_eq!(found, [(Cause::Propagation, 20, 2, 10), (Cause::NagleDelayedAck, 45, 2, 40)]);
        assert_eq!(shares[1].evidence.packets().collect::<Vec<_>>(), [3]);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_time_whatever_comes(
            steps in proptest::collection::vec((0_u64..1_000, 0_usize..Cause::ALL.len()), 0..50),
        ) {
            let mut account = Account::new(Instant::from_nanos(100));
            for (until, cause) in steps {
                account.add(Instant::from_nanos(until), verdict(Cause::ALL[cause], 1));
            }
            let whole = account.cursor().since(account.from());
            let sum: Duration = account.into_shares().iter().map(|share| share.span).sum();
            prop_assert_eq!(sum, whole);
        }
    }
}
