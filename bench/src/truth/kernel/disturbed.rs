//! Times that the machine disturbed: their truth may be wrong, so they are left out.
//!
//! While a processor pauses, an emulator may read a packet long after the kernel sent it, and a capture may
//! have the packet before or after the pause.

use std::time::Duration;

use ackwise_linux::emulator::Disturbance;

use super::journeys::Journey;
use super::judge::Span;
use super::lab::Links;
use super::plan::Plan;
use crate::witness::clock::{Clock, Nanos};

/// In order, and apart from each other.
#[derive(Debug)]
pub(super) struct Disturbed(Vec<(Nanos, Nanos)>);

impl Disturbed {
    /// When a processor paused or a packet was late, and what follows from that.
    pub(super) fn of(plan: &Plan, journeys: &[Journey], links: &Links, clock: Clock) -> Self {
        let nanos = |span: Duration| Nanos::try_from(span.as_nanos()).unwrap_or(Nanos::MAX);
        let after = nanos(AFTER + 2 * plan.round_trip());
        let pause = |pause: &[_; 2]| (clock.nanos(pause[0]), clock.nanos(pause[1]));
        let mut times: Vec<(Nanos, Nanos)> = links.pauses.iter().map(pause).collect();
        for hop in journeys.iter().flat_map(|it| &it.hops) {
            if hop.lateness > nanos(LATE)
                && let Some(delivered) = hop.delivered
            {
                times.push((delivered - hop.lateness, delivered));
            }
        }
        times.sort_unstable();
        let mut joined: Vec<(Nanos, Nanos)> = Vec::new();
        for (from, until) in times {
            let (from, until) = (from.saturating_sub(nanos(BEFORE)), until + after);
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => joined.push((from, until)),
            }
        }
        Self(joined)
    }

    /// Leaves out what was disturbed. Returns the share of the time that is left.
    pub(super) fn cut(&self, spans: Vec<Span>) -> (Vec<Span>, f64) {
        let sum = |spans: &[Span]| -> Nanos { spans.iter().map(|it| it.until - it.from).sum() };
        let before = sum(&spans);
        let left: Vec<Span> = spans.into_iter().flat_map(|span| self.without(span)).collect();
        let left_time = sum(&left);
        #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
        let share = left_time as f64 / before.max(1) as f64;
        (left, share)
    }

    fn without(&self, span: Span) -> Vec<Span> {
        let (mut from, mut parts) = (span.from, Vec::new());
        let first = self.0.partition_point(|(_, until)| *until <= span.from);
        for &(begins, ends) in self.0[first..].iter().take_while(|(begins, _)| *begins < span.until)
        {
            if from < begins {
                parts.push(Span { from, until: begins, ..span.clone() });
            }
            from = from.max(ends);
        }
        if from < span.until {
            parts.push(Span { from, ..span });
        }
        parts
    }
}

/// The lateness of a packet that makes its time doubtful (our choice): twice what a run may have for one
/// percent of its packets.
const LATE: Duration = Disturbance::LATE.saturating_mul(2);
/// A pause is noticed by a thread that sleeps for a millisecond.
const BEFORE: Duration = Duration::from_millis(2);
/// And two round trips (our choice): after a delayed ACK, the sender goes on as if nothing had happened.
const AFTER: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use ackwise_cause::Direction;

    use super::*;

    #[test]
    fn what_is_left_has_no_disturbed_part() {
        let span = |from, until| Span {
            from,
            until,
            direction: Direction::ToClient,
            reasons: Vec::new(),
            witness: "",
            exchange: 0,
        };
        let disturbed = Disturbed(vec![(10, 20), (30, 40)]);
        let (left, share) =
            disturbed.cut(vec![span(0, 5), span(5, 35), span(35, 40), span(40, 60)]);
        assert_eq!(left, [span(0, 5), span(5, 10), span(20, 30), span(40, 60)]);
        assert!((share - 40.0 / 60.0).abs() < 1e-9);
    }
}
