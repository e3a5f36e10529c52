//! `short-initial-segment`: does the response wait for our delayed ACK at its start?
//!
//! Heidemann 1996, section 2.1: a head in a segment of its own, then one full segment, and a window
//! too small for another: the receiver has less than the two full segments that it acknowledges at
//! once, and the sender has nothing that it may send.
//!
//! Today's windows are larger, and receivers count segments and not bytes. So a response that waits when
//! *every* ACK is withheld fails only if a receiver of today waits too (an initial window of one segment), and is
//! warned of only if one of 1996 waits with a window of today (an initial window of two).

use std::time::Duration;

use ackwise_cause::Cause;
use ackwise_http::ConnectionOption;
use ackwise_tcp::Timestamps;
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, ExchangeError, Page, Stall},
    milliseconds::ms,
    no_verdict::NoVerdict,
    server::{
        Facts,
        follow::{self, Arm, Delays, Release, Trial, TrialOutcome},
    },
    stack::{AckRule, Acknowledge, Receiver},
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Cause(Cause::ShortInitialSegment),
    is_stall: true,
    remedies: &[],
    run: Run::Server(ServerCheck::new(1, [8, 30], 0.3, run).of_large_responses()),
};

/// Values of `short-initial-segment`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ShortInitialSegment {
    /// The MSS that the client announced.
    pub mss: Option<u16>,
    /// How long the response waited for a withheld ACK.
    pub stall_ms: Option<f64>,
}

/// New connections with a window of two segments, ACKs withheld for two different times.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    facts.has_message()?;
    let [large, small] = SEGMENTS;
    let page = facts.at_least(SEGMENTS_NEEDED * u64::from(small))?;
    let fits = facts.at_least(SEGMENTS_NEEDED * u64::from(large)).is_ok();
    let mss = if fits { large } else { small };
    let capabilities = client.capabilities();
    let delays = Delays::within(capabilities, client.hold())
        .ok_or_else(|| NoVerdict::unknown(Reason::Stack, "this stack cannot withhold ACKs"))?;
    let mut bench =
        Bench { client, facts, page, mss, delays, window: Window::Two, splits: 0, shown: None };
    let rule = if capabilities.segments { EVERY_SECOND } else { LINUX };
    let (release, trials) = bench.study(rule)?;
    let waited = middle(
        trials.iter().filter(|trial| trial.arm == Arm::Long).filter_map(Trial::length_if_stalled),
    );
    let values = |stall_ms: Option<f64>| ShortInitialSegment { mss: Some(mss), stall_ms };
    let found = match release {
        Release::Ack => {
            let values = values(waited.map(ms));
            let begins = "the response begins with a short segment and then waits";
            match cost(&trials) {
                Some(cost) => {
                    let summary = format!("{begins} {:.0} ms for a delayed ACK", ms(cost));
                    Judged::new(Verdict::Fail, summary, values).costing(Some(ms(cost)))
                }
                None => {
                    let summary = format!("{begins} for a delayed ACK, no longer than in any case");
                    Judged::new(Verdict::Pass, summary, values)
                }
            }
        }
        Release::NotHeld if capabilities.segments => bench.as_in_1996(values)?,
        Release::NotHeld => {
            let how = match bench.splits >= SPLITS {
                true => "responses begin with a short segment, but no client on Linux waits for it",
                false => "no response waits for the ACK of a client on Linux at its start",
            };
            Judged::new(Verdict::Pass, how, values(Some(0.0)))
        }
        Release::Undecided => {
            let summary = "a response pauses at its start, but the trials were inconclusive: this \
                           machine or the path is too busy";
            return Err(NoVerdict::unknown(Reason::Disturbed, summary));
        }
        Release::Other | Release::Timer => {
            let summary = "a response pauses at its start, but not for an ACK";
            Judged::new(Verdict::Pass, summary, values(None))
        }
    };
    Ok(found.shown_by(bench.shown.as_ref()))
}

/// What the stall costs, beyond what the application takes in any case, if that is worth the name.
fn cost(trials: &[Trial]) -> Option<Duration> {
    follow::extra_delay(trials, Arm::Long, trials).filter(|cost| *cost >= follow::STALL)
}

/// How clients acknowledge: Linux, others of today, and BSD in 1996.
const LINUX: fn(Duration) -> Acknowledge = |delay| Acknowledge::Delayed(AckRule::Linux, delay);
const EVERY_SECOND: fn(Duration) -> Acknowledge =
    |delay| Acknowledge::Delayed(AckRule::EverySecond, delay);
const IN_1996: fn(Duration) -> Acknowledge = |delay| Acknowledge::Delayed(AckRule::TwoFull, delay);
/// None, nor an update of the window: a window of two segments is that of a sender of 1996, which no update opens.
const WITHHELD: fn(Duration) -> Acknowledge = Acknowledge::After;

struct Bench<'a> {
    client: &'a mut Client,
    facts: &'a mut Facts,
    page: Page,
    mss: u16,
    delays: Delays,
    window: Window,
    /// Heads that arrived by themselves.
    splits: usize,
    shown: Option<Exchange>,
}

/// The receive window of the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Window {
    /// Two segments, as in 1996 the congestion window was.
    Two,
    /// Larger than any initial window.
    Ample,
}

impl Bench<'_> {
    /// No client of today waits. Does one of 1996 wait, with a window of today; or would it have, with its own?
    fn as_in_1996(
        &mut self,
        values: impl Fn(Option<f64>) -> ShortInitialSegment,
    ) -> Result<Judged, ExchangeError> {
        self.window = Window::Ample;
        let (release, trials) = self.study(IN_1996)?;
        if release == Release::Ack {
            let long = trials.iter().filter(|trial| trial.arm == Arm::Long);
            let stall = middle(long.filter_map(Trial::length_if_stalled)).map(ms);
            let summary = "the response begins with a short segment and then waits for a client that \
                           acknowledges two full segments, as BSD did in 1996; clients of today lose \
                           nothing";
            return Ok(Judged::new(Verdict::Warn, summary, values(stall)));
        }
        self.window = Window::Two;
        let mut waited: Vec<Trial> = Vec::new();
        for _ in 0..SCREENINGS {
            let trial = self.try_once(Arm::Long, WITHHELD)?;
            if trial.outcome(self.facts.rtt, self.delays.trusted) == TrialOutcome::Follows {
                waited.push(trial);
            }
        }
        if waited.len() < SCREENINGS {
            let summary = "no response waits for an ACK at its start";
            return Ok(Judged::new(Verdict::Pass, summary, values(Some(0.0))));
        }
        let summary = "the response begins with a short segment, which costs nothing: the initial \
                       window lets the next segments follow at once";
        let stall = middle(waited.iter().map(Trial::length)).map(ms);
        Ok(Judged::new(Verdict::Pass, summary, values(stall)))
    }

    fn study(
        &mut self,
        acknowledge: fn(Duration) -> Acknowledge,
    ) -> Result<(Release, Vec<Trial>), ExchangeError> {
        let mut trials = Vec::new();
        for _ in 0..SCREENINGS {
            trials.push(self.try_once(Arm::Long, acknowledge)?);
        }
        let free = |trial: &Trial| {
            trial.outcome(self.facts.rtt, self.delays.trusted) == TrialOutcome::Free
        };
        if trials.iter().all(free) {
            return Ok((Release::NotHeld, trials));
        }
        for arm in follow::arms() {
            trials.push(self.try_once(arm, acknowledge)?);
            let release = follow::decide(&trials, self.facts.rtt, self.delays.trusted);
            if release != Release::Undecided {
                return Ok((release, trials));
            }
        }
        Ok((Release::Undecided, trials))
    }

    fn try_once(
        &mut self,
        arm: Arm,
        acknowledge: fn(Duration) -> Acknowledge,
    ) -> Result<Trial, ExchangeError> {
        let acknowledge = match arm {
            Arm::Prompt => Acknowledge::Promptly,
            arm => acknowledge(self.delays.of(arm)),
        };
        let window = match self.window {
            Window::Two => u32::from(self.mss) * 2,
            Window::Ample => Receiver::ETHERNET.window,
        };
        let receiver = Receiver { mss: self.mss, window, acknowledge, ..Receiver::ETHERNET };
        let request = self.client.ask_for(&self.page, Some(ConnectionOption::Close))?;
        let mut connection = self.client.open(receiver)?;
        let beginning = SEGMENTS_NEEDED * u64::from(self.mss);
        let exchange =
            connection.request_beginning(&request, beginning, &mut self.client.budget)?;
        self.facts.note(&exchange);
        self.splits += usize::from(exchange.has_split_head());
        let stall = initial_stall(&exchange, self.mss);
        let trial = Trial::of(arm, stall, &exchange);
        if self.shown.is_none() || stall.is_some_and(|stall| stall.length() >= follow::STALL) {
            self.shown = Some(exchange);
        }
        Ok(trial)
    }
}

/// The longest pause before which less had come than the two full segments that an ordinary receiver
/// acknowledges at once (this one withholds every ACK), and after which a full one was still to come:
/// before a shorter rest the pause is Nagle's.
fn initial_stall(exchange: &Exchange, mss: u16) -> Option<Stall> {
    let mss = u64::from(mss) - TIMESTAMPS;
    let left = |stall: &Stall| exchange.length().saturating_sub(stall.before);
    exchange
        .stalls()
        .filter(|stall| stall.before < 2 * mss && left(stall) >= mss)
        .max_by_key(Stall::length)
}

/// Segment sizes, of which the larger is tried if the response allows it.
const SEGMENTS: [u16; 2] = [1460, 536];

/// A response with fewer segments ends before the stall could begin.
const SEGMENTS_NEEDED: u64 = 3;

/// Bytes that the timestamps option takes from each segment.
const TIMESTAMPS: u64 = Timestamps::WIRE_BYTES as u64;

/// A read may end at the head by chance, while the rest is on its way through the kernel: not twice.
const SPLITS: usize = 2;

/// Answers that must be free of pauses.
const SCREENINGS: usize = 2;
