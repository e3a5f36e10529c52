//! Which statements are right, added up.

use std::collections::{BTreeMap, BTreeSet};

use ackwise_capture::attribution::Confidence;
use ackwise_cause::{Cause, Direction};

use super::case::{Connection, Interval, Recorded, World};
use super::compare::{Cell, Claim, Known, Label, compare};
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
    pub(super) said: Option<(Cause, Confidence)>,
    pub(super) nanos: u64,
}

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
            Cause::NagleDelayedAck
            | Cause::NagleRtt
            | Cause::ShortInitialSegment
            | Cause::CorkTimer
            | Cause::SillyWindow
            | Cause::ReceiveWindow
            | Cause::SendBuffer
            | Cause::H2FlowControl
            | Cause::IdleRestart
            | Cause::HeadOfLine
            | Cause::RetransmissionTimeout => Self::Stall(cause),
            Cause::Handshake | Cause::TlsHandshake | Cause::Propagation => Self::Distance,
            Cause::RequestUpload | Cause::Transmission => Self::Rate,
            Cause::SlowStart | Cause::CongestionWindow | Cause::Pacing => Self::Window,
            Cause::LossRecovery => Self::Loss,
            Cause::ServerThink | Cause::ApplicationLimited => Self::Programs,
            Cause::Unknown => return None,
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
    let truths = Truths::of(&recorded.truth.intervals);
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

/// One exchange's time, gap after gap.
pub(super) fn cells(exchange: &Exchange, said: &Said, truths: &Truths) -> Vec<Cell> {
    let none = Vec::new();
    let departures = said.departures.get(&exchange.connection).unwrap_or(&none);
    let (from, known) = truths.of_exchange(exchange, said);
    compare([from, exchange.until_ns], departures, known, &claims(exchange))
}

/// Those after another begin no earlier than that one ends.
fn claims(exchange: &Exchange) -> Vec<Claim> {
    let mut cursor = 0;
    let mut claims = Vec::new();
    for it in &exchange.stretches {
        let (from, until) = (it.from.as_nanos().max(cursor), it.until.as_nanos());
        if from < until {
            let (cause, direction, confidence) = (it.cause, it.direction, it.confidence);
            claims.push(Claim { from, until, cause, direction, confidence });
            cursor = until;
        }
    }
    claims
}

/// The truth of a case, by connection and exchange.
#[derive(Debug)]
pub(super) struct Truths {
    by_exchange: BTreeMap<(Connection, Option<u32>), Vec<Known>>,
}

impl Truths {
    /// Where intervals of an exchange overlap, the one that begins earlier counts.
    pub(super) fn of(intervals: &[Interval]) -> Self {
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
        }
        Self { by_exchange }
    }

    /// From when on the exchange is judged, and what is true. Where truth is numbered, the truth of the
    /// exchange with the same number, or that begins next to it if there are more or fewer exchanges.
    fn of_exchange(&self, exchange: &Exchange, said: &Said) -> (u64, &[Known]) {
        let connection = exchange.connection;
        let numbered: Vec<&Vec<Known>> = self
            .by_exchange
            .range((connection, Some(0))..=(connection, Some(u32::MAX)))
            .map(|it| it.1)
            .filter(|it| !it.is_empty())
            .collect();
        let begin = exchange.from_ns.saturating_sub(said.from_client);
        let found = || said.exchanges.iter().filter(|it| it.connection == connection);
        let same = if found().count() == numbered.len() {
            let place = found().position(|it| std::ptr::eq(it, exchange));
            place.map(|place| numbered[place])
        } else {
            numbered.into_iter().min_by_key(|known| known[0].from.abs_diff(begin))
        };
        match same {
            Some(known) => (exchange.from_ns, known),
            None => {
                let known = self.by_exchange.get(&(connection, None));
                (exchange.oldest_from_ns, known.map_or(&[], |it| &it[..]))
            }
        }
    }

    /// The truth of exchanges that were not found: what is in no exchange, nor next to one.
    fn missed(&self, said: &Said) -> Vec<Cell> {
        let mut found: BTreeMap<Connection, Vec<[u64; 2]>> = BTreeMap::new();
        for it in &said.exchanges {
            found.entry(it.connection).or_default().push([it.from_ns, it.until_ns]);
        }
        let mut missed = Vec::new();
        for ((connection, _), known) in &self.by_exchange {
            let found = found.get(connection).map_or(&[][..], |it| &it[..]);
            for run in known.chunk_by(|one, next| one.until == next.from) {
                let (from, until) = (run[0].from, run[run.len() - 1].until);
                if found.iter().any(|it| it[0] <= until && from <= it[1]) {
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
        let row = sums.entry((cell.truth, said)).or_insert_with(|| Row {
            case: case.to_owned(),
            view,
            exchange: exchange.clone(),
            longest_from: cell.gap,
            longest: 0,
            truth: cell.truth,
            said,
            nanos: 0,
        });
        row.nanos += cell.nanos;
        if row.longest < cell.nanos {
            (row.longest, row.longest_from) = (cell.nanos, cell.gap);
        }
    }
    sums.into_values().collect()
}
