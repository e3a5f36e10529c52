//! `nagle-delayed-ack`: on a reused connection, is a small last segment held until our ACK?

use std::time::Duration;

use ackwise_http::ConnectionOption;
use serde_json::{Value, json};

use super::{
    Facts, Found,
    follow::{self, Arm, Delays, ROUNDS_MAX, Release, STALL, Trial},
    ms,
};
use crate::check::{
    card::{FindingId, Verdict},
    conversation::{Client, Exchange, Line, Page, Stall, Trouble},
    stack::{Acknowledge, Receiver},
};

/// Responses of several sizes: first whether any pauses while our ACK is withheld, then, for those
/// that do, what ends the pause.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<Found, Trouble> {
    let Some(delays) = Delays::within(client.capabilities()) else {
        let summary = "this system cannot withhold ACKs";
        let values = super::unknown_values(FindingId::NagleDelayedAck);
        return Ok(Found::new(Verdict::Unknown, summary, values));
    };
    let mut bench = Bench { client, facts, delays, line: Line::new(Receiver::ETHERNET) };
    let mut sizes: Vec<Size> = Vec::new();
    for page in bench.facts.sizes() {
        let size = match bench.study(page, &sizes) {
            Err(Trouble::OutOf(_)) if !sizes.is_empty() => break,
            size => size?,
        };
        sizes.push(size);
    }
    Ok(report(&sizes))
}

/// One size of response, and what was found out about it.
#[derive(Clone, Debug)]
struct Size {
    page: Page,
    content: u64,
    release: Release,
    stall: Option<Duration>,
    cost_40: Option<Duration>,
    cost_120: Option<Duration>,
    shown: Option<Exchange>,
}

struct Bench<'a> {
    client: &'a mut Client,
    facts: &'a mut Facts,
    delays: Delays,
    line: Line,
}

impl Bench<'_> {
    fn study(&mut self, page: Page, before: &[Size]) -> Result<Size, Trouble> {
        let mut size = Size {
            page,
            content: 0,
            release: Release::NotHeld,
            stall: None,
            cost_40: None,
            cost_120: None,
            shown: None,
        };
        let mut trials = Vec::new();
        for _ in 0..SCREENINGS {
            let (trial, exchange) = self.try_once(&size.page, Arm::Long)?;
            size.content = exchange.content;
            if trial.stall.is_some_and(|stall| stall.length() >= STALL) || size.shown.is_none() {
                size.shown = Some(exchange);
            }
            trials.push(trial);
        }
        let Delays { trusted, .. } = self.delays;
        let hint = |trial: &Trial| trial.hint(self.facts.rtt, trusted);
        if trials.iter().all(|trial| hint(trial) == follow::Hint::Free) {
            return Ok(size);
        }
        let proven = before.iter().any(|size| size.release == Release::Ack);
        if proven && trials.iter().all(|trial| hint(trial) == follow::Hint::Follows) {
            size.release = Release::Ack; // As its sibling, whose trial was long enough.
        } else {
            size.release = self.confirm(&mut size, &mut trials)?;
        }
        size.stall = stall_of(&trials, Arm::Long);
        if size.release == Release::Ack && !proven {
            (size.cost_40, size.cost_120) = self.costs(&size.page, &trials);
        }
        Ok(size)
    }

    /// Rounds of trials until it is clear what releases the stall.
    fn confirm(&mut self, size: &mut Size, trials: &mut Vec<Trial>) -> Result<Release, Trouble> {
        let round = [Arm::Short, Arm::Prompt, Arm::Long];
        for arm in round.into_iter().cycle().take(ROUNDS_MAX * round.len()) {
            let (trial, exchange) = self.try_once(&size.page, arm)?;
            trials.push(trial);
            if trial.hint(self.facts.rtt, self.delays.trusted) == follow::Hint::Follows {
                size.shown = Some(exchange);
            }
            let release = follow::decide(trials, self.facts.rtt, self.delays.trusted);
            if release != Release::Undecided {
                return Ok(release);
            }
        }
        Ok(Release::Undecided)
    }

    /// What the stall costs a receiver that delays its ACKs by 40 and by 120 ms, where that can be
    /// measured.
    fn costs(&mut self, page: &Page, trials: &[Trial]) -> (Option<Duration>, Option<Duration>) {
        if self.delays.short == FORTY {
            return (stall_of(trials, Arm::Short), stall_of(trials, Arm::Long));
        }
        // A kernel's own timer ends the delay; when exactly does not matter for what it costs.
        let answers = (0..COST_TRIALS).map_while(|_| self.exchange(page, delayed(FORTY)).ok());
        let stalls: Vec<_> = answers.filter_map(|exchange| exchange.longest_stall()).collect();
        (follow::median(stalls.iter().map(Stall::length)), None)
    }

    fn try_once(&mut self, page: &Page, arm: Arm) -> Result<(Trial, Exchange), Trouble> {
        let acknowledge = match arm {
            Arm::Prompt => Acknowledge::Promptly,
            arm => delayed(self.delays.of(arm)),
        };
        let exchange = self.exchange(page, acknowledge)?;
        Ok((Trial { arm, stall: exchange.longest_stall() }, exchange))
    }

    fn exchange(&mut self, page: &Page, acknowledge: Acknowledge) -> Result<Exchange, Trouble> {
        let ask = self.client.get(page, Some(ConnectionOption::KeepAlive))?;
        let exchange = self.line.ask(&ask, acknowledge, self.client)?;
        self.facts.note(&exchange);
        Ok(exchange)
    }
}

/// As the peers of real servers do it.
fn delayed(delay: Duration) -> Acknowledge {
    Acknowledge::Delayed(delay)
}

fn stall_of(trials: &[Trial], arm: Arm) -> Option<Duration> {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm);
    follow::median(of_arm.filter_map(|trial| trial.stall.map(|stall| stall.length())))
}

fn report(sizes: &[Size]) -> Found {
    let worst = sizes.iter().max_by_key(|size| (weight(size.release), size.cost_40, size.stall));
    let release = worst.map_or(Release::Undecided, |worst| worst.release);
    let cost_40 = worst.and_then(|worst| worst.cost_40).map(ms);
    let cost_120 = worst.and_then(|worst| worst.cost_120).map(ms);
    let stall = worst.and_then(|worst| worst.stall).map(ms).unwrap_or_default();
    let octets = worst.map_or(0, |worst| worst.content);
    let mut values = json!({
        "released_by": released_by(release),
        "cost_ms_40": cost_40,
        "cost_ms_120": cost_120,
        "sizes": sizes.iter().map(size_value).collect::<Vec<_>>(),
    });
    let (verdict, cost, summary) = match release {
        Release::Ack => {
            let cost = cost_40.unwrap_or(stall);
            // A receiver of 200 ms races Linux's retransmission timer, so that is not measured.
            let computed = cost_40.map(|cost| super::rounded(cost + 160.0));
            values["cost_ms_200_computed"] = json!(computed);
            let summary = format!(
                "the last segment of a response of {octets} octets waits for our delayed ACK: \
                 {cost:.0} ms, every time"
            );
            (Verdict::Fail, Some(cost), summary)
        }
        Release::NotHeld => {
            let tried = sizes.len();
            (Verdict::Pass, None, format!("nothing waits for our ACK ({tried} sizes tried)"))
        }
        Release::Timer => {
            let summary =
                format!("a response pauses for {stall:.0} ms whatever we do: see cork-timer");
            (Verdict::Pass, None, summary)
        }
        Release::Other => {
            let summary = format!(
                "a response of {octets} octets pauses, but not for our ACK: the application or the \
                 path takes {stall:.0} ms"
            );
            (Verdict::Pass, None, summary)
        }
        Release::Undecided => {
            let summary = format!(
                "a response of {octets} octets pauses, and no number of trials shows for what: this \
                 machine or the path is too busy"
            );
            (Verdict::Unknown, None, summary)
        }
    };
    Found::new(verdict, summary, values)
        .costing(cost)
        .shown_by(worst.and_then(|worst| worst.shown.as_ref()))
}

/// What to report first.
fn weight(release: Release) -> u8 {
    match release {
        Release::Ack => 4,
        Release::Undecided => 3,
        Release::Timer => 2,
        Release::Other => 1,
        Release::NotHeld => 0,
    }
}

fn released_by(release: Release) -> Option<&'static str> {
    match release {
        Release::NotHeld => Some("none"),
        Release::Ack => Some("ack"),
        Release::Timer => Some("timer"),
        Release::Other => Some("other"),
        Release::Undecided => None,
    }
}

fn size_value(size: &Size) -> Value {
    json!({
        "path": size.page.path,
        "octets": size.content,
        "released_by": released_by(size.release),
        "stall_ms": size.stall.map(ms),
    })
}

/// Answers that must be free of pauses before a size counts as free of stalls: one read that merged
/// two segments could hide a stall.
const SCREENINGS: usize = 2;

/// Trials that measure what the kernel's own delayed ACK costs.
const COST_TRIALS: usize = 3;

const FORTY: Duration = Duration::from_millis(40);
