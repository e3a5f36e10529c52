//! Time by cause, summed over exchanges.

use std::time::Duration;

use ackwise_capture::{
    analysis::{Analysis, ExchangeResult, Folded},
    attribution::Confidence,
};
use ackwise_cause::{Cause, Direction, Party};

/// Which exchanges are added up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TotalsScope {
    /// All of them.
    All,
    /// Those slower than this share of all, in percent.
    Percentile(u8),
    /// Those slower than the user's limit.
    Slower(Duration),
}

impl TotalsScope {
    /// `all`, `p95`, `slower-than-100ms`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Percentile(percent) => format!("p{percent}"),
            Self::Slower(limit) => format!("slower-than-{}ms", limit.as_secs_f64() * 1e3),
        }
    }
}

/// Time of several exchanges by cause and direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    /// The cause.
    pub cause: Cause,
    /// Direction of the delayed data.
    pub direction: Direction,
    /// Sum over all exchanges.
    pub span: Duration,
    /// Number of exchanges with this cause.
    pub exchanges: usize,
    /// Number of waits.
    pub times: u64,
    /// At least nine tenths of the time have this confidence or a higher one.
    pub confidence: Confidence,
    /// What else the packets admit, if it is not sure: what the longest share with one has.
    pub rival: Option<Cause>,
    /// What of the time has high, and what has medium confidence.
    pub(super) sure: [Duration; 2],
    /// What of the time is of exchanges that owe so much to the cause that somebody may notice, and how many these are.
    pub(super) notable: Notable,
}

/// Time that matters, because an exchange spends much of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Notable {
    pub(super) span: Duration,
    pub(super) exchanges: usize,
}

/// The time of a cause that is being added up, by the confidence of its parts.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    span: Duration,
    exchanges: usize,
    times: u64,
    high: Duration,
    medium: Duration,
    /// What else the packets admit of a share, and how long that is.
    rival: Option<(Duration, Cause)>,
    notable: Notable,
}

impl Sum {
    fn confidence(&self) -> Confidence {
        Confidence::of_parts(self.span, [self.high, self.medium])
    }
}

impl Total {
    /// The same with the time of the other direction, which is shorter.
    fn with_other_direction(self, other: &Self) -> Self {
        let span = self.span + other.span;
        let sure = [0, 1].map(|place| self.sure[place] + other.sure[place]);
        let confidence = Confidence::of_parts(span, sure);
        let rival = self.rival.or(other.rival).filter(|_| confidence < Confidence::High);
        // An exchange may have both.
        let exchanges = self.exchanges.max(other.exchanges);
        let times = self.times + other.times;
        let notable = Notable {
            span: self.notable.span + other.notable.span,
            exchanges: self.notable.exchanges.max(other.notable.exchanges),
        };
        Self { span, exchanges, times, confidence, rival, sure, notable, ..self }
    }

    /// Where the cause can be changed.
    #[must_use]
    pub const fn party(&self) -> Option<Party> {
        self.cause.party(self.direction)
    }
}

/// Time of several exchanges by cause, largest first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Totals {
    /// Which exchanges.
    pub scope: TotalsScope,
    /// How many there are.
    pub exchanges: usize,
    /// How many of them lack a complete response, of those that are listed.
    pub(super) incomplete: usize,
    /// The shortest of them.
    pub shortest: Duration,
    /// Their durations together.
    pub span: Duration,
    /// By cause and direction.
    pub causes: Vec<Total>,
}

impl Totals {
    /// Adds up the exchanges in `scope`.
    #[must_use]
    pub fn of(analysis: &Analysis, scope: TotalsScope) -> Self {
        let limit = limit(analysis, scope);
        let chosen = analysis.exchanges.iter().filter(|it| match scope {
            TotalsScope::All => true,
            TotalsScope::Percentile(_) => it.duration >= limit,
            TotalsScope::Slower(_) => it.duration > limit,
        });
        let folded = match scope {
            TotalsScope::All => Some(&analysis.folded),
            // They are faster than those that are listed, or of connections that are not.
            TotalsScope::Percentile(_) | TotalsScope::Slower(_) => None,
        };
        Self::over(chosen, folded, scope)
    }

    /// Adds up `chosen`, which are those in `scope`, and what is `folded`.
    pub(super) fn over<'a>(
        chosen: impl IntoIterator<Item = &'a ExchangeResult>,
        folded: Option<&Folded>,
        scope: TotalsScope,
    ) -> Self {
        let mut totals = Self {
            scope,
            exchanges: 0,
            incomplete: 0,
            shortest: Duration::MAX,
            span: Duration::ZERO,
            causes: Vec::new(),
        };
        let mut causes = [[Sum::default(); 2]; Cause::ALL.len()];
        for exchange in chosen {
            totals.exchanges += 1;
            totals.incomplete += usize::from(!exchange.complete);
            totals.span += exchange.duration;
            totals.shortest = totals.shortest.min(exchange.duration);
            add(&mut causes, exchange);
        }
        if let Some(folded) = folded.filter(|it| it.exchanges > 0) {
            totals.exchanges += usize::try_from(folded.exchanges).unwrap_or(usize::MAX);
            totals.span += folded.span;
            add_folded(&mut causes, folded);
        }
        let total = |cause: Cause, direction: Direction, sum: Sum| Total {
            cause,
            direction,
            span: sum.span,
            exchanges: sum.exchanges,
            times: sum.times,
            confidence: sum.confidence(),
            rival: sum.rival.filter(|_| sum.confidence() < Confidence::High).map(|it| it.1),
            sure: [sum.high, sum.medium],
            notable: sum.notable,
        };
        for cause in Cause::ALL {
            for direction in [Direction::ToServer, Direction::ToClient] {
                let sum = causes[cause as usize][direction as usize];
                if sum.exchanges > 0 {
                    totals.causes.push(total(cause, direction, sum));
                }
            }
        }
        totals.causes.sort_by_key(|it| std::cmp::Reverse(it.span));
        totals
    }

    /// The cause that took most of the time. What the path takes in both directions is one cause; of the
    /// others, each direction has another host that can change it.
    pub(super) fn largest(&self) -> Option<Total> {
        // Of equal ones, the first.
        self.whole_causes().reduce(|most, it| if it.span > most.span { it } else { most })
    }

    /// All causes; what the path takes in both directions is one, at the place of its larger part.
    pub(super) fn whole_causes(&self) -> impl Iterator<Item = Total> {
        let whole = |(place, total): (usize, &Total)| {
            let other = self.causes[place + 1..].iter().find(|it| it.cause == total.cause);
            let other =
                other.filter(|_| total.party() == Some(Party::Path) && !total.cause.is_stall());
            other.map_or(*total, |other| total.with_other_direction(other))
        };
        self.causes.iter().enumerate().map(whole)
    }
}

fn add(causes: &mut [[Sum; 2]; Cause::ALL.len()], exchange: &ExchangeResult) {
    for share in &exchange.shares {
        let sum = &mut causes[share.cause as usize][share.direction as usize];
        sum.span += share.span;
        sum.exchanges += 1;
        sum.times += u64::from(share.times);
        sum.rival = sum.rival.max(share.rival.map(|rival| (share.span, rival)));
        if share.span >= least_notable(share.cause) {
            sum.notable.span += share.span;
            sum.notable.exchanges += 1;
        }
        match share.confidence {
            Confidence::High => sum.high += share.span,
            Confidence::Medium => sum.medium += share.span,
            Confidence::Low => {}
        }
    }
}

fn add_folded(causes: &mut [[Sum; 2]; Cause::ALL.len()], folded: &Folded) {
    for ((name, direction), cause) in &folded.causes {
        let sum = &mut causes[*name as usize][*direction as usize];
        sum.span += cause.span;
        sum.exchanges += usize::try_from(cause.exchanges).unwrap_or(usize::MAX);
        sum.times += cause.times;
        sum.high += cause.high;
        sum.medium += cause.medium;
        // They are the fastest exchanges, and only their mean is known.
        let count = u32::try_from(cause.exchanges).unwrap_or(u32::MAX).max(1);
        if cause.span / count >= least_notable(*name) {
            sum.notable.span += cause.span;
            sum.notable.exchanges += usize::try_from(cause.exchanges).unwrap_or(usize::MAX);
        }
    }
}

/// The least that an exchange must owe to a cause for anybody to do something about that. Our choice.
///
/// A wait that one end causes the other is worth a setting from 1 ms on: below that, a busy host delays a program as long
/// at random, and every exchange of a healthy server has such times. What a program works and the setup of a
/// connection are worth a look from 20 ms on: a person takes up to 100 ms for immediate (Nielsen, Usability
/// Engineering, 1993, chapter 5), and few pages wait for less than five exchanges, one after the other. A path that
/// delays or loses data is in between: at 5 ms, it is no longer a burst on a switch.
pub(super) const fn least_notable(cause: Cause) -> Duration {
    Duration::from_millis(match cause {
        Cause::ServerThink
        | Cause::ApplicationLimited
        | Cause::Handshake
        | Cause::TlsHandshake
        | Cause::SlowStart => 20,
        _ if cause.is_stall() => 1,
        _ => 5,
    })
}

/// The duration that divides what is added up from what is not.
fn limit(analysis: &Analysis, scope: TotalsScope) -> Duration {
    match scope {
        TotalsScope::All => Duration::ZERO,
        TotalsScope::Slower(limit) => limit,
        TotalsScope::Percentile(percent) => {
            let mut durations: Vec<_> = analysis.exchanges.iter().map(|it| it.duration).collect();
            // What is not listed is faster.
            let folded = usize::try_from(analysis.folded.exchanges).unwrap_or(usize::MAX);
            let listed = durations.len();
            if listed == 0 {
                return Duration::ZERO;
            }
            let place = listed.saturating_add(folded).saturating_mul(percent.into()) / 100;
            let place = place.saturating_sub(folded).min(listed - 1);
            *durations.select_nth_unstable(place).1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_of_the_path_are_one_cause_and_two_senders_are_two() {
        use Confidence::{High, Medium};
        use Direction::{ToClient, ToServer};
        let total = |cause, direction, millis, [high, medium]: [u64; 2]| Total {
            cause,
            direction,
            span: Duration::from_millis(millis),
            exchanges: 2,
            times: 3,
            confidence: if high == millis { High } else { Medium },
            rival: (high < millis).then_some(Cause::Queueing),
            sure: [high, medium].map(Duration::from_millis),
            notable: Notable::default(),
        };
        let largest = |causes: &[Total]| {
            let causes = causes.to_vec();
            let (span, shortest) = (Duration::from_secs(1), Duration::ZERO);
            let totals = Totals {
                scope: TotalsScope::All,
                exchanges: 3,
                incomplete: 0,
                shortest,
                span,
                causes,
            };
            let it = totals.largest().unwrap();
            (it.cause, it.span.as_millis(), it.confidence, it.rival)
        };
        let (distance, link) = (Cause::Propagation, Cause::Transmission);
        assert_eq!(
            largest(&[
                total(link, ToClient, 82, [82, 0]),
                total(distance, ToServer, 66, [66, 0]),
                total(distance, ToClient, 65, [0, 65]),
            ]),
            (distance, 131, Medium, Some(Cause::Queueing))
        );
        assert_eq!(
            largest(&[
                total(distance, ToServer, 95, [95, 0]),
                total(distance, ToClient, 5, [0, 5]),
            ]),
            (distance, 100, High, None)
        );
        let (window, rest) = (Cause::ReceiveWindow, Cause::ApplicationLimited);
        for cause in [window, rest, Cause::RetransmissionTimeout] {
            let (one, other) =
                (total(cause, ToServer, 60, [60, 0]), total(cause, ToClient, 50, [50, 0]));
            let most = largest(&[total(link, ToClient, 70, [70, 0]), one, other]);
            assert_eq!(most, (link, 70, High, None), "{cause}");
        }
    }

    #[test]
    fn a_sum_is_as_sure_as_nine_tenths_of_it() {
        use Confidence::{High, Low, Medium};
        for (high, medium, confidence) in
            [(100, 0, High), (90, 0, High), (89, 11, Medium), (0, 90, Medium), (89, 0, Low)]
        {
            let [span, high, medium] = [100, high, medium].map(Duration::from_millis);
            let sum = Sum { span, high, medium, ..Sum::default() };
            assert_eq!(sum.confidence(), confidence, "{high:?} {medium:?}");
        }
    }
}
