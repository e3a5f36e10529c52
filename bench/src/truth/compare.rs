//! Truth and what was said of one exchange, compared by overlap in time.
//!
//! Both are times at the sender of the data that is waited for: so the analyser divides time, and so
//! truth is recorded. Between two departures of data that a capture shows, the order of the parts cannot
//! be observed. So the time of an exchange is cut at these departures (at another place, a packet is put
//! back by the known one-way delay of the case), and within such a gap amounts are compared, not moments:
//!
//! 1. Truth and statements are clipped to the exchange as the capture shows it, and cut at the
//!    departures. Time that no truth covers is not judged; time without a statement counts as unknown.
//! 2. In each gap, what is said is right for as long as the gap has truth that admits it: 30 ms that are
//!    said to be Nagle are right for 20 ms, if Nagle held data for 20 ms of the gap. If several statements
//!    are right for the same truth, the earlier one goes first.
//! 3. What remains of both is wrong, and paired in proportion: each remaining statement with each
//!    remaining truth, by its part of all that remains. Time that is not judged is paired like truth.
//!
//! A statement with the right cause and the wrong direction is wrong if the direction changes who has to
//! act ([`Cause::party`]); so `propagation` is the same in both directions, and `nagle-rtt` is not.

use ackwise_capture::attribution::{Confidence, Rule};
use ackwise_cause::{Cause, Direction};

use super::case::Peer;

/// Some time that is known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Known {
    pub(super) from: u64,
    pub(super) until: u64,
    /// Any of them is right; the first is the likeliest.
    pub(super) causes: Vec<Cause>,
    pub(super) direction: Direction,
    pub(super) at: Peer,
}

/// Some time as it is explained.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Claim {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) cause: Cause,
    pub(super) direction: Direction,
    pub(super) confidence: Confidence,
    pub(super) by: By,
}

/// Which rule decided, and which doubt limits that.
pub(super) type By = (Rule, Option<Rule>);

/// Some nanoseconds of a gap, for which one thing is true and one is said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Cell {
    /// When the gap begins.
    pub(super) gap: u64,
    pub(super) nanos: u64,
    /// `None` if it is not judged.
    pub(super) truth: Option<Label>,
    pub(super) said: Option<(Cause, Direction, Confidence)>,
    pub(super) by: Option<By>,
}

/// What is true. Of several causes that are right, what was said if that is one, else the likeliest.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Label {
    pub(super) cause: Cause,
    pub(super) to_server: bool,
    pub(super) at: Peer,
    /// Several causes are right.
    pub(super) ambiguous: bool,
    /// What was said is right.
    pub(super) right: bool,
}

impl Known {
    fn admits(&self, claim: &Claim) -> bool {
        let party = |direction| claim.cause.party(direction);
        self.causes.contains(&claim.cause)
            && claim.cause != Cause::Unknown
            && party(self.direction) == party(claim.direction)
    }

    fn label(&self, right: Option<Cause>) -> Label {
        Label {
            cause: right.unwrap_or(self.causes[0]),
            to_server: self.direction == Direction::ToServer,
            at: self.at,
            ambiguous: self.causes.len() > 1,
            right: right.is_some(),
        }
    }
}

/// Compares the time `[from, until)` of an exchange, cut at `departures`. All three lists are in order,
/// and neither truths nor claims overlap.
pub(super) fn compare(
    [from, until]: [u64; 2],
    departures: &[u64],
    known: &[Known],
    claims: &[Claim],
) -> Vec<Cell> {
    let first = departures.partition_point(|&it| it <= from);
    let inside = departures[first..].iter().copied().take_while(|&it| it < until);
    let mut cells = Vec::new();
    let mut begin = from;
    for end in inside.chain(std::iter::once(until)) {
        let truths = &known[known.partition_point(|it| it.until <= begin)..];
        let truths = &truths[..truths.partition_point(|it| it.from < end)];
        let said = &claims[claims.partition_point(|it| it.until <= begin)..];
        let said = &said[..said.partition_point(|it| it.from < end)];
        settle([begin, end], truths, said, &mut cells);
        begin = end;
    }
    cells
}

/// Compares one gap.
fn settle([from, until]: [u64; 2], known: &[Known], claims: &[Claim], cells: &mut Vec<Cell>) {
    if from >= until {
        return;
    }
    let mut truths: Vec<(Option<&Known>, u64)> =
        known.iter().map(|it| (Some(it), overlap([it.from, it.until], [from, until]))).collect();
    let mut said: Vec<(Option<&Claim>, u64)> =
        claims.iter().map(|it| (Some(it), overlap([it.from, it.until], [from, until]))).collect();
    let sum = |nanos: &mut dyn Iterator<Item = u64>| nanos.sum::<u64>();
    let covered = sum(&mut truths.iter().map(|it| it.1));
    let claimed = sum(&mut said.iter().map(|it| it.1));
    let (unjudged, unsaid) = (until - from - covered, until - from - claimed);
    truths.push((None, unjudged));
    said.push((None, unsaid));

    let push = |cells: &mut Vec<Cell>, truth: Option<Label>, claim: Option<&Claim>, nanos| {
        if nanos > 0 {
            let said = claim.map(|it| (it.cause, it.direction, it.confidence));
            cells.push(Cell { gap: from, nanos, truth, said, by: claim.map(|it| it.by) });
        }
    };
    for (claim, left) in &mut said {
        let Some(claim) = claim else { continue };
        for (truth, rest) in &mut truths {
            let Some(truth) = truth.filter(|it| it.admits(claim)) else { continue };
            let nanos = (*left).min(*rest);
            push(cells, Some(truth.label(Some(claim.cause))), Some(claim), nanos);
            (*left, *rest) = (*left - nanos, *rest - nanos);
        }
    }
    // Both sums are the same: each took and lost the same.
    let mut open = sum(&mut truths.iter().map(|it| it.1));
    for (claim, mut left) in said {
        let (total, claimed) = (open, left);
        for (truth, rest) in &mut truths {
            // In proportion; what rounding leaves goes to the last.
            let part = u128::from(*rest) * u128::from(claimed) / u128::from(total.max(1));
            let nanos = u64::try_from(part).expect("no more than the rest");
            push(cells, truth.map(|it| it.label(None)), claim, nanos);
            (*rest, left) = (*rest - nanos, left - nanos);
        }
        for (truth, rest) in &mut truths {
            let nanos = left.min(*rest);
            push(cells, truth.map(|it| it.label(None)), claim, nanos);
            (*rest, left) = (*rest - nanos, left - nanos);
        }
        open = sum(&mut truths.iter().map(|it| it.1));
    }
}

fn overlap(one: [u64; 2], other: [u64; 2]) -> u64 {
    one[1].min(other[1]).saturating_sub(one[0].max(other[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{
        ApplicationLimited, NagleDelayedAck, NagleRtt, Propagation, ServerThink, Transmission,
        Unknown,
    };
    use Confidence::{High, Low, Medium};
    use Direction::{ToClient, ToServer};

    fn known(from: u64, until: u64, causes: &[Cause]) -> Known {
        let (direction, at) = (ToClient, Peer::Server);
        Known { from, until, causes: causes.to_vec(), direction, at }
    }

    fn claim(from: u64, until: u64, cause: Cause) -> Claim {
        let by = (Rule::Written, None);
        Claim { from, until, cause, direction: ToClient, confidence: High, by }
    }

    /// What is true, what is said, for how long, and whether that is right.
    fn table(
        departures: &[u64],
        truths: &[Known],
        claims: &[Claim],
    ) -> Vec<(Option<Cause>, Option<Cause>, u64, bool)> {
        let cells = compare([0, 100], departures, truths, claims);
        assert_eq!(cells.iter().map(|it| it.nanos).sum::<u64>(), 100, "{cells:?}");
        let row = |it: &Cell| {
            let right = it.truth.is_some_and(|it| it.right);
            (it.truth.map(|it| it.cause), it.said.map(|it| it.0), it.nanos, right)
        };
        cells.iter().map(row).collect()
    }

    #[test]
    fn within_a_gap_amounts_count_and_not_the_order() {
        let truths = [known(0, 40, &[NagleDelayedAck]), known(40, 100, &[Propagation])];
        let claims = [claim(0, 60, Propagation), claim(60, 100, NagleDelayedAck)];
        assert_eq!(
            table(&[], &truths, &claims),
            [
                (Some(Propagation), Some(Propagation), 60, true),
                (Some(NagleDelayedAck), Some(NagleDelayedAck), 40, true),
            ]
        );
    }

    #[test]
    fn a_departure_between_them_shows_the_order() {
        let truths = [known(0, 40, &[NagleDelayedAck]), known(40, 100, &[Propagation])];
        let claims = [claim(0, 60, Propagation), claim(60, 100, NagleDelayedAck)];
        assert_eq!(
            table(&[40], &truths, &claims),
            [
                (Some(NagleDelayedAck), Some(Propagation), 40, false),
                (Some(Propagation), Some(Propagation), 20, true),
                (Some(Propagation), Some(NagleDelayedAck), 40, false),
            ]
        );
    }

    #[test]
    fn departures_outside_the_exchange_and_at_its_ends_cut_nothing() {
        let (truths, claims) = ([known(0, 100, &[Propagation])], [claim(0, 100, Propagation)]);
        let cells = compare([10, 90], &[0, 5, 10, 90, 95], &truths, &claims);
        assert_eq!(cells.iter().map(|it| (it.gap, it.nanos)).collect::<Vec<_>>(), [(10, 80)]);
    }

    #[test]
    fn what_is_said_too_much_is_wrong_and_what_is_left_is_paired_in_proportion() {
        let truths = [
            known(0, 20, &[NagleDelayedAck]),
            known(20, 80, &[ServerThink]),
            known(80, 100, &[Transmission]),
        ];
        let claims = [claim(0, 60, NagleDelayedAck), claim(60, 100, Propagation)];
        assert_eq!(
            table(&[], &truths, &claims),
            [
                (Some(NagleDelayedAck), Some(NagleDelayedAck), 20, true),
                (Some(ServerThink), Some(NagleDelayedAck), 30, false),
                (Some(Transmission), Some(NagleDelayedAck), 10, false),
                (Some(ServerThink), Some(Propagation), 30, false),
                (Some(Transmission), Some(Propagation), 10, false),
            ]
        );
    }

    #[test]
    fn any_cause_that_is_admitted_is_right_and_unknown_never_is() {
        let truths = [known(0, 100, &[ServerThink, ApplicationLimited, Unknown])];
        let right = |cause| table(&[], &truths, &[claim(0, 100, cause)]);
        assert_eq!(
            right(ApplicationLimited),
            [(Some(ApplicationLimited), Some(ApplicationLimited), 100, true)]
        );
        assert_eq!(right(Unknown), [(Some(ServerThink), Some(Unknown), 100, false)]);
        let cells = compare([0, 100], &[], &truths, &[claim(0, 100, ServerThink)]);
        assert!(cells[0].truth.unwrap().ambiguous);
    }

    #[test]
    fn a_direction_is_wrong_if_it_accuses_the_other_end() {
        for (cause, right) in [(NagleRtt, false), (Propagation, true), (ServerThink, true)] {
            let claims = [Claim { direction: ToServer, ..claim(0, 100, cause) }];
            let rows = table(&[], &[known(0, 100, &[cause])], &claims);
            assert_eq!(rows, [(Some(cause), Some(cause), 100, right)]);
        }
    }

    #[test]
    fn time_without_truth_is_not_judged_and_time_without_a_statement_is_counted() {
        assert_eq!(
            table(&[], &[known(0, 30, &[NagleRtt])], &[claim(0, 50, NagleRtt)]),
            [
                (Some(NagleRtt), Some(NagleRtt), 30, true),
                (None, Some(NagleRtt), 20, false),
                (None, None, 50, false),
            ]
        );
        assert_eq!(
            table(&[50], &[known(0, 100, &[NagleRtt])], &[claim(50, 100, NagleRtt)]),
            [(Some(NagleRtt), None, 50, false), (Some(NagleRtt), Some(NagleRtt), 50, true)]
        );
    }

    #[test]
    fn of_several_statements_for_the_same_truth_the_earlier_is_right_first() {
        let unsure = Claim { confidence: Low, ..claim(0, 60, NagleRtt) };
        let sure = Claim { confidence: Medium, ..claim(60, 100, NagleRtt) };
        let truths = [known(0, 50, &[ServerThink]), known(50, 100, &[NagleRtt])];
        let cells = compare([0, 100], &[], &truths, &[unsure, sure]);
        let rows: Vec<_> = cells
            .iter()
            .map(|it| (it.nanos, it.said.unwrap().2, it.truth.unwrap().right))
            .collect();
        assert_eq!(rows, [(50, Low, true), (10, Low, false), (40, Medium, false)]);
    }

    #[test]
    fn nothing_is_lost_to_rounding() {
        let truths = [known(0, 33, &[NagleRtt]), known(33, 71, &[Propagation])];
        let claims =
            [claim(0, 13, ServerThink), claim(13, 37, Transmission), claim(40, 99, Unknown)];
        table(&[], &truths, &claims);
        table(&[7, 11, 50, 51], &truths, &claims);
    }
}
