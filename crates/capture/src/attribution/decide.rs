//! How rules decide: the first row of a table that applies names what some time was, and doubts limit how sure that is.
//!
//! A doubt sees the facts and what the row claims, never another doubt. The strictest limits the confidence and names
//! the rival; of two that are as strict, the one that comes first in [`Rule::ALL`]. So doubts commute.

use ackwise_cause::Cause;

use super::{Confidence, Rule};

/// A rule that claims what some time was, if it applies.
pub(crate) struct Row<Facts: 'static, Claim: 'static> {
    pub rule: Rule,
    pub detect: fn(&Facts) -> Option<Claim>,
}

/// What a capture does not show, and so makes a claim less sure, if it applies.
pub(crate) struct Doubt<Facts: 'static, Claim: 'static> {
    pub rule: Rule,
    pub applies: fn(&Facts, &Claim) -> Option<Limit>,
}

/// How sure something is at most, and what else it may have been, if that has a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Limit {
    pub most: Confidence,
    pub rival: Option<Cause>,
}

impl Limit {
    /// It may have been that, which is rare.
    pub(crate) const fn or(rival: Cause) -> Self {
        Self { most: Confidence::Medium, rival: Some(rival) }
    }

    /// It may as well have been that.
    pub(crate) const fn as_well(rival: Cause) -> Self {
        Self { most: Confidence::Low, rival: Some(rival) }
    }
}

/// What the first row that applies claims; `without` is switched off.
pub(crate) fn first_of<Facts, Claim>(
    rows: &[Row<Facts, Claim>],
    facts: &Facts,
    without: Option<Rule>,
) -> Option<(Rule, Claim)> {
    let mut rows = rows.iter().filter(|row| without != Some(row.rule));
    rows.find_map(|row| Some((row.rule, (row.detect)(facts)?)))
}

/// The strictest doubt of a claim; `without` is switched off.
pub(crate) fn limit_of<Facts, Claim>(
    doubts: &[Doubt<Facts, Claim>],
    facts: &Facts,
    claim: &Claim,
    without: Option<Rule>,
) -> Option<(Rule, Limit)> {
    let doubts = doubts.iter().filter(|doubt| without != Some(doubt.rule));
    let limits = doubts.filter_map(|it| Some((it.rule, (it.applies)(facts, claim)?)));
    limits.min_by_key(|(rule, limit)| (limit.most, *rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOUBTS: [Doubt<(), u8>; 3] = [
        Doubt { rule: Rule::MayBeTimer, applies: |(), _| Some(Limit::or(Cause::Queueing)) },
        Doubt { rule: Rule::MayBeWindow, applies: |(), _| Some(Limit::or(Cause::SlowStart)) },
        Doubt {
            rule: Rule::CaptureLacks,
            applies: |(), claim| (*claim > 0).then(|| Limit::as_well(Cause::NagleRtt)),
        },
    ];

    #[test]
    fn the_first_row_that_applies_and_is_not_switched_off_claims() {
        let rows: [Row<u8, u8>; 3] = [
            Row { rule: Rule::Corked, detect: |it| (*it > 5).then_some(5) },
            Row { rule: Rule::Paced, detect: |it| (*it > 2).then_some(2) },
            Row { rule: Rule::Written, detect: |_| Some(0) },
        ];
        for (facts, without, claim) in [
            (9, None, Some((Rule::Corked, 5))),
            (3, None, Some((Rule::Paced, 2))),
            (9, Some(Rule::Corked), Some((Rule::Paced, 2))),
            (1, None, Some((Rule::Written, 0))),
            (1, Some(Rule::Written), None),
        ] {
            assert_eq!(first_of(&rows, &facts, without), claim, "{facts} {without:?}");
        }
    }

    #[test]
    fn the_strictest_doubt_limits_and_of_two_the_one_with_the_first_name() {
        let limit = |claim, without| limit_of(&DOUBTS, &(), &claim, without).map(|it| it.0);
        assert_eq!(limit(1, None), Some(Rule::CaptureLacks));
        assert_eq!(limit(0, None), Some(Rule::MayBeWindow));
        assert_eq!(limit(0, Some(Rule::MayBeWindow)), Some(Rule::MayBeTimer));
    }
}
