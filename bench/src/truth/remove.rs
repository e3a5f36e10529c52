//! How much of what is said moves if one packet is missing from a capture.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use ackwise_capture::attribution::Confidence;
use ackwise_capture::decode::{Seen, decode};
use ackwise_cause::{Cause, Direction};

use super::case::{Connection, Recorded, World};
use super::reading::{self, Needed, Said, Vantage};
use super::score::{Share, ms};
use crate::dice::Dice;

/// A packet that was removed from a capture of a case, and what that changed.
#[derive(Clone, Debug)]
pub(super) struct Removal {
    pub(super) world: World,
    pub(super) case: String,
    pub(super) vantage: Vantage,
    /// Its number in the capture.
    pub(super) number: u32,
    /// What it was.
    pub(super) packet: String,
    pub(super) change: Change,
    /// Nanoseconds that moved, by what was said of them and what is said now.
    pub(super) moves: Moves,
    /// The same of other connections, also of time of which only the confidence changed.
    pub(super) others: Moves,
}

/// A cause with its confidence; `None` if nothing is said.
type Verdict = Option<(Cause, Direction, Option<Confidence>)>;

/// Nanoseconds, by what was said of them and what is said now.
pub(super) type Moves = BTreeMap<(Verdict, Verdict), u64>;

impl Removal {
    /// Draws a place and a packet of a case, and reads the capture again without it. `None` if it was no
    /// packet of a connection about which something is said.
    pub(super) fn draw(
        recorded: &Recorded,
        whole: &Needed<'_>,
        said: &BTreeMap<Vantage, Said>,
        dice: &mut Dice,
    ) -> Option<Self> {
        let case = &recorded.case;
        let places = [Vantage::Client, Vantage::Server, Vantage::Middle];
        let files = [&case.captures.client, &case.captures.server, &case.captures.middle];
        let there: Vec<_> = places
            .into_iter()
            .zip(files)
            .filter_map(|(place, file)| Some((place, file.as_deref()?)))
            .collect();
        let last = u32::try_from(there.len()).ok()?.checked_sub(1)?;
        let (vantage, file) = there[dice.between(0, last) as usize];
        let mut packets = whole[file].clone();
        let last = u32::try_from(packets.packets.len()).ok()?.checked_sub(1)?;
        let index = dice.between(0, last);
        let removed = packets.packets.remove(index as usize);
        let frame = removed.frame(1);
        let seen = decode(&frame).ok()?;
        let before = said.get(&vantage)?;
        let connection = [(seen.source, seen.destination), (seen.destination, seen.source)]
            .into_iter()
            .map(|(client, server)| Connection { client, server })
            .find(|it| before.exchanges.iter().any(|exchange| exchange.connection == *it))?;
        let without = Needed::from([(file, packets)]);
        let after =
            reading::read(vantage, &case.captures, &case.one_way_ms, &without, None).ok()??;
        let (change, moves, others) = Change::of(connection, before, &after);
        Some(Self {
            world: case.world,
            case: case.name.clone(),
            vantage,
            number: index + 1,
            packet: described(&seen),
            change,
            moves,
            others,
        })
    }
}

fn described(seen: &Seen<'_>) -> String {
    let segment = &seen.segment;
    let ack = segment.ack.map(|_| "ACK");
    let flags =
        [(segment.flags.syn, "SYN"), (segment.flags.fin, "FIN"), (segment.flags.rst, "RST")];
    let flags = flags.into_iter().filter_map(|(set, name)| set.then_some(name));
    let flags: Vec<&str> = flags.chain(ack).collect();
    format!("{} {} bytes from {}", flags.join(" "), segment.len, seen.source)
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { whole, moved, lowered, others, others_changed, .. } = self.change;
        let percent = |part| 100.0 * Share { part, whole }.ratio().unwrap_or_default();
        writeln!(
            f,
            "{} {} packet {} ({}): {:.1} % of {:.1} ms moves, {:.1} % not lowered, {others_changed} of \
             {others} others change",
            self.case,
            self.vantage,
            self.number,
            self.packet,
            percent(moved),
            ms(whole),
            percent(moved - lowered),
        )?;
        for (whose, moves) in [("", &self.moves), ("others: ", &self.others)] {
            let mut moves: Vec<_> = moves.iter().collect();
            moves.sort_by_key(|it| std::cmp::Reverse(it.1));
            for ((before, after), nanos) in moves.into_iter().take(SHOWN_MOVES) {
                let (before, after) = (verdict(before), verdict(after));
                writeln!(f, "    {:>10.3} ms  {whose}{before} -> {after}", ms(*nanos))?;
            }
        }
        Ok(())
    }
}

/// Most kinds of moves that are printed of a removal. Our choice.
const SHOWN_MOVES: usize = 6;

fn verdict(verdict: &Verdict) -> String {
    let Some((cause, direction, confidence)) = verdict else { return "nothing".to_owned() };
    let way = if *direction == Direction::ToServer { "to server" } else { "to client" };
    format!("{cause} {way}, {}", confidence.map_or("unknown", Confidence::name))
}

/// The `count` packets whose absence changes most, of each world: first by other connections that change, and
/// then by the share of time that moves without lower confidence, or moves at all.
pub(super) fn worst(removals: &[Removal], count: usize) -> String {
    let mut text = String::new();
    let share =
        |it: &Removal, part| Share { part, whole: it.change.whole }.ratio().unwrap_or_default();
    type Rank<'a> = &'a dyn Fn(&Removal) -> f64;
    let orders: [(&str, Rank<'_>); 3] = [
        ("other connections that change", &|it| f64::from(it.change.others_changed)),
        ("time that moves without lower confidence", &|it| {
            share(it, it.change.moved - it.change.lowered)
        }),
        ("time that moves", &|it| share(it, it.change.moved)),
    ];
    for (title, rank) in orders {
        let mut ranked: Vec<&Removal> = removals.iter().filter(|it| rank(it) > 0.0).collect();
        ranked.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        let _ = writeln!(text, "\nMost {title}:\n");
        for it in ranked.into_iter().take(count) {
            let _ = write!(text, "{it}");
        }
    }
    text
}

/// What a missing packet changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Change {
    /// Time of the connection's exchanges, in nanoseconds.
    pub(super) whole: u64,
    /// Time that is under another cause, or under none.
    pub(super) moved: u64,
    /// Time of that with a lower confidence than before.
    pub(super) lowered: u64,
    /// Time that had high confidence.
    pub(super) high: u64,
    /// Time of that that still has it.
    pub(super) still_high: u64,
    /// Time that has high confidence, whether it had before or not.
    pub(super) high_after: u64,
    /// Number of other connections.
    pub(super) others: u32,
    /// Number of those with another cause or another confidence anywhere.
    pub(super) others_changed: u32,
}

/// Some time with one verdict, and how sure it is; unknown is least sure.
type Piece = (u64, u64, (Cause, Direction), Option<Confidence>);

impl Change {
    /// Compares what was said with what is said without a packet of `connection`.
    fn of(connection: Connection, before: &Said, after: &Said) -> (Self, Moves, Moves) {
        let (before, after) = (timelines(before), timelines(after));
        let none = Vec::new();
        let of = |all: &'_ BTreeMap<Connection, Vec<Piece>>| {
            all.get(&connection).cloned().unwrap_or_default()
        };
        let mut others = Moves::new();
        let (mut change, moves) = Self::compare(&of(&before), &of(&after));
        for (other, pieces) in before.iter().filter(|it| *it.0 != connection) {
            change.others += 1;
            let now = after.get(other).unwrap_or(&none);
            change.others_changed += u32::from(now != pieces);
            for (key, nanos) in Self::compare(pieces, now).1 {
                *others.entry(key).or_default() += nanos;
            }
        }
        (change, moves, others)
    }

    /// Whether 90 % of what moved has a lower confidence: so much makes the confidence of a row of a report, too.
    pub(super) fn is_lowered(&self) -> bool {
        u128::from(self.lowered) * 10 >= u128::from(self.moved) * 9
    }

    fn compare(before: &[Piece], after: &[Piece]) -> (Self, Moves) {
        let mut change = Self::default();
        let mut moves = Moves::new();
        for &(from, until, cause, confidence) in before {
            let is_high = confidence == Some(Confidence::High);
            let mut missing = until - from;
            let first = after.partition_point(|it| it.1 <= from);
            for it in after[first..].iter().take_while(|it| it.0 < until) {
                let span = it.1.min(until) - it.0.max(from);
                missing -= span;
                change.high_after += if it.3 == Some(Confidence::High) { span } else { 0 };
                if it.2 != cause {
                    let to = Some((it.2.0, it.2.1, it.3));
                    *moves.entry((Some((cause.0, cause.1, confidence)), to)).or_default() += span;
                    change.moved += span;
                    change.lowered += if it.3 < confidence { span } else { 0 };
                }
                if is_high && it.3 == Some(Confidence::High) {
                    change.still_high += span;
                }
            }
            change.whole += until - from;
            change.moved += missing;
            change.lowered += missing;
            if missing > 0 {
                *moves.entry((Some((cause.0, cause.1, confidence)), None)).or_default() += missing;
            }
            change.high += if is_high { until - from } else { 0 };
        }
        (change, moves)
    }
}

/// What was said of each connection's oldest exchange, in order of time.
fn timelines(said: &Said) -> BTreeMap<Connection, Vec<Piece>> {
    let mut timelines: BTreeMap<Connection, Vec<Piece>> = BTreeMap::new();
    for exchange in &said.exchanges {
        let pieces = timelines.entry(exchange.connection).or_default();
        for it in &exchange.claims {
            let from = it.from.max(exchange.oldest_from_ns);
            if from < it.until {
                let confidence = Some(it.confidence).filter(|_| it.cause != Cause::Unknown);
                pieces.push((from, it.until, (it.cause, it.direction), confidence));
            }
        }
    }
    timelines.values_mut().for_each(|it| it.sort_unstable());
    timelines
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{NagleRtt, Propagation, Unknown};
    use Confidence::{High, Medium};

    fn piece(from: u64, until: u64, cause: Cause, confidence: Option<Confidence>) -> Piece {
        (from, until, (cause, Direction::ToClient), confidence)
    }

    #[test]
    fn time_moves_if_its_cause_changes_or_nothing_is_said_of_it_any_more() {
        let before =
            [piece(0, 60, NagleRtt, Some(High)), piece(60, 100, Propagation, Some(Medium))];
        for (after, moved, lowered, still_high) in [
            (before.to_vec(), 0, 0, 60),
            (vec![piece(0, 60, NagleRtt, Some(High))], 40, 40, 60),
            (vec![piece(0, 100, NagleRtt, Some(Medium))], 40, 0, 0),
            (vec![piece(0, 50, NagleRtt, Some(High)), piece(50, 100, Unknown, None)], 50, 50, 50),
            (vec![piece(10, 200, Propagation, Some(High))], 60, 10, 50),
            (vec![], 100, 100, 0),
        ] {
            let (change, moves) = Change::compare(&before, &after);
            assert_eq!(moves.values().sum::<u64>(), moved, "{after:?}");
            assert_eq!((change.whole, change.high), (100, 60));
            let found = (change.moved, change.lowered, change.still_high);
            assert_eq!(found, (moved, lowered, still_high), "{after:?}");
        }
    }
}
