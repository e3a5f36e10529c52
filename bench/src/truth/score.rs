//! Which statements are right, added up.

use std::collections::{BTreeMap, BTreeSet};

use ackwise_capture::attribution::Confidence;
use ackwise_cause::{Cause, Direction};

use super::case::{Connection, Interval, OneWay, Recorded, World};
use super::compare::{By, Cell, Known, Label, compare};
use super::damage::Damage;
use super::reading::{Exchange, Said, Vantage};

/// How one case was read.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct View {
    pub(super) world: World,
    pub(super) vantage: Vantage,
    pub(super) damage: Option<Damage>,
}

/// Some time of one exchange: all of it with one truth and one statement.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) view: View,
    pub(super) exchange: String,
    /// When the longest gap with it begins.
    pub(super) longest_from: u64,
    longest: u64,
    pub(super) truth: Option<Label>,
    pub(super) said: Option<Statement>,
    pub(super) by: Option<By>,
    pub(super) nanos: u64,
}

/// A cause, and how sure it is.
pub(super) type Statement = (Cause, Confidence);

/// How sure a statement is; `Unknown` if it names no cause.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Sureness {
    High,
    Medium,
    Low,
    Unknown,
}

impl Sureness {
    pub(super) const ALL: [Self; 4] = [Self::High, Self::Medium, Self::Low, Self::Unknown];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Unknown => "unknown",
        }
    }
}

impl Row {
    pub(super) fn sureness(&self) -> Sureness {
        match self.said {
            None | Some((Cause::Unknown, _)) => Sureness::Unknown,
            Some((_, Confidence::High)) => Sureness::High,
            Some((_, Confidence::Medium)) => Sureness::Medium,
            Some((_, Confidence::Low)) => Sureness::Low,
        }
    }

    pub(super) fn is_right(&self) -> bool {
        self.truth.is_some_and(|it| it.right)
    }

    /// Read where its data was sent.
    pub(super) fn is_at_sender(&self) -> bool {
        self.truth.is_some_and(|it| self.view.vantage.is_at(it.at))
    }

    /// Said with high or medium confidence.
    pub(super) fn is_sure(&self) -> bool {
        matches!(self.sureness(), Sureness::High | Sureness::Medium)
    }
}

/// What belongs together in the list of what must be reached.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Group {
    /// Each of these is judged alone.
    Stall(Cause),
    Distance,
    Rate,
    Window,
    Loss,
    Programs,
}

impl Group {
    /// `None` for [`Cause::Unknown`].
    pub(super) const fn of(cause: Cause) -> Option<Self> {
        Some(match cause {
            Cause::Handshake | Cause::TlsHandshake | Cause::Propagation => Self::Distance,
            Cause::RequestUpload | Cause::Transmission | Cause::Queueing | Cause::PathStall => {
                Self::Rate
            }
            Cause::SlowStart | Cause::CongestionWindow | Cause::Pacing => Self::Window,
            Cause::LossRecovery => Self::Loss,
            Cause::ServerThink | Cause::ApplicationLimited => Self::Programs,
            Cause::Unknown => return None,
            stall => Self::Stall(stall),
        })
    }

    /// All, stalls first.
    pub(super) fn all() -> Vec<Self> {
        Cause::ALL.into_iter().filter_map(Self::of).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stall(cause) => cause.name(),
            Self::Distance => "distance",
            Self::Rate => "rate and queue",
            Self::Window => "window",
            Self::Loss => "loss",
            Self::Programs => "programs",
        }
    }
}

/// Time that is right, of all.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Share {
    pub(super) part: u64,
    pub(super) whole: u64,
}

impl Share {
    /// `None` of nothing.
    pub(super) fn ratio(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
        let ratio = self.part as f64 / self.whole as f64;
        (self.whole > 0).then_some(ratio)
    }

    pub(super) fn of<'a>(
        rows: impl Iterator<Item = &'a Row>,
        mut counts: impl FnMut(&Row) -> bool,
    ) -> Self {
        let mut share = Self::default();
        for row in rows {
            share.whole += row.nanos;
            share.part += if counts(row) { row.nanos } else { 0 };
        }
        share
    }
}

/// Of what is said to be `group`, with high or medium confidence, how much is.
pub(super) fn precision<'a>(rows: impl Iterator<Item = &'a Row>, group: Group) -> Share {
    let said = |row: &&Row| {
        row.truth.is_some()
            && row.is_sure()
            && row.said.and_then(|it| Group::of(it.0)) == Some(group)
    };
    Share::of(rows.filter(said), |row| is_in(row, group))
}

/// Of what is `group`, how much is said to be that, with high or medium confidence.
pub(super) fn recall<'a>(rows: impl Iterator<Item = &'a Row>, group: Group) -> Share {
    let said = |row: &Row| {
        let said = row.said.and_then(|it| Group::of(it.0));
        row.is_sure() && said == Some(group) && is_in(row, group)
    };
    Share::of(rows.filter(|row| truth_group(row) == Some(group)), said)
}

/// The truth belongs to the group. A stall is right only if who causes it is right, too.
fn is_in(row: &Row, group: Group) -> bool {
    match group {
        Group::Stall(_) => row.is_right(),
        _ => truth_group(row) == Some(group),
    }
}

fn truth_group(row: &Row) -> Option<Group> {
    row.truth.and_then(|it| Group::of(it.cause))
}

/// Compares what was said of a case with what is true.
pub(super) fn rows(recorded: &Recorded, view: View, said: &Said) -> Vec<Row> {
    let truths = Truths::of(&recorded.truth.intervals, &recorded.case.one_way_ms);
    let mut rows = Vec::new();
    for (number, exchange) in said.exchanges.iter().enumerate() {
        let title = format!("#{} {}", number + 1, exchange.request);
        let cells = cells(exchange, said, &truths);
        rows.extend(summed(&recorded.case.name, view, title, &cells));
    }
    let missed = truths.missed(said);
    rows.extend(summed(&recorded.case.name, view, "no exchange".to_owned(), &missed));
    rows
}

/// Compares what a report prints of a case's exchanges with what is true. A share has no place in time, so each
/// exchange is one gap.
pub(super) fn printed_rows(recorded: &Recorded, view: View, said: &Said) -> Vec<Row> {
    let truths = Truths::of(&recorded.truth.intervals, &recorded.case.one_way_ms);
    let of_exchange = |(number, exchange): (usize, &Exchange)| {
        let (from, known) = truths.of_exchange(exchange, said);
        let cells = compare([from, exchange.until_ns], &[], known, &exchange.printed);
        let title = format!("#{} {}", number + 1, exchange.request);
        summed(&recorded.case.name, view, title, &cells)
    };
    said.exchanges.iter().enumerate().flat_map(of_exchange).collect()
}

/// What is late because of a loss, is late since it was first sent: while data before it was still on its way, or
/// a repair that comes before it, both are right. That is for as long as the way takes, at most.
fn admit_losses(known: &mut [Known], one_way: &OneWay) {
    for lost in (1..known.len()).rev() {
        let (cause, direction) = (known[lost].causes[0], known[lost].direction);
        if !matches!(cause, Cause::LossRecovery | Cause::RetransmissionTimeout) {
            continue;
        }
        let (mut left, mut until) = (one_way.nanos(direction), known[lost].from);
        for it in known[..lost].iter_mut().rev() {
            let propagates = it.causes.contains(&Cause::Propagation);
            let on_its_way = propagates || it.causes[0] == Cause::Transmission;
            if !on_its_way || it.direction != direction || it.until != until {
                break;
            }
            until = it.from;
            if propagates {
                let Some(rest) = left.checked_sub(it.until - it.from) else { break };
                left = rest;
                if !it.causes.contains(&cause) {
                    it.causes.push(cause);
                }
            }
        }
    }
}

/// One exchange's time, gap after gap.
pub(super) fn cells(exchange: &Exchange, said: &Said, truths: &Truths) -> Vec<Cell> {
    let none = Vec::new();
    let departures = said.departures.get(&exchange.connection).unwrap_or(&none);
    let (from, known) = truths.of_exchange(exchange, said);
    compare([from, exchange.until_ns], departures, known, &exchange.claims)
}

/// The truth of a case, by connection and exchange.
#[derive(Debug)]
pub(super) struct Truths {
    by_exchange: BTreeMap<(Connection, Option<u32>), Vec<Known>>,
}

impl Truths {
    /// Where intervals of an exchange overlap, the one that begins earlier counts.
    pub(super) fn of(intervals: &[Interval], one_way: &OneWay) -> Self {
        let mut by_exchange: BTreeMap<_, Vec<Known>> = BTreeMap::new();
        for it in intervals {
            by_exchange.entry((it.connection, it.exchange)).or_default().push(Known {
                from: it.from_ns,
                until: it.until_ns,
                causes: it.causes.clone(),
                direction: it.direction,
                at: it.at,
            });
        }
        for known in by_exchange.values_mut() {
            known.sort_by_key(|it| (it.from, it.until));
            let mut cursor = 0;
            for it in known.iter_mut() {
                it.from = it.from.max(cursor);
                cursor = cursor.max(it.until);
            }
            known.retain(|it| it.from < it.until);
            admit_losses(known, one_way);
        }
        Self { by_exchange }
    }

    /// From when on the exchange is judged, and what is true.
    fn of_exchange(&self, exchange: &Exchange, said: &Said) -> (u64, &[Known]) {
        let number = self.number(exchange, said);
        let known = self.by_exchange.get(&(exchange.connection, number));
        let from = if number.is_some() { exchange.from_ns } else { exchange.oldest_from_ns };
        (from, known.map_or(&[], |it| &it[..]))
    }

    /// Where truth is numbered: the place of the exchange among those of its connection. If some were
    /// not reported, the number of the truth with which it has most time in common, as the client
    /// sees it.
    fn number(&self, exchange: &Exchange, said: &Said) -> Option<u32> {
        let connection = exchange.connection;
        let numbered = || {
            let range = (connection, Some(0))..=(connection, Some(u32::MAX));
            self.by_exchange
                .range(range)
                .filter_map(|((_, number), known)| Some(((*number)?, known)))
        };
        let (last, _) = numbered().next_back()?;
        let found = || said.exchanges.iter().filter(|it| it.connection == connection);
        if found().count() > last as usize {
            let place = found().position(|it| std::ptr::eq(it, exchange))?;
            return u32::try_from(place).ok();
        }
        let from = exchange.from_ns.saturating_sub(said.from_client);
        let until = exchange.until_ns + said.to_client;
        let common = |known: &[Known]| -> u64 {
            let span = |it: &Known| it.until.min(until).saturating_sub(it.from.max(from));
            known.iter().map(span).sum()
        };
        numbered().map(|it| (common(it.1), it.0)).filter(|it| it.0 > 0).max().map(|it| it.1)
    }

    /// The truth of exchanges that were not found. Where truth is not numbered, that is what has no
    /// exchange at the same time or next to it.
    fn missed(&self, said: &Said) -> Vec<Cell> {
        let mut found: BTreeMap<_, Vec<[u64; 2]>> = BTreeMap::new();
        for it in &said.exchanges {
            let same = (it.connection, self.number(it, said));
            found.entry(same).or_default().push([it.from_ns, it.until_ns]);
        }
        let mut missed = Vec::new();
        for (same, known) in &self.by_exchange {
            let found = found.get(same).map_or(&[][..], |it| &it[..]);
            let is_numbered = same.1.is_some();
            let is_same = |one: &Known, next: &Known| is_numbered || one.until == next.from;
            for run in known.chunk_by(is_same) {
                let (from, until) = (run[0].from, run[run.len() - 1].until);
                if found.iter().any(|it| is_numbered || it[0] <= until && from <= it[1]) {
                    continue;
                }
                missed.extend(run.iter().map(|it| Cell {
                    gap: it.from,
                    nanos: it.until - it.from,
                    truth: Some(Label {
                        cause: it.causes[0],
                        to_server: it.direction == Direction::ToServer,
                        at: it.at,
                        ambiguous: it.causes.len() > 1,
                        right: false,
                    }),
                    said: None,
                    by: None,
                }));
            }
        }
        missed
    }
}

fn summed(case: &str, view: View, exchange: String, cells: &[Cell]) -> Vec<Row> {
    let mut sums: BTreeMap<_, Row> = BTreeMap::new();
    for cell in cells {
        let said = cell.said.map(|(cause, _, confidence)| (cause, confidence));
        let row = sums.entry((cell.truth, said, cell.by)).or_insert_with(|| Row {
            case: case.to_owned(),
            view,
            exchange: exchange.clone(),
            longest_from: cell.gap,
            longest: 0,
            truth: cell.truth,
            said,
            by: cell.by,
            nanos: 0,
        });
        row.nanos += cell.nanos;
        if row.longest < cell.nanos {
            (row.longest, row.longest_from) = (cell.nanos, cell.gap);
        }
    }
    sums.into_values().collect()
}

/// Milliseconds, to be printed.
#[expect(clippy::cast_precision_loss, reason = "printed with a few digits")]
pub(super) fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use ackwise_capture::attribution::Rule;

    use super::*;
    use crate::truth::case::Peer;
    use crate::truth::compare::Claim;
    use Cause::{HeadOfLine, NagleRtt, Propagation, SendBuffer, ServerThink, SlowStart};
    use Confidence::{High, Low, Medium};

    fn connection(port: u16) -> Connection {
        let client = SocketAddr::from(([10, 0, 0, 1], port));
        Connection { client, server: SocketAddr::from(([10, 0, 0, 2], 80)) }
    }

    fn interval(exchange: Option<u32>, from_ns: u64, until_ns: u64, cause: Cause) -> Interval {
        Interval {
            connection: connection(1),
            exchange,
            from_ns,
            until_ns,
            at: Peer::Server,
            direction: Direction::ToClient,
            causes: vec![cause],
            witness: String::new(),
        }
    }

    fn exchange(from_ns: u64, until_ns: u64, oldest_from_ns: u64, cause: Cause) -> Exchange {
        let (direction, confidence) = (Direction::ToClient, High);
        let by = (Rule::Written, None);
        let claim = Claim { from: from_ns, until: until_ns, cause, direction, confidence, by };
        let (connection, request) = (connection(1), String::new());
        let [claims, printed] = [vec![claim], vec![claim]];
        Exchange { connection, from_ns, until_ns, oldest_from_ns, request, claims, printed }
    }

    /// Truth, statement, nanoseconds, in the order of exchanges.
    fn told(intervals: &[Interval], said: &Said) -> Vec<(Option<Cause>, Option<Cause>, u64)> {
        let truths = Truths::of(intervals, &OneWay::default());
        let cells = said.exchanges.iter().flat_map(|it| cells(it, said, &truths));
        let missed = truths.missed(said);
        let row = |it: Cell| (it.truth.map(|it| it.cause), it.said.map(|it| it.0), it.nanos);
        cells.chain(missed).map(row).collect()
    }

    #[test]
    fn what_was_lost_is_late_while_data_before_it_is_on_its_way() {
        use Cause::{LossRecovery, RetransmissionTimeout as Timeout, Transmission};
        let known = |from, until, cause| {
            let (direction, at) = (Direction::ToClient, Peer::Server);
            Known { from, until, causes: vec![cause], direction, at }
        };
        let mut truths = [
            known(0, 10, Propagation),
            known(10, 20, ServerThink),
            known(20, 30, Propagation),
            known(30, 50, Propagation),
            known(50, 60, Transmission),
            known(60, 80, Propagation),
            known(80, 200, Timeout),
            known(200, 240, Propagation),
        ];
        let one_way = OneWay { server_to_middle: 40e-6, ..OneWay::default() };
        admit_losses(&mut truths, &one_way);
        let admits = truths.map(|it| it.causes.contains(&Timeout));
        assert_eq!(admits, [false, false, false, true, false, true, true, false]);
        // A repair is on its way, and is lost, too.
        let repair = Known { causes: vec![LossRecovery, Propagation], ..known(0, 20, Propagation) };
        let mut truths = [repair, known(20, 200, Timeout)];
        admit_losses(&mut truths, &one_way);
        assert_eq!(truths[0].causes, [LossRecovery, Propagation, Timeout]);
    }

    #[test]
    fn truth_without_a_number_is_of_the_oldest_exchange() {
        let intervals = [interval(None, 0, 100, NagleRtt)];
        let exchanges = vec![exchange(0, 60, 0, NagleRtt), exchange(20, 100, 60, NagleRtt)];
        let said = Said { exchanges, ..Said::default() };
        let both = Some(NagleRtt);
        assert_eq!(told(&intervals, &said), [(both, both, 60), (both, both, 40)]);
    }

    #[test]
    fn truth_with_a_number_is_of_the_exchange_with_that_number() {
        let intervals = [
            interval(Some(0), 0, 60, NagleRtt),
            interval(Some(1), 20, 60, HeadOfLine),
            interval(Some(1), 60, 100, NagleRtt),
        ];
        let exchanges = vec![exchange(0, 60, 0, NagleRtt), exchange(20, 100, 60, NagleRtt)];
        let said = Said { exchanges, ..Said::default() };
        let nagle = Some(NagleRtt);
        assert_eq!(
            told(&intervals, &said),
            [(nagle, nagle, 60), (nagle, nagle, 40), (Some(HeadOfLine), nagle, 40)]
        );
    }

    #[test]
    fn if_exchanges_are_missing_the_one_at_the_same_time_is_meant() {
        let intervals =
            [interval(Some(0), 0, 50, NagleRtt), interval(Some(1), 200, 250, Propagation)];
        let exchanges = vec![exchange(220, 250, 220, Propagation)];
        let said = Said { exchanges, from_client: 20, ..Said::default() };
        let way = Some(Propagation);
        assert_eq!(told(&intervals, &said), [(way, way, 30), (Some(NagleRtt), None, 50)]);
        // At a server that answers at once.
        let exchanges = vec![Exchange { claims: Vec::new(), ..exchange(25, 25, 25, NagleRtt) }];
        let said = Said { exchanges, from_client: 25, to_client: 25, ..Said::default() };
        assert_eq!(told(&intervals, &said), [(way, None, 50)]);
    }

    #[test]
    fn an_exchange_without_truth_is_not_judged_by_that_of_its_neighbour() {
        let intervals = [interval(Some(0), 0, 50, NagleRtt), interval(Some(2), 100, 150, NagleRtt)];
        let exchanges = [[0, 50], [50, 100], [100, 150]]
            .map(|[from, until]| exchange(from, until, from, NagleRtt))
            .into();
        let said = Said { exchanges, ..Said::default() };
        let nagle = Some(NagleRtt);
        let rows = [(nagle, nagle, 50), (None, nagle, 50), (nagle, nagle, 50)];
        assert_eq!(told(&intervals, &said), rows);
    }

    #[test]
    fn truth_on_its_way_to_a_capture_is_not_missed() {
        let intervals = [interval(None, 0, 40, Propagation), interval(None, 40, 70, Propagation)];
        // The response left in the moment in which the request arrived.
        let exchanges = vec![Exchange { claims: Vec::new(), ..exchange(40, 40, 40, NagleRtt) }];
        let said = Said { exchanges, ..Said::default() };
        assert_eq!(told(&intervals, &said), []);
        let nothing = told(&intervals, &Said::default());
        assert_eq!(nothing, [(Some(Propagation), None, 40), (Some(Propagation), None, 30)]);
    }

    #[test]
    fn of_truth_that_overlaps_the_earlier_counts() {
        let intervals = [interval(None, 10, 60, NagleRtt), interval(None, 40, 50, Propagation)];
        let exchanges = vec![exchange(0, 100, 0, NagleRtt)];
        let rows = told(&intervals, &Said { exchanges, ..Said::default() });
        assert_eq!(rows, [(Some(NagleRtt), Some(NagleRtt), 50), (None, Some(NagleRtt), 50)]);
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn row(truth: Cause, right: bool, said: Option<(Cause, Confidence)>, nanos: u64) -> Row {
        let label =
            Label { cause: truth, to_server: false, at: Peer::Server, ambiguous: false, right };
        Row {
            case: "sim-0000".to_owned(),
            view: View { world: World::Sim, vantage: Vantage::Client, damage: None },
            exchange: String::new(),
            longest_from: 0,
            longest: 0,
            truth: Some(label),
            by: None,
            said,
            nanos,
        }
    }

    #[test]
    fn precision_and_recall_count_what_is_said_with_high_or_medium_confidence() {
        let rows = [
            row(SendBuffer, true, Some((SendBuffer, High)), 50),
            row(SendBuffer, true, Some((SendBuffer, Low)), 30),
            row(SendBuffer, false, Some((SlowStart, Medium)), 20),
            row(ServerThink, false, Some((SendBuffer, Medium)), 150),
            Row { truth: None, ..row(SendBuffer, false, Some((SendBuffer, High)), 1_000) },
        ];
        let of = |group| (precision(rows.iter(), group), recall(rows.iter(), group));
        let share = |part, whole| Share { part, whole };
        assert_eq!(of(Group::Stall(SendBuffer)), (share(50, 200), share(50, 100)));
        assert_eq!(of(Group::Window), (share(0, 20), share(0, 0)));
        assert_eq!(of(Group::Programs), (share(0, 0), share(0, 150)));
    }

    #[test]
    fn a_stall_of_the_wrong_end_is_wrong_and_a_group_does_not_ask_which_of_it() {
        let rows = [
            row(NagleRtt, false, Some((NagleRtt, High)), 10),
            row(SlowStart, false, Some((Cause::CongestionWindow, High)), 10),
        ];
        let of = |group| precision(rows.iter(), group).part;
        assert_eq!((of(Group::Stall(NagleRtt)), of(Group::Window)), (0, 10));
    }

    #[test]
    fn every_cause_but_unknown_is_in_a_group() {
        for cause in Cause::ALL {
            assert_eq!(Group::of(cause).is_none(), cause == Cause::Unknown, "{cause}");
        }
        // Each stall is one, and distance, rate, window, loss and programs are.
        let stalls = Cause::ALL.iter().filter(|it| it.is_stall()).count();
        assert_eq!(Group::all().len(), stalls + 5);
    }

    #[test]
    fn no_statement_and_an_unknown_cause_are_the_same() {
        let sureness = |said| row(NagleRtt, false, said, 1).sureness();
        assert_eq!(sureness(None), Sureness::Unknown);
        assert_eq!(sureness(Some((Cause::Unknown, High))), Sureness::Unknown);
        assert_eq!(sureness(Some((NagleRtt, Low))), Sureness::Low);
    }
}
