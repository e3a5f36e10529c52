//! The time of one exchange, divided without a rest.

use ackwise_tcp::Instant;

use super::{
    Nanos,
    stretch::{Stretch, Stretches},
    verdict::{Confidence, Share, Verdict, both},
};

/// The time of an exchange since its beginning, every nanosecond of it under one cause.
#[derive(Clone, Debug)]
pub struct Account {
    from: Instant,
    cursor: Instant,
    sums: Vec<Sum>,
    /// The place of the last verdict's sum, and its time: what follows under the same one is the same piece.
    open: Option<(usize, Nanos)>,
    kept: Kept,
}

/// What is kept beside the sums.
#[derive(Clone, Debug)]
enum Kept {
    Nothing,
    /// Which time went where, if a report wants to draw it.
    Stretches(Box<Stretches>),
    /// Each verdict and until when, for other accounts.
    Pieces(Vec<(Instant, Verdict)>),
}

/// A share that may still grow: in numbers that are added up quickly.
#[derive(Clone, Debug)]
struct Sum {
    /// That of the longest piece, with what another one knows beside. When it was, a sum does not say.
    verdict: Verdict,
    span: Nanos,
    times: u32,
    longest: Nanos,
    /// How much of it has high confidence, and medium.
    sure: [Nanos; 2],
}

impl Account {
    /// Few exchanges have more. Our choice.
    const USUAL_SHARES: usize = 8;

    /// An exchange begins.
    #[must_use]
    pub const fn new(from: Instant) -> Self {
        Self { from, cursor: from, sums: Vec::new(), open: None, kept: Kept::Nothing }
    }

    /// What `divide` adds to an account, whatever that holds: other accounts [take](Self::add_all) the same.
    pub(crate) fn pieces(divide: impl FnOnce(&mut Self)) -> Vec<(Instant, Verdict)> {
        let mut account = Self { kept: Kept::Pieces(Vec::new()), ..Self::new(Instant::EPOCH) };
        divide(&mut account);
        match account.kept {
            Kept::Pieces(pieces) => pieces,
            Kept::Nothing | Kept::Stretches(_) => Vec::new(),
        }
    }

    /// Adds these, one after the other.
    pub(crate) fn add_all(&mut self, pieces: &[(Instant, Verdict)]) {
        for (until, verdict) in pieces {
            self.add(*until, *verdict);
        }
    }

    /// Remembers which time went where, too, from now on.
    ///
    /// The longest ones, if there are more than `limit`.
    pub(crate) fn keep_stretches(&mut self, limit: usize) {
        if matches!(self.kept, Kept::Nothing) {
            self.kept = Kept::Stretches(Box::new(Stretches::new(limit)));
        }
    }

    /// An account of the same exchange with nothing in it.
    pub(crate) fn emptied(&self) -> Self {
        let kept = match &self.kept {
            Kept::Stretches(it) => Kept::Stretches(Box::new(it.emptied())),
            Kept::Nothing | Kept::Pieces(_) => Kept::Nothing,
        };
        Self { kept, ..Self::new(self.from) }
    }

    pub(crate) fn take_stretches(&mut self) -> Vec<Stretch> {
        match std::mem::replace(&mut self.kept, Kept::Nothing) {
            Kept::Stretches(it) => it.into_inner(),
            Kept::Nothing | Kept::Pieces(_) => Vec::new(),
        }
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
        let span = Nanos::between(self.cursor, until);
        self.cursor = until;
        let is_same = |it: &Sum| it.is_under(&verdict);
        let goes_on = self.open.filter(|open| self.sums.get(open.0).is_some_and(is_same));
        let piece = span + goes_on.map_or(Nanos::ZERO, |(_, so_far)| so_far);
        let place = goes_on.map_or_else(|| self.place_of(&verdict), |(place, _)| place);
        self.open = Some((place, piece));
        match &mut self.kept {
            Kept::Nothing => {}
            Kept::Stretches(stretches) => stretches.add(until - piece, until, verdict),
            Kept::Pieces(pieces) => pieces.push((until, verdict)),
        }
        let sum = &mut self.sums[place];
        sum.span = sum.span + span;
        sum.times += u32::from(goes_on.is_none());
        match verdict.confidence {
            Confidence::High => sum.sure[0] = sum.sure[0] + span,
            Confidence::Medium => sum.sure[1] = sum.sure[1] + span,
            Confidence::Low => {}
        }
        let Verdict { rival, kind, window, .. } = sum.verdict;
        let window = both(window, verdict.window);
        if sum.longest < piece {
            let (rival, kind) = (verdict.rival.or(rival), verdict.kind.or(kind));
            sum.verdict = Verdict { rival, kind, window, swapped: None, ..verdict };
            sum.longest = piece;
        } else {
            (sum.verdict.rival, sum.verdict.kind) =
                (rival.or(verdict.rival), kind.or(verdict.kind));
            sum.verdict.window = window;
        }
    }

    /// Where the sum under a verdict is, which begins if there is none.
    #[inline(never)]
    fn place_of(&mut self, verdict: &Verdict) -> usize {
        if let Some(place) = self.sums.iter().position(|it| it.is_under(verdict)) {
            return place;
        }
        if self.sums.is_empty() {
            self.sums.reserve(Self::USUAL_SHARES);
        }
        let (span, longest, sure) = (Nanos::ZERO, Nanos::ZERO, [Nanos::ZERO; 2]);
        self.sums.push(Sum { verdict: *verdict, span, times: 0, longest, sure });
        self.sums.len() - 1
    }

    /// The shares, in the order in which their causes first appeared. Their spans add up to the time
    /// from the beginning to the cursor.
    #[must_use]
    pub fn into_shares(self) -> Vec<Share> {
        self.shares().collect()
    }

    /// The same, one after the other.
    pub(crate) fn shares(&self) -> impl Iterator<Item = Share> {
        self.sums.iter().map(Sum::share)
    }
}

impl Sum {
    fn is_under(&self, verdict: &Verdict) -> bool {
        (self.verdict.cause, self.verdict.direction) == (verdict.cause, verdict.direction)
    }

    fn share(&self) -> Share {
        let &Self { verdict, span, times, longest, sure } = self;
        let confidence = Confidence::of_nanos(span, sure);
        let verdict = Verdict { confidence, ..verdict };
        let mut share = Share::of(verdict, span.into(), times, longest.into());
        share.keep_doubt_if_any();
        share
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ackwise_cause::{Cause, Direction};
    use proptest::prelude::*;

    use super::*;
    use crate::{
        attribution::{Evidence, Rule},
        series::Budget,
    };

    fn verdict(cause: Cause, packet: u64) -> Verdict {
        let evidence = Evidence::of([packet, 0, 0]);
        Verdict::new(Rule::Written, cause, Direction::ToClient, evidence, Confidence::High)
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

    #[test]
    fn pieces_are_what_any_account_would_get() {
        let divide = |account: &mut Account| {
            for (until, cause) in [
                (20, Cause::Propagation),
                (15, Cause::Pacing),
                (30, Cause::NagleRtt),
                (50, Cause::Propagation),
            ] {
                account.add(Instant::from_nanos(until), verdict(cause, until));
            }
        };
        let pieces = Account::pieces(divide);
        for from in [10, 17, 20, 25, 45, 60] {
            let [mut one, mut other] = [(); 2].map(|()| Account::new(Instant::from_nanos(from)));
            divide(&mut one);
            other.add_all(&pieces);
            assert_eq!(one.cursor(), other.cursor(), "{from}");
            assert_eq!(one.into_shares(), other.into_shares(), "{from}");
        }
    }

    fn sure(confidence: Confidence, packet: u64) -> Verdict {
        Verdict { confidence, ..verdict(Cause::NagleRtt, packet) }
    }

    #[test]
    fn a_share_is_as_sure_as_nine_tenths_of_it() {
        use Confidence::{High, Low, Medium};
        for (pieces, expected) in [
            (&[High, High][..], High),
            (&[High, Medium], Medium),
            (&[Medium, High], Medium),
            (&[Low, Medium, High], Low),
            (&[High, Low, Medium], Low),
            (&[High, High, High, High, High, High, High, High, High, Low], High),
            (&[High, High, High, High, High, High, High, High, Low], Low),
            (&[High, Medium, Medium, Medium, Medium, Medium, Medium, Medium, Medium, Low], Medium),
        ] {
            let mut account = Account::new(Instant::EPOCH);
            account.keep_stretches(Budget::STRETCHES_PER_EXCHANGE);
            for (until, &confidence) in (1..).zip(pieces) {
                account.add(Instant::from_nanos(until), sure(confidence, until));
            }
            let stretches = account.take_stretches();
            assert_eq!(account.into_shares()[0].confidence, expected, "{pieces:?}");
            // When it was how sure, stretches tell.
            let found: Vec<_> = stretches
                .iter()
                .flat_map(|it| {
                    let nanos = it.until.as_nanos() - it.from.as_nanos();
                    std::iter::repeat_n(it.confidence, usize::try_from(nanos).unwrap())
                })
                .collect();
            assert_eq!(found, pieces);
        }
    }

    #[test]
    fn directions_are_shares_and_pieces_of_their_own() {
        let mut account = Account::new(Instant::EPOCH);
        let other = Verdict { direction: Direction::ToServer, ..verdict(Cause::Pacing, 7) };
        account.add(Instant::from_nanos(5), verdict(Cause::Pacing, 6));
        account.add(Instant::from_nanos(15), other);
        let shares = account.into_shares();
        assert_eq!(shares.iter().map(|it| it.longest.as_nanos()).collect::<Vec<_>>(), [5, 10]);
    }

    #[test]
    fn an_emptied_account_begins_anew_and_keeps_stretches_if_it_did() {
        let mut account = Account::new(Instant::from_nanos(3));
        account.add(Instant::from_nanos(5), verdict(Cause::Pacing, 6));
        let mut plain = account.emptied();
        assert_eq!((plain.from(), plain.cursor()), (account.from(), account.from()));
        plain.add(Instant::from_nanos(9), verdict(Cause::Pacing, 6));
        assert_eq!((plain.take_stretches().len(), plain.into_shares().len()), (0, 1));
        account.keep_stretches(Budget::STRETCHES_PER_EXCHANGE);
        let mut drawn = account.emptied();
        drawn.add(Instant::from_nanos(9), verdict(Cause::Pacing, 6));
        assert_eq!(drawn.take_stretches().len(), 1);
    }

    #[test]
    fn the_longest_piece_keeps_the_evidence_of_its_kind() {
        let at = Instant::from_nanos;
        let mut account = Account::new(at(0));
        account.add(at(10), verdict(Cause::NagleRtt, 1));
        account.add(at(20), verdict(Cause::Pacing, 2));
        account.add(at(30), verdict(Cause::NagleRtt, 3));
        let shares = account.into_shares();
        assert_eq!(shares[0].evidence.packets().collect::<Vec<_>>(), [1], "the first of equals");
    }
}
