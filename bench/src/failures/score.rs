//! Compares what is reported of a case with what its programs did: pure, so that it can be tested.

use std::collections::BTreeMap;

use serde::Serialize;

use super::kind::Kind;
use super::said::Told;
use super::truth::{At, Failed};

/// Where a case is captured.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CapturedAt {
    Client,
    Server,
    Pair,
}

impl CapturedAt {
    pub(super) const ALL: [Self; 3] = [Self::Client, Self::Server, Self::Pair];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Pair => "pair",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Two captures know what one of them knows.
    fn at(self, failed: &Failed) -> At {
        let Failed { client, server, .. } = failed;
        match self {
            Self::Client => client.clone(),
            Self::Server => server.clone(),
            Self::Pair => At {
                knowable: client.knowable || server.knowable,
                also: [&client.also[..], &server.also[..]].concat(),
                ms: client.ms,
            },
        }
    }
}

/// Something that is reported wrongly, or not at all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Wrong {
    pub(super) case: String,
    pub(super) place: CapturedAt,
    pub(super) port: u16,
    pub(super) number: Option<u32>,
    /// What failed, if anything did.
    pub(super) was: Option<Kind>,
    /// What is reported, if anything is.
    pub(super) told: Option<String>,
    pub(super) why: String,
}

/// Counts of one kind at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Cell {
    /// Failures that can be known here.
    pub(super) cases: u32,
    /// Of these, told as such.
    pub(super) found: u32,
    /// Told as this kind, where it can be judged.
    pub(super) told: u32,
    /// Of these, right.
    pub(super) right: u32,
    /// Found ones whose program knows how long it took.
    pub(super) timed: u32,
    /// Of these, inside what is reported.
    pub(super) inside: u32,
    /// Failures that cannot be known here.
    pub(super) hidden: u32,
    /// Of these, told as this kind nevertheless.
    pub(super) guessed: u32,
}

/// All counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Score {
    pub(super) cells: BTreeMap<(String, CapturedAt), Cell>,
    pub(super) wrong: Vec<Wrong>,
}

impl Score {
    /// Adds what is reported of a case at a place.
    pub(super) fn add(&mut self, case: &str, place: CapturedAt, failed: &[Failed], told: &[Told]) {
        let mut left: Vec<&Told> = told.iter().collect();
        for failed in failed {
            let at = place.at(failed);
            let told = take(&mut left, failed, &at);
            self.compare(case, place, failed, &at, told);
        }
        for told in left {
            self.cell(&told.kind, place).told += 1;
            self.wrong.push(Wrong {
                case: case.to_owned(),
                place,
                port: told.port,
                number: told.number,
                was: None,
                told: Some(told.kind.clone()),
                why: format!("{} confidence, where nothing failed", told.confidence),
            });
        }
    }

    fn compare(
        &mut self,
        case: &str,
        place: CapturedAt,
        failed: &Failed,
        at: &At,
        told: Option<&Told>,
    ) {
        let name = failed.kind.name();
        let wrong = |told: Option<&Told>, why: String| Wrong {
            case: case.to_owned(),
            place,
            port: failed.port,
            number: failed.number,
            was: Some(failed.kind),
            told: told.map(|it| it.kind.clone()),
            why,
        };
        let is_right = told.is_some_and(|it| is_right(it, failed, at));
        let cell = self.cell(name, place);
        if !at.knowable {
            cell.hidden += 1;
            cell.guessed += u32::from(told.is_some_and(|it| it.kind == name));
            return;
        }
        cell.cases += 1;
        cell.found += u32::from(is_right);
        let Some(told) = told else {
            self.wrong.push(wrong(None, "not told".to_owned()));
            return;
        };
        if !is_right {
            self.cell(&told.kind, place).told += 1;
            self.wrong.push(wrong(Some(told), format!("{} confidence", told.confidence)));
            return;
        }
        cell.told += 1;
        cell.right += 1;
        let Some(ms) = at.ms else { return };
        cell.timed += 1;
        let until = told.at_most;
        if (told.ms - TOLERANCE..=until + TOLERANCE).contains(&ms) {
            cell.inside += 1;
        } else {
            let why = format!("lasted {ms:.1} ms, told {:.1} to {until:.1} ms", told.ms);
            self.wrong.push(wrong(Some(told), why));
        }
    }

    fn cell(&mut self, kind: &str, place: CapturedAt) -> &mut Cell {
        self.cells.entry((kind.to_owned(), place)).or_default()
    }

    /// Means over the kinds with cases at this place, and the least of each.
    pub(super) fn means(&self, place: Option<CapturedAt>) -> Means {
        let known = |it: &Cell| it.cases > 0;
        let cells = self.cells.iter().filter(|(key, _)| place.is_none_or(|it| it == key.1));
        let cells: Vec<&Cell> = cells.map(|it| it.1).filter(|it| known(it)).collect();
        let [precision, recall] =
            [Cell::precision, Cell::recall].map(|of| cells.iter().map(|it| of(it)).collect());
        Means { precision: Mean::of(precision), recall: Mean::of(recall) }
    }
}

impl Cell {
    /// 0 if it is never told: nobody can rely on it.
    pub(super) fn precision(&self) -> f64 {
        share(self.right, self.told)
    }

    pub(super) fn recall(&self) -> f64 {
        share(self.found, self.cases)
    }
}

fn share(part: u32, of: u32) -> f64 {
    if of == 0 { 0.0 } else { f64::from(part) / f64::from(of) }
}

/// Of several cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Means {
    pub(super) precision: Mean,
    pub(super) recall: Mean,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) least: f64,
}

impl Mean {
    #[expect(clippy::cast_precision_loss, reason = "a count of kinds")]
    fn of(values: Vec<f64>) -> Self {
        let sum: f64 = values.iter().sum();
        let least = values.iter().copied().fold(1.0, f64::min);
        Self { mean: if values.is_empty() { 0.0 } else { sum / values.len() as f64 }, least }
    }
}

fn is_right(told: &Told, failed: &Failed, at: &At) -> bool {
    told.kind == failed.kind.name() || at.also.contains(&told.kind)
}

/// What is reported of this failure: of the same exchange, or of the connection. A right statement goes first.
fn take<'a>(left: &mut Vec<&'a Told>, failed: &Failed, at: &At) -> Option<&'a Told> {
    let about = |it: &&Told| {
        it.port == failed.port
            && (it.number == failed.number || it.number.is_none() || failed.number.is_none())
    };
    let right = left.iter().position(|it| about(it) && is_right(it, failed, at));
    let place = right.or_else(|| left.iter().position(about))?;
    Some(left.remove(place))
}

/// In milliseconds, as issue 33 has it.
const TOLERANCE: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: Kind, number: Option<u32>, ms: f64) -> Failed {
        let client = At { ms: Some(ms), ..At::known() };
        Failed { kind, port: 4000, number, client, server: At::hidden() }
    }

    fn told(kind: &str, number: Option<u32>, ms: f64, at_most: f64) -> Told {
        let kind = kind.to_owned();
        Told { kind, port: 4000, number, ms, at_most, confidence: "high".to_owned() }
    }

    fn cell(score: &Score, kind: &str, place: CapturedAt) -> Cell {
        score.cells[&(kind.to_owned(), place)]
    }

    #[test]
    fn a_failure_that_is_told_counts_with_its_time() {
        let mut score = Score::default();
        let truth = [failed(Kind::Reset, Some(2), 12.0), failed(Kind::Reset, Some(4), 12.0)];
        let said = [told("reset", Some(2), 10.0, 11.5), told("reset", Some(4), 8.0, 8.0)];
        score.add("a", CapturedAt::Client, &truth, &said);
        let cell = cell(&score, "reset", CapturedAt::Client);
        assert_eq!((cell.cases, cell.found, cell.right, cell.timed, cell.inside), (2, 2, 2, 2, 1));
        assert_eq!(score.wrong.len(), 1);
    }

    #[test]
    fn another_kind_costs_the_one_recall_and_the_other_precision() {
        let mut score = Score::default();
        let truth = [failed(Kind::CloseRace, Some(1), 5.0)];
        score.add("a", CapturedAt::Client, &truth, &[told("reset", Some(1), 5.0, 5.0)]);
        let [race, reset] = ["close-race", "reset"].map(|it| cell(&score, it, CapturedAt::Client));
        assert_eq!((race.recall(), reset.told, reset.right), (0.0, 1, 0));
    }

    #[test]
    fn what_is_told_of_a_healthy_exchange_is_wrong() {
        let mut score = Score::default();
        let truth = [failed(Kind::Reset, Some(1), 5.0)];
        let said = [told("reset", Some(1), 5.0, 5.0), told("reset", Some(0), 5.0, 5.0)];
        score.add("a", CapturedAt::Client, &truth, &said);
        let cell = cell(&score, "reset", CapturedAt::Client);
        assert_eq!((cell.precision(), cell.recall()), (0.5, 1.0));
    }

    #[test]
    fn what_cannot_be_known_is_no_mistake_either_way() {
        let mut score = Score::default();
        let truth = [failed(Kind::Silent, Some(1), 5.0)];
        score.add("a", CapturedAt::Server, &truth, &[told("abandoned", Some(1), 5.0, 5.0)]);
        let cell = cell(&score, "silent", CapturedAt::Server);
        assert_eq!((cell.cases, cell.hidden, cell.guessed), (0, 1, 0));
        assert!(score.wrong.is_empty());
        // Where both captures are, it can.
        score.add("a", CapturedAt::Pair, &truth, &[]);
        assert_eq!(score.means(Some(CapturedAt::Pair)).recall.mean, 0.0);
    }

    #[test]
    fn another_name_may_be_right() {
        let mut truth = failed(Kind::AcceptQueueFull, None, 5.0);
        truth.client = truth.client.or("silent");
        let mut score = Score::default();
        score.add("a", CapturedAt::Client, &[truth], &[told("silent", Some(0), 5.0, 5.0)]);
        assert_eq!(cell(&score, "accept-queue-full", CapturedAt::Client).right, 1);
    }

    #[test]
    fn means_are_over_kinds_not_over_cases() {
        let mut score = Score::default();
        let truth = [Kind::Reset, Kind::Reset, Kind::Reset, Kind::Truncated];
        let truth: Vec<Failed> = (0..).zip(truth).map(|(n, it)| failed(it, Some(n), 1.0)).collect();
        let said: Vec<Told> = (0..3).map(|it| told("reset", Some(it), 1.0, 1.0)).collect();
        score.add("a", CapturedAt::Client, &truth, &said);
        let means = score.means(Some(CapturedAt::Client));
        assert_eq!((means.recall.mean, means.recall.least), (0.5, 0.0));
    }
}
