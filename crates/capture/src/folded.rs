//! Connections and exchanges that are too many to be listed: what they add up to.

use std::{collections::BTreeMap, time::Duration};

use ackwise_cause::{Cause, Direction};

use crate::attribution::{Confidence, Share, Shares};

/// Sums over what is not listed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Folded {
    /// Connections.
    pub connections: u64,
    /// Exchanges.
    pub exchanges: u64,
    /// Their durations together.
    pub span: Duration,
    /// What they owe to each cause.
    pub causes: BTreeMap<(Cause, Direction), FoldedCause>,
}

/// What exchanges that are not listed owe to a cause.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct FoldedCause {
    /// Sum over all of them.
    pub span: Duration,
    /// The most that one of them owes.
    pub most: Duration,
    /// Number of exchanges.
    pub exchanges: u64,
    /// Number of waits.
    pub times: u64,
    /// Time with high confidence.
    pub high: Duration,
    /// Time with medium confidence.
    pub medium: Duration,
}

impl Folded {
    /// Adds an exchange that took `duration`.
    pub(crate) fn add_exchange(&mut self, duration: Duration, shares: &Shares) {
        self.exchanges += 1;
        self.span = self.span.saturating_add(duration);
        for share in shares {
            self.causes.entry((share.cause, share.direction)).or_default().add_share(&share);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.exchanges += other.exchanges;
        self.span = self.span.saturating_add(other.span);
        for (key, cause) in &other.causes {
            self.causes.entry(*key).or_default().add(cause);
        }
    }
}

impl FoldedCause {
    fn add_share(&mut self, share: &Share) {
        let of = |confidence| {
            if share.confidence == confidence { share.span } else { Duration::ZERO }
        };
        self.add(&Self {
            span: share.span,
            most: share.span,
            exchanges: 1,
            times: share.times.into(),
            high: of(Confidence::High),
            medium: of(Confidence::Medium),
        });
    }

    fn add(&mut self, other: &Self) {
        let Self { span, most, exchanges, times, high, medium } = *other;
        self.span = self.span.saturating_add(span);
        self.most = self.most.max(most);
        self.exchanges += exchanges;
        self.times += times;
        self.high = self.high.saturating_add(high);
        self.medium = self.medium.saturating_add(medium);
    }
}
