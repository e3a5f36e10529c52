//! `nagle-delayed-ack`: on a reused connection, is a small last segment held until our ACK?
//!
//! While the congestion window is small, a short tail leaves together with what waits for the window; so a
//! stall may begin at the fourth response of a connection, or come in one response of three. Each page is
//! asked for often enough on one connection to see that.
//!
//! Whether a write finds its predecessor in flight depends on the round trip too, which is shorter with the
//! kernel's TCP than with ours: so the kernel's plays the client as well, where the server is local. And it depends on
//! the size of a full segment, which on loopback is 64 KB: [`Scene::SameHost`].

mod report;

use std::time::Duration;

use ackwise_cause::Cause;
use ackwise_http::ConnectionOption;
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use self::report::report;
use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{
        Client, Exchange, ExchangeError, HttpConnection, Page, Protocol, ReusedConnection,
    },
    no_verdict::NoVerdict,
    server::{
        Facts,
        follow::{self, Arm, Delays, Release, STALL, Trial, TrialOutcome},
    },
    stack::{AckRule, Acknowledge, LOOPBACK_MSS, Receiver, Whose},
    verdict::Reason,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Cause(Cause::NagleDelayedAck),
    is_stall: true,
    remedies: &[],
    run: Run::Server(ServerCheck::new(0, [16, 180], 0.4, run)),
};

/// Values of `nagle-delayed-ack`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct NagleDelayedAck {
    /// Cost with an ACK delay of 120 ms.
    pub cost_ms_120: Option<f64>,
    /// Cost with an ACK delay of 200 ms; computed, not measured.
    pub cost_ms_200_computed: Option<f64>,
    /// Cost with an ACK delay of 40 ms.
    pub cost_ms_40: Option<f64>,
    /// First and third quartile of the stall with an ACK delay of 40 ms; only if they differ so much that
    /// the cost is doubtful.
    pub cost_quartiles_ms: Option<[f64; 2]>,
    /// Whether only the first response of a connection waits.
    pub only_first: Option<bool>,
    /// Whether only clients on the server's host lose time; null if none does.
    pub only_same_host: Option<bool>,
    /// Bytes of the worst response, if it waits and is a range of the page; null otherwise.
    pub range_bytes: Option<u64>,
    /// The client that the worst response waits for; null if none waits.
    pub receiver: Option<ReceiverName>,
    /// What ends the pause of the worst response.
    pub released_by: Option<ReleasedBy>,
    /// The tested responses; null if there were none.
    pub sizes: Option<Vec<TriedSize>>,
}

/// What ends the pause in a response.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleasedBy {
    /// No pause.
    None,
    /// The client's ACK.
    Ack,
    /// A timer at the server.
    Timer,
    /// The application or the path.
    Other,
}

/// What a client acknowledges at once.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiverName {
    /// More than one full segment, as Linux does.
    Linux,
    /// Every second segment, full or not, as Windows does.
    EverySecond,
    /// Two full segments, as BSD did in 1996.
    TwoFull,
}

/// Responses of `nagle-delayed-ack` with the same number.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ByRequest {
    /// Responses for which the client delayed its ACK.
    pub asked: u32,
    /// Those that waited for it.
    pub held: u32,
    /// The number of the request on its connection, from 1.
    pub request: u32,
}

/// A response tested by `nagle-delayed-ack`.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
pub struct TriedSize {
    /// How many responses waited, by the number of the request on its connection.
    pub by_request: Vec<ByRequest>,
    /// Size of the content.
    pub bytes: u64,
    /// The requested path.
    pub path: String,
    /// The client that the response waits for; null if it does not wait.
    pub receiver: Option<ReceiverName>,
    /// What ends the pause.
    pub released_by: Option<ReleasedBy>,
    /// Length of the pause.
    pub stall_ms: Option<f64>,
}

/// Responses of several sizes: first whether any pauses while our ACK is withheld, then, for those
/// that do, what ends the pause.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    facts.has_message()?;
    let players = Player::of(client, facts);
    if players.is_empty() {
        let why = "this stack cannot withhold ACKs";
        return Err(NoVerdict::unknown(Reason::Stack, why));
    }
    let mut bench = Bench { client, facts, player: players[0], reused: None };
    let mut sizes: Vec<Size> = Vec::new();
    let pages = bench.facts.sizes();
    for page in &pages {
        let size = match bench.study(page, &players, &sizes) {
            Err(ExchangeError::LimitReached(_)) if !sizes.is_empty() => break,
            size => size?,
        };
        sizes.push(size);
    }
    // A range says no more than the page that it is of; another page does.
    let untried = pages[sizes.len()..].iter().filter(|page| page.bytes.is_none()).count();
    report(&sizes, untried, &players)
}

/// Where a client is, and which of its responses count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Scene {
    /// On an Ethernet; all responses of a connection.
    Kept,
    /// The same; only the first response of each connection. It may be held behind what the server sends before it:
    /// the tickets of TLS, a WINDOW_UPDATE of HTTP/2.
    First,
    /// On the server's host, as a proxy often is: the MSS of loopback makes small segments of most writes.
    SameHost,
}

impl Scene {
    const fn mss(self) -> u16 {
        match self {
            Self::Kept | Self::First => Receiver::ETHERNET.mss,
            Self::SameHost => LOOPBACK_MSS,
        }
    }

    /// What `exchange` shows. A first response may wait before its first byte, too.
    fn trial(self, arm: Arm, exchange: &Exchange) -> Trial {
        match self {
            Self::Kept | Self::SameHost => Trial::of(arm, exchange.longest_stall(), exchange),
            Self::First => Trial {
                arm,
                stall: exchange.longest_stall_since_request(),
                took: exchange.duration().unwrap_or_default(),
            },
        }
    }

    /// After this many responses, the rest is asked for on a new connection: some servers stall only early in one.
    const fn on_one(self) -> usize {
        match self {
            Self::Kept | Self::SameHost => 12,
            Self::First => 1,
        }
    }
}

/// A client, and how often it asks.
#[derive(Clone, Copy, Debug)]
struct Player {
    whose: Whose,
    rule: AckRule,
    delays: Delays,
    scene: Scene,
    answers: Answers,
}

/// Answers that must be free of pauses before a page counts as free of stalls.
#[derive(Clone, Copy, Debug)]
struct Answers {
    /// For the page.
    page: usize,
    /// For another page, of which there may be several, or a range of this one.
    other: usize,
}

impl Player {
    /// Those that `client` can play, the most telling first.
    fn of(client: &mut Client, facts: &Facts) -> Vec<Self> {
        let (own, kernel) = (client.capabilities(), client.kernel_capabilities());
        let player = |whose, rule, delays, answers| Self {
            whose,
            rule,
            delays,
            scene: Scene::Kept,
            answers,
        };
        let mut players = Vec::new();
        if let Some(delays) = Delays::within(own, client.hold()) {
            for rule in own.ack_rules {
                let answers = match rule {
                    AckRule::Linux if kernel.is_none() => ANSWERS,
                    AckRule::Linux => ANSWERS_FARTHER,
                    AckRule::EverySecond | AckRule::TwoFull => ANSWERS_OTHERWISE,
                };
                players.push(player(Whose::Stack, *rule, delays, answers));
            }
        }
        if let Some(delays) = kernel.and_then(|it| Delays::within(it, client.hold())) {
            let place = players.len().min(1);
            players.insert(place, player(Whose::Kernel, AckRule::Linux, delays, ANSWERS));
        }
        let further = |scene, answers, player: Self| Self { scene, answers, ..player };
        let sends_before = client.is_over_tls() || client.protocol() == Protocol::Http2;
        let linux = players.first().copied().filter(|_| sends_before);
        players.extend(linux.map(|it| further(Scene::First, ANSWERS_FIRST, it)));
        let is_kernel = |it: &&Self| it.whose == Whose::Kernel || !own.segments;
        let local = players.iter().find(is_kernel).filter(|_| facts.is_same_host()).copied();
        players.extend(local.map(|it| further(Scene::SameHost, ANSWERS_SAME_HOST, it)));
        players
    }
}

/// One size of response, and what was found out about it.
#[derive(Clone, Debug)]
struct Size {
    page: Page,
    /// How the client acknowledged, and where it was.
    rule: AckRule,
    scene: Scene,
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
    fn new(page: &Page, rule: AckRule, scene: Scene) -> Self {
        Self {
            page: page.clone(),
            rule,
            scene,
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
    /// Who asks now, and on which connection.
    player: Player,
    reused: Option<ReusedConnection>,
}

impl Bench<'_> {
    /// Asks for `page` as each of the clients, until it stalls for one.
    fn study(
        &mut self,
        page: &Page,
        players: &[Player],
        before: &[Size],
    ) -> Result<Size, ExchangeError> {
        let mut found: Option<Size> = None;
        let mut asked = 0;
        for player in players {
            let size = match (self.study_as(page, *player, before), &found) {
                // Enough responses came before, or one that pauses.
                (Err(ExchangeError::LimitReached(_)), Some(found))
                    if asked >= ANSWERS.page || found.release != Release::NotHeld =>
                {
                    break;
                }
                (size, _) => size?,
            };
            asked += size.answers.len();
            // A client that no longer exists accuses nobody by trials that say nothing.
            let telling = player.rule.is_in_use() || size.release == Release::Ack;
            if found.as_ref().is_none_or(|found| telling && size.weight() > found.weight()) {
                found = Some(size);
            }
            if found.as_ref().is_some_and(Size::stalls) {
                break;
            }
        }
        Ok(found.unwrap_or_else(|| Size::new(page, AckRule::Linux, Scene::Kept)))
    }

    fn study_as(
        &mut self,
        page: &Page,
        player: Player,
        before: &[Size],
    ) -> Result<Size, ExchangeError> {
        self.player = player;
        self.reused = None;
        let rule = player.rule;
        let Answers { page: whole, other } = player.answers;
        let answers = if *page == self.facts.page { whole } else { other };
        let mut size = Size::new(page, rule, player.scene);
        let mut trials = Vec::new();
        for number in 0..answers {
            self.renew(number);
            trials.push(self.try_once(&mut size, Arm::Long)?);
            if trials.iter().filter(|trial| self.outcome(trial) != TrialOutcome::Free).count() >= 2
            {
                break;
            }
        }
        if trials.iter().all(|trial| self.outcome(trial) == TrialOutcome::Free) {
            return Ok(size);
        }
        let proven = before.iter().any(|size| size.stalls() && size.scene == player.scene);
        if proven && trials.iter().all(|trial| self.outcome(trial) == TrialOutcome::Follows) {
            size.release = Release::Ack; // As its sibling, whose trial was long enough.
        } else {
            size.release = self.confirm(&mut size, &mut trials)?;
        }
        size.stall = match size.release {
            Release::Ack => stall_of(&trials, Arm::Long),
            _ => middle(trials.iter().filter_map(Trial::length_if_stalled)),
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
        for (number, arm) in follow::arms().enumerate() {
            self.renew(number);
            trials.push(self.try_once(size, arm)?);
            let release = follow::decide(trials, self.facts.rtt, self.player.delays.trusted);
            if release != Release::Undecided {
                return Ok(release);
            }
        }
        Ok(Release::Undecided)
    }

    /// Before the trial `number`: closes the connection if that has had enough.
    fn renew(&mut self, number: usize) {
        if number.is_multiple_of(self.player.scene.on_one()) {
            self.reused = None;
        }
    }

    fn outcome(&self, trial: &Trial) -> TrialOutcome {
        trial.outcome(self.facts.rtt, self.player.delays.trusted)
    }

    /// What the stall costs a receiver that delays its ACKs, where that can be measured.
    fn measure(&mut self, size: &mut Size, trials: &[Trial]) {
        size.cost_long = follow::extra_delay(trials, Arm::Long, trials);
        if self.player.delays.short == FORTY {
            size.cost_40 = follow::extra_delay(trials, Arm::Short, trials);
            size.cost_120 = size.cost_long;
            size.stretched = follow::stretched(trials, Arm::Short);
            return;
        }
        // A kernel's own timer ends the delay; when exactly does not matter for what it costs.
        let acknowledge = Acknowledge::Delayed(size.rule, FORTY);
        let mut forty = Vec::new();
        for number in 0..COST_ANSWERS {
            self.renew(number);
            let Ok(exchange) = self.exchange(&size.page, acknowledge) else { break };
            let trial = size.scene.trial(Arm::Long, &exchange);
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
            arm => Acknowledge::Delayed(size.rule, self.player.delays.of(arm)),
        };
        let exchange = self.exchange(&size.page, acknowledge)?;
        let trial = size.scene.trial(arm, &exchange);
        let held = self.outcome(&trial) == TrialOutcome::Follows;
        if arm != Arm::Prompt {
            let current = self.reused.as_ref().and_then(ReusedConnection::current);
            let request = current.map_or(0, HttpConnection::requests);
            size.answers.push(Answer { request, held });
        }
        size.content = exchange.content;
        // The packets of the delay that the cost is quoted for, if that can be tried.
        let scene = size.scene;
        let forty = |exchange: &Exchange| {
            let stalled = scene.trial(arm, exchange).length_if_stalled();
            stalled.map(|length| length.abs_diff(FORTY))
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
        let Player { whose, scene, .. } = self.player;
        let receiver = Receiver { whose, mss: scene.mss(), ..Receiver::ETHERNET };
        let reused = self.reused.get_or_insert_with(|| ReusedConnection::new(receiver));
        let exchange = reused.request(&request, acknowledge, self.client)?;
        if self.player.whose == Whose::Stack {
            self.facts.note(&exchange);
        }
        Ok(exchange)
    }
}

/// How long the responses that stall do so.
fn stall_of(trials: &[Trial], arm: Arm) -> Option<Duration> {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm);
    middle(of_arm.filter_map(Trial::length_if_stalled))
}

/// For a client on Linux, on two connections. Our choice: a server that stalls in one response of three, at random, shows
/// none in 20 with a probability of 0.03 %, and none in 8 with one of 4 %.
const ANSWERS: Answers = Answers { page: 20, other: 8 };

/// The same for one whose path is longer, if the kernel's TCP asks too, and for the other ways to acknowledge.
const ANSWERS_FARTHER: Answers = Answers { page: 8, other: 4 };
const ANSWERS_OTHERWISE: Answers = Answers { page: 4, other: 2 };

/// The same for first responses, and for a client on the server's host.
const ANSWERS_FIRST: Answers = Answers { page: 6, other: 0 };
const ANSWERS_SAME_HOST: Answers = Answers { page: 12, other: 2 };

/// Stalled trials that measure what the kernel's own delayed ACK costs, and answers that they may take.
const COST_TRIALS: usize = 3;
const COST_ANSWERS: usize = 12;

const FORTY: Duration = Duration::from_millis(40);
