//! Transfers that share a link.
//!
//! Where two connections between the same hosts send at the same time over a link that is busy, each waits behind
//! the other's packets: for its own, for theirs, or for a window that such a queue has filled or emptied. The packets
//! of one connection do not show which.

use std::{net::IpAddr, time::Duration};

use ackwise_cause::Cause;
use ackwise_tcp::Instant;
use hashbrown::HashMap;

use super::{ConnectionResult, ExchangeResult, busy_path::hosts};
use crate::attribution::{Confidence, Nanos, Rule, Verdict};

/// An overlap of an eighth of the time, with an eighth of the bytes, is worth a doubt. Our choice.
const OVERLAP: u32 = 8;
/// A link is busy if an exchange waits for it, for a repair, or for what seems to be held or spread, for a quarter of the
/// time. Our choice.
const BUSY: u32 = 4;

/// A transfer, and where it is in the list.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    connection: u32,
    until: Instant,
    /// In the direction that has more.
    bytes: u64,
    place: usize,
}

impl Transfer {
    /// Whether it is large enough that the other waits behind it.
    fn counts_beside(&self, other: &Self) -> bool {
        self.bytes.saturating_mul(OVERLAP.into()) >= other.bytes
    }
}

/// Doubts what `exchanges`, in the order in which they began, say of links and windows where they share a link;
/// `connections` are in the order of their numbers.
pub(crate) fn doubt(exchanges: &mut [ExchangeResult], connections: &[ConnectionResult]) {
    // Of two hosts, the transfers of two connections that last longest so far: one overlaps with them, or with none.
    let mut last: HashMap<[IpAddr; 2], [Option<Transfer>; 2]> = HashMap::new();
    // A long transfer may overlap with any number of others, and is revised once.
    let mut shares_link = vec![false; exchanges.len()];
    for (place, exchange) in exchanges.iter().enumerate() {
        let found = connections.binary_search_by_key(&exchange.connection, |it| it.id);
        let Ok(found) = found else { continue };
        let (connection, from) = (exchange.connection, exchange.start);
        let bytes = exchange.bytes.into_iter().max().unwrap_or_default();
        let this = Transfer { connection, until: from + exchange.duration, bytes, place };
        let known = last.entry(hosts(&connections[found])).or_default();
        for other in known.iter().flatten().filter(|it| it.connection != connection) {
            let together = Nanos::between(from, other.until.min(this.until)).into();
            for [one, beside] in [[&this, other], [other, &this]] {
                shares_link[one.place] |=
                    beside.counts_beside(one) && exchanges[one.place].shares_link(together);
            }
        }
        keep(known, this);
    }
    for (exchange, _) in exchanges.iter_mut().zip(shares_link).filter(|it| it.1) {
        exchange.doubt_link();
    }
}

/// Remembers a transfer in place of an earlier one of its connection, or of that which ends first.
fn keep(known: &mut [Option<Transfer>; 2], this: Transfer) {
    let same = known.iter().position(|it| it.is_some_and(|it| it.connection == this.connection));
    let first = usize::from(known[1].map(|it| it.until) < known[0].map(|it| it.until));
    let slot = &mut known[same.unwrap_or(first)];
    if slot.is_none_or(|it| it.until <= this.until) {
        *slot = Some(this);
    }
}

impl ExchangeResult {
    /// Whether another transfer, which went on for this long beside it, shared a busy link with it.
    fn shares_link(&self, together: Duration) -> bool {
        let busy = |cause| {
            matches!(
                cause,
                Cause::Transmission
                    | Cause::RequestUpload
                    | Cause::LossRecovery
                    | Cause::PathStall
                    | Cause::Pacing
                    | Cause::RetransmissionTimeout
            )
        };
        let waits: Duration =
            self.shares.iter().filter(|it| busy(it.cause)).map(|it| it.span).sum();
        together * OVERLAP >= self.duration && waits * BUSY >= self.duration
    }

    /// What it waited for on the link, or for a window, may have been the other transfer's packets.
    fn doubt_link(&mut self) {
        self.revise(|verdict| {
            let (cause, rival) = match verdict.cause {
                Cause::Transmission
                | Cause::RequestUpload
                | Cause::LossRecovery
                | Cause::SlowStart
                | Cause::CongestionWindow => (verdict.cause, Cause::Queueing),
                // That the other's packets were before it says the same without a sender that spreads its segments, or
                // a path that stands still.
                Cause::Pacing | Cause::PathStall => (Cause::Queueing, verdict.cause),
                _ => return verdict,
            };
            let verdict = Verdict { cause, swapped: None, ..verdict };
            let verdict = verdict.doubted(Rule::LinkUnsure, rival);
            Verdict { confidence: Confidence::Low, ..verdict }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transfers_that_last_longest_are_remembered_of_two_connections() {
        let of = |connection, until| {
            let until = Instant::EPOCH + Nanos::from_millis(until);
            Transfer { connection, until, bytes: 0, place: 0 }
        };
        let after = |transfers: &[(u32, u64)]| {
            let mut known = [None; 2];
            transfers
                .iter()
                .for_each(|&(connection, until)| keep(&mut known, of(connection, until)));
            let millis = |it: Transfer| it.until.saturating_since(Instant::EPOCH).as_millis();
            known.map(|it: Option<Transfer>| it.map(|it| (it.connection, millis(it))))
        };
        let both = [Some((1, 30)), Some((2, 20))];
        for (transfers, expected) in [
            (&[(1, 30)][..], [Some((1, 30)), None]),
            (&[(1, 30), (2, 20)], both),
            (&[(1, 30), (2, 20), (1, 29)], both),
            (&[(1, 30), (2, 20), (2, 21)], [Some((1, 30)), Some((2, 21))]),
            (&[(1, 30), (2, 20), (3, 19)], both),
            (&[(1, 30), (2, 20), (3, 20)], [Some((1, 30)), Some((3, 20))]),
            (&[(1, 20), (2, 30), (3, 25)], [Some((3, 25)), Some((2, 30))]),
            (&[(1, 20), (2, 20), (3, 20)], [Some((3, 20)), Some((2, 20))]),
        ] {
            assert_eq!(after(transfers), expected, "{transfers:?}");
        }
    }

    #[test]
    fn who_sends_less_than_an_eighth_keeps_nobody_waiting() {
        let of = |bytes| Transfer { connection: 1, until: Instant::EPOCH, bytes, place: 0 };
        for (bytes, beside, counts) in
            [(8_000, 1_000, true), (8_000, 999, false), (500, 8_000, true)]
        {
            assert_eq!(of(beside).counts_beside(&of(bytes)), counts, "{bytes} {beside}");
        }
    }

    /// An exchange of 80 ms, which waits for this and then for its server.
    fn exchange(cause: Cause, millis: u64) -> ExchangeResult {
        use ackwise_cause::Direction::ToClient;

        use crate::{
            attribution::{Account, Evidence},
            conversation::ExchangeId,
            flow::exchange::OpenExchange,
        };
        let mut open = OpenExchange::new(ExchangeId(0), 0, Account::new(Instant::EPOCH), 0);
        for (cause, until) in [(cause, millis), (Cause::ServerThink, 80)] {
            let (at, evidence) = (Instant::EPOCH + Nanos::from_millis(until), Evidence::default());
            let sure = Confidence::High;
            open.account.add(at, Verdict::new(Rule::Written, cause, ToClient, evidence, sure));
        }
        Box::new(open).into_result(0, true, Nanos::ZERO)
    }

    #[test]
    fn a_link_is_shared_for_an_eighth_of_a_transfer_that_waits_for_it_for_a_quarter() {
        let link = Cause::Transmission;
        for (cause, millis, together, shares) in [
            (link, 20, 10_000, true),
            (link, 20, 9_999, false),
            (link, 19, 10_000, false),
            (Cause::RequestUpload, 20, 10_000, true),
            (Cause::LossRecovery, 20, 10_000, true),
            (Cause::PathStall, 20, 10_000, true),
            (Cause::Pacing, 20, 10_000, true),
            (Cause::RetransmissionTimeout, 20, 10_000, true),
            (Cause::SlowStart, 70, 80_000, false),
            (Cause::ServerThink, 70, 80_000, false),
        ] {
            let found = exchange(cause, millis).shares_link(Duration::from_micros(together));
            assert_eq!(found, shares, "{cause:?} {millis} {together}");
        }
    }

    #[test]
    fn what_waited_for_a_shared_link_or_a_window_is_in_doubt() {
        let queueing = Cause::Queueing;
        for (said, cause, rival) in [
            (Cause::Transmission, Cause::Transmission, Some(queueing)),
            (Cause::RequestUpload, Cause::RequestUpload, Some(queueing)),
            (Cause::LossRecovery, Cause::LossRecovery, Some(queueing)),
            (Cause::SlowStart, Cause::SlowStart, Some(queueing)),
            (Cause::CongestionWindow, Cause::CongestionWindow, Some(queueing)),
            (Cause::Pacing, queueing, Some(Cause::Pacing)),
            (Cause::PathStall, queueing, Some(Cause::PathStall)),
            (Cause::RetransmissionTimeout, Cause::RetransmissionTimeout, None),
            (Cause::Propagation, Cause::Propagation, None),
        ] {
            let mut exchange = exchange(said, 40);
            exchange.doubt_link();
            let share = exchange.shares.iter().find(|it| it.cause == cause).unwrap();
            let confidence = if rival.is_some() { Confidence::Low } else { Confidence::High };
            assert_eq!((share.confidence, share.rival), (confidence, rival), "{said:?}");
            let think = exchange.shares.iter().find(|it| it.cause == Cause::ServerThink).unwrap();
            assert_eq!(think.confidence, Confidence::High);
        }
    }
}
