//! `nagle-delayed-ack`: on a reused connection, is a small last segment held until our ACK?
//!
//! While the congestion window is small, a short tail leaves together with what waits for the window; so a
//! stall may begin at the fourth response of a connection, or come in one response of three. Each page is
//! asked for often enough on one connection to see that.

mod report;

use std::time::Duration;

use ackwise_http::ConnectionOption;

use self::report::report;
use super::{
    Facts, ProbeResult,
    follow::{self, Arm, Delays, Release, STALL, Trial, TrialOutcome},
};
use crate::{
    card::{NagleDelayedAck, Verdict},
    http_client::{Client, Exchange, ExchangeError, Page, ReusedConnection},
    stack::{AckRule, Acknowledge, Receiver},
};

/// Responses of several sizes: first whether any pauses while our ACK is withheld, then, for those
/// that do, what ends the pause.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<ProbeResult, ExchangeError> {
    let Some(delays) = Delays::within(client.capabilities()) else {
        let summary = "this stack cannot withhold ACKs";
        return Ok(ProbeResult::new(Verdict::Unknown, summary, NagleDelayedAck::default()));
    };
    let rules = client.capabilities().ack_rules;
    let mut bench =
        Bench { client, facts, delays, reused: ReusedConnection::new(Receiver::ETHERNET) };
    let mut sizes: Vec<Size> = Vec::new();
    for page in bench.facts.sizes() {
        let size = match bench.study(&page, rules, &sizes) {
            Err(ExchangeError::LimitReached(_)) if !sizes.is_empty() => break,
            size => size?,
        };
        sizes.push(size);
    }
    Ok(report(&sizes, rules))
}

/// One size of response, and what was found out about it.
#[derive(Clone, Debug)]
struct Size {
    page: Page,
    /// How the client acknowledged.
    rule: AckRule,
    content: u64,
    release: Release,
    stall: Option<Duration>,
    /// What our delay adds, by 40 and 120 ms and by the longest that this stack can keep.
    cost_40: Option<Duration>,
    cost_120: Option<Duration>,
    cost_long: Option<Duration>,
    /// The quartiles of the stall, if this machine stretched it.
    stretched: Option<[Duration; 2]>,
    answers: Vec<Answer>,
    shown: Option<Exchange>,
}

/// A response to which we delayed our ACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Answer {
    /// The number of its request on its connection, from 1.
    request: u32,
    /// It waited for our ACK.
    held: bool,
}

impl Size {
    fn new(page: &Page, rule: AckRule) -> Self {
        Self {
            page: page.clone(),
            rule,
            content: 0,
            release: Release::NotHeld,
            stall: None,
            cost_40: None,
            cost_120: None,
            cost_long: None,
            stretched: None,
            answers: Vec::new(),
            shown: None,
        }
    }

    /// What a client loses that delays its ACK by 40 ms, as most do, as far as it was measured.
    fn cost(&self) -> Duration {
        self.cost_40.or(self.cost_long).unwrap_or_default()
    }

    /// It waits for the ACK of a client of today, and that is worth a `fail`.
    fn stalls(&self) -> bool {
        self.release == Release::Ack && self.rule.is_in_use() && self.cost() >= STALL
    }

    /// What to report first.
    fn weight(&self) -> u8 {
        match self.release {
            Release::Ack if self.rule.is_in_use() => 5,
            Release::Undecided => 4,
            Release::Ack => 3,
            Release::Timer => 2,
            Release::Other => 1,
            Release::NotHeld => 0,
        }
    }
}

struct Bench<'a> {
    client: &'a mut Client,
    facts: &'a mut Facts,
    delays: Delays,
    reused: ReusedConnection,
}

impl Bench<'_> {
    /// Asks for `page` as each of the receivers, until it stalls for one; all on one connection, whose
    /// window grows.
    fn study(
        &mut self,
        page: &Page,
        rules: &[AckRule],
        before: &[Size],
    ) -> Result<Size, ExchangeError> {
        self.reused = ReusedConnection::new(Receiver::ETHERNET);
        let mut found: Option<Size> = None;
        for rule in rules {
            let answers = match (&page.bytes, found.is_none()) {
                (None, true) => ANSWERS,
                (None, false) | (Some(_), true) => ANSWERS_FEW,
                (Some(_), false) => ANSWERS_LEAST,
            };
            let size = match (self.study_as(page, *rule, answers, before), found.is_some()) {
                (Err(ExchangeError::LimitReached(_)), true) => break,
                (size, _) => size?,
            };
            // A client that no longer exists accuses nobody by trials that say nothing.
            let telling = rule.is_in_use() || size.release == Release::Ack;
            if found.as_ref().is_none_or(|found| telling && size.weight() > found.weight()) {
                found = Some(size);
            }
            if found.as_ref().is_some_and(Size::stalls) {
                break;
            }
        }
        Ok(found.unwrap_or_else(|| Size::new(page, AckRule::Linux)))
    }

    fn study_as(
        &mut self,
        page: &Page,
        rule: AckRule,
        answers: usize,
        before: &[Size],
    ) -> Result<Size, ExchangeError> {
        let mut size = Size::new(page, rule);
        let mut trials = Vec::new();
        for _ in 0..answers {
            trials.push(self.try_once(&mut size, Arm::Long)?);
            if trials.iter().filter(|trial| self.outcome(trial) != TrialOutcome::Free).count() >= 2
            {
                break;
            }
        }
        if trials.iter().all(|trial| self.outcome(trial) == TrialOutcome::Free) {
            return Ok(size);
        }
        let proven = before.iter().any(Size::stalls);
        if proven && trials.iter().all(|trial| self.outcome(trial) == TrialOutcome::Follows) {
            size.release = Release::Ack; // As its sibling, whose trial was long enough.
        } else {
            size.release = self.confirm(&mut size, &mut trials)?;
        }
        size.stall = match size.release {
            Release::Ack => stall_of(&trials, Arm::Long),
            _ => follow::median(trials.iter().filter_map(Trial::length_if_stalled)),
        };
        if size.release == Release::Ack && rule.is_in_use() && !proven {
            self.measure(&mut size, &trials);
        }
        Ok(size)
    }

    /// Trials until it is clear what releases the stall.
    fn confirm(
        &mut self,
        size: &mut Size,
        trials: &mut Vec<Trial>,
    ) -> Result<Release, ExchangeError> {
        for arm in follow::arms() {
            trials.push(self.try_once(size, arm)?);
            let release = follow::decide(trials, self.facts.rtt, self.delays.trusted);
            if release != Release::Undecided {
                return Ok(release);
            }
        }
        Ok(Release::Undecided)
    }

    fn outcome(&self, trial: &Trial) -> TrialOutcome {
        trial.outcome(self.facts.rtt, self.delays.trusted)
    }

    /// What the stall costs a receiver that delays its ACKs, where that can be measured.
    fn measure(&mut self, size: &mut Size, trials: &[Trial]) {
        size.cost_long = follow::extra_delay(trials, Arm::Long, trials);
        if self.delays.short == FORTY {
            size.cost_40 = follow::extra_delay(trials, Arm::Short, trials);
            size.cost_120 = size.cost_long;
            size.stretched = follow::stretched(trials, Arm::Short);
            return;
        }
        // A kernel's own timer ends the delay; when exactly does not matter for what it costs.
        let acknowledge = Acknowledge::Delayed(size.rule, FORTY);
        let mut forty = Vec::new();
        for _ in 0..COST_ANSWERS {
            let Ok(exchange) = self.exchange(&size.page, acknowledge) else { break };
            let trial = Trial::of(Arm::Long, exchange.longest_stall(), &exchange);
            forty.extend(trial.length_if_stalled().map(|_| trial));
            if forty.len() >= COST_TRIALS {
                break;
            }
        }
        size.cost_40 = follow::extra_delay(&forty, Arm::Long, trials);
        size.stretched = follow::stretched(&forty, Arm::Long);
    }

    fn try_once(&mut self, size: &mut Size, arm: Arm) -> Result<Trial, ExchangeError> {
        let acknowledge = match arm {
            Arm::Prompt => Acknowledge::Promptly,
            arm => Acknowledge::Delayed(size.rule, self.delays.of(arm)),
        };
        let exchange = self.exchange(&size.page, acknowledge)?;
        let trial = Trial::of(arm, exchange.longest_stall(), &exchange);
        let held = self.outcome(&trial) == TrialOutcome::Follows;
        if arm != Arm::Prompt {
            let request = self.reused.current().map_or(0, |it| it.requests());
            size.answers.push(Answer { request, held });
        }
        size.content = exchange.content;
        // The packets of the delay that the cost is quoted for, if that can be tried.
        let forty = |exchange: &Exchange| {
            let stall = exchange.longest_stall().filter(|stall| stall.length() >= STALL);
            stall.map(|stall| stall.length().abs_diff(FORTY))
        };
        let nearer = match (forty(&exchange), size.shown.as_ref().and_then(forty)) {
            (Some(new), Some(old)) => held && new < old,
            (Some(_), None) => true,
            (None, _) => size.shown.is_none(),
        };
        if nearer {
            size.shown = Some(exchange);
        }
        Ok(trial)
    }

    fn exchange(
        &mut self,
        page: &Page,
        acknowledge: Acknowledge,
    ) -> Result<Exchange, ExchangeError> {
        let request = self.client.ask_for(page, Some(ConnectionOption::KeepAlive))?;
        let exchange = self.reused.request(&request, acknowledge, self.client)?;
        self.facts.note(&exchange);
        Ok(exchange)
    }
}

/// How long the responses that stall do so.
fn stall_of(trials: &[Trial], arm: Arm) -> Option<Duration> {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm);
    follow::median(of_arm.filter_map(Trial::length_if_stalled))
}

/// Answers that must be free of pauses before a page counts as free of stalls, if the client acknowledges as
/// most do. Our choice: a server that stalls in one response of three, at random, shows none in 16 with a
/// probability of 0.15 %.
const ANSWERS: usize = 16;

/// The same for the other ways to acknowledge, and for ranges of a page that was asked for as often.
const ANSWERS_FEW: usize = 4;

/// The same for both at once.
const ANSWERS_LEAST: usize = 2;

/// Stalled trials that measure what the kernel's own delayed ACK costs, and answers that they may take.
const COST_TRIALS: usize = 3;
const COST_ANSWERS: usize = 12;

const FORTY: Duration = Duration::from_millis(40);
