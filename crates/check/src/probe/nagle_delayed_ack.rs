//! `nagle-delayed-ack`: on a reused connection, is a small last segment held until our ACK?

use std::time::Duration;

use ackwise_http::ConnectionOption;
use ackwise_report::words::counted;

use super::{
    Facts, ProbeResult,
    follow::{self, Arm, Delays, ROUNDS_MAX, Release, STALL, Trial, TrialOutcome},
    ms,
};
use crate::{
    card::{NagleDelayedAck, ReleasedBy, TriedSize, Verdict},
    http_client::{Client, Exchange, ExchangeError, Page, ReusedConnection},
    stack::{Acknowledge, Receiver},
};

/// Responses of several sizes: first whether any pauses while our ACK is withheld, then, for those
/// that do, what ends the pause.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<ProbeResult, ExchangeError> {
    let Some(delays) = Delays::within(client.capabilities()) else {
        let summary = "this stack cannot withhold ACKs";
        return Ok(ProbeResult::new(Verdict::Unknown, summary, NagleDelayedAck::default()));
    };
    let mut bench =
        Bench { client, facts, delays, reused: ReusedConnection::new(Receiver::ETHERNET) };
    let mut sizes: Vec<Size> = Vec::new();
    for page in bench.facts.sizes() {
        let size = match bench.study(page, &sizes) {
            Err(ExchangeError::LimitReached(_)) if !sizes.is_empty() => break,
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
    /// What our delay adds, by 40 and 120 ms and by the longest that this stack can keep.
    cost_40: Option<Duration>,
    cost_120: Option<Duration>,
    cost_long: Option<Duration>,
    held: Held,
    shown: Option<Exchange>,
}

/// How often a response waited for our ACK.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Held {
    times: usize,
    of: usize,
}

impl Size {
    /// What a client loses that delays its ACK by 40 ms, as most do, as far as it was measured.
    fn cost(&self) -> Duration {
        self.cost_40.or(self.cost_long).unwrap_or_default()
    }

    /// It waits for our ACK, and that is worth a `fail`.
    fn stalls(&self) -> bool {
        self.release == Release::Ack && self.cost() >= STALL
    }
}

struct Bench<'a> {
    client: &'a mut Client,
    facts: &'a mut Facts,
    delays: Delays,
    reused: ReusedConnection,
}

impl Bench<'_> {
    fn study(&mut self, page: Page, before: &[Size]) -> Result<Size, ExchangeError> {
        let mut size = Size {
            page,
            content: 0,
            release: Release::NotHeld,
            stall: None,
            cost_40: None,
            cost_120: None,
            cost_long: None,
            held: Held::default(),
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
        if trials.iter().all(|trial| self.outcome(trial) == TrialOutcome::Free) {
            return Ok(size);
        }
        let proven = before.iter().any(Size::stalls);
        if proven && trials.iter().all(|trial| self.outcome(trial) == TrialOutcome::Follows) {
            size.release = Release::Ack; // As its sibling, whose trial was long enough.
        } else {
            size.release = self.confirm(&mut size, &mut trials)?;
        }
        let delayed = || trials.iter().filter(|trial| trial.arm != Arm::Prompt);
        let times = delayed().filter(|trial| self.outcome(trial) == TrialOutcome::Follows).count();
        size.held = Held { times, of: delayed().count() };
        size.stall = stall_of(&trials, Arm::Long);
        if size.release == Release::Ack && !proven {
            self.measure(&mut size, &trials);
        }
        Ok(size)
    }

    /// Rounds of trials until it is clear what releases the stall.
    fn confirm(
        &mut self,
        size: &mut Size,
        trials: &mut Vec<Trial>,
    ) -> Result<Release, ExchangeError> {
        let round = [Arm::Short, Arm::Prompt, Arm::Long];
        let mut shows_forty = false;
        for arm in round.into_iter().cycle().take(ROUNDS_MAX * round.len()) {
            let (trial, exchange) = self.try_once(&size.page, arm)?;
            trials.push(trial);
            if self.outcome(&trial) == TrialOutcome::Follows && !shows_forty {
                // The packets of the delay that the cost is quoted for, if that can be tried.
                shows_forty = arm == Arm::Short && self.delays.short == FORTY;
                size.shown = Some(exchange);
            }
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
            return;
        }
        // A kernel's own timer ends the delay; when exactly does not matter for what it costs.
        let answers =
            (0..COST_TRIALS).map_while(|_| self.exchange(&size.page, delayed(FORTY)).ok());
        let forty: Vec<Trial> = answers
            .map(|exchange| Trial::of(Arm::Long, exchange.longest_stall(), &exchange))
            .collect();
        size.cost_40 = follow::extra_delay(&forty, Arm::Long, trials);
    }

    fn try_once(&mut self, page: &Page, arm: Arm) -> Result<(Trial, Exchange), ExchangeError> {
        let acknowledge = match arm {
            Arm::Prompt => Acknowledge::Promptly,
            arm => delayed(self.delays.of(arm)),
        };
        let exchange = self.exchange(page, acknowledge)?;
        Ok((Trial::of(arm, exchange.longest_stall(), &exchange), exchange))
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

/// As the peers of real servers do it.
fn delayed(delay: Duration) -> Acknowledge {
    Acknowledge::Delayed(delay)
}

fn stall_of(trials: &[Trial], arm: Arm) -> Option<Duration> {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm);
    follow::median(of_arm.map(Trial::length))
}

fn report(sizes: &[Size]) -> ProbeResult {
    let worst = sizes.iter().max_by_key(|size| (weight(size.release), size.cost(), size.stall));
    let release = worst.map_or(Release::Undecided, |worst| worst.release);
    let cost_40 = worst.and_then(|worst| worst.cost_40).map(ms);
    let cost_120 = worst.and_then(|worst| worst.cost_120).map(ms);
    let stall = worst.and_then(|worst| worst.stall).map(ms).unwrap_or_default();
    let bytes = worst.map_or(0, |worst| worst.content);
    let mut values = NagleDelayedAck {
        released_by: released_by(release),
        cost_ms_40: cost_40,
        cost_ms_120: cost_120,
        cost_ms_200_computed: None,
        sizes: Some(sizes.iter().map(tried_size).collect()),
    };
    let (verdict, cost, summary) = match release {
        Release::Ack => {
            let cost = worst.map(Size::cost).unwrap_or_default();
            let Held { times, of } = worst.map(|worst| worst.held).unwrap_or_default();
            // An application that writes on meanwhile loses no more with a longer delay.
            let grows = cost_40.zip(cost_120).is_none_or(|(short, long)| long >= short + 40.0);
            // A receiver of 200 ms races Linux's retransmission timer, so that is not measured.
            let computed = cost_40.filter(|_| grows).map(|cost| super::rounded(cost + 160.0));
            values.cost_ms_200_computed = computed;
            let segment = format!("the last segment of a response with a {bytes}-byte body");
            let when = format!("for the client's delayed ACK in {times} of {of} trials");
            let (verdict, summary) = if cost >= STALL {
                (Verdict::Fail, format!("{segment} waits {:.0} ms {when}", ms(cost)))
            } else {
                let little = "beyond the delays of the application and the path";
                let costs = format!("this costs only {:.1} ms {little}", ms(cost));
                (Verdict::Warn, format!("{segment} waits {when}, but {costs}"))
            };
            (verdict, Some(ms(cost)), summary)
        }
        Release::NotHeld => {
            let tried = counted(sizes.len() as u64, "size");
            (Verdict::Pass, None, format!("no response waits for the client's ACK ({tried} tried)"))
        }
        Release::Timer => {
            let summary = format!(
                "a response pauses for {stall:.0} ms whether or not the client sends an ACK: see \
                 cork-timer"
            );
            (Verdict::Pass, None, summary)
        }
        Release::Other => {
            let summary = format!(
                "a response with a {bytes}-byte body pauses for {stall:.0} ms, but not for an ACK: \
                 the application or the path causes the pause"
            );
            (Verdict::Pass, None, summary)
        }
        Release::Undecided => {
            let summary = format!(
                "a {bytes}-byte response pauses, but the trials were inconclusive: this \
                 machine or the path is too busy"
            );
            (Verdict::Unknown, None, summary)
        }
    };
    ProbeResult::new(verdict, summary, values)
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

fn released_by(release: Release) -> Option<ReleasedBy> {
    match release {
        Release::NotHeld => Some(ReleasedBy::None),
        Release::Ack => Some(ReleasedBy::Ack),
        Release::Timer => Some(ReleasedBy::Timer),
        Release::Other => Some(ReleasedBy::Other),
        Release::Undecided => None,
    }
}

fn tried_size(size: &Size) -> TriedSize {
    TriedSize {
        path: size.page.path.clone(),
        bytes: size.content,
        released_by: released_by(size.release),
        stall_ms: size.stall.map(ms),
    }
}

/// Answers that must be free of pauses before a size counts as free of stalls: one read that merged
/// two segments could hide a stall.
const SCREENINGS: usize = 2;

/// Trials that measure what the kernel's own delayed ACK costs.
const COST_TRIALS: usize = 3;

const FORTY: Duration = Duration::from_millis(40);
